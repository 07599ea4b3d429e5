"""A replay is the engine's own paging over a recording: deterministic, in memory, and all of it accounted for."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from memory.bookmarks import BOOKMARKS
from memory.boundaries import BOUNDARIES
from memory.errors import BadSetting, BudgetTooSmall, RecordingError, UnknownName
from memory.events import KINDS, Event, MessageReceived, PageEvicted, PagesRecalled, PromptAssembled
from memory.eviction import EVICTION
from memory.scope import RECORDED, Scope
from memory.settings import Settings
from memory.state import State, apply, fold
from memory.stores.sql import Store
from memory.turns import Turn
from sessions import texts
from sessions.importer import import_recordings
from sessions.recording import RecordedTurn, Recording
from sessions.replay import ORACLES, Replay, Running, demanded_at, is_resident, replay, run_name, save
from sessions.texts import digests

Talk = Callable[..., Recording]
TALK = Scope("ana", "talk", RECORDED)


@pytest.fixture(scope="module")
def demo_replays(demos: dict[str, Recording]) -> dict[str, Replay]:
    return {name: replay(one) for name, one in demos.items()}


def demanded(turns: tuple[RecordedTurn, ...]) -> set[int]:
    spans = [span for t in turns for recall in t.recalls for span in recall.turns]
    return {n for a, b in spans for n in range(a, b + 1)} | {n for t in turns for n in t.evidence}


# ── the same each time, and nothing written ───────────────────────────────────────────────────────────


def test_equal_replays_have_equal_digests(talk: Talk, small: Settings):
    first, second = replay(talk(), small), replay(talk(), small)
    assert first.digest == second.digest
    assert first.events == second.events
    assert first.to_dict() == second.to_dict()
    assert replay(talk(), small.but(eviction="fifo", page_turns=4)).digest != first.digest


def test_a_replay_from_the_store_is_the_replay_of_the_file(store: Store, talk: Talk, small: Settings):
    import_recordings(store, [talk()], replay=False)
    assert replay((store, TALK), small).digest == replay(talk(), small).digest


def test_a_replay_leaves_the_store_untouched(store: Store, talk: Talk, small: Settings):
    import_recordings(store, [talk()], replay=False)
    before, seq = store.file.read_bytes(), store.last_seq()
    replay((store, TALK), small)
    assert store.file.read_bytes() == before
    assert store.last_seq() == seq
    assert [s.scope.run for s in store.streams()] == [RECORDED]


def test_steps_can_be_taken_one_by_one_and_stopped(talk: Talk, small: Settings):
    running, whole = Running(talk(), small), replay(talk(), small)
    steps = running.steps()
    taken = [next(steps) for _ in range(5)]
    assert [s.state for s in taken] == [s.state for s in whole.steps[:5]]
    half = running.result()
    assert half.turns < whole.turns
    assert half.probes == ()
    assert len(list(running.steps())) == len(whole.steps) - 5
    assert running.result().digest == whole.digest


def test_on_step_sees_every_step(talk: Talk, small: Settings):
    seen = []
    assert replay(talk(), small, on_step=seen.append).steps == tuple(seen)


# ── a step ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_step_is_a_users_message_through_what_answers_it(talk: Talk, small: Settings):
    one = replay(talk(), small)
    users = [t.number for t in one.recording.turns if t.role == "user"]
    assert [s.first_turn for s in one.steps] == [1, *users]
    assert [s.number for s in one.steps] == list(range(len(users) + 1))
    assert all(not s.state.open_step for s in one.steps)


def test_folding_the_events_gives_every_step_s_state(talk: Talk, small: Settings):
    one, state, after = replay(talk(), small), State(), {}
    for event in one.events:
        state = apply(state, event)
        after[event.step] = state
    assert [s.state for s in one.steps] == [after[s.number] for s in one.steps]


def test_a_recall_finds_its_page_before_the_reply_and_it_leaves_after(talk: Talk, small: Settings):
    one = replay(talk(), small)
    came = [e for e in one.events if isinstance(e.body, PagesRecalled) and e.body.came]
    assert came
    for event in came:
        prompts = [e.body for e in one.events if isinstance(e.body, PromptAssembled) and e.step == event.step]
        assert len(prompts) >= 2
        pages = {row[2] for row in prompts[-1].messages if row[1] == "recalled"}
        assert set(event.body.came) <= pages
        after = next(s.state for s in one.steps if s.number == event.step)
        assert not after.guests


def test_a_recorded_recall_of_resident_turns_is_a_hit_and_brings_nothing(talk: Talk):
    roomy = Settings.of(window_tokens=100_000)
    one = replay(talk(), roomy)
    assert one.evictions == one.faults == one.recalled_tokens == one.probe_faults == 0
    assert one.demands == one.hits > 0
    assert one.hit_ratio == 1.0
    assert all(len(s.prompts) <= 2 for s in one.steps)


# ── accounting ────────────────────────────────────────────────────────────────────────────────────────


def test_every_demanded_turn_of_the_demo_ends_as_a_hit_or_a_fault(demo_replays: dict[str, Replay]):
    for one in demo_replays.values():
        for step in one.steps:
            turns = one.recording.turns[step.first_turn - 1 : step.last_turn]
            assert step.demands == len(demanded(turns)) == step.hits + step.faults
        labelled = [q for q in one.recording.questions if q.evidence]
        assert one.probe_demands == sum(len(q.evidence) for q in labelled) == one.probe_hits + one.probe_faults
        assert sum(group["n"] for group in one.by_category.values()) == len(one.recording.questions)
        assert sum(group["faults"] for group in one.by_category.values()) == one.probe_faults


def test_the_counts_are_what_the_events_say(demo_replays: dict[str, Replay]):
    for one in demo_replays.values():
        bodies = [e.body for e in one.events]
        recalls = [b for b in bodies if isinstance(b, PagesRecalled)]
        prompts = [b.tokens for b in bodies if isinstance(b, PromptAssembled)]
        assert one.evictions == sum(isinstance(b, PageEvicted) for b in bodies) == sum(s.evictions for s in one.steps)
        assert one.counts.faults == sum(len(b.came) for b in recalls)
        assert one.recalled_tokens == sum(s.recalled_tokens for s in one.steps)
        assert one.prompt_tokens == sum(prompts) == one.to_df()["prompt_tokens"].sum()


def test_the_demo_shows_evictions_faults_and_recalls_right_and_wrong(demo_replays: dict[str, Replay]):
    for one in demo_replays.values():
        assert one.evictions > 5
        assert one.faults > 5
        assert one.counts.right > 3
        assert one.counts.wrong > 1
        assert one.probe_faults > 5


def test_a_probe_changes_nothing(talk: Talk, small: Settings):
    whole = talk()
    bare = replay(replace(whole, questions=()), small)
    assert replay(whole, small).digest == bare.digest
    assert bare.probes == ()


# ── the oracle ────────────────────────────────────────────────────────────────────────────────────────


def equal_turns(number: int) -> str:
    return f"word {number % 10} of {number % 7} and some more"


def misses(one: Replay) -> int:
    return one.faults + one.probe_faults


# Belady's MIN supposes that a missed page stays; here it leaves again, so only the other oracle beats them all.
BEATEN = [
    (oracle, policy) for policy in EVICTION for oracle in ORACLES if oracle == "foresight" or policy in ("fifo", "lru")
]


@pytest.mark.parametrize(("oracle", "policy"), BEATEN)
def test_an_oracle_reference_misses_no_more_than_a_plain_policy_on_equal_pages(talk: Talk, oracle: str, policy: str):
    plain = talk(120, equal_turns)
    turns = tuple(
        replace(t, calls=(), answers="", role="assistant" if t.role == "tool" else t.role) for t in plain.turns
    )
    even = replace(plain, turns=turns)
    wanted = Settings.of(window_tokens=1_600, reply_tokens=100, page_turns=6)
    other = replay(even, wanted, eviction=policy)
    assert misses(replay(even, wanted, eviction=oracle)) <= misses(other)


def test_an_oracle_reference_misses_no_more_than_a_plain_policy_in_the_demo(demos: dict[str, Recording]):
    for one in demos.values():
        missed = {policy: misses(replay(one, eviction=policy)) for policy in (*EVICTION, *ORACLES)}
        assert all(missed[oracle] <= missed[policy] for oracle, policy in BEATEN), missed
        assert missed["foresight"] < missed["lru"]


def test_the_oracle_knows_each_demand_until_it_was_served(talk: Talk):
    whole = talk()
    demands = demanded_at(whole)
    last = sum(t.role == "user" for t in whole.turns)
    assert demands[50][-1] == last + 2  # a question names it
    assert all(steps == sorted(steps) for steps in demands.values())
    assert set(demands) == demanded(whole.turns) | {3, 50}


def test_a_policy_may_be_a_function_and_an_unknown_one_is_named(talk: Talk, small: Settings):
    one = replay(talk(), small, eviction=lambda page, now: -page.number)
    assert {e.body.policy for e in one.events if isinstance(e.body, PageEvicted)} == {"<lambda>"}
    with pytest.raises(UnknownName, match="no eviction policy named 'lur'"):
        replay(talk(), small, eviction="lur")


def test_a_window_that_cannot_hold_a_message_is_an_error_that_says_so(talk: Talk):
    with pytest.raises(BudgetTooSmall):
        replay(talk(), Settings.of(window_tokens=300, reply_tokens=200))


def test_nothing_to_replay_is_said(talk: Talk):
    with pytest.raises(RecordingError, match="no turn to replay"):
        replay(replace(talk(), turns=()))


# ── invariants, under every strategy ──────────────────────────────────────────────────────────────────


def check(one: Replay) -> None:
    """What holds after any event of any replay."""
    state, budget = State(), one.settings.window_tokens
    for event in one.events:
        body = event.body
        if isinstance(body, PageEvicted):
            assert state.pages[body.page].bookmark, "write first, drop after"
            assert state.pages[body.page].closed
        state = apply(state, event)
        if isinstance(body, PromptAssembled):
            assert body.tokens + one.settings.reply_tokens <= budget
            assert state.stubs.tokens <= one.settings.stub_budget
            shown = {part for row in body.messages for part in row[6:]}
            spoken = [t for p in state.pages.values() for t in p.turns if t.number == state.user_turn]
            assert spoken
            assert spoken[-1].text in shown or spoken[-1].pieces > 1, "the last user's message"
    check_pages(state, one.turns)


def check_pages(state: State, turns: int) -> None:
    pages = [state.pages[n] for n in sorted(state.pages)]
    whole = [t.number for p in pages for t in p.turns if t.piece == 0]
    assert whole == list(range(1, turns + 1)), "every turn lies on one page"
    assert all(p.bookmark for p in state.evicted)
    homes = {(call.id): p.number for p in pages for t in p.turns for call in t.calls}
    for page in pages:
        for turn in page.turns:
            assert not turn.answers or homes[turn.answers] == page.number, "a call and its result never part"


@pytest.mark.parametrize("generator", BOOKMARKS)
@pytest.mark.parametrize("policy", EVICTION)
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_invariants_hold_under_every_strategy(talk: Talk, small: Settings, boundary: str, policy: str, generator: str):
    wanted = small.but(boundary=boundary, eviction=policy, bookmarks=generator)
    check(replay(talk(60), wanted))


@pytest.mark.parametrize("boundary", ["fixed_10", "fixed_20", "exchange_5", "tokens_600", "idle_gap+topic_shift"])
def test_invariants_hold_in_the_demo(demos: dict[str, Recording], boundary: str):
    for one in demos.values():
        check(replay(one, Settings.of(boundary=boundary, window_tokens=4_000)))


@examples(max_examples=15, deadline=None)
@given(
    st.integers(2, 40),
    st.lists(st.integers(1, 700), min_size=3, max_size=9),
    st.sampled_from([1_500, 2_500, 6_000]),
)
def test_invariants_hold_whatever_the_lengths(talk: Talk, page_turns: int, lengths: list[int], window: int):
    def words(number: int) -> str:
        return " ".join(f"w{number}x{i % 17}" for i in range(lengths[number % len(lengths)]))

    check(replay(talk(50, words), Settings.of(window_tokens=window, reply_tokens=100, page_turns=page_turns)))


# ── a saved run ───────────────────────────────────────────────────────────────────────────────────────


def test_a_saved_run_equals_the_one_in_memory_event_by_event(store: Store, talk: Talk, small: Settings):
    import_recordings(store, [talk()], replay=False)
    one = replay((store, TALK), small)
    at = save(store, TALK, one)
    assert at == TALK.at(run_name(small))
    kept = store.events(at)
    assert tuple(digests(kept, store.words(at).__getitem__)) == one.event_digests
    assert [(e.version, e.step, e.kind) for e in kept] == [(e.version, e.step, e.kind) for e in one.events]


def test_rebuilt_equals_live(store: Store, talk: Talk, small: Settings):
    import_recordings(store, [talk()], replay=False)
    one = replay((store, TALK), small)
    at = save(store, TALK, one)
    rebuilt = fold(store.events(at))
    assert rebuilt == store.state(at)
    assert store.check() == []
    assert rebuilt.counts == one.counts
    assert rebuilt.resident == one.state.resident
    assert rebuilt.settings == one.settings
    assert [(p.number, p.tokens, p.first, p.last) for p in rebuilt.pages.values()] == [
        (p.number, p.tokens, p.first, p.last) for p in one.state.pages.values()
    ]
    words = store.words(at)
    for page in rebuilt.pages.values():
        ours = one.state.pages[page.number]
        assert [words[t.text] for t in page.turns] == [one.words(t.text) for t in ours.turns]
        assert (words[page.bookmark.stub] if page.bookmark else "") == (
            one.words(ours.bookmark.stub) if ours.bookmark else ""
        )


def test_a_saved_run_keeps_the_recorded_words_under_their_ids(store: Store, talk: Talk, small: Settings):
    import_recordings(store, [talk()], replay=False)
    recorded = {e.body.turn.number: e.body.turn.text for e in store.events(TALK) if isinstance(e.body, MessageReceived)}
    at = save(store, TALK, replay((store, TALK), small))
    replayed = {e.body.turn.number: e.body.turn.text for e in store.events(at) if isinstance(e.body, MessageReceived)}
    assert replayed == recorded


def test_saving_twice_changes_nothing_and_a_file_s_replay_is_the_same_run(store: Store, talk: Talk, small: Settings):
    import_recordings(store, [talk()], replay=False)
    first = save(store, TALK, replay((store, TALK), small))
    seq = store.last_seq()
    assert save(store, TALK, replay((store, TALK), small)) == first
    assert save(store, TALK, replay(talk(), small)) == first
    assert store.last_seq() == seq


def test_a_run_of_the_same_name_with_other_contents_is_left_alone(store: Store, talk: Talk, small: Settings):
    import_recordings(store, [talk()], replay=False)
    first = save(store, TALK, replay((store, TALK), small, eviction=reversed_fifo))
    kept = store.events(first)

    second = save(store, TALK, replay((store, TALK), small, eviction=_other("reversed_fifo")))
    assert second.run == f"{first.run}-2"
    assert store.events(first) == kept


def reversed_fifo(page: object, now: int) -> float:
    return -page.loaded_at  # type: ignore[attr-defined]


def _other(name: str) -> Callable[..., float]:
    def score(page: object, now: int) -> float:
        return page.used_at  # type: ignore[attr-defined]

    score.__name__ = name
    return score


def test_a_replay_of_another_conversation_is_not_saved(store: Store, talk: Talk, small: Settings):
    import_recordings(store, [talk()], replay=False)
    other = talk(96, lambda n: f"other words {n}")
    with pytest.raises(RecordingError, match=r"turn 2 .* is not the one that was replayed"):
        save(store, TALK, replay(other, small))


def test_a_turn_that_names_no_text_is_refused(store: Store, small: Settings):
    """No engine writes one, for ids begin at 1; a run saved from it would be one without words."""
    scope = TALK.at("live")
    now = datetime(2026, 3, 2, tzinfo=UTC)
    said = MessageReceived(Turn(1, "user", text=0, tokens=4, said_at=now))
    journal = store.open_stream(scope)
    state = apply(journal.load(), Event(0, 1, 1, now, said))
    journal.append([(1, said)], state)
    with pytest.raises(RecordingError, match="turn 1 names no text"):
        replay((store, scope), small)


@pytest.mark.parametrize("oracle", ORACLES)
def test_an_oracle_s_run_is_not_saved(store: Store, talk: Talk, small: Settings, oracle: str):
    import_recordings(store, [talk()], replay=False)
    with pytest.raises(BadSetting, match="an oracle knows what comes"):
        save(store, TALK, replay((store, TALK), small, eviction=oracle))


def test_a_saved_replay_can_be_replayed_again_with_the_same_outcome(store: Store, talk: Talk, small: Settings):
    import_recordings(store, [talk()], settings=small)
    again = replay((store, TALK.at(run_name(small))), small)
    assert [s.demands for s in again.steps] == [s.demands for s in replay(talk(), small).steps]


def test_every_kind_that_holds_words_moves_them():
    """A kind that mentions a text id and is forgotten in sessions/texts.py would point at another store's words."""
    without = {"ConversationBranched", "SettingsChanged", "TurnMarked", "PageClosed", "PageEvicted", "PagePagedIn",
               "PagesUsed", "GuestLeft", "StepFinished", "StepAbandoned", "OperationRefused", "ReplyRated"}  # fmt: skip
    of_conversations = {name for name, kind in KINDS.items() if kind.__module__ == "memory.events"}
    assert {kind.__name__ for kind in texts._CHANGES} == of_conversations - without


# ── how it shows itself ───────────────────────────────────────────────────────────────────────────────


def test_a_replay_shows_itself(talk: Talk, small: Settings):
    one = replay(replace(talk(), title="<i>x</i>"), small)
    assert repr(one).startswith("<Replay of talk: 96 turns on ")
    assert "<i>" not in one._repr_html_()
    assert len(one.to_df()) == len(one.steps)
    assert one.to_dict()["faults"] == one.faults


def test_a_turn_is_resident_when_all_its_pieces_are(talk: Talk):
    one = replay(talk(20, lambda n: "word " * 900), Settings.of(window_tokens=3_000, reply_tokens=100))
    cut = next(t.number for p in one.state.pages.values() for t in p.turns if t.pieces > 1)
    homes = {p.number for p in one.state.pages_of(cut)}
    assert len(homes) > 1
    assert not is_resident(replace(one.state, resident=tuple(sorted(homes))[:1]), cut)
    assert is_resident(replace(one.state, resident=tuple(sorted(homes))), cut)
