"""Spans that arrive in pieces: children come before the parent that names their conversation.

`Arriving.take` gives out what can be laid out now and keeps the rest: a span that names no conversation waits until
its trace is named, its root is there, or nothing came for a while. Not here: the network; laying out (threads.py).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from sessions.otel_names import CONVERSATION, CONVERSATIONS, USER, USERS
from sessions.spans import Span, named

QUIET_S = 5.0
MOST = 10_000  # spans that wait; beyond, the oldest traces go on without a name
REMEMBERED = 10_000  # traces whose name is known


class Arriving:
    def __init__(self) -> None:
        self._waiting: OrderedDict[str, list[Span]] = OrderedDict()  # by trace, the one that came last at the end
        self._came_at: dict[str, float] = {}
        self._names: OrderedDict[str, dict[str, str]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def take(self, spans: Iterable[Span], now: float) -> list[Span]:
        """What of these, and of what waited for them, can be laid out; `now` in seconds."""
        for span in spans:
            self._waiting.setdefault(span.trace, []).append(span)
            self._waiting.move_to_end(span.trace)
            self._came_at[span.trace] = now
            self._note(span)
        ready = [span for trace in list(self._waiting) if self._is_whole(trace) for span in self._release(trace)]
        while len(self) > MOST:
            ready += self._release(next(iter(self._waiting)))
        return ready

    def due(self, now: float) -> list[Span]:
        """What has waited long enough."""
        late = [trace for trace, at in self._came_at.items() if now - at >= QUIET_S]
        return [span for trace in late for span in self._release(trace)]

    def _note(self, span: Span) -> None:
        known = self._names.setdefault(span.trace, {})
        for name, spellings in ((CONVERSATION, CONVERSATIONS), (USER, USERS)):
            if (value := span.first(spellings)) is not None:
                known.setdefault(name, str(value))
        self._names.move_to_end(span.trace)
        while len(self._names) > REMEMBERED:
            self._names.popitem(last=False)

    def _is_whole(self, trace: str) -> bool:
        return CONVERSATION in self._names.get(trace, {}) or any(not span.parent for span in self._waiting[trace])

    def _release(self, trace: str) -> list[Span]:
        del self._came_at[trace]
        return [self._named(span) for span in self._waiting.pop(trace)]

    def _named(self, span: Span) -> Span:
        """By what its trace was called in any piece, where it does not say itself."""
        for name, value in self._names.get(span.trace, {}).items():
            spellings = CONVERSATIONS if name == CONVERSATION else USERS
            span = span if span.first(spellings) is not None else named(span, name, value)
        return span
