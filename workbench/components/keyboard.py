"""Which keys each page has: what they do, and what on the page they press. The head of a page shows them on "?"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from workbench import state
from workbench.words import Words


@dataclass(frozen=True, slots=True)
class Key:
    """`name` is its word in the catalogue, after `keys.`; `finds` are selectors of what it presses, the first first."""

    name: str
    caps: str
    finds: tuple[str, ...] = ()  # none: a part of the page does it


SEARCH = Key("search", "/", (".st-key-review_search input", "[class*='st-key-seek_'] input"))
LEGEND = Key("legend", "?")
WALK = (Key("step", "← →"), Key("ten", "⇧← ⇧→"), Key("ends", "Home End"))
OPEN = tuple(
    Key(f"open.{page}", cap, (f"[data-testid='stSidebarNav'] a[href*='/{page}']",))
    for page, cap in {"live": "l", "turn": "t", "diff": "d", "why": "w"}.items()
)
ACCEPTING = ("[class*='st-key-accept'] button", ".st-key-why_apply button", ".st-key-why_recall button",
             ".st-key-why_try button", "section.open article .do.rule")  # fmt: skip
REJECTING = ("[class*='st-key-reject'] button", ".st-key-why_trial_close button", ".st-key-decided_close button")
ACCEPT, REJECT = Key("accept", "y", ACCEPTING), Key("reject", "n", REJECTING)
UNDO = Key("undo", "u", (".st-key-undo_last button", ".st-key-why_undo button", ".st-key-review_undo button"))
BY_SCRUBBER = ("live", "turn", "why")  # its slider walks
WALKED = ("diff", "evictions", "bookmarks")  # here walks by itself, see `walked`
DECIDED = ("why", "timeline", "tune")


def keys(page: str) -> tuple[Key, ...]:
    """Of a page of the navigation, "" being the start page."""
    if page == "review":
        return SEARCH, UNDO, LEGEND
    walk = WALK if page in (*BY_SCRUBBER, *WALKED) else ()
    decide = (ACCEPT, REJECT, UNDO) if page in DECIDED else ()
    return *walk, *decide, *(key for key in OPEN if key.name != f"open.{page}"), SEARCH, LEGEND


def legend(page: str, say: Words) -> Mapping[str, Any]:
    return {
        "title": say("keys.title"), "open": say("keys.open"), "close": say("page.close"), "walks": page in WALKED,
        "note": say("keys.note"),
        "keys": [
            {"caps": k.caps, "says": say(f"keys.{k.name}"), "finds": k.finds, "waits": k in (ACCEPT, REJECT, UNDO)}
            for k in keys(page)
        ],
    }  # fmt: skip


def walked(by: int) -> None:
    """So many turns on, on a page without a slider; a diff moves both of its sides."""
    here = state.place()
    if here is None:
        return
    last = here.stream.turns
    if st.session_state.get(state.SHOWN_PAGE) == "diff":
        from workbench.components.compare import sides

        a, b = sides(here)
        by = max(1 - min(a, b), min(last - max(a, b), by))
        state.go(a=a + by, b=b + by)
        return
    turn = max(1, min(last, here.at + by))
    state.go(turn=None if turn == last else turn)
