from datetime import UTC, datetime, timedelta

import pytest

from memory.errors import BadSetting, RecordingError, UnknownName
from memory.exchanges import Line
from memory.pages import Page
from memory.turns import Turn
from sessions.lab import grid, lab
from sessions.lab_results import Lab, Result
from sessions.paging import MESSAGE, Cell, Outcome, Probe, paged, simulated, spread, stubs_of, talk_of
from sessions.paging import talk as read
from sessions.questions import Pinned

START = datetime(2026, 1, 5, tzinfo=UTC)
THINGS = ("zeppelin", "kangaroo", "marmalade", "violin", "glacier", "saxophone")


def pages_of(tokens=(100, 100, 100, 100)) -> list[Page]:
    """One turn a page: page n is turn n."""
    return [Page(n, (Turn(n, "user", n, size, START),), size, closed=True) for n, size in enumerate(tokens, 1)]


def asked(turn: int, at: int, category: str = "") -> Probe:
    return Probe("", category, frozenset({turn}), at)


def places(cell: Cell, probes: list[Probe], order=(1, 2, 3, 4), tokens=(100, 100, 100, 100)) -> list[Outcome]:
    return simulated(pages_of(tokens), probes, lambda nth: order, cell)


def small_talk(name: str = "small") -> object:
    lines = tuple(
        Line(n, "user" if n % 2 else "assistant", f"The {THINGS[(n - 1) // 2]} is number {n}.", "",
             START + timedelta(minutes=n))
        for n in range(1, 13)
    )  # fmt: skip
    probes = tuple(Probe(f"What about the {thing}?", "one", frozenset({2 * n + 1}), 12)
                   for n, thing in enumerate(THINGS))  # fmt: skip
    return read(name, lines, probes)


def test_two_frames_hold_the_last_two_pages_and_the_rest_is_recalled_in_order():
    found = places(Cell(eviction="fifo", pages=2), [asked(n, 4) for n in (1, 2, 3, 4)])
    assert [o.resident for o in found] == [False, False, True, True]
    assert [o.place for o in found] == [1, 2, 0, 0]
    assert [o.right(1) for o in found] == [True, False, True, True]
    assert found[1].right(3)


def test_a_page_that_a_question_used_outlives_a_newer_one():
    probes = [asked(1, 2), asked(1, 3)]  # pages 1, 2; asked for 1; page 3 comes
    assert [o.resident for o in places(Cell(eviction="lru", pages=2), probes)] == [True, True]
    assert [o.resident for o in places(Cell(eviction="fifo", pages=2), probes)] == [True, False]


def test_the_oracle_keeps_what_will_be_asked():
    probes = [asked(1, 4), asked(4, 4)]
    assert [o.resident for o in places(Cell(eviction="oracle", pages=2), probes)] == [True, True]
    assert [o.resident for o in places(Cell(eviction="lru", pages=2), probes)] == [False, True]


def test_what_is_not_said_yet_is_no_candidate():
    (found,) = places(Cell(eviction="fifo", pages=1), [asked(1, 2)], order=(4, 3, 2, 1))
    assert (found.place, found.candidates) == (1, 1)


def test_a_budget_counts_tokens_of_pages_and_of_what_a_recall_brings():
    cell = Cell(eviction="fifo", budget=300)  # 255 for pages: two
    first, last = places(cell, [asked(1, 4), asked(4, 4)], order=(2, 1, 3, 4))
    assert last.resident
    assert not first.resident
    assert (first.place, first.fitting, first.tokens) == (2, 2, (100, 200, 200))
    (wide,) = places(Cell(eviction="fifo", budget=300), [asked(1, 4)], order=(1,), tokens=(400, 100, 100, 100))
    assert wide.place == 1
    assert not wide.right(1)


@pytest.mark.parametrize(
    ("turn", "parts", "right"),
    [(1, True, False), (2, True, True), (3, True, True), (4, True, False), (3, False, False)],
)
def test_of_a_page_that_does_not_fit_the_part_comes_that_does_and_only_its_turns_count(turn, parts, right):
    turns = [Turn(n, "user", n, 50, START) for n in range(1, 5)]
    pages = [Page(1, tuple(turns), 200, closed=True), Page(2, (Turn(5, "user", 5, 100, START),), 100, closed=True)]
    cell = Cell(eviction="fifo", budget=200, parts=parts)  # 170 for pages: three turns and the marks do not fit
    (found,) = simulated(pages, [asked(turn, 5)], lambda nth: (1, 2), cell, worth=lambda nth, page: {2: 1.0})
    assert found.right(1) == right
    assert found.tokens == ((140, 140, 140) if parts else (0, 0, 0))
    assert found.fitting == parts


def test_pages_are_made_as_the_engine_makes_them():
    assert [(p.first, p.last) for p in paged(small_talk(), "fixed_5")] == [(1, 5), (6, 10), (11, 12)]


def test_a_question_is_never_asked_before_its_evidence_is_said_and_the_draw_is_the_same_each_time():
    late = spread(small_talk())
    assert late == spread(small_talk())
    assert all(max(p.evidence) <= p.at <= 12 for p in late.probes)
    assert [p.at for p in late.probes] == sorted(p.at for p in late.probes)


def test_a_recall_by_content_finds_the_page_that_says_it():
    made = lab([small_talk()], [Cell("fixed_2", "fifo", pages=1)])
    assert made.best.end_to_end() == 1.0
    assert made.best.split() == {"resident": 1, "recallable": 5, "lost": 0}


def test_stubs_alone_are_what_a_recall_by_a_generator_goes_by():
    each = small_talk()
    stubs = stubs_of(each, paged(each, "fixed_2"), "tfidf")
    assert "zeppelin" in stubs[1]
    assert "zeppelin" not in "".join(stubs[n] for n in range(2, 7))


def test_regret_is_what_the_oracle_has_more():
    few = lab([small_talk()], [Cell("fixed_2", "fifo", pages=2, asked="spread"), Cell("fixed_2", "oracle", pages=2)])
    assert [r.regret for r in few.results][1] == 0


def test_what_is_kept_is_not_worked_out_again_and_is_the_same(tmp_path, monkeypatch):
    cells = [Cell("fixed_5", "lru", "tfidf", 200), Cell("fixed_5", "lru", "content", 200)]
    first = lab([small_talk()], cells, tmp_path)
    monkeypatch.setattr("sessions.lab.paged", None)  # would fail
    assert lab([small_talk()], cells, tmp_path) == first
    assert len(list(tmp_path.iterdir())) == 1


def test_figures_carry_their_n_and_an_interval_around_them():
    outcomes = tuple(
        Outcome("a" if n % 2 else "b", n < 5, False, 1 if n > 7 else 0, 5, (9, 9, 9), 3) for n in range(10)
    )
    told = Result(Cell(), outcomes).to_dict()
    found = told["end_to_end"]["1"]
    assert (found["value"], found["n"]) == (0.7, 10)
    assert found["low"] < 0.7 < found["high"]
    assert told["precision"] == 0.4
    assert told["split"] == {"resident": 5, "recallable": 2, "lost": 3}
    assert {name: c["n"] for name, c in told["by_category"].items()} == {"a": 5, "b": 5}


def test_the_front_holds_what_nothing_cheaper_beats():
    def cost(tokens: int, right: int) -> Result:
        made = [Outcome("", n < right, False, 0, 0, (0, 0, 0), 1) for n in range(4)]
        return Result(Cell(budget=tokens), tuple(made))

    found = Lab((cost(300, 2), cost(100, 1), cost(200, 1), cost(400, 3)), 1, 10)
    assert [r.cell.budget for r in found.front] == [100, 300, 400]
    assert "n = 4" in repr(found)
    assert "not measured" in found.honesty.to_dict()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [({"eviction": "relevance"}, UnknownName), ({"recall": "llm"}, BadSetting), ({"template": "intent"}, BadSetting),
     ({"recall": "llm", "template": "odd"}, UnknownName), ({"recall": "telepathy"}, UnknownName),
     ({"budget": 3}, BadSetting),
     ({"asked": "never"}, UnknownName)],
)  # fmt: skip
def test_a_cell_that_cannot_be_is_refused(wrong, error):
    with pytest.raises(error):
        Cell(**wrong)


def test_a_lab_without_a_conversation_is_an_error():
    with pytest.raises(RecordingError, match="labelled questions"):
        lab([], [Cell()])


# ── a grid ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_grid_has_every_combination_and_templates_only_where_a_model_reads_them():
    cells = grid(boundaries=["fixed_5"], evictions=["lru"], recalls=["content", "llm"],
                 templates=["entities", "intent"], budgets=[1_000, 2_000])  # fmt: skip
    assert [(c.recall, c.template, c.budget) for c in cells] == [
        ("content", "", 1_000), ("content", "", 2_000), ("llm", "entities", 1_000), ("llm", "entities", 2_000),
        ("llm", "intent", 1_000), ("llm", "intent", 2_000),
    ]  # fmt: skip
    assert {(c.pages, c.name) for c in grid(boundaries=["fixed_5"], evictions=["lru"], pages=[5])} == {
        (5, "fixed_5 · lru · content · 5 pages")
    }


def test_a_run_that_was_cut_off_goes_on_with_what_is_lacking(tmp_path):
    cells = grid(boundaries=["fixed_2", "fixed_5"], evictions=["lru"], budgets=[200])

    def cut(done: int, of: int) -> None:
        assert of == 2
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lab([small_talk()], cells, tmp_path, progress=cut)
    (kept,) = tmp_path.iterdir()
    written = kept.stat().st_mtime_ns
    assert lab([small_talk()], cells, tmp_path) == lab([small_talk()], cells)
    assert (kept.stat().st_mtime_ns, len(list(tmp_path.iterdir()))) == (written, 2)


def test_a_file_that_holds_no_results_is_an_error(tmp_path):
    lab([small_talk()], [Cell("fixed_2")], tmp_path)
    (kept,) = tmp_path.iterdir()
    kept.write_text("{", "utf-8")
    with pytest.raises(RecordingError, match="delete it"):
        lab([small_talk()], [Cell("fixed_2")], tmp_path)


def test_the_oracle_is_a_reference_and_no_choice():
    found = lab([small_talk()], grid(boundaries=["fixed_2"], evictions=["lru", "oracle"], budgets=[200]))
    assert {r.cell.eviction for r in found.real} == {"lru"} == {r.cell.eviction for r in found.front}


def test_the_best_cell_is_judged_on_conversations_that_did_not_choose_it():
    def right(cell: Cell, *there: bool) -> Result:
        return Result(cell, tuple(Outcome("", each, each, 0, 0, (0, 0, 0), 1) for each in there))

    a, b = right(Cell(budget=1_000), True, True, False), right(Cell(budget=2_000), False, False, True)
    held = Lab((a, b), 2, 10, (2, 1)).held_out
    assert (held["value"], held["n"]) == (0.0, 3)  # the first conversation's best fails on the second, and back
    assert held["chosen"] == {b.cell.name: 1, a.cell.name: 1}
    assert Lab((a, b), 1, 10, (3,)).held_out is None


def test_a_model_names_the_pages_where_one_is_asked_for():
    asked = []

    def ask(prompt: str, shape: object) -> str:
        asked.append(prompt)
        return '{"keywords": []}'

    cell = Cell("fixed_5", "lru", "llm", 200, template="intent")
    found = lab([small_talk()], [cell], ask=ask, llm="x")
    assert len(asked) == 3
    assert "what the user wants to reach" in asked[0]
    assert found.best.n == 6
    with pytest.raises(BadSetting, match="by a model"):
        lab([small_talk()], [cell])


def test_messages_ask_where_they_are_said_and_questions_at_the_end(talk):  # the recording of conftest
    recording = talk(96)
    made = talk_of(recording, [Pinned("What?", "ana", "talk", evidence=(5,), turn=50)])
    assert [p.at for p in made.probes] == sorted(p.at for p in made.probes)
    assert {p.at for p in made.probes if p.category == MESSAGE} == {
        t.number - 1 for t in recording.turns if t.evidence and t.role == "user"
    }
    assert [(p.category, p.at) for p in made.probes if p.at in (50, 96)][-2:] == [("pinned", 50), ("single", 96)]
    assert all(max(p.evidence) <= p.at for p in made.probes)
