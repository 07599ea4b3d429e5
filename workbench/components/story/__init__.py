"""One fact, whole: its words, where they were said, both times, each change with its undo, another value beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

from memory.facts import WEIGHTY
from workbench.components import part
from workbench.components.timed import Link, day, effects, quote
from workbench.views.diff import Piece
from workbench.views.facts import BeliefRow
from workbench.views.story import Step, Story, Use
from workbench.words import Words, visible

_story = part("story")


def story(
    view: Story, say: Words, link: Link, *, other: int | None, pieces: Sequence[Piece], may_undo: bool,
    on_close: Callable[[], None], on_undo: Callable[[], None], on_other: Callable[[], None], key: str = "story",
) -> Any:  # fmt: skip
    """`close`, `undo` (a change) and `other` (a fact to compare with) of the result are what the reader asked for."""
    row, more = view.row, view.said - len(view.quotes)
    badges = [
        [kind, name, say(f"timeline.{kind}.{name}")] for kind, name in (("state", row.state), ("layer", row.layer))
    ]
    if row.importance >= WEIGHTY:
        badges.append(["layer", "star", say("timeline.important")])
    return _story(
        key=key,
        data={
            "name": row.name,
            "text": visible(row.text, 2_000) or say("timeline.gone"),
            "badges": badges,
            "why": say.reason(row.why) if row.why else "",
            "quotes": [quote(q, i, say, link) for i, q in enumerate(view.quotes)],
            "more_quotes": say("timeline.more_quotes", n=more) if more else "",
            "beliefs": [_belief(b, say) for b in view.beliefs],
            "steps": [_step(s, row.name, say, may_undo) for s in view.steps],
            "uses": [_use(u, say, link) for u in view.uses],
            "others": [
                {"fact": o.fact, "name": f"f{o.fact}", "text": visible(" ".join(o.text.split()), 60), "state": o.state,
                 "since": day(o.since, say), "chosen": o.fact == other}
                for o in view.others
            ],
            "pieces": [[p.kind, visible(p.text, 2_000)] for p in pieces],
            "words": {name: say(f"timeline.{name}") for name in
                      ("close", "said", "times", "changes", "used", "unused", "compare", "undo", "undo_of", "unsaid",
                       "unbelieved")},
            "heads": [say(f"timeline.times.{name}") for name in ("valid", "recorded")],
        },
        on_close_change=on_close,
        on_undo_change=on_undo,
        on_other_change=on_other,
    )  # fmt: skip


def _belief(b: BeliefRow, say: Words) -> dict[str, Any]:
    held = say("timeline.span", start=day(b.valid_from, say, say("timeline.always")),
               end=day(b.valid_to, say, say("timeline.open")))  # fmt: skip
    until = say.moment(b.recorded_to) if b.recorded_to else say("timeline.still")
    believed = say("timeline.span", start=say.moment(b.recorded_from), end=until)
    key = f"{b.recorded_from}{b.valid_from}{b.valid_to}"
    return {"key": key, "valid": held, "recorded": believed, "on": b.recorded_to is None}


def decided(by: str, say: Words) -> str:
    """Who decided a change, in words: `rule:single_value`, `user`."""
    who, _, what = by.partition(":")
    decider = say.term("timeline.by", who)
    return f"{decider} ({say.term('timeline.rule', what)})" if what else decider


def _step(s: Step, name: str, say: Words, may_undo: bool) -> dict[str, Any]:
    row = s.row
    cause = "supersedes" if row.cause == "supersede" and row.new == name else row.cause
    undone = say("timeline.undone_by", change=row.undone_by) if row.undone_by else ""
    return {
        "change": row.change,
        "cause": say.term("timeline.cause", cause),
        "meta": f"{say('timeline.change', change=row.change)} · {say.moment(row.at)} · {decided(row.decided_by, say)}",
        "why": "" if row.why == "new" else say.reason(row.why),
        "undone": undone,
        "effects": effects(s.undo, say),
        "refused": "" if row.undone_by else say.reason(s.refused),
        "may_undo": may_undo and not s.refused and bool(s.undo),
    }  # fmt: skip


def _use(use: Use, say: Words, link: Link) -> dict[str, Any]:
    return {
        "key": f"{use.conversation}.{use.step}",
        "says": say("timeline.use", step=use.step, why=say.term("known", use.why)),
        "meta": f"{visible(use.conversation, 60)} · {say.moment(use.at)}",
        "href": f"turn?{urlencode(link(conv=use.conversation, turn=use.turn or None, page=None))}",
    }
