"""The workbench: pages, commands and notebook views over what a conversation remembers.

Importing it is cheap: no server, no store, no model library is loaded until something asks for it.
"""

from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__version__ = version("memory-workbench")


def _check_neighbours(*names: str) -> None:
    """Our import names are common words: say which file is in the way, rather than fail inside it."""
    home = Path(__file__).resolve().parent.parent
    for name in names:
        ours = home / name / "__init__.py"
        spec = find_spec(name)
        places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or [])]
        found = next((Path(place).resolve() for place in places if place), ours.parent)
        if found == ours.parent:  # nothing there, or a folder without its first file
            raise ImportError(f"Memory Workbench is incomplete without {ours}; install it again", name=name)
        if found != ours:
            way_out = "rename it, or start Python in another folder"
            raise ImportError(
                f"{found} hides Memory Workbench's own {name!r} ({ours}); {way_out}", name=name, path=str(found)
            )


_check_neighbours("memory", "sessions", "pages")

_INLINE = ("ask", "bisect", "bookmarks", "conflicts", "confusion", "diagnose", "diff", "erase", "evictions", "fact",
           "facts", "graph", "lanes", "live_window", "page", "sliders", "sql", "status", "tune",
           "turn", "what_if", "why", "window")  # fmt: skip
_HOMES = {
    "Engine": "memory",
    "launch": "workbench.launched",
    "recorder": "sessions.recorded",
    "remembered": "sessions.stepping",
    "step": "sessions.stepping",
} | dict.fromkeys(_INLINE, "workbench.inline")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"workbench has no {name!r}; it has {', '.join(sorted(_HOMES))}")
    return getattr(import_module(_HOMES[name]), name)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext workbench`"""
    from workbench.inline import WorkbenchMagics, completed

    shell.register_magics(WorkbenchMagics)
    shell.set_hook("complete_command", completed, str_key="%memory")
