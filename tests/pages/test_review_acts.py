"""What a reviewer does on their page is done, to their own memory, and can be taken back unless it was an erase."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from memory import Engine
from memory.journal import utc_now
from memory.longterm import Heard, LongTerm
from memory.models.chat import Answer
from memory.stores.scan import scan
from memory.stores.sql import Store
from memory.topic import Topic
from workbench import state
from workbench.app import NAVIGATION
from workbench.review_link import make_key, renew, sign

Run = Callable[..., AppTest]


@pytest.fixture
def two(tmp_path: Path) -> Path:
    heard = Answer("Noted.", (), 1, 1, None, "stop", "x", 1.0)
    with Store.open(tmp_path / "store") as store:
        for user, secret in (("ana", "quokka"), ("lin", "axolotl")):
            engine = Engine.open(store, user=user, conversation=f"c-{user}", title=secret, chat=lambda *a, **k: heard)
            engine.say(f"I am allergic to {secret}s.")
            engine.say(f"My {secret} budget is 5,000 euros.")
    return tmp_path / "store"


def link(store: Path, user: str = "ana", days: float = 1) -> dict[str, str]:
    return {"review": sign(user, make_key(store), now=utc_now(), days=days)}


def whole(at: AppTest) -> str:
    """All that was sent to the browser, in lower case."""
    return "\n".join(str(node.proto) for node in at._tree if getattr(node, "proto", None) is not None).lower()


def memory_of(store: Store, user: str = "ana") -> LongTerm:
    return LongTerm.open(store, user=user)


@pytest.mark.parametrize("page", [entry.name for entries in NAVIGATION.values() for entry in entries])
def test_no_page_shows_a_reviewer_anybody_else(app: Run, two: Path, page: str):
    at = app(two, "overview", user="lin", conv="c-lin", run="live", turn="1", page="1", fact="1", **link(two))
    if page != "review":
        with pytest.raises(ValueError, match=r"Known pages: \['\S*/review.py'\]"):
            at.switch_page(f"../pages/{page}.py")
    assert not at.exception
    for tab in ("now", "past", "changes"):
        at.segmented_control(key="review_tab").set_value(tab).run()
        assert not at.exception
        assert "axolotl" not in whole(at)
        assert "quokka" in whole(at) or tab == "past"


def test_everything_about_a_word_is_erased_after_a_tick_and_looked_for_afterwards(app: Run, two: Path):
    at = app(two, "overview", q="quokka", lang="en", **link(two))
    at.button(key="review_erase_words").click().run()
    assert at.button(key="review_erase_now").disabled
    next(box for box in at.checkbox if "cannot be undone" in box.label).check().run()
    at.button(key="review_erase_now").click().run()
    assert not at.exception
    assert any("nothing is left" in m.value for m in at.markdown)
    with Store.open(two) as store:
        assert scan(store, "ana", Topic.of("quokka")).clean
        assert len(memory_of(store, "lin").facts()) == 2


def test_an_erase_that_is_cancelled_takes_nothing(app: Run, two: Path):
    at = app(two, "overview", q="quokka", lang="en", **link(two))
    at.button(key="review_erase_words").click().run()
    at.button(key="review_erase_cancel").click().run()
    assert not at.exception
    assert not [b for b in at.button if b.key == "review_erase_now"]
    with Store.open(two) as store:
        assert len(memory_of(store).facts()) == 2


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_of_one_entry_it_is_told_where_else_the_same_is_said_and_that_is_taken_too(
    two: Path, monkeypatch: pytest.MonkeyPatch, lang: str
):
    heard = Answer("Noted.", (), 1, 1, None, "stop", "x", 1.0)
    with Store.open(two) as store:
        engine = Engine.open(store, user="ana", conversation="c-ana", chat=lambda *a, **k: heard)
        for text in ("My favourite animals are quokkas.", "The zoo has two quokkas. Lunch is at one."):
            engine.say(text)
        fact = memory_of(store).facts()[0].id  # of the allergy
    monkeypatch.setenv(state.STORE_VARIABLE, str(two))
    state.forget()
    at = AppTest.from_function(asks, kwargs={"fact": fact, "lang": lang}, default_timeout=60).run()
    assert not at.exception
    (told,) = [m.value for m in at.markdown if "“quokkas”" in m.value]
    assert ("2 other messages and 1 other entry" if lang == "en" else "另外 2 条消息，另外 1 条记忆") in told
    at.button(key="review_erase_wider").click().run()
    assert not at.exception
    assert not [b for b in at.button if b.key == "review_erase_wider"]
    next(box for box in at.checkbox if (box.key or "").startswith("review_sure_")).check().run()
    at.button(key="review_erase_now").click().run()
    with Store.open(two) as store:
        assert scan(store, "ana", Topic.of("quokkas")).clean
        assert not scan(store, "ana", Topic.of("lunch")).clean
        assert len(memory_of(store, "lin").facts()) == 2


def asks(fact: int, lang: str) -> None:
    """The page's part about one entry, which a browser's component asks for."""
    import streamlit as st

    from workbench import reviewing
    from workbench.components import review
    from workbench.words import Words

    say = Words(lang)
    acts = reviewing.Acts("ana", 0, say)
    if "asked" not in st.session_state:
        st.session_state["asked"] = True
        acts.ask_to_erase(fact=fact)
    preview = reviewing.asked_to_erase("ana")
    if preview is not None:
        review.ask(preview, say, acts)


def test_remembering_is_paused_and_goes_on(app: Run, two: Path):
    at = app(two, "overview", **link(two))
    at.button(key="review_switch").click().run()
    with Store.open(two) as store:
        assert not memory_of(store).knowledge.on
        assert memory_of(store, "lin").knowledge.on
    at.button(key="review_switch").click().run()
    with Store.open(two) as store:
        assert memory_of(store).knowledge.on


def test_which_is_right_is_asked_and_the_answer_can_be_undone(app: Run, two: Path):
    with Store.open(two) as store:
        memory, words, at_once = memory_of(store), "My rent is 950 euros.", utc_now()
        seen = memory.knowledge.version
        memory.write("My rent is 900 euros.", at=at_once)
        there = LongTerm(store, "ana", "there")
        there.learn([Heard("there", 1, there.journal.said(words), words, "user", "ana", at_once)], seen)
        assert memory.conflicts
    at = app(two, "overview", **link(two))
    next(b for b in at.button if b.key.startswith("review_right_")).click().run()
    with Store.open(two) as store:
        assert not memory_of(store).conflicts
    at.button(key="review_undo").click().run()
    with Store.open(two) as store:
        assert memory_of(store).conflicts


def test_a_link_that_ends_while_the_page_is_open_ends_its_acts_too(app: Run, two: Path):
    at = app(two, "overview", lang="en", **link(two))
    renew(two)
    at.button(key="review_switch").click().run()
    assert not at.exception
    assert any("does not belong here" in m.value for m in at.markdown)
    assert "quokka" not in whole(at)
    with Store.open(two) as store:
        assert memory_of(store).knowledge.on


def test_a_link_that_expires_while_the_page_is_open_shows_no_more(app: Run, two: Path):
    at = app(two, "overview", lang="en", **link(two, days=4 / 86_400))
    assert not at.exception
    time.sleep(4)
    at.run()
    assert any("has expired" in m.value for m in at.markdown)
    assert "quokka" not in whole(at)


def test_a_read_only_store_is_shown_and_nothing_can_be_changed(app: Run, two: Path, monkeypatch: pytest.MonkeyPatch):
    at = app(two, "overview", q="quokka", **link(two))
    monkeypatch.setenv("MEMORY_WORKBENCH_READONLY", "1")
    at.run()
    assert not at.exception
    assert at.button(key="review_switch").disabled
    assert at.button(key="review_erase_words").disabled


def test_a_review_only_workbench_shows_nothing_without_a_link(app: Run, two: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORY_WORKBENCH_REVIEW_ONLY", "1")
    at = app(two, "overview", user="ana", lang="en")
    assert not at.exception
    assert any("needs your own link" in m.value for m in at.markdown)
    assert not {"quokka", "axolotl"} & set(whole(at).split())


def test_behind_the_gate_nobody_is_a_developer_by_default(app: Run, two: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORY_WORKBENCH_GATE", "secret")
    at = app(two, "overview", user="ana", lang="en")
    assert any("needs your own link" in m.value for m in at.markdown)


def test_somebody_of_whom_nothing_is_known_is_told_so(app: Run, two: Path):
    at = app(two, "overview", lang="en", **link(two, "nobody"))
    assert not at.exception
    assert any("Nothing is remembered about you" in m.value for m in at.markdown)
