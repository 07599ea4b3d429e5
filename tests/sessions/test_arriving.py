"""Spans wait for what says whose they are, and no longer than that helps."""

from datetime import UTC, datetime
from typing import Any

import pytest

from memory.resent import name_by
from sessions.arriving import PATIENT_S, QUIET_S, Arriving
from sessions.otel_names import CONVERSATION, INPUT_MESSAGES, OPERATION, USER
from sessions.spans import Span

SAID = {OPERATION: "chat", INPUT_MESSAGES: '[{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]'}


def call(name: str, *, trace: str = "t", parent: str = "root", **attributes: Any) -> Span:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Span(trace, name, parent, "chat", at, at, SAID | attributes)


def root(trace: str = "t", **attributes: Any) -> Span:
    return Span(trace, "root", "", "agent", None, None, attributes)


def whose(spans: list[Span]) -> list[tuple[str, str, str]]:
    return [(each.id, each.attributes.get(CONVERSATION, ""), each.attributes.get(USER, "")) for each in spans]


def test_a_call_that_names_its_conversation_waits_for_the_parent_that_names_its_user():
    arriving = Arriving()
    assert arriving.take([call("a", **{CONVERSATION: "c"})], 0) == []
    assert arriving.take([call("b", **{CONVERSATION: "c"})], 1) == []
    came = arriving.take([Span("t", "agent", "root", "agent", None, None, {USER: "ana"})], 2)
    assert whose(came) == [("a", "c", "ana"), ("b", "c", "ana"), ("agent", "c", "ana")]
    assert len(arriving) == 0


@pytest.mark.parametrize("named", [{}, {USER: "ana"}], ids=["nobody's", "ana's"])
def test_with_its_root_a_trace_waits_for_nothing(named: dict[str, str]):
    arriving = Arriving()
    arriving.take([call("a", **{CONVERSATION: "c"})], 0)
    assert whose(arriving.take([root(**named)], 1))[0] == ("a", "c", named.get(USER, ""))


def test_a_user_is_waited_for_once_in_a_conversation_that_names_none():
    arriving = Arriving()
    arriving.take([call("a", **{CONVERSATION: "c"})], 0)
    arriving.take([call("b", **{CONVERSATION: "c"})], PATIENT_S - 1)  # what comes meanwhile makes it no longer
    assert arriving.due(PATIENT_S - 0.5) == []
    assert [each.id for each in arriving.due(PATIENT_S)] == ["a", "b"]
    assert whose(arriving.take([call("d", trace="u", **{CONVERSATION: "c"})], PATIENT_S + 1)) == [("d", "c", "")]


def test_one_users_call_never_goes_to_another_who_has_a_conversation_of_that_name():
    arriving = Arriving()
    arriving.take([root("t", **{CONVERSATION: "main", USER: "ana"})], 0)
    assert arriving.take([call("b", trace="u", **{CONVERSATION: "main"})], 1) == []
    came = arriving.take([root("u", **{USER: "ben"})], 2)
    assert whose(came) == [("b", "main", "ben"), ("root", "main", "ben")]


def test_a_trace_without_a_name_goes_by_its_first_message_and_keeps_to_it():
    arriving = Arriving()
    assert arriving.take([call("a")], 0) == []
    assert whose(arriving.due(QUIET_S)) == [("a", name_by("hi"), "")]
    later = Span("t", "tool", "root", "tool", None, None, {OPERATION: "execute_tool"})
    assert whose(arriving.take([later], QUIET_S + 1)) == [("tool", name_by("hi"), "")]
