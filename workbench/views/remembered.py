"""What is known about a user with its words, read once for the several views of a page.

Thousands of facts take more than a second to read; which of them a view shows changes with every click. Kept for the
users last asked for, and carried on by what was written since, until words are taken from the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memory.facts import Fact
from memory.knowledge import Knowledge
from memory.scope import Scope
from memory.stores.sql import Store

KEPT = 2  # users


@dataclass(frozen=True, slots=True, eq=False)
class Remembered:
    k: Knowledge
    words: Mapping[int, str]  # of facts: their text, subject, attribute, value
    generation: int  # of the store's words

    def text(self, fact: Fact | int) -> str:
        """What it says; "" where there is no such fact."""
        found = fact if isinstance(fact, Fact) else self.k.facts.get(fact)
        return self.words.get(found.text, "") if found else ""


_kept: dict[tuple[Store, str], Remembered] = {}


def remembered(store: Store, user: str) -> Remembered:
    """As of now."""
    stream, generation, key = store.stream(Scope.own(user)), store.generation(), (store, user)
    if stream is None:
        return Remembered(Knowledge(), {}, generation)
    last = _kept.pop(key, None)
    if last is not None and (last.generation != generation or last.k.version > stream.version):
        last = None
    if last is None or last.k.version < stream.version:
        last = _read(store, user, store.fold_of(stream, near=last.k if last else None), last, generation)
    _kept[key] = last
    for oldest in list(_kept)[:-KEPT]:
        _kept.pop(oldest, None)
    return last


def _read(store: Store, user: str, k: Knowledge, last: Remembered | None, generation: int) -> Remembered:
    """With the words that are not at hand yet."""
    known = last.words if last else {}
    missing = _ids(k.facts.values()) - known.keys()
    return Remembered(k, {**known, **store.words(Scope.own(user), sorted(missing))}, generation)


def _ids(facts: Iterable[Fact]) -> set[int]:
    return {i for f in facts for i in (f.text, f.subject, f.attribute, f.value)} - {0}
