"""`workbench export`, `redact`, `case`: conversations as files for others, and what would be taken out of them.

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
    from sessions.cases import Manifest

case = typer.Typer(no_args_is_help=True, help="A conversation with every decision, as one file for somebody else.")

CaseFile = Annotated[Path, typer.Argument(help="A .memcase file.")]
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
    app.add_typer(case, name="case")


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


# ── cases ─────────────────────────────────────────────────────────────────────────────────────────────


@case.command("make")
def make(
    to: Annotated[Path, typer.Argument(help="The file to write, ending in .memcase; it must not exist.")],
    store: StoreAt = None,
    user: User = None,
    conversation: Annotated[
        list[str] | None, typer.Option("--conversation", "-c", help="Which conversation; again for more of one user.")
    ] = None,
    personal: Personal = False,
    patterns: Patterns = None,
    json: AsJson = False,
) -> None:
    """Write a case file: the log, settings and vectors of these conversations alone, without secrets."""
    from memory.stores.sql import Store
    from sessions.cases import make_case

    with Store.open(store, readonly=True) as opened:
        first = scope_of(opened, user, conversation[0] if conversation else None)
        names = [first.conversation, *(conversation or ())[1:]]
        made = make_case(opened, first.user, names, to, personal=personal, own=own_of(patterns))
    _told(made, f"wrote {to}: {made.summary}", json)


@case.command("show")
def show(file: CaseFile, json: AsJson = False) -> None:
    """What a case file says it holds, and what was taken out of it."""
    from sessions.cases import read_manifest

    found = read_manifest(file)
    _told(found, f"{found.summary}; made by {found.made_by} at {found.made_at:%Y-%m-%d %H:%M} UTC", json)


@case.command("open")
def open_(
    file: CaseFile,
    port: Annotated[int, typer.Option(help="0: any free one.")] = 8501,
    browser: Annotated[bool, typer.Option(help="Open a browser at the page.")] = True,
) -> None:
    """Open a case file in the workbench, read-only; nothing of it stays when it ends."""
    serve_case(file, port, browser)


@case.command("html")
def html(
    to: Annotated[Path, typer.Argument(help="The page to write; it must not exist.")],
    file: Annotated[Path | None, typer.Option("--case", help="Of this case file; of the store without it.")] = None,
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    run: Run = None,
    language: Annotated[str, typer.Option(help="en or zh.")] = "en",
    personal: Personal = False,
    patterns: Patterns = None,
    json: AsJson = False,
) -> None:
    """One page for people without this program: the conversation, its windows, evictions, recalls and facts."""
    from memory.stores.sql import Store
    from sessions.cases import open_case
    from workbench.case_page import write_page

    if file:
        with open_case(file) as opened:
            scope = scope_of(opened.store, user, conversation or opened.scope.conversation, run)
            made = write_page(opened.store, scope, to, language, personal=personal, own=own_of(patterns))
    else:
        with Store.open(store, readonly=True) as kept:
            scope = scope_of(kept, user, conversation, run)
            made = write_page(kept, scope, to, language, personal=personal, own=own_of(patterns))
    terminal.json(made.to_dict()) if json else terminal.line(f"wrote {made.to}: {made.summary}")


def serve_case(file: Path, port: int, browser: bool) -> None:
    """Serve the workbench on a case file until SIGINT or SIGTERM; either takes the unpacked case away."""
    import signal
    import sys
    import webbrowser

    from sessions.cases import open_case
    from workbench.server import serve

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what the server raises again when it has ended
    with open_case(file) as opened:
        summary = opened.manifest.summary

        def ready(url: str) -> None:
            terminal.line(summary)
            line = f"The case is open, read-only, at {url}   (Ctrl+C ends it)"
            terminal.out.print(terminal.plain(line), soft_wrap=True)
            if browser:
                webbrowser.open(url)

        serve(opened.folder, port, on_ready=ready, readonly=True)


def _told(found: Manifest, line: str, json: bool) -> None:
    terminal.json(found.to_dict()) if json else terminal.line(line)


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
