"""`workbench lab`, `topology`, `funnel`: paging policies side by side, a conversation's shape, where recalls are lost.

Parses, calls, lays out.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory.errors import BadSetting, RecordingError
from workbench import terminal
from workbench.options import AsJson, Conversation, Run, StoreAt, User, scope_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.keywords import Ask
    from sessions.lab_results import Lab
    from sessions.paging import Talk

SHOWN = 30  # rows

Many = list[str] | None
Files = Annotated[
    list[Path] | None, typer.Argument(help="Recordings, LoCoMo too; without one the store's conversations.")
]


def mount(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command()(lab)
    app.command()(topology)
    app.command()(funnel)


def lab(
    files: Files = None,
    boundary: Annotated[Many, typer.Option(help="fixed_10, exchange_5, topic_shift, idle_6+fixed_20, …")] = None,
    eviction: Annotated[Many, typer.Option(help="fifo, lru, …, or oracle, which knows what will be asked.")] = None,
    recall: Annotated[Many, typer.Option(help="By content, or by the stubs of a bookmark generator alone.")] = None,
    template: Annotated[Many, typer.Option(help="What a model looks for, for llm and llm_batch.")] = None,
    budget: Annotated[list[int] | None, typer.Option(help="Tokens for pages and stubs.")] = None,
    pages: Annotated[list[int] | None, typer.Option(help="So many pages in place of a budget.", min=1)] = None,
    spread: Annotated[
        bool, typer.Option("--spread", help="Questions of the end are asked on the way, drawn by seed.")
    ] = False,
    corrected: Annotated[bool, typer.Option("--corrected", help="LoCoMo's labels as they were put right.")] = False,
    llm: Annotated[str, typer.Option(help="Makes the stubs of llm and llm_batch; it may cost money.")] = "",
    workers: Annotated[int, typer.Option(help="Processes; 0: one a core.", min=0)] = 0,
    cache: Annotated[Path | None, typer.Option(help="Where results are kept; beside the store without it.")] = None,
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    json: AsJson = False,
) -> None:
    """Boundaries, evictions, stubs and budgets side by side: right page at 1, 3, 5, tokens, regret. No model."""
    from memory.stores.sql import Store, default_path
    from sessions.lab import grid
    from sessions.lab import lab as made_by
    from sessions.meaning import by_store
    from sessions.paging import END, SPREAD
    from workbench.labs import FOLDER

    talks, labels = _of_files(files, corrected) if files else _of_store(store, user, conversation, quiet=json)
    chosen = {"boundaries": boundary, "evictions": eviction, "recalls": recall, "templates": template,
              "budgets": budget, "pages": pages}  # fmt: skip
    named: dict[str, Any] = {name: value for name, value in chosen.items() if value}
    cells = grid(**named, asked=SPREAD if spread else END)
    at_once = workers or (os.cpu_count() or 1 if len(cells) * sum(len(t.probes) for t in talks) > 20_000 else 1)
    with ExitStack() as undo:
        if not files:
            labels["meaning"] = partial(by_store, undo.enter_context(Store.open(store, readonly=True)))
        found = made_by(
            talks, cells, cache or (store or default_path()) / FOLDER, at_once, ask=_asking(llm), llm=llm,
            progress=_silent if json else _aside, **labels,
        )  # fmt: skip
    terminal.json(found.to_dict()) if json else _told(found)


def topology(
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    budget: Annotated[int, typer.Option(help="Tokens for pages and stubs.", min=100)] = 8_000,
    json: AsJson = False,
) -> None:
    """How far back a conversation reaches: it moves forward, or comes back; and the eviction that suits it."""
    from memory.stores.sql import Store
    from sessions.topology import topology as made
    from workbench.labs import talk

    with Store.open(store, readonly=True) as opened:
        scope = scope_of(opened, user, conversation, None)
        found = made(talk(opened, scope), budget=budget)
    if json:
        terminal.json(found.to_dict())
        return
    terminal.line(repr(found))
    terminal.table(["turns back", "demands"], [[f"{a} to {b}" if b else f"{a} or more", n] for a, b, n in found.bins])
    terminal.table(found.HEAD, found.lines())
    terminal.table(["what this is worth", ""], list(found.honesty.to_dict().items()))


def funnel(
    store: StoreAt = None,
    user: User = None,
    conversation: Conversation = None,
    run: Run = None,
    json: AsJson = False,
) -> None:
    """Of the steps that should have recalled: which did, which got the right page, which used it."""
    from memory.stores.sql import Store
    from sessions.funnel import funnel as made

    with Store.open(store, readonly=True) as opened:
        found = made(opened, scope_of(opened, user, conversation, run))
    if json:
        terminal.json(found.to_dict())
        return
    terminal.line(repr(found))
    terminal.table(found.HEAD, found.lines())
    lost = [[a.turn, ", ".join(map(str, a.missing)), ", ".join(f"p{n}" for n in a.came) or "–", a.stage]
            for a in found.asked if not a.is_through]  # fmt: skip
    terminal.table(["turn", "missing turns", "came", "reached"], lost[:SHOWN])
    terminal.table(["what this is worth", ""], list(found.honesty.to_dict().items()))


def _of_files(files: Sequence[Path], corrected: bool) -> tuple[list[Talk], dict[str, Any]]:
    """Conversations of recordings. LoCoMo stands alone: its labels are of another kind."""
    from sessions.honesty import CORRECTED, RAW
    from sessions.paging import talk_of, talks_of_locomo
    from sessions.readers import read
    from sessions.recording import Recording

    found: list[Talk] = []
    for file in files:
        recordings = [each for each in read(file) if isinstance(each, Recording)]
        if any(each.format == "locomo" for each in recordings):
            if len(files) > 1:
                raise BadSetting(f"{file} is LoCoMo: it is measured alone")
            talks, wrong = talks_of_locomo(file, corrected=corrected)
            return talks, {"labels": CORRECTED if corrected else RAW, "wrong_labels": wrong}
        found += [talk_of(each) for each in recordings]
    return found, {}


def _of_store(
    place: Path | None, user: str | None, conversation: str | None, *, quiet: bool
) -> tuple[list[Talk], dict[str, Any]]:
    """Every conversation that is meant and asks something; which do not, is told."""
    from memory.stores.sql import Store
    from workbench.labs import talks

    with Store.open(place, readonly=True) as opened:
        found, left_out = talks(opened, user, conversation)
    for each in () if quiet else left_out:
        terminal.aside(f"left out: {each}")
    if not found:
        raise RecordingError(
            "no conversation that is meant has a labelled or pinned question: `workbench pin` one with --evidence"
        )
    return found, {}


def _asking(llm: str) -> Ask | None:
    """The model's answer, or None where none is named."""
    if not llm:
        return None
    from memory.models.chat import complete

    def ask(prompt: str, shape: Mapping[str, Any]) -> str:
        return complete(llm, [{"role": "user", "content": prompt}], schema=shape, max_tokens=2_000).text

    return ask


def _told(found: Lab) -> None:
    terminal.line(repr(found))
    terminal.table(["what a figure is worth", ""], list(found.honesty.to_dict().items()))
    on_front = {each.cell for each in found.front}
    best = sorted(found.results, key=lambda r: -r.end_to_end())[:SHOWN]
    rows = [[("▸ " if r.cell in on_front else "") + r.cell.name, *line[1:]]
            for r, line in zip(best, found.lines(best), strict=True)]  # fmt: skip
    terminal.table(found.HEAD, rows)
    if len(found.results) > SHOWN:
        terminal.aside(f"the best {SHOWN} of {len(found.results)} cells; --json has all")
    terminal.aside("▸ on the front: nothing cheaper finds more; 95 of 100 samples lie in the interval")
    kinds = [[name, each["n"], f"{each['value']:.3f}", f"{each['low']:.2f} to {each['high']:.2f}"]
             for name, each in found.best.categories.items()]  # fmt: skip
    terminal.table([f"{found.best.cell.name}, by category", "n", "right with 1", "interval"], kinds)
    if (held := found.held_out) is not None:
        value = f"{held['value']:.3f} ({held['low']:.2f} to {held['high']:.2f}), n = {held['n']}"
        terminal.line(f"the best cell chosen on the other conversations, on the one left out: {value}")


def _aside(done: int, of: int) -> None:
    terminal.aside(f"{done} of {of} …")


def _silent(done: int, of: int) -> None: ...
