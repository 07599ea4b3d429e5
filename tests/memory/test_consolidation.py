"""Consolidation is a diff: nothing vanishes that no row names, any rows can be applied in any order, and taken back."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import amend
from memory.amend import Person
from memory.consolidation import CEILING, Reading, Row, Rules, carried_out, doubtful, due, plan, reworded, stale
from memory.errors import UndoRefused
from memory.fact_events import Consolidated, Pruned, SkippedRow, TurnRemembered
from memory.facts import LAYERS, Candidate, Source, as_of
from memory.knowledge import Knowledge
from memory.longterm import folded
from memory.losses import content
from memory.pages import Bookmark
from memory.recollect import HOT
from memory.revision import Writer, revise
from tests.memory.conftest import START

DAY = timedelta(days=1)
USUAL = Rules()
ANA = Person("ana", START + 400 * DAY)


class Memory:
    """What is known about one user, and the words of it."""

    def __init__(self) -> None:
        self.k = Knowledge()
        self.texts: list[str] = [""]
        self.uses: dict[int, list[datetime]] = {}
        self.links: dict[int, list[int]] = {}

    def write(self, words: str) -> int:
        self.texts.append(words)
        return len(self.texts) - 1

    def say(self, text: str, *, day: int = 0, conversation: str = "trip", quote: str = "", **more: object) -> int:
        """A fact as somebody said it on that day, whatever is known already; returns its number."""
        said = quote or text
        at = START + day * DAY
        source = Source(conversation, day + 1, self.write(said), 0, len(said), "user", at)
        candidate = Candidate(text, 0, len(said), **{"layer": "episodic", **more})  # type: ignore[arg-type]
        writer = Writer(conversation, self.k.version, "rules", at)
        made = revise(self.k, candidate, source, writer, self.write, lambda _: ())
        self.k = folded(self.k, made.bodies)
        return made.outcome.fact

    def text(self, number: int) -> str:
        return self.texts[self.k.facts[number].text]

    @property
    def reading(self) -> Reading:
        def quotes(fact) -> Sequence[str]:
            return [self.texts[s.text][s.start : s.end] for s in fact.sources]

        return Reading(self.texts.__getitem__, quotes, self.uses, lambda n: self.links.get(n, ()))

    def plan(self, rules: Rules = USUAL, day: int = 0):
        return plan(self.k, self.reading, START + day * DAY, rules)

    def apply(self, *rows: Row) -> None:
        for row in rows:
            assert stale(self.k, row) == ""
            self.k = folded(self.k, carried_out(self.k, row, ANA, self.write))

    @property
    def current(self) -> set[str]:
        return {self.texts[f.text] for f in self.k.current}


@pytest.fixture
def memory():
    return Memory()


def kinds(preview):
    return [row.kind for row in preview.rows]


# ── merge ─────────────────────────────────────────────────────────────────────────────────────────────


def test_like_entries_become_the_one_that_says_most(memory):
    memory.say("Ana went hiking in the hills near Porto with Mia")
    memory.say("Ana went hiking near Porto")
    [row] = memory.plan().rows
    assert (row.kind, row.after, row.lossless) == ("merge", ("Ana went hiking in the hills near Porto with Mia",), True)
    memory.apply(row)
    assert memory.current == {"Ana went hiking in the hills near Porto with Mia"}
    assert len(memory.k.facts[3].sources) == 2
    assert {memory.k.facts[n].state for n in (1, 2)} == {"superseded"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The weekly report goes to Mia", "The weekly report goes to Olga"),
        ("The ticket to Porto cost 80 euros", "The ticket to Porto cost 90 euros"),
        ("Ana eats fish on Friday", "Ana never eats fish on Friday"),
        ("The dentist is on 3 March", "The dentist is on 4 March"),
        ("妹妹喜欢吃辣的火锅", "妹妹不喜欢吃辣的火锅"),
    ],
)
def test_other_names_figures_days_or_denials_are_other_facts(memory, one, other):
    memory.say(one)
    memory.say(other)
    assert "merge" not in kinds(memory.plan())


def test_values_of_one_attribute_stay_apart(memory):
    for value in ("hiking", "hiking at night"):
        memory.say(f"The user likes {value}", subject="user", attribute="likes", value=value, layer="semantic")
    assert kinds(memory.plan()) == []


def test_entries_of_two_conversations_working_layers_are_never_merged(memory):
    for conversation in ("trip", "work"):
        memory.say("finish the packing list today", layer="working", conversation=conversation)
    assert kinds(memory.plan()) == []


def test_what_a_merge_would_lose_is_named(memory):
    memory.say("Ana walked to the old mill and the stone bridge by the river")
    memory.say("Ana walked to the old mill quickly by the river", quote="we walked to the mill, room 12")
    [row] = memory.plan().rows
    assert [str(loss) for loss in row.losses] == ["number '12' of f2 (in its source)", "words 'quick' of f2"]


def test_sides_of_an_open_conflict_are_left_alone(memory):
    budget = {"subject": "user", "attribute": "budget", "single": True, "layer": "semantic"}
    memory.say("The budget is 5000", value="5000", **budget)
    source = Source("other", 1, memory.write("8000"), 0, 4, "user", START)
    candidate = Candidate("The budget is 8000", 0, 4, value="8000", **budget)
    made = revise(memory.k, candidate, source, Writer("other", 0, "rules", START), memory.write, lambda _: ())
    memory.k = folded(memory.k, made.bodies)
    assert memory.k.open_conflicts
    assert memory.plan(Rules(capacity=1), day=900).rows == ()


# ── promote ───────────────────────────────────────────────────────────────────────────────────────────


def again(memory, number, day, conversation="trip"):
    """The same is said on another day."""
    fact = memory.k.facts[number]
    source = replace(fact.sources[0], said_at=START + day * DAY, turn=day + 1, conversation=conversation)
    memory.k = replace(memory.k, facts={**memory.k.facts, number: replace(fact, sources=(*fact.sources, source))})


def test_what_was_said_in_three_sittings_is_promoted(memory):
    number = memory.say("Ana runs along the river")
    again(memory, number, 1)
    assert kinds(memory.plan(day=1)) == []
    again(memory, number, 2)
    [row] = memory.plan(day=2).rows
    assert (row.kind, row.layer, row.lossless) == ("promote", "semantic", True)
    memory.apply(row)
    assert memory.k.facts[number].layer == "semantic"


def test_a_habit_is_promoted_sooner(memory):
    number = memory.say("Ana runs every morning")
    again(memory, number, 1)
    assert kinds(memory.plan(day=1)) == ["promote"]


# ── importance ────────────────────────────────────────────────────────────────────────────────────────


def test_importance_halves_in_a_half_life_without_use(memory):
    memory.say("Ana saw a film")
    [row] = memory.plan(Rules(archive_least=9), day=60).rows
    assert (row.kind, round(row.importance, 3)) == ("weigh", 0.25)


def test_what_stands_fades_slower_than_what_happened(memory):
    memory.say("Ana saw a film")
    memory.say("Ana is fond of films", layer="semantic")
    first, second = memory.plan(Rules(archive_least=9), day=60).rows
    assert first.importance < second.importance < 0.5


def test_nothing_fades_twice_for_the_same_days(memory):
    memory.say("Ana saw a film")
    rules = Rules(archive_least=9)
    [row] = memory.plan(rules, day=60).rows
    who = Person("ana", START + 60 * DAY)
    memory.k = folded(memory.k, carried_out(memory.k, row, who, memory.write))
    assert memory.plan(rules, day=60).rows == ()
    [again] = memory.plan(rules, day=120).rows
    assert again.importance == pytest.approx(0.125, abs=0.001)


def test_use_raises_it_but_never_so_far_that_it_comes_unasked(memory):
    number = memory.say("Ana saw a film", importance=0.6)
    memory.uses[number] = [START + timedelta(hours=n) for n in range(1, 400)]
    [row] = memory.plan(day=17).rows
    assert 0.7 < row.importance <= CEILING < HOT


def test_use_spreads_to_neighbours(memory):
    used, near, far = (memory.say(f"Ana saw {film}") for film in ("Alien", "Brazil", "Casablanca"))
    memory.uses[used] = [START + timedelta(hours=n) for n in range(1, 30)]
    memory.links[used] = [near]
    rows = {row.facts[0]: row for row in memory.plan(Rules(least_step=0.001), day=1).rows}
    assert rows[used].importance > rows[near].importance > rows[far].importance


def test_what_a_person_marked_does_not_fade(memory):
    memory.say("Ana is allergic to peanuts", importance=1.0)
    assert memory.plan(Rules(capacity=0), day=4000).rows == ()


# ── archive and forget ────────────────────────────────────────────────────────────────────────────────

FILMS = ["Ana saw Alien in room 12", "Ana saw Brazil with Mia", "Ana saw Casablanca", "Ana did not see Dune"]


def test_inactive_detail_becomes_one_entry_and_says_what_it_leaves_out(memory):
    for film in FILMS:
        memory.say(f"{film}, and afterwards they had a very long dinner at the old place by the river")
    [row] = memory.plan(Rules(archive_tokens=50), day=200).rows
    assert row.kind == "archive"
    assert row.after[0].startswith("2026-03: ")
    assert {loss.kind for loss in row.losses} >= {"words", "name"}


def test_what_is_used_or_has_one_value_is_not_archived(memory):
    for film in FILMS:
        memory.say(film)
    budget = memory.say("The budget is 5000", subject="user", attribute="budget", value="5000", single=True)
    memory.uses[2] = [START + 190 * DAY]
    row = next(row for row in memory.plan(day=200).rows if row.kind == "archive")
    assert 2 not in row.facts
    assert budget not in row.facts


def test_over_the_capacity_the_least_valuable_go_and_stay_in_history(memory):
    for n, film in enumerate(FILMS):
        memory.say(film, importance=0.2 + n / 10)
    memory.say("Ana is allergic to peanuts", importance=1.0)
    preview = memory.plan(Rules(capacity=3))
    assert [(row.kind, row.facts) for row in preview.rows] == [("forget", (1,)), ("forget", (2,))]
    assert all(row.losses for row in preview.rows)
    memory.apply(*preview.rows)
    assert len(memory.k.current) == 3
    before = {f.id for f in as_of(memory.k.facts.values(), START + DAY)}
    assert before == {1, 2, 3, 4, 5}


def test_no_capacity_forgets_nothing(memory):
    for film in FILMS:
        memory.say(film, importance=0.01)
    assert "forget" not in kinds(memory.plan())


# ── what the sources say ──────────────────────────────────────────────────────────────────────────────


def test_an_entry_that_turns_its_source_round_is_doubted(memory):
    memory.say("The user likes spicy food", quote="please, not spicy food")
    [row] = memory.plan().rows
    assert row.kind == "doubt"
    memory.apply(row)
    assert memory.k.facts[1].state == "quarantined"
    assert memory.current == set()


def test_a_model_s_words_take_the_rule_s_place_where_the_sources_say_so(memory):
    memory.say("Ana walked along the river to the old mill and the bridge")
    memory.say("Ana walked along the river to the old mill quickly")
    [row] = memory.plan().rows
    said = "Ana walked quickly along the river to the old mill and bridge"
    better = reworded(memory.k, row, said, "a-model", memory.reading)
    assert (better.kind, better.by, better.lossless) == ("merge", "a-model", True)


@pytest.mark.parametrize(
    "said", ["用户希望被叫做诺诺", "Ana wants to be called Nono", "Ana did not walk along the river to the mill"]
)
def test_what_a_model_made_up_is_quarantined_and_nothing_else_changes(memory, said):
    memory.say("Ana walked along the river to the old mill and the bridge")
    memory.say("Ana walked along the river to the old mill quickly")
    [row] = memory.plan().rows
    bad = reworded(memory.k, row, said, "a-model", memory.reading)
    before = memory.current
    assert (bad.kind, bad.facts) == ("quarantine", ())
    memory.apply(bad)
    assert memory.current == before
    assert memory.k.facts[3].state == "quarantined"
    assert memory.k.facts[3].sources == ()
    assert memory.k.facts[3].why == "no source says so"  # and no word of it


@pytest.mark.parametrize(
    ("said", "source"),
    [("The user likes spicy food", "not spicy food please"), ("用户喜欢吃辣", "我不喜欢吃辣"), ("Nono", "I like tea")],
)
def test_doubtful_words(said, source):
    assert doubtful(said, [source])


# ── any rows, in any order ────────────────────────────────────────────────────────────────────────────

TEXTS = st.sampled_from(
    [
        "Ana went hiking near Porto", "Ana went hiking near Porto with Mia", "Ana hiked near Porto",
        "Ana saw Alien in room 12", "Ana did not see Alien", "The hotel cost 120 euros", "The hotel cost 130 euros",
        "Ana bought a tent", "Ana bought a tent and a lamp on 3 March", "妹妹喜欢吃辣", "妹妹不吃辣",
        "妹妹喜欢吃辣的火锅", "The user likes spicy food",
    ]
)  # fmt: skip
SAID = st.lists(
    st.tuples(TEXTS, st.integers(0, 20), st.sampled_from([0.1, 0.3, 0.5, 0.9]), st.sampled_from(LAYERS[1:])),
    min_size=1,
    max_size=14,
)
RULES = st.builds(
    Rules, capacity=st.integers(0, 6), archive_least=st.integers(2, 4), archive_days=st.integers(1, 60),
    archive_importance=st.sampled_from([0.3, 0.6]), archive_tokens=st.integers(20, 60),
    merge_overlap=st.sampled_from([0.4, 0.6]),
)  # fmt: skip


def told(said) -> Memory:
    memory = Memory()
    for text, day, importance, layer in said:
        memory.say(text, day=day, importance=importance, layer=layer)
    return memory


@given(SAID, RULES, st.data())
def test_any_rows_in_any_order_lose_no_fact_that_no_row_names(said, rules, data):
    memory = told(said)
    rows = memory.plan(rules, day=120).rows
    chosen = data.draw(st.permutations(rows)) if rows else []
    chosen = chosen[: data.draw(st.integers(0, len(chosen)))]
    before = {f.id: memory.text(f.id) for f in memory.k.current}
    memory.apply(*chosen)
    words = {term for f in memory.k.current for term in content(memory.text(f.id))}
    named = {loss.fact for row in chosen for loss in row.losses}
    for number, text in before.items():
        if not memory.k.facts[number].open:
            assert number in named or set(content(text)) <= words


@given(SAID, RULES, st.data())
def test_undo_restores_exactly(said, rules, data):
    memory = told(said)
    rows = memory.plan(rules, day=120).rows
    before = {n: standing(f) for n, f in memory.k.facts.items()}
    first = len(memory.k.changes)
    memory.apply(*rows)
    made = list(range(first + 1, len(memory.k.changes) + 1))
    for change in data.draw(st.permutations(made)):
        memory.k = folded(memory.k, amend.undo(memory.k, change, ANA))
    assert {n: standing(memory.k.facts[n]) for n in before} == before
    assert all(not f.believed for n, f in memory.k.facts.items() if n not in before)


def standing(fact):
    return fact.believed, fact.state, fact.importance, fact.layer, fact.conversation, fact.why, fact.sources, fact.text


@given(SAID, RULES)
def test_no_fact_stands_in_two_rows(said, rules):
    rows = told(said).plan(rules, day=120).rows
    facts = [number for row in rows for number in row.facts]
    assert len(facts) == len(set(facts))
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))


@given(SAID, RULES)
def test_what_was_applied_is_not_proposed_again_at_once(said, rules):
    memory = told(said)
    who = Person("ana", START + 120 * DAY)
    for _ in range(6):
        rows = memory.plan(rules, day=120).rows
        if not rows:
            return
        for row in rows:
            memory.k = folded(memory.k, carried_out(memory.k, row, who, memory.write))
    raise AssertionError(f"it never comes to rest: {rows}")


def test_a_later_change_that_builds_on_a_row_stands_in_the_way_of_its_undo(memory):
    memory.say("Ana went hiking in the hills near Porto with Mia")
    memory.say("Ana went hiking near Porto")
    memory.apply(*memory.plan().rows)
    row_change = len(memory.k.changes)
    memory.k = folded(memory.k, amend.correct(memory.k, 3, "", "Ana went hiking near Braga", ANA, memory.write))
    with pytest.raises(UndoRefused, match=r"correct"):
        amend.undo(memory.k, row_change, ANA)


# ── meanwhile ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_row_whose_fact_was_changed_meanwhile_says_so(memory):
    memory.say("Ana went hiking in the hills near Porto with Mia")
    memory.say("Ana went hiking near Porto")
    [row] = memory.plan().rows
    memory.say("The hotel cost 120 euros")
    assert stale(memory.k, row) == ""
    memory.k = folded(memory.k, amend.weigh(memory.k, 2, ANA, importance=1.0))
    assert stale(memory.k, row) == "f2 was changed meanwhile by change 4 (mark)"


# ── when ──────────────────────────────────────────────────────────────────────────────────────────────


def test_it_is_due_after_enough_turns_at_a_size_and_over_the_capacity(memory):
    assert due(memory.k, Rules()) == ""
    heard = TurnRemembered("trip", 100, "rules", (), 0, START)
    assert due(folded(memory.k, [heard]), Rules()) == "100 turns since the last time"
    done = Consolidated(0, (), 100, 0, START)
    assert due(folded(memory.k, [heard, done]), Rules()) == ""
    for n in range(4):
        memory.say(f"Ana saw film number {n}")
    assert due(memory.k, Rules(every_facts=4)) == "4 more facts since the last time"
    assert due(memory.k, Rules(capacity=3)) == "4 facts hold, more than 3"


def test_what_the_last_one_skipped_is_told_by_the_next(memory):
    skipped = SkippedRow("merge", (1, 2), "f2 was changed meanwhile")
    memory.k = folded(memory.k, [Consolidated(0, (skipped,), 0, 0, START)])
    assert memory.plan().left == (skipped,)


# ── bookmarks, and showing itself ─────────────────────────────────────────────────────────────────────


def test_a_dead_bookmark_is_a_row_that_says_what_the_window_no_longer_names(memory):
    pruned = Pruned("trip", 7, Bookmark(1, 2, 3, 9, "rarity"))
    preview = plan(memory.k, replace(memory.reading, bookmarks=[(pruned, "lisbon,tent")]), START)
    [row] = preview.rows
    assert (row.kind, row.before, row.after) == ("prune", ("[p7:lisbon,tent]",), ("[p7]",))
    assert [loss.what for loss in row.losses] == ["lisbon", "tent"]
    memory.apply(row)
    assert memory.k.changes[1].pruned == pruned


def test_it_shows_itself_without_running_what_it_shows(memory):
    memory.say("Ana went hiking near Porto <script>alert(1)</script> with Mia")
    memory.say("Ana went hiking near Porto")
    preview = memory.plan()
    assert repr(preview) == "<Consolidation: 1 merge; 0 losses>"
    assert "<script>" not in preview._repr_html_()
    assert repr(Memory().plan()) == "<Consolidation: nothing to do; 0 losses>"


def test_many_entries_about_one_person_are_compared_in_moments(memory):
    """Every pair of them shares a word; to compare all pairs took 26 s for these two hundred."""
    for n in range(200):
        memory.say(f"Ana bought ticket {n} for the {n}th concert of season {n * 7}", day=n % 30)
    began = process_time()
    assert "merge" not in kinds(memory.plan(day=30))
    assert process_time() - began < 5
