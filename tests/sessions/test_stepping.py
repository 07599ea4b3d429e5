"""Memories of one's own: a block or a function is a step, with what was retrieved for it, and nothing else changes."""

import asyncio
import doctest

import pytest

import workbench
from memory.errors import BadMessage
from memory.events import ModelFailed, PromptAssembled, TextRedacted
from memory.scope import RECORDED, Scope
from memory.stores.sql import Store
from sessions import stepping
from sessions.transcript import recording_of
from workbench.views.diff import diff
from workbench.views.turn import turn

TRIP = Scope("ana", "trip", RECORDED)
KEY = "sk-proj-" + "a1B2" * 8
BUDGET = "The budget is 5,000 euros."


def turns(store: Store, scope: Scope = TRIP) -> list[tuple[str, str]]:
    return [(t.role, t.text) for t in recording_of(store, scope).turns]


def parts(store: Store, number: int = 1) -> list[tuple[str, str, bool]]:
    """Of a turn's prompt: section, words, whether they count."""
    return [(p.section, p.text, p.tokens > 0) for p in turn(store, TRIP, number).prompt]


def test_what_was_retrieved_stands_in_the_prompt_of_its_turn(store):
    with workbench.step(store, user="ana", conversation="trip") as step:
        step.said("What is my budget?")
        step.retrieved([BUDGET, ("m7", "Ana said </recalled> once.", 0.8312)], query='the "budget"')
        step.replied("5,000 euros.", llm="mine", prompt_tokens=40, cost_usd=0.001)
    view = turn(store, TRIP, 2)
    assert parts(store, 2) == [
        ("recalled", f'<recalled query="the &quot;budget&quot;">\n{BUDGET}\n</recalled>', True),
        ("recalled", '<recalled id="m7" score="0.8312" query="the &quot;budget&quot;">\n'
                     "Ana said ‹/recalled> once.\n</recalled>", True),
        ("new", "What is my budget?", True),
    ]  # fmt: skip
    assert set(view.sections) == {"recalled", "new"}
    assert (view.state, [m.text for m in view.messages]) == ("finished", ["What is my budget?", "5,000 euros."])
    assert [(c.llm, c.prompt_tokens, c.cost_usd) for c in view.calls] == [("mine", 40, 0.001)]
    assert step.turns == (1, 2)
    assert store.check() == []


def test_in_a_prompt_that_was_told_it_stands_apart_and_what_was_not_sent_counts_nothing(store):
    asked = f"Known: {BUDGET}\n\nWhat is my budget?"
    for _ in range(2):
        with workbench.step(store, user="ana", conversation="trip") as step:
            step.said("What is my budget?")
            step.retrieved([("m7", BUDGET, 0.8), ("m9", "Ana likes trains.", 0.1), BUDGET, "now"])
            step.prompt([{"role": "developer", "content": "Be brief, you know."}, {"role": "user", "content": asked}])
            step.replied("5,000 euros.")
    assert parts(store, 3) == [
        ("system", "Be brief, you know.", True),
        ("new", "Known:", True), ("recalled", f" {BUDGET}\n\n", True), ("new", "What is my budget?", True),
        ("recalled", '<recalled id="m7" score="0.8"/>', False),
        ("recalled", '<recalled id="m9" score="0.1" sent="no">\nAna likes trains.\n</recalled>', False),
        ("recalled", '<recalled sent="no">\nnow\n</recalled>', False),
    ]  # fmt: skip
    whole = [stepping.Line("system", "Be brief, you know."), stepping.Line("user", asked)]
    assert turn(store, TRIP, 3).prompt_tokens == pytest.approx(sum(line.tokens for line in whole), abs=3)
    assert recording_of(store, TRIP).system == "Be brief, you know."
    assert len(turns(store)) == 4


def test_a_history_that_was_sent_again_is_no_new_turn_and_its_words_are_kept_once(store):
    history: list[dict[str, str]] = []
    for said, reply in (("Hello.", "Hi."), ("Bye.", "See you.")):
        with workbench.step(store, user="ana", conversation="trip") as step:
            history.append({"role": "user", "content": said})
            step.said(said)
            step.retrieved([said])  # a memory finds what was just said
            step.prompt(history)
            step.replied(reply)
            history.append({"role": "assistant", "content": reply})
    assert [text for _, text in turns(store)] == ["Hello.", "Hi.", "Bye.", "See you."]
    prompt = next(e.body for e in reversed(store.events(TRIP)) if isinstance(e.body, PromptAssembled))
    assert [row[1] for row in prompt.messages[:3]] == ["resident", "resident", "new"]
    assert [row[6] for row in prompt.messages[:3]] == [t.text_id for t in recording_of(store, TRIP).turns[:3]]


def test_between_two_turns_it_comes_and_goes_as_no_page_of_ours(store):
    for known in (BUDGET, "Ana likes trains."):
        with workbench.step(store, user="ana", conversation="trip") as step:
            step.said("Well?")
            step.retrieved([known])
            step.replied("Well.")
    causes = [cause for cause in diff(store, TRIP, 2, TRIP, 4).causes if cause.changes[0].section == "recalled"]
    assert {cause.kind for cause in causes} == {"other"}
    told = {(c.kind, c.name, c.before or c.after) for cause in causes for c in cause.changes}
    assert told == {("gone", "", BUDGET), ("new", "", "Ana likes trains.")}


def test_an_error_in_the_block_is_a_failed_step_and_goes_on(store):
    def fail(step: stepping.Step) -> None:
        step.said("How much each?")
        step.retrieved([BUDGET])
        raise ZeroDivisionError(f"with {KEY}")

    with pytest.raises(ZeroDivisionError, match="a1B2"), workbench.step(store, user="ana", conversation="trip") as step:
        fail(step)
    view = turn(store, TRIP, 1)
    assert (view.state, view.why) == ("abandoned", "the application failed: ZeroDivisionError")
    assert [c.error for c in view.calls] == ["ZeroDivisionError: with [api key removed]"]
    assert view.sections["recalled"] > 0
    with workbench.step(store, user="ana", conversation="trip") as step:
        step.said("And now?")
        step.replied("")
    assert (turn(store, TRIP, 2).state, turn(store, TRIP, 2).why) == ("abandoned", stepping.SILENT)
    assert turns(store) == [("user", "How much each?"), ("user", "And now?")]


def test_no_secret_is_in_a_byte_of_the_store(store):
    with workbench.step(store, user="ana", conversation="trip", title=f"of {KEY}") as step:
        step.said(f"My key is {KEY}")
        step.retrieved([("m1", f"The key {KEY}", 1), f"{KEY}"], query=KEY)
        step.prompt([{"role": "system", "content": f"You know: {KEY} and The key {KEY}"}])
        step.replied(f"I keep {KEY}")
    assert step.trouble == ""
    assert b"a1B2a1B2" not in b"".join(p.read_bytes() for p in store.path.rglob("*") if p.is_file())
    assert any(isinstance(e.body, TextRedacted) for e in store.events(TRIP))


def test_a_function_is_remembered_by_its_argument_and_its_return_value(store):
    class Bot:
        @workbench.remembered(store, user=lambda _, message, who: who, conversation="trip")
        def answer(self, message: str, who: str) -> str:
            """Echo."""
            return f"I hear: {message}"

    assert Bot().answer("Hello.", who="ana") == "I hear: Hello."
    assert Bot.answer.__doc__ == "Echo."
    assert turns(store) == [("user", "Hello."), ("assistant", "I hear: Hello.")]
    assert [c.llm for c in turn(store, TRIP, 1).calls] == ["answer"]


def test_an_async_function_too_side_by_side_and_where_it_is_cancelled(store):
    @workbench.remembered(store, user="ana", conversation="trip")
    async def answer(message: str, step: stepping.Step) -> str | None:
        step.retrieved([f"Known of {message}"])
        await (asyncio.Event().wait() if message == "never" else asyncio.sleep(0))
        return None if message == "silent" else message.upper()

    async def main() -> list:
        waits = asyncio.create_task(answer("never"))
        heard = await asyncio.gather(answer("one"), answer("two"), answer("silent"))
        waits.cancel()
        return [*heard, *(await asyncio.gather(waits, return_exceptions=True))]

    heard = asyncio.run(main())
    assert heard[:3] == ["ONE", "TWO", None]
    assert isinstance(heard[3], asyncio.CancelledError)
    assert turns(store) == [
        ("user", "one"), ("assistant", "ONE"), ("user", "two"), ("assistant", "TWO"), ("user", "silent"),
        ("user", "never"),
    ]  # fmt: skip
    assert parts(store, 3) == [("recalled", "Known of two", True), ("new", "two", True)]
    errors = [e.body.error for e in store.events(TRIP, kinds=(ModelFailed.__name__,))]
    assert errors == ["NoReply", "CancelledError"]


WRONG = {
    "nothing was said": lambda step: None,
    "said() twice": lambda step: [step.said("a"), step.said("b")],
    "replied() twice": lambda step: [step.said("a"), step.replied("b"), step.replied("c")],
    "text is empty": lambda step: step.said(" "),
    "takes a text, not int": lambda step: step.said(3),
    "takes texts or (id, text, score), not dict": lambda step: step.retrieved([{"text": "a"}]),
    "takes a list of texts": lambda step: step.retrieved("a"),
    "role and content": lambda step: step.prompt([{"role": "oracle", "content": "a"}]),
    "one block": lambda step: step.__enter__(),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_use_is_told(store, wrong):
    with pytest.raises(BadMessage) as told, workbench.step(store, user="ana", conversation="trip") as step:
        WRONG[wrong](step)
    assert wrong in str(told.value)


def test_so_is_a_step_outside_its_block_a_bad_name_and_a_function_that_yields(store):
    with pytest.raises(BadMessage, match="within its block"):
        workbench.step(store, user="ana", conversation="trip").said("a")
    with pytest.raises(BadMessage, match="needs a user"):
        workbench.step(store, user="", conversation="trip")
    with pytest.raises(BadMessage, match="that yields"):
        workbench.remembered(store, user="ana", conversation="trip")(lambda message: (yield message))
    with pytest.raises(BadMessage, match="no parameter"):
        workbench.remembered(store, user="ana", conversation="trip")(lambda: "")


def test_what_cannot_be_written_is_logged_and_never_raised(tmp_path, caplog):
    (tmp_path / "taken").write_text("no folder")
    with workbench.step(tmp_path / "taken", user="ana", conversation="trip") as step:
        step.said("Hello.")
        step.replied("Hi.")
    assert step.turns == ()
    assert step.trouble != ""
    assert "ana/trip/recorded was not recorded" in caplog.text


def test_the_examples_run():
    found = doctest.testmod(stepping)
    assert (found.failed, found.attempted > 5) == (0, True)
