"""What a page of experiments compares: two replays of the shown conversation, and what is asked of both.

Replays are kept by replaying.py, questions by what they were asked of; a dial that goes back where it was costs
nothing. Not here: any drawing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

from memory.errors import EngineError
from memory.scope import Scope
from memory.settings import Settings
from memory.stores.sql import Store
from sessions.effect import Effect, effect
from sessions.pinned import Moved, between, worth_trying
from sessions.pinned import winning as found_winning
from sessions.questions import Pinned, file_of, of_conversation, read
from sessions.replay import Replay
from sessions.replayed import Replayed
from sessions.thresholds import NEEDLESS, Asked, Thresholds, ask, posed, thresholds
from workbench import replaying, state
from workbench.replaying import Playing
from workbench.state import Place

LONG = 2_000  # turns; of a longer conversation fewer questions are asked
FEW = 60


def await_both(runs: Iterable[Playing], turns: int) -> None:
    """As long as a page waits before it shows how far they are: short ones are awaited, on a busy machine too."""
    until = time.monotonic() + (20.0 if turns <= LONG else replaying.AT_ONCE_S)
    for each in runs:
        each.wait(max(0.0, until - time.monotonic()))


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


def effect_of(here: Place, tried: Tried, before: Replayed, after: Replayed) -> Effect:
    price = price_of(tried.settings.llm)
    pinned = _pinned(before, after, pins(here), here.own_version)
    return effect(before.replay, after.replay, price=price, asked=(asked(before), asked(after)), pinned=pinned)


def pins(here: Place) -> tuple[Pinned, ...]:
    """The questions that are pinned onto the shown conversation."""
    return tuple(of_conversation(read(file_of(state.open_store())), here.row.user, here.row.conversation))


@lru_cache(maxsize=24)
def _pinned(before: Replayed, after: Replayed, asked: tuple[Pinned, ...], known: int) -> tuple[Moved, ...]:
    """`known`: the version of what is remembered, for questions are asked of facts too."""
    return between(state.open_store(), before.replay, after.replay) if asked else ()


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


@lru_cache(maxsize=24)
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
