"""One conversation as one page for people without this program: what was said, and what its memory did meanwhile.

Plain HTML and CSS: no script, nothing from elsewhere (its policy forbids both), every word escaped; what is folded are
`<details>`. Light and dark as the reader's system has it, English or Chinese. It is drawn from an excerpt, so nothing
of other users and conversations is in it, and what was taken out is counted.

Not here: the sentences (words/), what happened (views/feed.py), what has to go (memory/stores/excerpt.py).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory.errors import UnknownName
from memory.events import (
    BookmarkMade,
    Event,
    FactsPlaced,
    MessageReceived,
    MessageReplied,
    PageEvicted,
    PagePagedIn,
    PromptAssembled,
)
from memory.fact_events import TurnRemembered
from memory.facts import Fact
from memory.pages import Bookmark, Page
from memory.prompt import Message
from memory.scope import Scope
from memory.stores.excerpt import ELSEWHERE, excerpt
from memory.stores.sql import Store
from memory.turns import Turn
from sessions.export import Exported, clearing, new_file
from workbench.views.feed import feed_rows
from workbench.views.rows import FeedRow
from workbench.words import LANGUAGES, Words, visible

if TYPE_CHECKING:
    from memory.redaction import Sorts
    from memory.state import State

MOST_TURNS = 2_000  # shown; of a longer conversation the last ones
LONGEST = 20_000  # characters of one message
SECTIONS = ("system", "facts", "stubs", "recalled", "resident", "exchange", "new")
QUIET = ("said", "replied", "finished", "started", "settings")  # seen elsewhere on the page
STYLE = (Path(__file__).parent / "static" / "case.css").read_text("utf-8")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"


def write_page(
    store: Store, scope: Scope, to: str | Path, language: str = "en", *, personal: bool = False,
    own: Sorts | None = None,
) -> Exported:  # fmt: skip
    """Write the page of one run to a file that does not exist yet; all of it or no file.

    `personal`: e-mail addresses and phone numbers stay in; `own`: more to take out. Raises UnknownName for a language,
    NotFound for a run, StoreError for the file.

    >>> write_page(store, Scope("ana", "trip"), "trip.html").removed                     # doctest: +SKIP
    {'e-mail address': 2}
    """
    if language not in LANGUAGES:
        raise UnknownName("language of pages", language, LANGUAGES)
    target, by = Path(to).expanduser().resolve(), clearing(store, [scope], personal=personal, own=own)
    stream = store.require(scope)
    with new_file(target) as part, tempfile.TemporaryDirectory(prefix="memcase-") as place:
        got = excerpt(store, Path(place) / "store", scope.user, [scope.conversation], by)
        shown = Scope(got.user, got.conversations[0], scope.run)
        with Store.open(Path(place) / "store", readonly=True) as opened:
            html = page(opened, shown, language, removed=got.removed)
        part.write_text(html, encoding="utf-8", errors="backslashreplace", newline="\n")
    return Exported(str(target), "html", 1, stream.turns, target.stat().st_size, got.removed)


def page(store: Store, scope: Scope, language: str = "en", *, removed: Mapping[str, int] | None = None) -> str:
    """The page of one run of a store, as it is: use `write_page` for what leaves the house."""
    told = _Told(store, scope, Words(language))
    return told.html(dict(removed or {}))


# ── what is told ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Step:
    """A message through its reply: what was said, what happened, the last prompt."""

    number: int
    turns: list[Turn] = field(default_factory=list)
    rows: list[FeedRow] = field(default_factory=list)
    prompt: PromptAssembled | None = None
    budget: int = 0
    left: int = 0
    came: int = 0
    known: int = 0

    @property
    def used(self) -> dict[str, int]:
        return dict(self.prompt.sections) if self.prompt else {}


class _Told:
    def __init__(self, store: Store, scope: Scope, say: Words) -> None:
        self.say, self.scope, self.stream = say, scope, store.require(scope)
        self.state: State = store.state(scope)
        self.texts: dict[int, str] = store.words(scope)
        self.facts: dict[int, Fact] = store.knowledge(scope.user).facts if store.stream(Scope.own(scope.user)) else {}
        ids = [fact.text for fact in self.facts.values()]
        self.said_of = {n: store.words(scope, ids).get(f.text, "") for n, f in self.facts.items()} if ids else {}
        self.facts = {n: f for n, f in self.facts.items() if self.said_of[n] not in ("", ELSEWHERE)}
        self.learnt = _learnt(store, scope, self.facts)
        self.pages = {turn.number: page for page in self.state.pages.values() for turn in page.turns}
        self.stubs: dict[int, Bookmark] = {}
        events = store.events(scope)
        self.steps = [self._step(n, list(some)) for n, some in groupby(events, key=lambda e: e.step)]
        self.steps = [step for step in self.steps if step.turns]

    def _step(self, number: int, events: Sequence[Event]) -> _Step:
        step = _Step(number, budget=self.state.settings.window_tokens)
        bodies = [event.body for event in events]
        self.stubs |= {body.page: body.bookmark for body in bodies if isinstance(body, BookmarkMade)}
        said = [b.turn for b in bodies if isinstance(b, MessageReceived | MessageReplied)]
        step.turns = [turn for turn in said if not turn.piece]
        prompts = [body for body in bodies if isinstance(body, PromptAssembled)]
        step.prompt = prompts[-1] if prompts else None
        step.left = sum(isinstance(body, PageEvicted) for body in bodies)
        step.came = sum(isinstance(body, PagePagedIn) for body in bodies)
        placed = [body for body in bodies if isinstance(body, FactsPlaced)]
        step.known = sum(not fact.dropped for fact in placed[-1].facts) if placed else 0
        step.rows = [row for row in feed_rows(events, self.texts, self.stubs) if row.kind not in QUIET]
        return step

    # ── the page ──────────────────────────────────────────────────────────────────────────────────────

    def html(self, removed: dict[str, int]) -> str:
        say, title = self.say, self.texts.get(self.stream.title, "") or self.scope.conversation
        lang = {"en": "en", "zh": "zh-Hans"}[say.language]
        body = "".join([
            self._head(title), self._course(), self._system(), self._conversation(), self._known(), self._foot(removed),
        ])  # fmt: skip
        return (
            f'<!doctype html>\n<html lang="{lang}"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
            f"<title>{_text(title, 200)}</title><style>{STYLE}</style></head>\n"
            f"<body><main>{body}</main></body></html>\n"
        )

    def _head(self, title: str) -> str:
        say, turns = self.say, [turn for step in self.steps for turn in step.turns]
        figures = {
            "turns": self.stream.turns, "pages": len(self.state.pages), "left": sum(s.left for s in self.steps),
            "came": sum(s.came for s in self.steps), "facts": len(self.facts),
        }  # fmt: skip
        boxes = "".join(
            f"<li><b>{say.number(n)}</b> <span>{escape(say(f'case.{name}'))}</span></li>" for name, n in figures.items()
        )
        when = f"{say.moment(turns[0].said_at)} – {say.moment(turns[-1].said_at)} UTC" if turns else ""
        llm = escape(visible(self.state.settings.llm, 80)) if self.steps and self.steps[-1].prompt else ""
        return (
            f'<header><p class="mark"><i></i>Memory <b>Workbench</b> · {escape(say("case.kind"))}</p>'
            f'<h1 dir="auto">{_text(title, 200)}</h1><p class="dim">{_text(self.scope.user, 80)} · {escape(when)}'
            f"{' · ' + llm if llm else ''} · <code>{_text(self.scope.run, 80)}</code></p>"
            f'<ul class="figures">{boxes}</ul></header>'
        )

    def _course(self) -> str:
        """The window over time: one column a step, stacked by section; each leads to its step."""
        steps = [step for step in self._shown() if step.prompt]
        if not steps:
            return f'<p class="note">{escape(self.say("case.bare"))}</p>'
        wide, high = 1000.0, 150.0
        top = max(1, steps[0].budget, *(sum(s.used.values()) for s in steps))
        each = wide / len(steps)
        columns = "".join(self._column(step, i * each, each, high / top, high) for i, step in enumerate(steps))
        line = high * (1 - steps[0].budget / top)
        return (
            f'<section class="card"><h2>{escape(self.say("case.course"))}</h2>'
            f'<p class="dim">{escape(self.say("case.course.says", budget=steps[0].budget))}</p>'
            f'<svg class="course" viewBox="0 -16 {wide:g} {high + 30:g}" role="img" '
            f'aria-label="{escape(self.say("case.course"))}">{columns}'
            f'<line class="budget" x1="0" x2="{wide:g}" y1="{line:.1f}" y2="{line:.1f}"/></svg>'
            f"{self._legend(steps)}</section>"
        )

    def _column(self, step: _Step, x: float, width: float, scale: float, high: float) -> str:
        gap, y, rects = min(width * 0.15, 2), high, []
        for section in SECTIONS:
            if tall := step.used.get(section, 0) * scale:
                y -= tall
                rects.append(
                    f'<rect class="{section}" x="{x:.2f}" y="{y:.2f}" width="{width - gap:.2f}" height="{tall:.2f}"/>'
                )
        middle = x + (width - gap) / 2
        if step.left:
            rects.append(f'<path class="evict" d="M{middle - 4:.1f} {high + 4:g}h8l-4 7z"/>')
        if step.came:
            rects.append(f'<circle class="recall" cx="{middle:.1f}" cy="{y - 7:.1f}" r="3.5"/>')
        says = f"{self.say('feed.step', step=step.number)}: {self._tokens(step)}"
        return f'<a href="#s{step.number}"><title>{escape(says)}</title>{"".join(rects)}</a>'

    def _legend(self, steps: Iterable[_Step]) -> str:
        there = {section for step in steps for section, tokens in step.used.items() if tokens}
        parts = [f'<li><i class="{s}"></i>{escape(self.say(f"section.{s}"))}</li>' for s in SECTIONS if s in there]
        marks = [("evict", "case.left"), ("recall", "case.came")]
        parts += [f'<li><i class="{tone} round"></i>{escape(self.say(key))}</li>' for tone, key in marks]
        return f'<ul class="legend">{"".join(parts)}</ul>'

    def _tokens(self, step: _Step) -> str:
        return self.say("case.tokens", tokens=sum(step.used.values()), budget=step.budget)

    def _system(self) -> str:
        words = self.texts.get(self.state.system, "")
        if not words:
            return ""
        told = escape(self.say("case.system"))
        body = f'<div class="words" dir="auto">{_text(words)}</div>'
        return f'<details class="card"><summary><b>{told}</b></summary>{body}</details>'

    # ── turns and steps ───────────────────────────────────────────────────────────────────────────────

    def _shown(self) -> list[_Step]:
        kept: list[_Step] = []
        turns = 0
        for step in reversed(self.steps):
            turns += len(step.turns)
            if kept and turns > MOST_TURNS:
                break
            kept.append(step)
        return kept[::-1]

    def _conversation(self) -> str:
        shown = self._shown()
        left_out = sum(len(step.turns) for step in self.steps) - sum(len(step.turns) for step in shown)
        note = f'<p class="note">{escape(self.say("case.earlier", turns=left_out))}</p>' if left_out else ""
        return f"<section><h2>{escape(self.say('case.conversation'))}</h2>{note}{''.join(self._parts(shown))}</section>"

    def _parts(self, steps: Iterable[_Step]) -> Iterator[str]:
        page = 0
        for step in steps:
            yield f'<div class="step" id="s{step.number}">'
            for turn in step.turns:
                on = self.pages.get(turn.number)
                if on is not None and on.number != page:
                    page = on.number
                    yield self._page_line(on)
                yield self._turn(turn)
            yield self._happened(step) + "</div>"

    def _page_line(self, page: Page) -> str:
        bookmark = self.stubs.get(page.number)
        stub = self.texts.get(bookmark.stub, "") if bookmark else ""
        span = self.say.turns(page.turns[0].number, page.turns[-1].number)
        words = f'<code dir="auto">{_text(stub, 300)}</code>' if stub else ""
        return f'<p class="page" id="p{page.number}"><b>p{page.number}</b> <span>{escape(span)}</span>{words}</p>'

    def _turn(self, turn: Turn) -> str:
        say, words = self.say, self.texts.get(turn.text, "")
        made = [(_text(call.name, 80), _text(self.texts.get(call.arguments, ""), 2_000)) for call in turn.calls]
        calls = "".join(f'<p class="call"><code>{name}({arguments})</code></p>' for name, arguments in made)
        facts = "".join(f'<a class="chip fact" href="#f{n}">f{n}</a>' for n in self.learnt.get(turn.number, ()))
        star = f'<span class="star" title="{escape(say("case.marked"))}">★</span>' if turn.important else ""
        return (
            f'<article class="{escape(turn.role)}" id="t{turn.number}"><p class="who">'
            f'<b dir="auto">{_text(turn.name, 80)}</b> <a href="#t{turn.number}">#{turn.number}</a> '
            f"<time>{escape(say.moment(turn.said_at))}</time>{star}{facts}</p>"
            f'<div class="words" dir="auto">{_text(words)}</div>{calls}</article>'
        )

    def _happened(self, step: _Step) -> str:
        say = self.say
        rows = "".join(map(self._row, step.rows))
        if not step.prompt:
            return (
                f'<details class="step-rows"><summary>{escape(say("case.happened"))}</summary>{rows}</details>'
                if rows
                else ""
            )
        chips = [
            ("evict", step.left, "case.n.left"),
            ("recall", step.came, "case.n.came"),
            ("facts", step.known, "case.n.known"),
        ]
        told = "".join(f'<span class="chip {tone}">{escape(say(key, n=n))}</span>' for tone, n, key in chips if n)
        bar = self._bar(step)
        return (
            f'<details class="happened"><summary>{bar}<span class="dim">{escape(self._tokens(step))}</span>{told}'
            f"</summary>"
            f'<div class="inside">{self._window(step)}<ul class="rows">{rows}</ul></div></details>'
        )

    def _bar(self, step: _Step) -> str:
        parts = "".join(
            f'<i class="{s}" style="width:{100 * n / max(step.budget, 1):.2f}%"></i>'
            for s in SECTIONS if (n := step.used.get(s, 0))
        )  # fmt: skip
        return f'<span class="bar">{parts}</span>'

    def _window(self, step: _Step) -> str:
        """What stood in the prompt, in its order: a stretch a section or page."""
        assert step.prompt is not None
        messages = [Message.of_row(row) for row in step.prompt.messages]
        stretches = [
            (section, page, sum(m.tokens for m in some))
            for (section, page), some in groupby(messages, key=lambda m: (m.section, m.page))
        ]
        parts = "".join(self._stretch(s, page, n, step.budget) for s, page, n in stretches if n)
        return f'<div class="window">{parts}</div>'

    def _stretch(self, section: str, page: int, tokens: int, budget: int) -> str:
        name = f"p{page}" if page else self.say(f"section.{section}")
        says = f"{name} · {self.say(f'section.{section}')} · {self.say('tokens', tokens=tokens)}"
        width, tag = 100 * tokens / max(budget, 1), "a" if page in self.state.pages else "span"
        link = f' href="#p{page}"' if tag == "a" else ""
        return (
            f'<{tag}{link} class="{escape(section)}" style="width:{width:.2f}%" title="{escape(says)}">'
            f"{escape(name) if width > 4 else ''}</{tag}>"
        )

    def _row(self, row: FeedRow) -> str:
        return (
            f'<li class="{row.tone}"><i></i><b>{escape(self.say(f"kind.{row.kind}"))}</b> '
            f'<span dir="auto">{escape(self.say.sentence(row.kind, row.values))}</span></li>'
        )

    # ── what is known, and what is not here ───────────────────────────────────────────────────────────

    def _known(self) -> str:
        if not self.facts:
            return ""
        rows = "".join(self._fact(self.facts[n]) for n in sorted(self.facts))
        return (
            f'<section class="card"><h2>{escape(self.say("case.known"))}</h2>'
            f'<p class="dim">{escape(self.say("case.known.says"))}</p>'
            f'<ul class="facts">{rows}</ul></section>'
        )

    def _fact(self, fact: Fact) -> str:
        told = [s for s in fact.sources if s.conversation == self.scope.conversation]
        links = "".join(f'<a href="#t{s.turn}">#{s.turn}</a> ' for s in told[:6])
        state = escape(self.say.term("timeline.state", fact.state))
        return (
            f'<li id="f{fact.id}" class="{escape(fact.state)}"><b class="chip fact">f{fact.id}</b>'
            f'<span dir="auto" class="what">{_text(self.said_of[fact.id], 500)}</span>'
            f'<span class="chip state">{state}</span><span class="dim">{links}</span></li>'
        )

    def _foot(self, removed: Mapping[str, int]) -> str:
        say = self.say
        gone = ", ".join(f"{n} × {say.term('sort', sort)}" for sort, n in removed.items())
        told = say("case.removed", counts=gone) if gone else say("case.removed.none")
        return f"<footer><p>{escape(told)}</p><p>{escape(say('case.foot'))}</p></footer>"


def _learnt(store: Store, scope: Scope, facts: Mapping[int, Fact]) -> dict[int, list[int]]:
    """By turn of this conversation, the facts that it told."""
    found: dict[int, list[int]] = {}
    if (stream := store.stream(Scope.own(scope.user))) is None:
        return found
    for event in store.events_of(stream, kinds=[TurnRemembered.__name__]):
        body: Any = event.body
        if body.conversation == scope.conversation:
            told = [o.fact for o in body.outcomes if o.fact in facts]
            found.setdefault(body.turn, []).extend(n for n in told if n not in found.get(body.turn, ()))
    return found


def _text(words: str, most: int = LONGEST) -> str:
    return escape(visible(words, most))
