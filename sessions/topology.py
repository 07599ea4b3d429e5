"""How far back a conversation reaches when it needs something: it moves forward, or it comes back to what is old.

Every demand has a distance: the tokens that were said between the turn that answers it and the message that needs it.
A demand reaches past the window where that is more than the window's room. Demands are labelled or pinned ones, or
what the model asked back; questions after the last turn are none, for when they are asked is nobody's choice. Where
there are too few, the words tell: rare ones that are said again.

The policy that is recommended is the one that did best on these demands in the lab, not what the shape suggests; where
none is told apart from the one in force, that one stays.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from memory import show
from memory.language import terms
from memory.show import Shown
from sessions.honesty import EVICTION, MODEL, NOTHING, OWN, Honesty
from sessions.lab import lab
from sessions.paging import ASKED_BACK, MESSAGELESS, ORACLE, PAGES_SHARE, Cell, Outcome, Talk, paged

FORWARD, REVISITS, MIXED, UNKNOWN = "forward", "revisits", "mixed", "unknown"
LABELS, WORDS = "labels", "words"
FEW = 8  # demands; of fewer nothing is said by labels
FORWARD_UP_TO, REVISITS_FROM = 0.25, 0.5  # of the demands, those that reach past the window
EDGES = (5, 10, 20, 50, 100)  # turns, of the histogram
SUGGESTS = {FORWARD: "fifo", REVISITS: "lfu"}  # by arXiv 2604.12376 (withdrawn); held against the evidence here
RARE = 4  # turns that say a word at the most
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Revisit:
    """A turn that needs an earlier one."""

    turn: int
    to: int
    tokens: int  # said in between

    @property
    def distance(self) -> int:
        return self.turn - self.to


@dataclass(frozen=True, slots=True)
class Tried:
    """A policy on these demands, against the one in force."""

    policy: str
    resident: int
    n: int
    low: float  # of the difference to the one in force, a question: 95 of 100 samples lie between
    high: float

    @property
    def is_told_apart(self) -> bool:
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Topology(Shown):
    """A conversation's shape, and what it is read from."""

    conversation: str
    kind: str
    by: str
    revisits: tuple[Revisit, ...]
    budget: int  # tokens for pages and stubs
    current: str
    tried: tuple[Tried, ...]
    pages: int
    corpus_tokens: int
    labels: str = OWN

    @property
    def room(self) -> float:
        return PAGES_SHARE * self.budget

    @property
    def far(self) -> int:
        """Demands that reach past the window."""
        return sum(each.tokens > self.room for each in self.revisits)

    @property
    def again_ratio(self) -> float:
        """Demands for a turn that was asked for before."""
        seen = Counter(each.to for each in self.revisits)
        return sum(n - 1 for n in seen.values()) / len(self.revisits) if self.revisits else 0.0

    @property
    def policy(self) -> str:
        """The one that did best, where it is told apart from the one in force."""
        best = max(self.tried, key=lambda t: (t.resident, t.policy == self.current), default=None)
        return best.policy if best is not None and best.is_told_apart else self.current

    @property
    def suggested(self) -> str:
        """What the shape suggests; "": nothing."""
        return SUGGESTS.get(self.kind, "")

    @property
    def bins(self) -> list[tuple[int, int, int]]:
        """First and last distance in turns, and how many; the last one is open (0)."""
        edges = [(low + 1, high) for low, high in zip((0, *EDGES), EDGES, strict=False)] + [(EDGES[-1] + 1, 0)]
        return [(a, b, sum(a <= r.distance and (not b or r.distance <= b) for r in self.revisits)) for a, b in edges]

    @property
    def honesty(self) -> Honesty:
        return Honesty(len(self.revisits), 1, 0, self.pages, (self.budget, self.budget), self.corpus_tokens,
                       self.labels, None, NOTHING, EVICTION)  # fmt: skip

    @property
    def reason(self) -> str:
        """In a sentence or two."""
        n = len(self.revisits)
        if self.kind == UNKNOWN:
            return f"{n} demands are too few to tell"
        source = "demands" if self.by == LABELS else "words said again"
        shape = f"{self.far} of {n} {source} reach past the window's {self.room:,.0f} tokens"
        if not self.tried:
            return f"{shape}; without labelled demands no policy can be compared, so {self.current} stays"
        by = {t.policy: t for t in self.tried}
        best, now = by[max(by, key=lambda p: (by[p].resident, p == self.current))], by[self.current]
        if self.policy != self.current:
            return f"{shape}; {best.policy} had {best.resident} of {best.n} in the window, {now.policy} {now.resident}"
        return (f"{shape}; {now.policy} had {now.resident} of {now.n} in the window, the best {best.resident} "
                f"({best.policy}): not told apart, so {self.current} stays")  # fmt: skip

    def __repr__(self) -> str:
        return f"<Topology of {self.conversation}: {self.kind}, {self.policy}; {self.reason}>"

    HEAD = ("policy", "in the window", "n", "difference", "told apart")

    def lines(self) -> list[list[Any]]:
        return [[t.policy, t.resident, t.n, f"{t.low:+.2f} to {t.high:+.2f}", "yes" if t.is_told_apart else "no"]
                for t in self.tried]  # fmt: skip

    def _html(self) -> str:
        shape = [(f"{a} to {b}" if b else f"{a} or more", n) for a, b, n in self.bins]
        return (show.rows(repr(self)[1:-1], self.honesty.to_dict()) + show.table(("turns back", "demands"), shape)
                + show.table(self.HEAD, self.lines()))  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        return {
            "conversation": self.conversation, "kind": self.kind, "by": self.by, "n": len(self.revisits),
            "far": self.far, "again_ratio": round(self.again_ratio, 4), "budget": self.budget, "policy": self.policy,
            "current": self.current, "suggested": self.suggested, "reason": self.reason,
            "distances": [[a, b, n] for a, b, n in self.bins],
            "tried": [dict(zip(self.HEAD, line, strict=True)) for line in self.lines()],
            "honesty": self.honesty.to_dict(),
        }  # fmt: skip

    def to_df(self) -> Any:
        """One row a demand."""
        import pandas as pd

        rows = [[r.turn, r.to, r.distance, r.tokens] for r in self.revisits]
        return pd.DataFrame(rows, columns=["turn", "to", "distance", "tokens"])


def topology(talk: Talk, *, budget: int = 8_000, current: str = "lru", boundary: str = "fixed_10") -> Topology:
    """The shape of a conversation at a budget, and the policy that suits it. `current`: the one in force.

    Raises UnknownName for a policy that the lab cannot run.
    """
    Cell(boundary, current, budget=budget)
    last = talk.turns[-1].number
    probes = tuple(p for p in talk.probes if p.at < last)
    asked = _asked(talk)
    by = LABELS if len(asked) >= FEW else WORDS
    revisits = asked if by == LABELS else _said_again(talk)
    outcomes = _outcomes(replace(talk, probes=probes), budget, boundary) if by == LABELS else {}
    tried = tuple(_tried(policy, outcomes[policy], outcomes[current]) for policy in outcomes)
    tokens = sum(t.tokens for t in talk.turns)
    labels = MODEL if any(p.category == ASKED_BACK for p in probes) else OWN
    made = Topology(
        talk.name, UNKNOWN, by, revisits, budget, current, tried, len(paged(talk, boundary)), tokens, labels
    )
    return replace(made, kind=_kind(made.far, len(revisits)))


def _kind(far: int, n: int) -> str:
    if n < FEW:
        return UNKNOWN
    return FORWARD if far / n <= FORWARD_UP_TO else REVISITS if far / n >= REVISITS_FROM else MIXED


def _asked(talk: Talk) -> tuple[Revisit, ...]:
    """What is asked on the way; of several turns that answer, the one furthest back counts: it is lost first."""
    told, last = _told(talk), talk.turns[-1].number
    return tuple(_revisit(p.at + 1, min(p.evidence), told) for p in talk.probes if p.at < last)


def _said_again(talk: Talk) -> tuple[Revisit, ...]:
    """Turns with a rare word of an earlier turn; of several such turns the nearest."""
    turns_of: dict[str, list[int]] = defaultdict(list)
    for line in talk.lines:
        for term in set(terms(line.text)):
            turns_of[term].append(line.turn)
    nearest: dict[int, int] = {}
    for turns in turns_of.values():
        if 2 <= len(turns) <= RARE:
            for before, turn in pairwise(turns):
                nearest[turn] = max(before, nearest.get(turn, 0))
    told = _told(talk)
    return tuple(_revisit(turn, to, told) for turn, to in sorted(nearest.items()))


def _told(talk: Talk) -> Mapping[int, int]:
    """By turn the tokens said up to and with it."""
    return dict(zip((t.number for t in talk.turns), accumulate(t.tokens for t in talk.turns), strict=True))


def _revisit(turn: int, to: int, told: Mapping[int, int]) -> Revisit:
    return Revisit(turn, to, told[turn - 1] - told[to])


def _outcomes(talk: Talk, budget: int, boundary: str) -> dict[str, tuple[Outcome, ...]]:
    made = lab([talk], [Cell(boundary, policy, budget=budget) for policy in (*MESSAGELESS, ORACLE)])
    return {r.cell.eviction: r.outcomes for r in made.real}


def _tried(policy: str, mine: Sequence[Outcome], current: Sequence[Outcome]) -> Tried:
    """Both saw the same questions: these are resampled, not the policies."""
    apart = np.array([a.resident - b.resident for a, b in zip(mine, current, strict=True)])
    drawn = np.random.default_rng(1).integers(0, len(apart), (RESAMPLES, len(apart)))
    low, high = np.quantile(apart[drawn].mean(axis=1), [0.025, 0.975])
    return Tried(policy, sum(o.resident for o in mine), len(mine), round(float(low), 3), round(float(high), 3))
