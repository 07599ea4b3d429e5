import json
import re
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.bookmarks import BOOKMARKS
from memory.boundaries import BOUNDARIES
from memory.errors import BadSetting, UnknownName
from memory.eviction import EVICTION
from memory.journal import MemoryJournal
from memory.pager import Pager
from memory.settings import TASKS, Settings, by_task, described
from memory.work import memory_llm

NUMBERS = {f.name: f for f in fields(Settings) if "low" in f.metadata}
NAMES = {f.name: f for f in fields(Settings) if "low" not in f.metadata}
WATERMARKS = {
    "high_watermark": {"low_watermark": 0.1},
    "low_watermark": {"high_watermark": 1.0},
}  # what allows both ends


@pytest.mark.parametrize("name", NUMBERS)
def test_both_ends_of_a_range_are_taken_and_what_lies_beyond_is_not(name):
    f = NUMBERS[name]
    low, high, unit = f.metadata["low"], f.metadata["high"], f.metadata["unit"]
    step = 1 if f.type == "int" else 0.001
    others = WATERMARKS.get(name, {})
    for value in (low, high):
        assert getattr(Settings.of(**{name: value}, **others), name) == value
    for value in (low - step, high + step):
        with pytest.raises(BadSetting, match=re.escape(f"{name} must be {low:,} to {high:,} {unit}, not {value!r}")):
            Settings.of(**{name: value}, **others)


@pytest.mark.parametrize("value", ["7", None, True, float("nan"), float("inf"), [7]])
@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_number_is_refused(name, value):
    with pytest.raises(BadSetting, match=f"{name} must be "):
        Settings.of(**{name: value})


@pytest.mark.parametrize("name", [n for n, f in NUMBERS.items() if f.type == "int"])
def test_a_whole_number_is_a_whole_number(name):
    low = NUMBERS[name].metadata["low"]
    with pytest.raises(BadSetting, match=f"{name} must be a whole number of"):
        Settings.of(**{name: low + 0.5})
    assert type(getattr(Settings.of(**{name: float(low)}), name)) is int
    assert type(getattr(Settings(**{name: float(low)}), name)) is int


@pytest.mark.parametrize("value", ["", 7, None])
@pytest.mark.parametrize("name", list(NAMES))
def test_a_name_is_a_text(name, value):
    if value == "" and NAMES[name].metadata["may_be_empty"]:
        assert getattr(Settings.of(**{name: ""}), name) == ""
        return
    with pytest.raises(BadSetting, match=f"{name} must be a name"):
        Settings.of(**{name: value})


def test_the_low_watermark_is_not_above_the_high_one():
    with pytest.raises(BadSetting, match=r"low_watermark \(0.7\) must not be above high_watermark \(0.6\)"):
        Settings.of(low_watermark=0.7, high_watermark=0.6)


def test_an_unknown_setting_lists_the_known_ones():
    with pytest.raises(UnknownName, match=r"no setting named 'page_turn'; choose one of: .*page_turns"):
        Settings.of(page_turn=5)


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("fixed_20", {"boundary": "fixed_n", "page_turns": 20}),
        ("exchange_3", {"boundary": "exchanges", "page_exchanges": 3}),
        ("tokens_400", {"boundary": "tokens", "page_tokens": 400}),
        ("idle_6", {"boundary": "idle_gap", "idle_hours": 6}),
        ("idle_0.5h", {"boundary": "idle_gap", "idle_hours": 0.5}),
        ("fixed_10+idle_6", {"boundary": "fixed_n+idle_gap", "page_turns": 10, "idle_hours": 6}),
        (" topic_shift + fixed_10 ", {"boundary": "topic_shift+fixed_n", "page_turns": 10}),
    ],
)
def test_shorthand(short, long):
    assert Settings.of(boundary=short) == Settings(**long)
    assert Settings.of(boundary=short).hash == Settings(**long).hash


@pytest.mark.parametrize("short", ["fixed_0", "fixed_201", "fixed_2.5", "tokens_1", "idle_0"])
def test_shorthand_keeps_to_the_ranges(short):
    with pytest.raises(BadSetting):
        Settings.of(boundary=short)


@pytest.mark.parametrize(
    "change",
    [{"eviction": n} for n in EVICTION] + [{"boundary": n} for n in BOUNDARIES] + [{"bookmarks": n} for n in BOOKMARKS],
    ids=str,
)
def test_every_registered_name_is_taken(change):
    pager = Pager(MemoryJournal())
    pager.start(Settings.of(**change))
    assert pager.strategies


def any_settings() -> st.SearchStrategy[Settings]:
    def of(name):
        low, high = NUMBERS[name].metadata["low"], NUMBERS[name].metadata["high"]
        whole = NUMBERS[name].type == "int"
        return st.integers(low, high) if whole else st.floats(low, high, allow_nan=False)

    free = {name: of(name) for name in NUMBERS if name not in WATERMARKS}
    return st.builds(Settings, **free)


@given(any_settings())
def test_settings_come_back_from_their_dictionary_with_the_same_hash(s):
    assert Settings.from_dict(s.to_dict()) == s
    assert Settings.from_dict(json.loads(json.dumps(s.to_dict()))).hash == s.hash
    assert Settings.stored(s.to_dict()) == s


@given(any_settings(), any_settings())
def test_the_hash_names_the_values(one, other):
    assert (one == other) == (one.hash == other.hash)


def test_equal_numbers_have_one_hash_however_they_are_written():
    assert Settings().hash == Settings.of(idle_hours=6).hash == Settings(idle_hours=6.0, page_turns=10.0).hash
    assert Settings().hash != Settings.of(idle_hours=6.5).hash
    assert re.fullmatch("[0-9a-f]{12}", Settings().hash)


def test_a_changed_value_shows_and_the_rest_does_not():
    assert repr(Settings.of(page_turns=7)) == "Settings(page_turns=7)"
    assert repr(Settings()) == "Settings(defaults)"


def test_every_setting_has_a_unit_and_a_sentence():
    for entry in described():
        assert entry["unit"]
        assert entry["says"].endswith(".")


# ── a model for each task ─────────────────────────────────────────────────────────────────────────────


def test_a_model_by_task_and_one_for_the_rest():
    assert dict(by_task("")) == {}
    assert dict(by_task("gpt-4o-mini")) == {"": "gpt-4o-mini"}
    assert dict(by_task("bookmark=ollama/x,eviction=mini")) == {"bookmark": "ollama/x", "eviction": "mini"}
    s = Settings.of(llm="gpt-4o", memory_llm="gpt-4o-mini, eviction = ollama/x, summary=workbench/offline")
    asked = {task: memory_llm(s, task) for task in TASKS}
    assert asked == {"bookmark": "gpt-4o-mini", "eviction": "ollama/x", "extraction": "gpt-4o-mini",
                     "retrieval": "gpt-4o-mini", "summary": ""}  # fmt: skip
    assert memory_llm(Settings.of(llm="gpt-4o", memory_llm="eviction=ollama/x"), "bookmark") == "gpt-4o"


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ("bookmrk=ollama/x", UnknownName, "no task of memory work named 'bookmrk'; choose one of: bookmark, eviction"),
        ("bookmark=", BadSetting, "must name a model for each task, as in bookmark=gpt-4o-mini, not 'bookmark='"),
        ("my model", BadSetting, "not 'my model'"),
        ("a,b", BadSetting, "two models for every task that is not named: a and b; leave one out"),
        ("eviction=a,eviction=b", BadSetting, "two models for the task eviction: a and b"),
    ],
)
def test_a_bad_name_says_what_would_be_right(given, error, says):
    with pytest.raises(error, match=re.escape(says)):
        Settings.of(memory_llm=given)
