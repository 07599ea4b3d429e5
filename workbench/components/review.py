"""The review page laid out: entries in groups, questions, what changed, what an erase takes, files to take away."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson
import streamlit as st

from workbench import reviewing, state
from workbench.components.entries import Group, Line, entries
from workbench.components.heading import heading
from workbench.reviewing import ERASED, TOLD, Acts, Erased, Told
from workbench.views import review as review_view
from workbench.views.review import Changed, Entry, Question, ReviewView, Said
from workbench.words import Words, escaped, visible

if TYPE_CHECKING:
    from memory.stores.erase import ErasePreview

SHOWN = 200  # entries, and changes
QUESTIONS = 5  # at once
NAMED = 12  # entries that an erase names
FILES = (("json", "application/json", "memory.json"), ("text", "text/markdown", "memory.md"))
TABS = ("now", "past", "changes")


# ── the head ──────────────────────────────────────────────────────────────────────────────────────────


def head(view: ReviewView, say: Words, acts: Acts, until: datetime | None, *, may_write: bool) -> None:
    """`until` is the end of a reviewer's link; a developer has none."""
    title = say("review.title") if until else say("review.title.of", user=visible(view.user, 60))
    name = visible(view.user, 60)
    says = say("review.yours", until=day(until, say)) if until else say("review.developer", user=name, name=name)
    heading(title, says, [], say, link=not until)
    with st.container(horizontal=True, gap="small", key="review_acts"):
        st.button(
            say("review.pause" if view.on else "review.resume"), key="review_switch", disabled=not may_write,
            icon=":material/pause:" if view.on else ":material/play_arrow:",
            on_click=acts.switch, kwargs={"on": not view.on},
        )  # fmt: skip
        with st.popover(say("review.download"), icon=":material/download:", key="review_download"):
            st.caption(say("review.download.says"))
            for kind, mime, name in FILES:
                st.download_button(
                    say(f"review.download.{kind}"), _file(kind, view.user, say), name, mime, key=f"review_{kind}",
                    on_click="ignore", width="stretch",
                )  # fmt: skip
    if not view.on:
        st.warning(say("review.off"), icon=":material/pause_circle:")
    if not may_write:
        st.info(say("review.readonly"), icon=":material/lock:")


def told(say: Words, acts: Acts) -> None:
    """What the last act did, with its undo."""
    done: Told | None = st.session_state.get(TOLD)
    erased: Erased | None = st.session_state.get(ERASED)
    if done is None and erased is None:
        return
    with st.container(border=True, key="review_told", horizontal=True, vertical_alignment="center"):
        if erased is not None:
            st.markdown(_erased(erased, say), width="stretch")
        elif done is not None:
            icon = "error" if done.failed else "check_circle"
            st.markdown(f":material/{icon}: {done.text}", width="stretch")
            if done.change:
                st.button(say("review.do.undo"), key="review_undo", icon=":material/undo:",
                          on_click=acts.undo, args=(done.change,))  # fmt: skip
        st.button(say("review.done.ok"), key="review_ok", on_click=reviewing.understood)


def _erased(erased: Erased, say: Words) -> str:
    icon = "warning" if erased.left else "verified_user"
    looked = say("review.erased.left", left=erased.left) if erased.left else say(
        "review.erased.clean", before=erased.before)  # fmt: skip
    return f":material/{icon}: **{say('review.erased', entries=erased.entries, turns=erased.turns)}** {looked}"


# ── entries ───────────────────────────────────────────────────────────────────────────────────────────


def questions(found: Sequence[Question], say: Words, acts: Acts, *, may_write: bool) -> None:
    """What only the user can decide, side by side."""
    for question in found[:QUESTIONS]:
        with st.container(border=True, key=f"review_question_{question.number}"):
            st.markdown(f"##### :material/help: {say('review.question')}")
            st.caption(say("review.question.says"))
            for column, side in zip(st.columns(len(question.sides), gap="medium"), question.sides, strict=True):
                with column:
                    st.markdown(f"**{escaped(visible(side.text, 400))}**")
                    if side.said:
                        st.caption(escaped(f"{_who(side.said, say)} “{visible(side.said.words, 300)}”"))
                    st.button(say("review.question.this"), key=f"review_right_{question.number}_{side.fact}",
                              icon=":material/check:", disabled=not may_write,
                              on_click=acts.settle, args=(question.number, side.fact))  # fmt: skip
            st.button(say("review.question.both"), key=f"review_both_{question.number}", type="tertiary",
                      disabled=not may_write, on_click=acts.settle, args=(question.number, 0))  # fmt: skip


def search(view: ReviewView, say: Words, acts: Acts, *, may_write: bool) -> ReviewView:
    """A box for words; the view of the entries that hold them."""

    def asked() -> None:
        state.go(q=st.session_state["review_search"].strip() or None)

    wanted = st.query_params.get("q", "")
    st.text_input(
        say("review.search"), value=wanted, key="review_search", placeholder=say("review.search"), max_chars=200,
        icon=":material/search:", label_visibility="collapsed", on_change=asked,
    )  # fmt: skip
    if not wanted.strip():
        return view
    found = view.matching(wanted)
    number, all_ = (sum(map(len, (v.entries, v.aside, v.past))) for v in (found, view))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            escaped(say("review.found", found=number, all=all_, words=wanted) if number
                    else say("review.none_found", words=wanted)),
            width="stretch",
        )  # fmt: skip
        st.button(
            escaped(say("review.erase.words", words=visible(wanted, 40))), key="review_erase_words", type="tertiary",
            icon=":material/delete_forever:", disabled=not may_write,
            on_click=acts.ask_to_erase, kwargs={"words": wanted},
        )  # fmt: skip
    return found


def remembered(view: ReviewView, say: Words, acts: Acts, *, may_write: bool) -> None:
    can = ("mark", "correct", "forget", "erase") if may_write else ()
    groups, room = [], SHOWN
    for name, found in view.grouped:
        shown = tuple(_line(e, say, can) for e in found[:room])
        room -= len(shown)
        if shown:
            groups.append(Group(name, say(f"review.group.{name}"), shown))
    if view.aside:
        sure = ("release", "erase") if may_write else ()
        lines = tuple(_line(e, say, sure) for e in view.aside[:SHOWN])
        groups.append(Group("aside", say("review.group.aside"), lines, say("review.aside.says")))
    if len(view.entries) > SHOWN:
        st.caption(say("review.capped", shown=SHOWN, all=len(view.entries)))
    if groups:
        entries(groups, say, acts.fired("review_entries"), "review_entries", say("review.tab.now"))


def past(view: ReviewView, say: Words, acts: Acts, *, may_write: bool) -> None:
    st.caption(say("review.past.says") if view.past else say("review.past.none"))
    if view.erased:
        st.caption(say("review.erased_before", erased=view.erased))
    if len(view.past) > SHOWN:
        st.caption(say("review.capped", shown=SHOWN, all=len(view.past)))
    can = ("erase",) if may_write else ()
    lines = tuple(_line(e, say, can, quiet=True) for e in view.past[:SHOWN])
    if lines:
        entries([Group("past", "", lines)], say, acts.fired("review_past"), "review_past", say("review.tab.past"))


def changes(view: ReviewView, say: Words, acts: Acts, *, may_write: bool) -> None:
    st.caption(say("review.changes.says") if view.changes else say("review.changes.none"))
    if len(view.changes) > SHOWN:
        st.caption(say("review.capped.changes", shown=SHOWN, all=len(view.changes)))
    lines = tuple(_change(c, view, say, may_write=may_write) for c in view.changes[:SHOWN])
    if lines:
        group = Group("changes", "", lines)
        entries([group], say, acts.fired("review_changes"), "review_changes", say("review.tab.changes"))


def _line(e: Entry, say: Words, acts: tuple[str, ...], *, quiet: bool = False) -> Line:
    about = [
        say("review.since", day=day(e.since, say)) if e.since else "",
        say("review.until", day=day(e.until, say)) if e.until else "",
        say("review.times", times=e.times) if e.times > 1 else "",
        say("review.only_in", title=e.only_in) if e.only_in else "",
        "" if quiet else say("review.used", day=day(e.used_at, say), title=e.used_in) if e.used_at
        else say("review.unused"),
        say("review.words_gone") if e.said is not None and not e.said else "",
    ]  # fmt: skip
    return Line(
        e.fact, e.text or say("review.words_gone"), tuple(a for a in about if a),
        e.said.words if e.said else "", _who(e.said, say) if e.said else "", acts, e.important and not quiet, e.value,
        quiet,
    )  # fmt: skip


def _who(said: Said, say: Words) -> str:
    """Who said it, and where."""
    who = {"user": "you_said", "assistant": "they_said"}.get(said.by, "it_read")
    told = say(f"review.{who}.in", title=said.conversation) if said.conversation else say(f"review.{who}")
    return told + ("：" if say.language == "zh" else ":")


def _change(c: Changed, view: ReviewView, say: Words, *, may_write: bool) -> Line:
    undone = next((o for o in view.changes if o.number == c.undoes), c)  # an undo is told by what it took back
    told = undone.after or "; ".join(filter(None, undone.before))
    cause = say.term("review.cause", c.cause)
    was = [say("review.was", text=t) for t in c.before if t] if c.after else []
    about = [*was, f"{day(c.at, say)}, {c.at.astimezone(say.zone):%H:%M}", say(f"review.by.{c.by}")]
    if c.undone:
        about.append(say("review.undone"))
    colon = "：" if say.language == "zh" else ": "
    return Line(
        c.number, f"{cause}{colon}{told}" if told else cause, tuple(dict.fromkeys(about)),
        acts=("undo",) if may_write and not c.undone else (), quiet=c.undone,
    )  # fmt: skip


def day(at: datetime | None, say: Words) -> str:
    """A day in the zone in which it is told: that of whoever said so."""
    if at is None:
        return ""
    return say("review.day", year=at.year, month=say(f"month.{at.month}"), day=at.day)


# ── erasing ───────────────────────────────────────────────────────────────────────────────────────────


def ask(preview: ErasePreview, say: Words, acts: Acts) -> None:
    """A dialog: what would go, what stays, and a box to tick."""
    shown = st.dialog(say("review.erase.title"), width="medium", icon=":material/delete_forever:",
                      on_dismiss=reviewing.leave)(_sure)  # fmt: skip
    shown(preview, say, acts)


def _sure(preview: ErasePreview, say: Words, acts: Acts) -> None:
    if preview.empty:
        st.markdown(say("review.erase.none"))
        if st.button(say("review.done.ok"), key="review_erase_none"):
            reviewing.leave()
            st.rerun()
        return
    st.markdown(f"**{say('review.erase.goes')}**")
    st.markdown("\n".join(f"- {line}" for line in _goes(preview, say)))
    st.markdown(f"**{say('review.erase.stays')}**")
    st.markdown("\n".join(f"- {line}" for line in _stays(preview, say)))
    wider = reviewing.wider_than(preview)
    if wider is not None:
        _elsewhere(preview, wider, say)
    sure = st.checkbox(say("review.erase.sure"), key=f"review_sure_{preview.token}")
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(say("review.do.cancel"), key="review_erase_cancel"):
            reviewing.leave()
            st.rerun()
        if st.button(say("review.erase.do"), key="review_erase_now", type="primary", disabled=not sure,
                     icon=":material/delete_forever:"):  # fmt: skip
            acts.erase(preview)
            st.rerun()


def _elsewhere(preview: ErasePreview, wider: ErasePreview, say: Words) -> None:
    """What says the same and would stay, counted; and the way to take it too."""
    turns, entries = len(set(wider.turns) - set(preview.turns)), len(set(wider.facts) - set(preview.facts))
    found = [say(f"review.erase.other.{name}", n=n) for name, n in (("turns", turns), ("entries", entries)) if n]
    where = say("review.erase.other.and").join(found) or say("review.erase.other.sentences")
    values = ", ".join(visible(each, 60) for each in wider.asked[0][:NAMED])
    with st.container(border=True, horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(escaped(say("review.erase.other", words=values, where=where)), width="stretch")
        if st.button(say("review.erase.take"), key="review_erase_wider", icon=":material/playlist_add:"):
            reviewing.widen(wider)
            st.rerun()


def _goes(preview: ErasePreview, say: Words) -> list[str]:
    lines = []
    if preview.facts:
        told = [f"\n  - {escaped(review_view.addressed(visible(t, 160)))}" for t in preview.told[:NAMED]]
        more = len(preview.told) - len(told)
        told += [f"\n  - {say('review.erase.more', n=more)}"] if more > 0 else []
        lines.append(say("review.erase.entries", n=len(preview.facts)) + "".join(told))
    if preview.turns:
        conversations = len({conversation for conversation, _ in preview.turns})
        lines.append(say("review.erase.turns", n=len(preview.turns), conversations=conversations))
    for name, number in (("marks", preview.bookmarks), ("copies", len(preview.backups))):
        if number:
            lines.append(say(f"review.erase.{name}", n=number))
    return lines


def _stays(preview: ErasePreview, say: Words) -> list[str]:
    beside, names = (", ".join(visible(w, 60) for w in found[:NAMED]) for found in (preview.beside, preview.names))
    lines = [escaped(say("review.erase.beside", words=beside))] if beside else []
    lines += [escaped(say("review.erase.names", names=names))] if names else []
    return [*lines, say("review.erase.elsewhere")]


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────


def _file(kind: str, user: str, say: Words) -> Callable[[], bytes]:
    """Made when it is asked for, in a thread without a session: who may have it is looked at before and then."""
    store, still = state.open_store(), state.still(user)

    def made() -> bytes:
        still()
        found = review_view.everything(store, user)
        return orjson.dumps(found, option=orjson.OPT_INDENT_2, default=str) if kind == "json" else (
            readable(found, say).encode("utf-8", "replace"))  # fmt: skip

    return made


def readable(found: dict[str, Any], say: Words) -> str:
    """Everything as Markdown; what people said is text there, never markup."""
    lines = [f"# {_text(say('review.file.heading', user=found['user']))}", "",
             say("review.file.made", at=say.moment(found["made_at"])), ""]  # fmt: skip
    for name, title in (("in_use", "tab.now"), ("kept_aside", "group.aside"), ("used_no_more", "tab.past")):
        if found[name]:
            lines += [f"## {say(f'review.{title}')}", ""]
            group = ""
            for e in found[name]:
                if name == "in_use" and e["group"] != group:
                    group = e["group"]
                    lines += ["", f"### {say(f'review.group.{group}')}", ""]
                lines.append(f"- {_text(e['text'])}{_small(e, say)}")
                if e["said"] and e["said"]["words"]:
                    lines.append(f"  > {_text(e['said']['words'])}")
            lines.append("")
    lines += [f"## {say('review.file.changes')}", ""]
    for c in found["changes"]:
        told = "; ".join(_text(t) for t in (c["after"], *c["before"]) if t)
        lines.append(f"- {day(c['at'], say)} · {say.term('review.cause', c['cause'])}: {told}")
    lines += ["", f"## {say('review.file.conversations')}", ""]
    for each in found["conversations"]:
        lines += [f"### {_text(each['title'])}", ""]
        lines += [f"**{_text(t['speaker'] or say.term('role', t['by']))}** · {say.moment(t['said_at'])}\n\n"
                  f"{_text(t['words'], lines=True)}\n" for t in each["turns"]]  # fmt: skip
    return "\n".join(lines) + "\n"


def _small(e: dict[str, Any], say: Words) -> str:
    told = [say("review.since", day=day(e["since"], say)) if e["since"] else "",
            say("review.until", day=day(e["until"], say)) if e["until"] else ""]  # fmt: skip
    return "".join(f" · {t}" for t in told if t)


def _text(words: str, *, lines: bool = False) -> str:
    """Words that a reader of Markdown takes as words; on one line unless `lines`."""
    shown = visible(words, len(words) + 1)
    kept = shown if lines else " ".join(shown.split())
    return re.sub(r"([\\`*_\[\]<>]|^[#>|~=+-])", r"\\\1", kept, flags=re.MULTILINE)
