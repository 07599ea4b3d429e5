"""The start page's parts: what this is, conversations as cards and as a list, users, health, jobs that failed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from memory.errors import EngineError
from memory.stores.jobs import retry
from workbench import live, state
from workbench.charts import spark
from workbench.components.cards import Card, cards
from workbench.components.export import export
from workbench.components.facts import facts
from workbench.components.grid import Cell, Column, Line, Pager, grid
from workbench.views.overview import SORTS, ConversationFigures, HealthView, Look, OverviewView, health
from workbench.words import Words, visible

CARDS = 4
PAGE = 20  # rows of a list at once
DOORS = ("live", "turn", "why")
VERIFIED = "_verified"  # session: what the last full check said, and of which seq


def _place(row: ConversationFigures) -> dict[str, str]:
    language = st.query_params.get("lang", "")
    return {"user": row.user, "conv": row.conversation} | ({"lang": language} if language else {})


def size(value: float, say: Words) -> str:
    """Bytes in the unit that reads best."""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{say.score(round(value, 1))} {unit}"


# ── the head ──────────────────────────────────────────────────────────────────────────────────────────


def figures(view: OverviewView, found: HealthView, say: Words) -> None:
    facts(
        [
            (say("overview.conversations"), say.number(len(view.conversations))),
            (say("overview.users"), say.number(len(view.users))),
            (say("overview.turns"), say.number(view.turns)),
            (say("overview.events"), say.number(view.store.events)),
            (say("overview.size"), size(found.bytes, say)),
        ],
        key="overview_figures",
        large=True,
    )


def latest(view: OverviewView, say: Words) -> None:
    shown = {f"{row.user}\n{row.conversation}": row for row in view.conversations[:CARDS]}
    st.markdown(f"##### :material/forum: {say('overview.latest')}", help=say("overview.latest.says"))
    made = [_card(key, row, say) for key, row in shown.items()]

    def led(fired: Sequence[str]) -> None:
        if fired[0] in shown and fired[1] in DOORS:
            state.lead(fired[1], **_place(shown[fired[0]]))

    cards(made, "overview_cards", say("overview.latest"), live.on("overview_cards", "open", led))


def _card(key: str, row: ConversationFigures, say: Words) -> Card:
    tokens = state.course(row)
    told = say("overview.course", steps=len(tokens), last=tokens[-1], top=max(tokens)) if tokens else ""
    query = urlencode(_place(row))
    return Card(
        key, row.title, f"{row.user} · {say.moment(row.last_at)}", spark(_thinned(tokens)),
        told or say("overview.no_course"),
        (
            (say("overview.turns"), say.number(row.turns)),
            (say("overview.pages"), say.number(row.pages)),
            (say("overview.evictions"), say.number(row.evictions)),
            (say("overview.recalls"), say.number(row.recalls)),
        ),
        tuple((name, say(f"overview.door.{name}"), f"{name}?{query}") for name in DOORS),
    )  # fmt: skip


def _thinned(values: Sequence[int], most: int = 200) -> list[int]:
    step = max(1, len(values) // most)
    return list(values[::step])


# ── lists ─────────────────────────────────────────────────────────────────────────────────────────────


def conversations(view: OverviewView, say: Words) -> None:
    name, down = _sort()
    rows = view.sorted_by(name, down)
    first = _first(len(rows))
    shown = {f"{row.user}\n{row.conversation}": row for row in rows[first : first + PAGE]}
    numbers = ("turns", "pages", "evictions", "recalls", "tokens")
    columns = [
        Column("title", say("overview.conversation"), sorts=True),
        Column("user", say("scope.user"), sorts=True),
        *(Column(n, say(f"overview.{n}"), "num", sorts=True, says=say(f"overview.{n}.says")) for n in numbers),
        Column("last", say("overview.last"), "num", sorts=True),
    ]
    lines = [
        Line(
            key,
            (
                Cell(row.title, f"{row.conversation} · {row.source}"),
                Cell(row.user),
                *(Cell(say.number(getattr(row, n))) for n in numbers),
                Cell(say.moment(row.last_at)),
            ),
            f"live?{urlencode(_place(row))}",
        )
        for key, row in shown.items()
    ]
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        count = f":gray-badge[{len(rows):,}]"
        st.markdown(f"##### :material/list: {say('overview.conversations')} {count}", width="content")
        export(lambda: [row.to_dict() for row in rows], "conversations", say)

    def led(key: str) -> None:
        if key in shown:
            state.lead("live", **_place(shown[key]))

    def sorted_(column: str) -> None:
        if column in SORTS:
            turned = not down if column == name else column not in ("title", "user")
            state.go(sort=f"{'-' if turned else ''}{column}", **{"from": None})

    key = "overview_list"
    grid(
        columns, lines, say, key, say("overview.conversations"), sort=(name, down),
        pager=Pager(first, len(lines), len(rows), PAGE), on_open=live.on(key, "open", led),
        on_sort=live.on(key, "sort", sorted_),
        on_page=live.on(key, "page", lambda at: state.go(**{"from": int(at) or None})),
    )  # fmt: skip


def _sort() -> tuple[str, bool]:
    asked = st.query_params.get("sort", "-last")
    name = asked.removeprefix("-")
    return (name, asked.startswith("-")) if name in SORTS else ("last", True)


def _first(rows: int) -> int:
    asked = st.query_params.get("from", "0")
    at = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 9 else 0
    return at if at < rows else 0


def users(view: OverviewView, say: Words) -> None:
    names = view.users[:PAGE]
    rows = state.users(view, names)
    columns = [
        Column("user", say("scope.user")),
        Column("conversations", say("overview.conversations"), "num"),
        Column("facts", say("overview.facts"), "num", says=say("overview.facts.says")),
        Column("conflicts", say("overview.conflicts"), "num", says=say("overview.conflicts.says")),
        Column("quarantined", say("overview.quarantined"), "num", says=say("overview.quarantined.says")),
    ]
    language = st.query_params.get("lang", "")
    lines = [
        Line(
            row.user,
            (
                Cell(row.user, "" if row.remembering else say("overview.paused")),
                Cell(say.number(row.conversations)),
                Cell(say.number(row.facts)),
                Cell(say.number(row.conflicts), tone="warn" if row.conflicts else ""),
                Cell(say.number(row.quarantined)),
            ),
            f"timeline?{urlencode({'user': row.user} | ({'lang': language} if language else {}))}",
        )
        for row in rows
    ]
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(f"##### :material/group: {say('overview.users')} :gray-badge[{len(view.users):,}]", width="content")
        export(lambda: [row.to_dict() for row in rows], "users", say)
    if len(view.users) > PAGE:
        st.caption(say("overview.users.capped", shown=PAGE, all=len(view.users)))

    def led(user: str) -> None:
        row = next((row for row in view.conversations if row.user == user), None)
        if row is not None:
            state.lead("timeline", **_place(row))

    grid(columns, lines, say, "overview_users", say("overview.users"), on_open=live.on("overview_users", "open", led))


# ── health ────────────────────────────────────────────────────────────────────────────────────────────


def well(view: OverviewView, found: HealthView, say: Words) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        title = f"##### :material/monitor_heart: {say('overview.health')}"
        st.markdown(title, help=say("overview.health.says"), width="content")
        export(lambda: [_look_row(look, say) for look in found.looks], "health", say)
    columns = [Column("name", say("overview.looked")), Column("found", say("overview.found"))]
    lines = [
        Line(
            look.name,
            (
                Cell(say(f"health.{look.name}"), tone=look.tone, says=say(f"health.tone.{look.tone}")),
                Cell(_sentence(look.name, look.tone, look.values, say), look.command),
            ),
        )
        for look in found.looks
    ]
    grid(columns, lines, say, "overview_health", say("overview.health"))
    _checked(view, say)


def _look_row(look: Look, say: Words) -> dict[str, Any]:
    found = _sentence(look.name, look.tone, look.values, say)
    return {"name": look.name, "tone": look.tone, "found": found, "command": look.command, "values": look.values}


def _sentence(name: str, tone: str, values: dict[str, Any], say: Words) -> str:
    told = dict(values)
    for field in ("free", "need"):
        if field in told:
            told[field] = size(told[field], say)
    if "at" in told:
        told["at"] = say.moment(datetime.fromtimestamp(told["at"], UTC))
    return say(f"health.{name}.{tone}", **told)


def _checked(view: OverviewView, say: Words) -> None:
    """The full check reads the whole store, so it is asked for; what it said stays until the store moves on."""
    asked = st.button(
        say("overview.verify"), icon=":material/fact_check:", help=say("overview.verify.says"), key="verify"
    )
    if asked:
        from memory.stores.verify import verify

        with st.spinner(say("overview.verifying")):
            st.session_state[VERIFIED] = view.store.seq, verify(state.open_store())
    if VERIFIED not in st.session_state:
        return
    seq, said = st.session_state[VERIFIED]
    when = "" if seq == view.store.seq else f" {say('overview.verified.before', seq=seq)}"
    if said.ok:
        st.success(say("overview.verified.ok", events=said.events, words=said.words) + when, icon=":material/check:")
    else:
        st.error(say("overview.verified.bad", faults=len(said.faults)) + when, icon=":material/error:")
        st.code(visible("\n".join(said.faults[:20]), 4_000), language=None, wrap_lines=True)


def folder(view: OverviewView, found: HealthView, say: Words) -> None:
    st.markdown(f"##### :material/database: {say('scope.store')}")
    st.code(visible(view.store.path, 400), language=None, wrap_lines=True)
    parts = [(part.name, size(part.bytes, say)) for part in found.parts]
    process = found.process
    facts(
        [
            *parts,
            (say("overview.generation"), say.number(view.store.generation)),
            (say("overview.schema"), say.number(view.store.schema)),
            (say("overview.memory"), size(process.rss_bytes, say)),
            (say("overview.cpu"), say.amount(round(process.cpu_ratio, 3), "ratio")),
            (say("overview.free"), size(found.free_bytes, say)),
        ],
        key="overview_folder",
        note=say("overview.folder.says"),
    )


def failures(found: HealthView, say: Words) -> None:
    if not found.failed:
        return
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        count = f":gray-badge[{len(found.failed)}]"
        st.markdown(f"##### :material/running_with_errors: {say('overview.failed')} {count}", width="content")
        export([job.to_dict() for job in found.failed], "failed jobs", say, key="failed")
    is_readonly = state.open_store().readonly
    columns = [
        Column("job", say("overview.job")),
        Column("why", say("overview.why")),
        *([] if is_readonly else [Column("again", "", "act")]),
    ]
    lines = [
        Line(
            str(job.id),
            (
                Cell(f"{say.term('job', job.kind)} {job.key}", str(job.scope)),
                Cell(job.reason),
                *([] if is_readonly else [Cell(say("overview.retry"))]),
            ),
        )
        for job in found.failed
    ]
    grid(
        columns, lines, say, "overview_failed", say("overview.failed"), on_act=live.on("overview_failed", "act", _retry)
    )


def _retry(job: str) -> None:
    say = state.words()
    try:
        retry(state.open_store(), int(job))
        live.note(say("overview.retried", job=job), "refresh")
    except (EngineError, ValueError) as error:
        live.note(f"{say('error.other')}: {visible(str(error), 300)}", "error")


def looked() -> HealthView:
    """Anew in each run: jobs, files and this process move without an event."""
    return health(state.open_store())
