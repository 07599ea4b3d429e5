"""The parts of the Policy lab: what is asked for, the heat map, the front, one cell, what a figure is worth; and the
shape of the conversation with its recall funnel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from sessions.funnel import STAGES, Asked, Funnel
from sessions.honesty import LOG, Honesty
from sessions.lab_results import Result
from sessions.paging import ORACLE
from sessions.paging import Cell as Setup
from sessions.topology import LABELS, UNKNOWN, Topology
from workbench import live, state
from workbench.components.bars import Bar, bars
from workbench.components.export import export
from workbench.components.facts import facts
from workbench.components.front import Dot
from workbench.components.front import front as drawn
from workbench.components.grid import Cell, Column, Line, grid
from workbench.components.heat import Cell as Hot
from workbench.components.heat import heat as mapped
from workbench.components.trace import section
from workbench.labs import Working
from workbench.views.lab import GRIDS, METRICS, HeatCell, LabView, lab_view
from workbench.words import Words, visible

OVER = ("this", "all")
LOOK_S = 0.5
AT_ONCE_S = 4.0
COLUMNS = "[class*='st-key-lab_columns'] [data-testid='stHorizontalBlock']:has(> [data-testid='stColumn'])"
NARROW = (
    f"<style>@media (max-width: 1240px) {{ {COLUMNS} {{ flex-direction: column; }}"
    f"{COLUMNS} > [data-testid='stColumn'] {{ width: 100%; flex: none; }} }}</style>"
)
SHOWN = 12  # steps of a funnel that got lost


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the address asks for; what it does not say, or says wrongly, is as at first."""

    over: str
    grid: str
    metric: str
    by: str
    room: int | None
    cell: int | None


def wanted() -> Wanted:
    def one(key: str, known: Sequence[str]) -> str:
        value = st.query_params.get(key, "")
        return value if value in known else known[0]

    return Wanted(one("over", OVER), one("grid", tuple(GRIDS)), one("metric", tuple(METRICS)),
                  st.query_params.get("by", ""), _number("room"), _number("cell"))  # fmt: skip


def _number(key: str) -> int | None:
    text = st.query_params.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None


def beside(wide: float, name: str = "") -> tuple[Any, Any]:
    """Two columns, one below the other where the page is narrow: tables of figures are not to be cut. `name` tells
    two of one width apart."""
    st.html(NARROW)
    left, right = st.container(key=f"lab_columns_{name}{wide:g}".replace(".", "_")).columns([wide, 1], gap="medium")
    return left, right


# ── what is asked for ─────────────────────────────────────────────────────────────────────────────────


def choices(asked: Wanted, say: Words) -> None:
    """Over what, and how large a grid."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        _pick("over", OVER, asked.over, say, below=("cell",))
        _pick("grid", tuple(GRIDS), asked.grid, say, below=("cell", "room", "by"))
    st.caption(say(f"lab.grid.{asked.grid}.says"))


def _pick(
    key: str, options: Sequence[Any], chosen: Any, say: Words, *, names: dict[Any, str] | None = None,
    below: Sequence[str] = (),
) -> None:  # fmt: skip
    """Another widget for each value: what a browser still holds of the last one cannot lead back there."""
    widget = f"lab_{key}_{chosen}"

    def changed() -> None:
        value = st.session_state[widget]
        if value is not None and value != chosen:
            state.go(**dict.fromkeys(below, None), **{key: value})

    st.segmented_control(
        say(f"lab.{key}"), list(options), default=chosen, key=widget, on_change=changed,
        format_func=lambda each: names[each] if names else say(f"lab.{key}.{each}"),
    )  # fmt: skip


def under_way(run: Working, say: Words) -> None:
    st.fragment(_under_way, run_every=LOOK_S)(run, say)


def _under_way(run: Working, say: Words) -> None:
    if not run.is_under_way:
        st.rerun()
    with st.container(border=True, key="lab_progress"):
        st.progress(run.done / max(1, run.of), say("lab.progress", done=run.done, of=run.of))
        st.button(say("lab.cancel"), icon=":material/stop_circle:", key="lab_cancel", on_click=run.stop)


def stopped(run: Working, say: Words) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="lab_stopped"):
        st.markdown(f":material/pause_circle: {say('lab.stopped', done=run.done, of=run.of)}")
        st.button(say("lab.resume"), icon=":material/play_arrow:", key="lab_resume", on_click=run.start)


def view_of(run: Working, asked: Wanted) -> LabView:
    """Raises the error that ended the run."""
    return lab_view(run.made(), metric=asked.metric, by=asked.by, room=asked.room, chosen=asked.cell)


# ── the grid ──────────────────────────────────────────────────────────────────────────────────────────


def figure(value: float, metric: str, say: Words) -> str:
    return say.number(value) if metric in ("recalled", "regret") else f"{value:.2f}"


def room_name(view: LabView, room: int, say: Words) -> str:
    return say("lab.room.pages", n=room) if view.is_by_pages else say("tokens", tokens=room)


def cell_name(cell: Setup, say: Words) -> str:
    """What `cell.name` says, its room in the reader's language."""
    parts = cell.name.split(" · ")[:3]
    parts.append(say("lab.room.pages", n=cell.pages) if cell.pages else say("tokens", tokens=cell.budget))
    return " · ".join(parts if cell.parts else [*parts, say("lab.whole_pages")])


def heat(view: LabView, say: Words) -> None:
    """Boundaries against evictions at one budget; the metric, the budget and the way to recall are chosen above."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        section(say("lab.heat"), "grid_on", say("lab.n", n=view.cell.n), say("lab.heat.says"))
        export(view.to_df, "policy lab", say, key="lab", drawing=view)
    _pick("metric", tuple(METRICS), view.metric, say)
    with st.container(horizontal=True, gap="medium"):
        _pick("room", view.rooms, view.room, say, names={r: room_name(view, r, say) for r in view.rooms},
              below=("cell",))  # fmt: skip
        if len(view.recalls) > 1:
            _pick("by", view.recalls, view.by, say, names={r: say.term("lab.by", r) for r in view.recalls},
                  below=("cell",))  # fmt: skip
    columns = [(name, say(f"lab.eviction.{name}"), name == ORACLE) for name in view.evictions]
    rows = [(name, say("lab.boundary.says"), [_hot(c, view, say) for c in row])
            for name, row in zip(view.boundaries, view.heat, strict=True)]  # fmt: skip
    label = say("lab.heat.label", metric=say(f"lab.metric.{view.metric}"), room=room_name(view, view.room, say))
    mapped(
        say("lab.corner"), columns, rows, "lab_heat", label, say(f"lab.metric.{view.metric}.says"), _chosen("lab_heat")
    )


def _hot(cell: HeatCell, view: LabView, say: Words) -> Hot:
    text = figure(cell.value, view.metric, say)
    sub = "" if cell.low is None or cell.high is None else f"{cell.low:.2f}–{cell.high:.2f}"
    says = [cell_name(cell.result.cell, say), f"{say(f'lab.metric.{view.metric}')} {text}"]
    if sub:
        says.append(say("lab.interval", low=f"{cell.low:.2f}", high=f"{cell.high:.2f}", n=cell.result.n))
    says += [say("lab.is_best")] * cell.is_best + [say("lab.is_front")] * cell.is_front
    mark = ("★" if cell.is_best else "") + ("▸" if cell.is_front else "")
    return Hot(str(cell.index), text, sub, " · ".join(says), cell.level, mark, cell.index == view.chosen)


def _chosen(key: str) -> live.Fired:
    return live.on(key, "cell", lambda index: state.go(cell=int(index)))


def front(view: LabView, say: Words) -> None:
    section(say("lab.front"), "show_chart", str(len(view.lab.front)), say("lab.front.says"))
    points = view.points
    if not points:
        st.caption(say("lab.front.pages"))
        return
    dots = [Dot(str(n), r.spent, r.end_to_end(), kind, _told(r, say), _row(r, kind, say), n == view.chosen)
            for n, r, kind in points]  # fmt: skip
    cheap, best = view.lab.front[0], view.lab.front[-1]
    alt = say(
        "lab.front.alt", n=len(points), on=len(view.lab.front), cheap=cell_name(cheap.cell, say),
        low=f"{cheap.end_to_end():.2f}", best=cell_name(best.cell, say), high=f"{best.end_to_end():.2f}",
    )  # fmt: skip
    head = [say("lab.cell"), say("lab.front.tokens"), say("lab.metric.right1"), say("lab.front.where")]
    drawn(dots, head, say, "lab_front", say("lab.front"), alt, _chosen("lab_front"))


def _told(r: Result, say: Words) -> str:
    return say("lab.front.dot", cell=cell_name(r.cell, say), tokens=round(r.spent), right=f"{r.end_to_end():.2f}")


def _row(r: Result, kind: str, say: Words) -> tuple[str, ...]:
    return cell_name(r.cell, say), say.number(r.spent), f"{r.end_to_end():.2f}", say(f"lab.front.{kind}")


def one(view: LabView, say: Words) -> None:
    """The chosen cell: what came of its questions, by category."""
    r = view.cell
    section(say("lab.one"), "center_focus_strong", "", say("lab.one.says"))
    st.markdown(f"`{visible(cell_name(r.cell, say))}`")
    split = r.split()
    precision = say("lab.none") if r.precision is None else f"{r.precision:.2f}"
    facts(
        [
            (say("lab.metric.right1"), f"{r.end_to_end(1):.2f}"),
            (say("lab.metric.right3"), f"{r.end_to_end(3):.2f}"),
            (say("lab.metric.right5"), f"{r.end_to_end(5):.2f}"),
            (say("lab.first"), precision),
            (say("lab.faults"), say.number(r.faults)),
            (say("lab.metric.regret"), say.number(r.regret)),
        ],
        key="lab_one", large=True,
    )  # fmt: skip
    tones = {"lost": "far"}
    bars([Bar(name, say(f"lab.split.{name}"), f"{n} / {r.n}", n, say(f"lab.split.{name}.says"), tones.get(name, ""))
          for name, n in split.items()], "lab_split", say("lab.split"))  # fmt: skip
    heads = [Column("category", say("lab.category"), "long"), Column("n", "n", "num"),
             Column("right", say("lab.metric.right1"), "num"),
             Column("interval", say("lab.interval.head"), "num")]  # fmt: skip
    lines = [
        Line(name, (Cell(say.term("lab.category", name)), Cell(say.number(told["n"])), Cell(f"{told['value']:.2f}"),
                    Cell(f"{told['low']:.2f}–{told['high']:.2f}")))
        for name, told in r.categories.items()
    ]  # fmt: skip
    grid(heads, lines, say, "lab_categories", say("lab.category"))


def held_out(view: LabView, say: Words) -> None:
    """Chosen on the others, measured on the one left out."""
    held = view.lab.held_out
    if held is None:
        st.caption(say("lab.held_out.one"))
        return
    st.caption(say("lab.held_out", value=f"{held['value']:.2f}", low=f"{held['low']:.2f}", high=f"{held['high']:.2f}",
                   n=held["n"], best=f"{view.lab.best.end_to_end():.2f}"))  # fmt: skip


# ── what it is worth ──────────────────────────────────────────────────────────────────────────────────


def worth_of(told: Honesty, say: Words) -> None:
    section(say("lab.honesty"), "verified", "", say("lab.honesty.says"))
    honesty(told, say, "lab_worth")


def honesty(told: Honesty, say: Words, key: str) -> None:
    facts(worth(told, say), key=key)


def worth(told: Honesty, say: Words) -> list[tuple[str, str]]:
    few = say("lab.honesty.few", error=f"{100 * told.error:.0f}") if told.is_few else ""
    rows = [
        (told.of, say("lab.honesty.n.says", n=told.n, conversations=told.conversations) + few),
        ("k", say("lab.honesty.k.says", k=told.k, of=round(told.candidates)) if told.k else say("lab.honesty.k.none")),
        ("context", _context(told, say)),
        ("labels", _labels(told, say)),
        ("tuned", say(f"lab.honesty.tuned.{told.tuned}")),
        ("unmeasured", say(f"lab.honesty.unmeasured.{told.unmeasured}")),
    ]
    return [(say(f"lab.honesty.{name}"), value) for name, value in rows]


def _labels(told: Honesty, say: Words) -> str:
    words = say(f"lab.honesty.labels.{told.labels}")
    if told.labels == LOG:
        return words
    if told.labelled is not None:
        words += say("lab.honesty.labelled", n=told.labelled, of=told.n)
    known = told.wrong_labels is not None
    return words + (say("lab.honesty.wrong", n=told.wrong_labels) if known else say("lab.honesty.wrong.unknown"))


def _context(told: Honesty, say: Words) -> str:
    if told.context_ratio is None:
        return say("lab.honesty.context.pages", corpus=told.corpus_tokens)
    (low, high), (least, most) = told.context_tokens, told.context_ratio
    share = f"{100 * least:.0f}" if low == high else f"{100 * least:.0f}–{100 * most:.0f}"
    shown = say.number(low) if low == high else f"{say.number(low)}–{say.number(high)}"
    return say("lab.honesty.context.says", tokens=shown, corpus=told.corpus_tokens, share=share)


# ── the conversation ──────────────────────────────────────────────────────────────────────────────────


def shape(made: Topology, say: Words) -> None:
    """How far back it reaches, and which eviction suits that."""
    section(say("lab.shape"), "timeline", say(f"lab.shape.{made.kind}"), say("lab.shape.says"))
    n = len(made.revisits)
    st.markdown(say(f"lab.shape.by.{made.by}", far=made.far, n=n, tokens=round(made.room)))
    rows = []
    for first, last, count in made.bins:
        back = say("lab.shape.turns", first=first, last=last) if last else say("lab.shape.more", first=first)
        rows.append(Bar(str(first), back, say.number(count), count))
    bars(rows, "lab_shape", say("lab.shape"))
    if made.kind != UNKNOWN:
        st.markdown(_recommended(made, say))
    if made.by == LABELS:
        heads = [Column("policy", say("lab.policy")), Column("resident", say("lab.shape.resident"), "num"),
                 Column("apart", say("lab.shape.apart", current=made.current), "num"),
                 Column("told", say("lab.shape.told"))]  # fmt: skip
        lines = [
            Line(t.policy, (Cell(t.policy), Cell(f"{t.resident} / {t.n}"), Cell(f"{t.low:+.2f} … {t.high:+.2f}"),
                            Cell(say("lab.yes" if t.is_told_apart else "lab.no"))))
            for t in made.tried
        ]  # fmt: skip
        grid(heads, lines, say, "lab_tried", say("lab.shape.tried"))
    honesty(made.honesty, say, "lab_shape_worth")


def _recommended(made: Topology, say: Words) -> str:
    if made.policy != made.current:
        return f":material/recommend: {say('lab.shape.change', policy=made.policy, current=made.current)}"
    why = "lab.shape.keep" if made.tried else "lab.shape.keep.unlabelled"
    suggests = say(f"lab.shape.suggests.{made.kind}", policy=made.suggested)
    return f":material/recommend: {say(why, current=made.current)} {suggests}"


def funnel(made: Funnel, say: Words) -> None:
    section(say("lab.funnel"), "filter_alt", say("lab.n", n=len(made.asked)), say("lab.funnel.says"))
    if not made.asked:
        st.caption(say("lab.funnel.none"))
        return
    counts = made.counts
    lost = {"should": say("lab.funnel.of", labelled=made.labelled, needless=made.needless)}
    lost |= {stage: say("lab.funnel.lost", n=n) for stage, n in made.lost.items() if n}
    bars([Bar(stage, say(f"lab.funnel.{stage}"), f"{counts[stage]} / {len(made.asked)}", counts[stage],
              lost.get(stage, "")) for stage in STAGES], "lab_funnel", say("lab.funnel"))  # fmt: skip
    rest = [each for each in made.asked if not each.is_through]
    if rest:
        heads = [Column("turn", say("lab.funnel.turn")), Column("missing", say("lab.funnel.missing")),
                 Column("came", say("lab.funnel.came")),
                 Column("stage", say("lab.funnel.reached"), "long")]  # fmt: skip
        lines = [_lost(each, say) for each in rest[:SHOWN]]
        grid(heads, lines, say, "lab_lost", say("lab.funnel.lost.label"),
             on_open=live.on("lab_lost", "open", lambda turn: state.lead("turn", **_place(turn))))  # fmt: skip
        if len(rest) > SHOWN:
            st.caption(say("lab.funnel.more", n=len(rest) - SHOWN))
    honesty(made.honesty, say, "lab_funnel_worth")


def _lost(each: Asked, say: Words) -> Line:
    missing, came = ", ".join(map(str, each.missing)), ", ".join(f"p{n}" for n in each.came) or "–"
    told = (say.turns(each.turn, each.turn), missing, came, say(f"lab.funnel.{each.stage}"))
    return Line(str(each.turn), tuple(map(Cell, told)), f"turn?{_query(turn=each.turn)}")


def _query(**changes: str | int) -> str:
    from urllib.parse import urlencode

    return urlencode({k: v for k, v in state.link(**changes).items() if k in ("user", "conv", "run", "turn", "lang")})


def _place(turn: str) -> dict[str, str | int]:
    here = state.place()
    assert here is not None  # a row of it was shown
    return {"user": here.scope.user, "conv": here.scope.conversation, "run": here.scope.run, "turn": int(turn)}
