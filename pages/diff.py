"""What changed between two prompts, and why: any two turns, or the same turn in two runs."""

import streamlit as st

from workbench import live, state
from workbench.components import compare, notice
from workbench.components.diff import diff
from workbench.components.export import export
from workbench.components.facts import facts
from workbench.components.heading import heading


@st.fragment(key=live.WINDOW)
def changes() -> None:
    say = state.words()
    live.begin()
    with state.told():
        here = state.place()
        if here is None or not here.stream.turns:
            notice.empty(say) if here is None else notice.quiet(say("trace.none"), say("trace.none.says"))
            return
        heading(say("diff.title"), here.row.title, [], say)
        chosen = compare.choose(here, say)
        view = state.difference(here, chosen)
        facts(compare.figures(view, say), key="diff_figures", large=True)
        compare.told_settings(view, say)
        export(view.to_df, f"prompt diff {here.row.conversation}", say, key="diff", drawing=view)
        with st.container(border=True):
            layout = compare.head(view, say)
            diff(view, say, key="diff", layout=layout)
        live.followed(here)


changes()
