"""What is remembered about one user, for that user: entries in plain words, open questions, what changed.

Everything of theirs is here, also what only one conversation may read, what is kept aside and what is used no more:
whoever is remembered has a right to see all of it. Names and numbers of ours are for acts alone, and are not shown.
Nothing here knows a page, a link or a language: groups and causes are names, and sentences come as they are stored,
put into the second person.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from memory.answering import LOOK_BACK
from memory.attributes import KIN, PETS, PREFERENCES, USER
from memory.events import FactsPlaced
from memory.facts import BEGINNING, FOREVER, WEIGHTY, Fact, Source, in_zone
from memory.knowledge import Change, Knowledge
from memory.language import sentences
from memory.scope import OWN, Scope
from memory.show import Shown, rows, table
from memory.stores.sql import Store
from memory.topic import FILLER
from workbench.views.conversations import conversations

GROUPS = ("about", "people", "likes", "plans", "decisions", "answers", "else", "here")
PLANS = frozenset({"goal", "dream", "deadline", "appointment", "progress"})
ANSWERS = frozenset({"reply style", "daily report", "weekly report", "monthly report"})
DATES = re.compile(r"\b(?:day|date|deadline|appointment)\b")
QUOTE = 600  # characters
TITLE = 80


@dataclass(frozen=True, slots=True)
class Said:
    """The sentence that it was drawn from."""

    words: str  # "": they are gone
    by: str  # user, assistant, tool
    at: datetime
    conversation: str  # its title; "": it was said in none

    def __bool__(self) -> bool:
        return bool(self.words)


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that is remembered."""

    fact: int  # for acts
    text: str
    value: str  # what a correction replaces; the whole text where there is no value
    group: str
    important: bool
    since: datetime | None
    until: datetime | None
    said: Said | None  # the newest
    times: int  # it was said
    used_at: datetime | None  # a prompt held it last then; None: none that was looked through
    used_in: str  # title of that conversation
    only_in: str  # title of the one conversation that may use it
    by: str  # rules, a model, a person
    state: str
    question: int  # an open one that it is a side of, 0: none

    def holds(self, wanted: Sequence[str]) -> bool:
        """Whether all of these words, in lower case, stand in it."""
        own = f"{self.text}\n{self.said.words if self.said else ''}".casefold()
        return all(word in own for word in wanted)


@dataclass(frozen=True, slots=True)
class Question:
    """Entries that cannot all be right."""

    number: int
    sides: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    """What happened to what is remembered; `before` and `after` in words, "" for words that are gone."""

    number: int
    cause: str  # write, supersede, correct, forget, …
    by: str  # you, rule, model
    at: datetime
    before: tuple[str, ...]
    after: str
    undone: bool
    undoes: int  # the change that it took back, 0: none


@dataclass(frozen=True)
class ReviewView(Shown):
    """All that is remembered about `user`."""

    user: str
    version: int  # of what is remembered: a correction names what it had seen
    on: bool  # whether anything is remembered from here on
    entries: tuple[Entry, ...]  # that are used, in the order of GROUPS and the newest first
    aside: tuple[Entry, ...]  # heard, and not believed
    past: tuple[Entry, ...]  # used no more, and kept
    questions: tuple[Question, ...]
    changes: tuple[Changed, ...]  # the newest first
    erased: int  # of which nothing is left

    @property
    def nothing(self) -> bool:
        """Neither is anything remembered, nor was it ever."""
        return not (self.entries or self.aside or self.past or self.changes)

    def entry(self, fact: int) -> Entry | None:
        return next((e for e in (*self.entries, *self.aside, *self.past) if e.fact == fact), None)

    def matching(self, query: str) -> ReviewView:
        """The same with the entries that hold every word of the query."""
        wanted = query.casefold().split()
        if not wanted:
            return self
        kept = {name: tuple(e for e in getattr(self, name) if e.holds(wanted)) for name in ("entries", "aside", "past")}
        return ReviewView(**{**{n: getattr(self, n) for n in self.__dataclass_fields__}, **kept})

    @property
    def grouped(self) -> Iterator[tuple[str, tuple[Entry, ...]]]:
        """By group those that there are."""
        for group in GROUPS:
            found = tuple(e for e in self.entries if e.group == group)
            if found:
                yield group, found

    def __repr__(self) -> str:
        return (
            f"<Review for {self.user}: {len(self.entries)} entries in use, {len(self.past)} no more, "
            f"{len(self.questions)} questions, remembering {'on' if self.on else 'off'}>"
        )

    def _html(self) -> str:
        lines = [[e.group, e.text, _day(e.since), e.said.words if e.said else "", _day(e.used_at)]
                 for e in self.entries]  # fmt: skip
        figures = {"in use": len(self.entries), "used no more": len(self.past), "questions": len(self.questions),
                   "remembering": "on" if self.on else "off"}  # fmt: skip
        head = ["group", "what", "since", "said", "last used"]
        return rows(f"Remembered about {self.user}", figures) + table(head, lines, 100)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_df(self) -> Any:
        """One row an entry, those used no more included."""
        import pandas as pd

        return pd.DataFrame([asdict(e) for e in (*self.entries, *self.aside, *self.past)])


def review(store: Store, user: str) -> ReviewView:
    """What this user may see: all that is remembered about them, of every conversation, and nothing of others."""
    k = store.knowledge(user)
    titles = {row.conversation: " ".join(row.title.split())[:TITLE] for row in conversations(store, user)}
    found = [f for f in k.facts.values() if f.state != "erased"]
    words = _words(store, user, found)
    said = _said(store, user, found, titles)
    used = _uses(store, user)
    now = store.clock()

    def entry(f: Fact) -> Entry:
        return _entry(k, f, words, said.get(f.id), used.get(f.id), titles)

    aside = [f for f in found if f.state == "quarantined"]
    holding = [f for f in found if f.state in ("active", "conflicted") and f.lasts(now)]
    shown = {f.id for f in (*aside, *holding)}
    past = [f for f in found if f.id not in shown]
    entries = sorted(map(entry, holding), key=lambda e: (GROUPS.index(e.group), -e.fact))
    return ReviewView(
        user, k.version, k.on, tuple(entries), tuple(map(entry, reversed(aside))), tuple(map(entry, reversed(past))),
        tuple(Question(c.id, tuple(entry(k.facts[n]) for n in c.facts)) for c in k.open_conflicts),
        tuple(_changed(k, c, words) for c in reversed(k.changes.values())),
        Counter(f.state for f in k.facts.values())["erased"],
    )  # fmt: skip


# ── parts ─────────────────────────────────────────────────────────────────────────────────────────────


def _words(store: Store, user: str, found: Iterable[Fact]) -> dict[int, str]:
    ids = {i for f in found for i in (f.text, f.subject, f.attribute, f.value, f.tags)} - {0}
    return store.words(Scope.own(user), sorted(ids))


def _entry(
    k: Knowledge, f: Fact, words: Mapping[int, str], said: Said | None, used: tuple[datetime, str] | None,
    titles: Mapping[str, str],
) -> Entry:  # fmt: skip
    conflict = k.conflict_of(f.id) if f.state == "conflicted" else None
    text, value = words.get(f.text, ""), words.get(f.value, "")
    ends = [i.valid_to for i in f.believed] or [b.valid_to for b in f.beliefs]
    return Entry(
        fact=f.id,
        text=addressed(text),
        value=value or text,
        group=group_of(f, words),
        important=f.importance >= WEIGHTY,
        since=_moment(f.since_when),
        until=_moment(in_zone(max(ends, default=FOREVER), f.since_when)),
        said=said,
        times=len(f.sources),
        used_at=used[0] if used else None,
        used_in=titles.get(used[1], used[1]) if used else "",
        only_in=titles.get(f.conversation, f.conversation) if f.layer == "working" else "",
        by=f.by,
        state=f.state,
        question=conflict.id if conflict else 0,
    )


def group_of(f: Fact, words: Mapping[int, str]) -> str:
    """Where somebody would look for it: about me, people, likes, plans, decisions, how to answer, else, only here."""
    attribute, tags = words.get(f.attribute, ""), words.get(f.tags, "").split()
    if f.layer == "working":
        return "here"
    if attribute in ANSWERS:
        return "answers"
    if f.kind == "decision" or "intent:decide" in tags:
        return "decisions"
    if f.kind == "task" or "intent:plan" in tags or attribute in PLANS or (attribute and DATES.search(attribute)):
        return "plans"
    if f.kind == "preference" or attribute in PREFERENCES or attribute.startswith("favourite "):
        return "likes"
    if attribute in KIN | PETS or (attribute and words.get(f.subject, "") != USER):
        return "people"
    return "about" if attribute else "else"


def _said(store: Store, user: str, found: Iterable[Fact], titles: Mapping[str, str]) -> dict[int, Said]:
    """By fact its newest sentence; one of the user's own rather than another's."""
    sources: dict[int, Source] = {
        f.id: max(f.sources, key=lambda s: (s.by == "user", s.said_at)) for f in found if f.sources
    }
    texts: dict[str, set[int]] = {}
    for s in sources.values():
        texts.setdefault(OWN if s.conversation in ("", OWN) else s.conversation, set()).add(s.text)
    words: dict[int, str] = {}
    for conversation, ids in texts.items():
        scope = Scope.own(user) if conversation == OWN else Scope(user, conversation)
        words |= store.words(scope, sorted(ids))
    return {
        n: Said(
            _sentence(words.get(s.text, ""), s), s.by, s.said_at,
            "" if s.conversation in ("", OWN) else titles.get(s.conversation, s.conversation),
        )
        for n, s in sources.items()
    }  # fmt: skip


def _sentence(text: str, s: Source) -> str:
    """The whole sentences that hold the span."""
    around = [(a, b) for a, b in sentences(text) if a < max(s.end, s.start + 1) and s.start < b]
    start, end = (around[0][0], around[-1][1]) if around else (s.start, s.end)
    said = text[start:end].strip()
    return said[:QUOTE] if said.strip(f"{FILLER} \n") else ""  # erased: no word of it is left


def _uses(store: Store, user: str) -> dict[int, tuple[datetime, str]]:
    """By fact when and in which conversation a prompt held it last, as far as the newest placements of each tell."""
    found: dict[int, tuple[datetime, str]] = {}
    for stream in store.streams(user):
        for event in store.newest(stream, FactsPlaced.__name__, LOOK_BACK):
            assert isinstance(event.body, FactsPlaced)
            for number in (p.fact for p in event.body.facts if not p.stage):
                if number not in found or found[number][0] < event.at:
                    found[number] = (event.at, stream.scope.conversation)
    return found


def _changed(k: Knowledge, c: Change, words: Mapping[int, str]) -> Changed:
    def told(number: int) -> str:
        return addressed(words.get(k.facts[number].text, "")) if number in k.facts else ""

    who, _, _ = c.decided_by.partition(":")
    by = who if who in ("rule", "model") else "you"
    return Changed(
        c.number, c.cause, by, c.at, tuple(told(n) for n in c.old if n != c.new), told(c.new), bool(c.undone_by),
        c.undoes,
    )  # fmt: skip


def _moment(at: datetime) -> datetime | None:
    return None if at in (BEGINNING, FOREVER) else at


def _day(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d}" if at else "–"


# ── in the second person ──────────────────────────────────────────────────────────────────────────────

_IRREGULAR = {"is": "are", "was": "were", "has": "have", "does": "do", "goes": "go"}
_HISSING = re.compile(r"(?:ch|sh|x|z|ss)es$")


def addressed(text: str) -> str:
    """An entry as it is said to the one it is about; whatever does not begin with them stays.

    >>> addressed("The user's budget is 8,000 euros."), addressed("The user does not drink coffee.")
    ('Your budget is 8,000 euros.', 'You do not drink coffee.')
    >>> addressed("The user studies law."), addressed("用户的预算是八千。"), addressed("Jule is 40 years old.")
    ('You study law.', '你的预算是八千。', 'Jule is 40 years old.')
    """
    if text.startswith("用户"):
        return "你" + text.removeprefix("用户")
    if text.startswith("The user's "):
        return "Your " + text.removeprefix("The user's ")
    found = re.match(r"The user (\w+)", text)
    return f"You {_second(found[1])}{text[found.end() :]}" if found else text


def _second(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if _HISSING.search(verb):
        return verb[:-2]
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb


# ── to take away ──────────────────────────────────────────────────────────────────────────────────────


def everything(store: Store, user: str) -> dict[str, Any]:
    """All that the store holds of this user, for them to keep: entries in every state, changes, conversations."""
    seen = review(store, user)
    told = [*seen.entries, *seen.aside, *seen.past]
    return {
        "user": user,
        "made_at": store.clock(),
        "remembering": seen.on,
        "in_use": [asdict(e) for e in seen.entries],
        "kept_aside": [asdict(e) for e in seen.aside],
        "used_no_more": [asdict(e) for e in seen.past],
        "questions": [{"which_is_right": [e.text for e in q.sides]} for q in seen.questions],
        "changes": [asdict(c) for c in seen.changes],
        "erased": seen.erased,
        "entries": len(told),
        "conversations": list(_conversations(store, user)),
    }


def _conversations(store: Store, user: str) -> Iterator[dict[str, Any]]:
    for row in conversations(store, user):
        words = store.words(row.scope)
        pages = store.state(row.scope).pages.values()
        turns = {t.number: t for page in pages for t in page.turns if not t.piece}
        yield {
            "name": row.conversation,
            "title": row.title,
            "begun_at": row.started_at,
            "turns": [
                {"number": n, "said_at": t.said_at, "by": t.role, "speaker": t.speaker, "words": words.get(t.text, "")}
                for n, t in sorted(turns.items())
            ],
        }
