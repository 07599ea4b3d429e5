"""The parts that pages are laid out from: small components without a frame, each a folder with Python, JS and CSS.

A part's function takes rows of a view and the reader's words; text reaches the page through `textContent` alone.
DOM nodes are kept by key, so that what did not change is not drawn again. `base.css` and `base.js` stand before
every part's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

HERE = Path(__file__).parent
HTML = '<div class="root"></div>'


def part(folder: str) -> Any:
    """Register the component of this folder; its files are read once."""
    css, js = (
        (HERE / "base" / name).read_text() + (HERE / folder / name).read_text() for name in ("part.css", "part.js")
    )
    component = st.components.v2.component(f"memory_workbench.{folder}", html=HTML, css=css, js=js)

    def draw(*, data: dict[str, Any], **rest: Any) -> Any:
        # In a list: Streamlit looks for tables among the values of a dictionary, and loads pandas for that.
        return component(data=[data], **rest)

    return draw
