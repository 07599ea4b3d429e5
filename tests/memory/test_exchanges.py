"""Which turns share a vector: a user's turn with its reply, whole pages covered, nothing complete ever changes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.exchanges import LONGEST, Line, exchanges


def talk(roles: str, text: str = "words") -> list[Line]:
    """u user, a assistant, c an assistant's call for tools, t a tool's result."""
    names = {"u": "user", "a": "assistant", "c": "assistant", "t": "tool"}
    return [Line(n, names[role], text, calls=role == "c") for n, role in enumerate(roles, 1)]


def spans(roles: str, *, closed: bool = True) -> list[tuple[int, int]]:
    return [(each.turn, each.last) for each in exchanges(talk(roles), closed=closed)]


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ("uaua", [(1, 2), (3, 4)]),
        ("uua", [(1, 1), (2, 3)]),
        ("uaa", [(1, 2), (3, 3)]),
        ("aua", [(1, 1), (2, 3)]),  # the page begins with a reply
        ("ucta", [(1, 4)]),  # tools between a question and its reply belong to both
        ("uctctaua", [(1, 6), (7, 8)]),
        ("uau", [(1, 2), (3, 3)]),
        ("", []),
    ],
)
def test_a_users_turn_stands_with_its_reply(roles: str, expected: list[tuple[int, int]]) -> None:
    assert spans(roles) == expected


def test_of_an_open_page_only_what_has_its_reply_is_there() -> None:
    assert spans("uauct", closed=False) == [(1, 2)]


def test_speakers_names_stand_before_their_words_else_their_roles() -> None:
    lines = [Line(1, "user", "Tea?", "Ana"), Line(2, "assistant", "Please.")]
    assert exchanges(lines)[0].text == "Ana: Tea?\nassistant: Please."


@pytest.mark.parametrize(
    ("line", "label"),
    [
        (Line(1, "user", "Tea?"), ""),
        (Line(1, "user", "Tea?", "Ana"), "Ana: "),
        (Line(1, "user", "Tea?", "", datetime(2023, 12, 8, tzinfo=UTC)), "8 December 2023: "),
        (Line(1, "user", "喝茶吗？", "小红", datetime(2023, 12, 8, tzinfo=UTC)), "小红 2023年12月8日: "),
    ],
)
def test_a_turn_is_found_by_its_speaker_and_its_date(line: Line, label: str) -> None:
    assert line.label == label


@given(st.text("ucat", max_size=12))
def test_what_is_complete_never_changes(roles: str) -> None:
    whole = exchanges(talk(roles))
    for n in range(len(roles)):
        early = exchanges(talk(roles[:n]), closed=False)
        assert whole[: len(early)] == early


@given(st.text("ucat", max_size=8), st.sampled_from(["", "short", "long " * 1_100, "字" * 5_000]))
def test_every_turn_is_in_and_no_text_is_too_long(roles: str, text: str) -> None:
    found = exchanges(talk(roles, text))
    assert all(len(each.text) <= LONGEST + 20 for each in found)
    assert {n for each in found for n in range(each.turn, each.last + 1)} == set(range(1, len(roles) + 1))
    assert len({(each.turn, each.part) for each in found}) == len(found)
    assert sum(each.text.count("字") for each in found) == len(roles) * text.count("字")
