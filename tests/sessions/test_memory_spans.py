"""What a memory did, as spans: each operation once, numbers and reasons, no words."""

from collections.abc import Callable
from typing import Any

from memory.events import BookmarkMade, FactsPlaced, PageEvicted, PagesRecalled
from memory.scope import Scope
from memory.settings import Settings
from memory.stores.sql import Store
from sessions.importer import import_recordings
from sessions.memory_spans import emit
from sessions.recording import Recording

KIND_OF = {"evict_memory": PageEvicted, "update_memory": BookmarkMade, "search_memory": (PagesRecalled, FactsPlaced)}


class Kept:
    """A tracer that keeps what it was told."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, dict[str, Any], int | None]] = []

    def start_span(self, name: str, *, attributes: Any = None, start_time: int | None = None) -> "Kept":
        self.spans.append((name, attributes, start_time))
        return self

    def end(self, end_time: int | None = None) -> None:
        assert end_time == self.spans[-1][2]


def test_each_operation_is_a_span_once_and_says_no_words(store: Store, talk: Callable[..., Recording], small: Settings):
    report = import_recordings(store, [talk()], settings=small, remember=False)
    (one,) = report.conversations
    scope, kept = Scope(one.user, one.conversation, one.replay), Kept()
    version = emit(store, scope, kept)
    told = [event.body for event in store.events(scope)]
    for name, kinds in KIND_OF.items():
        ours = [said for found, said, _ in kept.spans if found == name]
        assert len(ours) == sum(isinstance(body, kinds) for body in told) > 0, name
    assert "bicycle" not in str(kept.spans)
    assert {said["gen_ai.conversation.id"] for _, said, _ in kept.spans} == {one.conversation}
    before = len(kept.spans)
    assert emit(store, scope, kept, after=version) == version
    assert len(kept.spans) == before
