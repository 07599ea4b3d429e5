"""`workbench recorder-test`: whether LiteLLM's events arrive, by a call of each kind that LiteLLM answers itself.

Parses, calls, lays out.
"""

from __future__ import annotations

import typer
from rich.text import Text

from workbench import terminal
from workbench.options import AsJson
from workbench.terminal import out


def mount(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command("recorder-test")(recorder_test)


def recorder_test(json: AsJson = False) -> None:
    """Whether calls through the LiteLLM that is installed here arrive at a recorder: answered, streamed, async, failed.

    No network and no key is needed, and nothing is kept. Exit code 1 where one does not arrive.
    """
    from sessions.recorded import rehearsed

    arrived = rehearsed()
    if json:
        terminal.json({"arrived": arrived, "all": all(arrived.values())})
    else:
        for kind, came in arrived.items():
            out.print(Text(f"{kind:14} {'arrives' if came else 'does not arrive'}"))
    if not all(arrived.values()):
        raise typer.Exit(1)
