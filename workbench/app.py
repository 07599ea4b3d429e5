"""The router: which pages there are, and in the sidebar whose memory they show.

Not a page: it draws nothing in the middle. Pages are found by where the `pages` package lies, and run by path.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from memory.errors import EngineError
from memory.scope import FORK, LIVE, RECORDED, is_fork
from workbench import live, state
from workbench.components.seek import aside
from workbench.steering import STEERED_VARIABLE
from workbench.views.conversations import ConversationRow
from workbench.words import LANGUAGES, Words, visible

STATIC = Path(__file__).parent / "static"
SENT = "_sent"  # session: where the notebook sends this page


@dataclass(frozen=True, slots=True)
class Entry:
    """A page of the navigation; its title is `nav.<name>`, its file `pages/<name>.py`."""

    name: str
    icon: str
    is_default: bool = False


NAVIGATION: dict[str, tuple[Entry, ...]] = {
    "observe": (
        Entry("overview", ":material/home:", is_default=True),
        Entry("live", ":material/monitoring:"),
        Entry("turn", ":material/account_tree:"),
        Entry("diff", ":material/difference:"),
        Entry("evictions", ":material/logout:"),
    ),
    "memory": (
        Entry("bookmarks", ":material/bookmarks:"),
        Entry("timeline", ":material/timeline:"),
        Entry("graph", ":material/hub:"),
        Entry("why", ":material/troubleshoot:"),
        Entry("review", ":material/manage_accounts:"),
    ),
    "experiment": (
        Entry("replay", ":material/replay:"),
        Entry("tune", ":material/tune:"),
        Entry("lab", ":material/science:"),
    ),
}


# All there is for whoever came with a review link.
REVIEW: dict[str, tuple[Entry, ...]] = {"memory": (Entry("review", ":material/manage_accounts:", is_default=True),)}


def router(say: Words, pages: dict[str, tuple[Entry, ...]]) -> st.Page:
    where = state.pages_folder()

    def page(entry: Entry) -> st.Page:
        title = say(f"nav.{entry.name}")
        path = where / f"{entry.name}.py"
        return st.Page(path, title=title, icon=entry.icon, url_path=entry.name, default=entry.is_default)

    groups = {say(f"nav.{group}"): [page(e) for e in entries] for group, entries in pages.items()}
    return st.navigation(groups, expanded=True)  # else the last group hides behind a button that speaks English only


# ── the one scope ─────────────────────────────────────────────────────────────────────────────────────


def sidebar(say: Words, page: str = "", *, is_review: bool = False) -> None:
    with st.sidebar:
        if is_review:
            _language(say)
            return
        try:
            here = state.place()
            is_readonly = state.open_store().readonly
        except EngineError:
            here, is_readonly = None, False  # the page tells it
        state.listing(here)
        if here is not None:
            if page:  # the start page has a field of its own
                aside(say)
            _scope(state.all_conversations(), here, say)
        if is_readonly:
            st.info(say("scope.readonly"), icon=":material/lock:")
        _language(say)


def _scope(rows: Sequence[ConversationRow], here: state.Place, say: Words) -> None:
    users = list(dict.fromkeys(row.user for row in rows))
    _choice(
        "user",
        say("scope.user"),
        users,
        here.row.user,
        {user: visible(user, 60) for user in users},
        ("conv", "run", "turn", "page", "fact", "beside", "valid", "recorded", "lanes"),
    )
    own = {row.conversation: visible(row.title, 60) for row in rows if row.user == here.row.user}
    _choice("conv", say("scope.conversation"), list(own), here.row.conversation, own, ("run", "turn", "page"))
    runs = {run.run: run_name(run.run, say) for run in here.row.runs}
    _choice("run", say("scope.run"), list(runs), here.scope.run, runs, ("turn", "page"))
    if is_fork(here.scope.run):  # on every page, so that nobody takes it for the recorded conversation
        st.info(say("fork.says"), icon=":material/call_split:")


def run_name(run: str, say: Words) -> str:
    if run in (LIVE, RECORDED):
        return say(f"run.{run}")
    if is_fork(run):
        return say("run.fork", name=run.removeprefix(FORK))
    return say("run.replay", name=run.removeprefix("replay-")) if run.startswith("replay-") else run


def _choice(key: str, label: str, options: list[str], chosen: str, names: dict[str, str], below: Sequence[str]) -> None:
    """A selector that shows the address and changes it; what lies below starts anew.

    It is another widget for each place: what the browser still holds of the last one cannot lead back there.
    Names must not change while it stands (no counts in them), for the browser answers with the name.
    """
    widget = f"choice_{key}_{chosen}"

    def changed() -> None:
        wanted = st.session_state[widget]
        if wanted in options and wanted != chosen:  # a choice that changes nothing must not take the turn away
            state.go(**dict.fromkeys(below, None), **{key: wanted})

    shown = {name: names.get(name, name) for name in options}
    st.selectbox(
        label, options, index=options.index(chosen), key=widget, format_func=shown.__getitem__, on_change=changed
    )


def _language(say: Words) -> None:
    widget = f"choice_lang_{say.language}"
    st.segmented_control(
        say("scope.language"),
        list(LANGUAGES),
        default=say.language,
        key=widget,
        format_func=lambda name: LANGUAGES[name]["language"],
        on_change=lambda: state.go(lang=st.session_state[widget] or say.language),
        width="stretch",
    )


def main() -> None:
    st.set_page_config(page_title="Memory Workbench", page_icon=str(STATIC / "favicon.svg"), layout="wide")
    say = state.words()
    try:
        mine = state.reviewer()
    except EngineError as error:
        _refused(error, say)
        return
    page = router(say, REVIEW if mine else NAVIGATION)
    st.html(STATIC / "app.css")
    if not mine:
        steered(page.url_path)
    state.arrive(page.url_path)
    say = state.words()
    st.logo(str(STATIC / "logo.svg"), size="large")
    sidebar(say, page.url_path, is_review=mine is not None)
    state.led()
    with state.told():
        page.run()


def steered(shown: str) -> None:
    """Go where the notebook that opened the app sends it: another page, or another place on the one that is shown."""
    if not os.environ.get(STEERED_VARIABLE):
        return
    from workbench.components.steer import steer

    target = st.session_state.pop(SENT, None)
    steer(live.on("steer", "goto", lambda sent: st.session_state.update({SENT: sent})))
    if target is None:
        return
    state.go(**target["changes"])
    if target["page"] not in ("", shown):
        st.switch_page(state.pages_folder() / f"{target['page']}.py", query_params=state.link())


def _refused(error: EngineError, say: Words) -> None:
    """Whoever is looking is nobody we know: no page, no name, no list."""

    def told() -> None:
        with state.told():
            raise error

    st.navigation([st.Page(told, title=say("app"), default=True)], position="hidden").run()


if __name__ == "__main__":
    main()
