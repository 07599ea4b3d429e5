"""Words looked for in a whole store: turns, pages, bookmarks, facts, conversations, users, each where it leads.

Words are found by the index beside the log (stores/vectors.py), best first (BM25), user by user, for memory of all
users together is never searched; names of conversations and users by any part of them. Not the ranker of a
conversation, and not by meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from memory import show
from memory.errors import NotFound, StoreError
from memory.language import simplified, terms
from memory.scope import RECORDED
from memory.show import Shown, small
from memory.stores.sql import Store
from workbench.views.conversations import ConversationRow, conversations

SHOWN = 8  # of a group
USERS = 12  # whose words are searched: whoever was here last
AROUND = 90  # characters before and after what was found
WORD = 20  # characters
MOST = 200  # characters of what is asked
TABLES = {"fact": "facts", "turn": "turns", "bookmark": "bookmarks", "page": "pages"}


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that was found; what its words are is cut around what was asked for."""

    kind: str  # conversation, user, fact, turn, bookmark, page
    user: str
    conversation: str  # "" where it is of none
    run: str  # "": the one that is shown unasked
    number: int  # of the fact, turn or page; 0: it has none
    title: str  # of its conversation
    state: str  # of a fact
    before: str
    found: str  # as it was written; "" where another form of the word matched
    after: str
    score: float  # BM25; of names 0


@dataclass(frozen=True, slots=True)
class Group:
    kind: str
    hits: tuple[Hit, ...]  # best first
    more: bool  # there are others that are not told


@dataclass(frozen=True)
class SeekView(Shown):
    asked: str
    groups: tuple[Group, ...]  # those in which something was found
    users: tuple[str, ...]  # whose words were searched
    left_out: int  # users whose words were not
    note: str = ""  # why words could not be searched

    @property
    def count(self) -> int:
        return sum(len(group.hits) for group in self.groups)

    def __repr__(self) -> str:
        told = ", ".join(f"{len(g.hits)}{'+' if g.more else ''} {g.kind}s" for g in self.groups) or "nothing"
        return f"<Search for {small(self.asked, 60)!r}: {told}>"

    def _html(self) -> str:
        lines = [[h.kind, _name(h), h.title, h.before + h.found + h.after] for g in self.groups for h in g.hits]
        head = {"searched": f"{len(self.users)} users", "not searched": self.left_out, "note": self.note or "–"}
        return show.rows(small(self.asked, 200), head) + show.table(["", "name", "conversation", "words"], lines)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_df(self) -> Any:
        """One row a hit."""
        import pandas as pd

        return pd.DataFrame([asdict(hit) for group in self.groups for hit in group.hits])


def seek(
    store: Store, asked: str, *, user: str = "", rows: Sequence[ConversationRow] | None = None, shown: int = SHOWN
) -> SeekView:
    """All that bears these words, of one user or of all. `rows`: the conversations, where a caller has them."""
    asked = " ".join(asked.split())[:MOST]
    every = [row for row in (conversations(store) if rows is None else rows) if user in ("", row.user)]
    names = list(dict.fromkeys(row.user for row in every))
    searched = tuple(names[:USERS])
    if not asked:
        return SeekView("", (), searched, len(names) - len(searched))
    found: list[Group] = [_group("conversation", _conversations(asked, every), shown)]
    if not user:
        found.append(_group("user", _users(asked, names), shown))
    words, note = _words(store, asked, searched, {(r.user, r.conversation): r for r in every}, shown)
    groups = tuple(group for group in (*words, *found) if group.hits)
    return SeekView(asked, groups, searched, len(names) - len(searched), note)


def _group(kind: str, hits: Iterator[Hit], shown: int) -> Group:
    found = list(islice(hits, shown + 1))
    return Group(kind, tuple(found[:shown]), len(found) > shown)


# ── names ─────────────────────────────────────────────────────────────────────────────────────────────


def _conversations(asked: str, rows: Sequence[ConversationRow]) -> Iterator[Hit]:
    for row in rows:
        name = next((n for n in (row.title, row.conversation) if asked.casefold() in n.casefold()), None)
        if name is not None:
            yield Hit("conversation", row.user, row.conversation, "", 0, row.title, "", *excerpt(name, asked), 0.0)


def _users(asked: str, names: Sequence[str]) -> Iterator[Hit]:
    for name in names:
        if asked.casefold() in name.casefold():
            yield Hit("user", name, "", "", 0, "", "", *excerpt(name, asked), 0.0)


# ── words ─────────────────────────────────────────────────────────────────────────────────────────────


def _words(
    store: Store, asked: str, users: Sequence[str], known: Mapping[tuple[str, str], ConversationRow], shown: int
) -> tuple[list[Group], str]:
    """What the index finds; without one, or with a damaged one, nothing and why."""
    from memory.stores.vectors import search  # loads lancedb

    groups = []
    try:
        for kind, table in TABLES.items():
            rows = [row for user in users for row in search(store, user=user, text=asked, table=table, k=shown + 1)]
            rows.sort(key=lambda row: -row["score"])
            hits = (_hit(kind, row, asked, known) for row in rows if row["text"])
            groups.append(_group(kind, hits, shown))
    except (NotFound, StoreError) as error:
        return groups, str(error)
    return groups, ""


def _hit(kind: str, row: Mapping[str, Any], asked: str, known: Mapping[tuple[str, str], ConversationRow]) -> Hit:
    of = known.get((row["user"], row["conversation"])) if kind != "fact" else None
    # What a bare recording holds is seen with its decisions where the conversation was replayed.
    run = "" if of is None or row["run"] in (of.main, RECORDED) else row["run"]
    conversation = row["conversation"] if of is not None else ""
    number = int(row["page" if kind == "bookmark" else kind])
    words = excerpt(row["text"], asked)
    return Hit(
        kind, row["user"], conversation, run, number, of.title if of else "", row.get("state", ""), *words,
        round(row["score"], 3),
    )  # fmt: skip


def excerpt(text: str, asked: str) -> tuple[str, str, str]:
    """The words before, what was asked for as it stands there, the words after; "" for what is not there.

    >>> excerpt("My budget is 5,000 euros.", "BUDGETS for it")
    ('My ', 'budget', ' is 5,000 euros.')
    """
    flat = " ".join(text.split())
    read = simplified(flat)
    for word in map(simplified, (asked, *asked.split(), *terms(asked))):
        if found := re.search(re.escape(word), read, re.IGNORECASE):
            start, end = found.span()
            first, last = max(0, start - AROUND), end + 2 * AROUND
            if first and " " in flat[first : first + WORD]:  # begin with a whole word, where words have blanks
                first = flat.index(" ", first) + 1
            before = ("…" if first else "") + flat[first:start]
            return before, flat[start:end], flat[end:last] + ("…" if last < len(flat) else "")
    return flat[: 3 * AROUND] + ("…" if len(flat) > 3 * AROUND else ""), "", ""


def _name(hit: Hit) -> str:
    return {"turn": f"turn {hit.number}", "fact": f"f{hit.number}"}.get(
        hit.kind, f"p{hit.number}" if hit.number else ""
    )
