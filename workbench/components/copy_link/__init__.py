"""A button that copies this page's address: it opens the same turn and page again."""

from __future__ import annotations

from typing import Any

from workbench.components import part
from workbench.words import Words

_button = part("copy_link")


def copy_link(say: Words, key: str = "copy_link") -> Any:
    words = {name: say(f"link.{name}") for name in ("copy", "copied", "says")}
    return _button(key=key, data=words, width="content")
