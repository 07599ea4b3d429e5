"""The parts of the Bookmarks page: filters, one bookmark with its history and its edits, whom it is confused with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from memory.bookmarks import MOST
from memory.confusion import Confusion, Suggestion
from memory.naming import HEAVIEST
from memory.scope import LIVE
from workbench import live, state
from workbench.background import Making
from workbench.components.cloud import SHOWN, cloud
from workbench.components.export import export
from workbench.components.facts import facts
from workbench.components.feed import feed
from workbench.components.table import rows as table_rows
from workbench.components.trace import section
from workbench.state import Place
from workbench.views.bookmarks import OUTCOMES, SIGNS, SORTS, BookmarkRow, BookmarksView, Use, Version
from workbench.views.rows import FeedRow
from workbench.words import Words, escaped, visible

EDITED = "edited"
LOOK_S = 0.5  # how often it is looked whether the pages were asked
TONES = {"hit": "recall", "missed": "evict", "ambiguous": "turn"}


def figures(view: BookmarksView, say: Words) -> None:
    pairs = [(f"{SIGNS[name]} {say(f'bookmarks.{name}')}", say.number(view.count(name))) for name in OUTCOMES]
    all_ = say("bookmarks.of", n=len(view.rows), pages=view.pages)
    facts([(say("bookmarks.figure.all"), all_), *pairs], key="bookmark_figures", large=True)


def chosen(view: BookmarksView) -> int | None:
    """The page whose bookmark the address names; None for no number."""
    text = st.query_params.get("bookmark", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def shown(view: BookmarksView, say: Words) -> None:
    """The cloud, and above it what of it is shown."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        section(say("bookmarks.cloud"), "bookmarks", str(len(view.rows)), say("bookmarks.says"))
        export(view.table, f"bookmarks of {view.scope.conversation}", say, key="bookmarks", drawing=view)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        rows = _filtered(view, say)
    if len(rows) > SHOWN:
        st.caption(say("bookmarks.capped", shown=SHOWN, all=len(rows)))
    most = max((len(row.uses) for row in view.rows), default=0)
    cloud(rows, most, say, chosen(view), _pick(view))


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which bookmarks the address asks for, and in which order."""

    outcomes: tuple[str, ...]
    origin: str
    text: str
    sort: str


def wanted(view: BookmarksView) -> Wanted:
    """Raises Missing for what no bookmark can be."""
    address = st.query_params
    came = tuple(name for name in address.get("came", "").split(",") if name)
    made, order = address.get("made", ""), address.get("order", "") or SORTS[0]
    _known("came", came, OUTCOMES)
    _known("made", (made,) if made else (), view.origins)
    _known("order", (order,), SORTS)
    return Wanted(came, made, address.get("holds", ""), order)


def _known(key: str, given: Sequence[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise state.Missing(key, list(known), name=name)


def _filtered(view: BookmarksView, say: Words) -> Sequence[BookmarkRow]:
    """Each widget is another one for each value of the address: so the address alone says what is shown."""
    want = wanted(view)
    keys = {
        "came": f"bookmark_came_{','.join(want.outcomes)}_{say.language}",
        "made": f"bookmark_made_{want.origin}_{say.language}",
        "holds": f"bookmark_holds_{want.text}",
        "order": f"bookmark_order_{want.sort}_{say.language}",
    }

    def changed(name: str) -> None:
        picked = st.session_state[keys[name]] or ""
        picked = ",".join(picked) if name == "came" else picked
        state.go(**{name: None if picked in ("", SORTS[0]) else picked})

    st.pills(
        say("bookmarks.outcome"), OUTCOMES, selection_mode="multi", default=want.outcomes, key=keys["came"],
        help=say("bookmarks.says"), width="content", on_change=changed, args=("came",),
        format_func=lambda name: f"{SIGNS[name]} {say(f'bookmarks.{name}')} {view.count(name)}",
    )  # fmt: skip
    origins = ["", *view.origins]
    st.selectbox(
        say("bookmarks.origin"), origins, origins.index(want.origin), key=keys["made"], width=150,
        on_change=changed, args=("made",),
        format_func=lambda name: say.term("origin", name) if name else say("bookmarks.any"),
    )  # fmt: skip
    st.text_input(
        say("bookmarks.find"), want.text, key=keys["holds"], max_chars=100, width=165, on_change=changed,
        args=("holds",), placeholder=say("bookmarks.find.says"),
    )  # fmt: skip
    st.segmented_control(
        say("bookmarks.sort"), SORTS, default=want.sort, key=keys["order"], width="content", on_change=changed,
        args=("order",), format_func=lambda name: say(f"bookmarks.sort.{name}"),
    )  # fmt: skip
    return view.chosen(want.outcomes, want.origin, want.text, want.sort)


def _pick(view: BookmarksView, key: str = "cloud", name: str = "pick") -> Callable[[], None]:
    def fired() -> None:
        page = (st.session_state.get(key) or {}).get(name)
        if page is not None:
            state.go(bookmark=None if page == chosen(view) else page)

    return fired


# ── one bookmark ──────────────────────────────────────────────────────────────────────────────────────


def detail(row: BookmarkRow, found: Confusion | None, here: Place, say: Words) -> None:
    """`found` None: the pages are still asked."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        badge = f"{SIGNS[row.outcome]} {say(f'bookmarks.{row.outcome}')}"
        section(say("bookmarks.of_page", page=f"p{row.page}"), "bookmark", badge)
        st.button("✕", help=say("bookmarks.close"), key="close_bookmark", type="tertiary", on_click=close)
    latest = row.versions[-1]
    facts(
        [
            (say("bookmarks.made_by"), _by(latest, say)),
            (say("bookmarks.made_at"), _at(latest, say)),
            (say("bookmarks.weight"), say.score(row.weight)),
            (say("bookmarks.tokens"), say.number(row.tokens)),
            (say("bookmarks.uses"), _counted(row, say)),
        ],
        key="bookmark_facts",
    )
    st.caption(say(f"bookmarks.place.{row.place}"))
    st.code(visible(row.as_read or row.stub, 400), language=None, wrap_lines=True)
    _edit(row, found, here, say)
    section(say("bookmarks.history"), "history", str(len(row.versions) + len(row.uses)))
    feed(
        _history(row, say), say, key="bookmark_history", height=min(250, 60 * len(row.versions + row.uses)), steps=True
    )
    _confused_with(row, found, say)


def close() -> None:
    state.go(bookmark=None)


def _by(version: Version, say: Words) -> str:
    by = say.term("origin", version.origin)
    return f"{by} · {say.term('template', version.template)}" if version.template else by


def _at(version: Version, say: Words) -> str:
    return say("turn.one", turn=version.turn) if version.turn else "—"


def _counted(row: BookmarkRow, say: Words) -> str:
    counts = [(name, sum(use.outcome == name for use in row.uses)) for name in OUTCOMES]
    return " · ".join(f"{SIGNS[name]} {n}" for name, n in counts if n) or say("bookmarks.never")


def _history(row: BookmarkRow, say: Words) -> list[FeedRow]:
    """Newest first, as everywhere."""
    rows = [_made(version, row.page, first=n == 0) for n, version in enumerate(row.versions)]
    rows += [_used(use, row.page, say) for use in row.uses]
    return sorted(rows, key=lambda each: -each.seq)


def _made(v: Version, page: int, *, first: bool) -> FeedRow:
    kind = "bookmark_made" if first else "bookmark_changed"
    values = {"stub": v.stub, "origin": v.origin, "weight": v.weight}
    return FeedRow(v.seq, v.at, v.step, kind, "bookmark", page, v.turn, values)


def _used(u: Use, page: int, say: Words) -> FeedRow:
    asked = say("bookmarks.asked", question=u.question) if u.question else ""
    values = {"asked": asked, "told": say(f"bookmarks.{u.outcome}.{u.why}"), "by": u.by}
    return FeedRow(u.seq, u.at, u.step, f"bookmark_{u.outcome}", TONES[u.outcome], page, u.turn, values)


# ── changing it ───────────────────────────────────────────────────────────────────────────────────────


def why_not(here: Place, say: Words) -> str:
    """Why nothing can be changed here; "" if it can."""
    if state.open_store().readonly:
        return say("bookmarks.no.readonly")
    if here.scope.run != LIVE:
        return say("bookmarks.no.replay")
    return "" if here.is_newest else say("bookmarks.no.past")


def _edit(row: BookmarkRow, found: Confusion | None, here: Place, say: Words) -> None:
    reason = why_not(here, say)
    version = f"{row.page}_{row.versions[-1].seq}"  # other widgets once it changed
    words, weight = f"bookmark_words_{version}", f"bookmark_weight_{version}"
    left, right = st.columns([3.4, 1], gap="small", vertical_alignment="bottom")
    left.text_input(
        say("bookmarks.keywords"), ",".join(row.keywords), 240, key=words, disabled=bool(reason),
        help=say("bookmarks.keywords.says", most=MOST),
    )  # fmt: skip
    right.number_input(
        say("bookmarks.weight"), 0.0, HEAVIEST, min(row.weight, HEAVIEST), 0.5, key=weight, disabled=bool(reason),
        help=say("bookmarks.weight.says"),
    )  # fmt: skip
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.button(
            say("bookmarks.save"), key="bookmark_save", icon=":material/edit:", disabled=bool(reason),
            help=say("bookmarks.save.says"), on_click=_save, args=(row, words, weight, here, say),
        )  # fmt: skip
        if row.origin == EDITED:
            st.button(
                say("bookmarks.undo"), key="bookmark_undo", icon=":material/undo:", disabled=bool(reason),
                on_click=live.undo_bookmark, args=(here, row.page, say),
            )  # fmt: skip
        pairs = found.pairs if found else ()
        if told := next((p.suggestion for p in pairs if p.page == row.page and p.suggestion), None):
            st.button(
                escaped(say("bookmarks.suggested", keyword=told.keyword, before=told.before, after=told.after)),
                key="bookmark_suggested", icon=":material/lightbulb:", disabled=bool(reason),
                help=escaped(_dropped(told, say)), on_click=live.bookmark,
                args=(here, row.page, told.keywords, None, say),
            )  # fmt: skip
    if reason:
        st.caption(f":material/lock: {escaped(reason)}")


def _dropped(told: Suggestion, say: Words) -> str:
    if told.dropped:
        return say("bookmarks.suggested.drops", dropped=", ".join(told.dropped))
    return say("bookmarks.suggested.says", before=told.all_before, after=told.all_after)


def _save(row: BookmarkRow, words: str, weight: str, here: Place, say: Words) -> None:
    text, heavy = st.session_state[words], float(st.session_state[weight])
    wanted = [word.strip() for word in text.replace("，", ",").split(",") if word.strip()]
    keywords = None if tuple(wanted) == row.keywords else wanted
    if keywords is not None or heavy != row.weight:
        live.bookmark(here, row.page, keywords, None if heavy == row.weight else heavy, say)


# ── whom it is confused with ──────────────────────────────────────────────────────────────────────────


def asking(asked: Making[Confusion], say: Words) -> None:
    """In place of the map of a long conversation, until it is there."""
    section(say("bookmarks.confusion"), "join_inner", says=say("bookmarks.confusion.says"))
    st.fragment(_asking, run_every=LOOK_S)(asked, say)


def _asking(asked: Making[Confusion], say: Words) -> None:
    if not asked.is_under_way:
        st.rerun()
    st.markdown(f":material/hourglass_top: {say('bookmarks.working')}")


def _confused_with(row: BookmarkRow, found: Confusion | None, say: Words) -> None:
    if found is None:
        st.caption(f":material/hourglass_top: {say('bookmarks.working')}")
        return
    own = found.of(row.page)
    if own is None or not own.sentences:
        st.caption(say("bookmarks.predicted.none"))
        return
    others = ", ".join(f"p{page} ×{lost}" for page, lost in own.taken[:6])
    st.caption(
        say("bookmarks.predicted.one", ratio=own.hit_ratio, n=own.sentences, silent=own.silent)
        + (f" {say('bookmarks.predicted.taken', pages=others)}" if others else "")
    )


def confusions(found: Confusion, view: BookmarksView, say: Words) -> Any:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        section(say("bookmarks.confusion"), "join_inner", str(len(found.pairs)), say("bookmarks.confusion.says"))
        export(_pairs(found), f"confused bookmarks of {view.scope.conversation}", say, key="confusion", drawing=found)
    facts(
        [
            (say("bookmarks.predicted"), say.amount(found.hit_ratio, "ratio")),
            (say("bookmarks.taken"), say.amount(found.taken_ratio, "ratio")),
            (say("bookmarks.sentences"), say.number(found.sentences)),
        ],
        key="confusion_figures",
        note=say("bookmarks.left_out", n=found.left_out) if found.left_out else "",
    )
    if not found.pairs:
        st.caption(say("bookmarks.confusion.none"))
        return None
    top = max(pair.lost + pair.back for pair in found.pairs)
    lines = [
        {
            "key": f"{pair.page}.{pair.other}", "page": pair.page, "stub": f"p{pair.page} → p{pair.other}",
            "turn": visible(" · ".join(pair.shared), 120), "score": say("bookmarks.lost", n=pair.lost),
            "parts": say("bookmarks.back", n=pair.back) if pair.back else "",
            "width": round(100 * (pair.lost + pair.back) / top, 1), "chosen": pair.suggestion is not None,
            "why": _advice(pair.suggestion, say),
        }
        for pair in found.pairs
    ]  # fmt: skip
    head = [say("bookmarks.pair"), say("bookmarks.loses"), say("bookmarks.advice")]
    return table_rows(
        lines, head, say("bookmarks.confusion"), "confusion_table", _pick(view, "confusion_table", "page")
    )


def _advice(told: Suggestion | None, say: Words) -> str:
    if told is None:
        return say("bookmarks.advice.none")
    return say("bookmarks.advice.one", keyword=told.keyword, page=f"p{told.page}", before=told.before, after=told.after)


def _pairs(found: Confusion) -> list[dict[str, Any]]:
    return [
        {"page": pair.page, "other": pair.other, "lost": pair.lost, "back": pair.back, "shared": ", ".join(pair.shared),
         "keyword": pair.suggestion.keyword if pair.suggestion else "",
         "before": pair.suggestion.before if pair.suggestion else None,
         "after": pair.suggestion.after if pair.suggestion else None}
        for pair in found.pairs
    ]  # fmt: skip
