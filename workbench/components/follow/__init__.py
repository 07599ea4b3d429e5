"""Listens for what is new and fires when this conversation moved on; invisible, idle otherwise.

A tab in the background lets go of its connection: browsers allow six to one server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.components import part

_follow = part("follow")


def follow(
    stream: int,
    version: int,
    newest: int,
    *,
    on_moved: Callable[[], None],
    on_appeared: Callable[[], None],
    key: str = "follow",
) -> Any:
    """`version` is what the page shows of `stream`; `newest` the youngest stream that it knows of."""
    data = {"stream": str(stream), "version": version, "newest": newest}
    return _follow(key=key, data=data, on_moved_change=on_moved, on_appeared_change=on_appeared)
