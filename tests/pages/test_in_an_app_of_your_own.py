"""The views as functions of somebody's own Streamlit app."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

CALLS = {
    "window": ("{key}=memory.window(source, key='{key}')", {"figures", "token_bar", "page_list", "feed", "stubs"}),
    "turn": ("{key}=memory.turn(source, 100, key='{key}')", {"chat", "feed", "prompt"}),
    "diff": ("{key}=memory.diff(source, 89, 90, key='{key}')", {"facts", "diff"}),
    "evictions": ("{key}=memory.evictions(source, key='{key}')", {"facts", "table"}),
    "timeline": ("{key}=memory.timeline(source, key='{key}')", {"lanes"}),
    "bookmarks": ("{key}=memory.bookmarks(source, key='{key}')", {"cloud"}),
    "graph": ("{key}=memory.graph(source, key='{key}')", {"network"}),
    "why": ("{key}=memory.why(source, 'peanuts', turn=100, key='{key}')", {"stages"}),
}
APP = """
from memory.scope import Scope
from memory.stores.sql import Store
from workbench import st as memory
store = Store.open({path!r})
run = store.main_run("ana", "house-move")
source = (store, run)
{calls}
"""


@pytest.mark.parametrize("name", CALLS)
def test_every_view_is_a_function_and_two_of_them_stand_on_one_page(demo: Path, name: str):
    call, parts = CALLS[name]
    script = APP.format(path=str(demo), calls="\n".join(call.format(key=key) for key in ("first", "second")))
    at = AppTest.from_string(script, default_timeout=60).run()
    assert not at.exception
    drawn = [e.proto.component_name.rpartition(".")[2] for e in at.get("bidi_component")]
    assert all(drawn.count(part) >= 2 for part in parts)


def test_an_engine_is_a_source_as_well_and_the_language_is_the_app_s_to_say(tmp_path: Path):
    script = """
from memory import Engine
from workbench import st as memory
engine = Engine.open({path!r}, user="ana", conversation="new", window_tokens=2000)
if not engine.state.turn:
    engine.say("Hello, I am Ana.")
memory.window(engine, lang="zh")
"""
    at = AppTest.from_string(script.format(path=str(tmp_path / 'store')), default_timeout=60).run()
    assert not at.exception
    bar = next(e.proto for e in at.get("bidi_component") if e.proto.component_name.endswith(".token_bar"))
    assert any("一" <= letter <= "鿿" for letter in json.loads(bar.json)[0]["label"])
