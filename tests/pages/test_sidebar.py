"""The sidebar is drawn once, the page beside it again and again: what one lists and the other shows stays the same."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

from workbench import state


def drawn() -> None:
    """A page whose store moves on after the sidebar was drawn."""
    import streamlit as st

    from memory.engine import Engine
    from workbench import state

    found = st.session_state.found = []

    def look() -> None:
        here = state.place()
        youngest = here.youngest if here else 0
        found.append((state.is_listed(here), state.known_to_all(here) == youngest))

    state.listing(state.place())
    Engine.open(state.open_store(), user="ana", conversation=st.session_state.begins).say("My budget is 900 euros.")
    look()  # in the very run that drew the sidebar
    look()  # and when the page alone is drawn again
    state.listing(state.place())
    look()
    look()
    Engine.open(state.open_store(), user="ana", conversation=st.session_state.begins).say("No, it is 800 euros.")
    look()


def found(store: Path, monkeypatch, begins: str) -> list[tuple[bool, bool]]:
    monkeypatch.setenv(state.STORE_VARIABLE, str(store))
    state.forget()
    at = AppTest.from_function(drawn, default_timeout=60)
    at.session_state.begins = begins
    at.run()
    assert not at.exception
    return at.session_state.found


def test_what_begins_beside_a_page_is_waited_for_and_then_listed(tmp_path: Path, demo_copy, monkeypatch):
    moved_on, fits = (False, False), (True, True)
    at_once = (True, False)  # drawn all the same, or a busy store would never be; and waited for from then on
    assert found(demo_copy(tmp_path / "store"), monkeypatch, "another") == [at_once, moved_on, fits, fits, fits]


def test_so_is_the_first_conversation_of_an_empty_store(tmp_path: Path, monkeypatch):
    assert found(tmp_path / "store", monkeypatch, "first") == [(True, False), (False, False), *[(True, True)] * 3]


def test_a_page_beside_no_sidebar_of_ours_is_never_drawn_anew_for_it(tmp_path: Path, monkeypatch):
    monkeypatch.setenv(state.STORE_VARIABLE, str(tmp_path / "store"))
    state.forget()

    def alone() -> None:
        import streamlit as st

        from workbench import state

        st.session_state.listed = state.is_listed(state.place())

    at = AppTest.from_function(alone, default_timeout=60)
    at.run()
    assert at.session_state.listed
