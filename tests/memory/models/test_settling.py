"""A model's ruling on what is undecided: offered where it stands in the prompt, recorded with its reason, undoable.

Over real HTTP on loopback, by tool calls and by schema; what is known is written by two clients at the same moment.
"""

import json
from datetime import UTC, datetime
from io import StringIO

import pytest

from memory import Engine
from memory.longterm import Heard, LongTerm
from memory.models.chat import OFFLINE
from memory.operations import TOOLS
from memory.state import fold
from memory.stores.erase import erase
from memory.tokens import count
from memory.turns import MESSAGE_TOKENS
from workbench.views.story import inbox

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance is deprecated"),
]

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
ASKED = "What is my budget? The second figure is right."
RULING = {"conflict": "c1", "keep": "f2", "why": "The user says that the second figure is right."}


def disputed(store, *values, attribute="budget"):
    """Each value from a client of its own, none of which saw the others."""
    memory = LongTerm(store, "ana", "desk")
    for value in values or ("5,000 euros", "8,000 euros"):
        words = f"My {attribute} is {value}."
        memory.learn([Heard(f"client that says {value}", 1, memory.journal.said(words), words, "user", "", AT)], 0)
    return memory.knowledge.conflicts


@pytest.fixture(params=["tools", "schema"])
def opened(request, tmp_path, server):
    """An engine whose model is the server, under either protocol, and a budget that is undecided."""
    engine = Engine.open(
        tmp_path / "store", user="ana", conversation="trip", llm="openai/test", options=server.options, timeout_s=5,
        protocol=request.param, window_tokens=3_000, reply_tokens=100, background=False,
    )  # fmt: skip
    engine._following = StringIO()  # nothing but `close`: what is derived from the log has tests of its own
    assert list(disputed(engine.store)) == [1]
    yield engine
    engine.close()


def ruled(engine, server, text="It is 8,000 euros.", **changed):
    """The model says this and settles beside it; asked again, it just says this."""
    ruling = RULING | changed
    calls = [("settle", json.dumps(ruling))] if engine.settings.protocol == "tools" else []
    said = text if calls else json.dumps({"settle": ruling, "reply": text})
    server.in_turn(lambda s: s.says(said, calls=calls), lambda s: s.says(text))


def meanwhile(server, do):
    """Before the model answers, somebody does this."""
    answer = server.act
    server.plays(lambda handler, body: (do(), answer(handler, body)))


def offers_settle(body):
    by_schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    return "settle" in by_schema or any(tool["function"]["name"] == "settle" for tool in body.get("tools", ()))


def prompt_of(body):
    return "\n".join(message["content"] or "" for message in body["messages"])


def refusals(engine):
    events = engine.store.events(engine.scope, kinds=["OperationRefused"])
    return [(e.body.operation, e.body.reason) for e in events]


def active(engine):
    return [engine.memory.text(f) for f in engine.memory.facts()]


# ── what is offered ───────────────────────────────────────────────────────────────────────────────────


def test_the_prompt_names_the_conflict_and_both_of_its_sides(opened, server):
    opened.say(ASKED)
    [body] = server.asked
    told = prompt_of(body)
    assert "f1 (since 2026-03-02, undecided against f2 in c1): The user's budget is 5,000 euros." in told
    assert "f2 (since 2026-03-02, undecided against f1 in c1): The user's budget is 8,000 euros." in told
    assert "Undecided: c1 (f1 or f2)." in told
    assert offers_settle(body)
    if opened.settings.protocol == "schema":
        settle = body["response_format"]["json_schema"]["schema"]["properties"]["settle"]["properties"]
        assert (settle["conflict"]["enum"], settle["keep"]["enum"]) == (["", "c1"], ["", "f1", "f2", "both"])


def test_without_a_conflict_in_the_prompt_it_costs_nothing(opened, server):
    opened.say("Good morning to you.")
    [body] = server.asked
    assert not offers_settle(body)
    assert "settle" not in json.dumps(body)
    assert opened.state.undecided == ()


def test_what_it_takes_is_weighed_words_and_what_goes_beside_them(opened, server):
    opened.say(ASKED)
    [body] = server.asked
    beside = json.dumps([TOOLS["settle"]])
    if opened.settings.protocol == "schema":
        beside = json.dumps(body["response_format"]["json_schema"]["schema"])
    said = sum(count(m["content"]) + MESSAGE_TOKENS for m in body["messages"])
    assert said + count(beside) <= opened.state.prompt_estimate + 5
    assert opened.fill.facts >= opened.state.known_tokens > count(beside)


def test_in_a_window_without_room_for_it_the_facts_come_all_the_same(opened, server):
    opened.change(window_tokens=640, reply_tokens=16)
    opened.say(ASKED)
    [body] = server.asked
    assert "undecided against f2 in c1" in prompt_of(body)
    assert not offers_settle(body)


def test_the_embedded_responder_is_offered_nothing_to_decide(opened):
    opened.change(llm=OFFLINE, protocol="auto")
    opened.say(ASKED)
    assert opened.state.known
    assert opened.state.undecided == ()


# ── what it comes to ──────────────────────────────────────────────────────────────────────────────────


def test_a_ruling_is_recorded_with_who_made_it_and_why_and_the_reply_beside_it_stands(opened, server):
    ruled(opened, server)
    assert opened.say(ASKED).text == "It is 8,000 euros."
    assert len(server.asked) == 1
    k = opened.memory.knowledge
    conflict = k.conflicts[1]
    assert (conflict.settled, conflict.winner, conflict.decided_by) == (True, 2, "model:openai/test")
    change = next(c for c in k.changes.values() if c.cause == "resolve")
    assert (change.decided_by, change.why) == ("model:openai/test", RULING["why"])
    assert active(opened) == ["The user's budget is 8,000 euros."]
    [shown] = inbox(opened.store, opened.scope).settled
    assert (shown.decided_by, shown.reason, shown.change) == (change.decided_by, change.why, change.number)
    assert fold(opened.store.events(opened.scope)) == opened.state == opened.store.state(opened.scope)


def test_a_ruling_is_undone_like_any_change_and_the_model_may_not_make_it_again(opened, server):
    ruled(opened, server)
    opened.say(ASKED)
    change = next(c for c in opened.memory.knowledge.changes.values() if c.cause == "resolve")
    opened.memory.undo(change.number)
    assert [c.id for c in opened.memory.conflicts] == [1]
    assert len(active(opened)) == 2
    server.says("I cannot tell.")
    opened.say(ASKED)
    assert "undecided against f2 in c1" in prompt_of(server.asked[0])
    assert not offers_settle(server.asked[0])
    assert "Undecided:" not in prompt_of(server.asked[0])


def test_a_model_that_decides_before_it_replies_is_told_and_the_next_answer_is_the_reply(opened, server):
    ruling, reply = ("", "It is 8,000 euros.")
    if opened.settings.protocol == "schema":
        ruling, reply = json.dumps({"settle": RULING, "reply": ""}), json.dumps({"reply": reply})
    calls = [("settle", json.dumps(RULING))] if opened.settings.protocol == "tools" else []
    server.in_turn(lambda s: s.says(ruling, calls=calls), lambda s: s.says(reply))
    assert opened.say(ASKED).text == "It is 8,000 euros."
    assert "c1 is settled: f2 holds (change " in server.asked[1]["messages"][-1]["content"]
    assert opened.memory.conflicts == []


def test_its_own_ruling_is_no_news_to_the_reply_that_made_it(opened, server):
    ruled(opened, server)
    assert opened.say(ASKED).stale_facts == ()


def test_both_may_hold(opened, server):
    ruled(opened, server, keep="both")
    opened.say(ASKED)
    assert opened.memory.knowledge.conflicts[1].winner == 0
    assert len(active(opened)) == 2


def test_a_conflict_left_open_is_a_form_that_was_not_filled_in(opened, server):
    empty = json.dumps({"settle": {"conflict": "c1", "keep": "", "why": ""}, "reply": "I cannot tell."})
    server.says("I cannot tell." if opened.settings.protocol == "tools" else empty)
    assert opened.say(ASKED).text == "I cannot tell."
    assert [c.id for c in opened.memory.conflicts] == [1]
    assert refusals(opened) == []


# ── what is refused ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"conflict": "c99"}, "no conflict 99; there are 2"),
        ({"conflict": "c2"}, "conflict 2 does not stand in this prompt as one that you may settle"),
        ({"conflict": "the budget"}, 'not a conflict\'s name; use "c3"'),
        ({"conflict": ""}, "conflict is missing"),
        ({"keep": "f99"}, "f99 is no side of conflict 1; its sides are f1, f2"),
        ({"keep": "f3"}, "f3 is no side of conflict 1; its sides are f1, f2"),
        ({"keep": "8,000 euros"}, 'not a fact\'s name; use "f12", or "both"'),
    ],
)
def test_what_does_not_exist_or_does_not_stand_there_is_refused_with_the_reason_in_the_log(
    opened, server, changed, reason
):
    disputed(opened.store, "Lyon", "Nantes", attribute="home city")
    before = opened.memory.knowledge.changes
    ruled(opened, server, **changed)
    opened.say(ASKED)
    assert refusals(opened)[0] == ("settle", reason)
    assert opened.memory.knowledge.changes == before
    assert [c.id for c in opened.memory.conflicts] == [1, 2]


def test_what_was_settled_meanwhile_stays_as_it_was_settled(opened, server):
    ruled(opened, server)
    meanwhile(server, lambda: LongTerm(opened.store, "ana").settle(1, 1))
    opened.say(ASKED)
    assert refusals(opened) == [("settle", "conflict 1 was settled by user: undo that first")]
    assert opened.memory.knowledge.conflicts[1].winner == 1


def test_a_side_that_changed_since_the_prompt_was_made_is_not_ruled_on(opened, server):
    ruled(opened, server)
    meanwhile(server, lambda: disputed(opened.store, "9,000 euros"))
    opened.say(ASKED)
    assert [c.facts for c in opened.memory.conflicts] == [(1, 2, 3)]
    [(operation, reason)] = refusals(opened)
    assert operation == "settle"
    assert "changed meanwhile" in reason


def test_where_nothing_is_remembered_or_remembering_is_off_nothing_is_decided(opened, server):
    opened.memory.switch(on=False)
    ruled(opened, server)
    opened.say(ASKED)
    assert not offers_settle(server.asked[0])
    by_tools = [("settle", "remembering is switched off")]  # a call of what was not offered; by schema it is no answer
    assert refusals(opened) == (by_tools if opened.settings.protocol == "tools" else [])
    assert [c.id for c in opened.memory.conflicts] == [1]


def test_secrets_and_erased_words_do_not_stay_in_the_reason(opened, server):
    ruled(opened, server, why="The user's key sk-abcdefghijklmnopqrstuvwxyz123456 and their peanuts say so.")
    opened.say(ASKED)
    why = next(c.why for c in opened.memory.knowledge.changes.values() if c.cause == "resolve")
    assert "sk-abcdef" not in why
    assert "peanuts" in why
    erase(opened.store, "ana", "peanuts").carry_out()
    why = next(c.why for c in opened.memory.knowledge.changes.values() if c.cause == "resolve")
    assert "peanuts" not in why
