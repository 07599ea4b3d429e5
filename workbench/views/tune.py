"""Settings as dials, and what moving them does to one turn's prompt.

Every dial is made of the settings' own description (memory/settings.py); what a change does to a conversation is
sessions/effect.py's. Here is what only eyes need: groups, steps of a slider, and the diff of two replays at a turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from memory.bookmarks import BOOKMARKS
from memory.boundaries import BOUNDARIES
from memory.cooperative import QUESTIONS
from memory.errors import NotFound
from memory.events import Event
from memory.eviction import EVICTION
from memory.gist import MAKERS
from memory.known import EXTRACTORS
from memory.pager import LEVELS
from memory.prompt import PROTOCOLS
from memory.retrieval import RETRIEVAL
from memory.scope import Scope
from memory.secondlook import SECOND_LOOKS
from memory.settings import Settings, described
from memory.state import State
from memory.stores.sql import Store, Stream
from memory.templates import TEMPLATES
from sessions.effect import Effect, shows
from sessions.replayed import Replayed
from workbench.views.diff import DiffView, diff

GROUPS: Mapping[str, tuple[str, ...]] = {
    "window": ("window_tokens", "reply_tokens", "high_watermark", "low_watermark", "chunk_share", "count_margin"),
    "pages": ("boundary", "page_turns", "page_exchanges", "page_tokens", "idle_hours", "topic_overlap", "topic_turns",
              "topic_nearness"),
    "eviction": ("eviction", "old_turns", "cooperative_asks", "thrash_steps"),
    "bookmarks": ("bookmarks", "bookmark_template", "bookmark_key", "stub_share", "stub_tokens"),
    "recall": ("recall_k", "retrieve_k", "page_ins", "guest_steps", "recall_rounds", "recall_level", "summaries"),
    "ranking": ("retrieval", "second_look", "min_coverage", "min_margin", "words_weight", "vectors_weight",
                "recency_weight", "use_weight", "duplicate_overlap"),
    "facts": ("remember", "remember_turns", "facts_tokens", "facts_k", "facts_coverage"),
    "models": ("llm", "memory_llm", "protocol", "operations", "retry_s"),
}  # fmt: skip
KNOWN: Mapping[str, Iterable[str]] = {
    "boundary": BOUNDARIES, "eviction policy": EVICTION, "bookmark generator": BOOKMARKS,
    "bookmark template": TEMPLATES, "protocol": PROTOCOLS, "question": QUESTIONS, "recall level": LEVELS,
    "maker of summaries": MAKERS, "retrieval strategy": RETRIEVAL, "second look": SECOND_LOOKS,
    "extractor": EXTRACTORS,
}  # fmt: skip
FINE = 400  # steps of a slider at the most; a wider range goes by factors
FACTORS = (1, 1.5, 2, 3, 4, 5, 6, 8)


@dataclass(frozen=True, slots=True)
class Dial:
    """One setting, to be moved."""

    name: str
    group: str
    kind: str  # int, float, name, text
    value: Any
    base: Any  # what it is without a change
    default: Any
    unit: str
    says: str
    low: float = 0
    high: float = 0
    choices: tuple[Any, ...] = ()  # of a name; of a wide range, what a slider stops at
    shows: str = ""  # prompts, questions, or nothing: where a replay shows an effect

    @property
    def is_moved(self) -> bool:
        return bool(self.value != self.base)

    @property
    def step(self) -> float:
        if self.kind == "int":
            return 1
        return 0.01 if self.high - self.low <= 1 else 0.1 if self.high - self.low <= 10 else 1.0


def choices(registry: str) -> list[str]:
    """Names that a setting may take."""
    return sorted(KNOWN[registry])


def dials(base: Settings, now: Settings) -> tuple[Dial, ...]:
    """Every setting, in the order of its group."""
    group_of = {name: group for group, names in GROUPS.items() for name in names}
    place = {name: n for n, name in enumerate(group_of)}
    made = [_dial(entry, group_of[entry["name"]], base, now) for entry in described()]
    return tuple(sorted(made, key=lambda dial: place[dial.name]))


def _dial(entry: Mapping[str, Any], group: str, base: Settings, now: Settings) -> Dial:
    name = entry["name"]
    value = getattr(now, name)
    common: dict[str, Any] = {
        "name": name, "group": group, "value": value, "base": getattr(base, name), "default": entry["default"],
        "unit": entry["unit"], "says": entry["says"], "shows": shows(name),
    }  # fmt: skip
    if "low" in entry:
        low, high = entry["low"], entry["high"]
        stops = _stops(low, high, value, common["base"]) if high - low > FINE else ()
        return Dial(kind=entry["type"], low=low, high=high, choices=stops, **common)
    if entry["registry"] and entry["registry"] != "boundary":
        return Dial(kind="name", choices=tuple(sorted({*choices(entry["registry"]), value})), **common)
    return Dial(kind="text", choices=tuple(choices("boundary")) if name == "boundary" else (), **common)


def _stops(low: float, high: float, *also: float) -> tuple[float, ...]:
    """Round numbers from the one end to the other, each by a factor.

    >>> _stops(16, 100, 37)
    (16, 20, 30, 37, 40, 50, 60, 80, 100)
    """
    found, power = {low, high, *also}, 1
    while power <= high:
        found |= {int(power * f) for f in FACTORS if low <= power * f <= high and power * f == int(power * f)}
        power *= 10
    return tuple(sorted(found))


def found(all_: Sequence[Dial], words: str = "", group: str = "") -> tuple[Dial, ...]:
    """Dials whose name, unit or meaning hold all of these words; of a group, or those that were moved."""
    wanted = words.casefold().replace("_", " ").split()
    if wanted:
        return tuple(
            d for d in all_
            if all(w in f"{d.name.replace('_', ' ')} {d.unit} {d.says} {d.value}".casefold() for w in wanted)
        )  # fmt: skip
    if group == "moved":
        return tuple(d for d in all_ if d.is_moved)
    return tuple(d for d in all_ if d.group == group)


# ── one turn ──────────────────────────────────────────────────────────────────────────────────────────


class _Both:
    """Two replays, read as two runs of one store."""

    def __init__(self, *replays: Replayed) -> None:
        self._of = {each.scope: each for each in replays}

    def _at(self, scope: Scope) -> Replayed:
        if scope not in self._of:
            raise NotFound(f"{scope} is none of these replays")
        return self._of[scope]

    def require(self, scope: Scope) -> Stream:
        return self._at(scope).require(scope)

    def events(self, scope: Scope, **asked: Any) -> list[Event]:
        return self._at(scope).events(scope, **asked)

    def state(self, scope: Scope, version: int | None = None) -> State:
        return self._at(scope).state(scope, version)

    def version_at(self, scope: Scope, turn: int) -> int:
        return self._at(scope).version_at(scope, turn)

    def words(self, scope: Scope, ids: Sequence[int] | None = None) -> dict[int, str]:
        return self._at(scope).words(scope, ids)


def difference(made: Effect, turn: int) -> DiffView | None:
    """The prompt of this turn's step before and after; None where the settings are the same, or it has no prompt."""
    before, after = (Replayed(each) for each in made.replays)
    if before.scope == after.scope:
        return None
    both = cast("Store", _Both(before, after))  # a diff only reads
    try:
        return diff(both, before.scope, turn, after.scope, turn)
    except NotFound:
        return None
