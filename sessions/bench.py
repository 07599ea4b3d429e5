"""How fast the engine is, measured side by side in one run. Reports what it saw, with n; judges nothing.

The text is made up but shaped like talk: words drawn by their real frequency, so that keywords, search and
counting do the work that they do on a conversation.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memory.engine import Engine
from memory.models.chat import Answer
from memory.scope import Scope
from memory.settings import Settings
from memory.stores.sql import Store
from memory.stores.sync import sync
from sessions.importer import import_recordings
from sessions.recording import RecordedTurn, Recording
from sessions.replay import identified, replay

SIZES = (1_000, 10_000)  # turns in the store
STEPS = 200  # measured at each size
AS_OF = 50  # random past turns
FACT_TURNS = 25  # one turn in so many says a fact
LOCOMO_TURNS = 588  # the mean length of a LoCoMo conversation
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

Say = Callable[[str], None]


def engine_figures(sizes: Sequence[int] = SIZES, steps: int = STEPS, progress: Say | None = None) -> dict[str, Any]:
    """`turn_overhead_ms` by size, `replay_turns_per_s`, `as_of_ms`, each with n."""
    say = progress or (lambda line: None)
    figures: dict[str, Any] = {"turn_overhead_ms": {}}
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            say(f"a store with {size:,} turns …")
            place = Path(folder) / str(size)
            with Store.open(place) as store:
                import_recordings(store, [talk(size)], settings=Settings.of(window_tokens=8_000), replay=True)
                say(f"{steps} steps on it …")
                figures["turn_overhead_ms"][str(size)] = _overhead(store, steps)
                if size == max(sizes):
                    say(f"{AS_OF} random past turns of it …")
                    figures["as_of_ms"] = _as_of(place, size)
    say(f"replays of {LOCOMO_TURNS} turns …")
    figures["replay_turns_per_s"] = _replay_speed()
    return figures


def engine_rows(figures: dict[str, Any]) -> list[list[object]]:
    """For a table: figure, value, n."""
    rows: list[list[object]] = []
    for size, spread in figures["turn_overhead_ms"].items():
        value = f"p50 {spread['p50']:.1f} ms, p95 {spread['p95']:.1f} ms"
        rows.append([f"overhead per step at {int(size):,} turns", value, spread["n"]])
    spread = figures["as_of_ms"]
    rows.append(
        ["state as of a random turn, cold", f"p50 {spread['p50']:.0f} ms, p95 {spread['p95']:.0f} ms", spread["n"]]
    )
    speed = figures["replay_turns_per_s"]
    rows.append([f"replay of {speed['turns']} turns at fixed_10", f"{speed['value']:,.0f} turns/s", speed["n"]])
    return rows


def talk(turns: int, seed: int = 7) -> Recording:
    """A made-up conversation of user and assistant in turn, about 30 words each."""
    draw = random.Random(seed)
    words, weights = _vocabulary(draw)

    def sentence(number: int) -> str:
        chosen = " ".join(draw.choices(words, weights, k=draw.randint(18, 42))).capitalize() + "."
        if number % FACT_TURNS == 1:  # something to remember: new, or another value of something known
            chosen += f" My {draw.choice(words)} budget is {draw.randint(10, 900) * 10} euros."
        return chosen

    return Recording(
        conversation=f"talk-{turns}",
        user="bench",
        title=f"Made-up talk of {turns} turns",
        turns=tuple(
            RecordedTurn(
                number=n,
                role="user" if n % 2 else "assistant",
                text=sentence(n),
                said_at=START + timedelta(minutes=3 * n),
            )
            for n in range(1, turns + 1)
        ),
    )


def _vocabulary(draw: random.Random) -> tuple[list[str], list[float]]:
    from wordfreq import get_frequency_dict

    known = sorted(get_frequency_dict("en", "small").items(), key=lambda entry: -entry[1])[:12_000]
    return [word for word, _ in known], [frequency for _, frequency in known]


def _overhead(store: Store, steps: int) -> dict[str, float]:
    """Wall time of a whole step, disk and all, with a model that answers at once."""

    def at_once(llm: str, messages: Sequence[Any], **options: Any) -> Answer:
        return Answer("I see what you mean, and I will keep it in mind.", (), 0, 0, None, "stop", llm, 0.0)

    conversation = store.streams()[0].scope.conversation
    sync(store)  # the first drain of a new store is no part of a step
    engine = Engine.open(store, user="bench", conversation=conversation, chat=at_once)
    lines = [turn.text for turn in talk(2 * steps + 40, seed=11).turns if turn.role == "user"]
    for line in lines[:20]:  # indexes and caches are made once a process
        engine.say(line)
    taken = [_ms(engine.say, line) for line in lines[20 : 20 + steps]]
    engine.close()
    return _spread(taken)


def _as_of(place: Path, turns: int) -> dict[str, float]:
    """Each time through a freshly opened store: nothing is cached in the process."""
    draw = random.Random(3)
    taken = []
    for _ in range(AS_OF):
        with Store.open(place, readonly=True) as store:
            scope = next(s.scope for s in store.streams() if s.scope.run.startswith("replay"))
            turn = draw.randint(1, turns)
            taken.append(_ms(_state_at, store, scope, turn))
    return _spread(taken)


def _state_at(store: Store, scope: Scope, turn: int) -> None:
    store.state(scope, store.version_at(scope, turn))


def _replay_speed(repeats: int = 5) -> dict[str, float]:
    recording = identified(talk(LOCOMO_TURNS))
    settings = Settings.of(boundary="fixed_10", window_tokens=8_000)
    replay(recording, settings)  # counts and keywords of these texts are cached once, as in a tuning session
    taken = [_ms(replay, recording, settings) for _ in range(repeats)]
    best = sorted(taken)[len(taken) // 2]
    return {"value": LOCOMO_TURNS / best * 1000, "turns": LOCOMO_TURNS, "n": repeats}


def _ms(act: Callable[..., Any], *args: Any) -> float:
    since = time.perf_counter()
    act(*args)
    return (time.perf_counter() - since) * 1000


def _spread(taken: Sequence[float]) -> dict[str, float]:
    ordered = sorted(taken)
    return {
        "p50": round(ordered[len(ordered) // 2], 2),
        "p95": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))], 2),
        "n": len(ordered),
    }
