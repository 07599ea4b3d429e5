"""The live window as a widget: the page's own parts, the kernel's answers, and a view where no widget is shown."""

import builtins
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import workbench
from memory import Engine
from memory.errors import NotFound
from memory.models.chat import Answer
from memory.stores.sql import Store
from workbench import widget
from workbench.components import sources
from workbench.views.window import PageView, WindowView
from workbench.widget import PARTS, LiveWindow


def answer(*_: object, **__: object) -> Answer:
    return Answer("All right.", (), 1, 1, 0.0, "stop", "x", 1.0)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    path = tmp_path_factory.mktemp("widget") / "store"
    with Store.open(path) as store:  # an engine that closes makes vectors, which nobody asks for here
        opened = Engine.open(
            store,
            user="ana",
            conversation="c",
            chat=answer,
            window_tokens=900,
            reply_tokens=100,
            page_turns=2,
            remember="off",
        )
        for word in ("garden", "violin", "harbour", "glacier"):
            opened.say(f"The {word} is old, and everyone knows the {word} well. " * 12)
        yield opened


def clicked(window: LiveWindow, name: str, value: int) -> None:
    window._heard(window, {"part": "x", "name": name, "value": value}, [])


def test_it_holds_what_the_page_s_parts_draw(engine: Engine):
    made = workbench.live_window(engine)
    assert isinstance(made, LiveWindow)
    assert tuple(made.parts) == PARTS
    assert [row["name"] for row in made.parts["page_list"]["rows"]] == [page.name for page in made.view.pages]
    assert made.parts["scrubber"]["turn"] == 8
    assert json.loads(json.dumps(made.parts)) == made.parts
    for folder in PARTS:
        css, js = sources(folder)
        assert js.replace("export default function", "const drawn = function", 1) in str(made._esm)
        assert json.dumps(css, ensure_ascii=False) in str(made._esm)


def test_the_scrubber_walks_and_a_click_selects_a_page(engine: Engine):
    made = LiveWindow(engine.store, engine.scope)
    clicked(made, "turn", 4)
    assert (made.view.turn, made.parts["scrubber"]["turn"]) == (4, 4)
    clicked(made, "page", 1)
    assert isinstance(made.selected, PageView)
    assert made.parts["token_bar"]["selected"] == 1
    clicked(made, "page", 1)
    assert isinstance(made.selected, WindowView)
    with pytest.raises(NotFound):
        made.goto(99)
    assert made.view.turn == 4
    clicked(made, "turn", 8)  # the newest is followed
    engine.say("And the comet.")
    made.refresh()
    assert made.parts["scrubber"]["turn"] == 10


def test_where_no_widget_is_shown_the_view_stands_in_its_place(engine: Engine, monkeypatch):
    shown, _ = LiveWindow(engine.store, engine.scope)._repr_mimebundle_()
    assert shown["text/html"] == workbench.window(engine)._repr_html_()
    assert "application/vnd.jupyter.widget-view+json" in shown

    def without(name: str, *rest: object) -> object:
        if name == "workbench.widget":
            raise ImportError("No module named 'anywidget'", name="anywidget")
        return real(name, *rest)

    real = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", without)
    assert isinstance(workbench.live_window(engine, 4), WindowView)


# ── following ─────────────────────────────────────────────────────────────────────────────────────────


def looked_at(window: LiveWindow, by: str) -> None:
    window._heard(window, {"name": "seen", "value": by}, [])


def left(window: LiveWindow, by: str) -> None:
    window._heard(window, {"name": "unseen", "value": by}, [])


def soon(happens: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while not happens() and time.monotonic() < end:
        time.sleep(0.02)
    return happens()


@pytest.fixture
def shown(engine: Engine) -> Iterator[LiveWindow]:
    made = LiveWindow(engine.store, engine.scope)
    yield made
    made.close()


def test_who_looks_on_sees_what_is_said_and_nobody_is_followed_for(engine: Engine, shown: LiveWindow):
    assert not shown.is_following
    looked_at(shown, "one")
    looked_at(shown, "other")
    left(shown, "one")
    before = shown.parts["scrubber"]["turns"]
    engine.say("A word more.")
    assert soon(lambda: shown.parts["scrubber"]["turn"] == before + 2)
    thread = shown._following
    left(shown, "other")
    assert soon(lambda: not thread.is_alive())
    engine.say("Nobody hears this.")
    assert shown.parts["scrubber"]["turns"] == before + 2


def test_another_process_is_followed_too_and_a_past_turn_stays(engine: Engine, shown: LiveWindow):
    shown.goto(2)
    looked_at(shown, "one")
    before = shown.parts["scrubber"]["turns"]
    say = (
        "import sys; from memory import Engine;"
        "Engine.open(sys.argv[1], user='ana', conversation='c').say('From elsewhere.')"
    )
    subprocess.run([sys.executable, "-c", say, str(engine.store.path)], check=True)
    assert soon(lambda: shown.parts["scrubber"]["turns"] == before + 2)
    assert shown.parts["scrubber"]["turn"] == 2


def test_it_follows_as_soon_as_it_is_shown_and_stops_when_it_is_switched_off_or_closed(engine: Engine):
    made = LiveWindow(engine.store, engine.scope)
    made._repr_mimebundle_()
    assert made.is_following  # before the kernel is free to hear that somebody looks on
    looked_at(made, "one")
    first = made._following
    made.live = False
    assert soon(lambda: not first.is_alive())
    assert not made.is_following
    made.live = True
    second = made._following
    assert made.is_following
    made.close()
    assert soon(lambda: not second.is_alive())
    still = workbench.live_window(engine, live=False)
    looked_at(still, "one")
    assert not still.is_following


def test_what_is_followed_may_go(tmp_path: Path):
    with Store.open(tmp_path / "store") as store:
        opened = Engine.open(store, user="ana", conversation="gone", chat=answer, remember="off")
        opened.say("Hello.")
        made = LiveWindow(store, opened.scope)
        looked_at(made, "one")
        thread = made._following
        store.delete("ana", "gone")
        assert soon(lambda: not thread.is_alive())
        made.close()


def test_both_themes_have_every_colour_that_parts_use():
    found = widget.themes()
    assert found["light"].keys() == found["dark"].keys() == set(widget.THEME.values())
    assert found["light"]["background-color"] != found["dark"]["background-color"]
