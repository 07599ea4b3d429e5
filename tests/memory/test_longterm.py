import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import Store
from memory.errors import BadMessage, NotFound, StaleFact, StoreReadOnly, UnknownName
from memory.events import Body
from memory.fact_events import RememberingSwitched
from memory.facts import Candidate, Source
from memory.knowledge import Knowledge, fold
from memory.longterm import RACES, Heard, LongTerm
from memory.scope import Scope
from memory.stores import folds

MONDAY = datetime.fromisoformat("2026-03-02T09:00:00+08:00")


def later(days: float) -> datetime:
    return MONDAY + timedelta(days=days)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store", clock=lambda: later(60).astimezone(UTC)) as opened:
        yield opened


Open = Callable[..., LongTerm]


@pytest.fixture
def of(store: Store) -> Open:
    def open_memory(user: str = "ana", conversation: str = "") -> LongTerm:
        return LongTerm.open(store, user=user, conversation=conversation)

    return open_memory


def budget(value: str, **rest) -> Candidate:
    text = f"The user's budget is {value}."
    return Candidate(text, 0, len(text), subject="user", attribute="budget", value=value, single=True, **rest)


def values(memory: LongTerm, attribute: str = "budget") -> list[str]:
    return [memory.words(f.value) for _, f in memory.history("user", attribute)]


def assert_rebuilt_equals_live(memory: LongTerm) -> None:
    assert fold(memory.store.events(memory.scope)) == memory.knowledge == memory.store.knowledge(memory.user)


# ── write, query, update ──────────────────────────────────────────────────────────────────────────────


def test_what_is_written_is_found_and_quoted_from_the_very_words(of):
    memory = of()
    (told,) = memory.write("By the way, my budget is 5,000 euros. Thanks!", at=MONDAY)
    assert told.verdict == "stored"
    (fact,) = memory.query("What is the budget?").found
    ((source, words),) = memory.quotes(fact)
    assert "budget is 5,000 euros" in words
    assert source.said_at.isoformat() == MONDAY.isoformat()


def test_another_value_is_current_and_the_old_one_is_history(of):
    memory = of()
    memory.write("My budget is 5000 euros.", at=MONDAY)
    memory.write("My budget is 8000 euros.", at=later(3))
    assert [memory.text(f) for f in memory.query("What is the budget?").found] == ["The user's budget is 8000 euros."]
    assert values(memory) == ["5000 euros", "8000 euros"]
    assert [memory.words(f.value) for f in memory.as_of(later(1))] == ["5000 euros"]
    assert [f.name for f in memory.facts()] == ["f2"]
    assert [f.name for f in memory.facts(all_states=True)] == ["f2", "f1"]


@pytest.mark.parametrize(
    ("then", "now", "holds"),
    [
        ("I live in Leeds.", "I moved to Bradford last week.", "Bradford"),
        ("I work at Acme.", "I've worked at Globex since Monday.", "Globex"),
        ("我住在上海。", "我上周搬到杭州了。", "杭州"),
        ("I live in Leeds.", "I moved to Bradford in 2019.", "Leeds"),  # before they came to Leeds
    ],
)
def test_what_changed_before_the_old_value_was_said_still_takes_its_place(of, then, now, holds):
    """Said minutes apart: the newer words decide, also of a time before the older ones, if they speak of now."""
    memory = of()
    memory.write(then, at=later(3))
    memory.write(now, at=later(3.001))
    assert [memory.words(f.value) for f in memory.as_of(later(4))] == [holds]


def test_an_update_is_a_persons_word_and_can_be_undone(of):
    memory = of()
    memory.write("My budget is 5000 euros.", at=MONDAY)
    change = memory.update(1, "8000 euros")
    assert (change.cause, change.decided_by, change.old, change.new) == ("correct", "user", (1,), 2)
    assert memory.text(2) == "The user's budget is 8000 euros."
    assert memory.quotes(2)[0][1] == "8000 euros"
    memory.undo(change.number)
    assert values(memory) == ["5000 euros"]


def test_who_decides_on_what_another_one_changed_meanwhile_looks_again(of):
    mine, theirs = of(), of()
    mine.write("My budget is 5000 euros.", at=MONDAY)
    seen = mine.knowledge.version
    theirs.update(1, "8000 euros")
    with pytest.raises(StaleFact, match="f1 was changed meanwhile by user"):
        mine.update(1, "9000 euros", seen=seen)
    assert values(mine) == ["8000 euros"]


@pytest.mark.parametrize("again", [1, 2, 5])
def test_the_same_text_again_is_one_more_source_of_one_fact(of, again):
    memory = of()
    for n in range(again + 1):
        memory.write("My budget is 5000 euros.", at=later(n))
    assert list(memory.knowledge.facts) == [1]
    assert len(memory.fact(1).sources) == again + 1
    assert len(memory.facts()) == 1


def test_a_fact_that_ends_some_day_counts_until_then(of):
    memory = of()
    memory.write(budget("5000", valid_from=later(0), valid_to=later(90)))
    memory.write(budget("8000", valid_from=later(90)))
    assert {memory.words(f.value) for f in memory.query("the budget?").found} == {"5000", "8000"}
    assert {f.state for f in memory.facts()} == {"active"}


def test_a_time_without_an_offset_is_refused(of):
    with pytest.raises(BadMessage, match="needs its offset from UTC"):
        of().write("My budget is 5000.", at=datetime(2026, 3, 2))  # noqa: DTZ001
    with pytest.raises(BadMessage, match="has no zone"):
        of().write(budget("5000", valid_from=datetime(2026, 3, 2)))  # noqa: DTZ001


NAIVE: Any = datetime(2026, 3, 9)  # noqa: DTZ001 - the point


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.write("I live in Rome.", at=NAIVE),
        lambda m: m.update(1, "8000", since=NAIVE),
        lambda m: m.query("budget", valid=NAIVE),
        lambda m: m.query("budget", recorded=NAIVE),
        lambda m: m.walk("budget", valid=NAIVE),
        lambda m: m.as_of(NAIVE),
        lambda m: m.as_of(MONDAY, NAIVE),
        lambda m: m.history("user", "budget", NAIVE),
        lambda m: m.query("budget", valid="2026-03-09"),
        lambda m: m.write(None),
        lambda m: m.write(b"My budget is 5000."),
        lambda m: m.query(5),
        lambda m: m.update(1, 8000),
        lambda m: m.update("the budget", "8000"),
        lambda m: m.history("user", None),
        lambda m: m.mark(1, 1.5),
        lambda m: m.mark(1, float("nan")),
        lambda m: m.forget(),
        lambda m: m.retract(),
        lambda m: m.forget(True),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words_and_changes_nothing(of, ask):
    memory = of()
    memory.write(budget("5000 euros"), at=MONDAY)
    version = memory.knowledge.version
    with pytest.raises(BadMessage):
        ask(memory)
    assert memory.knowledge.version == version


def test_a_layer_that_is_none_is_named_and_a_single_one_needs_no_list(of):
    memory = of()
    memory.write(budget("5000 euros"), at=MONDAY)
    with pytest.raises(UnknownName, match="no layer named 'semantik'; choose one of: episodic, semantic, working"):
        memory.query("budget", layers=["semantik"])
    assert len(memory.query("budget", layers="semantic").found) == 1
    assert memory.query("budget", k=-1).found == ()


def test_facts_are_named_as_they_are_shown_each_once(of):
    memory = of()
    memory.write(budget("5000 euros"), at=MONDAY)
    assert memory.fact("f1") == memory.fact(1)
    assert memory.update("f1", "8000 euros").old == (1,)
    assert memory.forget(2, "f2", " F2 ").old == (2,)
    with pytest.raises(NotFound, match="no fact f9"):
        memory.mark("f9")


def test_an_attribute_is_found_under_its_other_names(of):
    memory = of()
    memory.write("My budget is 5000 euros.", at=MONDAY)
    memory.write(Candidate("Ana administers the code", 0, 24, subject="Ana", attribute="Administers", value="the code"))
    for name in ("budget", "Budget", "预算"):
        assert [memory.words(f.value) for _, f in memory.history("user", name)] == ["5000 euros"]
        assert [memory.words(f.value) for _, f in memory.evolution("user", name)] == ["5000 euros"]
    assert [memory.words(f.value) for _, f in memory.history("Ana", "Administers")] == ["the code"]


def test_nothing_is_remembered_of_nothing(of):
    with pytest.raises(BadMessage, match="nothing to remember"):
        of().write(" \n")
    assert of().facts() == []
    assert of().query("What is the budget?").found == ()
    assert repr(of()) == "<LongTerm of ana: 0 facts hold, 0 in all>"


def test_another_conversations_working_fact_is_not_there(of):
    trip, home = of(conversation="trip"), of(conversation="home")
    trip.write(Candidate("Step 3 of 5 is done", 0, 19, kind="task", subject="user", attribute="progress", value="3"))
    assert [f.name for f in trip.facts()] == ["f1"]
    assert home.facts() == of().facts() == []
    assert home.query("Which step is done?").found == ()
    with pytest.raises(NotFound, match="f1 is a working fact of another conversation"):
        home.fact(1)
    assert home.history("user", "progress") == []
    assert home.as_of(later(100)) == []


# ── the ledger ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "reason"),
    [("What is the budget?", "a question"), ("Thanks!", "small talk"), ("好的，谢谢", "small talk")],
)
def test_an_empty_result_says_why(of, said, reason):
    memory = of()
    assert [(o.verdict, o.reason) for o in memory.write(said)] == [("none", reason)]
    assert [o.reason for line in memory.ledger() for o in line.outcomes] == [reason]


@pytest.mark.parametrize(
    "said",
    [
        "My password is swordfish.", "My password is hunter2.", "Please remember my wifi password: blue-kettle-42.",
        "My PIN is 1234.", "My SSN is 078-05-1120.", "我的密码是swordfish。", "请记住我的密码：abc123",
        "I decided that my password is swordfish from now on.",
    ],
)  # fmt: skip
def test_a_secret_becomes_no_fact_whoever_drew_it(of, said):
    memory = of(conversation="trip")
    assert {o.verdict for o in memory.write(said)} == {"none"}
    source = Source("trip", 1, memory.journal.said(said), 0, len(said), "user", MONDAY)
    drawn = memory.add(Candidate("The user's password is swordfish.", 0, len(said)), source, by="gpt")
    assert (drawn.verdict, drawn.reason) == ("none", "a secret is no fact")
    assert memory.facts(all_states=True) == []


def test_what_is_to_be_done_about_a_secret_is_kept(of):
    (told,) = of().write("Please remember to change my password on Friday.")
    assert told.verdict == "stored"


def test_a_user_who_wants_nothing_remembered_gets_ledger_lines_alone(of):
    memory = of(conversation="trip")
    memory.write("My budget is 5000 euros.", at=MONDAY)
    memory.switch(on=False)
    before = memory.knowledge.facts
    assert memory.write("My name is Ana.")[0].reason == "remembering is switched off"
    assert memory.write(budget("7000"))[0].reason == "remembering is switched off"
    source = Source("trip", 1, memory.journal.said("My name is Ana."), 0, 15, "user", MONDAY)
    assert memory.add(Candidate("The user is Ana", 0, 15), source, by="gpt").reason == "remembering is switched off"
    assert memory.knowledge.facts == before
    memory.switch(on=True)
    memory.switch(on=True)  # which changes nothing
    assert memory.write("My name is Ana.")[0].verdict == "stored"
    assert len([e for e in memory.store.events(memory.scope) if e.kind == "RememberingSwitched"]) == 2


# ── only what is named ────────────────────────────────────────────────────────────────────────────────

NAMED = st.lists(st.tuples(st.sampled_from(["update", "forget", "retract", "mark"]), st.integers(1, 4)), max_size=5)


@given(NAMED)
def test_an_update_changes_exactly_the_facts_that_are_named(tmp_path_factory, named):
    with Store.open(tmp_path_factory.mktemp("named") / "store") as store:
        memory = LongTerm.open(store, user="ana")
        for n, what in enumerate(["tea", "jazz", "hiking", "chess"], 1):
            memory.write(f"I like {what}.")
            assert memory.words(memory.fact(n).value) == what
        for verb, number in named:
            before = memory.knowledge.facts
            if not before[number].believed:
                continue
            getattr(memory, verb)(number, *(["go"] if verb == "update" else []))
            after = memory.knowledge.facts
            assert {n for n in before if after[n] != before[n]} == {number}
            assert len(after) == len(before) + (verb == "update")


@pytest.mark.parametrize("target", [0, 12, -1, 10**9])
def test_a_target_that_was_never_there_is_named_and_nothing_happens(of, target):
    memory = of()
    memory.write("My budget is 5000 euros.")
    version = memory.knowledge.version
    for act in (memory.forget, memory.retract, memory.mark, memory.release, lambda n: memory.update(n, "1")):
        with pytest.raises(NotFound, match=rf"no fact f{target}; there are f1 to f1"):
            act(target)
    assert memory.knowledge.version == version


# ── many writers ──────────────────────────────────────────────────────────────────────────────────────


def test_eight_threads_write_and_nothing_is_lost(store):
    faults: list[BaseException] = []

    def write(name: str) -> None:
        memory = LongTerm.open(store, user="ana", conversation=name)
        try:
            for n in range(6):
                words = f"{name} number {n} is kept in drawer {name}{n}"
                memory.write(Candidate(words, 0, len(words)))
        except BaseException as error:  # noqa: BLE001 - told below
            faults.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcdefgh"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert faults == []
    memory = LongTerm.open(store, user="ana")
    lines = [o for line in memory.ledger() for o in line.outcomes]
    assert len(lines) == 48
    assert {o.verdict for o in lines} == {"stored"}
    assert len({memory.text(f) for f in memory.facts()}) == 48
    assert_rebuilt_equals_live(memory)


def test_who_loses_to_others_each_time_makes_them_wait(of):
    mine, other = of(), of()
    races: list[int] = []

    def decide(k: Knowledge) -> list[Body]:
        races.append(k.version)
        if len(races) <= RACES:  # somebody is faster, each time; then nobody can be
            other.switch(on=not other.knowledge.on)
        return [RememberingSwitched(True, "the slow one", mine.clock())]

    mine.commit(decide)
    assert len(races) == RACES + 1
    assert races == sorted(set(races))
    assert_rebuilt_equals_live(mine)


def test_what_fails_while_others_wait_leaves_nothing_and_the_next_write_stands(of):
    memory = of()

    def fails_late() -> None:
        with memory.journal.alone():
            memory.write(budget("5000"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails_late()
    assert memory.knowledge.facts == {}
    memory.write(budget("8000"))
    assert values(memory) == values(of()) == ["8000"]
    assert_rebuilt_equals_live(memory)


def test_a_store_that_keeps_its_connection_reads_in_the_middle_of_a_read(store, of):
    memory = of()
    with store.keeping():
        memory.write(budget("5000"))
        with store.read():  # of before
            memory.write(budget("8000"))
        assert values(memory) == values(of()) == ["8000"]


WRITER = """
import sys
from memory.longterm import LongTerm
from memory.facts import Candidate
memory = LongTerm.open(sys.argv[1], user="ana", conversation=sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for n in range(8):
    words = f"{sys.argv[2]} number {n} is kept in drawer {sys.argv[2]}{n}"
    print(memory.write(Candidate(words, 0, len(words)))[0].verdict, flush=True)
"""


def test_processes_write_at_once_and_nothing_is_lost(store):
    pipe = subprocess.PIPE
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(store.path), name], stdin=pipe, stdout=pipe, text=True)
        for name in "ab"
    ]
    for each in running:
        assert each.stdout.readline() == "ready\n"
    for each in running:
        each.stdin.write("\n")
        each.stdin.flush()
    told = [each.communicate()[0].split() for each in running]
    assert told == [["stored"] * 8] * 2
    memory = LongTerm.open(store, user="ana")
    assert len(memory.facts()) == 16
    assert_rebuilt_equals_live(memory)


def heard(memory: LongTerm, turn: int, words: str, at: datetime) -> Heard:
    return Heard(memory.conversation, turn, memory.journal.said(words), words, "user", "", at)


def test_two_clients_that_contradict_each_other_at_the_same_moment_are_in_conflict(of):
    phone, desk = of(conversation="phone"), of(conversation="desk")
    phone.write("Please move the weekly report to Monday.", at=MONDAY)
    seen = phone.knowledge.version
    phone.learn([heard(phone, 1, "No more weekly reports, please.", later(5))], seen)
    desk.learn([heard(desk, 1, "Move the weekly report to Tuesday.", later(5) + timedelta(seconds=20))], seen)
    (conflict,) = desk.conflicts
    assert conflict.facts == (2, 3)
    assert {f.state for f in desk.facts()} == {"conflicted"}
    change = desk.settle(conflict.id, 3)
    assert [desk.words(f.value) for f in phone.facts() if f.state == "active"] == ["Tuesday"]
    phone.undo(change.number)
    assert [c.id for c in desk.conflicts] == [conflict.id]
    assert_rebuilt_equals_live(desk)


def test_a_turn_is_learned_once_whoever_is_first(of):
    one, other = of(conversation="trip"), of(conversation="trip")
    words = heard(one, 1, "My budget is 5000 euros.", MONDAY)
    assert one.learn([words], 0)[0].verdict == "stored"
    assert other.learn([words], 0) == []
    assert len(one.ledger()) == 1


# ── stores ────────────────────────────────────────────────────────────────────────────────────────────


def test_snapshots_and_the_log_say_the_same(of, monkeypatch):
    monkeypatch.setattr(folds, "SNAPSHOT_RECORDS", 7)
    memory = of()
    for n in range(12):
        memory.write(f"My budget is {5000 + n} euros.", at=later(n))
    memory.undo(len(memory.knowledge.changes))
    assert_rebuilt_equals_live(memory)
    version = memory.knowledge.version
    for at in range(version + 1):
        assert memory.store.knowledge("ana", at) == fold(memory.store.events(memory.scope, upto=at))


def test_what_was_known_at_any_version_is_what_was_known_then(of):
    memory = of()
    memory.write("My budget is 5000 euros.", at=MONDAY)
    then = memory.knowledge
    memory.write("My budget is 8000 euros.", at=later(1))
    assert memory.store.knowledge("ana", then.version) == then


def test_a_store_that_cannot_be_written_can_be_asked(of, store):
    of().write("My budget is 5000 euros.", at=MONDAY)
    store.close()
    with Store.open(store.path, readonly=True) as locked:
        memory = LongTerm.open(locked, user="ana")
        assert [memory.text(f) for f in memory.query("What is the budget?").found] == [
            "The user's budget is 5000 euros."
        ]
        with pytest.raises(StoreReadOnly):
            memory.write("My budget is 8000 euros.")
        assert LongTerm.open(locked, user="bob").facts() == []


# ── whose memory ──────────────────────────────────────────────────────────────────────────────────────


def test_no_user_sees_anothers_facts_on_any_path(store):
    users = ["ana", "bob", "bo", "ANA"]
    memories = {u: LongTerm.open(store, user=u, conversation="trip") for u in users}
    for n in range(3):
        for user, memory in memories.items():
            memory.write(f"My budget is {n} canary{user}x euros.")
            memory.write(f"I like canary{user}x tea number {n}.")
    for user, memory in memories.items():
        others = [f"canary{u}x" for u in users if u != user]
        texts = [memory.text(f) for f in memory.facts(all_states=True)]
        texts += [memory.text(f) for f in memory.query("budget tea canary", 50).found]
        texts += [memory.words(f.value) for _, f in memory.history("user", "budget")]
        texts += [words for f in memory.facts() for _, words in memory.quotes(f)]
        texts += [memory._html()]
        assert any(f"canary{user}x" in t for t in texts)
        assert not [t for t in texts for other in others if other in t]
        foreign = next(f for u, m in memories.items() if u != user for f in m.facts())
        with pytest.raises(NotFound):
            memory.words(foreign.text)
        assert memory.quotes(foreign) in ([], [(foreign.sources[0], "")])


def test_what_one_user_takes_back_leaves_the_others_alone(of, store):
    ana, bob = of("ana"), of("bob")
    for each in (ana, bob):
        each.write("My budget is 5000 euros.")
    before = bob.knowledge
    ana.retract(1)
    ana.forget(1)
    assert bob.knowledge == before
    assert store.stream(Scope.own("carl")) is None  # asking makes nobody a memory
    assert of("carl").facts() == []
    assert store.stream(Scope.own("carl")) is None


# ── time ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/Los_Angeles", "UTC"])
def test_days_are_the_speakers_whatever_the_machines_zone(of, monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        memory = of()
        said = datetime.fromisoformat("2026-03-08T00:30:00-08:00")  # the night in which the clocks go forward there
        memory.write("I moved to Lyon yesterday.", at=said)
        fact = memory.fact(1)
        assert fact.beliefs[0].valid_from.isoformat() == "2026-03-07T08:00:00+00:00"
        assert fact.since_when.isoformat() == "2026-03-07T00:00:00-08:00"
        assert fact.sources[0].said_at == said
        assert fact.sources[0].said_at.utcoffset() == said.utcoffset()
        assert [f.id for f in memory.as_of(datetime.fromisoformat("2026-03-07T16:00:00+08:00"))] == [1]
        assert memory.as_of(datetime.fromisoformat("2026-03-07T15:59:59.999999+08:00")) == []
    finally:
        monkeypatch.undo()
        time.tzset()


def test_snapshots_grow_rarer_as_more_is_known():
    versions = [Knowledge(version=n) for n in range(0, 40_001, 50)]
    kept = [b.version for a, b in pairwise(versions) if folds.FACTS.is_due(a, b)]
    assert kept[:3] == [500, 1_000, 1_500]
    assert len(kept) < 32
    assert all(b - a <= max(1_000, a / 2) for a, b in pairwise(kept))
    assert sum(kept) < 15 * 40_000  # in all no more than a few times what is known
