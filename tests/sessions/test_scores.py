"""A scorecard counts what the log holds: worked examples, and nothing where there is nothing to count."""

from pathlib import Path

import pytest

from memory import Engine
from memory.errors import BadMessage, BadSetting, UnknownName
from memory.models.chat import Answer
from memory.stores.sql import Store
from sessions.importer import import_recordings
from sessions.replay import replay
from sessions.scores import PROFILES, SCORES, Kind, ratings, scorecard


def answer(*_: object, **__: object) -> Answer:
    return Answer("All right.", (), 1, 1, 0.0, "stop", "x", 1.0)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory):
    """Four messages, one of them twice; no recall, no label, no value that was replaced."""
    place = tmp_path_factory.mktemp("scores") / "store"
    with Engine.open(place, user="ana", conversation="c", chat=answer, window_tokens=4_000) as opened:
        for said in (
            "The garden has a red fence.",
            "Where is the red fence?",
            "And now the red fence, where?",
            "Thanks!",
        ):
            opened.say(said)
        yield opened


def test_where_there_is_nothing_to_count_a_score_is_undefined(engine: Engine):
    card = scorecard(engine.store, engine.scope)
    for name in ("hits", "precision", "used", "timeliness", "consistency"):
        assert (card.score(name).value, card.score(name).mark, card.score(name).n) == (None, None, 0)
    assert (card.score("misuse").value, card.score("misuse").mark, card.score("misuse").n) == (0, 5, 4)
    assert 0 < card.measured < 1  # and the profile says so


def test_what_it_is_worth_stands_beside_it(engine: Engine, store: Store, talk, small):
    card = scorecard(engine.store, engine.scope)
    told = card.honesty.to_dict()
    assert told["steps"].startswith("n = 4 in 1 conversation, too few")
    assert told["labels"] == "none: what the log says, and which words replies took up"
    assert card.to_dict()["honesty"] == told
    assert told["weights"] in card._repr_html_()
    import_recordings(store, [talk()], settings=small)
    worth = scorecard(store, store.main_run("ana", "talk")).honesty
    assert sum(bool(turn.evidence) for turn in talk().turns) == 7  # two of them in messages that nobody answered
    assert (worth.labels, worth.labelled) == ("own", 5)
    assert f"5 of {worth.n} steps have one" in worth.to_dict()["labels"]


def test_a_question_asked_again_is_redundant_and_opens_its_turn(engine: Engine):
    score = scorecard(engine.store, engine.scope).score("redundancy")
    assert (score.value, score.n) == (0.5, 2)
    assert [(count.turn, "turn 3" in count.says) for count in score.against] == [(5, True)]


def test_the_last_word_on_a_reply_counts(engine: Engine):
    for turn, rating in ((2, 1), (4, -1), (6, -1), (6, 0), (8, 1)):
        engine.rate(turn, rating)
    assert ratings(engine.store, engine.scope) == {2: 1, 4: -1, 8: 1}
    score = scorecard(engine.store, engine.scope).score("ratings")
    assert (round(score.value or 0, 3), score.n) == (0.667, 3)
    assert [count.turn for count in score.against] == [3]  # the step of turn 4


@pytest.mark.parametrize(("turn", "rating"), [(1, 1), (99, 1), (2, 5)])
def test_only_replies_are_rated_and_only_up_or_down(engine: Engine, turn: int, rating: int):
    with pytest.raises(BadMessage):
        engine.rate(turn, rating)


def test_hits_are_those_of_the_replay(store: Store, talk, small):
    recording = talk()
    import_recordings(store, [recording], settings=small)
    scope = store.main_run("ana", "talk")
    done, score = replay((store, scope), small), scorecard(store, scope).score("hits")
    read = [step for step in done.steps if step.prompts]  # a message that nobody answered was read by nobody
    wanted = sum(step.demands for step in read), sum(step.hits for step in read)
    assert (score.n, round((score.value or 0) * score.n)) == wanted
    assert score.n > 0


@pytest.mark.parametrize("every", [7, "day"])
def test_a_trend_sums_up_to_the_whole(store: Store, talk, small, every):
    import_recordings(store, [talk()], settings=small)
    card = scorecard(store, store.main_run("ana", "talk"), every=every)
    for score in card.scores:
        assert sum(stretch.ns[score.name] for stretch in card.trend) == score.n
        parts = sum((s.values[score.name] or 0) * s.ns[score.name] for s in card.trend)
        assert parts == pytest.approx((score.value or 0) * score.n)


def test_marks_go_down_with_the_figure():
    rising, falling = Kind("", "ratio", (0.9, 0.75, 0.6, 0.4), ""), Kind("", "steps", (1, 2, 4, 8), "")
    assert [rising.mark(v) for v in (1.0, 0.9, 0.8, 0.6, 0.5, 0.1)] == [5, 5, 4, 3, 2, 1]
    assert [falling.mark(v) for v in (0, 1, 2, 3, 8, 9)] == [5, 5, 4, 3, 2, 1]
    assert rising.mark(None) is None


def test_a_profile_weighs_scores_that_there_are():
    assert all(set(weights) <= set(SCORES) for weights in PROFILES.values())
    assert all(SCORES[name].limits for weights in PROFILES.values() for name in weights)


def test_wrong_names_are_refused(engine: Engine):
    with pytest.raises(UnknownName, match="companion"):
        scorecard(engine.store, engine.scope, profile="odd")
    for every in ("week", 0):
        with pytest.raises(BadSetting):
            scorecard(engine.store, engine.scope, every=every)


def test_it_shows_itself_and_runs_nothing(engine: Engine, tmp_path: Path):
    card = scorecard(engine.store, engine.scope)
    assert "<script" not in card._repr_html_()
    assert card.to_dict()["scores"][0]["name"] == "hits"
    assert len(card.to_df()) == len(SCORES)
