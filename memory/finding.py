"""What one check of a diagnosis found: a measure with its numerator and denominator, and what it was compared with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

OK, SUSPECT, NOT_MEASURED = "ok", "suspect", "not measured"
FEWEST = 5  # things counted, below which a share says nothing
TOLD = 6  # pieces of evidence


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    verdict: str  # ok, suspect, not measured
    says: str  # what was measured, in a sentence
    value: float | None = None  # part / whole, or in its own unit
    unit: str = "share"
    part: float | None = None
    whole: float | None = None
    n: int = 0  # things looked at
    limit: float | None = None  # it is suspect beyond
    limit_from: str = ""  # where that comes from
    evidence: tuple[str, ...] = ()  # turns, pages, facts by name
    remedy: str = ""  # the smallest change: a setting, or a command

    @property
    def suspect(self) -> bool:
        return self.verdict == SUSPECT

    @property
    def compared(self) -> str:
        """`3/51 = 0.06 share, limit 0.05 (ours)`"""
        if self.value is None:
            return ""
        counted = f"{self.part:g}/{self.whole:g} = " if self.part is not None and self.whole is not None else ""
        limit = f", limit {self.limit:g} ({self.limit_from})" if self.limit is not None else ""
        return f"{counted}{self.value:.3g} {self.unit}, n={self.n}{limit}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def share(
    name: str, says: str, part: float, whole: float, limit: float, limit_from: str, *, evidence: Iterable[str] = (),
    remedy: str = "", fewest: int = FEWEST, least: bool = False,
) -> Finding:  # fmt: skip
    """`part` of `whole`, suspect above the limit (`least`: below it); of fewer than `fewest` nothing is said."""
    if whole < max(1, fewest):
        return unmeasured(name, f"{says}: only {whole:g}, of which no share can be told", n=int(whole))
    value = part / whole
    bad = value < limit if least else value > limit
    return Finding(
        name, SUSPECT if bad else OK, f"{says}: {part:g} of {whole:g} ({value:.0%})", value, "share", part, whole,
        int(whole), limit, limit_from, tuple(evidence)[:TOLD], remedy if bad else "",
    )  # fmt: skip


def figure(
    name: str, says: str, value: float, unit: str, n: int, limit: float, limit_from: str, *,
    evidence: Iterable[str] = (), remedy: str = "",
) -> Finding:  # fmt: skip
    """A number in its own unit, suspect above the limit."""
    bad = value > limit
    return Finding(
        name, SUSPECT if bad else OK, says, value, unit, None, None, n, limit, limit_from, tuple(evidence)[:TOLD],
        remedy if bad else "",
    )  # fmt: skip


def unmeasured(name: str, says: str, *, n: int = 0, remedy: str = "") -> Finding:
    return Finding(name, NOT_MEASURED, says, n=n, remedy=remedy)
