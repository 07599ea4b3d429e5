"""What stays behind of the pages: the cloud of bookmarks, what came of each, and which are confused with which."""

from dataclasses import replace

import streamlit as st

from memory.confusion import Confusion
from workbench import live, state, tuning
from workbench.components import bookmarks, notice
from workbench.components.heading import heading
from workbench.components.reading import reading
from workbench.state import Place
from workbench.views.bookmarks import BookmarksView, confused
from workbench.views.bookmarks import bookmarks as of_run
from workbench.words import Words


@live.page(turns=True)
def kept(here: Place, say: Words) -> None:
    heading(say("bookmarks.title"), here.row.title, [], say)
    if not here.has_decisions:
        st.info(say("no_decisions"), icon=":material/info:")
        return
    view = state.view(of_run, here, here.turn)
    if not view.rows:
        notice.quiet(say("bookmarks.empty"), say("bookmarks.empty.says"))
        return
    bookmarks.figures(view, say)
    with st.container(border=True):
        bookmarks.shown(view, say)
    asked = state.coming(confused, here, here.turn)
    with st.spinner(say("bookmarks.working")):
        tuning.await_all((asked,), here.stream.turns)
    found = None if asked.is_under_way else asked.made()
    if number := bookmarks.chosen(view):
        one(number, view, found, here, say)
    with st.container(border=True):
        if found is None:
            bookmarks.asking(asked, say)
        else:
            bookmarks.confusions(found, view, say)


def one(number: int, view: BookmarksView, found: Confusion | None, here: Place, say: Words) -> None:
    row = view.of(number)
    if row is None:
        st.info(say("bookmarks.not_there", page=f"p{number}"), icon=":material/search_off:")
        return
    left, right = st.columns([1.15, 1], gap="medium")
    with left.container(border=True, height="stretch"):
        bookmarks.detail(row, found, here, say)
    with right.container(border=True, height="stretch"):
        page = state.page(replace(here, page=number))
        if page is not None:
            reading(page, here, say, live.Acts(here, say).mark("page_chat"), bookmarks.close)


kept()
