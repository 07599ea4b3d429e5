"""How important a page is, by rule, when it closes: 0..1, default .5, with the reason.

An input of the importance policy, not a judgement: a mark by the user beats every rule.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

MUST_STAY = re.compile(
    r"\b(?:please )?(?:remember|don'?t forget|keep in mind|important)\b|记住|别忘|请记|牢记|重要", re.IGNORECASE
)
CHANGE = re.compile(
    r"\b(?:not .{1,40}(?:but|it should be)|instead of|changed? (?:it )?to|no longer)\b|改成|改为|不再|而不是", re.I
)
MAY_GO = re.compile(
    r"^\W*(?:hi|hello|hey|thanks?(?: you)?(?: so much)?|ok(?:ay)?|yes|no|sure|great|bye|good (?:morning|night)"
    r"|你好|谢谢|好的|嗯+|行|再见|早上好|晚安)[\W\s]*$",
    re.IGNORECASE,
)
FIGURE = re.compile(r"\d[\d.,:/-]*")


def weigh(texts: Sequence[str], marked: bool = False) -> tuple[float, str]:
    """The importance of a page with these turns.

    >>> weigh(["Please remember: I am allergic to peanuts.", "Noted."])
    (0.9, "asked to remember: 'Please remember'")
    """
    if marked:
        return 1.0, "marked by the user"
    read = [_read(text) for text in texts]
    for each in read:
        if each.asks:
            return 0.9, f"asked to remember: {each.asks!r}"
    if all(each.may_go for each in read):
        return 0.1, "greetings and thanks only"
    if any(each.changes for each in read):
        return 0.7, "changes something said before"
    figures = sum(each.figures for each in read)
    if figures >= 2 * len(texts):
        return 0.6, f"{figures} figures in {len(texts)} turns"
    return 0.5, "no rule applies"


class _Reading(NamedTuple):
    asks: str  # the words that ask to remember
    may_go: bool
    changes: bool
    figures: int


@lru_cache(maxsize=4_096)  # a page is weighed when it closes, when it is marked, when a setting is tried
def _read(text: str) -> _Reading:
    asks = MUST_STAY.search(text)
    may_go = not text.strip() or MAY_GO.match(text) is not None
    return _Reading(asks[0] if asks else "", may_go, CHANGE.search(text) is not None, len(FIGURE.findall(text)))
