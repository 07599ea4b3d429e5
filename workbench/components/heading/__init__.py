"""The head of a page: its name, whose conversation it shows, badges, a button that copies its address, and its keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from workbench import state
from workbench.components import part
from workbench.components.keyboard import legend, walked
from workbench.words import Words, visible

_heading = part("heading")


@dataclass(frozen=True, slots=True)
class Badge:
    label: str
    tone: str = "quiet"  # colour and icon, as of an event
    says: str = ""


def heading(
    title: str, subtitle: str, badges: Sequence[Badge], say: Words, key: str = "heading", *, link: bool = True
) -> Any:
    """Without `link` no address is offered."""

    def walk() -> None:
        by = (st.session_state.get(key) or {}).get("walk")
        if by:
            walked(int(by))

    return _heading(
        key=key,
        data={
            "title": title,
            "subtitle": visible(subtitle, 200),
            "badges": [{"label": visible(b.label, 120), "tone": b.tone, "says": visible(b.says, 400)} for b in badges],
            "link": {name: say(f"link.{name}") for name in ("copy", "copied", "says")} if link else None,
            "legend": legend(st.session_state.get(state.SHOWN_PAGE, ""), say),
        },
        on_walk_change=walk,
    )
