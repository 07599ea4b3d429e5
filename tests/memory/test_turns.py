from memory.turns import Call, Turn, results
from tests.memory.conftest import START, turn


def call(*ids: str, number: int = 1) -> Turn:
    return turn(number, "assistant", calls=tuple(Call(i, "look_up", 1) for i in ids))


def result(call_id: str, number: int = 2) -> Turn:
    return turn(number, "tool", answers=call_id)


def test_a_piece_says_its_span_of_the_words():
    words = {7: "one two three"}.__getitem__
    assert Turn(1, "user", 7, 3, START).words(words) == "one two three"
    assert Turn(1, "user", 7, 3, START, piece=1, pieces=3, start=4, end=8).words(words) == "two "
    assert Turn(1, "user", 7, 3, START, piece=2, pieces=3, start=8).words(words) == "three"
    assert Turn(1, "user", 7, 3, START, piece=0, pieces=2, start=0, end=0).words(words) == ""


def test_a_speaker_without_a_name_is_called_by_the_role():
    assert turn(1, "tool").name == "tool"
    assert turn(1, "user", speaker="Ana").name == "Ana"


def test_parallel_calls_find_their_results_in_any_order():
    assert results([call("a", "b"), result("b"), result("a")]) == {0: [2, 1]}


def test_a_call_without_a_result_and_a_result_without_a_call_have_no_partner():
    assert results([result("x"), call("a"), turn(3)]) == {1: [None]}


def test_an_id_that_is_used_again_belongs_to_the_last_call():
    assert results([call("a"), result("a"), call("a"), result("a"), result("a")]) == {0: [1], 2: [3]}


def test_calls_of_two_messages_in_a_row_both_find_their_results():
    assert results([call("a"), call("b"), result("a"), result("b")]) == {0: [2], 1: [3]}


def test_only_a_tool_answers_a_call():
    assert results([call("a"), turn(2, "user", answers="a")]) == {0: [None]}
