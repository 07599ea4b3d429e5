"""What the commands share: their options, the run that is meant, and settings in words.

Not here: a command, and how anything is laid out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory.errors import BadSetting, NotFound
from memory.scope import Scope
from memory.settings import Settings
from workbench import terminal
from workbench.assigned import assigned

if TYPE_CHECKING:
    from memory.stores.sql import Store
    from sessions.twice import Twice

StoreAt = Annotated[
    Path | None,
    typer.Option("--store", envvar="WORKBENCH_STORE", help="The store's folder; the user's data folder without it."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
User = Annotated[str | None, typer.Option("--user", "-u", help="Whose memory.")]
OneUser = Annotated[str, typer.Option("--user", "-u", help="Whose memory.")]
Conversation = Annotated[str | None, typer.Option("--conversation", "-c", help="Which conversation.")]
Run = Annotated[str | None, typer.Option("--run", help="live, recorded, replay-… or fork-…; the main run without it.")]
Sets = Annotated[list[str] | None, typer.Option("--set", help="A setting: name=value; see `workbench settings`.")]


def scope_of(store: Store, user: str | None, conversation: str | None, run: str | None = None) -> Scope:
    """The run that is meant; what is not said must be the only one there is."""
    from workbench.views.conversations import conversations

    rows = [r for r in conversations(store, user) if conversation in (None, r.conversation)]
    if not rows:
        known = ", ".join(f"{r.user}/{r.conversation}" for r in conversations(store)[:12]) or "none"
        raise NotFound(f"no conversation {conversation or ''!r} of {user or 'anybody'} in {store.path}; known: {known}")
    if len(rows) > 1:
        choices = ", ".join(f"--user {r.user} --conversation {r.conversation}" for r in rows[:8])
        raise NotFound(f"say which conversation: {choices}")
    scope = rows[0].scope if run is None else rows[0].scope.at(run)
    store.require(scope)
    return scope


def agreed(asked: Twice, *, json: bool, yes: bool) -> None:
    """Say what asking a model twice may take, and go on only where it is free or somebody says so."""
    if not json:
        terminal.aside(f"estimated: {asked.summary}")
    if yes or asked.cost_usd == 0:
        return
    if json:
        raise BadSetting(f"with --json nobody can be asked: --yes says that {asked.llm} may be called")
    typer.confirm("Call the model?", abort=True)


def changes_of(sets: Sequence[str] | None) -> dict[str, Any]:
    """The settings that `--set` names. Raises BadSetting."""
    return assigned(sets or ())


def settings_of(sets: Sequence[str] | None) -> Settings:
    """All settings, with those that `--set` names. Raises BadSetting."""
    return Settings.of(**changes_of(sets))
