"""`workbench export`, `redact`: conversations as files for others, and what would be taken out of them.

Parses, calls, lays out.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory.errors import BadSetting, NotFound
from workbench import terminal
from workbench.options import AsJson, Conversation, Run, StoreAt, User, scope_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.redaction import Going, Sorts
    from memory.scope import Scope
    from memory.stores.sql import Store

Personal = Annotated[
    bool, typer.Option("--personal", help="Leave e-mail addresses and phone numbers in; they are taken out without it.")
]
Patterns = Annotated[
    Path | None, typer.Option("--patterns", help="A file with more to take out: `name: regular expression` a line.")
]


def mount(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command()(export)
    app.command()(redact)


def export(
    to: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
    format_: Annotated[str, typer.Option("--format", help="jsonl (our own), openai, parquet or otlp.")] = "jsonl",
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    run: Run = None,
    everything: Annotated[bool, typer.Option("--all", help="All conversations, of one user with --user.")] = False,
    view: Annotated[str, typer.Option(help="Of parquet: which view; see `workbench sql --views`.")] = "turns",
    personal: Personal = False,
    patterns: Patterns = None,
    json: AsJson = False,
) -> None:
    """Write conversations as a file for other programs. Secrets, e-mail and phone are taken out, and counted."""
    from memory.stores.sql import Store
    from sessions.export import export as write

    with Store.open(store, readonly=True) as opened:
        scopes = _scopes(opened, user, conversation, run, everything)
        done = write(opened, scopes, to, format_, personal=personal, own=own_of(patterns), view=view)
    terminal.json(done.to_dict()) if json else terminal.line(f"wrote {done.to}: {done.summary}")


def redact(
    preview: Annotated[Path | None, typer.Option(help="A text file to look through.")] = None,
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    run: Run = None,
    personal: Personal = False,
    patterns: Patterns = None,
    json: AsJson = False,
) -> None:
    """Show what would be taken out: of a file, or of a conversation that is exported. Nothing is written."""
    found = _of_file(preview, store, personal, patterns) if preview else ()
    if not preview:
        if not (conversation or user):
            raise BadSetting("say what to look through: --preview FILE, or --conversation NAME")
        found = _of_conversation(store, (user, conversation, run), personal, patterns)
    counts: dict[str, int] = {}
    for _, going in found:
        counts[going.sort] = counts.get(going.sort, 0) + 1
    if json:
        places = [{"where": w, "sort": g.sort, "line": g.line, "shown": g.shown, "around": g.around} for w, g in found]
        terminal.json({"counts": counts, "places": places})
        return
    terminal.table(["where", "sort", "what", "around"], [[w, g.sort, g.shown, g.around] for w, g in found])
    terminal.line(", ".join(f"{n} {sort}" for sort, n in counts.items()) or "nothing would be taken out")


# ── shared ────────────────────────────────────────────────────────────────────────────────────────────


def own_of(patterns: Path | None) -> Sorts | None:
    """The patterns of a file. Raises BadSetting for a bad one, NotFound without the file."""
    from memory.stores.own_patterns import patterns_in

    return patterns_in(patterns) if patterns else None


def _scopes(
    store: Store, user: str | None, conversation: str | None, run: str | None, everything: bool
) -> Sequence[Scope]:
    from workbench.views.conversations import conversations

    if not everything:
        return [scope_of(store, user, conversation, run)]
    if conversation or run:
        raise BadSetting("--all takes every conversation: leave --conversation and --run away")
    return [row.scope for row in conversations(store, user)]


def _sorts(personal: bool, *more: Sorts | None) -> Sorts:
    from memory.redaction import SECRETS, SHARED

    return {**SECRETS, **{name: find for sorts in more if sorts for name, find in sorts.items()},
            **({} if personal else SHARED)}  # fmt: skip


def _of_file(file: Path, store: Path | None, personal: bool, patterns: Path | None) -> list[tuple[str, Going]]:
    from memory.redaction import clean, preview
    from memory.stores.own_patterns import patterns_of
    from sessions.readers.source import Source

    if not file.is_file():
        raise NotFound(f"there is no file {file}")
    kept = patterns_of(store) if store else None
    text = clean(Source.of(file, None).text)
    return [(f"line {going.line}", going) for going in preview(text, _sorts(personal, kept, own_of(patterns)))]


def _of_conversation(
    store: Path | None, which: tuple[str | None, str | None, str | None], personal: bool, patterns: Path | None
) -> list[tuple[str, Going]]:
    from memory.redaction import preview
    from memory.stores.own_patterns import patterns_of
    from memory.stores.sql import Store
    from sessions.transcript import recording_of

    with Store.open(store, readonly=True) as opened:
        sorts = _sorts(personal, patterns_of(opened.path), own_of(patterns))
        recording = recording_of(opened, scope_of(opened, *which))
    said = [(f"turn {turn.number}", turn.text) for turn in recording.turns]
    called = [(f"turn {turn.number}", call.arguments) for turn in recording.turns for call in turn.calls]
    words = [("title", recording.title), ("system prompt", recording.system), *said, *called]
    return [(where, going) for where, text in words for going in preview(text, sorts)]
