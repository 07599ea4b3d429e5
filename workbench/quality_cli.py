"""`workbench pin`, `check`, `score` …: what says how good a memory is.

Parses, calls, lays out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory.errors import BadSetting
from workbench import terminal
from workbench.options import AsJson, Conversation, Run, Sets, StoreAt, User, agreed, changes_of, scope_of

if TYPE_CHECKING:
    from memory.stores.sql import Store

DEMO = "demo"  # in place of a file: the questions that ship

Price = Annotated[float | None, typer.Option(help="US dollars for a million prompt tokens.", min=0)]


def mount(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command()(pin)
    app.command()(unpin)
    app.command()(check)
    app.command()(score)
    app.command()(baselines)
    app.command()(bill)
    app.command()(compare)


def pin(
    question: Annotated[str, typer.Argument(help="In the words of whoever asks.")],
    expect: Annotated[list[str] | None, typer.Option(help='Words that the prompt must hold, as "budget 8000".')] = None,
    never: Annotated[
        list[str] | None, typer.Option(help="Words that it must not hold; of an update, old ones.")
    ] = None,
    evidence: Annotated[list[int] | None, typer.Option(help="Turns that hold the answer.")] = None,
    kind: Annotated[str, typer.Option(help="recall, cross, irrelevant or update.")] = "recall",
    turn: Annotated[int, typer.Option(help="Asked after this turn; after the last without it.", min=0)] = 0,
    apart: Annotated[bool, typer.Option("--apart", help="Asked in a new conversation of the user's.")] = False,
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    json: AsJson = False,
) -> None:
    """Pin a question onto a conversation: what a right prompt holds, to be checked from now on."""
    from memory.stores.sql import Store
    from sessions import questions

    with Store.open(store) as opened:
        scope = scope_of(opened, user, conversation, None)
        wanted = questions.Pinned(
            question, scope.user, scope.conversation, kind, tuple(expect or ()), tuple(never or ()),
            tuple(evidence or ()), turn, apart,
        )  # fmt: skip
        kept = questions.pin(opened, wanted)
    terminal.json({"name": kept.name, **kept.to_dict()}) if json else terminal.line(f"pinned {kept.name}")


def unpin(
    names: Annotated[list[str], typer.Argument(help="As `workbench check` names them.")],
    store: StoreAt = None,
    json: AsJson = False,
) -> None:
    """Take pinned questions out again."""
    from memory.stores.sql import Store
    from sessions import questions

    with Store.open(store) as opened:
        gone = questions.unpin(opened, *names)
    terminal.json(questions.rows(gone)) if json else terminal.line(f"unpinned {', '.join(each.name for each in gone)}")


def check(
    file: Annotated[
        str | None, typer.Argument(help="A file of questions, or demo; those pinned in the store without it.")
    ] = None,
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    sets: Sets = None,
    accept: Annotated[bool, typer.Option("--accept", help="What is lost now counts as lost from here on.")] = False,
    json: AsJson = False,
) -> None:
    """Ask the pinned questions, without a model. Exit code 1 where one is lost that was won in the last run.

    With `--set` as if each conversation had been held under its own settings but for these. `demo` needs no store.
    """
    from sessions.pinned import check as asked

    with _asked_in(store, file) as opened:
        made = asked(
            opened, _file(file), user=user, conversation=conversation,
            changes=changes_of(sets), accept=accept, keep=accept or file != DEMO,
        )  # fmt: skip
    if json:
        terminal.json(made.to_dict())
    else:
        _told(made)
    if made.regressions and not accept:
        raise typer.Exit(1)


@contextmanager
def _asked_in(path: Path | None, file: str | None) -> Iterator[Store]:
    """The store; for the questions that ship, where it has none of the demo, one that holds it and goes afterwards."""
    from memory.stores.sql import Store
    from sessions.demo import SCOPES, load_demo

    with ExitStack() as open_ones:
        opened = open_ones.enter_context(Store.open(path))
        if file == DEMO and not any(opened.streams(s.user, s.conversation) for s in SCOPES.values()):
            folder = open_ones.enter_context(TemporaryDirectory(prefix="memory-demo-"))
            opened = open_ones.enter_context(Store.open(folder))
            load_demo(opened)
        yield opened


def score(
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    run: Run = None,
    profile: Annotated[
        str, typer.Option(help="knowledge base, support, companion or writing: what weighs how much.")
    ] = "knowledge base",
    per: Annotated[str, typer.Option(help="Of the trend: so many turns, or day.")] = "20",
    json: AsJson = False,
) -> None:
    """A scorecard of a run: each score a figure with its n and a mark from 1 to 5, and its trend."""
    from memory.stores.sql import Store
    from sessions.scores import scorecard

    with Store.open(store, readonly=True) as opened:
        scope = scope_of(opened, user, conversation, run)
        card = scorecard(opened, scope, profile=profile, every=int(per) if per.isdecimal() else per)
    if json:
        terminal.json(card.to_dict())
        return
    terminal.line(card.line)
    terminal.table(["score", "mark", "figure", "n", "what it is"], card.rows())
    terminal.table(["what the scores are worth", ""], list(card.honesty.to_dict().items()))


def baselines(
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    sets: Sets = None,
    price: Price = None,
    json: AsJson = False,
) -> None:
    """Simpler memories on the same transcript at the same budget: tokens, calls, evidence, money. No model."""
    from memory.stores.sql import Store
    from memory.stores.vector_source import StoredVectors
    from sessions.baselines import baselines as compared

    with Store.open(store, readonly=True) as opened:
        scope = scope_of(opened, user, conversation, None)
        settings = opened.state(scope).settings.but(**changes_of(sets))
        found = compared(
            (opened, scope), settings, vectors=StoredVectors(opened), usd_per_million=price,
            say=_quiet if json else terminal.aside,
        )  # fmt: skip
    if json:
        terminal.json(found.to_dict())
        return
    terminal.line(repr(found))
    terminal.table(found.HEAD, found.lines())
    terminal.table(["what the evidence is worth", ""], list(found.honesty.to_dict().items()))


def bill(
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    run: Run = None,
    price: Price = None,
    json: AsJson = False,
) -> None:
    """What it cost to carry each page and fact in the prompts, against how often it was used."""
    from memory.stores.sql import Store
    from sessions.bill import bill as made

    with Store.open(store, readonly=True) as opened:
        found = made(opened, scope_of(opened, user, conversation, run), usd_per_million=price)
    if json:
        terminal.json(found.to_dict())
        return
    terminal.line(repr(found))
    terminal.table(found.HEAD, found.rows()[:30])
    terminal.table(["what the bill is worth", ""], list(found.honesty.to_dict().items()))


def compare(
    question: Annotated[str, typer.Argument(help="Asked twice: with the memory, and with the last messages alone.")],
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    llm: Annotated[str, typer.Option(help="By its LiteLLM name; the conversation's own without it.")] = "",
    choice: Annotated[int | None, typer.Option(help="1, 2, or 0 for neither; asked for without it.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before the model is called.")] = False,
    json: AsJson = False,
) -> None:
    """Two replies without their names; you choose, it is recorded, and then you are told which had the memory."""
    import secrets

    from memory.stores.sql import Store
    from sessions import blind

    with Store.open(store) as opened:
        scope = scope_of(opened, user, conversation, None)
        asked = blind.posed(opened, scope, question, llm=llm)
        agreed(asked, json=json, yes=yes)
        shown = blind.shown(question, asked, asked.replies(), is_swapped=bool(secrets.randbelow(2)))
        if not json:
            terminal.table(["", "reply"], [[n, reply] for n, reply in enumerate(shown.replies, 1)])
        chosen = typer.prompt("Which is better? 1, 2, or 0", type=int) if choice is None else choice
        made = blind.choose(opened, scope, shown, chosen)
    if json:
        terminal.json({**made.to_dict(), "replies": list(shown.replies)})
        return
    terminal.line(f"you chose {made.chosen}: the first had the {made.first}, the second the {made.second}")


def _file(named: str | None) -> Path | None:
    """The one named; the demo's own for `demo`. Raises BadSetting for one that is not there."""
    from sessions.demo import questions_file

    if named is None or named == DEMO:
        return None if named is None else questions_file()
    if not Path(named).is_file():
        raise BadSetting(f"there is no file {named}: name one, or demo, or none for those of the store")
    return Path(named)


def _told(made: Any) -> None:
    terminal.line(made.line)
    kinds = [[kind, n["won"], n["n"]] for kind, n in made.by_kind.items()]
    terminal.table(["kind", "won", "n"], kinds)
    lost = [
        [e.name, e.mark, e.kind, e.conversation, e.question, f"{e.stage}: {e.says}"] for e in made.outcomes if not e.won
    ]
    if lost:
        terminal.table(["name", "", "kind", "conversation", "question", "lost at"], lost)
    if made.outcomes:
        terminal.table(["what this is worth", ""], list(made.honesty.to_dict().items()))


def _quiet(_: str) -> None: ...
