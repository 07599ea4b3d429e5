"""Questions like this one, asked before: what each found, what came into its prompt, and whether the reply used it.

Of one user, across conversations: the filter comes before the search (stores/vectors.py). Told are searches that
were logged, and messages whose step brought pages back, as the recalls of a recording do. By meaning where the store
has vectors and their embedder is here, else by words, and then it says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from memory import show
from memory.errors import BadMessage, BadSetting
from memory.events import Event, MessageReceived, PagePagedIn, PagesRecalled, PagesUsed
from memory.finder import VectorSource
from memory.scope import RECORDED, Scope
from memory.show import Shown, small
from memory.stores.sql import Store
from memory.stores.vector_source import StoredVectors, Vector

NEAR = 400  # records before and after a search among which the rest of its step is looked for
LIKE_K = 8  # questions that are shown
MORE = 4  # times as many rows are looked at: of several runs of a conversation one is told
KINDS = [kind.__name__ for kind in (MessageReceived, PagePagedIn, PagesRecalled, PagesUsed)]


@dataclass(frozen=True, slots=True)
class Earlier:
    """One question of the past, and what came of it; steps and turns are of its own run."""

    question: str
    kind: str  # search: one that was logged; message: one whose step brought pages back
    score: float  # cosine by meaning, BM25 by words
    conversation: str
    run: str
    turn: int  # of the step's message
    step: int
    at: datetime
    by: str  # who searched: message, model, user, search_memory
    found: tuple[int, ...]  # pages that the search chose, best first
    came: tuple[int, ...]  # pages that were paged in
    used: tuple[int, ...]  # of those, whose words the reply took up
    note: str = ""  # why nothing was found, what was fallen back to

    @property
    def outcome(self) -> str:
        """used, unused, found (nothing was paged in for it) or nothing."""
        if self.used:
            return "used"
        return "unused" if self.came else "found" if self.found else "nothing"


@dataclass(frozen=True)
class EarlierQuestions(Shown):
    question: str
    user: str
    embedder: str  # "": compared by words
    note: str  # why by words
    rows: tuple[Earlier, ...]  # the most alike first

    def __repr__(self) -> str:
        return f"<Questions like {small(self.question, 60)!r}: {len(self.rows)}, {self.compared}>"

    @property
    def compared(self) -> str:
        return f"by meaning ({self.embedder})" if self.embedder else f"by words: {self.note}"

    def lines(self) -> tuple[list[str], list[list[Any]]]:
        """A table: its head, and a row a question."""
        head = ["like", "question", "where", "turn", "found", "came in", "used"]
        return head, [
            [f"{r.score:.2f}", small(r.question, 90), f"{r.conversation}/{r.run}", r.turn, _names(r.found),
             _names(r.came), _names(r.used)]
            for r in self.rows
        ]  # fmt: skip

    def _html(self) -> str:
        head, made = self.lines()
        return show.rows(small(self.question, 200), {"compared": self.compared}) + show.table(head, made)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "compared": self.compared}

    def to_df(self) -> Any:
        """One row a question."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])


def earlier(
    store: Store,
    user: str,
    question: str,
    *,
    conversation: str | None = None,
    k: int = LIKE_K,
    vectors: VectorSource | None = None,
) -> EarlierQuestions:
    """The `k` questions of this user most like this one. `vectors` None: the store's own.

    Raises BadMessage for a question without words, BadSetting, NotFound where nothing can be searched yet and the
    store is open for reading only, StoreDamaged.
    """
    if not question.strip():
        raise BadMessage("ask something: the question has no words")
    if k < 1:
        raise BadSetting(f"k must be at least 1, not {k}")
    vector, embedder, note = _meaning(vectors or StoredVectors(store), question)
    look = _Look(store, user, question, conversation, vector)
    rows = _once(sorted([*look.searches(MORE * k), *look.messages(MORE * k)], key=lambda r: (-r.score, -r.turn)))
    return EarlierQuestions(question, user, embedder, note, tuple(rows[:k]))


def _meaning(source: VectorSource, question: str) -> tuple[Vector | None, str, str]:
    """The question's vector, and whose it is; or why there is none."""
    identity, count = source.newest()
    if not count:
        return None, "", source.problem or "this store has no vectors"
    vector = source.question(question)
    return (vector, identity, "") if vector is not None else (None, "", source.problem)


@dataclass(frozen=True)
class _Look:
    store: Store
    user: str
    question: str
    conversation: str | None
    vector: Vector | None

    def _rows(self, table: str, k: int) -> list[dict[str, Any]]:
        from memory.stores.vectors import search  # brings LanceDB, which takes a second to load

        words = "" if self.vector is not None else self.question
        return search(
            self.store, user=self.user, text=words, vector=self.vector, table=table, k=k,
            conversation=self.conversation,
        )  # fmt: skip

    def searches(self, k: int) -> Iterator[Earlier]:
        for row in self._rows("retrievals", k):
            scope = Scope(self.user, row["conversation"], row["run"])
            near = self.store.events(
                scope, after=max(0, row["version"] - NEAR), upto=row["version"] + NEAR, kinds=KINDS
            )
            made = _of_step(row, near, kind="search", by=row["asked_by"])
            found = tuple(row["chosen"])
            used = tuple(p for p in dict.fromkeys((*found, *made.came)) if p in made.used)
            yield replace(made, found=found, used=used, note=row["note"])

    def messages(self, k: int) -> Iterator[Earlier]:
        """Those whose step brought something."""
        for row in self._rows("turns", k):
            if row["role"] != "user":
                continue
            scope = self._decided(row)
            last = self.store.version_at(scope, row["turn"])
            near = self.store.events(scope, after=max(0, last - NEAR), upto=last, kinds=KINDS)
            made = _of_step(row | {"run": scope.run, "step": near[-1].step}, near, kind="message", by="")
            if made.came:
                yield replace(made, used=tuple(p for p in made.came if p in made.used))

    def _decided(self, row: Mapping[str, Any]) -> Scope:
        """The run with decisions in which the turn was said: a bare recording holds the same words first."""
        own = Scope(self.user, row["conversation"], row["run"])
        main = self.store.main_run(self.user, row["conversation"]) if own.run == RECORDED else own
        return main if self.store.require(main).turns >= row["turn"] else own


def _of_step(row: Mapping[str, Any], events: list[Event], *, kind: str, by: str) -> Earlier:
    """What the records of the row's step say; `used` still holds every page that the reply used."""
    mine = [event.body for event in events if event.step == row["step"]]
    said = next((b.turn.number for b in mine if isinstance(b, MessageReceived)), 0)
    asked = next((b.by for b in mine if isinstance(b, PagesRecalled)), "")
    came = dict.fromkeys(b.page for b in mine if isinstance(b, PagePagedIn))
    used = dict.fromkeys(c.page for b in mine if isinstance(b, PagesUsed) for c in b.pages)
    return Earlier(
        row["text"], kind, round(row["score"], 4), row["conversation"], row["run"], said, row["step"],
        row["happened_at"], by or asked, (), tuple(came), tuple(used),
    )  # fmt: skip


def _once(rows: list[Earlier]) -> list[Earlier]:
    """The first of those that say the same in the same conversation at the same turn: a replay says it again."""
    seen: dict[tuple[str, int], Earlier] = {}
    for row in rows:
        seen.setdefault((row.conversation, row.turn), row)
    return list(seen.values())


def _names(pages: tuple[int, ...]) -> str:
    return ", ".join(f"p{n}" for n in pages) or "–"
