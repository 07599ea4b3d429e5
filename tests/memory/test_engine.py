import json
import shutil
import sqlite3
from dataclasses import replace

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import Engine, Settings, Store
from memory.errors import (
    BadMessage,
    BadSetting,
    BudgetTooSmall,
    ModelCut,
    ModelError,
    ModelTimeout,
    NotFound,
    RecallLoop,
    UnknownName,
)
from memory.events import KINDS
from memory.models.chat import Answer, ToolCall
from memory.models.offline import _usage, respond
from memory.prompt import RECALL_TOOL
from memory.scope import Scope
from memory.state import fold
from tests.memory.conftest import SMALL, Model, calling, fill_up, first, text_of, unsound


def events(engine, *kinds):
    found = engine.store.events(engine.scope)
    return [e.body for e in found if not kinds or e.kind in kinds]


def assert_rebuilt_equals_live(engine):
    assert fold(engine.store.events(engine.scope)) == engine.state == engine.store.state(engine.scope)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A store with a conversation whose first pages left; each test gets a copy."""
    folder = tmp_path_factory.mktemp("template") / "store"
    with Engine.open(folder, user="ana", conversation="trip", chat=Model(), **SMALL) as engine:
        fill_up(engine)
        assert len(engine.state.evicted) >= 3
    return folder


@pytest.fixture
def filled(opened, template, tmp_path):
    """An engine on that conversation; what its model says is decided by `filled.model.act`."""
    shutil.copytree(template, tmp_path / "store")
    model = Model()
    engine = opened(model)
    engine.model = model
    return engine


def raising(error):
    def act(messages):
        raise error

    return act


# ── a step ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_message_goes_through_and_its_events_stand_in_order(opened):
    engine = opened("Lisbon is by the sea.")
    reply = engine.say("Where is Lisbon?")
    assert (str(reply), reply.step, reply.turn, reply.recalled) == ("Lisbon is by the sea.", 1, 2, ())
    told = ["MessageReceived", "PromptAssembled", "ModelCalled", "MessageReplied", "StepFinished"]
    kinds = [type(b).__name__ for b in events(engine)]
    assert [k for k in kinds if k in told] == told
    assert_rebuilt_equals_live(engine)


def test_the_message_is_safe_before_anything_else_happens(opened):
    """What another connection sees while the model thinks."""
    seen = []

    def look(messages):
        seen.append(engine.store.state(engine.scope))
        return "Noted."

    engine = opened(look)
    engine.say("Keep this.")
    [state] = seen
    assert state.turn == 1
    assert state.open_step


def test_rebuilt_equals_live_at_every_commit(opened):
    """Also inside a step: whatever a crash would leave is what the log says."""

    def look(messages):
        assert_rebuilt_equals_live(engine)
        return calling({"page_ids": ["p1"]}) if len(messages) > 4 and messages[-1]["role"] == "user" else "Noted."

    engine = opened(look)
    fill_up(engine)
    engine.mark(1)
    assert_rebuilt_equals_live(engine)
    engine.change(eviction="lfu", window_tokens=1_200)
    assert_rebuilt_equals_live(engine)
    engine.recall("p1")
    assert_rebuilt_equals_live(engine)
    assert engine.state.counts.faults >= 3


def test_text_streams_and_is_the_reply(opened):
    heard = []
    assert opened("Hello there.").say("Hi", on_text=heard.append).text == "".join(heard) == "Hello there."


@pytest.mark.parametrize("message", ["", "   ", "\n", None, ["x"]])
def test_a_message_without_words_begins_no_step(opened, message):
    engine = opened()
    engine.say("Hello")
    before = engine.store.state(engine.scope)
    with pytest.raises(BadMessage):
        engine.say(message)
    assert engine.store.state(engine.scope) == before
    assert engine.say("Still there?").step == 2


ODD = ["a\x00b", "half \ud83d", "\ud83d\ude00", "\u202eright to left", "<|endoftext|>", "</recalled>"]


def test_odd_characters_go_through_and_are_kept(opened):
    """Said by the user and by the model, paged out, recalled."""
    engine = opened(lambda messages: ODD[len(engine.state.pages) % len(ODD)])
    for message in ODD:
        engine.say(message)
    fill_up(engine)
    assert engine.recall("p1", "p2").came
    engine.say("And?")
    for n, message in enumerate(ODD):
        [page] = engine.state.pages_of(2 * n + 1)
        [said] = [t for t in page.turns if t.number == 2 * n + 1]
        kept = message.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert engine.pager.journal.words(said.text) == kept
    assert_rebuilt_equals_live(engine)


def test_a_megabyte_is_answered_with_its_end_in_the_prompt(opened):
    model = Model()
    engine = opened(model, window_tokens=8_000)
    message = "word and number 7, " * 55_000 + "so what is it?"
    assert len(message) > 1_000_000
    engine.say(message)
    assert model.sizes[-1] <= 8_000 - 100
    assert model.seen[-1][-1]["content"].endswith("so what is it?")
    assert len(engine.state.pages) > 100
    assert engine.say("Short?").step == 2
    assert_rebuilt_equals_live(engine)


def test_a_system_prompt_that_leaves_no_room_keeps_the_message_and_the_conversation(opened):
    engine = opened(system=text_of(1_400))
    with pytest.raises(BudgetTooSmall, match="raise window_tokens"):
        engine.say("Hello?")
    assert not engine.state.open_step
    assert engine.state.turn == 1
    engine.change(window_tokens=8_000)
    assert engine.say("Now?").turn == 3


# ── the budget ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("ratio", "high"), [(0.8, 0.85), (1.0, 1.0), (1.15, 0.85), (1.15, 1.0), (1.3, 0.85)])
def test_a_model_that_counts_otherwise_is_kept_within_the_window(opened, ratio, high):
    def act(messages):
        asks = messages[-1]["role"] == "user" and len(messages) > 8
        return calling({"page_ids": ["p1", "p2"]}) if asks else "Noted."

    model = Model(act, ratio)
    engine = opened(model, high_watermark=high)
    fill_up(engine, 16)
    assert engine.state.counts.faults >= 3
    assert max(model.sizes) <= 1_500 - 100
    assert engine.state.count_ratio == pytest.approx(ratio, abs=0.04)


def test_our_own_responder_counts_as_we_do(opened):
    def chat(llm, messages, *, tools, tool_choice, **rest):
        response = respond(messages, tools, tool_choice)
        call = response.recall and ToolCall("c", "recall", json.loads(response.recall.arguments))
        return Answer(
            response.text,
            (call,) if call else (),
            _usage(messages, tools, response)["prompt_tokens"],
            5,
            0.0,
            "stop",
            llm,
            1,
        )

    engine = opened()
    engine.caller = replace(engine.caller, chat=chat)
    fill_up(engine)
    engine.say("What is the code of drawer 1?")
    assert engine.state.count_ratio == pytest.approx(1.0, abs=0.03)


@hypothesis.settings(max_examples=5)
@given(
    st.lists(st.tuples(st.integers(1, 3_000), st.booleans(), st.booleans()), min_size=1, max_size=6),
    st.integers(700, 8_000),
)
def test_no_prompt_is_ever_larger_than_the_window(tmp_path_factory, said, window):
    """The model talks while it recalls, asks for everything at once, and for ever."""

    def act(messages):
        asked = {"page_ids": ["p1-p99"]}, {"page_ids": ["p1", "p2", "p3"], "question": text_of(40)}
        return calling(*asked, text=text_of(60)) if len(messages) > 4 else "Noted."

    model = Model(act)
    folder = tmp_path_factory.mktemp("store")
    with Engine.open(folder, user="a", conversation="c", chat=model, window_tokens=window, reply_tokens=100) as engine:
        for n, (size, chinese, marked) in enumerate(said):
            try:
                engine.say(text_of(size, chinese, n), important=marked)
            except RecallLoop:
                continue
        assert max(model.sizes) <= window - 100
        assert not [fault for messages in model.seen for fault in unsound(messages)]
        assert_rebuilt_equals_live(engine)


# ── recall ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_model_recalls_a_page_and_reads_it(filled):
    filled.model.act = first(calling({"page_ids": ["p1"]}), then="It is 1000.")
    reply = filled.say("What is the code of drawer 0?")
    assert (reply.text, reply.recalled) == ("It is 1000.", (1,))
    before, after = filled.model.seen[-2:]
    assert not any("the code of drawer 0 is 1000" in str(m["content"]) for m in before)
    assert any("the code of drawer 0 is 1000" in m["content"] for m in after if m["role"] == "system")
    assert [m["role"] for m in after[-2:]] == ["assistant", "tool"]
    assert after[-1]["content"] == "p1 (turns 1-4) is back; read it between the <recalled> marks above."
    assert 1 not in filled.state.resident  # a guest for one step


def test_a_question_finds_the_page(filled):
    filled.model.act = first(calling({"page_ids": [], "question": "code of drawer 1001"}))
    assert filled.say("And the second?").recalled[0] == 1


def test_the_tool_is_offered_only_where_there_is_something_to_recall(opened):
    offered = []
    model = Model()

    def chat(llm, messages, *, tools, **rest):
        offered.append(list(tools))
        return model(llm, messages, tools=tools, **rest)

    engine = opened()
    engine.caller = replace(engine.caller, chat=chat)
    fill_up(engine)
    assert offered[0] == []
    assert offered[-1] == [RECALL_TOOL]


def test_a_model_that_recalls_for_ever_is_stopped(filled):
    filled.model.act = lambda messages: calling({"page_ids": ["p1"]})
    asked = len(filled.model.seen)
    with pytest.raises(RecallLoop, match="asked for pages 4 times in one step and never answered: raise recall_rounds"):
        filled.say("What is the code of drawer 0?")
    assert len(filled.model.seen) - asked == 5
    assert filled.model.choices[-1] == "none"
    assert not filled.state.open_step
    assert not filled.state.guests
    assert events(filled, "StepAbandoned")[-1].reason.startswith("RecallLoop: ")
    assert (
        filled.pager.journal.words(filled.state.pages_of(filled.state.user_turn)[0].turns[-1].text)
        == "What is the code of drawer 0?"
    )
    filled.model.act = lambda messages: "Back to normal."
    assert filled.say("Hello?").text == "Back to normal."
    assert_rebuilt_equals_live(filled)


def test_page_ins_of_a_step_are_capped_over_all_its_rounds(filled):
    filled.change(page_ins=2, window_tokens=6_000)
    filled.model.act = first(*(calling({"page_ids": [f"p{n}"]}) for n in (1, 2, 3)))
    reply = filled.say("Everything, please.")
    assert reply.recalled == (1, 2)
    [refused] = [r for body in events(filled, "PagesRecalled") for r in body.refused]
    assert refused.ref == "p3"
    assert "page_ins is 2" in refused.reason


@pytest.mark.parametrize(
    ("call", "told", "reason"),
    [
        (ToolCall("c", "delete_everything", {}), "there is no such tool", "no such tool"),
        (ToolCall("c", "", {}, "the call names no tool"), "there is no such tool", "no such tool"),
        (
            ToolCall("c", "recall", {}, "the JSON breaks off or is malformed", '{"page_ids": ["p1"'),
            "cannot be read",
            "cannot be read",
        ),
        (ToolCall("c", "recall", {"page_ids": ["nonsense"]}), '?: not a page\'s name; use "p3"', "not a page's name"),
        (ToolCall("c", "recall", {"page_ids": "p999"}), "p999: no such page", "no such page"),
        (ToolCall("c", "recall", {"page_ids": [{"a": [1]}, None]}), "not a page's name", "not a page's name"),
        (ToolCall("c", "recall", {"page_ids": 999, "question": 5}), "no such page", "no such page"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_malformed_call_is_refused_with_its_reason_and_the_step_goes_on(filled, call, told, reason):
    filled.model.act = first(calling(call), then="Sorry.")
    assert filled.say("Well?").text == "Sorry."
    last = filled.model.seen[-1]
    assert told in last[-1]["content"]
    json.loads(last[-2]["tool_calls"][0]["function"]["arguments"])
    refused = [r.reason for body in events(filled, "PagesRecalled") for r in body.refused]
    refused += [body.reason for body in events(filled, "OperationRefused")]
    assert refused
    assert all(reason in each for each in refused)
    assert filled.state.counts.refused == len(refused)


def test_text_and_calls_at_once_both_count(filled):
    before = "Let me look. " + text_of(150)
    filled.model.act = first(calling({"page_ids": ["p1"]}, text=before), then="It is 1000.")
    assert filled.say("Code?").text == f"{before} It is 1000."
    assert filled.model.seen[-1][-2]["content"].startswith("Let me look.")
    called = events(filled, "PromptAssembled")[-1]
    assert called.sections["exchange"] > 150


@pytest.mark.parametrize("ids", [("", ""), ("same", "same"), ("a\ud800", "b"), ("x" * 500, "y")])
def test_calls_get_ids_of_their_own(filled, ids):
    one, other = ids
    filled.model.act = first(
        calling(ToolCall(one, "recall", {"page_ids": ["p1"]}), ToolCall(other, "recall", {"page_ids": ["p2"]}))
    )
    filled.say("Both?")
    assert not unsound(filled.model.seen[-1])
    assert_rebuilt_equals_live(filled)


def test_a_page_asked_for_twice_at_once_comes_once(filled):
    filled.model.act = first(calling({"page_ids": ["p1", "p1"]}, {"page_ids": ["p1"]}))
    assert filled.say("Again?").recalled == (1,)
    assert filled.model.seen[-1][-1]["content"] == "p1 is in your window already."


def test_a_page_recalled_by_hand_is_there_in_the_next_step(filled):
    assert filled.recall(1, question="").came == (1,)
    filled.say("What does it say?")
    assert any("the code of drawer 0 is 1000" in str(m["content"]) for m in filled.model.seen[-1])
    assert 1 not in filled.state.resident


# ── what goes wrong ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("round_", [0, 1])
def test_a_model_that_fails_abandons_the_step_and_the_next_one_works(filled, round_):
    before = [calling({"page_ids": ["p1"]})] * round_
    answers = first(*before, then=calling())

    def act(messages):
        answer = answers(messages)
        if not answer.calls:
            raise ModelTimeout("no answer within 60 s")
        return answer

    filled.model.act = act
    with pytest.raises(ModelTimeout):
        filled.say("Are you there?")
    [failed] = events(filled, "ModelFailed")
    assert (failed.round, failed.error, failed.message, failed.partial) == (
        round_,
        "ModelTimeout",
        "no answer within 60 s",
        0,
    )
    assert events(filled, "StepAbandoned")[-1].reason == "ModelTimeout: no answer within 60 s"
    assert not filled.state.guests
    assert not filled.state.open_step
    filled.model.act = lambda messages: "Yes."
    assert filled.say("And now?").text == "Yes."
    assert any(m["content"] == "Are you there?" for m in filled.model.seen[-1])
    assert_rebuilt_equals_live(filled)


def test_what_came_before_the_stream_broke_is_kept(filled):
    filled.model.act = raising(ModelCut("it broke off", partial="The code is 10"))
    with pytest.raises(ModelCut):
        filled.say("Code?")
    [failed] = events(filled, "ModelFailed")
    assert filled.pager.journal.words(failed.partial) == "The code is 10"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError("a fault of the caller's own")])
def test_an_interrupt_abandons_the_step(filled, error):
    filled.model.act = raising(error)
    with pytest.raises(type(error)):
        filled.say("Hello?")
    assert not filled.state.open_step
    assert events(filled, "StepAbandoned")[-1].reason == "interrupted"
    filled.model.act = lambda messages: "Hello."
    assert filled.say("Again").text == "Hello."
    assert_rebuilt_equals_live(filled)


def test_an_error_with_odd_characters_can_still_be_written_down(filled):
    filled.model.act = raising(ModelError("it said \ud83d"))
    with pytest.raises(ModelError):
        filled.say("Hello?")
    assert events(filled, "ModelFailed")[-1].message == "it said \ufffd"


def test_a_key_that_a_provider_repeats_in_its_error_is_not_kept(filled):
    filled.model.act = raising(ModelError("Incorrect API key provided: sk-" + "a1B2" * 8))
    with pytest.raises(ModelError):
        filled.say("Hello?")
    assert events(filled, "ModelFailed")[-1].message == "Incorrect API key provided: [api key removed]"


def test_a_reader_of_the_stream_that_fails_abandons_the_step(filled):
    def reader(text):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        filled.say("Hello?", on_text=reader)
    assert not filled.state.open_step


# ── two engines, one conversation ─────────────────────────────────────────────────────────────────────


def test_two_engines_take_turns(opened):
    one, other = opened(), opened()
    for n in range(8):
        (one if n % 2 else other).say(f"Fact {n}: drawer {n} holds {text_of(60, seed=n)}")
    one.change(eviction="lfu")
    other.mark(1)
    one.say("Last one.")
    assert one.state.turn == 18
    assert one.settings.eviction == "lfu"
    assert one.state.marked == (1,)
    other.say("And mine.")
    assert other.settings.eviction == "lfu"
    assert_rebuilt_equals_live(other)


def test_another_engine_finds_what_the_first_one_said(opened):
    one, other = opened(), opened()
    fill_up(one)
    assert other.recall(question="code of drawer 1001").came[0] == 1


# ── opening ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_conversation_goes_on_where_it_was(opened):
    fill_up(opened())
    engine = opened()
    assert engine.state.turn == 28
    assert engine.state.counts.evictions
    assert engine.say("Hello again").step == 15


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"window_tokens": -1}, BadSetting),
        ({"eviction": "lur"}, UnknownName),
        ({"boundary": "weekly"}, UnknownName),
        ({"bookmarks": "poetry"}, UnknownName),
        ({"page_turn": 3}, UnknownName),
        ({"user": ""}, BadSetting),
        ({"conversation": "  "}, BadSetting),
        ({"conversation": "a\nb"}, BadSetting),
        ({"user": "x" * 201}, BadSetting),
        ({"user": 7}, BadSetting),
    ],
    ids=str,
)
def test_what_is_wrong_leaves_no_empty_conversation_behind(opened, tmp_path, change, error):
    with pytest.raises(error):
        opened(**change)
    with Store.open(tmp_path / "store") as store:
        assert store.streams() == []


def test_a_wrong_change_changes_nothing(filled):
    before = filled.settings
    for change, error in (({"eviction": "lur"}, UnknownName), ({"window_tokens": -1}, BadSetting)):
        with pytest.raises(error):
            filled.change(**change)
        assert filled.settings == before
    assert filled.say("Fine?").text == "Noted."


def test_settings_change_between_steps_and_stand_in_the_log(filled):
    filled.change(window_tokens=3_000, boundary="fixed_2")
    filled.say("Hello")
    filled.change(window_tokens=1_200)
    filled.say("Hello again")
    assert max(filled.model.sizes[-2:]) <= 1_100
    assert [b.settings["window_tokens"] for b in events(filled, "SettingsChanged")] == [1_500, 3_000, 1_200]


def test_a_window_left_open_takes_the_models_own(opened):
    assert opened(window_tokens=0).settings.window_tokens == 8_000


def test_functions_of_your_own(opened):
    engine = opened(boundary=lambda page, turn, words: turn.role == "user", eviction=lambda page, now: -page.number,
                    bookmarks=lambda words, corpus: ("own", f"of {words.page}"))  # fmt: skip
    fill_up(engine)
    assert engine.page(1).turns[0].number == 1
    assert len(engine.page(1).turns) == 2
    assert 1 in engine.state.resident
    gone = engine.state.evicted[0]
    assert engine.pager.journal.words(gone.bookmark.stub) == f"[p{gone.number}:own,of {gone.number}]"
    assert gone.bookmark.origin == "custom"


def test_a_replayed_run_goes_on_as_a_branch(opened, tmp_path):
    engine = opened(run="replay-1")
    fill_up(engine)
    live = opened()
    assert live.state.turn == 28
    assert events(live)[-1].kind in KINDS
    live.say("Where were we?")
    assert live.state.turn == 30
    assert engine.store.state(engine.scope).turn == 28
    assert_rebuilt_equals_live(live)


def test_a_run_by_a_policy_that_only_its_maker_had_goes_on_with_another(opened, tmp_path):
    engine = opened(run="replay-1")
    fill_up(engine)
    with engine._held():
        engine.pager.add(
            *[type(b)({**b.settings, "eviction": "belady"}, "0") for b in events(engine, "SettingsChanged")]
        )
        engine.pager.commit()
    with pytest.raises(UnknownName, match="no eviction policy named 'belady'; choose one of"):
        Engine.open(tmp_path / "store", user="ana", conversation="trip", chat=Model())
    live = opened(eviction="lru")
    assert live.say("Go on.").text == "Noted."


def test_a_page_that_does_not_exist_is_told(filled):
    with pytest.raises(NotFound, match=r"no page p99; pages go from p1 to p\d+"):
        filled.page(99)


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────────


def test_marks_hold_over_closing_and_are_taken_back(opened):
    engine = opened()
    reply = engine.say("My passport is in the piano.", important=True)
    engine.mark(reply.turn)
    fill_up(engine, 6)
    assert engine.page(1).bookmark.weight == 2.0
    engine.mark(1, important=False)
    assert engine.page(1).bookmark.weight == 2.0  # the reply is marked still
    engine.mark(reply.turn, important=False)
    assert engine.page(1).bookmark.weight == 1.0
    assert engine.state.marked == ()
    with pytest.raises(BadMessage, match="there is no turn 999 to mark"):
        engine.mark(999)
    assert_rebuilt_equals_live(engine)


# ── secrets ───────────────────────────────────────────────────────────────────────────────────────────

KEY = "sk-" + "Zq9X" * 9


def test_a_key_reaches_no_table_no_prompt_and_no_model(opened, tmp_path):
    """Said by the user or the model, in a system prompt, a title, a recall, or an answer that broke off."""
    model = Model(
        first(f"Your key is {KEY}.", calling({"page_ids": [], "question": f"where is {KEY}"}, text=f"I look for {KEY}"))
    )
    engine = opened(model, system=f"Use {KEY} for the shop.", title=f"About {KEY}", options={"api_key": KEY})
    reply = engine.say(f"我的密钥是{KEY}，请记住")
    assert KEY not in reply.text
    engine.say("Where is it?")
    fill_up(engine)
    model.act = raising(ModelCut("cut", partial=f"it was {KEY}"))
    with pytest.raises(ModelCut):
        engine.say("Again?")
    model.act = lambda messages: calling(ToolCall("c", "recall", {}, "malformed", raw=f'{{"page_ids": ["{KEY}'))
    with pytest.raises(RecallLoop):
        engine.say("Once more?")
    assert KEY not in json.dumps(model.seen)
    engine.close()
    with sqlite3.connect(tmp_path / "store" / "memory.sqlite") as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    assert "api key removed" in dump
    assert KEY not in dump


def test_what_was_removed_is_counted(opened):
    engine = opened()
    engine.say(f"{KEY} and 4111 1111 1111 1111")
    [removed] = events(engine, "TextRedacted")
    assert removed.counts == {"api key": 1, "card number": 1}


def test_scopes_name_a_user_a_conversation_and_a_run():
    assert str(Scope("ana", "trip").at("replay")) == "ana/trip/replay"
    for wrong in ("", " ", None, 7, "a\tb", "\u202e", "x" * 201):
        with pytest.raises(BadSetting):
            Scope("ana", wrong)


def test_settings_come_from_one_value_or_by_name(opened):
    assert opened(settings=Settings.of(recall_k=7), page_ins=3).settings.recall_k == 7


# ── the end ───────────────────────────────────────────────────────────────────────────────────────────


def test_an_engine_closes_the_store_that_it_opened(tmp_path):
    """SQLite takes its log away with the last connection."""
    with Engine.open(tmp_path / "store", user="ana", conversation="trip", chat=Model(), **SMALL) as engine:
        engine.say("Hello.")
        assert (tmp_path / "store" / "memory.sqlite-wal").exists()
    assert not (tmp_path / "store" / "memory.sqlite-wal").exists()


def test_an_engine_leaves_a_store_open_that_it_was_given(tmp_path):
    with Store.open(tmp_path / "store") as store:
        with Engine.open(store, user="ana", conversation="trip", chat=Model(), **SMALL) as engine:
            engine.say("Hello.")
        assert (tmp_path / "store" / "memory.sqlite-wal").exists()
