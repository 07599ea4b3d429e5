"""`workbench bookmarks …`: what stays behind of the pages, which are confused, and what a person makes of one.

Parses, calls, lays out. Only a live run's bookmarks are changed; every edit can be undone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory.errors import BadMessage, NotFound
from memory.scope import LIVE
from workbench import terminal
from workbench.options import AsJson, Conversation, Run, StoreAt, User, scope_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.confusion import Pair
    from memory.engine import Engine

bookmarks = typer.Typer(no_args_is_help=True, help="What stays in the window for the pages that left: look, edit.")

Name = Annotated[str, typer.Argument(help="A page's name, such as p3.")]


@bookmarks.command("list")
def list_(
    user: User = None, conversation: Conversation = None, store: StoreAt = None, run: Run = None, json: AsJson = False
) -> None:
    """Each bookmark with what came of it: hit, missed, ambiguous, or dead where nobody asked."""
    from memory.stores.sql import Store
    from workbench.views.bookmarks import SIGNS
    from workbench.views.bookmarks import bookmarks as of_run

    with Store.open(store, readonly=True) as opened:
        view = of_run(opened, scope_of(opened, user, conversation, run))
    if json:
        terminal.json(view.to_dict())
        return
    terminal.table(
        ["bookmark", "outcome", "uses", "weight", "by"],
        [[r.stub, f"{SIGNS[r.outcome]} {r.outcome}", len(r.uses), f"{r.weight:g}", r.origin] for r in view.rows],
    )


@bookmarks.command()
def confusion(
    user: User = None, conversation: Conversation = None, store: StoreAt = None, run: Run = None, json: AsJson = False
) -> None:
    """Which bookmarks are confused, predicted from the pages' own sentences, and a keyword that tells two apart."""
    from memory.stores.sql import Store
    from workbench.views.bookmarks import confused

    with Store.open(store, readonly=True) as opened:
        found = confused(opened, scope_of(opened, user, conversation, run))
    if json:
        terminal.json(found.to_dict())
        return
    terminal.line(
        f"predicted hit@1 {found.hit_ratio:.2f}, another page first {found.taken_ratio:.2f}, n={found.sentences}"
    )
    if found.left_out:
        terminal.line(f"the {found.left_out} oldest pages are left out")
    terminal.table(["page", "loses to", "sentences", "shared", "keyword", "hit@1"], _pairs(found.pairs))


def _pairs(pairs: tuple[Pair, ...]) -> Iterator[list[object]]:
    for pair in pairs:
        told = pair.suggestion
        figures = f"{told.before:.2f} → {told.after:.2f}" if told else ""
        yield [f"p{pair.page}", f"p{pair.other}", pair.lost, ", ".join(pair.shared), told.keyword if told else "",
               figures]  # fmt: skip


@bookmarks.command("set")
def set_(
    name: Name,
    keywords: Annotated[list[str] | None, typer.Argument(help="Its keywords; those it has stay without any.")] = None,
    weight: Annotated[float | None, typer.Option(help="0 to 10; heavier ones stand by themselves longer.")] = None,
    bare: Annotated[bool, typer.Option("--bare", help="Take all keywords away.")] = False,
    user: User = None,
    conversation: Conversation = None,
    store: StoreAt = None,
    json: AsJson = False,
) -> None:
    """What a page is remembered by from the next prompt on."""
    if bare == bool(keywords) and (bare or weight is None):
        raise BadMessage("say the keywords, or --bare for none, or a --weight")
    with _engine(store, user, conversation) as engine:
        mark = engine.bookmark(name, [] if bare else keywords or None, weight=weight)
        _told(engine.pager.journal.words(mark.stub), mark.weight, json=json)


@bookmarks.command()
def undo(
    name: Name, user: User = None, conversation: Conversation = None, store: StoreAt = None, json: AsJson = False
) -> None:
    """Take the last edit of a bookmark back."""
    with _engine(store, user, conversation) as engine:
        mark = engine.undo_bookmark(name)
        _told(engine.pager.journal.words(mark.stub), mark.weight, json=json)


def _engine(store: Path | None, user: str | None, conversation: str | None) -> Engine:
    """On the live run; a replay keeps what its rules made. Raises NotFound where there is none."""
    from memory.engine import Engine
    from memory.stores.sql import Store

    with Store.open(store, readonly=True) as opened:
        main = scope_of(opened, user, conversation)
    if main.run != LIVE:
        told = f"{main.conversation!r} has no live run, and a replay keeps what its rules made: say something first"
        raise NotFound(told)
    return Engine.open(store, user=main.user, conversation=main.conversation)


def _told(stub: str, weight: float, *, json: bool) -> None:
    if json:
        terminal.json({"stub": stub, "weight": weight})
    else:
        terminal.line(f"the next prompt reads {stub}, weight {weight:g}")
