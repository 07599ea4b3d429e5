"""`workbench fork`, `runs`: ask a model again from some turn on; a conversation's runs and what tells them apart.

Parses, calls, lays out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from memory.errors import BadSetting
from workbench import terminal
from workbench.options import AsJson, Conversation, Run, Sets, StoreAt, User, changes_of, scope_of
from workbench.terminal import out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.engine import Reply


def mount(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command()(fork)
    app.command()(runs)


def fork(
    turn: Annotated[int, typer.Option(help="From this turn on; its message is asked again.", min=1)],
    llm: Annotated[str, typer.Option(help="Which model, by its LiteLLM name; the run's own without it.")] = "",
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    run: Run = None,
    sets: Sets = None,
    fact: Annotated[
        list[str] | None, typer.Option(help='A fact as this fork reads it: "f3=The budget is 9,000 euros".')
    ] = None,
    without: Annotated[list[str] | None, typer.Option(help="A fact that this fork does not read: f3.")] = None,
    api_base: Annotated[str, typer.Option(help="Where the model answers; keys come by the environment.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before the model is called.")] = False,
    json: AsJson = False,
) -> None:
    """Ask a model again from some turn on: a run of its own, marked as a fork. The same command goes on with it."""
    from memory.stores.sql import Store
    from sessions.fork import Forking

    with Store.open(store) as opened:
        made = Forking(
            opened, scope_of(opened, user, conversation, run), turn, llm=llm, facts=_facts(fact, without),
            options={"api_base": api_base} if api_base else None, **changes_of(sets),
        )  # fmt: skip
        before, estimate = made.done, made.estimate
        if not json:
            out.print(Text(f"estimated: {estimate.summary}"), soft_wrap=True)
        if estimate.steps and not yes:
            if json:
                raise BadSetting("with --json nobody can be asked: --yes says that the model may be called")
            typer.confirm("Call the model?", abort=True)
        replies = [_told(reply, json) for reply in made.steps()]
        cost = None if None in (costs := [r.cost_usd for r in replies]) else sum(c or 0.0 for c in costs)
        told = {
            "run": made.scope.run, "parent": made.parent.scope.run, "from_turn": made.turn,
            "llm": made.settings.llm, "settings": made.settings.hash, "estimate": estimate.to_dict(),
            "done_before": before, "done": made.done, "steps": made.steps_in_all, "cost_usd": cost,
        }  # fmt: skip
    if json:
        terminal.json(told)
    else:
        paid = "at a price that LiteLLM does not know" if cost is None else f"for ${cost:.4f}"
        line = f"{made.scope.run}: {told['done']} of {made.steps_in_all} messages answered, {len(replies)} now {paid}"
        out.print(terminal.plain(line), soft_wrap=True)


def runs(
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    run: Run = None,
    delete: Annotated[str, typer.Option(help="Take this kept replay or fork out of the store, for good.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: AsJson = False,
) -> None:
    """List a conversation's runs: live, recording, replays (recorded replies), forks (a model was asked again)."""
    from memory.stores.sql import Store
    from workbench.views.replay import runs as all_runs

    with Store.open(store, readonly=not delete) as opened:
        scope = scope_of(opened, user, conversation, run)
        if delete:
            line = all_runs(opened, scope).of(delete)
            if not yes:
                typer.confirm(f"Delete {line.kind} {delete} of {line.turns} turns, for good?", abort=True)
            removed = opened.delete_run(scope.at(delete))
            terminal.json({"removed_events": removed}) if json else out.print(f"deleted {delete}: {removed} events")
            return
        view = all_runs(opened, scope)
    if json:
        terminal.json(view.to_dict())
        return
    rows = view.rows()
    head = {"run": "run", "kind": "kind", "turns": "turns", "settings": "settings",
            "differs": f"differs from {view.compared_with}", "evictions": "evictions", "faults": "faults",
            "read_tokens": "tokens read", "cost_usd": "cost ($)", "parent": "goes on from",
            "from_turn": "at turn"}  # fmt: skip
    lines = [["–" if row[name] is None else row[name] for name in head] for row in rows]
    terminal.table(list(head.values()), lines)


def _facts(fact: Sequence[str] | None, without: Sequence[str] | None) -> dict[int, str]:
    found = {}
    for each in fact or ():
        name, equals, text = each.partition("=")
        if not equals or not text.strip():
            raise BadSetting(f'--fact takes a fact and what it says, as "f3=The budget is 9,000 euros", not {each!r}')
        found[_number(name)] = text.strip()
    return found | {_number(name): "" for name in without or ()}


def _number(name: str) -> int:
    digits = name.strip().removeprefix("f")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 9):
        raise BadSetting(f"{name!r} is no fact; facts are named f1, f2, …")
    return int(digits)


def _told(reply: Reply, quiet: bool) -> Reply:
    if not quiet:
        out.print(terminal.plain(f"turn {reply.turn}: {' '.join(reply.text.split())[:160]}", "dim"), soft_wrap=True)
    return reply
