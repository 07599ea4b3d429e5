"""The way from saying something to reading it, stage by stage: what passed, where it fell, and what was seen there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from memory.why import Evidence, Stage, Verdict
from workbench.components import part
from workbench.words import Words, visible

_stages = part("stages")
MARKS = {True: "ok", False: "no", None: "none"}


def stages(
    verdict: Verdict,
    say: Words,
    link: Callable[..., Mapping[str, str]],
    on_page: Callable[[], None],
    key: str = "stages",
) -> Any:
    """`link` makes the query of an address at another turn; `page` of the result is one to be read."""
    rows = [_row(stage, say, link) for stage in verdict.stages]
    return _stages(key=key, data={"rows": rows, "label": say("why.stages")}, on_page_change=on_page)


def _row(stage: Stage, say: Words, link: Callable[..., Mapping[str, str]]) -> dict[str, Any]:
    mark = MARKS[stage.passed]
    return {
        "name": stage.name,
        "title": say(f"why.stage.{stage.name}"),
        "ask": say(f"why.asks.{stage.name}"),
        "mark": mark,
        "state": say(f"why.mark.{mark}"),
        "says": say.reason(stage.says),
        "evidence": [_evidence(i, each, say, link) for i, each in enumerate(stage.evidence)],
    }


def _evidence(index: int, each: Evidence, say: Words, link: Callable[..., Mapping[str, str]]) -> dict[str, Any]:
    page = int(each.name[1:]) if each.name[:1] == "p" and each.name[1:].isdecimal() else 0
    other = each.name if each.turn and not (page or each.name.startswith(("f", "turn "))) else None
    query = link(turn=each.turn, page=None, **({"conv": other, "run": None} if other else {}))
    return {
        "key": f"{index}.{each.name}",
        "says": visible(say.reason(each.says), 600),
        "page": page,
        "page_says": say("why.read", page=each.name) if page else "",
        "turn": say("why.trace", turn=each.turn) if each.turn else "",
        "href": f"turn?{urlencode(query)}" if each.turn else "",
    }
