"""Calls of an application as conversations: each turn once, whatever the application sends again."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from memory.errors import StoreFull
from memory.events import ModelCalled, ModelFailed, PromptAssembled, StepAbandoned, TextRedacted
from memory.models.recorder import CallMade, Sent
from memory.prompt import Message
from memory.scope import RECORDED, Scope
from memory.stores.sql import Store
from sessions.recorded import Recorder
from sessions.transcript import recording_of

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
KEY = "sk-proj-" + "a1B2" * 8
FAILS = {"error": "RateLimitError", "message": f"too many calls with {KEY}"}


class Chat:
    """An application that sends all it has said, as chat APIs want it."""

    def __init__(self, recorder: Recorder, conversation: str = "", user: str = "ana", system: str = "") -> None:
        self.recorder, self.named = recorder, {"conversation": conversation, "user": user}
        self.history: list[Sent] = [Sent("system", system)] if system else []
        self.calls = 0

    def call(self, reply: Sent | None, **more: object) -> CallMade:
        self.calls += 1
        began = BEGAN + timedelta(minutes=self.calls)
        made = CallMade(
            f"{id(self)}-{self.calls}", "openai/test", tuple(self.history), reply, began,
            began + timedelta(seconds=1), 11, 2, 0.001, **(self.named | more),
        )  # fmt: skip
        self.recorder.made(made)
        self.history += [reply] if reply else []
        return made

    def say(self, text: str, reply: str = "", **more: object) -> CallMade:
        self.history.append(Sent("user", text))
        return self.call(Sent("assistant", reply or f"I hear: {text}"), **more)


@pytest.fixture
def recorder(store: Store):
    made = Recorder(store, replay=False)
    yield made
    made._worker and made._queue.put(None)


def turns(store: Store, conversation: str, user: str = "ana") -> list[tuple[str, str]]:
    return [(t.role, t.text) for t in recording_of(store, Scope(user, conversation, RECORDED)).turns]


def log(store: Store, conversation: str, kind: type, user: str = "ana") -> list:
    return [e.body for e in store.events(Scope(user, conversation, RECORDED), kinds=(kind.__name__,))]


def test_each_turn_is_there_once_with_what_its_call_cost(store, recorder):
    chat = Chat(recorder, "trip", system="Be brief.")
    chat.say("My budget is 5,000 euros.", "Noted.")
    chat.say("And I like trains.", "Trains, then.")
    assert recorder.flush()
    assert turns(store, "trip") == [
        ("user", "My budget is 5,000 euros."), ("assistant", "Noted."),
        ("user", "And I like trains."), ("assistant", "Trains, then."),
    ]  # fmt: skip
    calls = log(store, "trip", ModelCalled)
    assert [(c.llm, c.prompt_tokens, c.completion_tokens, c.cost_usd, c.ms) for c in calls] == [
        ("openai/test", 11, 2, 0.001, 1000.0)
    ] * 2
    assert not store.state(Scope("ana", "trip", RECORDED)).open_step
    assert store.check() == []


def test_the_prompt_that_was_sent_is_in_the_log_and_says_each_word_once(store, recorder):
    chat = Chat(recorder, "trip", system="Be brief.")
    chat.say("Hello.", "Hi.")
    chat.say("Bye.", "See you.")
    recorder.flush()
    scope = Scope("ana", "trip", RECORDED)
    words = store.words(scope)
    prompt = log(store, "trip", PromptAssembled)[-1]
    messages = [Message.of_row(row) for row in prompt.messages]
    assert [(m.section, m.content(words.__getitem__)) for m in messages] == [
        ("system", "Be brief."), ("resident", "Hello."), ("resident", "Hi."), ("new", "Bye."),
    ]  # fmt: skip
    said = [t.text_id for t in recording_of(store, scope).turns]
    assert [m.parts[0] for m in messages[1:]] == said[:3]


def test_what_users_say_becomes_facts(store, recorder):
    Chat(recorder, "trip").say("My budget is 5,000 euros.")
    recorder.flush()
    assert [f.value for f in store.knowledge("ana").facts.values()] != []


def test_a_call_heard_twice_is_kept_once_by_another_process_too(store, recorder):
    made = Chat(recorder, "trip").say("Hello.")
    recorder.made(made)
    recorder.flush()
    other = Recorder(store, replay=False)
    other.made(made)
    other.flush()
    assert len(turns(store, "trip")) == 2
    assert (recorder.status.repeated, other.status.repeated) == (1, 1)


def test_secrets_are_not_in_a_byte_of_the_store(store, recorder):
    chat = Chat(recorder, "trip", system=f"Use {KEY}.")
    chat.say(f"My key is {KEY}", f"I keep {KEY}")
    chat.call(Sent("assistant", None, (("c1", "login", f'{{"key": "{KEY}"}}'),)))
    chat.call(None, **FAILS)
    recorder.flush()
    held = b"".join(p.read_bytes() for p in store.path.rglob("*") if p.is_file())
    assert b"a1B2a1B2" not in held
    assert sum(r.counts["api key"] for r in log(store, "trip", TextRedacted)) >= 4
    chat.say("Are you there?")
    recorder.flush()
    assert recorder.status.conversations == 1  # what was redacted is known again


def test_a_call_that_failed_and_was_tried_again_is_one_step(store, recorder):
    chat = Chat(recorder, "trip")
    chat.history.append(Sent("user", "Hello."))
    chat.call(None, **FAILS)
    chat.call(Sent("assistant", "Hi."))
    recorder.flush()
    assert turns(store, "trip") == [("user", "Hello."), ("assistant", "Hi.")]
    assert [(f.error, f.ms) for f in log(store, "trip", ModelFailed)] == [("RateLimitError", 1_000.0)]
    assert log(store, "trip", StepAbandoned) == []
    assert recorder.status.failed_calls == 1


def test_a_message_that_was_never_answered_ends_with_the_next(store, recorder):
    chat = Chat(recorder, "trip")
    chat.history.append(Sent("user", "Hello."))
    chat.call(None, **FAILS)
    chat.say("Anybody?", "Yes.")
    recorder.flush()
    assert [text for _, text in turns(store, "trip")] == ["Hello.", "Anybody?", "Yes."]
    assert len(log(store, "trip", StepAbandoned)) == 1
    assert store.check() == []


def test_tool_calls_and_their_results_are_turns_of_one_step(store, recorder):
    chat = Chat(recorder, "trip")
    chat.history.append(Sent("user", "How warm is it in Kyoto?"))
    chat.call(Sent("assistant", None, (("c1", "weather", '{"city": "Kyoto"}'),)))
    chat.history.append(Sent("tool", "21 degrees", answers="c1"))
    chat.call(Sent("assistant", "21 degrees."))
    recorder.flush()
    found = recording_of(store, Scope("ana", "trip", RECORDED)).turns
    assert [t.role for t in found] == ["user", "assistant", "tool", "assistant"]
    assert found[1].calls[0].arguments == '{"city": "Kyoto"}'
    assert found[2].answers == "c1"
    assert store.state(Scope("ana", "trip", RECORDED)).step == 1


def test_an_edit_begins_a_branch_and_overwrites_nothing(store, recorder):
    chat = Chat(recorder, "trip")
    chat.say("Hello.", "Hi.")
    chat.say("I like trains.", "Good.")
    kept = chat.history
    chat.history = [*kept[:2]]
    chat.say("I like planes.", "Fine.")
    chat.say("And ships.", "Sure.")
    recorder.flush()
    assert [text for _, text in turns(store, "trip")] == ["Hello.", "Hi.", "I like trains.", "Good."]
    assert [text for _, text in turns(store, "trip~2")][2:] == ["I like planes.", "Fine.", "And ships.", "Sure."]
    chat.history = [*kept]
    chat.say("By night?", "Yes.")  # the first branch goes on
    recorder.flush()
    assert turns(store, "trip")[-1] == ("assistant", "Yes.")
    assert recorder.status.branched == 1


def test_an_application_that_sends_its_newest_messages_alone_goes_on(store, recorder):
    chat = Chat(recorder, "trip")
    for n in range(4):
        chat.say(f"Message {n}.")
        chat.history = [Sent("system", "They talked."), *chat.history[-2:]]
    recorder.flush()
    assert len(turns(store, "trip")) == 8
    chat.history = []
    chat.say("Only this.")
    recorder.flush()
    assert len(turns(store, "trip")) == 10


def test_without_names_calls_are_grouped_by_the_history_that_they_send_again(store, recorder):
    first, second = Chat(recorder), Chat(recorder)
    for n in range(3):
        first.say("hello" if not n else f"first {n}")
        second.say("hello" if not n else f"second {n}")
    recorder.flush()
    names = {s.scope.conversation for s in store.streams("ana")}
    assert len(names) == 2
    assert {len(turns(store, name)) for name in names} == {6}
    assert recorder.status.unnamed == 2
    assert "for the calls do not name them" in recorder.status.summary
    later = Recorder(store, replay=False)  # another day: the conversation is found again
    first.recorder = later
    first.say("first again")
    later.flush()
    assert {len(turns(store, name)) for name in names} == {6, 8}
    assert len(store.streams("ana")) == 2


def test_a_call_that_is_told_late_adds_its_cost_and_no_turn(store, recorder):
    chat, told = Chat(recorder, "trip"), []
    recorder_made, recorder.made = recorder.made, told.append
    chat.say("Hello.")
    chat.say("Bye.")
    recorder.made = recorder_made
    for made in reversed(told):
        recorder.made(made)
    recorder.flush()
    assert len(turns(store, "trip")) == 4
    assert len(log(store, "trip", ModelCalled)) == 2


def test_several_threads_lose_nothing(store, recorder):
    chats = [Chat(recorder, f"trip {n}") for n in range(4)]

    def talk(chat: Chat) -> None:
        for n in range(5):
            chat.say(f"Message {n}.")

    threads = [threading.Thread(target=talk, args=(chat,)) for chat in chats]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorder.flush(30)
    assert {len(turns(store, f"trip {n}")) for n in range(4)} == {10}
    assert recorder.status.recorded == 20


def test_two_processes_write_one_conversation(store, recorder):
    other = Recorder(store, replay=False)
    chat = Chat(recorder, "trip")
    for n in range(4):
        chat.recorder = (recorder, other)[n % 2]
        chat.say(f"Message {n}.")
        chat.recorder.flush()
    assert len(turns(store, "trip")) == 8
    assert store.check() == []


def test_a_full_queue_drops_and_counts_rather_than_wait(store):
    recorder = Recorder(store, replay=False, waiting=1)
    with recorder._writing:  # the store is busy: at most one call is in hand and one waits
        chat = Chat(recorder, "trip")
        for n in range(5):
            chat.say(f"Message {n}.")
        assert recorder.status.dropped >= 3
    recorder.flush()
    assert recorder.status.dropped + recorder.status.recorded == 5
    assert "dropped" in recorder.status.summary
    assert turns(store, "trip")[0] == ("user", "Message 0.")


def test_what_cannot_be_written_is_told_and_the_next_call_is_kept(store, recorder, monkeypatch):
    def full(*args: object) -> None:
        raise StoreFull("the disk is full")

    chat = Chat(recorder, "trip")
    with monkeypatch.context() as patched:
        patched.setattr(store, "streams", full)
        chat.say("Hello.")
        recorder.flush()
    recorder.made(CallMade("odd", "m", (Sent("oracle", "?"),), None, BEGAN, BEGAN, user="ana", conversation="trip"))
    chat.say("Again.")
    recorder.flush()
    assert recorder.status.lost == 2
    assert "disk is full" in recorder.status.trouble[0]
    assert "oracle" in recorder.status.trouble[1]
    assert [text for _, text in turns(store, "trip")][::2] == ["Hello.", "Again."]  # the next call sent it again


def test_a_replay_shows_what_paging_would_have_done_and_grows_with_the_chat(store, small):
    recorder = Recorder(store, settings=small)
    chat = Chat(recorder, "trip")
    for n in range(12):
        chat.say(f"Message {n} is about {'peanuts and trains ' * 20}")
    recorder.flush()
    main = store.main_run("ana", "trip")
    assert main.run.startswith("replay-")
    assert store.state(main).turn == 24
    chat.history.append(Sent("user", "One more"))
    chat.call(Sent("assistant", None, (("c1", "weather", "{}"),)))  # an open step waits for its end
    recorder.flush()
    chat.history.append(Sent("tool", "warm", answers="c1"))
    chat.call(Sent("assistant", "Warm."))
    recorder.flush()
    assert store.state(main).turn == 28
    assert [s.scope.run for s in store.streams("ana", "trip")].count(main.run) == 1
    assert len(store.streams("ana", "trip")) == 2
    assert store.state(main).counts.evictions > 0
    recorder.close()


def test_the_thread_starts_anew_where_it_died(store, recorder):
    chat = Chat(recorder, "trip")
    chat.say("Hello.")
    recorder.flush()
    worker = recorder._worker
    recorder._queue.put(None)
    worker.join(5)
    chat.say("Still there?")
    assert recorder.flush()
    assert len(turns(store, "trip")) == 4


def test_what_is_told_after_the_program_ended_is_written_at_once(store, small):
    """LiteLLM tells the last calls of an event loop at exit, when no thread may start any more."""
    recorder = Recorder(store, settings=small)
    recorder._at_exit()
    Chat(recorder, "trip").say("Hello.")
    assert turns(store, "trip") == [("user", "Hello."), ("assistant", "I hear: Hello.")]
    assert store.state(store.main_run("ana", "trip")).turn == 2
    assert recorder._worker is None
    recorder.close()
