"""`workbench memory …`: what is remembered about a user, and what people do to it; parses, calls, lays out.

Facts are named as everywhere, f3. Every change but an erase can be undone: `workbench memory undo CHANGE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory.errors import BadMessage, NotFound
from workbench import terminal
from workbench.options import AsJson, StoreAt
from workbench.options import OneUser as User
from workbench.sleep_cli import mount
from workbench.terminal import out, plain

if TYPE_CHECKING:
    from memory.knowledge import Change
    from memory.longterm import LongTerm
    from memory.stores.erase import ErasePreview
    from memory.stores.scan import Scan
    from memory.stores.sql import Store
    from workbench.views.facts import FactView

memory = typer.Typer(no_args_is_help=True, help="What is remembered about a user: look, correct, forget, erase, undo.")
mount(memory)

Conversation = Annotated[str, typer.Option("--conversation", "-c", help="Its working facts as well.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Name = Annotated[str, typer.Argument(help="A fact's name, such as f3.")]

NAME = re.compile(r"f\d{1,9}", re.IGNORECASE)
FACT = re.compile(r"f?(\d{1,9})", re.IGNORECASE)
HEAD = ["fact", "what", "layer", "since", "state", "said", "last used"]


# ── looking ───────────────────────────────────────────────────────────────────────────────────────────


@memory.command("list")
def list_(
    user: User,
    store: StoreAt = None,
    conversation: Conversation = "",
    layer: Annotated[str, typer.Option(help="working, episodic or semantic.")] = "",
    state: Annotated[
        str, typer.Option(help="active, conflicted, superseded, retracted, quarantined, erased, all.")
    ] = "",
    tag: Annotated[str, typer.Option(help="topic:money, intent:plan, …")] = "",
    valid: Annotated[str, typer.Option(help="What was true then: a date, or a time with its offset.")] = "",
    recorded: Annotated[str, typer.Option(help="As we knew it then.")] = "",
    json: AsJson = False,
) -> None:
    """What is remembered: what holds now, or what held, as of any moment in either time."""
    from workbench.views.facts import facts

    with _opened(store) as opened:
        seen = facts(
            opened, user, conversation=conversation, layer=layer, state=state, tag=tag, valid=_moment(valid),
            recorded=_moment(recorded),
        )  # fmt: skip
    if json:
        terminal.json(seen.to_dict())
        return
    terminal.table(HEAD, [[r.name, r.text, r.layer, _day(r.since), r.state, r.said, r.used] for r in seen.rows])
    out.print(plain(seen.note, "dim"))


@memory.command()
def show(name: Name, user: User, store: StoreAt = None, conversation: Conversation = "", json: AsJson = False) -> None:
    """One fact whole: where it was said, what was believed when, who changed it, which prompts held it."""
    from workbench.views.facts import fact

    with _opened(store) as opened:
        seen = fact(opened, user, _number(name), conversation=conversation)
    terminal.json(seen.to_dict()) if json else _whole(seen)


def _whole(seen: FactView) -> None:
    r = seen.row
    out.print(plain(f"{r.name}: {r.text}", "bold"))
    about = [
        r.state + (f" ({r.why})" if r.why else ""),
        r.layer,
        f"importance {r.importance:g}",
        f"drawn by {r.drawn_by}",
    ]
    out.print(plain(" · ".join([*about, *r.tags]), "dim"))
    said = [[s.conversation or "-", s.turn or "-", _day(s.said_at), s.quote] for s in seen.sources]
    terminal.table(["conversation", "turn", "said", "words"], said)
    held = [[_day(b.valid_from), _day(b.valid_to), _minute(b.recorded_from), _minute(b.recorded_to)]
            for b in seen.beliefs]  # fmt: skip
    terminal.table(["true from", "until", "believed from", "until"], held)
    made = [[c.change, c.cause, c.decided_by, _minute(c.at), c.why] for c in seen.changes]
    terminal.table(["change", "cause", "by", "when", "why"], made)
    if seen.uses:
        terminal.table(["used in", "step", "when", "as"],
                       [[u.conversation, u.step, _minute(u.at), u.why] for u in seen.uses])  # fmt: skip
    else:
        out.print(plain("it stood in no prompt yet", "dim"))


@memory.command()
def reach(name: Name, user: User, store: StoreAt = None, json: AsJson = False) -> None:
    """Every prompt that a fact or its turns stood in, which replies say it, and what was made of it."""
    from memory.reach import blast_radius

    with _opened(store) as opened:
        found = blast_radius(opened, user, _number(name))
    if json:
        terminal.json(found.to_dict())
        return
    out.print(plain(f"{found.fact}: {found.text} · {found.state}", "bold"))
    if found.reached:
        lines = [[r.conversation, r.run, r.turn, ", ".join(r.how), r.reply if r.in_reply else "-"]
                 for r in found.reached]  # fmt: skip
        terminal.table(["conversation", "run", "turn", "how", "said in the reply of turn"], lines)
    else:
        out.print(plain("it stood in no prompt yet", "dim"))
    if found.derived:
        out.print(plain(f"made of it: {', '.join(found.derived)}"))


@memory.command()
def search(
    question: Annotated[str, typer.Argument(help="In the words of whoever asks.")],
    user: User,
    store: StoreAt = None,
    conversation: Conversation = "",
    k: Annotated[int, typer.Option("-k", help="How many facts.", min=1)] = 5,
    valid: Annotated[str, typer.Option(help="What was true then.")] = "",
    recorded: Annotated[str, typer.Option(help="As we knew it then.")] = "",
    json: AsJson = False,
) -> None:
    """Which facts answer a question, with their scores, and why not the others."""
    from memory.show import small

    with _remembered(store, user, conversation, readonly=True) as longterm:
        found = longterm.query(question, k, valid=_moment(valid), recorded=_moment(recorded))
        rows = [
            {"fact": f"f{h.page}", "score": h.score, "text": longterm.text(longterm.fact(h.page)), "stage": h.stage,
             "dropped": h.dropped}
            for h in (*found.hits, *found.misses)
        ]  # fmt: skip
    if json:
        terminal.json({"rows": rows, "note": found.note, "thresholds": found.thresholds})
        return
    lines = [[r["fact"], f"{r['score']:.2f}", small(str(r["text"]), 100), r["dropped"] or "found"] for r in rows]
    terminal.table(["fact", "score", "what", "why"], lines)
    if found.note:
        out.print(plain(found.note, "dim"))


@memory.command()
def history(
    attribute: Annotated[str, typer.Argument(help="Such as budget, or a fact of it, such as f3.")],
    user: User,
    subject: Annotated[str, typer.Option(help="Whom or what it is about.")] = "user",
    knowledge: Annotated[bool, typer.Option("--knowledge", help="How our knowledge of it changed instead.")] = False,
    store: StoreAt = None,
    conversation: Conversation = "",
    json: AsJson = False,
) -> None:
    """How the truth about one thing changed; with --knowledge, how our knowledge of it did."""
    from memory.attributes import attribute_of
    from memory.facts import BEGINNING, FOREVER, in_zone

    with _remembered(store, user, conversation, readonly=True) as longterm:
        if NAME.fullmatch(attribute):
            fact = longterm.fact(_number(attribute))
            subject, attribute = longterm.words(fact.subject), longterm.words(fact.attribute)
        else:
            attribute = attribute_of(attribute)
        held = longterm.evolution(subject, attribute) if knowledge else longterm.history(subject, attribute)
        if not held:
            raise NotFound(f"nothing is known of {subject}'s {attribute!r}; `workbench memory list` says what is")
        rows = [
            {"fact": f.name, "value": longterm.words(f.value), "text": longterm.text(f), "negated": f.negated,
             **{n: None if (at := getattr(span, n)) in (BEGINNING, FOREVER) else in_zone(at, f.since_when)
                for n in ("valid_from", "valid_to", "recorded_from", "recorded_to") if hasattr(span, n)}}
            for span, f in held
        ]  # fmt: skip
    if json:
        terminal.json(rows)
        return
    times = [n for n in rows[0] if n not in ("fact", "value", "text", "negated")]
    lines = [
        [r["fact"], ("not " if r["negated"] else "") + str(r["value"]), *(_minute(r[n]) for n in times)] for r in rows
    ]
    terminal.table(["fact", "value", *(n.replace("_", " ") for n in times)], lines)


@memory.command()
def conflicts(
    user: User,
    all_: Annotated[bool, typer.Option("--all", help="Those that were settled as well.")] = False,
    store: StoreAt = None,
    json: AsJson = False,
) -> None:
    """Facts that cannot all hold, with the words that say so; `settle` decides."""
    from workbench.views.facts import conflicts as inbox

    with _opened(store) as opened:
        found = inbox(opened, user, settled=all_)
    if json:
        terminal.json([c.to_dict() for c in found])
        return
    if not found:
        out.print(plain("no conflict is open", "dim"))
    for each in found:
        end = f"settled by {each.decided_by}: {each.winner or 'all hold'}" if each.settled else "open"
        out.print(plain(f"conflict {each.number}: {each.why} · {end}", "bold"))
        rows = [
            [s.row.name, s.row.text, _day(s.row.since), q.quote, q.conversation or "-", q.turn or "-"]
            for s in each.sides
            for q in s.sources[-1:]
        ]
        terminal.table(["fact", "what", "since", "said", "in", "turn"], rows)
        if not each.settled:
            out.print(plain(f"{each.rule} would take {each.would_win}: "
                            f"workbench memory settle {each.number} {each.would_win} -u {user}", "dim"))  # fmt: skip


@memory.command()
def changes(
    user: User,
    most: Annotated[int, typer.Option(help="How many, the newest first.", min=1)] = 30,
    store: StoreAt = None,
    json: AsJson = False,
) -> None:
    """Who changed what, when and why; `undo` takes one back."""
    from workbench.views.facts import changes as made

    with _opened(store) as opened:
        found = made(opened, user)[:most]
    if json:
        terminal.json([c.to_dict() for c in found])
        return
    rows = [[c.change, c.cause, c.decided_by, ", ".join(c.old) or "-", c.new or "-", c.why, _minute(c.at),
             c.undone_by or "-"] for c in found]  # fmt: skip
    terminal.table(["change", "cause", "by", "before", "after", "why", "when", "undone by"], rows)


@memory.command()
def ledger(
    user: User,
    store: StoreAt = None,
    conversation: Annotated[str, typer.Option("--conversation", "-c", help="Only of this one.")] = "",
    turn: Annotated[int, typer.Option(help="Only of this turn.", min=0)] = 0,
    json: AsJson = False,
) -> None:
    """What was kept of which turn, what was not, and why; what waits to be looked at."""
    from workbench.views.facts import ledger as lines_of

    with _opened(store) as opened:
        found = lines_of(opened, user, conversation=conversation, turn=turn)
    if json:
        terminal.json([r.to_dict() for r in found])
        return
    rows = [[r.conversation or "-", r.turn or "-", r.verdict, r.fact or "-", r.text, r.reason,
             _minute(r.at) if r.at else "not yet"] for r in found]  # fmt: skip
    terminal.table(["conversation", "turn", "verdict", "fact", "what", "why", "looked at"], rows)


# ── changing ──────────────────────────────────────────────────────────────────────────────────────────


@memory.command()
def correct(
    name: Name,
    value: Annotated[str, typer.Argument(help="The right value.")],
    user: User,
    since: Annotated[str, typer.Option(help="It changed then; without it the old one was wrong all along.")] = "",
    seen: Annotated[int | None, typer.Option(help="The version you looked at: refused if it changed since.")] = None,
    store: StoreAt = None,
    conversation: Conversation = "",
    json: AsJson = False,
) -> None:
    """Another value for a fact, a bare figure in the old one's unit; the old value stays in history."""
    from memory.answering import like

    with _remembered(store, user, conversation) as longterm:
        fact = longterm.fact(_number(name))
        wanted = like(longterm.words(fact.value), value) if fact.value else value
        change = longterm.update(fact.id, wanted, since=_moment(since), seen=seen)
        _done(longterm, change, json=json)


@memory.command()
def mark(
    names: Annotated[list[str], typer.Argument(help="Facts' names.")],
    user: User,
    importance: Annotated[float, typer.Option(help="0 to 1; from 0.8 a fact comes unasked.", min=0, max=1)] = 1.0,
    store: StoreAt = None,
    conversation: Conversation = "",
    json: AsJson = False,
) -> None:
    """Mark facts as important, or as not."""
    with _remembered(store, user, conversation) as longterm:
        made = [longterm.mark(number, importance) for number in map(_number, names)]
        _done(longterm, *made, json=json)


@memory.command()
def forget(
    user: User,
    what: Annotated[list[str] | None, typer.Argument(help="Facts' names, or a topic.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Everything that holds.")] = False,
    yes: Yes = False,
    store: StoreAt = None,
    conversation: Conversation = "",
    json: AsJson = False,
) -> None:
    """From now on they hold no more. They stay in history, and it can be undone; `erase` takes the words out."""
    from memory.answering import about

    if bool(what) == all_:
        raise BadMessage("say what to forget: facts such as f3, a topic, or --all")
    with _remembered(store, user, conversation) as longterm:
        if all_:
            found = longterm.facts()
        elif names := _names(what or []):
            found = [longterm.fact(n) for n in names]
        else:
            found = about(longterm, " ".join(what or []))
        if not found:
            raise NotFound(
                f"nothing that holds is about {' '.join(what or []) or 'anything'}: there is nothing to forget"
            )
        if not yes and not json and not _names(what or []):
            terminal.table(["fact", "what"], [[f.name, longterm.text(f)] for f in found])
            typer.confirm(f"Forget these {len(found)}?", abort=True)
        _done(longterm, longterm.forget(*(f.id for f in found)), json=json)


@memory.command()
def undo(
    change: Annotated[int, typer.Argument(help="The number of a change; `workbench memory changes` lists them.")],
    user: User,
    store: StoreAt = None,
    json: AsJson = False,
) -> None:
    """Everything that the change touched is as it was before; refused where later changes build on it."""
    with _remembered(store, user) as longterm:
        _done(longterm, longterm.undo(change), json=json)


@memory.command()
def settle(
    conflict: Annotated[int, typer.Argument(help="The number of a conflict.")],
    user: User,
    winner: Annotated[str, typer.Argument(help="The fact that holds; without it they all do.")] = "",
    store: StoreAt = None,
    json: AsJson = False,
) -> None:
    """One side of a conflict holds, or all of them do."""
    with _remembered(store, user) as longterm:
        _done(longterm, longterm.settle(conflict, _number(winner) if winner else 0), json=json)


@memory.command()
def release(
    name: Name, user: User, store: StoreAt = None, conversation: Conversation = "", json: AsJson = False
) -> None:
    """Believe what was quarantined, or taken back."""
    with _remembered(store, user, conversation) as longterm:
        _done(longterm, longterm.release(_number(name)), json=json)


@memory.command()
def pause(user: User, store: StoreAt = None, json: AsJson = False) -> None:
    """Remember nothing from here on; what is known stays."""
    _switch(store, user, json=json, on=False)


@memory.command()
def resume(user: User, store: StoreAt = None, json: AsJson = False) -> None:
    """Remember again."""
    _switch(store, user, json=json, on=True)


def _switch(store: Path | None, user: str, *, json: bool, on: bool) -> None:
    with _remembered(store, user) as longterm:
        longterm.switch(on=on)
    told = f"what {user} says is remembered {'again' if on else 'no more, until `workbench memory resume`'}"
    terminal.json({"user": user, "on": on}) if json else out.print(plain(told))


# ── erasing ───────────────────────────────────────────────────────────────────────────────────────────


@memory.command()
def erase(
    user: User,
    what: Annotated[list[str] | None, typer.Argument(help="A topic's words, each a phrase; or facts, f3.")] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Look through all tables and bytes, before and after.")
    ] = False,
    yes: Yes = False,
    store: StoreAt = None,
    json: AsJson = False,
) -> None:
    """Take what a user said about a topic out of the store for good, everywhere. There is no undo.

    Shows what would go, then asks; with --json it only shows, unless --yes is given.
    """
    from memory.stores.erase import erase as previewed
    from memory.stores.scan import scan

    numbers = [int(each[1:]) for each in what or () if NAME.fullmatch(each)]
    topics = [each for each in what or () if not NAME.fullmatch(each)]
    with _opened(store, readonly=False) as opened:
        preview = previewed(opened, user, *topics, facts=numbers)
        before = scan(opened, user, preview.topic) if verify else None
        if json and not yes:
            terminal.json({"preview": preview.to_dict(), "before": _scanned(before)})
            return
        if not json:
            _previewed(preview, before)
        if preview.empty:
            if not json:
                return
            terminal.json(
                {"preview": preview.to_dict(), "before": _scanned(before), "erased": None, "after": _scanned(before)}
            )
            return
        if not yes:
            typer.confirm("Erase all of this for good?", abort=True)
        erased = preview.carry_out(by=user)
        after = scan(opened, user, preview.topic) if verify else None
    if json:
        terminal.json(
            {
                "preview": preview.to_dict(),
                "before": _scanned(before),
                "erased": erased.to_dict(),
                "after": _scanned(after),
            }
        )
    else:
        _erased(preview, after)
        cleaned = f"; cleaned: {', '.join(erased.backups)}" if erased.backups else ""
        out.print(plain(f"erased: {len(erased.facts)} facts, {erased.texts} texts, {erased.vectors} vectors{cleaned}"))
    if after is not None and not after.clean:
        raise typer.Exit(1)


def _scanned(found: Scan | None) -> dict[str, Any] | None:
    return None if found is None else found.to_dict()


def _previewed(preview: ErasePreview, before: Scan | None) -> None:
    if preview.empty:
        out.print(plain(f"nothing of {preview.user}'s says {str(preview.topic)!r}"))
    else:
        out.print(plain(f"to be erased: {preview.summary}", "bold"))
    forms = ", ".join(f"{form} ({n})" for form, n in preview.forms.items())
    if forms:
        out.print(plain(f"written as: {forms}"))
    if preview.facts:
        named = zip(preview.facts, preview.told, strict=True)
        terminal.table(["fact", "what"], [[f"f{n}", told] for n, told in named])
    if preview.turns:
        by: dict[str, list[int]] = {}
        for conversation, turn in preview.turns:
            by.setdefault(conversation, []).append(turn)
        terminal.table(["conversation", "turns"], [[c, ", ".join(map(str, n))] for c, n in by.items()])
    for what, stays in (
        ("words that only contain it", preview.beside), ("names of conversations", preview.names),
    ):  # fmt: skip
        if stays:
            out.print(plain(f"stays: {what}: {', '.join(stays)}"))
    if preview.backups:
        out.print(plain(f"backups are cleaned as well: {', '.join(preview.backups)}"))
    for lost in preview.lost:
        out.print(plain(f"stays: a backup out of reach (gone from there, in use as a store, or read-only): {lost}"))
    out.print(plain("stays: exports, and copies that somebody made", "dim"))
    if before is not None:
        out.print(plain(f"before: {before.summary}"))


def _erased(preview: ErasePreview, after: Scan | None) -> None:
    if after is None:
        return
    out.print(plain(f"after: {after.summary}", "bold"))
    if after.others:
        out.print(plain(f"rows of other users that say it, left as they are: {sum(after.others.values())}", "dim"))
    for place, n in after.names.items():
        out.print(plain(f"stays: {n} names in {place}", "dim"))


# ── with a conversation that is deleted ───────────────────────────────────────────────────────────────


def facts_of(store: Store, user: str, conversation: str) -> list[int]:
    """Facts that were said in this conversation and nowhere else, in the order of their numbers."""
    told = store.knowledge(user).facts.values()
    return [f.id for f in told if f.state != "erased" and {s.conversation for s in f.sources} == {conversation}]


def end_facts(store: Store, user: str, conversation: str, numbers: list[int], how: str) -> str:
    """Keep them, end them, or erase them; returns what became of them. Raises UnknownName for another word."""
    from memory.errors import UnknownName
    from memory.longterm import LongTerm
    from memory.stores.erase import erase as previewed

    ways = ("keep", "end", "erase")
    if how not in ways:
        raise UnknownName("way with facts", how, ways)
    if how == "erase" and numbers:
        previewed(store, user, facts=numbers).carry_out(by=user)
        return "erased"
    k = store.knowledge(user)
    holding = [n for n in numbers if k.facts[n].lasts(store.clock())]
    if how == "end" and holding:
        LongTerm(store, user, conversation, clock=store.clock).forget(*holding)
        return "ended"
    return "kept: `workbench delete --facts end` or `erase` takes them along"


# ── shared ────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _opened(store: Path | None, *, readonly: bool = True) -> Iterator[Store]:
    from memory.stores.sql import Store

    with Store.open(store, readonly=readonly) as opened:
        yield opened


@contextmanager
def _remembered(store: Path | None, user: str, conversation: str = "", *, readonly: bool = False) -> Iterator[LongTerm]:
    from memory.longterm import LongTerm

    with _opened(store, readonly=readonly) as opened:
        yield LongTerm(opened, user, conversation, clock=opened.clock)


def _number(name: str) -> int:
    found = FACT.fullmatch(name.strip())
    if not found:
        raise BadMessage(f"a fact is named f3, not {name!r}; `workbench memory list` names them")
    return int(found[1])


def _names(what: list[str]) -> list[int]:
    """The facts, where all are names of facts; a bare figure is a topic."""
    return [_number(each) for each in what] if what and all(map(NAME.fullmatch, what)) else []


def _done(longterm: LongTerm, *made: Change, json: bool) -> None:
    """What the changes came to."""
    from workbench.views.facts import changes as all_changes

    numbers = {c.number for c in made}
    rows = [c for c in all_changes(longterm.store, longterm.user) if c.change in numbers]
    k = longterm.knowledge
    touched = sorted({n for c in made for n in c.facts})
    facts = [{"fact": f"f{n}", "text": longterm.words(k.facts[n].text), "state": k.facts[n].state} for n in touched]
    if json:
        terminal.json({"changes": [c.to_dict() for c in reversed(rows)], "facts": facts})
        return
    for each in reversed(rows):
        out.print(plain(f"change {each.change} ({each.cause}): {each.why}", "bold"))
    terminal.table(["fact", "what", "state now"], [[f["fact"], f["text"], f["state"]] for f in facts])
    last = max(numbers)
    out.print(plain(f"to take it back: workbench memory undo {last} -u {longterm.user}", "dim"))


def _moment(words: str) -> datetime | None:
    """A date begins in UTC; a time needs its offset."""
    if not words:
        return None
    try:
        at = datetime.fromisoformat(words)
    except ValueError:
        raise BadMessage(f"{words!r} is no time; give a date such as 2026-03-02, or 2026-03-02T09:00+01:00") from None
    if at.tzinfo is None and len(words) > len("2026-03-02"):
        raise BadMessage(f"{words!r} has no offset from UTC; give one, such as {words}+00:00")
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _day(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d}" if at else "-"


def _minute(at: Any) -> str:
    return f"{at:%Y-%m-%d %H:%M}" if at else "-"
