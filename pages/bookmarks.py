"""What stays behind of the pages: the cloud of bookmarks, what came of each, and which are confused with which."""

from dataclasses import replace

import streamlit as st

from workbench import live, state
from workbench.components import bookmarks, notice
from workbench.components.heading import heading
from workbench.components.reading import reading
from workbench.views.bookmarks import bookmarks as of_run
from workbench.views.bookmarks import confused


@st.fragment(key=live.WINDOW)
def kept() -> None:
    say = state.words()
    live.begin()
    with state.told():
        here = state.place()
        if here is None or not here.stream.turns:
            notice.empty(say) if here is None else notice.quiet(say("trace.none"), say("trace.none.says"))
            return
        heading(say("bookmarks.title"), here.row.title, [], say)
        if not here.has_decisions:
            st.info(say("no_decisions"), icon=":material/info:")
            return
        view, acts = state.view(of_run, here, here.turn), live.Acts(here, say)
        if not view.rows:
            notice.quiet(say("bookmarks.empty"), say("bookmarks.empty.says"))
            live.followed(here)
            return
        bookmarks.figures(view, say)
        with st.container(border=True):
            bookmarks.shown(view, say)
        with st.spinner(say("bookmarks.working")):
            found = state.view(confused, here, here.turn)
        if number := bookmarks.chosen(view):
            row = view.of(number)
            if row is None:
                st.info(say("bookmarks.not_there", page=f"p{number}"), icon=":material/search_off:")
            else:
                left, right = st.columns([1.15, 1], gap="medium")
                with left.container(border=True, height="stretch"):
                    bookmarks.detail(row, found, here, say)
                with right.container(border=True, height="stretch"):
                    page = state.page(replace(here, page=number))
                    if page is not None:
                        reading(page, here, say, acts.mark("page_chat"), bookmarks.close)
        with st.container(border=True):
            bookmarks.confusions(found, view, say)
        live.followed(here)


kept()
