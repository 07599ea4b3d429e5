"""Simpler memories on the same conversation: what each would have read, held, called and cost, beside ours."""

from __future__ import annotations

import streamlit as st

from sessions.baselines import Baseline, Baselines
from workbench import simpler, state, tuning
from workbench.background import Making
from workbench.components.bars import Bar, bars
from workbench.components.export import export
from workbench.components.grid import Cell, Column, Line, grid
from workbench.components.lab import LOOK_S, beside, honesty
from workbench.components.trace import section
from workbench.state import Place
from workbench.words import Words, escaped, visible

ADDRESS, PRICE = "simpler", "price"
OURS, FULL = "ours", "full history"
NOTED = (OURS, "summary")  # whose calls need a word
MILLION = 1_000_000
DEAREST = 1_000.0  # dollars for a million prompt tokens


def compared(here: Place, say: Words) -> None:
    """Closed until it is asked for: each message is looked up once a memory, some with a vector of its own."""
    asked = st.query_params.get(ADDRESS, "")
    made = simpler.beside(state.open_store(), here.scope) if asked else None
    if made is not None:
        made.wait(simpler.AT_ONCE_S)
    found = made.made() if made is not None and not made.is_under_way and made.error is None else None
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        section(say("simpler.title"), "balance", say("lab.n", n=found.honesty.n) if found else "", say("simpler.says"))
        if made is None:
            st.button(say("simpler.begin"), key="simpler_begin", icon=":material/balance:", type="tertiary",
                      on_click=state.go, kwargs={ADDRESS: 1})  # fmt: skip
        elif found is not None:
            export(found.to_df, f"simpler memories {found.conversation}", say, key="simpler", drawing=found)
    if made is None:
        st.caption(say("simpler.what"))
    elif found is not None:
        told(found, here, say)
    else:
        _on_the_way(made, say)


def _on_the_way(made: Making[Baselines], say: Words) -> None:
    if made.is_under_way:
        st.fragment(_under_way, run_every=LOOK_S)(made, say)
        return
    if made.is_stopped:
        st.caption(say("simpler.stopped"))
    else:
        st.warning(escaped(visible(str(made.error), 400)), icon=":material/error:")
    st.button(say("simpler.again"), icon=":material/refresh:", key="simpler_again", on_click=made.start)


def _under_way(made: Making[Baselines], say: Words) -> None:
    if not made.is_under_way:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", key="simpler_progress"):
        at = say.term("simpler.name", made.at.removesuffix(" …"))
        st.markdown(f":material/hourglass_top: {say('simpler.progress', memory=escaped(at))}", width="content")
        st.button(say("lab.cancel"), icon=":material/stop_circle:", key="simpler_cancel", on_click=made.stop)


def told(found: Baselines, here: Place, say: Words) -> None:
    ours, full = found.row(OURS), found.row(FULL)
    st.markdown(say("simpler.told", share=f"{100 * (1 - ours.tokens / max(1, full.tokens)):.0f}",
                    budget=found.budget, over=full.over, steps=full.steps))  # fmt: skip
    left, right = beside(1, "simpler")
    with left:
        st.markdown(f"**{say('simpler.tokens')}**", help=say("simpler.tokens.says"))
        bars([_bar(row, say.number(row.tokens_per_step), row.tokens_per_step, say) for row in _measured(found)],
             "simpler_tokens", say("simpler.tokens"))  # fmt: skip
    with right:
        st.markdown(f"**{say('simpler.evidence')}**", help=say("simpler.evidence.says"))
        if ours.labelled:
            bars([_bar(row, f"{row.evidence} / {row.labelled}", row.evidence or 0, say) for row in _measured(found)],
                 "simpler_evidence", say("simpler.evidence"))  # fmt: skip
        else:
            st.caption(say("simpler.unlabelled"))
    found = found.at(_price(here, say))
    names = ("tokens", "evidence", "calls", "over", "cpu", "cost")
    columns = [Column("memory", say("simpler.memory"), "long"),
               *(Column(name, say(f"simpler.{name}"), "num", says=say(f"simpler.{name}.says"))
                 for name in names)]  # fmt: skip
    grid(columns, [_line(row, full, say) for row in found.rows], say, "simpler", say("simpler.title"))
    if ours.labelled:
        honesty(found.honesty, say, "simpler_worth")


def _measured(found: Baselines) -> list[Baseline]:
    return [row for row in found.rows if row.evidence is not None]


def _bar(row: Baseline, value: str, amount: float, say: Words) -> Bar:
    return Bar(row.name, say.term("simpler.name", row.name), value, amount, tone="" if row.name == OURS else "quiet")


def _line(row: Baseline, full: Baseline, say: Words) -> Line:
    name = say.term("simpler.name", row.name)
    if row.evidence is None:
        return Line(row.name, (Cell(name, sub=_unmeasured(row, say)), *[Cell("–")] * 6))
    share = row.tokens / max(1, full.tokens)
    note = say(f"simpler.note.{row.name}") if row.name in NOTED else ""
    return Line(
        row.name,
        (
            Cell(name, sub=note), Cell(say.number(row.tokens_per_step), sub=f"{100 * share:.0f} %"),
            Cell(f"{row.evidence} / {row.labelled}" if row.labelled else "–"), Cell(say.number(row.calls)),
            Cell(say.number(row.over), tone="warn" if row.over else ""), Cell(say.score(round(row.cpu_ms, 1))),
            Cell("–" if row.cost_usd is None else say.amount(row.cost_usd, "usd")),
        ),
    )  # fmt: skip


def _unmeasured(row: Baseline, say: Words) -> str:
    return say("simpler.no_vectors") if row.note == "no vectors" else visible(row.note, 200)


def _price(here: Place, say: Words) -> float:
    """Dollars for a million prompt tokens: what the address says, else what the conversation's model costs."""
    own = (tuning.price_of(state.settings_of(here).llm) or 0.0) * MILLION
    asked = _number(st.query_params.get(PRICE, ""))
    value = own if asked is None else asked
    widget = f"simpler_price_{value}"

    def changed() -> None:
        state.go(**{PRICE: f"{st.session_state[widget]:g}"})

    st.number_input(say("simpler.price"), 0.0, DEAREST, value, step=0.05, format="%.2f", key=widget, width=260,
                    help=say("simpler.price.says"), on_change=changed)  # fmt: skip
    return value


def _number(text: str) -> float | None:
    """What is no price, or none that anybody pays, is as if it was not said."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= DEAREST else None
