"""What a model may ask of its memory: read in one way, refused in words, shown to nobody."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import UnknownName
from memory.jsontext import readable
from memory.operations import (
    KEYS,
    NAMES,
    TOOLS,
    Forget,
    MakeBookmark,
    Malformed,
    Recall,
    Remember,
    SearchMemory,
    Settle,
    Speech,
    of_answer,
    of_call,
    offer,
    offered,
    reply_so_far,
    schema,
)
from memory.prompt import INSTRUCTIONS, RECALL_ONLY, instruction_tokens
from memory.tokens import count

# ── tool calls ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "arguments", "operation"),
    [
        ("recall", {"page_ids": ["p3", 5], "question": "预算"}, Recall("c", ("p3", "5"), "预算")),
        ("recall", {"page_ids": "p3"}, Recall("c", ("p3",), "")),
        ("recall", {"question": 7}, Recall("c", (), "7")),
        ("recall", {}, Recall("c", (), "")),
        ("search_memory", {"query": " budget "}, SearchMemory("c", "budget")),
        ("bookmark", {"page": "p3", "keywords": ["a", "b"]}, MakeBookmark("c", "p3", ("a", "b"))),
        ("bookmark", {"page": 3, "keywords": "a,b"}, MakeBookmark("c", "3", ("a", "b"))),
        ("bookmark", {"turn": 12, "keywords": ["a"]}, MakeBookmark("c", "turn 12", ("a",))),
        ("remember", {"text": "peanuts"}, Remember("c", "peanuts")),
        ("forget", {"what": "peanuts"}, Forget("c", "peanuts")),
        ("settle", {"conflict": "c1", "keep": " f3 ", "why": None}, Settle("c", "c1", "f3", "")),
        ("settle", {"conflict": 1, "keep": "both", "why": "预算"}, Settle("c", "1", "both", "预算")),
    ],
)
def test_a_call_becomes_an_operation(name, arguments, operation):
    assert of_call("c", name, arguments) == operation


@pytest.mark.parametrize(
    ("name", "arguments", "error", "reason"),
    [
        ("search_memory", {}, "", "query is missing"),
        ("search_memory", {"query": None}, "", "query is missing"),
        ("bookmark", {"page": "p3"}, "", "keywords is missing"),
        ("bookmark", {"keywords": ["a"]}, "", "page is missing"),
        ("remember", {"text": "  "}, "", "text is missing"),
        ("forget", {}, "", "what is missing"),
        ("settle", {"keep": "f3"}, "", "conflict is missing"),
        ("settle", {"conflict": "c1", "why": "?"}, "", "keep is missing"),
        ("recall", {}, "the JSON breaks off or is malformed", "the arguments cannot be read"),
        ("reply", {}, "there is no JSON object", "the answer cannot be read"),
    ],
)
def test_a_malformed_call_says_why_and_what_would_be_right(name, arguments, error, reason):
    operation = of_call("c", name, arguments, error)
    assert isinstance(operation, Malformed)
    assert operation.operation == name
    assert reason in operation.reason
    assert "send {" in operation.told


def test_an_unknown_tool_keeps_none_of_the_models_words_in_the_log():
    operation = of_call("c", "email_my_secret", {})
    assert (operation.operation, operation.reason) == ("?", "no such tool")
    assert "recall, search_memory, bookmark, remember, forget, settle" in operation.told


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec=None), max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
fields = st.sampled_from(
    (*KEYS, "page_ids", "query", "text", "what", "page", "turn", "keywords", "pages", "conflict", "keep", "why")
)


@given(st.sampled_from((*NAMES, "nonsense", "")), st.dictionaries(fields, anything, max_size=4))
def test_whatever_a_model_sends_is_an_operation(name, arguments):
    operation = of_call("c", name, arguments)
    assert operation.call == "c"
    if isinstance(operation, Recall):
        assert all(isinstance(page, str) for page in operation.pages)
        operation.question.encode()  # no half character is left


# ── what is offered ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("setting", "roomy", "names"),
    [
        ("auto", False, ("recall", "settle")),
        ("auto", True, ("recall", "search_memory", "bookmark", "settle")),
        ("all", False, NAMES),
        ("bookmark", True, ("recall", "bookmark")),
        ("forget + remember", False, ("recall", "remember", "forget")),
    ],
)
def test_the_setting_names_what_is_offered_and_recall_always_is(setting, roomy, names):
    assert offered(setting, real=True, roomy=roomy) == names


def test_an_operation_that_does_not_exist_is_named():
    with pytest.raises(UnknownName, match="no memory operation named 'recal'; choose one of: all, auto, bookmark"):
        offered("recal", real=True, roomy=True)


def test_by_default_nothing_changes_in_the_prompt():
    assert offer("tools", ("recall",)) == RECALL_ONLY


def test_a_prompt_weighs_what_it_offers():
    assert instruction_tokens(count, offer("tools", NAMES)) > instruction_tokens(count) + 100
    by_schema = offer("schema", ("recall",))
    assert "recall(" not in by_schema.instructions + by_schema.plain
    assert by_schema.plain in by_schema.instructions
    assert "JSON" not in by_schema.plain
    assert by_schema.plain != INSTRUCTIONS


def test_every_tool_is_one_that_providers_take():
    for name, tool in TOOLS.items():
        assert tool["function"]["name"] == name
        assert tool["function"]["description"].endswith(".")
        parameters = tool["function"]["parameters"]
        assert set(parameters["required"]) <= set(parameters["properties"])


@pytest.mark.parametrize("names", [("recall",), NAMES])
def test_a_strict_schema_requires_all_and_allows_no_more(names):
    shape = schema(["p1", "p2-p9"], names)
    assert shape["required"] == list(shape["properties"])
    assert shape["additionalProperties"] is False
    assert shape["properties"]["recall"]["items"]["enum"] == ["p1", "p2-p9"]
    assert list(shape["properties"])[-1] == "reply"
    assert list(schema([], names)["properties"]) == ["reply"]


# ── one JSON object an answer ─────────────────────────────────────────────────────────────────────────


def as_json(**fields):
    return json.dumps(fields, ensure_ascii=False)


@pytest.mark.parametrize(
    ("raw", "text", "calls"),
    [
        (as_json(recall=[], question="", reply="Hi"), "Hi", []),
        (as_json(recall=[], question="what budget", reply="It is 5."), "It is 5.", []),
        (as_json(recall=[], question="what budget", reply=""), "", ["recall"]),
        (as_json(recall=["p3"], question="q", reply="I guess"), "", ["recall"]),
        (as_json(reply="Let me look.", recall=["p3"]), "Let me look.", ["recall"]),
        (as_json(recall="p3"), "", ["recall"]),
        (as_json(search_memory="budget", reply="none"), "", ["search_memory"]),
        (as_json(recall=[], remember="peanuts", reply="Noted."), "Noted.", ["remember"]),
        (as_json(recall=[], bookmark={"page": "", "keywords": []}, reply="Hi"), "Hi", []),
        (as_json(bookmark={"page": "p3", "keywords": ["a"]}, reply="Hi"), "Hi", ["bookmark"]),
        (as_json(settle={"conflict": "c1", "keep": "f3", "why": ""}, reply="Hi"), "Hi", ["settle"]),
        (as_json(settle={"conflict": "c1", "keep": "f3"}, reply=""), "", ["settle"]),
        (as_json(settle={"conflict": "c1", "keep": "", "why": "?"}, reply="Hi"), "Hi", []),
        (as_json(settle="c1: f3", reply="Hi"), "Hi", ["settle"]),
        (as_json(settle=[], reply="Hi"), "Hi", []),
        ("```json\n" + as_json(recall=[], reply="Hi") + "\n```", "Hi", []),
        ("<think>p3? {no}</think>" + as_json(recall=[], reply="Hi"), "Hi", []),
        ('{"recall": [], "reply": "cut in the mid', "cut in the mid", []),
        ("It is 8,000 euros.", "It is 8,000 euros.", []),
        ("Use {braces} and [p3:hotel] freely.", "Use {braces} and [p3:hotel] freely.", []),
        ("Sure! " + as_json(recall=[], reply="It is 5."), "Sure! It is 5.", []),
        (as_json(recall=[], reply=5), "", []),
        ('{"recall": ["p3"], "question": "budget", "reply": "I gue', "", ["recall"]),
        ('{"recall": ["p3"], "question": "bud', "", ["recall"]),
    ],
)
def test_an_answer_is_taken_apart(raw, text, calls):
    spoken = of_answer(raw)
    assert (spoken.text, [name for name, _ in spoken.calls]) == (text, calls)
    assert bool(spoken.error) == (not text and not calls)


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        ('{"recall": ["p3"', "breaks off or is malformed"),
        ('{"recall": [], "question": "bud', "breaks off or is malformed"),
        ('{"answer": "5"}', "it has none of recall, question"),
        ('{"recall": [], "reply": ""}', "neither a recall nor a reply"),
        ("<think>and so on", "there is no reply in it"),
        (as_json(recall=["p1"]) + as_json(recall=["p2"]), "2 JSON objects where one belongs"),
    ],
)
def test_what_cannot_be_read_says_why(raw, error):
    spoken = of_answer(raw)
    assert (spoken.text, spoken.calls) == ("", ())
    assert error in spoken.error


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
answers = st.one_of(
    st.builds(lambda reply, fence: fence.format(as_json(recall=[], question="q", reply=reply)), words,
              st.sampled_from(["{}", "```json\n{}\n```", "\n {} \n", "<think>hm</think>{}"])),
    st.builds(lambda reply: json.dumps({"recall": [], "question": "", "reply": reply}), words),
    st.builds(lambda reply: as_json(recall=["p3"], question="q", reply=reply), words),
    words,
    st.text(st.sampled_from('{}":,[]\\ `recallreplyp3thinku0d8<>/'), max_size=60),
)  # fmt: skip


@given(answers)
def test_what_is_shown_while_it_streams_is_what_the_whole_answer_says(raw):
    """Piece by piece, it only grows; the whole answer ends it. A thought that nobody opened is the one exception."""
    if "</think" in raw and "<think" not in raw:
        return
    seen = ""
    for end in range(len(raw) + 1):
        now = reply_so_far(raw[:end])
        assert now.startswith(seen)
        seen = now
    whole = reply_so_far(raw, whole=True)
    assert whole.startswith(seen)
    assert of_answer(raw).text == whole


@given(words)
def test_no_json_leaks_to_the_reader(reply):
    raw = as_json(recall=[], question="which budget", reply=reply)
    heard: list[str] = []
    speech = Speech(heard.append)
    speech.begin(as_json=True)
    for character in raw:
        speech.piece(character)
    speech.end(raw)
    assert "".join(heard) == speech.text == readable(reply)


# ── each word once ────────────────────────────────────────────────────────────────────────────────────


def spoken(*answers, pieces=3):
    heard: list[str] = []
    speech = Speech(heard.append)
    for answer in answers:
        speech.begin(as_json=False)
        for start in range(0, len(answer), pieces):
            speech.piece(answer[start : start + pieces])
        speech.end(answer)
    assert "".join(heard) == speech.text
    return speech.text


@pytest.mark.parametrize("pieces", [1, 3, 99])
@pytest.mark.parametrize(
    ("answers", "text"),
    [
        (("One.",), "One."),
        (("Let me look.", "It is 5."), "Let me look.\n\nIt is 5."),
        (("Let me look.", "Let me look. It is 5."), "Let me look.\n\nIt is 5."),
        (("Your budget is", "5,000."), "Your budget is 5,000."),
        (("Your budget is ", "5,000."), "Your budget is 5,000."),
        (("您的预算是", "8000元"), "您的预算是8000元"),
        (("Let me look.", "Let me look."), "Let me look."),
        (("Let me look.", "Let me see."), "Let me look.\n\nLet me see."),
        (("", "It is 5."), "It is 5."),
        (("A.", "", "B."), "A.\n\nB."),
        (("No, wait.", "No"), "No, wait.\n\nNo"),
    ],
)
def test_a_text_before_a_call_is_heard_once(answers, text, pieces):
    assert spoken(*answers, pieces=pieces) == text


@given(st.lists(words, max_size=4), st.integers(1, 9))
def test_what_is_heard_is_the_reply_whatever_the_pieces(answers, pieces):
    assert spoken(*answers, pieces=pieces) == spoken(*answers, pieces=1_000)
