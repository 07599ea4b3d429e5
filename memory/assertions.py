"""Assertions on memory, for tests and notebooks of whoever builds on it: the message of a failure is the reason.

>>> assert_recalled(engine, "budget 8000", at_turn=40)                # doctest: +SKIP
>>> assert_not_in_prompt(engine, "budget 5000")                       # doctest: +SKIP

What counts is the prompt that a step's model read, or, with a question, would read as of that turn; `why.py` says why.
"""

from __future__ import annotations

from memory.engine import Engine
from memory.exposure import StaleExposure, stale_exposure
from memory.scope import Scope
from memory.stores.sql import Store
from memory.why import Verdict, why

Place = Engine | tuple[Store, Scope]


def assert_recalled(where: Place, expected: str, *, at_turn: int | None = None, question: str = "") -> Verdict:
    """The prompt of that step (None: the last) holds these words. Raises AssertionError that says where they fell."""
    verdict = _verdict(where, expected, question, at_turn)
    if not verdict.in_prompt:
        raise AssertionError(f"{expected!r} was not recalled: {verdict.line}\n{_stages(verdict)}")
    return verdict


def assert_not_in_prompt(where: Place, words: str, *, at_turn: int | None = None, question: str = "") -> Verdict:
    """No part of that step's prompt holds these words. Raises AssertionError that names what brought them in."""
    verdict = _verdict(where, words, question, at_turn)
    if verdict.in_prompt:
        raise AssertionError(f"{words!r} stands in the prompt: {verdict.says}\n{_stages(verdict)}")
    return verdict


def assert_no_unmarked_versions(where: Place, *, at_turn: int | None = None) -> StaleExposure:
    """In no prompt (with `at_turn`: of that step) an old value stands unmarked beside the new one (exposure.py).

    Raises AssertionError that names the turns, the facts and the pages.
    """
    store, scope = (where.store, where.scope) if isinstance(where, Engine) else where
    step = store.state(scope, store.version_at(scope, at_turn)).step if at_turn else 0
    found = stale_exposure(store, scope, at_turn)
    alarms = [each for each in found.alarms if step in (0, each.step)]
    if alarms:
        said = {f.fact: f"  f{f.fact} {f.said!r}, now f{f.newer} {f.says!r}" for f in found.facts}
        told = [said[number] for number in dict.fromkeys(each.fact for each in alarms)]
        raise AssertionError("\n".join(["two versions of a fact stand in a prompt unmarked", *map(str, alarms), *told]))
    return found


def _verdict(where: Place, words: str, question: str, turn: int | None) -> Verdict:
    store, scope = (where.store, where.scope) if isinstance(where, Engine) else where
    return why(store, scope, words, question, turn)


def _stages(verdict: Verdict) -> str:
    return "\n".join(f"  {name:10} {mark:3} {says}" for name, mark, says in verdict.rows())
