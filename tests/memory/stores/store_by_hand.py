"""Conversations written by hand, without an engine: every kind of record, valid for the fold, from a seed.

Run as a program it is a process of its own that writes, reads, drains or stops in the middle:
`python store_by_hand.py write STORE USER CONVERSATION STEPS`.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory.events import (
    Body,
    BookmarkMade,
    Candidate,
    ConversationStarted,
    Event,
    GuestLeft,
    MessageReceived,
    MessageReplied,
    ModelCalled,
    ModelFailed,
    PageClosed,
    PageEvicted,
    PagePagedIn,
    PagesRecalled,
    PagesRetrieved,
    PagesUsed,
    PromptAssembled,
    Refusal,
    SettingsChanged,
    StepFinished,
    StubsArranged,
    TurnMarked,
)
from memory.pages import Bookmark
from memory.scope import Scope
from memory.settings import Settings
from memory.state import apply
from memory.stores.journal import SqlJournal
from memory.stores.lease import leased
from memory.stores.sql import Store
from memory.turns import Turn

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def first_line(process: subprocess.Popen[str]) -> str:
    """What it says first. `readline` would read ahead, and `communicate` never gives that back."""
    assert process.stdout is not None
    said = b""
    while not said.endswith(b"\n") and (byte := os.read(process.stdout.fileno(), 1)):
        said += byte
    return said.decode()


class Hand:
    """Adds records to a journal as an engine would: folded at once, committed in parts of a step."""

    def __init__(self, journal: SqlJournal, seed: int = 0) -> None:
        self.journal = journal
        journal.durable = False  # survives the process; only a power cut would tell the difference
        self.random = random.Random(seed)
        self.refresh()

    def refresh(self) -> None:
        self.draft: list[Body] = []
        self.state = self.journal.load()

    def add(self, *bodies: Body) -> None:
        for body in bodies:
            step = self.state.step + (isinstance(body, MessageReceived) and not body.turn.piece)
            self.draft.append(body)
            self.state = apply(self.state, Event(0, self.state.version + 1, step, START, body))

    def commit(self) -> list[Event]:
        events = self.journal.commit(self.draft, self.state.step, self.state)
        self.draft = []
        return events

    def start(self, title: str = "") -> None:
        said = self.journal.said
        settings = Settings()
        self.add(ConversationStarted(said(title) if title else 0, 0, 0))
        self.add(SettingsChanged(settings.to_dict(), settings.hash))
        self.commit()

    def turn(self, words: str, role: str, **more: object) -> Turn:
        at = START + timedelta(minutes=self.state.turn)
        return Turn(self.state.turn + 1, role, self.journal.said(words), len(words) // 4 + 4, at, **more)

    def receive(self, words: str) -> None:
        self._close_page()
        self.add(MessageReceived(self.turn(words, "user")))
        self.commit()

    def receive_in_pieces(self, words: str, cut: int) -> None:
        text, number = self.journal.said(words), self.state.turn + 1
        for piece, (start, end) in enumerate([(0, cut), (cut, len(words))]):
            tokens = (end - start) // 4
            self.add(MessageReceived(Turn(number, "user", text, tokens, START, "", piece, 2, start, end)))
        self.commit()

    def answer(self, words: str) -> None:
        self._evict()
        self._retrieve()
        self._prompt(0)
        if self.random.random() < 0.4:
            self._recall()
            self._prompt(1)
        self._close_page()
        self.add(MessageReplied(self.turn(words, "assistant")))
        if self.random.random() < 0.3:
            self.add(PagesUsed(tuple(Candidate(n, 0.5) for n in self.state.resident[:2])))
        self.add(*(GuestLeft(p.number, used=False) for p in self.state.guests))
        self.add(StepFinished({"receive": 1.5, "plan": 2.0, "model": 100.0}))
        self.commit()

    def step(self, words: str, reply: str = "I see.") -> None:
        self.receive(words)
        self.answer(reply)

    def talk(self, steps: int, about: str = "peanuts") -> None:
        if not self.state.version:
            self.start(f"on {about}")
        for _ in range(steps):
            n = self.state.step + 1
            self.step(f"message {n} of the user about {about}", f"reply {n} about {about}")
            if self.random.random() < 0.1:
                self.add(TurnMarked(self.state.turn, important=self.random.random() < 0.7, by="user"))
                self.commit()

    def _close_page(self) -> None:
        page = self.state.open_page
        if page and len(page.turns) >= 3:
            self.add(PageClosed(page.number, "fixed_n", 0.6, "figures"))
            write = self.journal.write
            keywords = f"word{page.number},thing{self.random.randrange(9)}"
            stub = write(f"[p{page.number}:{keywords}]")
            made = Bookmark(stub, write(keywords), write(f"page {page.number}"), 9, "hand")
            self.add(BookmarkMade(page.number, made))

    def _evict(self) -> None:
        closed = [p.number for p in self.state.residents if p.closed]
        if len(closed) > 3:
            left, second = closed[:2]
            page = self.state.pages[left]
            scores = (Candidate(left, 1.0), Candidate(second, 2.0, "not the lowest"))
            self.add(PageEvicted(left, "lru", 1.0, second, 2.0, scores, page.tokens, "too full", 900, 850))
            gone = tuple(p.number for p in self.state.evicted)
            self.add(StubsArranged(gone, (), 9 * len(gone), 100))

    def _retrieve(self) -> None:
        gone = [p.number for p in self.state.evicted][-3:]
        if not gone:
            return
        question = self.journal.said(f"what of page {gone[0]}?")
        *others, best = gone
        scores = (
            Candidate(best, 1.5, turn=2, raw=(0.7, 0.2), shares=(1.0, 0.5)),
            *(Candidate(n, 0.5, "not the best", 1, "rank", (0.3, 0.1), (0.4, 0.1)) for n in others),
        )
        counts, bounds = {"pages": len(gone), "rank": 1}, {"min_coverage_ratio": 0.3}
        channels = ("words", "vectors")
        self.add(PagesRetrieved(question, "message", "fusion", "hash", 1, (best,), channels, scores, counts, bounds))
        if best % 5 == 0:
            self.add(ModelFailed(0, "hand", "ModelOverloaded", "429", attempt=2, again_in_s=0.5, ms=250.0))

    def _prompt(self, round_: int) -> None:
        system = self.journal.write("You are kind.")
        turns = [t for p in self.state.residents for t in p.turns]
        first = ["system", "system", 0, 20, "", [], system]
        rows = (first, *(["user", "resident", 1, t.tokens, "", [], t.text] for t in turns))
        resident = sum(t.tokens for t in turns)
        sections = {"system": 20, "resident": resident}
        self.add(PromptAssembled(round_, rows, sections, 20 + resident, f"{resident:016x}"))
        raw = self.journal.said("raw reply")
        self.add(ModelCalled(round_, "hand", 20 + resident, 7, 0.001, 100.0, "stop", raw, first_ms=40.0))

    def _recall(self) -> None:
        gone = [p.number for p in self.state.evicted][-2:]
        question = self.journal.said("where were we?")
        right = self.random.choice([True, False, None])
        refused = (Refusal("p99", "no such page"),)
        self.add(PagesRecalled("c1", "model", ("p99",), question, (), (), tuple(gone), (), refused, right))
        self.add(*(PagePagedIn(n, "model", 30, self.random.random() < 0.2, self.state.step) for n in gone))


def open_hand(store: Store, scope: Scope, seed: int = 0) -> Hand:
    return Hand(store.open_stream(scope), seed)


# ── as a process ──────────────────────────────────────────────────────────────────────────────────────


def write(path: str, user: str, conversation: str, steps: str) -> None:
    """Say so many messages; print each one that was acknowledged, after it was."""
    with Store.open(path) as store:
        hand = open_hand(store, Scope(user, conversation))
        for _ in range(int(steps)):
            with leased(hand.journal):
                hand.refresh()
                if not hand.state.version:
                    hand.start()
                if hand.state.open_step:
                    hand.add(StepFinished({}))
                    hand.commit()
                words = f"{user} {conversation} {os.getpid()} {hand.state.step + 1}"
                hand.receive(words)
                sys.stdout.write(f"{words}\n")
                sys.stdout.flush()
                hand.answer("yes")


def read(path: str, seconds: str) -> None:
    """Look at everything until the time is over; a contradiction ends it with an error."""
    end = time.monotonic() + float(seconds)
    with Store.open(path, readonly=True) as store:
        while time.monotonic() < end:
            for stream in store.streams():
                events = store.events(stream.scope)
                assert [e.version for e in events] == list(range(1, len(events) + 1))
                assert store.state(stream.scope).version >= stream.version
            time.sleep(0.05)


def sync(path: str, times: str) -> None:
    from memory.stores.sync import sync as once

    with Store.open(path) as store:
        for _ in range(int(times)):
            once(store, wait_s=20)


def hold(path: str, user: str, conversation: str) -> None:
    """Begin a step and stay in it, the lease beating, until standard input ends."""
    with Store.open(path) as store:
        hand = open_hand(store, Scope(user, conversation))
        with leased(hand.journal, ttl_s=1.0):
            hand.refresh()
            if not hand.state.version:
                hand.start()
            hand.receive("wait for me")
            sys.stdout.write("holding\n")
            sys.stdout.flush()
            sys.stdin.read()
            hand.answer("at last")


def opened(path: str, times: str) -> None:
    for _ in range(int(times)):
        Store.open(path).close()


if __name__ == "__main__":
    {f.__name__: f for f in (write, read, sync, hold, opened)}[sys.argv[1]](*sys.argv[2:])

SCRIPT = Path(__file__)
