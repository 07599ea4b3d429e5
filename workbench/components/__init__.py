"""The parts that pages are laid out from: small components without a frame, each a folder with Python, JS and CSS.

A part's function takes rows of a view and the reader's words; text reaches the page through `textContent` alone.
DOM nodes are kept by key, so that what did not change is not drawn again. `base.css` and `base.js` stand before
every part's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import streamlit as st

HERE = Path(__file__).parent
HTML = '<div class="root"></div>'


_COLLECTED: ContextVar[dict[str, dict[str, Any]] | None] = ContextVar("collected", default=None)


@contextmanager
def collected() -> Iterator[dict[str, dict[str, Any]]]:
    """Parts that are called in here draw nothing: what they would draw is in the dictionary, by folder."""
    found: dict[str, dict[str, Any]] = {}
    before = _COLLECTED.set(found)
    try:
        yield found
    finally:
        _COLLECTED.reset(before)


def sources(folder: str) -> tuple[str, str]:
    """The CSS and JavaScript of a part, with what stands before every part's own."""
    css, js = (
        "".join((HERE / place / name).read_text("utf-8") for place in ("base", folder))
        for name in ("part.css", "part.js")
    )
    return css, js


def part(folder: str) -> Any:
    """Register the component of this folder; its files are read once."""
    css, js = sources(folder)
    component = st.components.v2.component(f"memory_workbench.{folder}", html=HTML, css=css, js=js)

    def draw(*, data: dict[str, Any], **rest: Any) -> Any:
        if (found := _COLLECTED.get()) is not None:
            found[folder] = data
            return None
        # In a list: Streamlit looks for tables among the values of a dictionary, and loads pandas for that.
        return component(data=[data], **rest)

    return draw
