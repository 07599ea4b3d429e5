"""What a page of experiments compares: two replays of the shown conversation, and what is asked of both.

Replays are kept by replaying.py, questions by what they were asked of; a dial that goes back where it was costs
nothing. Not here: any drawing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from memory.errors import EngineError
from memory.scope import Scope
from memory.settings import Settings
from memory.stores.sql import Store
from memory.stores.vector_source import StoredVectors
from sessions.effect import Effect, effect
from sessions.pinned import Moved, Outcome, asked_in, moved, worth_trying
from sessions.pinned import winning as found_winning
from sessions.questions import Pinned, file_of, of_conversation, read
from sessions.replay import Replay
from sessions.replayed import Replayed
from sessions.thresholds import NEEDLESS, Asked, Thresholds, ask, posed, thresholds
from workbench import replaying, state
from workbench.background import Background, Kept, Making
from workbench.replaying import KEPT as KEPT_REPLAYS
from workbench.replaying import LONG, SOON_S, Playing
from workbench.state import Place

FEW = 60  # questions that are asked of a long conversation
KEPT = 4  # comparisons
PATIENCE_S = 20.0  # a replay of a short conversation is awaited, on a busy machine too
TOLD_AFTER_S, TOLD_EVERY_S = 0.4, 0.3  # so long the page is silent, and then says so often how far it is


Work = TypeVar("Work", bound=Background)


def await_all(runs: Iterable[Work], turns: int, tell: Callable[[Work], None] = lambda work: None) -> None:
    """As long as a page waits before it goes on without them; `tell` says meanwhile how far the one waited for is."""
    until = time.monotonic() + (PATIENCE_S if turns <= LONG else SOON_S)
    for each in runs:
        each.wait(max(0.0, min(TOLD_AFTER_S, until - time.monotonic())))
        while each.is_under_way and time.monotonic() < until:
            tell(each)
            each.wait(max(0.0, min(TOLD_EVERY_S, until - time.monotonic())))


class Tried(Protocol):
    """What a run was held under, and what is tried in its place."""

    @property
    def base(self) -> Settings: ...
    @property
    def settings(self) -> Settings: ...


def both(here: Place, tried: Tried) -> tuple[Playing, Playing]:
    """The replay as it is, and as it would be: begun, perhaps still under way."""
    store = state.open_store()
    source = replaying.source_of(store, here.scope)
    return replaying.playing(store, source, tried.base), replaying.playing(store, source, tried.settings)


class Comparing(Making[Effect]):
    """What a change of settings does, worked out: of a long conversation that takes a second or two."""

    def __init__(self, make: Callable[[], Effect], turns: int) -> None:
        super().__init__("comparison", lambda _: make())
        self.turn = self.turns = turns  # replayed


_COMPARING: Kept[Hashable, Comparing] = Kept(KEPT)


def effect_of(here: Place, tried: Tried, before: Replayed, after: Replayed) -> Comparing:
    """The effect of what is tried, begun by whoever asks for it first: perhaps still under way."""
    store, price, asked_here = state.open_store(), price_of(tried.settings.llm), pins(here)
    known = known_of(store, here.own_version)

    def make() -> Effect:
        pinned = pinned_between(store, before, after, asked_here, known)
        return effect(before.replay, after.replay, price=price, asked=(asked(before), asked(after)), pinned=pinned)

    def begun() -> Comparing:
        comparing = Comparing(make, here.stream.turns)
        comparing.start()
        return comparing

    return _COMPARING.get((before, after, price, asked_here, known), begun)


def pins(here: Place) -> tuple[Pinned, ...]:
    """The questions that are pinned onto the shown conversation."""
    return tuple(of_conversation(read(file_of(state.open_store())), here.row.user, here.row.conversation))


def known_of(store: Store, facts: int) -> Hashable:
    """What pinned questions are asked of besides a replay: facts of this version, vectors, words that were erased."""
    return facts, StoredVectors(store).newest(), store.generation()


def pinned_between(
    store: Store, before: Replayed, after: Replayed, asked: tuple[Pinned, ...], known: Hashable
) -> tuple[Moved, ...]:
    """As `sessions.pinned.between`, but each replay is asked once."""
    return moved(asked, *(_outcomes(store, each, asked, known) for each in (before, after)))


@lru_cache(maxsize=KEPT_REPLAYS)
def _outcomes(store: Store, replayed: Replayed, asked: tuple[Pinned, ...], known: Hashable) -> Sequence[Outcome]:
    return asked_in(store, replayed.replay, asked)


def winning(here: Place, tried: Tried, asked: Pinned) -> Mapping[str, Any] | None:
    """The first setting worth trying under which this question is won; each replay is kept for the page to show."""
    store = state.open_store()
    source = replaying.source_of(store, here.scope)

    def again(_: Store, __: Scope, settings: Settings) -> Replay:
        made = replaying.playing(store, source, settings)
        made.start()  # goes on with one that was stopped
        while made.is_under_way:  # half a replay would judge half of the questions
            made.wait(1.0)
        return made.played().replay

    return found_winning(store, asked, tried.settings, worth_trying(tried.settings), again)


@lru_cache(maxsize=KEPT_REPLAYS)
def asked(replayed: Replayed) -> Sequence[Asked]:
    """The conversation's questions, by words alone: no model makes vectors for a slider."""
    replay = replayed.replay
    wanted = [each for each in posed(replay.recording) if each.by != NEEDLESS]
    return ask(replay, wanted[-FEW:] if replay.turns > LONG else wanted)


@lru_cache(maxsize=8)
def lines_of(replayed: Replayed) -> Thresholds:
    """Where the lines stand over these questions, and over messages that need nothing."""
    replay = replayed.replay
    return thresholds(replay, posed(replay.recording)[-FEW:] if replay.turns > LONG else None)


@lru_cache(maxsize=50)
def price_of(llm: str) -> float | None:
    """Dollars a token of a prompt; None where nobody knows. The embedded responder costs nothing."""
    if llm.startswith("workbench/"):
        return 0.0
    from memory.models.chat import prompt_price

    try:
        return prompt_price(llm)
    except EngineError:
        return None


def forget() -> None:
    """Drop what was worked out of replays, and them with it."""
    _COMPARING.forget()
    for kept in (asked, lines_of, _outcomes):
        kept.cache_clear()
