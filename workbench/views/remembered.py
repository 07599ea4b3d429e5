"""What is known about a user with its words, read once for the several views of a page.

Thousands of facts take most of a second to read; which of them a view shows changes with every click. Kept for the two
users last asked for, until what is known or the store's words change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from memory.facts import Fact
from memory.knowledge import Knowledge
from memory.scope import Scope
from memory.stores.sql import Store


@dataclass(frozen=True, slots=True, eq=False)
class Remembered:
    k: Knowledge
    words: Mapping[int, str]  # of facts: their text, subject, attribute, value

    def text(self, fact: Fact | int) -> str:
        """What it says; "" where there is no such fact."""
        found = fact if isinstance(fact, Fact) else self.k.facts.get(fact)
        return self.words.get(found.text, "") if found else ""


def remembered(store: Store, user: str) -> Remembered:
    """As of now."""
    stream = store.stream(Scope.own(user))
    return _read(store, user, stream.version if stream else 0, store.generation())


@lru_cache(maxsize=2)
def _read(store: Store, user: str, version: int, generation: int) -> Remembered:
    k = store.knowledge(user, version)
    ids = {i for f in k.facts.values() for i in (f.text, f.subject, f.attribute, f.value)} - {0}
    return Remembered(k, store.words(Scope.own(user), sorted(ids)))
