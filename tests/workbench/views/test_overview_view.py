"""A store at a glance: what is counted is what the log holds, and what is wrong is told."""

import sqlite3
from pathlib import Path

import pytest

from memory import Engine
from memory.models.chat import Answer
from memory.scope import Scope
from memory.stores import census
from memory.stores.jobs import EMBED, FAILED, claim, enqueue, failed, jobs
from memory.stores.sql import FILE, Store
from workbench.views.overview import SORTS, course, health, overview, user_row

LONG = "The garden needs water and the fence needs paint before the summer comes. " * 9


def answer(*_: object, **__: object) -> Answer:
    return Answer("All right.", (), 1, 1, 0.0, "stop", "x", 1.0)


@pytest.fixture
def store(tmp_path: Path):
    settings = {"window_tokens": 2_000, "page_turns": 2, "reply_tokens": 200}
    with Store.open(tmp_path) as opened:
        long = Engine.open(opened, user="ana", conversation="long", title="A garden", chat=answer, **settings)
        for n in range(9):
            long.say(f"{n}. {LONG}")
        long.recall("p1")
        long.say("And now?")
        Engine.open(opened, user="bo", conversation="short", chat=answer).say("My budget is 5,000 euros.")
        yield opened


def looked(store: Store) -> dict[str, tuple[str, dict[str, object]]]:
    return {look.name: (look.tone, look.values) for look in health(store).looks}


def test_each_conversation_has_the_figures_of_its_log(store: Store):
    view = overview(store)
    assert [row.conversation for row in view.conversations] == ["short", "long"]
    long = view.conversations[1]
    events = store.events(Scope("ana", "long", "live"))
    kinds = [event.kind for event in events]
    assert (long.title, long.turns, long.run) == ("A garden", 20, "live")
    assert long.pages == kinds.count("PageClosed") > 3
    assert long.evictions == kinds.count("PageEvicted") > 1
    assert long.recalls == kinds.count("PagesRecalled") == 1
    assert long.faults == kinds.count("PagePagedIn") == 1
    state = store.state(Scope("ana", "long", "live"))
    assert long.tokens == sum(turn.tokens for page in state.pages.values() for turn in page.turns)
    assert view.users == ("bo", "ana")
    assert len(view.to_df()) == 2


def test_the_course_has_one_figure_a_step_that_of_its_last_prompt(store: Store):
    tokens = course(store, "ana", "long")
    prompts = {e.step: e.body.tokens for e in store.events(Scope("ana", "long", "live"), kinds=["PromptAssembled"])}
    assert tokens == tuple(prompts.values())
    assert len(tokens) == 10


@pytest.mark.parametrize("name", SORTS)
def test_every_column_sorts_up_and_down(store: Store, name: str):
    view = overview(store)
    up, down = view.sorted_by(name, down=False), view.sorted_by(name, down=True)
    assert {row.conversation for row in up} == {"long", "short"}
    assert [SORTS[name](row) for row in up] == sorted(SORTS[name](row) for row in view.conversations)
    assert up == down[::-1]


def test_a_caller_may_keep_what_was_counted(store: Store):
    asked = []

    def counts(store: Store, streams):
        asked.extend(stream.scope.conversation for stream in streams)
        return {}

    assert {row.pages for row in overview(store, counts).conversations} == {0}
    assert sorted(asked) == ["long", "short"]


def test_a_user_has_facts_that_hold_and_conflicts_that_are_open(store: Store):
    row = user_row(overview(store), "bo", store.knowledge("bo"))
    assert (row.conversations, row.facts, row.conflicts, row.quarantined, row.remembering) == (1, 1, 0, 0, True)


def test_a_gap_in_the_log_is_seen_at_once(store: Store):
    assert looked(store)["log"][0] == "ok"
    with sqlite3.connect(store.path / FILE) as truth:
        truth.execute(
            "DELETE FROM event WHERE version = 3 AND stream = (SELECT id FROM stream WHERE conversation='long')"
        )
    truth.close()
    tone, values = looked(store)["log"]
    assert (tone, values["gaps"], values["events"]) == ("bad", 1, census.totals(store).events)


def test_a_failed_job_warns_and_is_named_with_its_reason(store: Store):
    assert looked(store)["queue"][1]["failed"] == 0
    enqueue(store, "test", Scope("ana", "long", "live"), "1")
    failed(store, claim(store, ["test"]), "no such key", for_good=True)
    found = health(store)
    assert looked(store)["queue"][0] == "warn"
    assert found.tone == "warn"
    assert [job.reason for job in found.failed] == ["no such key"]
    assert jobs(store, state=FAILED)[0].id == found.failed[0].id


def test_vectors_that_failed_are_told_where_vectors_are(store: Store):
    enqueue(store, EMBED, Scope("ana", "long", "live"), "1")
    assert looked(store)["vectors"][1]["queued"] >= 1


def test_each_part_of_the_folder_has_its_size(store: Store):
    found = {part.name: part for part in census.parts(store)}
    assert found[FILE].bytes >= (store.path / FILE).stat().st_size
    assert not found[FILE].derived
    store.backup(store.path / "backups" / "a.sqlite")
    assert {part.name for part in census.parts(store)} > {"backups"}
    assert looked(store)["backups"][1]["copies"] == 1


def test_it_shows_itself_and_runs_nothing(tmp_path: Path):
    with Store.open(tmp_path) as store:
        Engine.open(store, user="<b>ana", conversation="c", title="<script>", chat=answer).say("Hello")
        page = overview(store)._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
