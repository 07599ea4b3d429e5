"""How important a page is, by rule, when it closes: 0..1, default .5, with the reason.

An input of the importance policy, not a judgement: a mark by the user beats every rule.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    for text in texts:
        if found := MUST_STAY.search(text):
            return 0.9, f"asked to remember: {found[0]!r}"
    if all(MAY_GO.match(text) or not text.strip() for text in texts):
        return 0.1, "greetings and thanks only"
    for text in texts:
        if CHANGE.search(text):
            return 0.7, "changes something said before"
    figures = sum(len(FIGURE.findall(text)) for text in texts)
    if figures >= 2 * len(texts):
        return 0.6, f"{figures} figures in {len(texts)} turns"
    return 0.5, "no rule applies"
