"""What a shorter text leaves out is named, and what no source says is not believed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.losses import KINDS, Detail, Leaving, Loss, by_kind, details, losses, unsupported


def kinds(text):
    return {(d.kind, d.what) for d in details(text)}


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("The budget is 8,000 euros", {("number", "8000")}),
        ("Mia moved to Porto", {("name", "porto")}),
        ("In the end Mia moved", {("name", "mia")}),
        ("The dentist is on 3 March at 9:30", {("date", "3 march"), ("date", "9:30")}),
        ("Not spicy, please", {("denial", "no spici")}),
        ("She doesn't eat peanuts", {("denial", "no peanut")}),
        ("妹妹喜欢《三体》", {("name", "三体")}),
        ("预算八千元，3月5日出发", {("number", "八千"), ("date", "3月5日")}),
        ("不吃辣", {("denial", "no 辣")}),
        ("三岁的猫", {("number", "三")}),
    ],
)
def test_names_numbers_dates_and_denials_are_seen(text, held):
    assert held <= kinds(text)


@pytest.mark.parametrize("text", ["", "We talked about it", "The weather is nice", "今天很好"])
def test_plain_talk_has_no_detail(text):
    assert kinds(text) == set()


def test_when_an_entry_was_said_is_no_part_of_it():
    assert details("The user likes hiking (said 2026-03-02).") == details("The user likes hiking.")


def test_what_the_remaining_text_carries_is_not_lost():
    gone = Leaving(4, "Ana's budget is 8000 euros")
    assert losses([gone], ["Ana planned it well: 8,000 euros budget"]) == ()


def test_every_detail_that_nobody_says_any_more_is_named_with_its_fact():
    found = losses([Leaving(4, "Mia does not eat peanuts"), Leaving(5, "Room 12 cost 90 euros")], ["a hotel"])
    assert {(loss.fact, loss.kind) for loss in found} == {
        (4, "name"), (4, "denial"), (4, "words"), (5, "number"), (5, "words")
    }  # fmt: skip
    assert by_kind(found) == {"name": 1, "number": 2, "denial": 1, "words": 2}


def test_the_sources_are_read_too():
    gone = Leaving(2, "likes the hotel", ("I like the hotel, but not room 12",))
    found = losses([gone], ["likes the hotel"])
    assert {loss.kind for loss in found} == {"number", "denial"}
    assert all(loss.where == "source" and str(loss).endswith("(in its source)") for loss in found)


def test_a_denial_is_kept_only_by_a_denial():
    gone = [Leaving(1, "no peanuts")]
    assert [loss.kind for loss in losses(gone, ["likes peanuts"])] == ["denial"]
    assert losses(gone, ["never peanuts or cashews"]) == ()


@given(st.text(max_size=80))
def test_a_text_loses_nothing_to_itself(text):
    assert losses([Leaving(1, text, (text,))], [text]) == ()


@given(st.text(max_size=60))
def test_details_have_known_kinds(text):
    assert all(isinstance(d, Detail) and d.kind in KINDS for d in details(text))


# ── support ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("claim", "sources"),
    [
        ("用户希望被叫做诺诺", ["我今天很累，想早点睡", "我喜欢喝茶"]),  # openhanako #2465
        ("The user wants to be called Nono", ["I like tea", "Good night"]),
        ("The budget is 9000", ["The budget is 8000"]),
        ("The user likes sailing", []),
        ("The user collects stamps and old coins", ["I moved to a flat near the river"]),
    ],
)
def test_what_no_source_says_is_not_supported(claim, sources):
    assert unsupported(claim, sources)


@pytest.mark.parametrize(
    ("claim", "sources"),
    [
        ("The user's budget is 8,000 euros", ["ok so the budget: 8000 euros"]),
        ("The user likes hiking in Porto", ["I really like hiking, mostly around Porto."]),
        ("用户的妹妹叫诺诺", ["我妹妹叫诺诺，今年三岁"]),
    ],
)
def test_what_a_source_says_is_supported(claim, sources):
    assert unsupported(claim, sources) == ""


def test_a_loss_reads_as_a_sentence():
    assert str(Loss(3, "number", "8000")) == "number '8000' of f3"
