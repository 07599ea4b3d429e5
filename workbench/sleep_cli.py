"""`workbench memory consolidate` and `workbench memory summaries`: parses, calls memory/sleep.py, lays out.

`mount(app)` adds both to the commands of `workbench memory`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory.consolidation import KINDS, Consolidation, Row, Rules
from memory.errors import NotFound
from workbench import terminal
from workbench.options import AsJson, StoreAt
from workbench.options import OneUser as User
from workbench.terminal import out

if TYPE_CHECKING:
    from memory.sleep import Applied, Sleep


def mount(app: typer.Typer) -> None:
    app.command("consolidate")(consolidate)
    app.command("summaries")(summaries)


def consolidate(
    user: User,
    store: StoreAt = None,
    apply: Annotated[bool, typer.Option("--apply", help="Apply the rows; a preview without it.")] = False,
    row: Annotated[list[int] | None, typer.Option("--row", help="Only this row; may be given again.")] = None,
    kind: Annotated[list[str] | None, typer.Option("--kind", help=f"Only of this kind: {', '.join(KINDS)}.")] = None,
    lossless: Annotated[bool, typer.Option("--lossless", help="Only rows that lose nothing.")] = False,
    capacity: Annotated[int, typer.Option(help="Facts that may hold at once; 0: any number.", min=0)] = 0,
    if_due: Annotated[bool, typer.Option("--if-due", help="Do nothing unless it is time.")] = False,
    json: AsJson = False,
) -> None:
    """What consolidation would change, and what each row would lose; with --apply, change it.

    Every row is a change of its own, which `workbench memory undo` takes back.
    """
    from memory.longterm import LongTerm
    from memory.sleep import Sleep

    memory = LongTerm.open(store, user=user)
    try:
        sleep = Sleep(memory, Rules(capacity=capacity))
        reason = sleep.due()
        if if_due and not reason:
            _tell({"due": "", "rows": []}, "not due", json=json)
            return
        preview = sleep.preview()
        rows = _wanted(preview, row, kind, lossless=lossless)
        applied = sleep.apply(preview, [each.number for each in rows], by=user) if apply else None
        if json:
            terminal.json({"due": reason, **_told(preview, rows, applied)})
        else:
            _lay_out(preview, rows, applied, reason)
    finally:
        memory.close()


def summaries(
    user: User,
    conversation: Annotated[str, typer.Option("--conversation", "-c", help="Which conversation.")],
    question: Annotated[str | None, typer.Argument(help="Find those that answer it, and their pages.")] = None,
    store: StoreAt = None,
    make: Annotated[bool, typer.Option("--make", help="Make those that are missing first.")] = False,
    json: AsJson = False,
) -> None:
    """The summaries of a conversation, chapters first; or those that answer a question, with their pages."""
    from memory.longterm import LongTerm
    from memory.sleep import Sleep

    memory = LongTerm.open(store, user=user, conversation=conversation)
    try:
        sleep = Sleep(memory)
        if make:
            sleep.summarise()
        lines = _found(sleep, question) if question else _standing(sleep)
        if json:
            terminal.json(lines)
            return
        keys = ("summary", "level", "turns", "day", "pages", "by", "text")
        shown = [key for key in keys if lines and key in lines[0]]
        terminal.table(shown, [[line[key] for key in shown] for line in lines])
    finally:
        memory.close()


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────────


def _wanted(
    preview: Consolidation, numbers: Sequence[int] | None, kinds: Sequence[str] | None, *, lossless: bool
) -> list[Row]:
    known = {row.number for row in preview.rows}
    if unknown := sorted(set(numbers or ()) - known):
        raise NotFound(f"no row {unknown[0]}; this preview has {len(known)}")
    if strange := sorted(set(kinds or ()) - set(KINDS)):
        raise NotFound(f"no kind of row named {strange[0]!r}; choose one of: {', '.join(KINDS)}")
    numbered = [row for row in preview.rows if not numbers or row.number in numbers]
    return [row for row in numbered if (not kinds or row.kind in kinds) and (row.lossless or not lossless)]


def _told(preview: Consolidation, rows: Sequence[Row], applied: Applied | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "version": preview.version,
        "rows": [
            {
                "row": row.number, "kind": row.kind, "facts": [f"f{n}" for n in row.facts], "why": row.why,
                "before": row.before, "after": row.after, "by": row.by,
                "losses": [
                    {"fact": f"f{loss.fact}", "kind": loss.kind, "what": loss.what, "where": loss.where}
                    for loss in row.losses
                ],
            }
            for row in rows
        ],
        "left": [_skipped(each) for each in preview.left],
        "notes": preview.notes,
    }  # fmt: skip
    if applied is not None:
        told["changes"] = applied.changes
        told["skipped"] = [_skipped(each) for each in applied.skipped]
    return told


def _skipped(each: Any) -> dict[str, Any]:
    return {"kind": each.kind, "facts": [f"f{n}" for n in each.facts], "why": each.why}


def _lay_out(preview: Consolidation, rows: Sequence[Row], applied: Applied | None, reason: str) -> None:
    out.print(terminal.plain(f"due: {reason}" if reason else "not due; previewed by hand", "dim"))
    terminal.table(
        ["row", "kind", "facts", "before", "after", "why", "would lose"],
        [
            [row.number, row.kind, " ".join(f"f{n}" for n in row.facts), "\n".join(row.before), "\n".join(row.after),
             row.why, "\n".join(map(str, row.losses)) or "nothing"]
            for row in rows
        ],
    )  # fmt: skip
    for note in preview.notes:
        out.print(terminal.plain(note, "yellow"))
    for each in preview.left:
        out.print(terminal.plain(f"left by the last time: {each.kind}, for {each.why}", "dim"))
    if applied is None:
        out.print(terminal.plain("nothing was changed: --apply changes it, --row N a row of it", "dim"))
        return
    numbers = ", ".join(map(str, applied.changes)) or "none"
    out.print(terminal.plain(f"changes: {numbers} (`workbench memory undo N` takes one back)", "bold"))
    for each in applied.skipped:
        out.print(terminal.plain(f"skipped: {each.kind}, for {each.why}", "yellow"))


# ── summaries ─────────────────────────────────────────────────────────────────────────────────────────


def _standing(sleep: Sleep) -> list[dict[str, Any]]:
    return [
        {"summary": s.name, "level": "chapter" if s.level else "turns", "turns": f"{s.first}-{s.last}", "day": s.day,
         "by": s.by, "text": sleep.memory.words(s.text)}
        for s in sleep.summaries()
    ]  # fmt: skip


def _found(sleep: Sleep, question: str) -> list[dict[str, Any]]:
    return [
        {"summary": each.summary.name, "turns": f"{each.summary.first}-{each.summary.last}",
         "pages": " ".join(f"p{n}" for n in each.pages), "text": each.words}
        for each in sleep.find(question)
    ]  # fmt: skip


def _tell(value: dict[str, Any], words: str, *, json: bool) -> None:
    if json:
        terminal.json(value)
    else:
        out.print(terminal.plain(words, "dim"))
