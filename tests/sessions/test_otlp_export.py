"""A recording goes out as traces and comes back the same; the spans are what others read."""

import json

from hypothesis import HealthCheck, given, settings

from memory.stores.sql import Store
from sessions.otlp_export import otlp, write
from sessions.readers import read
from sessions.recording import Recording
from sessions.spans import Span, of_request
from sessions.transcript import redacted
from tests.sessions.test_readers import recordings


def spans(recording: Recording) -> list[Span]:
    return [span for span in of_request(otlp([recording])) if isinstance(span, Span)]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(recordings().filter(lambda made: redacted(made) == made))  # a number may be a card's
def test_reading_what_was_written_gives_the_same_recording(made: Recording):
    found = list(read(json.dumps(otlp([made])).encode(), format="otlp"))
    assert found == [made]


def test_the_demo_comes_back_whole(demos: dict[str, Recording]):
    found = list(read(json.dumps(otlp(demos.values())).encode()))
    assert {one.conversation: one for one in found if isinstance(one, Recording)} == demos


def test_a_reply_is_a_chat_span_and_a_recall_a_search_of_memory(demos: dict[str, Recording]):
    demo = demos["house-move"]
    found = spans(demo)
    replies = [span for span in found if "gen_ai.output.messages" in span.attributes]
    recalls = [span for span in found if span.name == "search_memory"]
    assert len(replies) == sum(turn.role == "assistant" for turn in demo.turns)
    assert len(recalls) == sum(len(turn.recalls) for turn in demo.turns) > 0
    assert {span.parent for span in recalls} <= {span.id for span in found}
    assert len({span.id for span in found}) == len(found)
    assert {span.attributes["gen_ai.conversation.id"] for span in found} == {"house-move"}


def test_what_must_not_leave_is_taken_out_of_every_text(demo_store: Store):
    scopes = [stream.scope for stream in demo_store.streams() if stream.scope.run == "recorded"]
    told = write(demo_store, scopes, lambda text: text.replace("budget", "xxxxxx"))
    assert "budget" in write(demo_store, scopes, lambda text: text)
    assert "budget" not in told
