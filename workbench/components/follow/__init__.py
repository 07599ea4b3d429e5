"""Listens for what is new and fires when this conversation moved on; invisible, idle otherwise.

A tab in the background lets go of its connection: browsers allow six to one server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.components import part

_follow = part("follow")


def follow(
    shown: Mapping[int, int],
    newest: int,
    *,
    on_moved: Callable[[], None],
    on_appeared: Callable[[], None],
    key: str = "follow",
) -> Any:
    """`shown`: the versions that the page shows, by stream; `newest`: the youngest stream that it knows of."""
    data = {"shown": {str(stream): version for stream, version in shown.items()}, "newest": newest}
    return _follow(key=key, data=data, on_moved_change=on_moved, on_appeared_change=on_appeared)
