"""The engine with a model behind real HTTP on loopback: second tries, prompts too long, both protocols, memory work."""

from __future__ import annotations

import json
from io import StringIO
from itertools import count

import pytest

from memory import Engine
from memory.errors import ContextOverflow, ModelOverloaded, ModelRefused, ModelUnreachable, RecallLoop, ToolsRefused
from memory.journal import MemoryJournal
from memory.pager import Pager
from memory.state import fold

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance is deprecated"),
]

SETTINGS = {"window_tokens": 1_500, "reply_tokens": 100, "boundary": "fixed_4"}


@pytest.fixture
def opened(tmp_path, server):
    """Engines whose model is the server; waits are written down, not slept."""
    engines = []

    def open_engine(**given):
        slept = []
        own = {"llm": "openai/test", "options": server.options, "sleep": slept.append, "background": False}
        given = {**own, **SETTINGS, **given}
        engine = Engine.open(tmp_path / "store", user="ana", conversation="trip", timeout_s=1, **given)
        engine._following = StringIO()
        engine.slept = slept
        engines.append(engine)
        return engine

    yield open_engine
    for engine in engines:
        engine.close()


def fill_up(engine, messages=14):
    for i in range(messages):
        engine.say(f"Fact {i}: the code of drawer {i} is {1_000 + i}. " + "some more words here " * 14)


def bodies(engine, *kinds):
    return [e.body for e in engine.store.events(engine.scope) if not kinds or e.kind in kinds]


def consistent(engine):
    return fold(engine.store.events(engine.scope)) == engine.state == engine.store.state(engine.scope)


# ── a second try ──────────────────────────────────────────────────────────────────────────────────────


def test_each_try_stands_in_the_log_and_the_reply_comes(opened, server):
    engine = opened()
    server.in_turn(
        lambda s: s.fails(503, "The model is overloaded"),
        lambda s: s.fails(429, "Rate limit reached", headers={"retry-after": "7"}),
        lambda s: s.says("Here I am."),
    )
    assert engine.say("Are you there?").text == "Here I am."
    tries = [(b.error, b.attempt, b.again_in_s is not None) for b in bodies(engine, "ModelFailed")]
    assert tries == [("ModelOverloaded", 1, True), ("ModelOverloaded", 2, True)]
    assert 0.5 <= engine.slept[0] <= 1.0
    assert 7.0 <= engine.slept[1] <= 7.25
    assert len(bodies(engine, "ModelCalled")) == 1
    assert consistent(engine)


@pytest.mark.parametrize(
    ("order", "error", "tries"),
    [
        (lambda s: s.fails(401, "Incorrect API key provided", "invalid_api_key"), ModelRefused, 1),
        (lambda s: s.fails(429, "You exceeded your current quota", "insufficient_quota"), ModelOverloaded, 1),
        (lambda s: s.hangs_up(), ModelUnreachable, 4),
        (lambda s: s.fails(429, "Rate limit", headers={"retry-after": "100000"}), ModelOverloaded, 1),
    ],
)
def test_what_is_not_worth_it_is_tried_once_and_the_last_failure_says_that_it_is_the_last(
    opened, server, order, error, tries
):
    engine = opened()
    order(server)
    with pytest.raises(error):
        engine.say("Hello?")
    failures = bodies(engine, "ModelFailed")
    assert [b.attempt for b in failures] == list(range(1, tries + 1))
    assert failures[-1].again_in_s is None
    assert len(server.asked) == tries
    assert not engine.state.open_step
    server.says("Back.")
    assert engine.say("And now?").text == "Back."
    assert consistent(engine)


def test_no_seconds_for_it_means_no_second_try(opened, server):
    engine = opened(retry_s=0)
    server.hangs_up()
    with pytest.raises(ModelUnreachable):
        engine.say("Hello?")
    assert (len(server.asked), engine.slept) == (1, [])


# ── a prompt that is too long ─────────────────────────────────────────────────────────────────────────

TOO_LONG = "This model's maximum context length is 1000 tokens. However, your messages resulted in 1600 tokens."


def test_for_a_prompt_too_long_room_is_made_once_and_the_reply_comes(opened, server):
    engine = opened()
    fill_up(engine, 8)
    before, asked = engine.state.counts.evictions, engine.state.prompt_estimate
    server.in_turn(lambda s: s.fails(400, TOO_LONG), lambda s: s.says("Short enough."))
    assert engine.say("What is the code of drawer 3?").text == "Short enough."
    [failed] = bodies(engine, "ModelFailed")
    assert (failed.error, failed.prompt_tokens, failed.limit_tokens) == ("ContextOverflow", 1600, 1000)
    assert engine.state.counts.evictions > before
    assert bodies(engine, "PageEvicted")[-1].cause == "the model took the prompt for too long"
    assert asked
    long, short = server.asked[-2:]
    assert len(json.dumps(short["messages"])) < len(json.dumps(long["messages"]))
    assert bodies(engine, "PromptAssembled")[-1].tokens <= 600
    assert consistent(engine)


def test_what_the_model_counted_is_believed(opened, server):
    engine = opened()
    fill_up(engine, 8)
    estimate = None
    server.in_turn(lambda s: s.fails(400, TOO_LONG), lambda s: s.says("Fine.", usage=None))
    engine.say("And?")
    log = bodies(engine)
    failed = next(i for i, b in enumerate(log) if b.kind == "ModelFailed")
    estimate = next(b.tokens for b in reversed(log[:failed]) if b.kind == "PromptAssembled")
    state = fold(engine.store.events(engine.scope)[: failed + 1])
    assert state.count_ratio == pytest.approx(max(1.0, min(2.0, 1600 / estimate)), abs=0.01)


@pytest.mark.parametrize("before", [0, 8])
def test_a_model_that_finds_every_prompt_too_long_gets_a_clear_error(opened, server, before):
    engine = opened()
    fill_up(engine, before)
    server.fails(400, TOO_LONG)
    with pytest.raises(ContextOverflow, match="use a smaller window"):
        engine.say("Hello?")
    assert len(server.asked) == (2 if before else 1)
    assert not engine.state.open_step
    assert consistent(engine)


# ── recall by tools ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_recall_in_the_middle_of_a_reply_keeps_the_text_before_it_once(opened, server, streamed):
    engine = opened()
    fill_up(engine)
    server.in_turn(
        lambda s: s.says("Let me look that up.", calls=[("recall", '{"page_ids": ["p1"]}')]),
        lambda s: s.says("Let me look that up. It is 1000."),
    )
    heard = []
    reply = engine.say("The code of drawer 0?", on_text=heard.append if streamed else None)
    assert reply.text == "Let me look that up.\n\nIt is 1000."
    assert reply.recalled == (1,)
    if streamed:
        assert "".join(heard) == reply.text
    assert any("the code of drawer 0 is 1000" in m["content"] for m in server.asked[1]["messages"] if m["content"])


def test_a_roomy_window_gets_search_and_bookmark_as_well(opened, server):
    engine = opened(window_tokens=4_000)
    fill_up(engine, 40)
    assert engine.state.evicted
    server.says("Noted.")
    engine.say("Hello?")
    assert [t["function"]["name"] for t in server.asked[0]["tools"]] == ["recall", "search_memory", "bookmark"]


# ── recall by schema ──────────────────────────────────────────────────────────────────────────────────


def as_json(**fields):
    return json.dumps(fields, ensure_ascii=False)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_by_schema_the_pages_are_an_enum_and_the_reader_sees_the_reply_alone(opened, server, streamed):
    engine = opened(protocol="schema", recall_k=1)
    server.says(as_json(recall=[], question="", reply="Noted."))
    fill_up(engine)
    assert engine.protocol == ("schema", "the setting says so")
    gone = {p.name for p in engine.state.evicted}
    server.in_turn(
        lambda s: s.says(as_json(recall=["p1"], question="code of drawer 0", reply="I do not know.")),
        lambda s: s.says(as_json(recall=[], question="", reply="It is 1000: “预算” \\ 1\n2.")),
    )
    heard = []
    reply = engine.say("The code of drawer 0?", on_text=heard.append if streamed else None)
    assert reply.text == "It is 1000: “预算” \\ 1\n2."
    assert 1 in reply.recalled
    if streamed:
        assert "".join(heard) == reply.text
        assert len(heard) > 1
    first, second = server.asked
    properties = first["response_format"]["json_schema"]["schema"]["properties"]
    assert list(properties) == ["recall", "question", "reply"]
    assert {n for n in properties["recall"]["items"]["enum"] if "-" not in n} <= gone
    assert "p1" not in second["response_format"]["json_schema"]["schema"]["properties"]["recall"]["items"]["enum"]
    assert "tools" not in first
    assert [m["role"] for m in second["messages"][-2:]] == ["assistant", "user"]
    assert "p1 (turns 1-4) is back" in second["messages"][-1]["content"]
    assert bodies(engine, "ModelCalled")[-1].protocol == "schema"
    assert consistent(engine)


def test_what_another_protocol_tells_the_model_weighs_as_much_in_the_views_and_in_a_replay(opened, server):
    from sessions.replay import Running
    from sessions.transcript import recording_of
    from workbench.views.window import window

    engine = opened(protocol="schema", operations="all")
    server.says(as_json(recall=[], question="", reply="Noted."))
    engine.say("The code of drawer 0 is 1000.")
    assert engine.state.told_tokens == engine.pager.instructions != Pager(MemoryJournal()).instructions
    shown = {part.section: part.tokens for part in window(engine.store, engine.scope).segments}
    assert shown["system"] == engine.fill.system
    replayed = Running(recording_of(engine.store, engine.scope), engine.settings)
    list(replayed.steps())
    assert replayed.pager.instructions == engine.pager.instructions


def test_before_anything_left_a_model_that_takes_a_schema_answers_in_plain_words(opened, server):
    engine = opened(protocol="schema")
    server.says("Plain.")
    assert engine.say("Hello?").text == "Plain."
    assert "response_format" not in server.asked[0]
    assert "JSON" not in server.asked[0]["messages"][0]["content"]


def test_an_answer_that_cannot_be_read_is_refused_told_and_the_turn_goes_on(opened, server):
    engine = opened(protocol="schema")
    fill_up(engine)
    server.in_turn(lambda s: s.says('{"recall": ["p1"'), lambda s: s.says(as_json(recall=[], reply="Sorry.")))
    heard = []
    assert engine.say("Well?", on_text=heard.append).text == "Sorry." == "".join(heard)
    [refused] = bodies(engine, "OperationRefused")
    assert (refused.operation, refused.reason) == (
        "reply",
        "the answer cannot be read: the JSON breaks off or is malformed",
    )
    assert "your answer cannot be read" in server.asked[1]["messages"][-1]["content"]


def test_the_last_round_leaves_a_schema_only_the_reply(opened, server):
    engine = opened(protocol="schema", recall_rounds=1)
    fill_up(engine)
    server.says(as_json(recall=["p1"], question="", reply=""))
    with pytest.raises(RecallLoop):
        engine.say("Well?")
    last = server.asked[-1]["response_format"]["json_schema"]["schema"]
    assert list(last["properties"]) == ["reply"]


def test_a_server_that_refuses_tools_is_asked_by_schema_from_then_on(opened, server):
    engine = opened()
    fill_up(engine)
    assert engine.protocol[0] == "tools"
    server.in_turn(
        lambda s: s.fails(400, "my-own does not support tools"), lambda s: s.says(as_json(recall=[], reply="Hello."))
    )
    assert engine.say("Hello?").text == "Hello."
    assert engine.protocol == ("schema", "it refused tools")
    assert [b.error for b in bodies(engine, "ModelFailed")] == ["ToolsRefused"]
    assert engine.say("Again?").text == "Hello."
    assert ["tools" in body for body in server.asked] == [True, False, False]
    assert consistent(engine)


def test_a_protocol_that_was_asked_for_is_not_changed(opened, server):
    engine = opened(protocol="tools")
    fill_up(engine)
    server.fails(400, "my-own does not support tools")
    with pytest.raises(ToolsRefused, match="set protocol to schema"):
        engine.say("Hello?")


# ── eviction with the model ───────────────────────────────────────────────────────────────────────────


def evicting(server, leave):
    """The server answers questions about pages, and anything else with "Noted."."""
    server.tasks = []

    def think(body):
        asked = body["messages"][-1]["content"]
        about_pages = "must leave now" in asked or "may leave it now" in asked
        server.tasks.append("eviction" if about_pages else "reply")
        return leave(asked) if about_pages else "Noted."

    server.answers(think)


def test_the_model_ranks_in_one_call_what_rules_leave_undecided(opened, server):
    engine = opened(eviction="cooperative")
    engine.say("Please remember that I am allergic to peanuts. " + "some more words here " * 14)
    evicting(server, lambda asked: '{"leave": ["p2", "p3"]}')
    fill_up(engine, 12)
    left = bodies(engine, "PageEvicted")
    assert left
    assert left[0].page == 2
    assert (left[0].decided_by, left[0].why) == ("model", "number 1 of 2 that may leave")
    assert 1 in engine.state.resident  # asked to remember
    calls = [b for b in bodies(engine, "ModelCalled") if b.task == "eviction"]
    assert calls
    assert server.tasks.count("eviction") == len(calls)
    assert consistent(engine)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("I would rather not say.", "there is no JSON object"),
        ('{"leave": ["p77"]}', "it names none of the pages that were offered"),
    ],
)
def test_an_answer_that_cannot_be_used_falls_back_and_keeps_the_raw_words(opened, server, answer, why):
    engine = opened(eviction="cooperative")
    evicting(server, lambda asked: answer)
    fill_up(engine, 12)
    left = bodies(engine, "PageEvicted")
    assert left[0].decided_by == "fallback"
    assert why in left[0].why
    assert left[0].page == 1  # the least recently used
    failed = bodies(engine, "MemoryWorkFailed")[0]
    assert failed.task == "eviction"
    assert engine.pager.journal.words(failed.raw) == answer
    assert consistent(engine)


def test_a_model_that_cannot_be_asked_about_pages_still_replies(opened, server):
    engine = opened(
        eviction="cooperative", memory_llm="openai/small", memory_options={"api_base": "http://127.0.0.1:9"}
    )
    fill_up(engine, 12)
    left = bodies(engine, "PageEvicted")
    assert left[0].decided_by == "fallback"
    assert "could not be asked" in left[0].why
    failures = [b for b in bodies(engine, "ModelFailed") if b.task == "eviction"]
    assert failures
    assert {b.llm for b in failures} == {"openai/small"}
    assert engine.state.counts.abandoned == 0


def test_a_yes_or_no_for_each_page(opened, server):
    engine = opened(eviction="cooperative", cooperative_asks="verdicts")
    evicting(server, lambda asked: json.dumps({"leave": "p3 (turns" in asked}))
    fill_up(engine, 12)
    first = bodies(engine, "PageEvicted")[0]
    assert (first.page, first.decided_by, first.why) == (3, "model", "the model lets it go")


# ── keywords by the model ─────────────────────────────────────────────────────────────────────────────


def naming(server, answers):
    """The server answers in turn to questions about keywords, and anything else with "Noted."."""
    left = iter(answers)

    def think(body):
        return next(left) if "keywords stay in" in body["messages"][0]["content"] else "Noted."

    server.answers(think)


def stubs(engine):
    words = engine.pager.journal.words
    return {p.number: (words(p.bookmark.stub), p.bookmark.origin) for p in engine.state.pages.values() if p.bookmark}


def test_a_rules_bookmark_stands_until_work_brings_the_models(opened, server):
    engine = opened(bookmarks="llm")
    naming(server, (as_json(keywords=[f"key {n}", "drawer"]) for n in count(1)))
    fill_up(engine, 5)
    assert {origin for _, origin in stubs(engine).values()} == {"rarity"}
    asked = len(server.asked)
    worked = engine.work()
    assert worked.improved == (1, 2)
    assert worked.failed == worked.changed == ()
    assert len(server.asked) - asked == 2
    assert stubs(engine) == {1: ("[p1:key 1,drawer]", "llm"), 2: ("[p2:key 2,drawer]", "llm")}
    assert "user: Fact 0: the code" in server.asked[asked]["messages"][0]["content"]
    assert engine.work().improved == ()  # nothing is due any more
    assert consistent(engine)


def test_all_at_once_is_one_call_and_shares_no_keyword(opened, server):
    engine = opened(bookmarks="llm_batch")
    pages = [{"page": "p1", "keywords": ["drawer", "code 1000"]}, {"page": "p2", "keywords": ["Drawer", "code 1002"]}]
    naming(server, [as_json(pages=pages)])
    fill_up(engine, 5)
    assert engine.work().improved == (1, 2)
    assert stubs(engine) == {1: ("[p1:drawer,code 1000]", "llm_batch"), 2: ("[p2:code 1002]", "llm_batch")}


def test_no_is_an_answer_and_leaves_a_bare_stub_that_is_found_by_content(opened, server):
    engine = opened(bookmarks="llm")
    naming(server, ['{"keywords": []}'] * 9)
    fill_up(engine, 5)
    engine.work()
    assert stubs(engine)[1] == ("[p1]", "llm")
    fill_up(engine, 10)
    assert 1 not in engine.state.resident
    assert 1 in engine.recall(question="code of drawer 1000").came


def test_what_cannot_be_read_is_asked_once_more_then_the_rules_bookmark_stays(opened, server):
    engine = opened(bookmarks="llm")
    naming(server, ["no idea", '{"keywords": ["half'] * 9)
    fill_up(engine, 3)
    before = stubs(engine)
    asked = len(server.asked)
    assert engine.work().failed == (1,)
    assert len(server.asked) - asked == 2
    assert "could not be used: there is no JSON object" in server.asked[-1]["messages"][0]["content"]
    assert stubs(engine) == before
    [failed] = bodies(engine, "MemoryWorkFailed")
    assert (failed.task, failed.pages, failed.reason) == ("bookmark", (1,), "the JSON breaks off or is malformed")
    assert engine.pager.journal.words(failed.raw) == '{"keywords": ["half'
    assert engine.work().failed == ()  # it is not asked for ever
    assert consistent(engine)


def test_a_cheaper_model_names_pages_and_the_chat_model_those_at_turning_points(opened, server):
    engine = opened(bookmarks="llm", memory_llm="openai/small")
    naming(server, (as_json(keywords=[f"key {n}", "drawer"]) for n in count(1)))
    engine.say("Please remember that I am allergic to peanuts. " + "some more words here " * 14)
    fill_up(engine, 5)
    engine.work()
    named = [b.llm for b in bodies(engine, "ModelCalled") if b.task == "bookmark"]
    assert sorted(named) == ["openai/small", "openai/test"]


def test_the_embedded_responder_is_never_asked_about_the_memory(opened, server):
    engine = opened(llm="workbench/offline", bookmarks="llm", eviction="cooperative", options={})
    fill_up(engine, 14)
    assert engine.memory_llm == ""
    assert engine.work().improved == ()
    left = bodies(engine, "PageEvicted")
    assert {b.decided_by for b in left} == {"fallback"}
    assert left[0].why == "no model is set for memory work: the least recently used leaves"
    assert {b.task for b in bodies(engine, "ModelCalled")} == {"reply"}


def options_of(engine, llm):
    return engine.caller.options_of(llm, engine.settings)


def test_a_key_goes_to_the_provider_that_it_was_given_for_and_to_no_other(opened):
    chat = opened(memory_llm="anthropic/claude-3-haiku-20240307")
    assert options_of(chat, chat.memory_llm) == {}
    assert options_of(opened(memory_llm="openai/small"), "openai/small") == chat.caller.options
    own = opened(memory_llm="anthropic/x", memory_options={"api_key": "other"})
    assert options_of(own, "anthropic/x") == {"api_key": "other"}
    assert options_of(own, "openai/test") == chat.caller.options
    own.change(memory_llm="anthropic/x,summary=groq/y")
    assert options_of(own, "anthropic/x") == {"api_key": "other"}
    assert options_of(own, "groq/y") == {}
    own.change(memory_llm="bookmark=anthropic/x,summary=groq/y")  # whose key is it?
    assert options_of(own, "anthropic/x") == options_of(own, "groq/y") == {}


# ── other operations ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("name", "arguments"), [("remember", {"text": "peanuts"}), ("forget", {"what": "peanuts"})])
def test_what_needs_long_term_memory_is_refused_and_told_where_it_is_off(opened, server, name, arguments):
    engine = opened(remember="off")
    fill_up(engine)
    server.in_turn(lambda s: s.says(calls=[(name, json.dumps(arguments))]), lambda s: s.says("I cannot."))
    assert engine.say("Please do.").text == "I cannot."
    [refused] = bodies(engine, "OperationRefused")
    assert (refused.operation, refused.reason) == (name, "long-term memory is not switched on in this engine")
    assert "long-term memory is not switched on" in server.asked[1]["messages"][-1]["content"]
    assert consistent(engine)


def test_what_the_model_wants_kept_is_believed_only_where_the_user_said_so(opened, server):
    engine = opened()
    fill_up(engine)
    keeps = [("remember", json.dumps({"text": text})) for text in ("Allergic to peanuts", "Wants to be called Nono")]
    server.in_turn(lambda s: s.says(calls=keeps), lambda s: s.says("Noted."))
    engine.say("I am allergic to peanuts.")
    kept = {engine.memory.text(f): f.state for f in engine.memory.facts(all_states=True)}
    assert kept["Wants to be called Nono"] == "quarantined"
    assert any("peanuts" in text.lower() and state == "active" for text, state in kept.items())


def test_a_search_names_pages_with_a_line_each_and_brings_none(opened, server):
    engine = opened()
    fill_up(engine)
    faults = engine.state.counts.faults
    server.in_turn(
        lambda s: s.says(calls=[("search_memory", '{"query": "code of drawer 1001"}')]), lambda s: s.says("1001.")
    )
    engine.say("Search.")
    told = server.asked[1]["messages"][-1]["content"].splitlines()
    assert told[0].startswith("p1 (turns 1-4, not in your window), turn 3: Fact 1: the code of drawer 1 is 1001.")
    assert engine.state.counts.faults == faults
    [found] = bodies(engine, "PagesRetrieved")
    assert (found.by, found.strategy, found.chosen[0]) == ("search_memory", "fusion", 1)
    assert engine.pager.journal.words(found.question) == "code of drawer 1001"


def test_the_model_bookmarks_a_page_and_its_reply_beside_it_stands(opened, server):
    engine = opened()
    fill_up(engine)
    arguments = {"page": "p1", "keywords": ["first drawers", "codes 1000-1001"]}
    server.says("Done.", calls=[("bookmark", json.dumps(arguments))])
    assert engine.say("Bookmark the first page.").text == "Done."
    assert stubs(engine)[1] == ("[p1:first drawers,codes 1000-1001]", "model")
    assert len(server.asked) == 1
    assert consistent(engine)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"page": "p99", "keywords": ["a b"]}, "no such page"),
        ({"page": "turn 999", "keywords": ["a b"]}, "no such turn"),
        ({"page": "the first one", "keywords": ["a b"]}, "not a page's name"),
        ({"page": "p1-p2", "keywords": ["a b"]}, "one page at a time"),
        ({"page": "p1", "keywords": ["x" * 99]}, "none of these keywords fits"),
        ({"page": "p1", "keywords": []}, "keywords is missing"),
        ({"keywords": ["a"]}, "page is missing"),
        ({"page": "p3", "keywords": ["mine"]}, "a bookmark of the user's own"),
    ],
)
def test_a_bookmark_that_cannot_be_made_is_refused_with_the_reason(opened, server, arguments, reason):
    engine = opened()
    fill_up(engine)
    engine.mark(9)
    before = stubs(engine)
    call = [("bookmark", json.dumps(arguments))]
    server.in_turn(lambda s: s.says(calls=call), lambda s: s.says("Sorry."))
    engine.say("Bookmark it.")
    [refused] = bodies(engine, "OperationRefused")
    assert refused.operation == "bookmark"
    assert reason in refused.reason
    assert {n: stub for n, stub in stubs(engine).items() if n in before} == before
