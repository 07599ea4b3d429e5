"""Listens for what is new and draws the fragment it stands in again then; invisible, idle otherwise.

A tab in the background lets go of its connection: browsers allow six to one server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.components import part

_follow = part("follow")


def follow(shown: Mapping[int, int], newest: int, *, key: str = "follow") -> Any:
    """`shown`: the versions that the page shows, by stream; `newest`: the youngest stream that it knows of."""
    data = {"shown": {str(stream): version for stream, version in shown.items()}, "newest": newest}
    return _follow(key=key, data=data, on_moved_change=_drawn_again, on_appeared_change=_drawn_again)


def _drawn_again() -> None:
    """What a callback is for, the run that follows it, is all that is wanted."""
