"""`%%conversation`: a cell's calls become a conversation, whatever comes of the cell."""

from types import SimpleNamespace

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from memory.errors import BadSetting
from memory.models.chat import litellm_ready
from memory.scope import Scope
from memory.stores.sql import Store
from sessions.transcript import recording_of
from workbench.inline import WorkbenchMagics
from workbench.recorded_cell import asked

CHAT = """
import litellm
messages = []
for said in ("My budget is <b>5,000</b> euros.", "And I like trains."):
    messages.append({"role": "user", "content": said})
    got = litellm.completion(model="openai/nobody", messages=messages, api_key="none", mock_response=f"I hear: {said}")
    messages.append({"role": "assistant", "content": got.choices[0].message.content})
"""


@pytest.fixture
def shell():
    litellm_ready()  # without a look at the network
    made = InteractiveShell()
    yield made
    made.history_manager.end_session()


@pytest.fixture
def magics(shell, tmp_path):
    made = WorkbenchMagics(shell)
    with Store.open(tmp_path / "store") as store:
        shell.user_ns["wb"] = SimpleNamespace(place=(store, Scope("ana", "other")), goto=None)
        yield made


def turns(store: Store, user: str, conversation: str) -> list[str]:
    return [turn.text for turn in recording_of(store, Scope(user, conversation, "recorded")).turns]


def test_the_cells_calls_are_a_conversation_of_the_notebooks_user_and_are_shown(magics, shell):
    found = magics.conversation("trip window_tokens=2000", CHAT)
    store, _ = shell.user_ns["wb"].place
    said = ["My budget is <b>5,000</b> euros.", "I hear: My budget is <b>5,000</b> euros.", "And I like trains."]
    assert turns(store, "ana", "trip")[:3] == said
    assert found.summary == "2 calls in 1 conversation"
    (window,) = found.windows
    assert (window.scope.conversation, window.turns, window.budget) == ("trip", 4, 2_000)
    assert "&lt;b&gt;5,000" in found._repr_html_()
    assert "<b>5,000" not in found._repr_html_()
    assert shell.user_ns["got"].choices[0].message.content == "I hear: And I like trains."
    shell.run_cell(CHAT)  # outside of the cell nobody listens
    assert len(turns(store, "ana", "trip")) == 4


def test_a_cell_that_fails_says_so_and_keeps_what_was_said_before(magics, shell, capsys):
    with pytest.raises(UsageError, match="ended with ZeroDivisionError; until then: 2 calls in 1 conversation"):
        magics.conversation("trip user=ben replay=off", f"{CHAT}\n1 / 0")
    assert len(turns(shell.user_ns["wb"].place[0], "ben", "trip")) == 4
    assert "division by zero" in capsys.readouterr().out


def test_without_an_engine_the_calls_go_into_the_store_that_is_named(magics, shell, tmp_path):
    del shell.user_ns["wb"]
    found = magics.conversation(f"trip 'store={tmp_path / 'of its own'}' replay=off remember=off", CHAT)
    with Store.open(tmp_path / "of its own") as store:
        assert len(turns(store, "app", "trip")) == 4
        assert not store.knowledge("app").facts
    assert "4 turns" in found._repr_html_()
    assert "window" not in found._repr_html_()  # a recording has none


@pytest.mark.parametrize(
    ("line", "cell", "told"),
    [
        ("", "ran = 1", "which conversation"),
        ("user=ana", "ran = 1", "which conversation"),
        ("trip user", "ran = 1", "name=value"),
        ("trip replay=perhaps", "ran = 1", "replay is on or off here, not 'perhaps'"),
        ("trip window_token=9", "ran = 1", "window_token"),
        ("trip 'it", "ran = 1", "quotation"),
        ("trip", "ran = await nobody()", "awaits"),
    ],
)
def test_what_is_wrong_is_told_before_the_cell_is_run(magics, shell, line, cell, told):
    with pytest.raises(UsageError, match=told):
        magics.conversation(line, cell)
    assert "ran" not in shell.user_ns


def test_values_keep_their_kind():
    assert asked("trip title='My trip' user=7 page_turns=4 remember=off") == (
        "trip", {"title": "My trip", "user": "7", "page_turns": 4.0, "remember": False},
    )  # fmt: skip
    with pytest.raises(BadSetting):
        asked("trip page_turns=many")
