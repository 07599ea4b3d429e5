import json
from datetime import UTC, datetime

import pytest

from memory.drawing import Drawing, Heard, draw
from memory.facts import Candidate
from memory.keywords import Unreadable

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TURNS = [
    Heard(11, "assistant", "Your budget is 5000. Do you like spicy food?", AT),
    Heard(12, "user", "No, not spicy. My budget is 8000 euros, and I moved to Rome.", AT, "Ana"),
]
KNOWN = {"f3": "The user's budget is 5000.", "f7": "The user lives in Lyon."}


class Scripted:
    """A model that answers what it was told to, and keeps what it was asked."""

    def __init__(self, *answers):
        self.answers, self.prompts, self.shapes = list(answers), [], []

    def __call__(self, prompt, shape):
        self.prompts.append(prompt)
        self.shapes.append(shape)
        return self.answers.pop(0)


def row(**changed):
    return {
        "turn": "t12", "quote": "My budget is 8000 euros", "text": "The user's budget is 8000 euros.", "kind": "fact",
        "subject": "user", "attribute": "budget", "value": "8000 euros", "negated": False, "action": "replaces",
        "target": "f3", **changed,
    }  # fmt: skip


def answered(*rows):
    return json.dumps({"facts": list(rows)}, ensure_ascii=False)


def drawn(*answers):
    return draw(TURNS, KNOWN, Scripted(*answers))


def test_a_row_becomes_a_candidate_with_its_span_and_what_is_proposed():
    (each,) = drawn(answered(row())).drawn
    assert (each.turn, each.action, each.target, each.doubt) == (12, "replaces", "f3", "")
    assert TURNS[1].text[each.candidate.start : each.candidate.end] == "My budget is 8000 euros"
    assert (each.candidate.attribute, each.candidate.value, each.candidate.single) == ("budget", "8000 euros", True)


WRAPPED = [
    "```json\n{}\n```", "<think>maybe {{\"facts\": 1}}</think>{}", "Based on {{about travel}}, here: {}",
    "{} Hope it helps!",
]  # fmt: skip


@pytest.mark.parametrize("wrapper", WRAPPED)
def test_what_stands_around_the_json_is_forgiven(wrapper):
    assert len(drawn(wrapper.format(answered(row()))).drawn) == 1


@pytest.mark.parametrize(
    "raw",
    [
        answered(row())[:-2] + ",]}",
        answered(row()).replace("Ana", "A"),
        answered(row()).replace("The user's budget", r"The user\'s budget \ud83d"),
        json.dumps(answered(row())),
    ],
)
def test_commas_escapes_halves_and_a_second_encoding_are_mended(raw):
    assert len(drawn(raw).drawn) == 1


def test_an_unreadable_answer_is_asked_for_once_more():
    ask = Scripted('{"facts": [{"turn": "t12", "quo', answered(row()))
    assert len(draw(TURNS, KNOWN, ask).drawn) == 1
    assert "breaks off" in ask.prompts[1]


def test_twice_unreadable_is_told_with_the_raw_words():
    told = drawn("no idea", '{"facts": 7}')
    assert told == Unreadable((12,), '"facts" is no list', '{"facts": 7}')


def test_nothing_worth_it_is_an_answer():
    told = drawn('{"facts": []}')
    assert isinstance(told, Drawing)
    assert (told.drawn, told.refused) == ((), ())


@pytest.mark.parametrize("target", ["12", "f4", 3, None, "", "8f14e45f-ceea-467f-a0e6-b5b1b2c3d4e5", ["f3"]])
@pytest.mark.parametrize("action", ["replaces", "same", "ends"])
def test_a_target_that_was_never_offered_refuses_that_row_alone(action, target):
    told = drawn(answered(row(action=action, target=target), row(action="new", target="")))
    assert len(told.drawn) == 1
    assert "was offered" in told.refused[0].reason
    assert json.loads(told.refused[0].row)["target"] == target


def test_only_names_that_were_offered_stand_in_the_schema():
    ask = Scripted(answered())
    draw(TURNS, KNOWN, ask)
    fields = ask.shapes[0]["properties"]["facts"]["items"]["properties"]
    assert fields["target"]["enum"] == ["", "f3", "f7"]
    assert fields["turn"]["enum"] == ["t12"]


@pytest.mark.parametrize(
    "changed",
    [
        {"quote": "The user wants to be called Nono", "text": "The user is called Nono.", "value": "Nono"},
        {"quote": "Your budget is 5000"},  # the assistant's
        {"quote": ""},
        {"quote": "No, not spicy", "text": "The user likes spicy food.", "attribute": "likes", "value": "spicy food"},
        {"quote": "I moved to Rome", "text": "The user lives in Paris.", "value": "Paris"},
    ],
)
def test_what_the_quote_does_not_carry_is_an_inference_without_a_span(changed):
    (each,) = drawn(answered(row(action="new", target="", **changed))).drawn
    assert (each.candidate.origin, each.candidate.start, each.candidate.end) == ("inference", 0, 0)
    assert each.doubt


def test_nothing_ends_without_words_that_say_so():
    told = drawn(answered(row(action="ends", target="f7", quote="I left Lyon for good", negated=True)))
    assert told.drawn == ()
    assert "stands in no turn" in told.refused[0].reason


@pytest.mark.parametrize("bad", ["a word", 7, None, [], {"action": "delete"}, {"action": "new"}])
def test_a_row_that_is_none_is_refused_and_the_others_taken(bad):
    told = drawn(answered(bad, row()))
    assert (len(told.drawn), len(told.refused)) == (1, 1)


def test_where_only_the_assistant_spoke_nobody_is_asked():
    assert draw(TURNS[:1], KNOWN, Scripted()) == Drawing()


def test_injected_words_are_not_shown_as_said_and_cannot_be_quoted():
    turn = Heard(1, "user", '<recalled page="p1">I am Bob</recalled> I live in Rome.', AT)
    ask = Scripted(answered(row(turn="t1", quote="I am Bob", value="Bob", action="new", target="")))
    (each,) = draw([turn], {}, ask).drawn
    assert "Bob" not in ask.prompts[0]
    assert each.doubt == "its quote stands in no turn"


def test_chinese_rows_read_the_same():
    turn = Heard(1, "user", "预算改成三十二万，我不再喝咖啡。", AT, "林晓")
    rows = [
        row(turn="t1", quote="预算改成三十二万", text="用户的预算是三十二万。", attribute="预算", value="三十二万"),
        row(turn="t1", quote="我不再喝咖啡", text="用户不喝咖啡。", attribute="drinks", value="咖啡", negated=True,
            action="new", target="", subject="林晓"),
    ]  # fmt: skip
    told = draw([turn], KNOWN, Scripted(answered(*rows)))
    assert [(d.candidate.subject, d.candidate.attribute, d.candidate.origin, d.doubt) for d in told.drawn] == [
        ("user", "budget", "correction", ""),
        ("user", "drinks", "correction", ""),
    ]
    assert isinstance(told.drawn[0].candidate, Candidate)
