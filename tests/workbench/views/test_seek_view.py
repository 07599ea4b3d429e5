"""A search over a store: words of one's turns and facts, names in part, nobody's memory under another's name."""

from pathlib import Path

import pytest

from memory import Engine
from memory.stores.sql import Store
from workbench.views.seek import USERS, SeekView, excerpt, seek


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory):
    with Store.open(tmp_path_factory.mktemp("seek") / "store") as store:
        for user, conversation, words in (
            (
                "ana",
                "trip",
                ["My budget is 5,000 euros.", "I am allergic to peanuts.", "My budget is 8,000 euros now."],
            ),
            ("lin", "茶馆", ["我的预算是二十万。"]),
        ):
            engine = Engine.open(store, user=user, conversation=conversation, window_tokens=2_000, page_turns=2)
            for each in words:
                engine.say(each)
        yield store


def found(view: SeekView, kind: str) -> list[tuple[str, int]]:
    return [(hit.user, hit.number) for group in view.groups if group.kind == kind for hit in group.hits]


def test_words_are_found_as_turns_pages_and_facts_with_what_became_of_them(store: Store):
    view = seek(store, "budget")
    assert {("ana", 1), ("ana", 5)} <= set(found(view, "turn"))
    assert found(view, "page")[0] == ("ana", 1)
    states = {hit.number: hit.state for group in view.groups if group.kind == "fact" for hit in group.hits}
    assert set(states.values()) == {"active", "superseded"}
    assert all(hit.found.casefold() == "budget" for g in view.groups for hit in g.hits if g.kind in ("turn", "fact"))


def test_chinese_words_are_found_by_the_word(store: Store):
    view = seek(store, "预算")
    assert ("lin", 1) in found(view, "turn")
    assert {hit.found for group in view.groups for hit in group.hits} == {"预算"}
    other = seek(store, "預算")
    assert [found(other, kind) for kind in ("turn", "fact")] == [found(view, kind) for kind in ("turn", "fact")]
    assert {hit.found for group in other.groups for hit in group.hits} == {"预算"}


def test_names_are_found_by_any_part_of_them(store: Store):
    assert found(seek(store, "RI"), "conversation") == [("ana", 0)]
    assert found(seek(store, "an"), "user") == [("ana", 0)]


def test_of_one_user_nothing_of_another_s_is_found(store: Store):
    assert seek(store, "budget", user="lin").count == 0
    assert {hit.user for group in seek(store, "预算", user="lin").groups for hit in group.hits} == {"lin"}


def test_a_group_that_holds_more_than_is_shown_says_so(store: Store):
    turns = next(group for group in seek(store, "budget", shown=1).groups if group.kind == "turn")
    assert (len(turns.hits), turns.more) == (1, True)


def test_of_many_users_those_who_were_here_last_are_searched_and_the_rest_is_counted(store: Store, tmp_path: Path):
    from sessions.importer import import_recordings
    from sessions.recording import RecordedTurn, Recording

    at = store.clock()
    many = [Recording("c", f"u{n}", (RecordedTurn(1, "user", "Hello", at),)) for n in range(USERS + 3)]
    with Store.open(tmp_path / "many") as other:
        import_recordings(other, many, replay=False)
        view = seek(other, "u1")
    assert (len(view.users), view.left_out) == (USERS, 3)


@pytest.mark.parametrize(
    "asked", ["", "   ", '"', "a AND (", "x:y^2 ~3", "'; DROP TABLE turn; --", "\u202e\x00", "<b>", "x" * 999]
)
def test_no_words_are_too_strange_to_look_for(store: Store, asked: str):
    view = seek(store, asked)
    assert view.note == ""
    assert len(view.asked) <= 200
    assert "<b>" not in view._repr_html_()


def test_without_an_index_names_are_searched_and_the_reason_is_told(store: Store, tmp_path: Path):
    copy = store.backup(tmp_path / "copy" / "memory.sqlite")
    with Store.open(copy.parent, readonly=True) as other:
        view = seek(other, "trip")
    assert "workbench rebuild" in view.note
    assert found(view, "conversation") == [("ana", 0)]


@pytest.mark.parametrize(
    ("text", "asked", "cut"),
    [
        ("My budget is 5,000.", "budgets", ("My ", "budget", " is 5,000.")),
        ("Nothing of it", "peanut", ("Nothing of it", "", "")),
        ("总预算20万", "预算", ("总", "预算", "20万")),
    ],
)
def test_an_excerpt_is_cut_around_what_was_asked_for(text: str, asked: str, cut: tuple[str, str, str]):
    assert excerpt(text, asked) == cut
