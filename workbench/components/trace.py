"""The parts of a step's trace: what left and why, what came back and why, what the model read and said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from workbench import state
from workbench.components.earlier import like
from workbench.components.facts import facts
from workbench.components.feed import feed
from workbench.components.heading import Badge
from workbench.components.shares import Share, shares
from workbench.components.table import candidates
from workbench.live import Acts
from workbench.state import Place
from workbench.views.retrieval import RetrievalView
from workbench.views.turn import CallRow, EvictionRow, RecallView, TurnView
from workbench.words import Words, escaped, visible

FILED = 8_000  # characters of what a file says beside one turn
ROUND = "_round"  # session: which step's prompt the reader picked
STATES = {"finished": "check", "running": "recall", "abandoned": "error"}


def badges(view: TurnView, say: Words) -> list[Badge]:
    llm = [Badge(view.calls[-1].llm, "model", say("live.llm"))] if view.calls else []
    ended = Badge(say(f"trace.{view.state}"), STATES[view.state], say.moment(view.started_at))
    return [ended, *llm, Badge(say("trace.settings", hash=view.settings_hash), "quiet")]


def sums(view: TurnView, say: Words) -> None:
    """The step in figures."""
    none = say("trace.figure.none")
    costs = [call.cost_usd for call in view.calls]
    cost = (
        none
        if not costs
        else say("trace.figure.cost.unknown")
        if None in costs
        else say.amount(sum(c or 0 for c in costs), "usd")
    )
    written = sum(call.completion_tokens for call in view.calls)
    came = sum(len(recall.came) for recall in view.recalls)
    facts(
        [
            (say("trace.figure.prompt"), say.number(view.prompt_tokens) if view.rounds else none),
            (say("trace.figure.completion"), say.number(written) if view.calls else none),
            (say("trace.figure.calls"), say.number(len(view.calls))),
            (say("trace.figure.pages"), f"{len(view.evictions)} / {came}"),
            (say("trace.figure.latency"), say.duration(sum(view.ms.values())) if view.ms else none),
            (say("trace.figure.cost"), cost),
        ],
        key="sums",
        large=True,
    )


def notices(view: TurnView, say: Words) -> None:
    if view.state == "abandoned":
        st.error(escaped(say("trace.abandoned.says", why=say.reason(view.why))), icon=":material/error:")
    if view.redacted:
        counts = ", ".join(f"{n} × {sort}" for sort, n in view.redacted.items())
        st.warning(escaped(say("trace.redacted", counts=counts)), icon=":material/visibility_off:")


def section(title: str, icon: str, badge: str = "", says: str | None = None) -> None:
    st.markdown(
        f"##### :material/{icon}: {title}" + (f" :gray-badge[{badge}]" if badge else ""), help=says, width="content"
    )


def eviction(row: EvictionRow, index: int, say: Words, on_page: Callable[[str], Callable[[], None]]) -> None:
    key = f"eviction_{index}"
    runner_up = (
        say("evicted.runner_up", page=f"p{row.runner_up}", score=row.runner_up_score)
        if row.runner_up
        else say("evicted.alone")
    )
    with st.container(border=True):
        head = say("evicted.head", page=f"p{row.page}", policy=say.term("policy", row.policy), score=row.score)
        freed = say("evicted.freed", freed=row.freed_tokens, used=row.used_tokens, limit=row.limit_tokens)
        note = " · ".join((say.reason(row.cause), freed, runner_up))
        facts([], key=f"{key}_head", title=head, chips=[row.stub], note=note)
        if row.candidates:
            with st.expander(say("evicted.all", pages=len(row.candidates))):
                rows = sorted(row.candidates, key=lambda c: c.score)
                candidates(
                    rows, say, f"{key}_table", on_page(f"{key}_table"), chosen="evicted.chosen", score="evicted.score"
                )


def recall(row: RecallView, index: int, say: Words, on_page: Callable[[str], Callable[[], None]]) -> None:
    key = f"recall_{index}"
    asked = ", ".join(row.asked) or ", ".join(say.turns(*span) for span in row.turns)
    outcome = [say("recall.came", pages=_pages(row.came))] if row.came else []
    outcome += [say("recall.part", page=f"p{n}", turns=say.turns(*span)) for n, *span in row.parts]
    outcome += [say("recall.resident", pages=_pages(row.resident))] if row.resident else []
    outcome += [say("recall.opened", ranges=" ".join(row.opened))] if row.opened else []
    outcome += [say("recall.thrash", pages=_pages(row.thrash))] if row.thrash else []
    refused = [say("recall.refusal", ref=ref, reason=say.reason(reason)) for ref, reason in row.refused]
    with st.container(border=True):
        asks = [say("recall.by", by=say.term("by", row.by)), *([say("recall.asked", asked=asked)] if asked else [])]
        asks += [say("recall.question", question=row.question)] if row.question else []
        asks += [say.reason(row.note)] if row.note else []
        told = " · ".join(outcome) or say("recall.nothing")
        facts([], key=f"{key}_head", title=told, chips=refused, note=" · ".join(asks))
        _verdict(row.right, say)
        if row.retrieval:
            with st.expander(say("recall.all", pages=len(row.retrieval.candidates))):
                considered(row.retrieval, say, key, on_page)


def retrieved(row: RetrievalView, index: int, say: Words, on_page: Callable[[str], Callable[[], None]]) -> None:
    """A search that no recall stands for: of the message itself, or one that brings nothing in."""
    key = f"retrieval_{index}"
    with st.container(border=True):
        chosen = say("retrieved.chosen", pages=_pages(row.chosen)) if row.chosen else say("recall.nothing")
        asked = say("recall.question", question=row.question)
        facts([], key=f"{key}_head", title=chosen, note=f"{say('recall.by', by=say.term('by', row.by))} · {asked}")
        with st.expander(say("recall.all", pages=len(row.candidates))):
            considered(row, say, key, on_page)


def considered(row: RetrievalView, say: Words, key: str, on_page: Callable[[str], Callable[[], None]]) -> None:
    """How it was ranked, how many pages each stage left, what the thresholds were, and every candidate."""
    stages = " → ".join(f"{say.term('stage_of', name)} {pages:,}" for name, pages in row.stages.items())
    limits = " · ".join(f"{say.term('threshold', name)} {value:g}" for name, value in row.thresholds.items())
    how = say("retrieved.how", strategy=row.strategy, embedder=row.embedder or say("retrieved.by_words"))
    facts([], key=f"{key}_how", note=" · ".join(filter(None, (how, stages, limits, say.reason(row.note)))))
    if row.candidates:
        candidates(row.candidates, say, f"{key}_table", on_page(f"{key}_table"), channels=row.channels)


def ask(here: Place, say: Words, acts: Acts) -> None:
    """Any question against the pages as they were at this turn; it is not logged."""
    question = st.text_input(say("ask.question"), key="ask", placeholder=say("ask.placeholder"), max_chars=2_000)
    if not question.strip():
        st.caption(say("ask.says"))
        return
    row = state.asked(here, question)
    told = say("retrieved.chosen", pages=_pages(row.chosen)) if row.chosen else say("recall.nothing")
    facts([], key="asked_head", title=told)
    considered(row, say, "asked", acts.read)
    with st.container(horizontal=True, vertical_alignment="center"):
        state.door("why", say("why.door.question"), "troubleshoot", q=question)
        like(here, question, say, "ask_like")


def _verdict(right: bool | None, say: Words) -> None:
    if right is None:
        return
    name, colour, icon = ("right", "green", "check_circle") if right else ("wrong", "red", "cancel")
    st.badge(say(f"recall.{name}"), icon=f":material/{icon}:", color=colour, help=say(f"recall.{name}.says"))  # type: ignore[arg-type]


def _pages(numbers: tuple[int, ...]) -> str:
    return ", ".join(f"p{n}" for n in numbers)


def call(row: CallRow, index: int, say: Words) -> None:
    """One answer of the model, raw."""
    with st.container(border=True):
        size = {"prompt": row.prompt_tokens, "completion": row.completion_tokens}
        head = say("call.head", llm=row.llm, round=row.round + 1, **size, ms=row.ms, finish=row.finish or "—")
        head += say("call.first", ms=row.first_ms) if row.first_ms else ""
        facts([], key=f"call_{index}", note=head)
        if row.error:
            st.error(escaped(say("call.error", error=row.error)), icon=":material/error:")
        if row.text:
            st.code(visible(row.text, 20_000), language=None, wrap_lines=True)
        for tool in row.calls:
            st.code(visible(tool, 4_000), language=None, wrap_lines=True)


def sections(view: TurnView, say: Words) -> None:
    parts = [
        Share(name, say(f"section.{name}"), say("tokens", tokens=tokens), tokens)
        for name, tokens in view.sections.items()
        if tokens
    ]
    if parts:
        shares(parts, say("bar.label", used=view.prompt_tokens, budget=view.prompt_tokens), key="sections")


def known(view: TurnView, say: Words) -> None:
    """What of long-term memory stands in the prompt, and what was left out."""
    inside = [row for row in view.facts if not row.stage]
    outside = [row for row in view.facts if row.stage]
    for row in inside:
        note = say("known.meta", name=row.name, since=row.since, why=say(f"known.{row.why}"))
        facts([], key=f"known_{row.name}", title=row.text, note=note)
    if outside:
        with st.expander(say("trace.known.left", facts=len(outside))):
            for row in outside:
                note = say("known.dropped", name=row.name, why=say.reason(row.dropped))
                facts([], key=f"left_{row.name}", title=row.text, note=note)
    if not view.facts:
        st.caption(say("trace.no_known"))
    for old in view.old_values:
        how = say("known.old.alarm" if old.alarm else f"known.old.{old.how}")
        where = f"p{old.page}" if old.page else say("section.facts")
        note = say("known.old", where=where, how=how, newer=old.newer, says=old.says)
        facts([], key=f"old_{old.name}", title=f"{old.name} {old.said}", note=note)


def kept(view: TurnView, say: Words) -> None:
    """The write ledger of the step's turns."""
    for index, row in enumerate(view.kept):
        verdict = say(f"kept.{row.verdict}")
        note = say("kept.meta", turn=row.turn, verdict=verdict, reason=say.reason(row.reason))
        facts([], key=f"kept_{index}", title=" ".join(filter(None, (row.name, row.text))), note=note)
    if not view.kept:
        st.caption(say("trace.no_kept"))


def filed(view: TurnView, say: Words) -> None:
    """What stands beside the words in the file that they were imported from, folded away."""
    if view.filed:
        with st.expander(say("trace.filed"), icon=":material/draft:"):
            st.caption(say("trace.filed.says"))
            for row in view.filed:
                st.caption(say("trace.filed.turn", turn=row.turn) if row.turn else say("trace.filed.whole"))
                st.code(visible(row.text, FILED), language=None, wrap_lines=True)


def latency(view: TurnView, say: Words) -> None:
    parts = [Share(name, say.term("stage", name), say.duration(ms), ms) for name, ms in view.ms.items()]
    if parts:
        shares(parts, f"{say('trace.latency')}: " + ", ".join(f"{p.label} {p.value}" for p in parts), key="latency")
    else:
        st.caption(say("trace.no_latency"))


def evidence(view: TurnView, say: Words) -> None:
    if view.evidence:
        st.caption(say("trace.evidence", turns=", ".join(say.turns(turn, turn) for turn in view.evidence)))


def each(
    draw: Callable[[Any, int, Words, Callable[[str], Callable[[], None]]], None],
    rows: Sequence[Any],
    say: Words,
    acts: Acts,
    nothing: str,
) -> None:
    for index, row in enumerate(rows):
        draw(row, index, say, acts.read)
    if not rows and nothing:
        st.caption(nothing)


def chosen_round(here: Place) -> int | None:
    """The round of the prompt that the reader picked for this step; None shows the last."""
    picked = st.session_state.get(ROUND)
    return picked[1] if picked and picked[0] == (here.scope, here.at) else None


def rounds(view: TurnView, say: Words, here: Place) -> None:
    """Which of the step's prompts is shown; a recall makes another one."""
    if view.rounds < 2:
        return
    last, key = view.rounds - 1, f"round_{view.step}"
    shown = chosen_round(here)

    def pick() -> None:
        st.session_state[ROUND] = ((here.scope, here.at), st.session_state[key])

    st.segmented_control(
        say("trace.round"),
        range(view.rounds),
        default=last if shown is None else shown,
        format_func=lambda n: say("trace.round.name", round=n + 1),
        key=key,
        on_change=pick,
    )


def calls(view: TurnView, say: Words) -> None:
    for index, row in enumerate(view.calls):
        call(row, index, say)
    if not view.calls:
        st.caption(say("trace.no_calls"))


def used(view: TurnView, say: Words, acts: Acts) -> None:
    if view.used:
        candidates(view.used, say, "used", acts.read("used"), chosen="used.chosen", score="used.score")
    else:
        st.caption(say("trace.no_used"))


def bookmarks(view: TurnView, say: Words) -> None:
    if view.bookmarks:
        facts(
            [],
            key="new_bookmarks",
            chips=[f"{stub} · {say.term('origin', origin)}" for _, stub, origin in view.bookmarks],
        )
    else:
        st.caption(say("trace.no_bookmarks"))


def events(view: TurnView, say: Words, acts: Acts) -> None:
    section(say("trace.events"), "bolt", str(len(view.events)))
    feed(view.events, say, acts.read("feed"), height=460)
