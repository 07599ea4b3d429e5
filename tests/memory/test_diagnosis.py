"""By symptom: the checks that are there, in their order, and for each a log in which it is suspect, and one where not.

Most logs are made by an engine. Where it takes a clock, money or hundreds of steps, records are written by hand.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memory import checks
from memory.diagnosis import SYMPTOMS, diagnose
from memory.errors import NotFound, UnknownName
from memory.events import (
    Event,
    FactsPlaced,
    MemoryWorkFailed,
    MessageReceived,
    ModelCalled,
    ModelFailed,
    PagePagedIn,
    PagesRecalled,
    PagesRetrieved,
    PlacedFact,
    PromptAssembled,
    Refusal,
    StepFinished,
)
from memory.facts import FOREVER, Belief, Candidate, Fact, Source
from memory.finding import NOT_MEASURED, OK, SUSPECT, Finding, figure, share
from memory.knowledge import Conflict, Knowledge
from memory.observed import Observed, observe
from memory.pages import Bookmark, Page, PageTable
from memory.scope import LIVE, Scope
from memory.settings import Settings
from memory.state import Counts, State
from memory.steps import steps
from memory.stores.vector_health import VectorHealth
from memory.turns import Turn
from tests.memory.conftest import START, first
from tests.memory.test_why import chat


def asked(engine, symptom, turn=None):
    return diagnose(engine.store, engine.scope, symptom, turn=turn)


def told(engine, check) -> Finding:
    return check(observe(engine.store, engine.scope))


# ── by hand ───────────────────────────────────────────────────────────────────────────────────────────


def prompt(tokens: int = 1_000, **sections: int) -> PromptAssembled:
    return PromptAssembled(0, (), {"resident": tokens - sum(sections.values()), **sections}, tokens, "")


def call(task: str = "reply", tokens: int = 1_000, ms: float = 100.0, cost: float | None = 0.01) -> ModelCalled:
    return ModelCalled(0, "test", tokens, 10, cost, ms, "stop", 0, task=task)


def seen(*per_step: list[Any], settings: Any = None, store: Any = None, **known: Any) -> Observed:
    """A run whose steps hold these records; `known` stands for what would be read from a store."""
    events = []
    for nth, bodies in enumerate(per_step, 1):
        at = START + timedelta(minutes=nth)
        opens = MessageReceived(Turn(2 * nth - 1, "user", nth, 10, at))
        events += [Event(0, 0, nth, at, body) for body in (opens, *bodies)]
    state = State(turn=2 * len(per_step), settings=settings or Settings(window_tokens=8_000), **known.pop("state", {}))
    found = Observed(store, Scope("ana", "trip", known.pop("run", LIVE)), 1, state, tuple(steps(events)))
    found.__dict__.update({"jobs": [], "ledger": []} | known)
    return found


def recalled(*came: int, right: bool | None = None, by: str = "model", **rest: Any) -> PagesRecalled:
    values = {"asked": (), "resident": (), "opened": (), "refused": (), "note": "", **rest}
    return PagesRecalled("c", by, values["asked"], 0, (), values["resident"], came, values["opened"],
                         values["refused"], right, values["note"])  # fmt: skip


def paged(page: int, *, thrash: bool) -> PagePagedIn:
    return PagePagedIn(page, "model", 100, thrash, 1)


def searched(best: float | None = None) -> PagesRetrieved:
    """One that found p1, or whose best page covered so much."""
    limits = {"min_coverage_idf_share": 0.2} | ({} if best is None else {"best_coverage_idf_share": best})
    return PagesRetrieved(0, "message", "fusion", "", 3, () if best is not None else (1,), (), (), {"scope": 4}, limits)


def placed(*facts: tuple[int, str, str, int]) -> FactsPlaced:
    return FactsPlaced(1, (), 0, tuple(PlacedFact(n, why, stage=stage, tokens=t) for n, why, stage, t in facts))


def finished(**ms: float) -> StepFinished:
    return StepFinished(ms)


def page(number: int, bookmarked: int = 1, **rest: Any) -> Page:
    turns = (Turn(number, "user", number, 10, START),)
    return Page(number, turns, closed=True, bookmark=Bookmark(number, bookmarked, 0, 9, "rarity"), **rest)


def pages(*bookmarked: int) -> dict[str, Any]:
    return {"pages": PageTable.of(page(n, text) for n, text in enumerate(bookmarked, 1))}


failed = ModelFailed(0, "test", "ModelOverloaded", "429", again_in_s=2.0)
unknown = recalled(refused=(Refusal("p99", "no such page; pages go from p1 to p3"),), asked=("p99",))
cut = recalled(refused=(Refusal("p4", "no room"),))
work_broke = MemoryWorkFailed("bookmark", (1,), "test", "no JSON")
healthy = VectorHealth("hash", wanted=10, there=10)
GROWING = [[prompt(1_000 + 100 * n), finished(plan=10.0 + n * n)] for n in range(40)]
STEADY = [[prompt(), finished(plan=10.0)] for _ in range(40)]

# check: a log where it is suspect, one where it is not, the remedy that it names for the first
CASES: dict[str, tuple[Any, Observed, Observed, str]] = {
    "searches": (checks.searches_pass, seen(*[[searched(0.1234)]] * 6), seen(*[[searched()]] * 6), "min_coverage=0.12"),
    "empty recalls": (checks.recalls_bring, seen(*[[recalled()]] * 6), seen(*[[recalled(2)]] * 6), "recall_k=5"),
    "wrong recalls": (
        checks.recalls_are_right, seen(*[[recalled(2, right=False)]] * 6), seen(*[[recalled(2, right=True)]] * 6),
        "recall_k=5",
    ),
    "nobody asks": (
        checks.history_is_asked_for, seen(*[[prompt(stubs=9)]] * 9), seen(*[[prompt(stubs=9), recalled(1)]] * 9),
        "retrieve_k=1",
    ),
    "facts cut": (
        checks.facts_have_room, seen(*[[prompt(), placed((1, "match", "budget", 40), (2, "match", "", 9))]] * 6),
        seen(*[[prompt(), placed((1, "match", "", 40))]] * 6), "facts_tokens=440",
    ),
    "pages cut": (checks.pages_have_room, seen(*[[cut]] * 6), seen(*[[unknown]] * 6), "window_tokens=10000"),
    "vectors missing": (
        checks.vectors_there, seen([], vectors=VectorHealth("hash", 10, 8)), seen([], vectors=healthy),
        "workbench reindex",
    ),
    "vectors bad": (
        checks.vectors_there, seen([], vectors=VectorHealth("hash", 10, 10, twin_texts=2)), seen([], vectors=healthy),
        "workbench verify",
    ),
    "slow model": (
        checks.model_time, seen(*[[finished(model=30_000.0)]] * 5), seen(*[[finished(model=900.0)]] * 5),
        "window_tokens=4000",
    ),
    "rounds": (checks.rounds, seen(*[[prompt(), call(), call()]] * 5), seen(*[[prompt(), call()]] * 5), "retrieve_k=1"),
    "failures": (checks.waits, seen(*[[call(), failed]] * 5), seen(*[[call()]] * 5), "llm=another"),
    "overhead": (
        checks.overhead, seen(*[[finished(recall=300.0, model=9.0)]] * 5), seen(*[[finished(recall=9.0)]] * 5),
        "recall_rounds=2",
    ),
    "work in step": (
        checks.work_in_step, seen(*[[call("eviction", ms=80.0), finished(plan=90.0, model=10.0)]] * 5),
        seen(*[[finished(plan=90.0)]] * 5), "eviction=lru",
    ),
    "prompts grow": (checks.prompt_growth, seen(*GROWING), seen(*STEADY), "high_watermark=0.75"),
    "time grows": (checks.overhead_growth, seen(*GROWING), seen(*STEADY), "workbench bench engine"),
    "sent again": (
        checks.extra_rounds_tokens, seen(*[[prompt(), prompt()]] * 5), seen(*[[prompt()]] * 5), "retrieve_k=1",
    ),
    "unused": (
        checks.recalled_unused, seen([], state={"counts": Counts(guests_used=1, guests_unused=9)}),
        seen([], state={"counts": Counts(guests_used=9, guests_unused=1)}), "recall_k=2",
    ),
    "thrash": (
        checks.thrash, seen(*[[paged(3, thrash=True)]] * 6), seen(*[[paged(3, thrash=False)]] * 6), "guest_steps=3",
    ),
    "work tokens": (
        checks.work_tokens, seen(*[[call(), call("extraction")]] * 5), seen(*[[call()]] * 5), "remember=rules",
    ),
    "recalled": (
        checks.recalled_share, seen(*[[prompt(recalled=600)]] * 5), seen(*[[prompt(recalled=60)]] * 5), "recall_k=2",
    ),
    "facts": (checks.facts_share, seen([prompt(facts=600)]), seen([prompt(facts=60)]), "facts_tokens=200"),
    "stubs": (checks.stubs_share, seen([prompt(stubs=600)]), seen([prompt(stubs=60)]), "stub_share=0.075"),
    "system": (checks.instructions_share, seen([prompt(system=600)]), seen([prompt(system=60)]), "operations=recall"),
    "no price": (
        checks.prices, seen([call(cost=None)]), seen([call()]), "llm=a name that LiteLLM's table prices",
    ),
    "same keywords": (
        checks.keywords_shared, seen([], state=pages(1, 1, 2), words={1: "budget,trip", 2: "piano"}),
        seen([], state=pages(1, 2, 3), words={1: "budget,trip", 2: "piano,lamp", 3: "river"}), "bookmarks=hybrid",
    ),
    "bare": (checks.bare_bookmarks, seen([], state=pages(0, 0, 1, 1, 1)), seen([], state=pages(1, 1, 1, 1, 1)),
             "stub_tokens=32"),
    "unknown names": (
        checks.names_known, seen(*[[unknown]] * 6), seen(*[[recalled(1, asked=("p1",))]] * 6), "protocol=schema",
    ),
    "folded": (
        checks.folded_bookmarks, seen([], state=pages(*[1] * 9)), seen([], state={**pages(*[1] * 9), "resident": (1,)}
        | {"stubs": type(State().stubs)(tuple(range(2, 10)), (), 9, 9)}), "stub_share=0.225",
    ),
    "failed work": (
        checks.work_failed, seen([work_broke, call("bookmark")]), seen([call("bookmark")]), "memory_llm=another model",
    ),
    "too full": (
        checks.window_full, seen(*[[prompt(7_500)]] * 6), seen(*[[prompt(5_000)]] * 6), "low_watermark=0.5",
    ),
    "unasked": (
        checks.unasked_facts, seen(*[[prompt(), placed((7, "hot", "", 9))]] * 6),
        seen(*[[prompt(), placed((7, "match", "", 9))]] * 6), "workbench memory mark f7 --importance 0.5",
    ),
    "changed meanwhile": (
        checks.stale_replies, seen([StepFinished({}, stale_facts=(3,))]), seen([finished()]),
        "ask again what turn 1 asked",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_check_is_suspect_where_its_fault_is_and_nowhere_else(name):
    check, bad, good, remedy = CASES[name]
    found, clear = check(bad), check(good)
    assert (found.verdict, found.remedy) == (SUSPECT, remedy)
    assert (clear.verdict in (OK, NOT_MEASURED), clear.remedy) == (True, "")
    assert found.value is not None
    assert found.n
    assert found.limit is not None
    assert found.limit_from


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("pages cut", "work in step")])
def test_and_the_clear_log_was_measured(name):
    check, _, good, _ = CASES[name]
    assert check(good).verdict == OK


def test_a_remedy_is_a_setting_that_there_is_or_a_command_or_said_in_words():
    settings = {f"{each}=" for each in Settings().to_dict()}
    for name, (check, bad, _, _) in CASES.items():
        remedy = check(bad).remedy
        known = any(remedy.startswith(each) for each in settings)
        assert known or remedy.startswith(("workbench ", "ask again")), name
        if known and remedy.partition("=")[2].replace(".", "").isdigit():
            Settings().but(**{remedy.partition("=")[0]: float(remedy.partition("=")[2])})


# ── what is promised of every diagnosis ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize("symptom", SYMPTOMS)
def test_every_symptom_answers_with_all_of_its_checks_in_order(opened, symptom):
    engine = opened()
    engine.say("My budget for the trip is 5,000 euros.")
    chat(engine, 6)
    found = asked(engine, symptom)
    names = [each.name for each in found.findings]
    assert len(names) == len(set(names)) == len(SYMPTOMS[symptom])
    assert [each.verdict for each in found.findings if each.verdict not in (OK, SUSPECT, NOT_MEASURED)] == []
    for each in found.findings:
        assert each.says
        assert (each.value is None) == (each.verdict == NOT_MEASURED)
        if each.part is not None:
            assert each.whole
            assert each.value == pytest.approx(each.part / each.whole)
    assert (found.turn, found.steps) == (14, 7)
    assert found.to_dict()["says"] == found.says
    assert len(found.to_df()) == len(names)
    assert repr(found).startswith(f"<Diagnosis of {symptom!r}")


def test_every_check_belongs_to_a_symptom():
    written = {f for n, f in vars(checks).items() if getattr(f, "__module__", "") == checks.__name__
               and not n.startswith("_") and f.__annotations__.get("return") == "Finding"
               and list(f.__annotations__) == ["seen", "return"]}  # fmt: skip
    assert written == {check for each in SYMPTOMS.values() for check in each}


def test_an_unknown_symptom_lists_those_that_there_are(opened):
    engine = opened()
    engine.say("Hello.")
    with pytest.raises(UnknownName, match=r"no symptom named 'hungry'; choose one of: bloat, contradicts itself"):
        asked(engine, "hungry")
    assert asked(engine, "  Keeps the OLD value ").symptom == "keeps the old value"


def test_where_nothing_was_said_nothing_can_be_told(opened):
    with pytest.raises(NotFound, match="nothing was said"):
        asked(opened(), "slow")
    with pytest.raises(NotFound):
        diagnose(opened().store, Scope("ana", "nowhere"), "slow")


def test_it_says_the_first_suspect_in_one_sentence(opened):
    engine = opened(facts_tokens=0)
    engine.say("My budget for the trip is 5,000 euros.")
    found = asked(engine, "ignores history")
    assert found.suspect.name == "facts reach prompts"
    assert found.says == "facts reach prompts: no facts come into prompts: facts_tokens is 0; try facts_tokens=400"
    engine.change(facts_tokens=400)
    engine.say("And now?")
    assert asked(engine, "ignores history").says.startswith("nothing suspect in")


def test_it_shows_text_only_and_writes_nothing(opened):
    engine = opened()
    engine.say("My name is <script>alert(1)</script>.")
    engine.say("My name is <b>Ana</b>.")
    engine.say("Hm.")
    before = engine.store.last_seq()
    for symptom in SYMPTOMS:
        html = asked(engine, symptom)._repr_html_()
        assert "<script" not in html
        assert "<b>Ana" not in html
    assert engine.store.last_seq() == before


def test_as_of_a_turn_only_what_came_before_counts(opened):
    engine = opened()
    engine.say("My budget for the trip is 5,000 euros.")
    engine.memory.write("My budget for the trip is 8,000 euros.")
    engine.say("What is my budget for the trip?")
    assert asked(engine, "contradicts itself", turn=1).suspect is None
    assert asked(engine, "contradicts itself").suspect.name == "two versions in one prompt"
    assert engine.diagnose("contradicts itself", turn=1).turn in (1, 2)


def test_strangers_leave_no_trace(opened):
    engine, bob = opened(), opened(user="bob")
    engine.say("My budget is 5,000 euros.")
    for value in ("canary one", "canary two"):
        bob.say(f"My name is {value}.")
    bob.say("Hm.")
    assert "canary" not in "".join(str(asked(engine, symptom).to_dict()) for symptom in SYMPTOMS)


# ── symptoms that an engine can have ──────────────────────────────────────────────────────────────────


def test_a_conflict_is_named_with_its_sides_until_it_is_settled():
    sides = {n: Fact(n, n, "k", str(n)) for n in (1, 2)}
    conflict = Conflict(1, (1, 2), "two at once", "newer", 2, START, 1)
    found = told_of(checks.conflicts_open, Knowledge(facts=sides, conflicts={1: conflict}))
    assert (found.verdict, found.evidence) == (SUSPECT, ("c1: f1 against f2",))
    assert found.remedy == "workbench memory settle 1 f2"
    settled = Knowledge(facts=sides, conflicts={1: replace(conflict, settled=True, winner=2)})
    assert told_of(checks.conflicts_open, settled).verdict == OK
    hidden = {n: replace(f, layer="working", conversation="elsewhere") for n, f in sides.items()}
    assert told_of(checks.conflicts_open, Knowledge(facts=hidden, conflicts={1: conflict})).verdict == OK


def test_two_values_that_hold_at_once_are_a_pair():
    def fact(number: int, value: str) -> Fact:
        source = Source("trip", number, number, 0, 1, "user", START)
        belief = Belief(START, FOREVER, START)
        return Fact(number, number, "k", value, single=True, sources=(source,), beliefs=(belief,))

    one, other, third = fact(1, "a"), fact(2, "b"), replace(fact(3, "c"), beliefs=())
    both = told_of(checks.two_values_hold, Knowledge(facts={1: one, 2: other, 3: third}))
    assert (both.verdict, both.evidence, both.remedy) == (SUSPECT, ("f1 and f2",), "workbench memory forget f1")
    assert told_of(checks.two_values_hold, Knowledge(facts={1: one, 3: third})).verdict == OK


def told_of(check, k: Knowledge) -> Finding:
    return check(seen([], knowledge=k))


def test_keeps_the_old_value_by_its_kinds(opened):
    engine = opened(first("Noted.", "Your budget is 5,000 euros."))
    engine.say("My budget for the trip is 5,000 euros.")
    engine.memory.write("My budget for the trip is 8,000 euros.")
    engine.say("What is my budget for the trip?")
    found = asked(engine, "keeps the old value")
    assert found.finding("two versions in one prompt").evidence == ("turn 3: f1 on p1, unmarked, beside f2",)
    assert found.finding("replies with an old value").evidence == ("turn 3: f1 5,000 euros, not f2 8,000 euros",)
    assert found.finding("new values take over").remedy == "workbench why “8,000 euros”"
    assert found.finding("old value among the facts").verdict == OK
    assert found.suspect.name == "two versions in one prompt"


def test_an_old_value_alone_is_cured_by_what_the_finding_says(opened):
    engine = opened()
    engine.say("My budget for the trip is 5,000 euros.")
    engine.memory.write("My budget for the trip is 8,000 euros.")
    engine.say("Tell me of rivers.")
    found = told(engine, checks.old_value_alone)
    assert (found.verdict, found.remedy) == (SUSPECT, "workbench memory mark f2")
    engine.memory.mark(2)
    engine.say("Tell me of lakes.")
    assert told(engine, checks.old_value_alone).part == 1  # no further one


def test_messages_that_nobody_looked_at_are_told(opened):
    engine = opened(remember_turns=2, page_turns=50)
    engine.say("My budget is 5,000 euros.")
    engine.say("I like jazz.")
    engine.change(remember_turns=50)
    for n in range(3):
        engine.say(f"I like tea number {n}.")
    assert told(engine, checks.turns_learned).verdict == OK
    engine.change(remember_turns=2)
    found = told(engine, checks.turns_learned)
    assert (found.verdict, found.value, found.evidence[0]) == (SUSPECT, 3, "turn 9")
    engine.change(remember="off")
    assert told(engine, checks.turns_learned).remedy == "remember=rules"


def test_statements_that_were_set_apart_are_told(opened):
    engine = opened()
    engine.say("My budget for the trip is 5,000 euros.")
    assert told(engine, checks.updates_take).verdict == OK
    claim = Candidate("The user's budget is 8,000 euros", 0, 0, subject="user", attribute="budget", value="8,000")
    source = Source("trip", 1, engine.store.knowledge("ana").facts[1].sources[0].text, 0, 0, "user", START)
    engine.memory.add(claim, source, by="a model")
    found = told(engine, checks.updates_take)
    assert (found.verdict, found.part, found.remedy) == (SUSPECT, 1, "workbench memory release f2")
    assert found.evidence[0].startswith("turn 1: quarantined f2")


def test_facts_told_twice_and_what_is_history(opened):
    engine = opened()
    engine.say("Hello.")
    for n in range(22):
        engine.memory.write(f"My budget for the trip is {5_000 + n} euros.")
    assert told(engine, checks.facts_growth).verdict == SUSPECT
    for attribute in ("a", "b", "c", "d", "e", "f"):
        text = "The piano stands in the hall"
        engine.memory.write(Candidate(text, 0, len(text), subject=attribute, attribute="place", value=attribute))
    found = told(engine, checks.repeated_facts)
    assert (found.verdict, found.part) == (SUSPECT, 5)


def test_growth_is_told_in_bytes_for_a_thousand_turns(opened):
    engine = opened()
    chat(engine, 9)
    found = told(engine, checks.log_growth)
    assert found.verdict == OK
    assert found.value == pytest.approx(1000 * observe(engine.store, engine.scope).log_bytes / 18)
    assert told(engine, checks.process_memory).verdict == NOT_MEASURED


# ── findings ──────────────────────────────────────────────────────────────────────────────────────────


def test_of_few_no_share_is_told():
    assert share("x", "things", 2, 4, 0.1, "ours").verdict == NOT_MEASURED
    assert share("x", "things", 2, 4, 0.1, "ours", fewest=4).verdict == SUSPECT
    assert share("x", "things", 0, 0, 0.1, "ours", fewest=0).verdict == NOT_MEASURED


def test_a_limit_itself_is_no_suspect_and_a_clear_one_names_no_remedy():
    assert share("x", "things", 1, 10, 0.1, "ours", remedy="a=1").remedy == ""
    assert share("x", "things", 1, 10, 0.1, "ours", least=True).verdict == OK
    assert share("x", "things", 0, 10, 0.1, "ours", least=True, remedy="a=1").remedy == "a=1"
    assert figure("x", "so", 5.0, "ms", 3, 5.0, "ours").verdict == OK
    assert "3/30 = 0.1 share, n=30, limit 0.05 (ours)" in share("x", "t", 3, 30, 0.05, "ours").compared
