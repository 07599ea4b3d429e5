"""Entries that are like what is known, judged by a model behind real HTTP: in the job that draws facts, in one call."""

import json
from io import StringIO

import pytest

from memory import Engine
from memory.stores import jobs

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance is deprecated"),
]

SOFA, BOX = "The cat Miso sleeps on the sofa", "The cat Miso sleeps in a box"
BOTH = "The cat Miso sleeps on the sofa and in a box"
TEA, LATER = "Grandma drinks tea with milk", "Grandma drinks tea with lemon"


def drawn(*texts):
    plain = {"kind": "fact", "subject": "user", "attribute": "", "value": "", "negated": False, "action": "new",
             "target": "", "turn": ""}  # fmt: skip
    return json.dumps({"facts": [{**plain, "quote": text, "text": text} for text in texts]})


class Mind:
    """Draws each of the known sentences that the newest turns say; answers about pairs as it was told to."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def __call__(self, body):
        prompt = body["messages"][-1]["content"]
        if "What becomes of the two?" in prompt:
            self.asked.append(prompt)
            return self.answers.pop(0)
        if "worth remembering" in prompt:
            turns = prompt.partition("\nKnown already:")[0]
            return drawn(*(t for t in (SOFA, BOX, TEA, LATER) if t in turns))
        return "ok"


@pytest.fixture
def opened(tmp_path, server):
    engine = Engine.open(
        tmp_path / "store", user="ana", conversation="trip", llm="openai/test", options=server.options, timeout_s=5,
        remember="llm", remember_turns=1, retry_s=0, window_tokens=8_000, background=False,
    )  # fmt: skip
    engine._following = StringIO()  # nothing but `close`: what is derived from the log has tests of its own
    yield engine
    engine.close()


def says(engine, server, mind, *messages):
    server.answers(mind)
    for message in messages:
        engine.say(message)
        engine.work()
    return [engine.memory.text(f) for f in reversed(engine.memory.facts())]


def verdicts(*rows):
    return json.dumps({"verdicts": [dict(zip(("pair", "verdict", "text"), (*row, ""), strict=False)) for row in rows]})


@pytest.mark.parametrize(
    ("row", "holding", "cause"),
    [
        (("n1", "same"), [SOFA], "write"),
        (("n1", "replaces"), [BOX], "supersede"),
        (("n1", "merge", BOTH), [BOTH], "merge"),
        (("n1", "both"), [SOFA, BOX], "write"),
    ],
)
def test_the_verdict_is_applied_recorded_and_undone(opened, server, row, holding, cause):
    assert says(opened, server, Mind(verdicts(row)), SOFA, BOX) == holding
    change = list(opened.memory.knowledge.changes.values())[-1]
    assert (change.cause, change.decided_by, change.old[0]) == (cause, "model:openai/test", 1)
    opened.memory.undo(change.number)
    assert [opened.memory.text(f) for f in opened.memory.facts()] == [SOFA]


def test_all_pairs_of_a_job_are_one_call_and_what_is_not_like_anything_costs_none(opened, server):
    mind = Mind(verdicts(("n1", "both"), ("n2", "replaces")))
    assert says(opened, server, mind, f"{SOFA}. {TEA}.") == [SOFA, TEA]
    assert mind.asked == []
    assert says(opened, server, mind, f"{BOX}. {LATER}.") == [SOFA, BOX, LATER]
    [prompt] = mind.asked
    assert "n1 · f1 (2" in prompt
    assert f"): {SOFA}\n   later (2" in prompt
    assert f"): {LATER}" in prompt


def test_what_cannot_be_read_twice_is_a_failed_record_with_its_words_and_rules_decide(opened, server):
    mind = Mind("I would say both.", '{"verdicts": [{"pair": "n1"')
    assert says(opened, server, mind, SOFA, BOX) == [SOFA, BOX]
    assert len(mind.asked) == 2
    assert "Your last answer could not be used" in mind.asked[1]
    [line] = [line for line in opened.memory.ledger() if line.raw]
    assert line.outcomes[0].verdict == "failed"
    assert line.outcomes[0].reason.startswith("no verdict on 1 that are like what is known: ")
    assert opened.memory.words(line.raw) == '{"verdicts": [{"pair": "n1"'
    assert "failed" in [job.state for job in jobs.of_run(opened.store, opened.scope) if job.kind == jobs.FACTS]
    assert list(opened.memory.knowledge.changes.values())[-1].decided_by == "rule:new"


def test_a_row_that_cannot_be_taken_stands_refused_in_the_ledger_and_the_rules_decide_that_pair(opened, server):
    mind = Mind(verdicts(("n1", "merge", "The user wants to be called Nono"), ("n5", "same")))
    assert says(opened, server, mind, SOFA, BOX) == [SOFA, BOX]
    refused = [o for line in opened.memory.ledger() for o in line.outcomes if o.verdict == "refused"]
    assert [opened.memory.words(o.text)[:13] for o in refused] == ['{"pair": "n1"', '{"pair": "n5"']
    assert "no pair 'n5' was offered" in refused[1].reason


def test_a_model_that_fails_at_the_verdict_loses_nothing_of_what_it_drew(opened, server):
    says(opened, server, Mind(), SOFA)
    opened.say(BOX)
    server.in_turn(lambda s: s.says(drawn(BOX)), lambda s: s.fails(400, "no"))
    opened.work()
    assert [opened.memory.text(f) for f in reversed(opened.memory.facts())] == [SOFA, BOX]
    assert any(o.verdict == "failed" for line in opened.memory.ledger() for o in line.outcomes)
