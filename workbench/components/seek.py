"""A search over everything: its field on the start page and in the sidebar, and what it found, by what it is."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from workbench import live, state
from workbench.components.export import export
from workbench.components.hits import Row, Section, hits
from workbench.state import Place
from workbench.views.seek import MOST, SHOWN, Group, Hit, SeekView
from workbench.words import Words, escaped, visible

ICONS = {"fact": "model", "turn": "turn", "bookmark": "bookmark", "page": "resident", "conversation": "link",
         "user": "mark"}  # fmt: skip
ASIDE = "seek_aside"


def aside(say: Words) -> None:
    """The field in the sidebar: what is asked there is answered on the start page."""

    def asked() -> None:
        wanted = " ".join(st.session_state[ASIDE].split())
        st.session_state[ASIDE] = ""
        if wanted:
            state.lead("overview", **{**state.link(), "seek": wanted})

    st.text_input(
        say("seek.title"), key=ASIDE, placeholder=say("seek.short"), icon=":material/search:",
        label_visibility="collapsed", on_change=asked,
    )  # fmt: skip


def seek(here: Place, say: Words) -> bool:
    """The field, and what was found; whether anything is asked."""
    wanted, who = st.query_params.get("seek", "")[:MOST].strip(), st.query_params.get("who", "")
    several = len({row.user for row in state.all_conversations()}) > 1
    with st.container(horizontal=True, vertical_alignment="center", key="seek"):
        _field(wanted, say)
        if wanted:
            if several or who:
                _whose(here, who, say)
            st.button(say("seek.close"), key="seek_close", icon=":material/close:", on_click=_close)
    if not wanted:
        return False
    if who and who not in {row.user for row in state.all_conversations()}:
        raise state.Missing("user", sorted({row.user for row in state.all_conversations()}), name=who)
    with st.spinner(say("seek.working")):
        view = state.seek(wanted, who)
    _found(view, say)
    return True


def _field(wanted: str, say: Words) -> None:
    widget = f"seek_{wanted}"
    st.text_input(
        say("seek.title"), wanted, MOST, key=widget, placeholder=say("seek.placeholder"), icon=":material/search:",
        label_visibility="collapsed", on_change=lambda: state.go(seek=st.session_state[widget].strip() or None),
    )  # fmt: skip


def _whose(here: Place, who: str, say: Words) -> None:
    """Everybody, or one: who is asked for, else whose memory the sidebar shows."""
    one, widget = who or here.row.user, f"seek_who_{who}"
    names = {"": say("seek.all"), one: visible(one, 40)}
    st.segmented_control(
        say("scope.user"), list(names), default=who, key=widget, format_func=names.__getitem__,
        label_visibility="collapsed", on_change=lambda: state.go(who=st.session_state[widget] or None),
    )  # fmt: skip


def _close() -> None:
    state.go(seek=None, who=None)


def _found(view: SeekView, say: Words) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.caption(escaped(_told(view, say)), width="content")
        if view.count:
            export(lambda: _records(view), "search", say)
    if view.note:
        st.warning(escaped(say("seek.no_index", why=view.note)), icon=":material/search_off:")
    if view.count:
        rows = {(g.kind, f"{i}"): h for g in view.groups for i, h in enumerate(g.hits)}

        def led(fired: list[str]) -> None:
            hit = rows.get((fired[0], fired[1]))
            if hit is not None:
                page, place = address(hit)
                state.lead(page, **place)

        with st.container(border=True):
            hits([_section(g, say) for g in view.groups], say("seek.title"), "hits", live.on("hits", "open", led))


def _told(view: SeekView, say: Words) -> str:
    found = say("seek.found", found=view.count) if view.count else say("seek.nothing", asked=view.asked)
    return found + (f" {say('seek.left_out', shown=len(view.users), all=view.left_out + len(view.users))}"
                    if view.left_out else "")  # fmt: skip


def _records(view: SeekView) -> list[dict[str, object]]:
    return [hit for group in view.to_dict()["groups"] for hit in group["hits"]]


def _section(group: Group, say: Words) -> Section:
    note = say("seek.more", shown=SHOWN) if group.more else ""
    rows = [_row(index, hit, say) for index, hit in enumerate(group.hits)]
    return Section(group.kind, say(f"seek.{group.kind}"), ICONS[group.kind], note, rows)


def _row(index: int, hit: Hit, say: Words) -> Row:
    page, place = address(hit)
    language = {"lang": st.query_params["lang"]} if "lang" in st.query_params else {}
    names = {"turn": say("turn.one", turn=hit.number), "fact": f"f{hit.number}"}
    name = names.get(hit.kind, f"p{hit.number}" if hit.number else "")
    where = " · ".join(filter(None, (hit.user if hit.kind != "user" else "", hit.title, hit.run)))
    told = say.term("timeline.state", hit.state) if hit.state not in ("", "active") else ""
    words = (hit.before, hit.found, hit.after)
    return Row(f"{index}", name, where, told, words, f"{page}?{urlencode({**place, **language})}")


def address(hit: Hit) -> tuple[str, dict[str, str]]:
    """The page on which it stands, and the place there."""
    place = {"user": hit.user, "conv": hit.conversation, "run": hit.run}
    page, key = {
        "turn": ("turn", "turn"), "page": ("live", "page"), "bookmark": ("bookmarks", "bookmark"),
        "fact": ("timeline", "fact"), "conversation": ("live", ""), "user": ("timeline", ""),
    }[hit.kind]  # fmt: skip
    if key:
        place[key] = str(hit.number)
    return page, {name: value for name, value in place.items() if value}
