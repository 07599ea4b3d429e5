"""What an engine's memory did, as spans: each operation once, numbers and reasons, no words."""

from typing import Any

from memory import Engine
from memory.events import BookmarkMade, FactsPlaced, PageEvicted, PagesRecalled
from sessions.memory_spans import emit

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


def test_each_operation_is_a_span_once_and_says_no_words(tmp_path):
    kept = Kept()
    with Engine.open(
        tmp_path, user="ana", conversation="c", llm="workbench/offline", window_tokens=1_000, page_turns=2
    ) as engine:
        for n in range(12):
            engine.say(f"The colour of house number {n} is turquoise, and " + "it stands by the river. " * 8)
        engine.recall("p1")
        version = emit(engine.store, engine.scope, kept)
        told = [event.body for event in engine.store.events(engine.scope)]
        for name, kinds in KIND_OF.items():
            ours = [said for found, said, _ in kept.spans if found == name]
            assert len(ours) == sum(isinstance(body, kinds) for body in told) > 0, name
        assert "turquoise" not in str(kept.spans)
        assert {said["gen_ai.conversation.id"] for _, said, _ in kept.spans} == {"c"}
        before = len(kept.spans)
        assert emit(engine.store, engine.scope, kept, after=version) == version
        assert len(kept.spans) == before
