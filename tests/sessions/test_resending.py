"""Where the messages of a call stand in what is known of their conversation."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sessions.resending import Place, place

WORDS = st.lists(st.sampled_from("abc"), max_size=6)


def test_a_history_sent_again_is_new_where_it_ends():
    assert place(["hi", "hello"], ["hi", "hello", "how are you?"]) == Place("goes on", 2, 2)


def test_a_call_that_is_tried_again_brings_nothing_new():
    assert place(["hi"], ["hi"]) == Place("goes on", 1, 1)


def test_a_summary_before_the_last_messages_is_no_edit():
    known = ["hi", "hello", "bye", "see you"]
    assert place(known, ["they said hi", "bye", "see you", "again"]) == Place("goes on", 3, 2)


def test_another_answer_to_the_same_is_an_edit_and_the_same_one_is_late():
    known = ["hi", "hello", "bye", "see you"]
    assert place(known, ["hi"], "good day").kind == "edited"
    assert place(known, ["hi"], "hello").kind == "late"


def test_nothing_in_common_says_so():
    assert place(["hi", "hello"], ["a summary", "next"]) == Place("apart", 0, 0)
    assert place([], ["hi"]) == Place("apart", 0, 0)


@settings(max_examples=25)
@given(WORDS, WORDS, WORDS)
def test_what_is_new_comes_after_the_end_of_what_is_known(head, known, new):
    """Whatever the application put before, and whatever it cut off."""
    for cut in range(len(known)):
        sent = [*head, *known[cut:], *new]
        found = place(known, sent)
        if found.kind == "goes on":
            assert found.shared >= 1
            assert sent[found.new - found.shared : found.new] == known[-found.shared :]
            assert found.shared >= len(known) - cut
        else:
            assert found.kind == "late" or known[-1] not in sent


@settings(max_examples=25)
@given(WORDS.filter(bool), WORDS)
def test_a_chat_that_sends_everything_gives_each_message_once(first, rest):
    """Of distinct messages, each call adds exactly what was not there."""
    messages = [(i, word) for i, word in enumerate([*first, *rest])]
    known: list[tuple[int, str]] = []
    for end in range(1, len(messages) + 1):
        known += messages[place(known, messages[:end]).new : end]
    assert known == messages
