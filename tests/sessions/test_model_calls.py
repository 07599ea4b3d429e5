"""What an application's calls of models took comes in with its traces, once, and goes out and in again."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.scope import RECORDED, Scope
from memory.stores.log import Log
from memory.stores.sql import Store
from memory.stores.verify import verify
from sessions.importer import import_recordings, threads_of
from sessions.otlp_export import otlp
from sessions.otlp_export import write as written
from sessions.readers import read
from sessions.readers.workbench import write
from sessions.recording import ModelCall, Recording
from sessions.spans import of_request
from sessions.threads import woven
from sessions.transcript import recording_of, redacted
from tests.sessions.test_otlp import BEGIN, chat, only, request, span
from tests.sessions.test_readers import HEADER, lines, recordings, turn

SCOPE = Scope("user", "c", RECORDED)


def figures(tokens_in: int, tokens_out: int, cost: float | None = None) -> dict[str, Any]:
    paid = {} if cost is None else {"llm.cost.total": cost}
    return {"gen_ai.response.model": "m", "gen_ai.usage.input_tokens": tokens_in,
            "gen_ai.usage.output_tokens": tokens_out, **paid}  # fmt: skip


FAILED = span(2, {
    "gen_ai.operation.name": "chat", "gen_ai.conversation.id": "c", "gen_ai.request.model": "m",
    "gen_ai.input.messages": json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"},
                                         {"role": "user", "content": "how?"}]), "error.type": "Timeout",
}, status={"code": 2, "message": "after 30 s"})  # fmt: skip
SPANS = (
    chat(1, "hi", "hello", attributes=figures(12, 3, 0.25)), FAILED,
    chat(3, "hi", "hello", "how?", "so", attributes=figures(30, 4)),
)  # fmt: skip
CALLS = {
    1: [("m", 12, 3, 0.25, 5_000.0, "")],
    3: [("m", 0, 0, None, 5_000.0, "Timeout"), ("m", 30, 4, None, 5_000.0, "")],
}


def calls(recording: Recording) -> dict[int, list[tuple[Any, ...]]]:
    told = {t.number: t.model_calls for t in recording.turns if t.model_calls}
    return {
        n: [(c.llm, c.prompt_tokens, c.completion_tokens, c.cost_usd, c.ms, c.error) for c in made]
        for n, made in told.items()
    }


@pytest.mark.parametrize("told", [
    {"attributes": {"gen_ai.response.time_to_first_chunk": 0.25}},
    {"events": [{"name": "First Token Stream Event", "timeUnixNano": str(BEGIN + 10_250_000_000)}]},
    {"events": [{"name": "gen_ai.content.completion.chunk", "timeUnixNano": str(BEGIN + at)}
                for at in (11_000_000_000, 10_250_000_000)]},
], ids=["GenAI", "OpenInference", "OpenLLMetry"])  # fmt: skip
def test_how_long_a_stream_took_to_begin_comes_in_by_any_convention_and_goes_out(told: dict[str, Any]):
    more = figures(12, 3) | told.get("attributes", {})
    recording = only(request(chat(1, "hi", "hello", **told | {"attributes": more})))
    (call,) = recording.turns[0].model_calls
    assert call.first_ms == 250.0
    (sent,) = (each for each in otlp([recording])["resourceSpans"][0]["scopeSpans"][0]["spans"])
    assert {"key": "gen_ai.response.time_to_first_chunk", "value": {"doubleValue": 0.25}} in sent["attributes"]


def arrive(store: Store, *spans: dict[str, Any]) -> None:
    """As an app's exporter sends them."""
    came = of_request(json.loads(request(*spans)))
    new = woven(came, lambda user, conversation: threads_of(store, user, conversation))  # type: ignore[arg-type]
    import_recordings(store, new, replay=False)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as opened:
        yield opened


def test_each_call_stands_behind_the_turn_that_it_answers_and_in_the_table_of_calls(store: Store):
    assert calls(only(request(*SPANS))) == CALLS
    import_recordings(store, read(request(*SPANS)), replay=False)
    assert recording_of(store, SCOPE) == only(request(*SPANS))
    table = (
        Log(store).query("SELECT step, llm, prompt_tokens, cost_usd, ms, error FROM llm_calls ORDER BY version").rows
    )
    assert [tuple(row) for row in table] == [
        (1, "m", 12, 0.25, 5_000.0, None), (2, "m", None, None, 5_000.0, "Timeout"), (2, "m", 30, None, 5_000.0, None),
    ]  # fmt: skip
    assert verify(store).ok


@pytest.mark.parametrize("pieces", [[SPANS[:1], SPANS[1:]], [SPANS[:2], SPANS[2:]], [[one] for one in SPANS]])
def test_pieces_end_as_one_import_and_nothing_that_comes_again_counts_twice(store: Store, pieces):
    for piece in (*pieces, SPANS, SPANS[1:2]):
        arrive(store, *piece)
    assert recording_of(store, SCOPE) == only(request(*SPANS))
    (again,) = import_recordings(store, read(request(*SPANS)), replay=False).conversations
    assert again.status == "unchanged"


def test_in_any_order_the_sums_are_the_same(tmp_path: Path):
    for number, order in enumerate(permutations(SPANS)):
        with Store.open(tmp_path / str(number)) as store:
            for one in order:
                arrive(store, one)
            runs = [s.scope for s in store.streams() if s.scope.run == RECORDED]
            counts = [store.state(scope).counts for scope in runs]
            assert (sum(c.calls for c in counts), sum(c.prompt_tokens for c in counts)) == (2, 42)


def test_figures_of_a_conversation_that_came_in_without_them_are_added_at_their_step(store: Store):
    whole = only(request(*SPANS))
    bare = replace(whole, turns=tuple(replace(turn, model_calls=()) for turn in whole.turns))
    import_recordings(store, [bare], replay=False)
    one, again = (import_recordings(store, [whole], replay=False).conversations[0] for _ in range(2))
    assert (one.status, one.new_turns, again.status) == ("grown", 0, "unchanged")
    assert calls(recording_of(store, SCOPE)) == {2: CALLS[1], 4: CALLS[3]}


def test_a_span_around_a_call_costs_nothing_more():
    outer = chat(1, "hi", "hello", attributes=figures(12, 3))
    inner = chat(2, "hi", "hello", attributes=figures(12, 3), parentSpanId=outer["spanId"])
    assert calls(only(request(outer, inner))) == {1: [("m", 12, 3, None, 5_000.0, "")]}


def test_no_secret_stays_in_why_a_call_failed(store: Store):
    key = "sk-" + "a1" * 20
    import_recordings(store, read(request(*SPANS[:1], FAILED | {"status": {"code": 2, "message": key}})), replay=False)
    told = [call for turn in recording_of(store, SCOPE).turns for call in turn.model_calls if call.error]
    assert [key in call.message for call in told] == [False]


# ── our own lines ─────────────────────────────────────────────────────────────────────────────────────

amounts = st.floats(0, 1e6)
made_calls = st.builds(
    ModelCall, st.text("abc", min_size=1), st.text("abc"), st.integers(0, 9), st.integers(0, 9),
    st.none() | amounts, amounts, amounts, st.text("abc"), st.text("abc"), st.text("abc"),
)  # fmt: skip


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(recordings(), st.lists(made_calls, min_size=1, max_size=3))
def test_reading_what_was_written_gives_the_same_calls(made: Recording, told: list[ModelCall]):
    last = replace(made.turns[-1], model_calls=tuple(told))
    made = replace(made, turns=(*made.turns[:-1], last))
    assert list(read(write([made]).encode())) == [made]


@pytest.mark.parametrize("bad", [
    {"llm": "m"}, {"request": "r", "ms": float("nan")}, {"request": "r", "prompt_tokens": -1},
    {"request": "r", "cost_usd": "much"}, {"request": "r", "colour": 1},
])  # fmt: skip
def test_a_figure_that_is_none_is_named(bad: dict[str, Any]):
    (found,) = read(lines(HEADER, turn(1), turn(2, model_calls=[bad])))
    assert isinstance(found, Recording)
    assert [skipped.where for skipped in found.skipped] == ["line 3"]


# ── as traces ─────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    recordings().filter(lambda made: redacted(made) == made),
    st.lists(st.tuples(st.integers(0, 7), made_calls), min_size=1, max_size=4, unique_by=lambda one: one[1].request),
)
def test_as_traces_the_calls_come_back_the_same(made: Recording, told: list[tuple[int, ModelCall]]):
    by_turn: dict[int, tuple[ModelCall, ...]] = {}
    for place, call in told:
        number = place % len(made.turns) + 1
        by_turn[number] = (*by_turn.get(number, ()), call)
    turns = tuple(replace(turn, model_calls=by_turn.get(turn.number, ())) for turn in made.turns)
    made = replace(made, turns=turns)
    assert list(read(json.dumps(otlp([made])).encode(), format="otlp")) == [made]


def test_traces_tell_others_what_a_call_took_and_of_one_that_failed_why():
    document = json.loads(json.dumps(otlp([only(request(*SPANS))])))
    first, second, failed = of_request(document)
    told = "gen_ai.request.model", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cost"
    assert [first.attributes.get(name) for name in told] == ["m", 12, 3, 0.25]
    assert [second.attributes.get(name) for name in told] == ["m", 30, 4, None]
    assert [(one.ended_at - one.started_at).total_seconds() for one in (first, second)] == [5, 5]
    assert (failed.failed, failed.message, failed.attributes["error.type"]) == (True, "after 30 s", "Timeout")


def test_what_went_out_as_traces_changes_nothing_where_it_came_from(store: Store):
    import_recordings(store, read(request(*SPANS)), replay=False)
    (again,) = import_recordings(store, read(written(store, [SCOPE], str).encode()), replay=False).conversations
    assert (again.status, calls(recording_of(store, SCOPE))) == ("unchanged", CALLS)


def test_without_a_figure_that_is_one_the_rest_of_a_trace_stands():
    raw = json.dumps(otlp([only(request(*SPANS))])).replace('\\"prompt_tokens\\": 12', '\\"prompt_tokens\\": -12')
    found = only(raw.encode())
    assert calls(found) == {3: CALLS[3]}
    assert ["prompt_tokens of a model's call" in skipped.reason for skipped in found.skipped] == [True]
