"""The prompt without a change and with it: two bars to one scale, and each part that came, left or stayed."""

from __future__ import annotations

from typing import Any

from memory.trial import Part, Trial
from workbench.components import part
from workbench.words import Words

_trial = part("trial")
SIGNS = {"came": "+", "left": "−", "changed": "±", "same": ""}


def trial(found: Trial, window_tokens: int, say: Words, key: str = "trial") -> Any:
    whole = max(window_tokens, found.before_tokens, found.after_tokens, 1)
    sides = (("before", found.before_tokens), ("after", found.after_tokens))
    bars = [
        {
            "name": side,
            "label": say(f"why.trial.{side}"),
            "total": say("tokens", tokens=tokens),
            "parts": [_piece(p, getattr(p, side), whole, say) for p in found.parts if getattr(p, side)],
        }
        for side, tokens in sides
    ]
    order = {"came": 0, "left": 1, "changed": 2, "same": 3}
    rows = [_row(p, say) for p in sorted(found.parts, key=lambda p: (not p.holds, order[p.state]))]
    head = [say(f"why.trial.{name}") for name in ("part", "what", "before", "after")]
    return _trial(key=key, data={"bars": bars, "rows": rows, "head": head, "label": say("why.trial.label")})


def _name(p: Part, say: Words) -> str:
    return p.name if p.page or p.fact else say(f"section.{p.section}")


def _key(p: Part) -> str:
    return f"{p.section}.{p.page}.{p.fact}"


def _piece(p: Part, tokens: int, whole: int, say: Words) -> dict[str, Any]:
    width = 100 * tokens / whole
    name = _name(p, say)
    return {"key": _key(p), "section": p.section, "state": p.state, "holds": p.holds, "width": round(width, 2),
            "label": name if width > 4 else "", "title": f"{name}: {say('tokens', tokens=tokens)}"}  # fmt: skip


def _row(p: Part, say: Words) -> dict[str, Any]:
    says = say(f"why.part.{p.state}")
    return {
        "key": _key(p),
        "name": _name(p, say),
        "section": say(f"section.{p.section}") if p.page or p.fact else "",
        "state": p.state,
        "sign": SIGNS[p.state],
        "says": f"{says}{say('why.part.holds')}" if p.holds else says,
        "holds": p.holds,
        "before": say.number(p.before) if p.before else "–",
        "after": say.number(p.after) if p.after else "–",
    }
