"""Spans that arrive in pieces: children come before the parent that says which conversation it is, and whose.

`Arriving.take` gives out what can be laid out now and keeps the rest: a span waits until its trace says both or its
root is there. Without a conversation it goes on when nothing came for a while, by its first message; without a user
alone after a longer one, as somebody's, and so does the rest of a conversation that was somebody's before.
Not here: the network; laying out (threads.py).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import TypeVar

from sessions.otel_names import CONVERSATION, CONVERSATIONS, USER, USERS
from sessions.spans import Span, named
from sessions.threads import begun_by

QUIET_S = 5.0
PATIENT_S = 30.0  # for a user: an agent's span, which names them, ends after all its calls of models
MOST = 10_000  # spans that wait; beyond, the oldest traces go on without a name
REMEMBERED = 10_000  # traces whose name is known, and conversations that are nobody's
V = TypeVar("V")


class Arriving:
    def __init__(self) -> None:
        self._waiting: OrderedDict[str, list[Span]] = OrderedDict()  # by trace, the one that came last at the end
        self._began_at: dict[str, float] = {}
        self._came_at: dict[str, float] = {}
        self._names: OrderedDict[str, dict[str, str]] = OrderedDict()
        self._nobodys: OrderedDict[str, None] = OrderedDict()  # conversations that went on without a user

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def take(self, spans: Iterable[Span], now: float) -> list[Span]:
        """What of these, and of what waited for them, can be laid out; `now` in seconds."""
        for span in spans:
            self._waiting.setdefault(span.trace, []).append(span)
            self._waiting.move_to_end(span.trace)
            self._began_at.setdefault(span.trace, now)
            self._came_at[span.trace] = now
            self._note(span)
        ready = [span for trace in list(self._waiting) if self._is_whole(trace) for span in self._release(trace)]
        while len(self) > MOST:
            ready += self._release(next(iter(self._waiting)))
        return ready

    def due(self, now: float) -> list[Span]:
        """What has waited long enough."""
        return [span for trace in list(self._waiting) if self._is_late(trace, now) for span in self._release(trace)]

    def _note(self, span: Span) -> None:
        known = self._names.setdefault(span.trace, {})
        for name, spellings in ((CONVERSATION, CONVERSATIONS), (USER, USERS)):
            if (value := span.first(spellings)) is not None:
                known.setdefault(name, str(value))
        _keep(self._names, span.trace)

    def _is_whole(self, trace: str) -> bool:
        known = self._names.get(trace, {})
        if CONVERSATION in known and (USER in known or known[CONVERSATION] in self._nobodys):
            return True
        return any(not span.parent for span in self._waiting[trace])

    def _is_late(self, trace: str, now: float) -> bool:
        if CONVERSATION in self._names.get(trace, {}):
            return now - self._began_at[trace] >= PATIENT_S
        return now - self._came_at[trace] >= QUIET_S

    def _release(self, trace: str) -> list[Span]:
        del self._began_at[trace], self._came_at[trace]
        spans = self._waiting.pop(trace)
        known = self._names.setdefault(trace, {})
        if CONVERSATION not in known and (begun := begun_by(spans)):
            known[CONVERSATION] = begun  # what comes of it later goes there as well
        if USER not in known and CONVERSATION in known:
            self._nobodys[known[CONVERSATION]] = None
            _keep(self._nobodys, known[CONVERSATION])
        return [self._named(span) for span in spans]

    def _named(self, span: Span) -> Span:
        """By what its trace was called in any piece, where it does not say itself."""
        for name, value in self._names.get(span.trace, {}).items():
            spellings = CONVERSATIONS if name == CONVERSATION else USERS
            span = span if span.first(spellings) is not None else named(span, name, value)
        return span


def _keep(among: OrderedDict[str, V], newest: str) -> None:
    among.move_to_end(newest)
    while len(among) > REMEMBERED:
        among.popitem(last=False)
