"""The timeline page: what its address asks for, what each act does and how it is taken back, and what it may not do."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from memory import Engine
from memory.facts import Candidate
from memory.longterm import LongTerm
from memory.models.chat import Answer
from memory.stores.sql import Store
from workbench import deciding
from workbench.components import timed
from workbench.words import Words

Run = Callable[..., AppTest]
AT = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)


def data(at: AppTest, name: str) -> dict[str, Any]:
    found = [e.proto for e in at.get("bidi_component") if e.proto.component_name.endswith(f".{name}")]
    assert found, f"no {name} on the page"
    return json.loads(found[0].json)[0]


def shown(at: AppTest) -> str:
    boxes = [*at.markdown, *at.text, *at.caption, *at.code, *at.error, *at.warning, *at.info]
    return "\n".join([b.value for b in boxes] + [e.proto.json for e in at.get("bidi_component")])


def labels(at: AppTest) -> dict[int, str]:
    return {v["fact"]: v["label"] for each in data(at, "lanes")["lanes"] for v in each["versions"]}


@pytest.fixture
def trip(tmp_path: Path) -> Path:
    """A conversation, two facts of its user, and an inference that contradicts one of them."""
    now = [AT]

    def clock() -> datetime:
        now[0] += timedelta(hours=1)
        return now[0]

    path = tmp_path / "store"
    with Store.open(path, clock=clock) as store:
        reply = Answer("Noted.", (), 1, 1, None, "stop", "x", 1.0)
        Engine.open(store, user="ana", conversation="trip", chat=lambda *a, **k: reply).say("I live in Lyon.")
        memory = LongTerm.open(store, user="ana", conversation="trip", clock=clock)
        memory.write("My budget is 5000 euros.", at=AT)
        says(memory, "8000 euros", origin="inference")
    return path


def says(memory: LongTerm, value: str, **rest: Any) -> None:
    text = f"The user's budget is {value}."
    memory.write(Candidate(text, 0, len(text), subject="user", attribute="budget", value=value, single=True, **rest))


@pytest.mark.parametrize(
    ("user", "conv", "lang", "axis"),
    [("ana", "house-move", "en", "valid"), ("lin", "tea-shop", "zh", "recorded"), ("lin", "tea-shop", "en", "valid")],
)
def test_the_demo_has_a_lane_for_each_thing(app: Run, demo: Path, user: str, conv: str, lang: str, axis: str):
    at = app(demo, "timeline", user=user, conv=conv, lang=lang, axis=axis)
    assert not at.exception
    drawn = data(at, "lanes")
    assert any(len(each["versions"]) > 1 for each in drawn["lanes"])
    assert drawn["axis"] == axis
    assert len(data(at, "as_of")["axes"]) == 2


def test_a_lane_is_called_as_its_reader_calls_the_thing(app: Run, demo: Path):
    for lang, names in (("en", {"opening date", "drinks"}), ("zh", {"开业日期", "喝的"})):
        lanes = data(app(demo, "timeline", user="lin", conv="tea-shop", lang=lang), "lanes")["lanes"]
        assert names <= {lane["title"] for lane in lanes}


def test_a_fact_of_the_address_is_read_beside_the_lanes(app: Run, demo: Path):
    at = app(demo, "timeline", user="ana", conv="house-move", fact="25", beside="8")
    assert not at.exception
    read = data(at, "story")
    assert read["name"] == "f25"
    assert "turn=84" in read["quotes"][0]["href"]
    assert {kind for kind, _ in read["pieces"]} == {"same", "gone", "new"}
    assert any(v["chosen"] for each in data(at, "lanes")["lanes"] for v in each["versions"])


def test_as_of_a_recorded_day_nothing_later_is_there_and_nothing_can_be_done(app: Run, demo: Path):
    then = app(demo, "timeline", user="ana", conv="house-move", recorded="2026-03-20", fact="8")
    assert not then.exception
    assert set(labels(then)) == set(range(1, 25))
    assert data(then, "story")["badges"][0][1] == "active"
    assert not [b for b in then.button if b.key in ("retract", "end", "weigh")]
    now = app(demo, "timeline", user="ana", conv="house-move", fact="8")
    assert data(now, "story")["badges"][0][1] == "superseded"


def test_as_of_a_valid_day_what_was_not_true_stands_back(app: Run, demo: Path):
    at = app(demo, "timeline", user="ana", conv="house-move", valid="2026-03-20")
    dim = {v["fact"] for each in data(at, "lanes")["lanes"] for v in each["versions"] if v["dim"]}
    assert {9, 25, 26} <= dim
    assert not {8, 16, 18} & dim


def test_a_fact_that_was_not_known_yet_leaves_the_page_standing(app: Run, demo: Path):
    at = app(demo, "timeline", user="ana", conv="house-move", recorded="2026-03-20", fact="25")
    assert not at.exception
    assert "was not known yet" in shown(at).replace("\\", "")


def test_before_anything_was_known_the_way_back_to_now_is_there(app: Run, demo: Path):
    at = app(demo, "timeline", user="ana", conv="house-move", recorded="2020-01-01", valid="2020-01-01")
    assert not at.exception
    valid, recorded = data(at, "as_of")["axes"]
    assert (valid["own"], valid["stops"]) == ("1 Jan 2020", [])
    assert (recorded["own"], recorded["at"]) == ("1 Jan 2020", 0)
    assert recorded["stops"]


def test_filters_stand_in_the_address(app: Run, demo: Path):
    at = app(demo, "timeline", user="ana", conv="house-move", find="budget", state="superseded")
    assert set(labels(at).values()) == {"5,000 euros", "8000 euros"}
    none = app(demo, "timeline", user="ana", conv="house-move", find="no such thing")
    assert not none.exception
    none.button(key="unfilter").click().run()
    assert "find" not in none.query_params
    assert labels(none)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"fact": "999"}, "Nothing called f999"),
        ({"fact": "x"}, "a fact is a number"),
        ({"valid": "yesterday"}, "a day is written as"),
        ({"recorded": "2026-13-01"}, "a day is written as"),
        ({"valid": "9999-12-31"}, "a day is written as"),
        ({"layer": "deep"}, "no layer"),
        ({"state": "gone"}, "no state"),
        ({"axis": "x"}, "no time"),
    ],
)
def test_a_wrong_address_says_what_there_is_and_leads_back(app: Run, demo: Path, query: dict[str, str], says: str):
    at = app(demo, "timeline", user="ana", conv="house-move", **query)
    assert not at.exception
    assert says in shown(at).replace("\\", "")
    at.button(key="go_back").click().run()
    assert data(at, "lanes")["lanes"]


# ── acts ──────────────────────────────────────────────────────────────────────────────────────────────


def test_an_act_names_what_it_will_change_and_can_be_taken_back(app: Run, trip: Path):
    at = app(trip, "timeline", user="ana", conv="trip", fact="1")
    assert any("is not believed any more" in c.value for c in at.caption)
    at.button(key="retract").click().run()
    assert not at.exception
    assert data(at, "story")["badges"][0][1] == "retracted"
    assert "is retracted" in shown(at).replace("\\", "")
    at.button(key="undo_last").click().run()
    assert data(at, "story")["badges"][0][1] == "active"
    at.button(key="decided_close").click().run()
    assert not [b for b in at.button if b.key == "undo_last"]


def test_a_fact_is_corrected_marked_ended_and_believed_again(app: Run, trip: Path):
    at = app(trip, "timeline", user="ana", conv="trip", fact="1")
    at.text_input(key="correct_1").set_value("Lille").run()
    at.button(key="correct").click().run()
    assert labels(at)[4] == "Lille"
    at = app(trip, "timeline", user="ana", conv="trip", fact="4")
    at.button(key="weigh").click().run()
    assert ["layer", "star", "important"] in data(at, "story")["badges"]
    at.button(key="end").click().run()
    assert data(at, "story")["badges"][0][1] == "superseded"
    at = app(trip, "timeline", user="ana", conv="trip", fact="1")
    at.button(key="believe").click().run()
    assert data(at, "story")["badges"][0][1] == "active"


def test_a_conflict_shows_what_each_choice_does(app: Run, trip: Path):
    at = app(trip, "timeline", user="ana", conv="trip")
    (case,) = data(at, "inbox")["open"]
    assert [side["name"] for side in case["sides"]] == ["f2", "f3"]
    assert [side["would"] for side in case["sides"]] == [True, False]
    assert all(side["effects"] for side in case["sides"])
    assert case["both"]
    assert "a correction before a statement before an inference" in case["rule"]
    assert [b.proto.id.rpartition("inbox_")[2] for b in at.get("download_button") if "inbox" in b.proto.id] == [
        "csv", "parquet", "json", "html"]  # fmt: skip


def test_what_was_decided_in_the_meantime_is_not_decided_again(app: Run, trip: Path, monkeypatch: pytest.MonkeyPatch):
    at = app(trip, "timeline", user="ana", conv="trip", fact="2")
    with Store.open(trip) as other:
        LongTerm.open(other, user="ana", conversation="trip").settle(1, 3)
    at.button(key="retract").click().run()
    assert not at.exception
    assert "changed meanwhile" in shown(at).replace("\\", "")
    assert data(at, "story")["badges"][0][1] == "superseded"


@pytest.mark.parametrize("winner", [2, 3, 0])
def test_a_conflict_is_settled_and_opened_again(app: Run, trip: Path, winner: int, monkeypatch: pytest.MonkeyPatch):
    sent: list[Any] = [1, winner]
    at = app(trip, "timeline", user="ana", conv="trip")
    session: dict[str, Any] = {"inbox": {"settle": sent}}
    done: list[tuple[int, int]] = []
    monkeypatch.setattr(deciding.st, "session_state", session)
    deciding.fired("inbox", "settle", lambda value: done.append((value[0], value[1])))()
    deciding.fired("inbox", "undo", lambda value: done.append((0, 0)))()
    assert done == [(1, winner)]
    monkeypatch.undo()
    with Store.open(trip) as store:
        change = LongTerm.open(store, user="ana", conversation="trip").settle(*done[0])
    at = app(trip, "timeline", user="ana", conv="trip")
    inbox = data(at, "inbox")
    assert not inbox["open"]
    assert inbox["settled"][0]["change"] == change.number
    assert [s["won"] for s in inbox["settled"][0]["sides"]] == [winner in (0, 2), winner in (0, 3)]


def test_a_models_ruling_names_the_model_and_its_reason(app: Run, trip: Path):
    with Store.open(trip) as store:
        memory = LongTerm.open(store, user="ana", conversation="trip")
        memory.settle(1, 3, by="model:openai/test", why="she <b>says</b> so")
    at = app(trip, "timeline", user="ana", conv="trip")
    outcome = data(at, "inbox")["settled"][0]["outcome"]
    assert "a model (openai/test)" in outcome
    assert outcome.endswith(": “she <b>says</b> so”")  # the page sets it as text


def test_a_read_only_workbench_offers_no_act(app: Run, trip: Path, monkeypatch: pytest.MonkeyPatch):
    at = app(trip, "timeline", user="ana", conv="trip", fact="1")
    monkeypatch.setenv("MEMORY_WORKBENCH_READONLY", "1")
    at.run()
    assert not at.exception
    assert data(at, "inbox")["may_act"] is False
    assert not any(step["may_undo"] for step in data(at, "story")["steps"])
    assert not [b for b in at.button if b.key in ("retract", "end", "weigh", "correct")]
    assert "reading only" in shown(at)


def test_hostile_words_show_as_text(app: Run, trip: Path):
    words = "<script>alert(1)</script> \u202egnp.exe [a](javascript:x) $x$ :red[x]"
    with Store.open(trip) as store:
        memory = LongTerm.open(store, user="ana", conversation="trip")
        memory.write(Candidate(words, 0, len(words)))
    at = app(trip, "timeline", user="ana", conv="trip", fact="4")
    at.button(key="weigh").click().run()
    assert not at.exception
    text = shown(at)
    assert "\u202e" not in text
    assert "\\u202e" not in text
    assert not any("<script" in m.value for m in at.markdown)


def test_another_conversations_working_fact_is_not_to_be_had(app: Run, trip: Path):
    with Store.open(trip) as store:
        memory = LongTerm.open(store, user="ana", conversation="work")
        memory.write(Candidate("A secret draft", 0, 14, layer="working"))
    at = app(trip, "timeline", user="ana", conv="trip")
    assert "secret draft" not in shown(at)
    at = app(trip, "timeline", user="ana", conv="trip", fact="4")
    assert "secret draft" not in shown(at)
    assert "Nothing called f4" in shown(at).replace("\\", "")


# ── moments in the address ────────────────────────────────────────────────────────────────────────────


def test_a_day_of_the_address_is_the_readers_and_ends_at_midnight():
    from zoneinfo import ZoneInfo

    berlin = ZoneInfo("Europe/Berlin")
    end = timed.moment_of("2026-04-14", berlin)
    assert end.astimezone(berlin).isoformat() == "2026-04-14T23:59:59.999999+02:00"
    assert timed.moment_of("2026-03-29", berlin) - timed.moment_of("2026-03-28", berlin) == timedelta(hours=23)


def test_a_slider_stops_where_something_changed():
    say = Words("en")
    days = [AT + timedelta(days=n // 2, hours=n) for n in range(10)]
    found = timed.stops(days, say)
    assert [name for name, _ in found] == sorted({at.date().isoformat() for at in days})
    assert all(any(at <= timed.moment_of(name, UTC) for at in days) for name, _ in found)
    near = timed.stops([AT, AT + timedelta(seconds=1)], say)
    assert [name for name, _ in near] == ["2026-03-02T09:14:00", "2026-03-02T09:14:01"]
    assert timed.moment_of(near[0][0], UTC) >= AT
    assert timed.moment_of(near[0][0], UTC) < AT + timedelta(seconds=1)
    many = timed.stops([AT + timedelta(days=n) for n in range(3_000)], say)
    assert len(many) == timed.STOPS
    assert (many[0][0], many[-1][0]) == ("2026-03-02", (AT + timedelta(days=2_999)).date().isoformat())
