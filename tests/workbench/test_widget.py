"""The live window as a widget: the page's own parts, the kernel's answers, and a view where no widget is shown."""

import builtins
import json
from collections.abc import Iterator

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
        assert js.replace("export default function", "return function", 1) in widget.script()
        assert json.dumps(css, ensure_ascii=False).encode() in widget.script().encode()


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


def test_both_themes_have_every_colour_that_parts_use():
    found = widget.themes()
    assert found["light"].keys() == found["dark"].keys() == set(widget.THEME.values())
    assert found["light"]["background-color"] != found["dark"]["background-color"]
