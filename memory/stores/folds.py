"""What a run's records are folded to: the state of a conversation, or what is remembered about its user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memory import knowledge, state
from memory.scope import Scope

SNAPSHOT_STEPS = 200
SNAPSHOT_RECORDS = 500  # of a user's own stream, while it is short


@dataclass(frozen=True, slots=True)
class Fold:
    version: int  # of the fold: snapshots of another one are ignored
    empty: Callable[[], Any]
    apply: Callable[[Any, Any], Any]
    dump: Callable[[Any], bytes]
    load: Callable[[bytes], Any]
    head: Callable[[Any], dict[str, Any]]  # what a stream's head repeats of it
    is_due: Callable[[Any, Any], bool]  # whether what is after is kept as a snapshot, given what was before


def _head_of_conversation(folded: state.State) -> dict[str, Any]:
    return {
        "version": folded.version,
        "turns": folded.turn,
        "steps": folded.step,
        "open_step": folded.open_step,
        "title": folded.title,
        "source": folded.source,
        "settings": folded.settings.hash,
    }


def _head_of_facts(folded: knowledge.Knowledge) -> dict[str, Any]:
    plain = {"turns": 0, "open_step": False, "title": 0, "source": "", "settings": ""}
    return {"version": folded.version, "steps": len(folded.changes), **plain}


def _step_is_over(before: state.State, after: state.State) -> bool:
    is_over = bool(after.step) and not after.open_step and (before.open_step or before.step != after.step)
    return is_over and after.step % SNAPSHOT_STEPS == 0


def _many_more(before: knowledge.Knowledge, after: knowledge.Knowledge) -> bool:
    """A snapshot holds all that is known: the more that is, the rarer, or they would outgrow the log by far."""
    apart = SNAPSHOT_RECORDS << (after.version // (8 * SNAPSHOT_RECORDS)).bit_length()
    return before.version // apart < after.version // apart


CONVERSATION = Fold(
    state.FOLD_VERSION, state.State, state.apply, state.dump, state.load, _head_of_conversation, _step_is_over
)
FACTS = Fold(
    knowledge.FOLD_VERSION, knowledge.Knowledge, knowledge.apply, knowledge.dump, knowledge.load, _head_of_facts,
    _many_more,
)  # fmt: skip


def fold_for(scope: Scope) -> Fold:
    return FACTS if scope.is_own else CONVERSATION
