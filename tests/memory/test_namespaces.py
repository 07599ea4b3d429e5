"""Nothing of one user's reaches another, nor a working fact another conversation: canaries over every read path."""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from memory import Engine
from memory.answering import about, handle, last_uses
from memory.diagnosis import SYMPTOMS, diagnose
from memory.errors import BadQuery, BadSetting, NotFound
from memory.exposure import stale_exposure
from memory.facts import Candidate, digest
from memory.longterm import LongTerm
from memory.models.embedding import named
from memory.reach import bisect, blast_radius
from memory.scope import Scope
from memory.sleep import Sleep
from memory.stores import embedded, vectors
from memory.stores.erase import erase
from memory.stores.jobs import jobs
from memory.stores.sql import Store
from memory.stores.sync import sync
from memory.why import why
from sessions.cases import make_case
from sessions.export import FORMATS, export
from tests.memory.conftest import SMALL, Model
from workbench.case_page import write_page
from workbench.views import facts as fact_views
from workbench.views.conversations import conversations
from workbench.views.review import everything
from workbench.views.turn import turn as turn_view
from workbench.views.window import page as page_view
from workbench.views.window import window

AT = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)
USERS = ("ana", "bo", "Ana", "o'brien")
PLACES = ("trip", "work")
STEPS = 4


def canary(user: str, place: str = "") -> str:
    """A word that this user says, in a place of theirs; no other word holds it."""
    return f"zq{USERS.index(user)}{place}zq"


def strangers(user: str, place: str = "") -> list[str]:
    """What must never be seen there."""
    others = [canary(u, p) for u in USERS if u != user for p in ("", *PLACES)]
    return others + ([canary(user, p) for p in PLACES if p != place] if place else [])


def talk(store: Store, user: str, place: str, seen: dict[tuple[str, str], Model]) -> None:
    """Steps of one conversation; its working facts are put in as a tool would."""
    model = seen[user, place] = Model("Noted.")
    engine = Engine.open(store, user=user, conversation=place, chat=model, background=False, **SMALL)
    memory = LongTerm(store, user, place, clock=store.clock)
    for step in range(STEPS):
        memory.write(Candidate(f"Booking {canary(user, place)} number {step}", 0, 9, kind="task", layer="working"))
        engine.say(f"My home city is {canary(user)}. And I like {canary(user)} tea {step}.")
        engine.say("Where do I live, and what is booked? And what do I like to drink?")
    engine.close()


@pytest.fixture(scope="module", params=["interleaved", "concurrent"])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """All of them talk, one after the other or all at once; what each model was sent."""
    seen: dict[tuple[str, str], Model] = {}
    pairs = [(user, place) for place in PLACES for user in USERS]
    with Store.open(tmp_path_factory.mktemp(request.param) / "store") as store:
        if request.param == "interleaved":
            for user, place in pairs:
                talk(store, user, place, seen)
        else:
            threads = [threading.Thread(target=talk, args=(store, *pair, seen), daemon=True) for pair in pairs]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        embedded.reindex(store, named("hash"))
        sync(store, wait_s=30)
        yield store, seen


def clear(said: object, user: str, place: str = "") -> None:
    found = [word for word in strangers(user, place) if word in repr(said)]
    assert found == [], f"{user}/{place or '*'} sees {found}"


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("place", PLACES)
def test_no_prompt_holds_a_strangers_word_nor_another_conversations_working_fact(told, user, place):
    _, seen = told
    prompts = seen[user, place].seen
    clear(prompts, user, place)
    assert canary(user) in repr(prompts[-1])


@pytest.mark.parametrize("user", USERS)
def test_getting_and_searching_facts(told, user):
    store, _ = told
    for place in ("", *PLACES):
        memory = LongTerm(store, user, place, clock=store.clock)
        found = memory.facts(all_states=True)
        assert found
        text = [(memory.text(f), memory.quotes(f), memory.words(f.value), memory.words(f.tags)) for f in found]
        clear(text, user, place or "nowhere")
        question = f"who is {' '.join(canary(u) for u in USERS)}, and what is booked?"
        best = memory.query(question, 50)
        clear([memory.text(memory.fact(h.page)) for h in (*best.hits, *best.misses)], user, place or "nowhere")
        clear([memory.text(f) for f in memory.as_of(store.clock())], user, place or "nowhere")
        clear([memory.text(f) for _, f in memory.history("user", "home city")], user, place or "nowhere")
        clear([memory.text(f) for f in about(memory, "booking")], user, place or "nowhere")
        clear(handle("What do you remember about me?", memory), user, place or "nowhere")
        clear(memory._repr_html_(), user, place or "nowhere")
        if place:
            assert canary(user, place) in repr(text), "its own working facts are there"


@pytest.mark.parametrize("user", USERS)
def test_words_are_read_in_their_own_scope_only(told, user):
    store, _ = told
    numbers = range(1, 5_000)
    for place in PLACES:
        clear(list(store.words(Scope(user, place)).values()), user)
        clear(list(store.words(Scope(user, place), numbers).values()), user)
    clear(list(store.words(Scope.own(user), numbers).values()), user)


@pytest.mark.parametrize("user", USERS)
def test_full_text_and_vectors(told, user):
    store, _ = told
    asked = " ".join(canary(u, p) for u in USERS for p in ("", *PLACES)) + " booking live tea"
    vector = named("hash").queries([asked])[0]
    for table in vectors.TABLES:
        by_text = vectors.search(store, user=user, text=asked, table=table, k=500)
        clear(by_text, user)
        if table in vectors.WITH_VECTORS:
            clear(vectors.search(store, user=user, vector=vector, table=table, k=500), user)
        for place in PLACES:
            clear(vectors.search(store, user=user, text=asked, table=table, k=500, conversation=place), user, place)
    clear(vectors.search(store, user=user, text=asked, table="facts", k=500), user, "nowhere")
    with pytest.raises(BadQuery, match="needs a user"):
        vectors.search(store, user="", text=asked)


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("place", PLACES)
def test_exports_and_cases(told, tmp_path, user, place):
    """Of one conversation: its own working facts may stand there, never another's; of all of a user's: theirs alone."""
    store, _ = told
    scope = Scope(user, place)
    for kind in FORMATS:
        export(store, [scope], tmp_path / kind, kind)
    write_page(store, scope, tmp_path / "html")
    make_case(store, user, [place], tmp_path / "case")
    with zipfile.ZipFile(tmp_path / "case") as case:
        case.extractall(tmp_path / "unpacked")
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) > len(FORMATS) + 3
    for file in files:
        clear(file.read_bytes().decode(errors="replace"), user, place)
    assert canary(user) in (tmp_path / "jsonl").read_text()
    assert canary(user, place).encode() in b"".join(file.read_bytes() for file in files if file.suffix == ".sqlite")
    clear(everything(store, user), user)


@pytest.mark.parametrize("user", USERS)
def test_sql_by_user(told, user):
    store, _ = told
    for view in ("turns", "facts", "fact_versions", "ledger", "changes", "conflicts", "retrievals", "bookmarks"):
        clear(store.sql(f'SELECT * FROM {view} WHERE "user" = ?', [user]).rows, user)
    here = store.sql("SELECT text FROM facts WHERE \"user\" = ? AND coalesce(conversation, 'trip') = 'trip'", [user])
    clear(here.rows, user, "trip")


@pytest.mark.parametrize("user", USERS)
def test_what_pages_and_the_command_show(told, user):
    store, _ = told
    for place in ("", *PLACES):
        seen = fact_views.facts(store, user, conversation=place, state="all")
        clear((seen.to_dict(), seen._repr_html_()), user, place or "nowhere")
        for row in seen:
            clear(fact_views.fact(store, user, int(row.name[1:]), conversation=place).to_dict(), user)
    clear([c.to_dict() for c in fact_views.conflicts(store, user, settled=True)], user)
    clear([r.to_dict() for r in fact_views.changes(store, user)], user)
    for place in PLACES:
        clear([r.to_dict() for r in fact_views.ledger(store, user, conversation=place)], user)
        clear(window(store, Scope(user, place))._repr_html_(), user)
    clear([c.to_dict() for c in conversations(store, user)], user)
    clear([j.to_dict() for j in jobs(store, user=user)], user)
    numbers = list(store.knowledge(user).facts)
    assert {place for place, _ in last_uses(store, user, numbers).values()} <= set(PLACES)


@pytest.mark.parametrize("user", USERS)
def test_the_graph_and_walks_over_it(told, user):
    store, _ = told
    for place in ("", *PLACES):
        memory = LongTerm(store, user, place, clock=store.clock)
        seen = memory.graph.to_dict()
        clear((seen, memory.graph._repr_html_()), user, place or "nowhere")
        assert canary(user) in repr(seen)
        assert not place or canary(user, place) in repr(seen), "its own working facts are there"
        found = 0
        for other in USERS:
            walked = memory.walk(f"Where do I live, what is booked, and what of {canary(other)} tea?", 20)
            steps = [*walked.steps, *walked.dropped]
            clear([(memory.text(step.fact), step.path) for step in steps], user, place or "nowhere")
            found += len(steps)
        assert found


@pytest.mark.parametrize("user", USERS)
def test_summaries_and_what_consolidation_would_change(told, user):
    store, _ = told
    for place in PLACES:
        sleep = Sleep(LongTerm(store, user, place, clock=store.clock))
        sleep.summarise()
        texts = [sleep.memory.words(each.text) for each in sleep.summaries()]
        assert canary(user) in repr(texts)
        clear(texts, user)
        found = sleep.find(f"{' '.join(canary(u) for u in USERS)} tea booking", 20)
        clear([sleep.memory.words(each.summary.text) for each in found], user)
        preview = sleep.preview()
        clear((repr(preview.rows), preview._repr_html_()), user)


@pytest.mark.parametrize("user", USERS)
def test_what_is_told_of_a_run_afterwards(told, user):
    """Diagnosis, why, bisect, what a fact reached, old values, and the page of a turn with its prompt."""
    store, _ = told
    for place in PLACES:
        scope = Scope(user, place)
        for symptom in SYMPTOMS:
            clear(diagnose(store, scope, symptom).to_dict(), user, place)
        clear(stale_exposure(store, scope).to_dict(), user, place)
        for other in USERS:
            found = why(store, scope, canary(other), "what is booked, and where do I live?")
            asked = {canary(other)} - {canary(user)}
            clear(_without(repr(found.to_dict()), asked), user, place)
            if other != user:
                assert not found.in_prompt
                clear(_without(repr(bisect(store, scope, canary(other)).to_dict()), asked), user, place)
        for number in (1, 3):
            clear(turn_view(store, scope, number).to_dict(), user, place)
            clear(turn_view(store, scope, number)._repr_html_(), user, place)
        clear(page_view(store, scope, 1).to_dict(), user, place)
    for number in list(store.knowledge(user).facts)[:3]:
        clear(blast_radius(store, user, number).to_dict(), user)


def _without(told: str, words: set[str]) -> str:
    """The words that were asked for come back as the question."""
    for word in words:
        told = told.replace(word, "")
    return told


@pytest.mark.parametrize("user", USERS)
def test_what_an_erase_would_take(told, user):
    store, _ = told
    preview = erase(store, user, *(canary(u) for u in USERS))
    clear((preview.told, preview.forms, preview._repr_html_().partition("</small>")[2]), user)
    assert preview.texts


def test_a_working_fact_cannot_be_had_from_another_conversation_by_its_number(told):
    store, _ = told
    here, there = LongTerm(store, "ana", "trip"), LongTerm(store, "ana", "work")
    mine = next(f for f in here.facts() if f.layer == "working")
    with pytest.raises(NotFound, match="another conversation"):
        there.fact(mine.id)
    for way in (there.text, there.quotes, there.forget, there.mark, there.retract):
        with pytest.raises(NotFound):
            way(mine.id)


def test_keys_of_two_users_are_compared_within_each_only(told):
    store, _ = told
    key = digest("user", "home city")
    for user in USERS:
        homes = store.knowledge(user).by_key.get(key, ())
        assert {LongTerm(store, user).words(f.value) for f in homes} == {canary(user)}


@pytest.mark.parametrize("nobody", ["", "  ", "\n", None])
def test_there_is_no_scope_without_a_user(nobody):
    with pytest.raises(BadSetting, match="needs a user"):
        Scope(nobody, "trip")
    with pytest.raises(BadSetting, match="needs a user"):
        Scope.own(nobody)
