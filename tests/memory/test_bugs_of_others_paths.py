"""Faults that users of other memory systems met where memory is read, deleted, or written by a model: rules, as before.

BR-06 a stale index, BR-12 to BR-14 deletion, BR-21 and BR-22 JSON as models write it. Facts themselves: the file next
to this one.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memory import Engine, naming
from memory.answering import handle
from memory.errors import BadMessage, BadSetting, NotFound
from memory.facts import Candidate
from memory.longterm import LongTerm
from memory.models.embedding import named
from memory.scope import Scope
from memory.sleep import Sleep
from memory.stores import embedded, vectors
from memory.stores.embedded import kept_hashes, reindex
from memory.stores.erase import erase
from memory.stores.searchable import digest
from memory.stores.sql import Store
from memory.stores.sync import sync
from memory.stores.verify import rebuild, verify
from tests.memory.conftest import SMALL, Model
from tests.memory.test_learning import Script, row
from workbench.cli import app
from workbench.views import facts as fact_views

MONDAY = datetime.fromisoformat("2026-03-02T09:00:00+08:00")
HASH = named("hash")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with Store.open(folder) as opened:
        yield opened


# ── every way to read ─────────────────────────────────────────────────────────────────────────────────

Reads = Callable[[Store, str], object]
QUESTION = "What is the budget for the trip? walnut"


def prompt_of(store: Store, user: str) -> object:
    """What a model is sent when somebody asks, in a new conversation."""
    model = Model("ok")
    with Engine.open(store, user=user, conversation=f"read-{store.last_seq()}", chat=model, **SMALL) as engine:
        engine.say("What is the budget for the trip?")
    return [m["content"] for m in model.seen[-1] if m["role"] == "system"]


def fresh(store: Store, user: str) -> LongTerm:
    return LongTerm(store, user)


def texts(memory: LongTerm, facts: Any) -> list[str]:
    return [memory.text(fact) for fact in facts]


def by_vector(store: Store, user: str) -> object:
    rows = vectors.search(store, user=user, vector=HASH.queries([QUESTION])[0], embedder=HASH, table="facts", k=50)
    return [r["text"] for r in rows if r["believed"]]


def by_text(store: Store, user: str) -> object:
    return [r["text"] for r in vectors.search(store, user=user, text=QUESTION, table="facts", k=50) if r["believed"]]


READS: dict[str, Reads] = {
    "facts": lambda store, user: texts(m := fresh(store, user), m.facts()),
    "query": lambda store, user: texts(m := fresh(store, user), m.query(QUESTION).found),
    "walk": lambda store, user: texts(m := fresh(store, user), m.walk(QUESTION).facts),
    "as of now": lambda store, user: texts(m := fresh(store, user), m.as_of(store.clock())),
    "full text": by_text,
    "vectors": by_vector,
    "sql": lambda store, user: store.sql(
        "SELECT text FROM facts WHERE \"user\" = ? AND state = 'active'", [user]
    ).rows,
    "view": lambda store, user: [r.text for r in fact_views.facts(store, user)],
    "table": lambda store, user: fact_views.facts(store, user).to_dict(),
    "in words": lambda store, user: handle("What do you remember about me?", fresh(store, user)),
    "prompt": prompt_of,
}  # fmt: skip


@pytest.fixture
def edited(store: Store) -> Store:
    """A budget that was indexed everywhere, and then corrected."""
    memory = LongTerm(store, "ana")
    memory.write("My budget for the trip is 5000 euros.", at=MONDAY)
    reindex(store, HASH)
    sync(store, wait_s=30)
    memory.query(QUESTION)
    memory.update(1, "8000 euros")
    reindex(store, HASH)
    sync(store, wait_s=30)
    return store


@pytest.mark.parametrize("path", READS)
def test_br_06_after_an_edit_every_read_path_tells_the_new_value_and_none_the_old(edited: Store, path: str):
    told = repr(READS[path](edited, "ana"))
    assert "8000" in told
    assert "5000" not in told


def test_br_06_what_was_read_before_the_edit_by_the_same_object_is_not_served_again(store: Store):
    memory = LongTerm(store, "ana")
    memory.write("My budget for the trip is 5000 euros.", at=MONDAY)
    assert "5000" in repr(texts(memory, memory.query(QUESTION).found))
    assert "5000" in repr(texts(memory, memory.walk(QUESTION).facts))
    LongTerm(store, "ana").update(1, "8000 euros")
    assert texts(memory, memory.query(QUESTION).found) == texts(memory, memory.facts())
    assert "5000" not in repr([texts(memory, memory.query(QUESTION).found), texts(memory, memory.walk(QUESTION).facts)])


def test_br_06_an_index_row_of_another_version_is_found_by_verify_and_mended_by_rebuild(edited: Store, folder: Path):
    table = vectors._connect(folder).open_table("facts")
    table.update(where="fact = 2", values={"version": 1, "text": "The user's budget is 5000 euros."})
    assert "facts differ from the truth" in repr(verify(edited).faults)
    rebuild(edited)
    assert verify(edited).faults == ()
    assert "8000" in repr(by_text(edited, "ana"))


# ── whose words a deletion takes ──────────────────────────────────────────────────────────────────────

BOTH = "I am allergic to peanuts. My budget for the trip is 5000 euros."


@pytest.fixture
def two(store: Store) -> Store:
    """Two users who said the very same in conversations of one name, with every index made."""
    for user in ("ana", "bo"):
        with Engine.open(store, user=user, conversation="trip", chat=Model("Noted."), **SMALL) as engine:
            engine.say(BOTH)
            engine.say("And what else?")
        Sleep(LongTerm(store, user, "trip")).summarise()
    reindex(store, HASH)
    sync(store, wait_s=30)
    return store


def left_of(store: Store, user: str) -> tuple[Any, ...]:
    """All that a user has, in the truth and in what is derived."""
    live, own = Scope(user, "trip"), Scope.own(user)
    found = vectors.search(store, user=user, text="peanuts budget", table="turns", k=50)
    return (
        store.events(live) if store.stream(live) else [], store.events(own), store.words(live), store.words(own),
        store.knowledge(user),
        sorted(r["text"] for r in found),
        store.sql('SELECT count(*) FROM turns WHERE "user" = ?', [user]).rows,
        {f.text for f in fact_views.facts(store, user)},
    )  # fmt: skip


DELETIONS: dict[str, Callable[[Store], object]] = {
    "a conversation": lambda store: store.delete("ana", "trip"),
    "a topic": lambda store: erase(store, "ana", "peanut").carry_out(),
    "facts by number": lambda store: erase(store, "ana", facts=[1]).carry_out(),
    "all facts": lambda store: (m := LongTerm(store, "ana")).forget(*(f.id for f in m.facts())),
    "taken back": lambda store: LongTerm(store, "ana").retract(1),
}


@pytest.mark.parametrize("how", DELETIONS)
def test_br_12_a_deletion_takes_nothing_of_another_user(two: Store, how: str):
    before, mine = left_of(two, "bo"), left_of(two, "ana")
    DELETIONS[how](two)
    assert left_of(two, "bo") == before
    assert left_of(two, "ana") != mine
    assert verify(two).ok


def test_br_12_nothing_is_deleted_without_saying_what(two: Store, folder: Path):
    before = two.last_seq(), two.generation()
    for nobody in ("", " "):
        with pytest.raises(BadSetting, match="needs a user"):
            erase(two, nobody, "peanut")
    with pytest.raises(BadMessage, match="say what to erase"):
        erase(two, "ana")
    with pytest.raises(NotFound):
        two.delete("ana", "")
    with pytest.raises(NotFound):
        two.delete("nobody", "trip")
    at = ["--store", str(folder)]
    assert CliRunner().invoke(app, ["memory", "forget", "-u", "ana", *at]).exit_code == 1
    assert CliRunner().invoke(app, ["memory", "forget", "-u", "ana", "--all", *at], input="n\n").exit_code == 1
    assert CliRunner().invoke(app, ["delete", "trip", *at]).exit_code == 2
    assert CliRunner().invoke(app, ["delete", "trip", "-u", "ana", *at], input="n\n").exit_code == 1
    assert (two.last_seq(), two.generation()) == before


# ── what a deletion leaves ────────────────────────────────────────────────────────────────────────────

CANARY = "zqcanaryzq"


@pytest.fixture
def canary(store: Store) -> Store:
    """A word in a message, a fact, a bookmark, a summary, a question and every index."""
    with Engine.open(store, user="ana", conversation="trip", chat=Model("Noted."), **SMALL) as engine:
        for n in range(14):
            engine.say(f"My nickname is {CANARY}, and drawer {n} is full of rivers and museums. " + "So it is. " * 20)
        naming.give(engine.pager, engine.state.pages[1], (CANARY, "rivers"), "user", 2.0)
        engine.pager.commit()
        engine.recall(question=f"Where did I say {CANARY}?")
    Sleep(LongTerm(store, "ana", "trip")).summarise()
    reindex(store, HASH)
    sync(store, wait_s=30)
    return store


def where_it_is(store: Store) -> set[str]:
    """The read paths that still tell the word."""
    vector = HASH.queries([f"nickname {CANARY}"])[0]
    memory = LongTerm(store, "ana", "trip")
    told: dict[str, object] = {}
    for table in vectors.TABLES:
        told[f"text of {table}"] = vectors.search(store, user="ana", text=CANARY, table=table, k=99)
        if table in vectors.WITH_VECTORS:
            told[f"vectors of {table}"] = vectors.search(store, user="ana", vector=vector, embedder=HASH, table=table)
    for view in ("turns", "facts", "bookmarks", "retrievals", "recalls"):
        told[f"sql {view}"] = store.sql(f"SELECT * FROM {view}").rows
    told["facts"] = [(memory.text(f), memory.words(f.value)) for f in memory.facts(all_states=True)]
    told["summaries"] = [memory.words(s.text) for s in Sleep(memory).summaries()]
    told["by summary"] = Sleep(memory).find(f"nickname {CANARY}")
    told["query"] = [memory.text(memory.fact(h.page)) for h in memory.query(CANARY).hits]
    told["walk"] = [memory.text(f) for f in memory.walk(CANARY).facts]
    return {name for name, found in told.items() if CANARY in repr(found)}


@pytest.mark.parametrize("how", ["erase", "delete"])
def test_br_13_what_is_deleted_is_gone_from_every_index_and_every_byte(canary: Store, folder: Path, how: str):
    before = where_it_is(canary)
    assert before >= {"text of turns", "vectors of turns", "text of facts", "text of bookmarks", "facts", "summaries",
                      "sql bookmarks", "query"}  # fmt: skip
    if how == "erase":
        erase(canary, "ana", CANARY).carry_out()
    else:
        erase(canary, "ana", facts=list(canary.knowledge("ana").facts)).carry_out()
        canary.delete("ana", "trip")
    files = [f for f in folder.rglob("*") if f.is_file()]
    assert [f.name for f in files if CANARY.encode() in f.read_bytes()] == [], "before anything is looked for again"
    if how == "erase":
        assert where_it_is(canary) == set()
    assert verify(canary).ok


def test_br_13_no_vector_of_a_deleted_text_is_left(canary: Store):
    mine = [digest(text) for text, question in embedded.wanted_texts(canary).values() if CANARY in text]
    assert kept_hashes(canary) & set(mine)
    erase(canary, "ana", CANARY).carry_out()
    assert not kept_hashes(canary) & set(mine)


# ── caches ────────────────────────────────────────────────────────────────────────────────────────────


def test_br_14_a_warm_reader_serves_nothing_that_another_one_deleted(store: Store, folder: Path):
    warm = LongTerm(store, "ana")
    warm.write(f"My nickname is {CANARY}.")
    with Engine.open(store, user="ana", conversation="trip", chat=Model("ok"), **SMALL) as engine:
        engine.say(f"My locker code is {CANARY} nine.")
        engine.say("Rivers.")
        warmed = [warm.query(CANARY).found, warm.walk(CANARY).facts, engine.memory.query(CANARY).found]
        assert all(warmed)
        assert CANARY in repr(engine.caller.chat.seen[-1])
        with Store.open(folder) as other:  # as another process would
            erase(other, "ana", CANARY).carry_out()
        assert [warm.query(CANARY).found, warm.walk(CANARY).facts, engine.memory.query(CANARY).found] == [(), (), ()]
        for memory in (warm, engine.memory):  # nor does what it looks facts up by know the word
            assert memory.finder.coverage(memory.knowledge, CANARY) == {}
            assert CANARY not in repr(memory.graph.terms)
        engine.say("What is my nickname, and what is the code?")
        assert CANARY not in repr(engine.caller.chat.seen[-1])


def test_br_14_a_second_process_serves_nothing_that_was_deleted_here(store: Store):
    memory = LongTerm(store, "ana")
    memory.write(f"My nickname is {CANARY}.")
    script = """
import sys
from memory.longterm import LongTerm
from memory.stores.sql import Store
with Store.open(sys.argv[1]) as store:
    memory = LongTerm(store, "ana")
    for line in sys.stdin:
        print([memory.text(f) for f in memory.query(line.strip()).found], end=" ")
        print([memory.text(f) for f in memory.facts(all_states=True)], flush=True)
"""
    command = [sys.executable, "-c", script, str(store.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:

        def asks(question: str) -> str:
            assert other.stdin
            assert other.stdout
            other.stdin.write(f"{question}\n")
            other.stdin.flush()
            return other.stdout.readline().strip()

        assert CANARY in asks(CANARY)
        erase(store, "ana", CANARY).carry_out()
        told = asks(CANARY)
        assert told.startswith("[] ['_")
        assert CANARY not in told
        other.stdin.close()


# ── what a model writes ───────────────────────────────────────────────────────────────────────────────

CAT = "By the way, my cat is called Miso, and I live in 成都."
FACTS = json.dumps(
    {"facts": [{"turn": "t1", **row("my cat is called Miso", "The user's cat is called {Miso} 咪索.", attribute="cat",
                                    value="Miso")}]},
    ensure_ascii=False,
)  # fmt: skip
GARBLED = {
    "fences": f"```json\n{FACTS}\n```",
    "thoughts": f'<think>maybe {{"facts": [1]}} or {{…</think>\n{FACTS}',
    "trailing comma": FACTS[:-2] + ",]}",
    "bad escape": FACTS.replace("咪索", r"\u12 咪索"),
    "half surrogate": FACTS.replace("咪索", r"\ud83d 咪索"),
    "prose with braces": f"Based on {{about travel}}, here: {FACTS}",
    "prose around": f"Sure! {FACTS} I hope {{that}} helps.",
    "another object first": f'{{"note": "thinking"}} {FACTS}',
    "encoded twice": json.dumps(FACTS),
}


@pytest.fixture
def told_by(folder: Path) -> Iterator[Any]:
    engines: list[Engine] = []

    def say(*answers: str) -> tuple[Engine, Script]:
        script = Script(*answers)
        engine = Engine.open(
            folder, user="ana", conversation="trip", llm="gpt-4o-mini", window_tokens=8_000, remember="llm", retry_s=0,
            chat=script, background=False,
        )  # fmt: skip
        engines.append(engine)
        engine.say(CAT)
        engine.work()
        return engine, script

    yield say
    for engine in engines:
        engine.close()


@pytest.mark.parametrize("kind", GARBLED)
def test_br_21_and_22_what_can_be_read_is_kept_however_it_is_wrapped(told_by: Any, kind: str):
    engine, script = told_by(GARBLED[kind])
    texts_ = [engine.memory.text(f) for f in engine.memory.facts()]
    assert any("{Miso}" in text and "咪索" in text for text in texts_), texts_
    assert len(script.prompts) == 1, "no second call was needed"


@pytest.mark.parametrize("kind", ["cut off", "two answers"])
def test_br_21_what_cannot_be_read_is_asked_for_once_more_and_then_taken(told_by: Any, kind: str):
    other = FACTS.replace("Miso", "Momo")
    bad = FACTS[: len(FACTS) // 2] if kind == "cut off" else f"{FACTS} {other}"
    engine, script = told_by(bad, FACTS)
    assert len(script.prompts) == 2
    assert any("{Miso}" in engine.memory.text(f) for f in engine.memory.facts())


def test_br_21_twice_unreadable_is_a_failure_that_can_be_seen_with_its_raw_words_and_no_turn_is_lost(told_by: Any):
    broken = FACTS[: len(FACTS) // 2]
    engine, _ = told_by(broken, broken)
    (failed,) = [line for line in engine.memory.ledger() if line.raw]
    assert engine.memory.words(failed.raw) == broken
    assert failed.outcomes[0].verdict == "failed"
    seen = engine.diagnose("ignores history").finding("messages looked at for facts")
    assert (seen.verdict, len(seen.evidence)) == ("suspect", 1)
    assert "gpt-4o-mini" in seen.evidence[0]
    turn = engine.state.pages[1].turns[0]
    assert engine.store.words(engine.scope)[turn.text] == CAT
    engine.memory.write(Candidate("The user's cat is called Miso", 0, 0))
    assert engine.memory.facts()
