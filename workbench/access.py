"""Who is looking: a developer, who sees the store, or a reviewer, who sees what is remembered about them alone.

A reviewer comes with a token (review_link.py): in the address, or in a header that our server's gate sets from a
cookie. A session that had one keeps it and is never a developer's again, whatever its address says later; the token is
looked at anew in every run and before every act, for it may have ended meanwhile. Behind the gate nobody is a developer
by default: that too is a header, with a secret of this process. This is no login: it knows links, not people.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from hmac import compare_digest
from pathlib import Path

import streamlit as st

from memory.journal import utc_now
from workbench.review_link import PARAMETER, LinkRefused, Reviewer, key_of, opened

ONLY_VARIABLE = "MEMORY_WORKBENCH_REVIEW_ONLY"  # set where nobody is a developer
GATE_VARIABLE = "MEMORY_WORKBENCH_GATE"  # set behind the gate: what it writes into a developer's header
REVIEWER_HEADER = "x-memory-workbench-review"  # the token
DEVELOPER_HEADER = "x-memory-workbench-developer"
KEPT_TOKEN = "_review"  # noqa: S105 - session: the name of the token it came with
KNOWN = "_developer"  # session: the gate said so


def reviewer(store: Path) -> Reviewer | None:
    """Whoever came with a token; None is a developer. Raises LinkRefused for everybody else."""
    session, headers = st.session_state, st.context.headers
    token = session.get(KEPT_TOKEN) or st.query_params.get(PARAMETER) or headers.get(REVIEWER_HEADER)
    if token:
        session[KEPT_TOKEN] = token  # also one that is refused: whoever tried it is no developer
        return opened(token, key_of(store), now=utc_now())
    if (
        PARAMETER in st.query_params
        or os.environ.get(ONLY_VARIABLE)
        or not _is_developer(headers.get(DEVELOPER_HEADER))
    ):
        raise LinkRefused("needed", "this page is opened with a link of your own: ask whoever runs it for one")
    return None


def still(store: Path) -> Callable[[], None]:
    """A check that whoever looks now may still look, for what is done later and has no session. Raises LinkRefused."""
    token = st.session_state.get(KEPT_TOKEN)

    def check() -> None:
        if token:
            opened(token, key_of(store), now=utc_now())

    return check


def _is_developer(said: str | None) -> bool:
    """Once known, known for the session: a browser that is gone in the middle of a run has no headers any more."""
    secret = os.environ.get(GATE_VARIABLE)
    if secret and not st.session_state.get(KNOWN):
        st.session_state[KNOWN] = compare_digest((said or "").encode(), secret.encode())
    return not secret or st.session_state[KNOWN]
