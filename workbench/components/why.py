"""The parts of the Why page: what is asked, the answer, the change that is tried and made."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

import streamlit as st

from memory.errors import BadMessage, EngineError
from memory.remedies import Remedy
from workbench import live, state
from workbench.components.table import rows as table_rows
from workbench.components.trace import section
from workbench.components.trial import trial
from workbench.components.verdict import verdict
from workbench.state import Place
from workbench.views.why import Example, WhyView
from workbench.words import Words, escaped, visible

MOST = 300  # characters of what is asked
DONE = "_why_done"  # session: what was worked out for this reader last
MOST_DONE = 100


def asked() -> tuple[str, str]:
    """The expected words and the question, as the address says."""
    return st.query_params.get("expect", "")[:MOST].strip(), st.query_params.get("q", "")[:MOST].strip()


def ask(here: Place, say: Words) -> None:
    """What was expected, and of which question: both stand in the address."""
    expected, question = asked()
    left, right = st.columns([1, 1.25], gap="medium")
    with left:
        _input("expect", say("why.expected"), expected, say("why.expected.placeholder"), say("why.expected.says"))
    with right:
        _input("q", say("why.question"), question, say("why.question.placeholder"), say("why.question.says"))


def _input(key: str, label: str, value: str, placeholder: str, says: str) -> None:
    widget = f"why_{key}_{value}"

    def changed() -> None:
        state.go(**{key: st.session_state[widget].strip() or None, "try": None})

    st.text_input(label, value, MOST, key=widget, placeholder=placeholder, help=says, on_change=changed)


def examples(found: Sequence[Example], say: Words) -> None:
    """Things that may have been forgotten; one click asks."""
    if not found:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="why_examples"):
        st.caption(say("why.examples"), width="content")
        for index, each in enumerate(found):
            st.button(
                visible(_label(each, say), 70), key=f"why_example_{index}", icon=":material/help:",
                on_click=_take, args=(each,), help=escaped(say("why.example.says", expected=each.expected)),
            )  # fmt: skip


def _label(each: Example, say: Words) -> str:
    told = escaped(each.question or each.expected)
    return f"{told} · {say('turn.one', turn=each.turn)}" if each.turn else told


def _take(each: Example) -> None:
    state.go(**{"expect": each.expected, "q": each.question or None, "turn": each.turn, "page": None, "try": None})


def diagnosed(here: Place, say: Words) -> WhyView | None:
    """The view of what the address asks; None where it asks nothing that can be looked for, and says so."""
    expected, question = asked()
    if not expected:
        st.caption(say("why.nothing"))
        return None
    try:
        with _working(("why", here.scope, here.at, expected, question), say):
            return state.why(here, expected, question)
    except BadMessage:
        st.warning(escaped(say("why.no_words", expected=expected)), icon=":material/search_off:")
        return None


@contextmanager
def _working(what: tuple[object, ...], say: Words) -> Iterator[None]:
    """A sign of work where this reader asks it for the first time; a kept answer must not move what is clicked."""
    done: deque[tuple[object, ...]] = st.session_state.setdefault(DONE, deque(maxlen=MOST_DONE))
    with nullcontext() if what in done else st.spinner(say("why.working"), show_time=True):
        yield
    if what not in done:
        done.append(what)


def answer(view: WhyView, say: Words) -> None:
    found = view.verdict
    tone = "ok" if not found.stage else "warn" if found.in_prompt else "no"
    remedy = found.remedy
    says = say("why.smallest", change=_change(remedy, say)) if remedy else ""
    if not remedy and found.remedies:
        says = say("why.none_works", tried=len(found.remedies))
    if found.in_prompt and found.stage:
        says = say("why.unused")
    pairs = [
        (say("why.of"), found.expected),
        (say("why.rehearsed" if found.rehearsed else "why.message"), found.question),
        (say("why.at"), say("turn.one", turn=found.turn)),
    ]
    verdict(tone, say.reason(found.says), says, pairs)
    if found.note:
        st.caption(say.reason(found.note))
    if remedy and st.query_params.get("try", "") != remedy.change:
        st.button(
            say("why.try", change=_change(remedy, say)), key="why_try", type="primary", icon=":material/experiment:",
            on_click=state.go, kwargs={"try": remedy.change},
        )  # fmt: skip


def _change(remedy: Remedy, say: Words) -> str:
    return say.reason(remedy.change)


def remedies(view: WhyView, say: Words) -> None:
    """Each change that was tried; a click shows the prompt with it."""
    tried = view.verdict.remedies
    section(say("why.tried"), "experiment", str(len(tried)), say("why.tried.says"))
    if not tried:
        st.caption(say("why.tried.none"))
        return
    top = max(r.size for r in tried) or 1.0
    lines = [
        {
            "key": r.change, "page": n, "stub": visible(_change(r, say), 120), "turn": "", "score": say.score(r.size),
            "parts": "", "width": round(100 * r.size / top, 1), "chosen": r.works, "why": say.reason(r.says),
        }
        for n, r in enumerate(tried)
    ]  # fmt: skip
    head = [say("why.change"), say("why.size"), say("why.came_of_it")]
    table_rows(lines, head, say("why.tried"), "why_tried", _picked("why_tried", tried))


def _picked(key: str, tried: Sequence[Remedy]) -> Callable[[], None]:
    def fired() -> None:
        n = (st.session_state.get(key) or {}).get("page")
        if n is not None and 0 <= n < len(tried):
            state.go(**{"try": tried[n].change})

    return fired


# ── one change, tried ─────────────────────────────────────────────────────────────────────────────────


def tried(view: WhyView, here: Place, say: Words, acts: live.Acts) -> None:
    """The prompt with the change that the address names, and the way to make it."""
    change = st.query_params.get("try", "")
    remedy = next((r for r in view.verdict.remedies if r.change == change), None)
    if remedy is None:
        return
    with st.container(border=True, key="why_trial"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            section(say("why.trial", change=escaped(_change(remedy, say))), "experiment")
            st.button("✕", key="why_trial_close", type="tertiary", on_click=state.go, kwargs={"try": None},
                      help=say("page.close"))  # fmt: skip
        try:
            with _working(("tried", here.scope, here.at, asked(), change), say):
                found = state.tried(here, *asked(), change)
        except EngineError as error:
            st.warning(escaped(visible(str(error), 400)))
            return
        if found.refused:
            st.warning(escaped(say.reason(found.refused)))
            return
        trial(found, int(view.settings["window_tokens"]), say)
        _make(remedy, view, here, say, acts)


def _make(remedy: Remedy, view: WhyView, here: Place, say: Words, acts: live.Acts) -> None:
    """The act that makes the change for good, or how to; and its undo."""
    readonly = state.open_store().readonly
    if remedy.settings:
        _settings(dict(remedy.settings), view, here, say, readonly=readonly)
    elif remedy.change.startswith("recall p"):
        name = remedy.change.split()[1]
        st.button(
            say("why.recall", page=name), key="why_recall", icon=":material/history:", disabled=not acts.may_recall,
            on_click=live.recall, args=(here, name, say),
            help=None if acts.may_recall else say("scope.readonly" if readonly else "why.recall.past"),
        )  # fmt: skip
    else:
        st.caption(say("why.by_hand"))


def _settings(wanted: dict[str, object], view: WhyView, here: Place, say: Words, *, readonly: bool) -> None:
    now = state.settings_now(here)
    told = ", ".join(f"{name}={value}" for name, value in wanted.items())
    before = {name: view.settings[name] for name in wanted}
    back = ", ".join(f"{name}={value}" for name, value in before.items())
    if all(now[name] == value for name, value in wanted.items()):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.badge(say("why.in_force", change=told), icon=":material/check:", color="green")
            st.button(say("why.undo", change=back), key="why_undo", icon=":material/undo:", disabled=readonly,
                      on_click=live.change, args=(here, before, say))  # fmt: skip
            if st.button(say("why.say_it"), key="why_say_it", icon=":material/monitoring:", type="tertiary"):
                state.go(run=None, turn=None, page=None)  # a link would keep them
                st.switch_page(state.pages_folder() / "live.py")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(say("why.apply", change=told), key="why_apply", type="primary", icon=":material/tune:",
                  disabled=readonly, on_click=live.change, args=(here, wanted, say))  # fmt: skip
        changes = ", ".join(f"{name} {now[name]} → {value}" for name, value in wanted.items())
        st.caption(say("scope.readonly") if readonly else escaped(say("why.apply.says", changes=changes)))
