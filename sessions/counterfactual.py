"""One turn's prompt once more, with something otherwise: another setting, without a fact, without a page.

Settings and facts are rehearsed (memory/rehearsal.py), so what comes in the place of what left is seen. A page is
taken out of the prompt as it was built, its bookmark too, and nothing comes in its place. The table leaves out one part
after the other: tokens saved, labelled turns lost, and the share of the reply's rare words that stand there. No
model is called unless `asked` says so, or one is passed in; then both prompts are answered by it, and the answers stand
side by side. What that would take says `twice`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any

from memory import show
from memory.case import Case, open_case
from memory.errors import BadSetting, NotFound
from memory.events import MessageReceived
from memory.expected import Expected
from memory.finder import VectorSource
from memory.knowledge import Knowledge
from memory.prompt import Message
from memory.rehearsal import AS_IT_WAS, Changed, Rehearsed
from memory.scope import LIVE, Scope
from memory.settings import Settings
from memory.show import Shown, small
from memory.stores.sql import Store
from memory.stores.vector_source import StoredVectors
from memory.trial import Key, Part, parts_of
from sessions.twice import Ask, Twice

NAME = re.compile(r"([fp])([1-9]\d*)")
WORD = re.compile(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+\s*|\s+")  # Chinese has no blanks: a character is one
KEPT = ("system", "new")  # sections that no prompt goes without
Answers = Callable[[Sequence[Mapping[str, Any]]], str]  # messages to a reply


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One part of the prompt, and what it would have been without it."""

    name: str  # p3, f2, stubs
    section: str
    tokens: int  # saved
    evidence: tuple[int, ...]  # labelled turns that stand nowhere else in the prompt
    used_ratio: float  # of the reply's rare words on pages, those that stand here
    says: str  # its first words


@dataclass(frozen=True)
class WhatIf(Shown):
    scope: Scope
    turn: int
    changes: tuple[str, ...]  # page_turns=20, without f3
    parts: tuple[Part, ...]
    before_tokens: int
    after_tokens: int
    table: tuple[LeftOut, ...]  # of the prompt as it was, the most tokens first
    replies: tuple[str, str] | None = None  # where a model was asked
    messages: tuple[tuple[Mapping[str, Any], ...], tuple[Mapping[str, Any], ...]] = field(default=((), ()), repr=False)
    settings: Settings = field(default=Settings(), repr=False)  # of the second prompt

    @property
    def moved(self) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.state != "same")

    @property
    def reply_moves(self) -> list[tuple[str, str]]:
        """What the second reply says in the place of the first, in order: words that are gone, words that are new."""
        one, other = (WORD.findall(reply) for reply in self.replies or ("", ""))
        found = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
        return [
            ("".join(one[a:b]).strip(), "".join(other[c:d]).strip()) for kind, a, b, c, d in found if kind != "equal"
        ]

    def twice(self, llm: str = "") -> Twice:
        """Both prompts for one model, not asked yet; the conversation's own without a name."""
        return Twice(llm or self.settings.llm, self.messages, (self.before_tokens, self.after_tokens),
                     self.settings.reply_tokens)  # fmt: skip

    def asked(self, llm: str = "", ask: Ask | None = None) -> WhatIf:
        """The same with what the model says to both prompts. Raises a ModelError."""
        return replace(self, replies=self.twice(llm).replies(ask))

    def __repr__(self) -> str:
        told = ", ".join(self.changes) or "nothing changed"
        return (
            f"<What if at turn {self.turn} of {self.scope.conversation}: {told}: {self.before_tokens:,} → "
            f"{self.after_tokens:,} tokens, {len(self.moved)} {'part' if len(self.moved) == 1 else 'parts'} moved>"
        )

    def rows(self) -> list[list[Any]]:
        return [[p.name, p.section, p.state, p.before, p.after] for p in self.moved]

    def lost_rows(self) -> list[list[Any]]:
        return [[r.name, r.section, r.tokens, ", ".join(map(str, r.evidence)), f"{r.used_ratio:.0%}", r.says]
                for r in self.table]  # fmt: skip

    def _html(self) -> str:
        replies = ""
        if self.replies is not None:
            replies = show.table(["reply before", "reply after"], [self.replies]) + show.table(MOVES, self.reply_moves)
        return (
            f"<code>{show.text(repr(self))}</code>" + show.table(["part", "in", "", "before", "after"], self.rows())
            + replies + show.table(HEAD, self.lost_rows())
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        return {
            "turn": self.turn, "changes": list(self.changes), "before_tokens": self.before_tokens,
            "after_tokens": self.after_tokens, "parts": [{**asdict(p), "state": p.state} for p in self.moved],
            "left_out": [asdict(row) for row in self.table], "replies": list(self.replies) if self.replies else None,
            "reply_moves": self.reply_moves,
        }  # fmt: skip

    def to_df(self) -> Any:
        """One row a part that may be left out."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.table])


MOVES = ["only before", "only after"]
HEAD = ["without", "in", "tokens saved", "labelled turns lost", "of the reply's words", "says"]


def what_if(
    store: Store,
    scope: Scope,
    turn: int,
    *,
    settings: Mapping[str, Any] | None = None,
    without: Iterable[str] = (),
    answers: Answers | None = None,
    vectors: VectorSource | None = None,
) -> WhatIf:
    """The last prompt of the turn's step with other `settings` and without some facts (f3) and pages (p7).

    Raises NotFound for a turn or part that is not there, BadSetting, BudgetTooSmall.
    """
    case = open_case(store, scope, Expected("", {}), "", turn, vectors or StoredVectors(store))
    if case.recorded is None:
        raise NotFound(f"turn {turn} of {scope} has no prompt; a recording has none, and neither has a step cut short")
    names = list(without)
    facts = {n for kind, n in map(_named, names) if kind == "f"}
    pages = {n for kind, n in map(_named, names) if kind == "p"}
    before = case.rehearsal.run(AS_IT_WAS)
    old = dict(parts_of(before))
    _known(facts, pages, old, case)
    changed = Changed(settings=dict(settings or {}), knowledge=_without(case, facts))
    after = case.rehearsal.run(changed) if settings or facts else before
    one, other = _messages(before), _cut(_messages(after), pages)
    new = {key: n for key, n in parts_of(after) if key[1] not in pages}
    if pages and (stubs := ("stubs", 0, 0)) in new:
        new[stubs] = sum(m.tokens for m, _ in other if m.section == "stubs")
    parts = tuple(Part(*key, old.get(key, 0), new.get(key, 0), holds=False) for key in {**new, **old})
    chats = tuple(_chat(each, done) for each, done in ((one, before), (other, after)))
    replies = (answers(chats[0]), answers(chats[1])) if answers else None
    under = case.before.settings.but(**(settings or {}))  # a whole number stands as one, however it was written
    told = (*(f"{name}={getattr(under, name)}" for name in settings or {}), *(f"without {name}" for name in names))
    return WhatIf(
        scope, turn, told, parts, sum(m.tokens for m, _ in one), sum(m.tokens for m, _ in other),
        _table(case, before, old), replies, (chats[0], chats[1]), under,
    )  # fmt: skip


def _named(name: str) -> tuple[str, int]:
    found = NAME.fullmatch(name.strip())
    if found is None:
        raise BadSetting(f"what is left out is a fact or a page, as f3 or p7, not {name!r}")
    return found[1], int(found[2])


def _known(facts: set[int], pages: set[int], there: Mapping[Key, int], case: Case) -> None:
    """Raises NotFound for what the prompt does not hold."""
    held_pages = {key[1] for key in there if key[1]} | set(case.before.pages)
    held_facts = {key[2] for key in there if key[2]}
    missing = [f"f{n}" for n in sorted(facts - held_facts)] + [f"p{n}" for n in sorted(pages - held_pages)]
    if missing:
        have = ", ".join([f"p{n}" for n in sorted({k[1] for k in there if k[1]})] + [f"f{n}" for n in held_facts])
        raise NotFound(f"the prompt at turn {case.turn} does not hold {', '.join(missing)}; it holds: {have or 'none'}")


def _without(case: Case, facts: set[int]) -> Knowledge | None:
    if not facts or case.scope.run != LIVE:
        return None
    return replace(case.knowledge, facts={n: f for n, f in case.knowledge.facts.items() if n not in facts})


# ── the two prompts ───────────────────────────────────────────────────────────────────────────────────

Held = list[tuple[Message, str]]  # a message and its words


def _messages(done: Rehearsed) -> Held:
    rows = map(Message.of_row, done.step.prompts[-1].messages)
    return [(message, message.content(done.words)) for message in rows]


def _cut(held: Held, pages: set[int]) -> Held:
    """Without these pages and their bookmarks; a bookmark that stands for several pages stays."""
    kept: Held = []
    for message, words in held:
        if message.page in pages and message.section not in KEPT:
            continue
        if message.section == "stubs" and pages:
            lines = words.split("\n")
            left = [line for line in lines if not any(line.startswith((f"[p{n}:", f"[p{n}]")) for n in pages)]
            share = sum(map(len, left)) / max(1, sum(map(len, lines)))
            message, words = replace(message, tokens=round(message.tokens * share)), "\n".join(left)
        kept.append((message, words))
    return kept


def _chat(held: Held, done: Rehearsed) -> tuple[Mapping[str, Any], ...]:
    return tuple({**message.to_chat(done.words), "content": words} for message, words in held)


# ── one after the other ───────────────────────────────────────────────────────────────────────────────


def _table(case: Case, done: Rehearsed, parts: Mapping[Key, int]) -> tuple[LeftOut, ...]:
    held = _messages(done)
    pages = {m.page for m, _ in held if m.page and m.section not in KEPT}
    reply = " ".join(case.words(turn.text) for turn in case.recorded.replies) if case.recorded else ""
    used = case.rehearsal.finder.shares(reply, pages) if reply and pages else {}
    labelled = set(_evidence(case))
    rows = []
    for (section, page, fact), tokens in parts.items():
        if section in KEPT or not tokens:
            continue
        name = f"p{page}" if page else f"f{fact}" if fact else section
        words = [w for m, w in held if (m.section, m.page) == (section, page)] if not fact else []
        says = _fact(case, fact) if fact else " ".join(words)
        lost = tuple(sorted(labelled & _turns(case, page))) if page else ()
        rows.append(LeftOut(name, section, tokens, lost, round(used.get(page, 0.0), 4), small(says, 100)))
    return tuple(sorted(rows, key=lambda row: -row.tokens))


def _evidence(case: Case) -> tuple[int, ...]:
    return tuple(n for body in (case.recorded.all(MessageReceived) if case.recorded else ()) for n in body.evidence)


def _turns(case: Case, page: int) -> set[int]:
    found = case.rehearsal.state.pages.get(page)
    return {turn.number for turn in found.turns} if found else set()


def _fact(case: Case, fact: int) -> str:
    held = case.knowledge.facts.get(fact)
    return case.texts.get(held.text, "") if held else ""
