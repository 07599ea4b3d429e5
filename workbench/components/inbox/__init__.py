"""Facts that cannot all hold, side by side with their words: what the rule would choose, and what a reader can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.components import part
from workbench.components.timed import Link, day, effects, quote
from workbench.views.story import Dispute, Inbox, Side
from workbench.words import Words, visible

_inbox = part("inbox")


def inbox(
    view: Inbox, say: Words, link: Link, *, may_act: bool, on_settle: Callable[[], None], on_undo: Callable[[], None],
    on_fact: Callable[[], None], key: str = "inbox",
) -> Any:  # fmt: skip
    """`settle` of the result is [conflict, fact that is kept or 0 for all], `undo` a change, `fact` one to look at."""
    return _inbox(
        key=key,
        data={
            "open": [_dispute(d, say, link) for d in view.open],
            "settled": [_dispute(d, say, link) for d in view.settled],
            "more": say("timeline.inbox.more", n=view.more_open) if view.more_open else "",
            "more_settled": say("timeline.inbox.more", n=view.more_settled) if view.more_settled else "",
            "may_act": may_act,
            "words": {name: say(f"timeline.inbox.{name}") for name in
                      ("open", "settled", "none", "keep", "both", "would", "holds", "lost", "undo", "show")},
        },
        on_settle_change=on_settle,
        on_undo_change=on_undo,
        on_fact_change=on_fact,
    )  # fmt: skip


def _dispute(d: Dispute, say: Words, link: Link) -> dict[str, Any]:
    kind, _, rule = d.rule.partition(":")
    told = say("timeline.inbox.rule", rule=say.term("timeline.rule", rule or kind), name=f"f{d.would_win}")
    return {
        "number": d.number,
        "why": say.reason(d.why),
        "found": say("timeline.inbox.found", at=say.moment(d.found_at)),
        "rule": told if d.would_win else "",
        "sides": [_side(s, d, say, link) for s in d.sides],
        "both": effects(d.both, say),
        "outcome": _outcome(d, say),
        "change": 0 if d.refused else d.change,
        "refused": say.reason(d.refused),
    }


def _side(s: Side, d: Dispute, say: Words, link: Link) -> dict[str, Any]:
    return {
        "fact": s.fact,
        "name": s.name,
        "text": visible(s.text, 400) or say("timeline.gone"),
        "since": say("timeline.inbox.since", at=day(s.since, say, say("timeline.always"))),
        "quotes": [quote(q, i, say, link) for i, q in enumerate(s.quotes[:2])],
        "effects": effects(s.keeping, say),
        "would": d.would_win == s.fact,
        "won": d.settled_at is not None and d.winner in (0, s.fact),
    }


def _outcome(d: Dispute, say: Words) -> str:
    if d.settled_at is None:
        return ""
    by, _, what = d.decided_by.partition(":")
    who = say.term("timeline.by", by) + (f" ({say.term('timeline.rule', what)})" if what else "")
    kept = say("timeline.inbox.kept", name=f"f{d.winner}") if d.winner else say("timeline.inbox.kept_all")
    told = say("timeline.inbox.outcome", kept=kept, who=who, at=say.moment(d.settled_at))
    return f"{told}: “{visible(d.reason, 400)}”" if d.reason else told
