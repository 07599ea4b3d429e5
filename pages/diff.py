"""What changed between two prompts, and why: any two turns, or the same turn in two runs."""

import streamlit as st

from workbench import live, state
from workbench.components import compare
from workbench.components.diff import diff
from workbench.components.facts import facts
from workbench.components.heading import heading
from workbench.state import Place
from workbench.words import Words


@live.page(turns=True)
def changes(here: Place, say: Words) -> None:
    heading(say("diff.title"), here.row.title, [], say)
    view = state.difference(here, compare.choose(here, say))
    facts(compare.figures(view, say), key="diff_figures", large=True)
    compare.told_settings(view, say)
    with st.container(border=True):
        layout = compare.head(view, f"prompt diff {here.row.conversation}", say)
        diff(view, say, key="diff", layout=layout)


changes()
