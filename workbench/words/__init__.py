"""Every word the pages say, in each language, and how numbers, times and foreign text are shown.

A catalogue is one dictionary; a value may hold fields as in `str.format`, with our own endings: `{tokens:n}` a
number, `{share:p}` a percentage, `{at:ms}` a duration, `{turns:one turn|turns}` a noun by number. It knows no
page and no browser: `Words` is given a language and a time zone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import cache
from string import Formatter
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from workbench.words import en, zh

LANGUAGES: dict[str, dict[str, str]] = {"en": en.TEXT, "zh": zh.TEXT}
PHRASES: dict[str, tuple[tuple[re.Pattern[str], str], ...]] = {"zh": zh.PHRASES}
DEFAULT = "en"
_STEERING = (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
BIDI = {chr(c): f"⟨{unicodedata.name(chr(c)).title()}⟩" for c in _STEERING}
WORD_JOINER = "\u2060"  # as wide as nothing
# Where an address is found in words that are already read, so that a backslash is too late (mdast-util-gfm-autolink).
_LINKED = re.compile(r"https?:(?=//)|www(?=\.)|@", re.IGNORECASE)
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f" + "".join(BIDI) + "]")


def visible(text: str, most: int = 2_000) -> str:
    """Foreign text as it may be shown: what steers a terminal or the reading direction becomes a visible sign.

    Longer ones are cut, and say by how much.
    """
    cut = text[:most].replace("\r\n", "\n")
    shown = _HIDDEN.sub(lambda found: BIDI.get(found[0]) or _control(ord(found[0])), cut)
    return f"{shown}… (+{len(text) - most:,})" if len(text) > most else shown


def escaped(text: str) -> str:
    """Text for a place that reads Markdown: nothing in it is markup, and no address in it becomes a link."""
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|~:$])", r"\\\1", _LINKED.sub(rf"\g<0>{WORD_JOINER}", text))


def _control(code: int) -> str:
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else f"⟨{code:#04x}⟩"


def language_of(locale: str | None) -> str:
    """The catalogue for a browser's locale: zh-CN → zh."""
    short = (locale or "").replace("_", "-").partition("-")[0].lower()
    return short if short in LANGUAGES else DEFAULT


def zone_of(name: str | None) -> tzinfo:
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


@cache
def _pieces(template: str) -> tuple[tuple[str, str, str], ...]:
    """Literal text, the field after it (or ""), and how that field is shown."""
    return tuple((text, field or "", spec or "") for text, field, spec, _ in Formatter().parse(template))


_DAY = re.compile(r"(?<![\w“-])(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?![\w”-])")


@dataclass(frozen=True, slots=True)
class Words:
    """
    >>> Words("en")("tokens", tokens=1200)
    '1,200 tokens'
    >>> Words("zh")("tokens", tokens=1200)
    '1,200 个词元'
    """

    language: str = DEFAULT
    zone: tzinfo = UTC

    def __call__(self, key: str, **values: Any) -> str:
        said = ""
        for text, field, spec in _pieces(LANGUAGES[self.language][key]):
            said += text + (self._field(values[field], spec) if field else "")
        return said

    def _field(self, value: Any, spec: str) -> str:
        match spec:
            case "n":
                return self.number(value)
            case "p":
                return self.amount(value, "ratio")
            case "ms":
                return self.duration(value)
            case "usd":
                return self.amount(value, "usd")
            case "score":
                return self.score(value)
            case "":
                return visible(str(value), 400)
            case _:
                one, many = spec.split("|")
                return one if value == 1 else many

    # ── numbers with units ────────────────────────────────────────────────────────────────────────────

    def number(self, value: float) -> str:
        return f"{value:,.0f}"

    def short(self, tokens: int) -> str:
        """For an axis: 2k, 1.5M."""
        for size, unit in ((1_000_000, "M"), (1_000, "k")):
            if tokens >= size:
                return f"{tokens / size:.2f}".rstrip("0").rstrip(".") + unit
        return str(tokens)

    def score(self, value: float) -> str:
        return f"{value:,.0f}" if value == int(value) and abs(value) >= 10 else f"{value:.3g}"

    def amount(self, value: float, unit: str) -> str:
        match unit:
            case "ratio":
                return f"{value * 100:.1f}".removesuffix(".0") + " %"
            case "usd":
                return f"${value:,.2f}" if value == 0 or value >= 0.1 else f"${value:.4f}"
            case _:
                return self.number(value)

    def duration(self, ms: float) -> str:
        if ms >= 1000:
            return f"{ms / 1000:,.1f} s"
        return f"{ms:.0f} ms" if ms >= 10 else f"{ms:.1f} ms"

    def turns(self, first: int, last: int) -> str:
        return self("turn.one", turn=first) if first == last else self("turn.range", first=first, last=last)

    # ── times in the reader's zone ────────────────────────────────────────────────────────────────────

    def clock(self, at: datetime) -> str:
        return f"{at.astimezone(self.zone):%H:%M:%S}"

    def moment(self, at: datetime) -> str:
        here = at.astimezone(self.zone)
        return self("moment", year=here.year, month=self(f"month.{here.month}"), day=here.day, clock=f"{here:%H:%M}")

    # ── what the engine says, in the reader's language ────────────────────────────────────────────────

    def term(self, group: str, name: str) -> str:
        """A name out of a closed set (a role, an origin); one of the user's own stays as it is."""
        return LANGUAGES[self.language].get(f"{group}.{name}", visible(name, 80))

    def reason(self, text: str) -> str:
        """A reason out of the log, which speaks English; what no pattern knows stays as it is."""
        for pattern, says in PHRASES.get(self.language, ()):
            found = pattern.fullmatch(text)
            if found:
                return self._with_days(visible(found.expand(says), 400))
        parts = text.split("; ")
        return "; ".join(map(self.reason, parts)) if len(parts) > 1 else self._with_days(visible(text, 400))

    def _with_days(self, text: str) -> str:
        """Days as the reader writes them; what is quoted stays as it was said."""
        told = lambda m: self("timeline.day", year=m[1], month=self(f"month.{int(m[2])}"), day=int(m[3]))  # noqa: E731
        return _DAY.sub(told, text)

    def sentence(self, kind: str, values: Mapping[str, Any]) -> str:
        """What a row of the feed says."""
        if kind in ("recalled", "refused"):
            return self._recall(values)
        told = {name: 0 if value is None else value for name, value in values.items()}
        told |= {name: self.reason(str(told[name])) for name in ("cause", "why", "reason") if name in told}
        told |= {name: self.term(name, str(told[name])) for name in ("by", "origin", "rule", "policy") if name in told}
        variant = f"feed.{kind}.cost" if kind == "called" and values.get("cost") else f"feed.{kind}"
        return self(variant, **told)

    def _recall(self, values: Mapping[str, Any]) -> str:
        """A recall is told in parts, for it may have any of them."""
        parts = [self("recall.by", by=self.term("by", str(values["by"])))]
        for name, field in (("asked", "asked"), ("question", "question"), ("came", "pages"), ("resident", "pages")):
            if values[name]:
                parts.append(self(f"recall.{name}", **{field: values[name]}))
        if values["refused"]:
            parts.append(self("recall.refused", refused=values["refused"]))
        if not values["came"] and not values["resident"]:
            parts.append(self("recall.nothing"))
        if values["right"] is not None:
            parts.append(self("recall.right" if values["right"] else "recall.wrong"))
        return " · ".join(parts)
