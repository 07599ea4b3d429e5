"""`workbench tune`, `workbench what-if`: what other settings would have done, to a conversation and to one turn.

Parses, calls, lays out.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from workbench import terminal
from workbench.options import AsJson, Conversation, Run, Sets, StoreAt, User, agreed, changes_of, scope_of

File = Annotated[Path | None, typer.Option("--settings", help="Settings as a .toml or .json file.")]
SHOWN = 20  # rows


def mount(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command()(tune)
    app.command("what-if")(what_if)


def tune(
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    sets: Sets = None,
    settings: File = None,
    preset: Annotated[str | None, typer.Option(help="A named set: support, companion, writing, …")] = None,
    json: AsJson = False,
) -> None:
    """What other settings would have done to a conversation, replayed; and where its lines of retrieval stand."""
    from memory.stores.sql import Store
    from sessions.effect import compared
    from sessions.pinned import between
    from sessions.presets import preset as named
    from sessions.presets import values
    from sessions.replay import identified
    from sessions.thresholds import thresholds
    from workbench.replaying import source_of

    changes = {**(named(preset) if preset else {}), **(values(settings) if settings else {}), **changes_of(sets)}
    with Store.open(store, readonly=True) as opened:
        scope = scope_of(opened, user, conversation, None)
        before = opened.state(scope).settings
        made = compared(identified((opened, source_of(opened, scope))), before, before.but(**changes))
        made = replace(made, pinned=between(opened, *made.replays))
        lines = thresholds(made.replays[1])
    if json:
        terminal.json({**made.to_dict(), "thresholds": lines.to_dict()})
        return
    terminal.line(repr(made))
    terminal.table(["", "before", "after"], [[n.replace("_", " "), _n(a), _n(b)] for n, a, b in made.figures()])
    rows = [[f"{t.turn}-{t.last_turn}", t.before, t.after, t.says] for t in made.turns[:SHOWN]]
    terminal.table(["turns", "before", "after", "why"], rows)
    moved = [[a.posed.question, a.posed.turn or "end", a.before, a.after] for a in made.answers if a.moved]
    terminal.table(["question", "turn", "before", "after"], moved[:SHOWN])
    if made.pinned:
        terminal.table(["pinned question", "before", "after"], made.pinned_rows()[:SHOWN])
        terminal.table(["what the pinned ones are worth", ""], list(made.pinned_honesty.to_dict().items()))
    if made.answers:
        terminal.table(["what the questions are worth", ""], list(made.honesty.to_dict().items()))
    terminal.table(
        ["line", "now", "suggested", "would miss", "of", "needless pages", "left out"],
        [[s.setting, s.now, s.value, s.missed, s.n, s.needless, s.held_out] for s in lines.suggestions],
    )


def what_if(
    turn: Annotated[int, typer.Argument(help="A turn of the step whose prompt is built anew.", min=1)],
    sets: Sets = None,
    without: Annotated[list[str] | None, typer.Option(help="Leave out a fact or a page: f3, p7.")] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask a model both prompts, estimated first; how the replies differ.")
    ] = False,
    llm: Annotated[str, typer.Option(help="Which, by its LiteLLM name; the conversation's own without it.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before the model is called.")] = False,
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    run: Run = None,
    json: AsJson = False,
) -> None:
    """One turn's prompt with other settings, or without a fact or a page; and each part left out in turn."""
    from memory.stores.sql import Store
    from sessions.counterfactual import HEAD, MOVES
    from sessions.counterfactual import what_if as built

    with Store.open(store, readonly=True) as opened:
        scope = scope_of(opened, user, conversation, run)
        made = built(opened, scope, turn, settings=changes_of(sets), without=without or ())
    if ask:
        agreed(made.twice(llm), json=json, yes=yes)
        made = made.asked(llm)
    if json:
        terminal.json(made.to_dict())
        return
    terminal.line(repr(made))
    terminal.table(["part", "in", "", "before", "after"], made.rows())
    if made.replies:
        terminal.table(["reply before", "reply after"], [list(made.replies)])
        terminal.table(MOVES, made.reply_moves)
    terminal.table(HEAD, made.lost_rows())


def _n(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
