"""The timeline page's parts: what its address asks for, sliders and filters, pages of lanes, one fact with its acts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from datetime import time as clock_time

import streamlit as st

from memory.errors import NotFound
from memory.facts import LAYERS, WEIGHTY
from memory.scope import Scope
from memory.stores.sql import Store
from workbench import state
from workbench.components import timed
from workbench.components.as_of import as_of
from workbench.components.export import export
from workbench.components.heading import Badge
from workbench.components.inbox import inbox as inbox_part
from workbench.components.lanes import AXES
from workbench.components.lanes import lanes as lanes_part
from workbench.components.story import story as story_part
from workbench.deciding import Decisions, fired
from workbench.state import Missing, Place
from workbench.views import lanes as lanes_view
from workbench.views import story as story_view
from workbench.views.lanes import HOLDS, LANES, SHOWN_STATES, Asked, LanesView
from workbench.views.remembered import remembered
from workbench.views.story import Effect, Inbox, Other, Story
from workbench.words import Words, escaped

STATES = (HOLDS, *SHOWN_STATES)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the address asks for, beside the scope."""

    axis: str
    asked: Asked
    moments: dict[str, str]  # by axis as the address has it, "" for now
    fact: int | None
    beside: int | None  # another value that it is compared with


def chosen(say: Words) -> Chosen:
    """Raises Missing for what is no such thing."""
    moments = {axis: st.query_params.get(axis, "") for axis in AXES}
    at = {axis: _moment(axis, text, say) for axis, text in moments.items()}
    asked = Asked(
        layer=_one_of("layer", LAYERS),
        state=_one_of("state", STATES),
        words=st.query_params.get("find", ""),
        valid=at["valid"],
        recorded=at["recorded"],
        first=_number("lanes") or 0,
    )
    return Chosen(_one_of("axis", AXES) or AXES[0], asked, moments, _number("fact"), _number("beside"))


def _one_of(key: str, names: Sequence[str]) -> str:
    given = st.query_params.get(key, "")
    if given and given not in names:
        raise Missing(key, names, name=given)
    return given


def _number(key: str) -> int | None:
    text = st.query_params.get(key, "").removeprefix("f")
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise Missing(f"{key}_number", name=text)
    return int(text)


def _moment(axis: str, text: str, say: Words) -> datetime | None:
    try:
        return timed.moment_of(text, say.zone) if text else None
    except (ValueError, OverflowError) as error:
        raise Missing(f"{axis}_moment", name=text) from error


# ── views ─────────────────────────────────────────────────────────────────────────────────────────────


def lanes_of(here: Place, asked: Asked) -> LanesView:
    """Kept until something changes; what holds *now* is looked at once a minute."""
    minute = None if asked.valid else state.open_store().clock().replace(second=0, microsecond=0)
    return state.view(_lanes, here, asked, minute)


def _lanes(store: Store, scope: Scope, asked: Asked, minute: datetime | None) -> LanesView:
    return lanes_view.lanes(store, scope, asked)


def story_of(here: Place, want: Chosen) -> Story | None:
    """None also for what was not known yet at the moment that is looked at. Raises Missing."""
    if want.fact is None:
        return None
    try:
        return state.view(story_view.story, here, want.fact, want.asked.recorded)
    except NotFound as error:
        if want.asked.recorded is not None and want.fact in remembered(state.open_store(), here.scope.user).k.facts:
            return None
        raise Missing("fact", name=f"f{want.fact}", user=here.row.user) from error


def inbox_of(here: Place, want: Chosen) -> Inbox:
    return state.view(story_view.inbox, here, want.asked.recorded)


# ── the head ──────────────────────────────────────────────────────────────────────────────────────────


def badges(view: LanesView, want: Chosen, say: Words) -> list[Badge]:
    found = []
    if view.conflicts:
        found.append(Badge(say("timeline.undecided", n=view.conflicts), "error", say("timeline.undecided.says")))
    if want.asked.recorded:
        found.append(
            Badge(say("timeline.past", at=timed.day(want.asked.recorded, say)), "turn", say("timeline.past.says"))
        )
    return found or [Badge(say("timeline.holding", n=view.holding), "check", say("timeline.holding.says"))]


def sliders(view: LanesView, want: Chosen, say: Words) -> None:
    stops = {
        "valid": timed.stops(view.valid_moments, say),
        "recorded": timed.stops(view.recorded_moments, say),
    }

    def moved(sent: list[str]) -> None:
        axis, place = sent
        if axis in AXES:
            state.go(**{axis: place or None, "lanes": None})

    named = {"valid": timed.day(want.asked.valid, say, ""), "recorded": timed.day(want.asked.recorded, say, "")}
    as_of(stops, want.moments, named, say, fired("as_of", "moment", moved))


def filters(view: LanesView, want: Chosen, say: Words) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        axis = f"timeline_axis_{want.axis}"
        st.segmented_control(
            say("timeline.axis"), AXES, default=want.axis, key=axis, width="content",
            format_func=lambda name: say(f"timeline.axis.{name}"), help=say("timeline.axis.says"),
            on_change=lambda: state.go(axis=st.session_state[axis] or want.axis),
        )  # fmt: skip
        _choice("state", ["", *STATES], want.asked.state, say, {HOLDS: view.holding, **view.states})
        _choice("layer", ["", *LAYERS], want.asked.layer, say, view.layers)
        widget = f"timeline_find_{want.asked.words}"
        st.text_input(
            say("timeline.find"), want.asked.words, key=widget, placeholder=say("timeline.find.hint"), max_chars=200,
            on_change=lambda: state.go(find=st.session_state[widget].strip() or None, lanes=None),
        )  # fmt: skip


def _choice(key: str, options: list[str], now: str, say: Words, counts: dict[str, int]) -> None:
    widget = f"timeline_{key}_{now}"
    names = {name: say(f"timeline.{key}.{name or 'any'}") for name in options}
    st.selectbox(
        say(f"timeline.{key}"), options, options.index(now), key=widget, format_func=names.__getitem__, width=190,
        on_change=lambda: state.go(**{key: st.session_state[widget] or None, "lanes": None}),
    )  # fmt: skip


# ── lanes ─────────────────────────────────────────────────────────────────────────────────────────────


def lanes(view: LanesView, want: Chosen, say: Words) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(
            f"##### :material/timeline: {say('timeline.lanes')}", width="content", help=say("timeline.lanes.says")
        )
        if view.count:
            st.caption(_shown(view, say), width="content")
            export(view.rows, f"facts of {view.user}", say, key="lanes", drawing=view)
    if not view.count:
        filtered = bool(want.asked.layer or want.asked.state or want.asked.words)
        st.caption(say("timeline.nothing.filtered" if filtered else "timeline.nothing"))
        if filtered:
            st.button(say("timeline.unfilter"), key="unfilter", icon=":material/filter_alt_off:", on_click=_unfilter)
        return

    def choose(fact: int) -> None:
        state.go(fact=None if fact == want.fact else fact, beside=None)

    lanes_part(view, say, want.axis, want.fact, fired("lanes", "fact", choose))
    if view.working:
        st.caption(say("timeline.working", n=view.working))
    if view.count > LANES:
        _paging(view, say)


def _shown(view: LanesView, say: Words) -> str:
    if view.count <= LANES:
        return say("timeline.count", lanes=view.count, facts=view.facts)
    first = min(view.asked.first + 1, view.count)
    return say("timeline.capped", first=first, last=view.asked.first + len(view.lanes), lanes=view.count)


def _paging(view: LanesView, say: Words) -> None:
    first = view.asked.first
    with st.container(horizontal=True, horizontal_alignment="right", key="timeline_paging"):
        st.button(say("timeline.newer"), icon=":material/chevron_left:", key="lanes_newer", disabled=first <= 0,
                  on_click=lambda: state.go(lanes=max(0, first - LANES) or None))  # fmt: skip
        st.button(say("timeline.more"), icon=":material/chevron_right:", key="lanes_more",
                  disabled=first + LANES >= view.count, on_click=lambda: state.go(lanes=first + LANES))  # fmt: skip


def _unfilter() -> None:
    state.go(layer=None, state=None, find=None, lanes=None)


# ── one fact ──────────────────────────────────────────────────────────────────────────────────────────


def not_yet(view: Story | None, want: Chosen, say: Words) -> None:
    """The address names a fact that was not known at the moment that is looked at."""
    if view is None and want.fact is not None:
        st.info(say("timeline.unknown", name=f"f{want.fact}", at=timed.day(want.asked.recorded, say)))


def story(view: Story, here: Place, want: Chosen, acts: Decisions, say: Words) -> None:
    """The fact, what can be done about it, and another value of its lane beside it."""
    other = next((o for o in view.others if o.fact == want.beside), None)
    beside = other.fact if other else None
    pieces = state.view(story_view.compared, here, *_in_order(view, other)) if other else ()
    may = acts.may and view.recorded is None
    if may:
        _acts(view, here, acts, say)
    elif view.recorded is not None:
        st.caption(say("timeline.past.acts"))
    else:
        st.caption(say("timeline.readonly"))
    story_part(
        view, say, link, other=beside, pieces=pieces, may_undo=may,
        on_close=lambda: state.go(fact=None, beside=None),
        on_undo=fired("story", "undo", acts.undo),
        on_other=fired("story", "other", lambda fact: state.go(beside=None if fact == beside else fact)),
    )  # fmt: skip


def _in_order(view: Story, other: Other) -> tuple[int, int]:
    """The older of two values first."""
    is_newer = other.since is not None and (view.row.since is None or other.since > view.row.since)
    return (view.fact, other.fact) if is_newer else (other.fact, view.fact)


def link(**changes: str | int | None) -> dict[str, str]:
    """The query of a turn's address: of its conversation's own run, unless it is this one."""
    other = changes.get("conv") not in (None, st.query_params.get("conv"))
    return state.link(**{**({"run": None} if other else {}), **changes})


def _acts(view: Story, here: Place, acts: Decisions, say: Words) -> None:
    fact, seen = view.fact, view.version
    with st.container(horizontal=True, gap="small", key="fact_acts"):
        if view.is_open:
            with st.popover(say("timeline.correct"), icon=":material/edit:"):
                _correct(view, here, acts, say)
            with st.popover(say("timeline.end"), icon=":material/event_busy:"):
                st.markdown(say("timeline.end.says"))
                _told(state.view(story_view.ending, here, fact), say)
                st.button(say("timeline.end.do"), key="end", type="primary", on_click=acts.end, args=(fact, seen))
        if view.is_believed:
            with st.popover(say("timeline.retract"), icon=":material/block:"):
                st.markdown(say("timeline.retract.says"))
                _told(state.view(story_view.retracting, here, fact), say)
                st.button(
                    say("timeline.retract.do"), key="retract", type="primary", on_click=acts.retract, args=(fact, seen)
                )
            heavy = view.row.importance >= WEIGHTY
            st.button(
                say("timeline.plain" if heavy else "timeline.mark"), icon=":material/star:", key="weigh",
                help=say("timeline.mark.help"), on_click=acts.weigh, args=(fact, 0.5 if heavy else 1.0),
            )  # fmt: skip
        elif view.row.state in ("quarantined", "retracted"):
            st.button(say("timeline.believe"), icon=":material/verified:", key="believe",
                      help=say("timeline.believe.says"), on_click=acts.believe, args=(fact, seen))  # fmt: skip


def _correct(view: Story, here: Place, acts: Decisions, say: Words) -> None:
    value = st.text_input(
        say("timeline.value"), key=f"correct_{view.fact}", placeholder=view.row.value or view.row.text
    )
    how = st.radio(
        say("timeline.correct.how"), ("wrong", "since"), key=f"how_{view.fact}", label_visibility="collapsed",
        format_func=lambda name: say(f"timeline.correct.{name}"),
    )  # fmt: skip
    since = None
    if how == "since":
        today = state.open_store().clock().astimezone(say.zone).date()
        on = st.date_input(say("timeline.correct.from"), today, key=f"since_{view.fact}")
        since = datetime.combine(on, clock_time(), say.zone)
    _told(state.view(story_view.correcting, here, view.fact, value.strip() or "…", since), say)
    st.button(
        say("timeline.correct.do"), key="correct", type="primary", disabled=not value.strip(),
        on_click=acts.correct, args=(view.fact, value, since, view.version),
    )  # fmt: skip


def _told(found: Sequence[Effect], say: Words) -> None:
    """What will change, before it does."""
    st.caption(say("timeline.will"))
    lines = timed.effects(found, say) or [say("timeline.will.nothing")]
    st.caption("\n".join(f"- {escaped(line)}" for line in lines))


# ── conflicts ─────────────────────────────────────────────────────────────────────────────────────────


def inbox(view: Inbox, want: Chosen, acts: Decisions, say: Words) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        title = f"##### :material/balance: {say('timeline.inbox')}"
        st.markdown(title, help=say("timeline.inbox.says"), width="content")
        if disputes := (*view.open, *view.settled):
            export(disputes, f"conflicts of {acts.here.row.user}", say, key="inbox", drawing=view)
    inbox_part(
        view, say, link, may_act=acts.may and want.asked.recorded is None,
        on_settle=fired("inbox", "settle", lambda sent: acts.settle(int(sent[0]), int(sent[1]))),
        on_undo=fired("inbox", "undo", acts.undo),
        on_fact=fired("inbox", "fact", lambda fact: state.go(fact=fact, beside=None)),
    )  # fmt: skip
