"""What a change of settings does, as rules: nothing changes nothing, what changed is told, and figures add up."""

import pytest

from memory.errors import BadSetting
from memory.settings import Settings, described
from sessions.effect import compared, effect, shows
from sessions.replay import identified, replay
from sessions.thresholds import NEEDLESS, posed


@pytest.fixture(scope="module")
def recording(talk):
    return identified(talk())


@pytest.fixture(scope="module")
def before(recording, small):
    return replay(recording, small)


def test_the_same_settings_change_nothing(before, recording, small):
    same = effect(before, replay(recording, small))
    assert same.turns == ()
    assert same.before == same.after
    assert not same.changed
    assert not any(each.moved for each in same.answers)
    assert "nothing changed" in repr(same)


def test_what_a_smaller_page_changes_is_told_by_turn_and_cause(before, recording, small):
    made = effect(before, replay(recording, small.but(page_turns=3)))
    assert made.changed == {"page_turns": (6, 3)}
    assert made.turns
    assert all(each.why for each in made.turns)
    assert made.after.pages > made.before.pages
    moved = sum(each.faults for each in made.turns)
    assert moved == made.after.faults - made.before.faults or len(made.turns) < made.steps


def test_a_step_is_named_where_its_last_prompt_says_something_else_and_nowhere_else(before, recording, small):
    wide = replay(recording, small.but(window_tokens=4_000))
    made = effect(before, wide)
    first = min(each.turn for each in made.turns)
    early = [(a.prompts, b.prompts) for a, b in zip(before.steps, wide.steps, strict=True) if a.last_turn < first]
    assert early
    assert all(a == b for a, b in early)
    assert {m.kind for each in made.turns for m in each.why} >= {"stays"}


def test_a_window_that_holds_all_wins_every_question(before, recording, small):
    made = effect(before, replay(recording, small.but(window_tokens=60_000)))
    assert {each.after for each in made.answers} == {"window"}
    assert made.lost == ()
    assert made.after.faults == 0
    assert made.after.hit_ratio == 1


def test_what_the_questions_are_worth_stands_beside_them(before, recording, small):
    made = effect(before, replay(recording, small.but(window_tokens=60_000)))
    told = made.honesty
    assert (told.n, told.conversations, told.candidates) == (len(made.answers), 1, 0)  # nothing had left
    assert told.context_tokens == (60_000, 60_000)
    assert told.corpus_tokens == sum(page.tokens for page in before.state.pages.values())
    assert effect(before, before).honesty.candidates > 0
    assert f"n = {len(made.answers)} in 1 conversation" in made._repr_html_()
    assert made.to_dict()["honesty"] == told.to_dict()


def test_top_k_moves_questions_and_no_prompt(before, recording, small):
    strict = small.but(min_coverage=1.0)
    made = effect(before, replay(recording, strict))
    assert made.turns == ()
    assert made.lost
    assert made.won == ()


def test_money_is_prompt_tokens_times_the_price_and_unknown_without_one(before, recording, small):
    made = effect(before, before, price=2e-6)
    assert made.before.cost_usd == pytest.approx(before.prompt_tokens * 2e-6)
    assert effect(before, before).before.cost_usd is None


def test_two_conversations_have_no_effect_on_each_other(before, talk, small):
    other = replay(talk(40), small)
    with pytest.raises(BadSetting, match="of one conversation"):
        effect(before, other)


def test_every_setting_says_where_its_effect_shows():
    where = {entry["name"]: shows(entry["name"]) for entry in described()}
    assert where["window_tokens"] == "prompts"
    assert where["recall_k"] == "questions"
    assert where["memory_llm"] == ""
    with pytest.raises(BadSetting):
        shows("no_such")


@pytest.mark.parametrize("name", [e["name"] for e in described() if "low" in e and shows(e["name"]) == "questions"])
def test_what_shows_in_questions_alone_changes_no_prompt(before, recording, small, name):
    entry = next(e for e in described() if e["name"] == name)
    value = entry["high"] if getattr(small, name) != entry["high"] else entry["low"]
    assert effect(before, replay(recording, small.but(**{name: value})), questions=[]).turns == ()


def test_it_shows_itself_with_every_word_escaped(talk, small):
    made = compared(talk(60, lambda n: f"<script>{n}</script> about trains and money {n}"), small,
                    small.but(page_turns=3, min_coverage=0.0))  # fmt: skip
    assert "<script>" not in made._repr_html_()
    assert set(made.to_dict()) >= {"figures", "turns", "won", "lost", "settings"}
    assert len(made.to_df()) == len(made.turns)


def test_questions_are_labels_recalls_and_those_at_the_end(recording):
    kinds = {each.by for each in posed(recording)}
    assert kinds == {"label", "recall", "question", NEEDLESS}
    assert all(each.evidence for each in posed(recording) if each.by != NEEDLESS)


def test_settings_of_one_model_are_kept(recording):
    made = compared(recording, Settings.of(window_tokens=2_500), Settings.of(window_tokens=2_500, recall_k=5))
    assert made.changed == {"recall_k": (3, 5)}
