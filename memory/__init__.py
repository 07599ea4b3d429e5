"""The engine: it pages a long conversation, leaves bookmarks, brings pages back, and logs every decision.

Nothing here knows a page of the workbench or a notebook; objects show themselves through `memory.show`.
The public names are loaded when first asked for: whoever needs only the pure core loads no store.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory.dropin import DropIn
    from memory.engine import Engine, Reply
    from memory.errors import EngineError
    from memory.scope import Scope
    from memory.settings import Settings
    from memory.stores.sql import Store

__all__ = ["DropIn", "Engine", "EngineError", "Reply", "Scope", "Settings", "Store"]

_HOMES = {
    "DropIn": "memory.dropin",
    "Engine": "memory.engine",
    "Reply": "memory.engine",
    "EngineError": "memory.errors",
    "Scope": "memory.scope",
    "Settings": "memory.settings",
    "Store": "memory.stores.sql",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"memory has no {name!r}; it has {', '.join(sorted(_HOMES))}")
    return getattr(import_module(_HOMES[name]), name)
