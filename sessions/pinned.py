"""Pinned questions asked: without a model, is what a right answer needs before it, and nothing that must not be?

Each question is rehearsed as the next message after a turn, in its conversation or in a new one of the same user, with
one recall that asks the question itself: the same pager, ranker and placing of facts as in the live engine. What the
prompt then holds decides; what a model would have made of it is not known here. A question that is lost says at which
stage the words fell, as `why` does. The outcome is compared with the last run, which is kept beside the file of
questions and holds no word of them: one that was won and is lost is a regression until it is won again or accepted.

>>> assert_pinned(store)                                              # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memory import show
from memory.carriers import carriers
from memory.case import Case, open_case
from memory.errors import BadSetting, EngineError, RecordingError
from memory.events import PagePagedIn, PagesRetrieved
from memory.expected import Expected, looked_for
from memory.exposure import SAID_TO_END
from memory.finder import Finder, VectorSource
from memory.journal import MemoryJournal
from memory.pager import Pager
from memory.prompt import Message
from memory.reach import holding
from memory.recalls import Request
from memory.recollect import FactFinder
from memory.rehearsal import Rehearsed
from memory.scope import LIVE, Scope
from memory.settings import Settings
from memory.show import Shown, small
from memory.state import State
from memory.steps import READ, places
from memory.stores.sql import Store
from memory.stores.vector_source import StoredVectors
from sessions.honesty import Honesty
from sessions.questions import IRRELEVANT, KINDS, UPDATE, Pinned, file_of, of_conversation, read
from sessions.replay import Replay, replay

ASIDE = "a new conversation"  # where a question is asked that must find what was said elsewhere
LAST = ".last.json"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question, won or lost."""

    name: str
    question: str
    kind: str
    user: str
    conversation: str
    won: bool
    stage: str  # at which it was lost, as in `why`; "": won
    says: str
    tokens: int  # of the prompt; 0: it could not be asked
    pages: int  # that the question brought back
    evidence: int  # labelled turns that stand in the prompt
    of: int  # labelled turns
    before: bool | None = None  # won in the last run; None: it was not asked then

    @property
    def lost_again(self) -> bool:
        """It was won before."""
        return bool(self.before) and not self.won

    @property
    def mark(self) -> str:
        return "won" if self.won else "LOST, was won" if self.lost_again else "lost"


@dataclass(frozen=True)
class Check(Shown):
    """All of a run, in the order of the file."""

    file: str
    settings: str  # hash of what they were asked under, or what was changed in each conversation's own; "": these
    at: datetime
    outcomes: tuple[Outcome, ...]
    honesty: Honesty

    @property
    def won(self) -> int:
        return sum(each.won for each in self.outcomes)

    @property
    def regressions(self) -> tuple[Outcome, ...]:
        return tuple(each for each in self.outcomes if each.lost_again)

    @property
    def gained(self) -> tuple[Outcome, ...]:
        """Won now, lost in the last run."""
        return tuple(each for each in self.outcomes if each.won and each.before is False)

    @property
    def by_kind(self) -> dict[str, dict[str, int]]:
        groups = {kind: [each for each in self.outcomes if each.kind == kind] for kind in KINDS}
        return {kind: {"won": sum(e.won for e in g), "n": len(g)} for kind, g in groups.items() if g}

    @property
    def line(self) -> str:
        told = f"{self.won} of {len(self.outcomes)} pinned questions won"
        told += f", {len(self.regressions)} lost that were won" if self.regressions else ""
        return told + (f", {len(self.gained)} won anew" if self.gained else "")

    def __repr__(self) -> str:
        return f"<Check of {self.file}: {self.line}>"

    def rows(self) -> list[list[Any]]:
        """Mark, kind, question, where it was lost and why, tokens: for a table; those that count most come first."""
        order = sorted(self.outcomes, key=lambda each: (not each.lost_again, each.won))
        return [[e.mark, e.kind, small(e.question, 80), f"{e.stage}: {e.says}" if e.stage else e.says, e.tokens]
                for e in order]  # fmt: skip

    def _html(self) -> str:
        kinds = {kind: f"{n['won']}/{n['n']}" for kind, n in self.by_kind.items()}
        worth, head = self.honesty.to_dict(), ["", "kind", "question", "why", "tokens"]
        return show.rows(self.line, kinds | worth) + show.table(head, self.rows(), 100)

    def to_dict(self) -> dict[str, Any]:
        figures = {"n": len(self.outcomes), "won": self.won, "regressions": [e.name for e in self.regressions],
                   "by_kind": self.by_kind}  # fmt: skip
        return {"file": self.file, "settings": self.settings, "at": self.at, **figures,
                "honesty": self.honesty.to_dict(),
                "outcomes": [asdict(each) for each in self.outcomes]}  # fmt: skip

    def to_df(self) -> Any:
        """One row a question."""
        import pandas as pd

        return pd.DataFrame([asdict(each) for each in self.outcomes])


# ── all of a file ─────────────────────────────────────────────────────────────────────────────────────


def check(
    store: Store,
    file: Path | None = None,
    *,
    user: str | None = None,
    conversation: str | None = None,
    settings: Settings | None = None,
    changes: Mapping[str, Any] | None = None,
    keep: bool = True,
    accept: bool = False,
) -> Check:
    """Ask the questions of a file (None: the store's own), compared with its last run.

    `settings` and `changes` as in `run`.
    `keep`: this run is written beside the file, for the next one to compare with; what was won stays won there until
    `accept`. Raises RecordingError for a file that cannot be read.
    """
    at = file or file_of(store)
    found = of_conversation(read(at), user, conversation)
    before = won_last(at)
    desk = _Desk(store, settings, dict(changes or {}), StoredVectors(store), _again)
    outcomes = tuple(replace(desk.outcome(each), before=before.get(each.name)) for each in found)
    under = settings.hash if settings else ", ".join(f"{name}={value}" for name, value in (changes or {}).items())
    made = Check(str(at), under, store.clock(), outcomes, desk.worth(outcomes))
    if keep and outcomes and os.access(at.parent, os.W_OK) and not (store.readonly and at == file_of(store)):
        _keep(at, made, before, accept=accept)
    return made


def assert_pinned(
    store: Store, file: Path | None = None, *, settings: Settings | None = None, all_: bool = False
) -> Check:
    """No question that was won is lost; `all_`: every one is won. Raises AssertionError that says where each fell.

    One line in a test: `assert_pinned(Store.open("store"))`. The last run, beside the file, is compared with and not
    changed.
    """
    made = check(store, file, settings=settings, keep=False)
    if not made.outcomes:
        raise AssertionError(f"no question is pinned in {made.file}")
    wrong = [each for each in made.outcomes if not each.won] if all_ else made.regressions
    if wrong:
        told = (f"  {each.name} {each.question!r}: {each.stage}: {each.says}" for each in wrong)
        raise AssertionError("\n".join([f"{len(wrong)} pinned questions are lost", *told]))
    return made


def last_file(file: Path) -> Path:
    return file.with_suffix(LAST)


def won_last(file: Path) -> dict[str, bool]:
    """What was won in the last run, by the question's name."""
    beside = last_file(file)
    if not beside.exists():
        return {}
    try:
        raw = json.loads(beside.read_text("utf-8"))
        if raw["version"] > VERSION:
            raise RecordingError(f"{beside} is of version {raw['version']}; this program knows up to {VERSION}")
        return {str(name): bool(won) for name, won in raw["won"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordingError(
            f"{beside} is no outcome of pinned questions ({error}): delete it to begin anew"
        ) from error


def _keep(file: Path, made: Check, before: Mapping[str, bool], *, accept: bool) -> None:
    won = {each.name: each.won or (each.lost_again and not accept) for each in made.outcomes}
    asked = {each.name for each in read(file)}
    kept = {name: value for name, value in {**before, **won}.items() if name in asked}
    raw = {"version": VERSION, "at": made.at.isoformat(), "settings": made.settings, "won": kept}
    beside = last_file(file)
    new = beside.with_name(f"{beside.name}.{os.getpid()}.new")
    new.write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8", newline="\n")
    new.replace(beside)


# ── asking ────────────────────────────────────────────────────────────────────────────────────────────


Again = Callable[[Store, Scope, Settings], Replay]


def _again(store: Store, scope: Scope, settings: Settings) -> Replay:
    return replay((store, scope), settings)


def run(
    store: Store, questions: Iterable[Pinned], *, settings: Settings | None = None,
    changes: Mapping[str, Any] | None = None, vectors: VectorSource | None = None, again: Again = _again,
) -> list[Outcome]:  # fmt: skip
    """Ask each, and change nothing. `settings`: as if the conversation had been held under these from its beginning.

    `changes`: the same with each conversation's own settings, but for these. `again` replays a conversation: for who
    has the replay already. Raises BadSetting.
    """
    desk = _Desk(store, settings, dict(changes or {}), vectors or StoredVectors(store), again)
    return [desk.outcome(each) for each in questions]


@dataclass(frozen=True, slots=True)
class Moved:
    """One pinned question under two settings."""

    asked: Pinned
    before: Outcome
    after: Outcome

    @property
    def is_won(self) -> bool:
        return self.after.won and not self.before.won

    @property
    def is_lost(self) -> bool:
        return self.before.won and not self.after.won


def between(store: Store, before: Replay, after: Replay) -> tuple[Moved, ...]:
    """The questions pinned onto this conversation, asked in both replays of it."""
    recording = before.recording
    asked = of_conversation(read(file_of(store)), recording.user, recording.conversation)
    return moved(asked, *(asked_in(store, each, asked) for each in (before, after)))


def asked_in(store: Store, replayed: Replay, asked: Iterable[Pinned]) -> list[Outcome]:
    """These questions, as if the conversation had been held as in this replay of it."""
    return run(store, asked, settings=replayed.settings, again=lambda *_: replayed)


def moved(asked: Iterable[Pinned], before: Iterable[Outcome], after: Iterable[Outcome]) -> tuple[Moved, ...]:
    return tuple(Moved(*all_) for all_ in zip(asked, before, after, strict=True))


def worth(moved: Sequence[Moved], replayed: Replay) -> Honesty:
    """Of questions pinned onto one conversation, as they were asked in this replay: the later one."""
    read = [each.after.tokens for each in moved if each.after.tokens] or [0]
    pages = replayed.state.pages.values()
    return Honesty(
        len(moved), 1, replayed.settings.recall_k, len(pages), (min(read), max(read)), sum(p.tokens for p in pages)
    )


def winning(
    store: Store, asked: Pinned, settings: Settings, changes: Iterable[Mapping[str, Any]], again: Again = _again
) -> Mapping[str, Any] | None:
    """The first of these changes under which the question is won; None: none of them, or they cannot be made."""
    for change in changes:
        try:
            under = settings.but(**change)
            (outcome,) = run(store, [asked], settings=under, again=again)
        except EngineError:  # no such settings, no room: no answer either
            continue
        if outcome.won:
            return change
    return None


def worth_trying(settings: Settings) -> list[dict[str, Any]]:
    """What most often brings back what was lost, the smallest change first: one that only asks for more pages."""
    s = settings
    more = [{"recall_k": k} for k in (s.recall_k + 1, s.recall_k + 3, s.recall_k + 6)]
    # What is found comes only as far as pages may come in at all.
    tries: list[dict[str, Any]] = [k if k["recall_k"] <= s.page_ins else k | {"page_ins": k["recall_k"]} for k in more]
    tries += [{"min_coverage": round(s.min_coverage * share, 2)} for share in (0.5, 0) if s.min_coverage]
    tries += [{"min_margin": round(s.min_margin * share, 2)} for share in (0.5, 0) if s.min_margin]
    tries += [{"facts_tokens": max(400, s.facts_tokens * 2)}, {"window_tokens": s.window_tokens * 2}]
    return tries


@dataclass
class _Desk:
    """What questions of the same place share: the state that is asked, its index."""

    store: Store
    settings: Settings | None
    changes: Mapping[str, Any]
    vectors: VectorSource
    again: Again
    _cases: dict[tuple[Any, ...], Case] = field(default_factory=dict)
    _replays: dict[Scope, Replay] = field(default_factory=dict)

    def outcome(self, asked: Pinned) -> Outcome:
        try:
            case = self._case(asked)
            done = case.rehearsal.run()
        except BadSetting:  # of whoever asks, not of the question
            raise
        except EngineError as error:
            return _outcome(asked, ("written", str(error)))
        return judged(asked, case, done)

    def worth(self, outcomes: Sequence[Outcome]) -> Honesty:
        """Of what was asked here. Candidates are the pages of a conversation, in the window or not."""
        grounds = [each.before for each in self._cases.values() if each.before.pages]
        pages = [len(state.pages) for state in grounds]
        corpus = [sum(page.tokens for page in state.pages.values()) for state in grounds]
        read = [each.tokens for each in outcomes if each.tokens] or [0]
        return Honesty(
            len(outcomes), len({(each.user, each.conversation) for each in outcomes}),
            max((state.settings.recall_k for state in grounds), default=0), sum(pages) / max(1, len(pages)),
            (min(read), max(read)), round(sum(corpus) / max(1, len(corpus))),
        )  # fmt: skip

    def _case(self, asked: Pinned) -> Case:
        expected = looked_for((asked.expect or asked.never or (asked.question,))[0])
        case = self._ground(asked, expected)
        by_itself = Request(question=asked.question, by="user")
        return replace(case, question=asked.question, expected=expected, recalls=(by_itself,))

    def _ground(self, asked: Pinned, expected: Expected) -> Case:
        key = (asked.user, asked.conversation, asked.turn, asked.is_apart)
        if key not in self._cases:
            scope = self.store.main_run(asked.user, asked.conversation)
            case = open_case(self.store, scope, expected, asked.question, asked.turn or None, self.vectors)
            case = replace(case, recorded=None, scope=scope.at(LIVE))
            settings = self.settings or self.store.state(scope).settings.but(**self.changes)
            if asked.is_apart:
                case = self._apart(case, settings if self.settings or self.changes else case.before.settings)
            elif self.settings is not None or self.changes:
                case = self._under(case, scope, settings, asked.turn)
            finder = Finder.of(case.before, case.words, self.vectors)
            self._cases[key] = replace(case, finder=finder, facts=FactFinder(case.words))
        return self._cases[key]

    def _apart(self, case: Case, settings: Settings) -> Case:
        """In a conversation that begins with the question."""
        journal = MemoryJournal(State(), case.texts, lambda: case.now)
        pager = Pager(journal, clock=lambda: case.now)
        pager.start(settings)
        pager.commit()
        scope = replace(case.scope, conversation=ASIDE)
        return replace(case, scope=scope, before=pager.state, texts=ChainMap(journal.texts, dict(case.texts)))

    def _under(self, case: Case, scope: Scope, settings: Settings, turn: int) -> Case:
        """The conversation replayed under other settings."""
        if scope not in self._replays:
            self._replays[scope] = self.again(self.store, scope, settings)
        done = self._replays[scope]
        last = [step for step in done.steps if not turn or step.first_turn <= turn][-1]
        return replace(case, before=last.state, texts=ChainMap(dict(done.texts), dict(case.texts)))


# ── judging ───────────────────────────────────────────────────────────────────────────────────────────


def judged(asked: Pinned, case: Case, done: Rehearsed) -> Outcome:
    """By the last prompt of the rehearsed step."""
    held = _evidence(asked, case, done)
    if asked.kind == IRRELEVANT:
        fell = _brought(asked, done)
    else:
        fell = _missing(asked, case, done, held) or (_stale if asked.kind == UPDATE else _forbidden)(asked, done)
    return _outcome(asked, fell, done, len(held))


def _outcome(
    asked: Pinned, fell: tuple[str, str] | None, done: Rehearsed | None = None, evidence: int = 0
) -> Outcome:
    stage, says = fell or ("", "")
    tokens = done.step.prompts[-1].tokens if done else 0
    came = len(done.step.all(PagePagedIn)) if done else 0
    return Outcome(
        asked.name, asked.question, asked.kind, asked.user, asked.conversation, fell is None, stage, says, tokens,
        came, evidence, len(asked.evidence),
    )  # fmt: skip


def _evidence(asked: Pinned, case: Case, done: Rehearsed) -> set[int]:
    """Labelled turns whose words stand in the prompt."""
    if asked.is_apart:
        return set()
    texts = {
        t.text: turn for turn in asked.evidence for p in case.before.pages_of(turn) for t in p.turns if t.number == turn
    }
    return {texts[place.text] for place in places(done.step, texts.__contains__)}


def _missing(asked: Pinned, case: Case, done: Rehearsed, held: Collection[int]) -> tuple[str, str] | None:
    """The first thing expected that no part of the prompt holds, and where the best that has it fell."""
    for words in asked.expect:
        expected = looked_for(words)
        if not places(done.step, holding(expected, done.words)):
            return _fell(replace(case, expected=expected), words)
    lacking = sorted(set(asked.evidence).difference(held)) if not asked.expect else []
    return ("ranked", f"turn {', '.join(map(str, lacking))} is not in the prompt") if lacking else None


def _fell(case: Case, words: str) -> tuple[str, str]:
    carried = carriers(case)
    if not carried:
        return "written", f"nothing that may be read here says “{words}”"
    best = carried[0]
    return best.stage, f"“{words}” on {best.name}: {best.why}" if best.why else f"“{words}” on {best.name}"


def _forbidden(asked: Pinned, done: Rehearsed) -> tuple[str, str] | None:
    for words in asked.never:
        found = places(done.step, holding(looked_for(words), done.words))
        if found:
            return "prompt", f"“{words}” stands at {', '.join(dict.fromkeys(map(str, found)))}"
    return None


def _brought(asked: Pinned, done: Rehearsed) -> tuple[str, str] | None:
    """What came for the sake of the question; what is always told, and what is still in the window, did not."""
    came = list(dict.fromkeys(f"p{b.page}" for b in done.step.all(PagePagedIn)))
    placed = done.step.placed.facts if done.step.placed else ()
    came += [f"f{each.fact}" for each in placed if not each.stage and each.why == "match"]
    if came:
        return "ranked", f"{', '.join(came)} came{_passed(done)}"
    return _forbidden(asked, done)


def _passed(done: Rehearsed) -> str:
    """By how much the pages passed the thresholds."""
    search = next(reversed(done.step.all(PagesRetrieved)), None)
    told = [f"{name} {value:g}" for name, value in (search.thresholds if search else {}).items()]
    return f" ({', '.join(told)})" if told else ""


def _stale(asked: Pinned, done: Rehearsed) -> tuple[str, str] | None:
    """An old value that nothing calls old, and that no new one follows: whoever reads to the end takes it for true.

    Recalled pages stand between marks with their dates (exposure.py); a part that says both tells of the change.
    """
    new = [holding(looked_for(words), done.words) for words in asked.expect]
    for words in asked.never:
        old = holding(looked_for(words), done.words)
        at = ""
        for section, head, text, name in _parts(done):
            is_new = any(holds(text) for holds in new)
            if is_new and section != "facts":
                at = ""
            elif old(text) and not is_new and not _marked(section, head, done):
                at = name
        if at:
            return "superseded", f"the old “{words}” stands at {at}, and nothing after it says the new one"
    return None


def _marked(section: str, head: int, done: Rehearsed) -> bool:
    if section == "facts":
        return any(told in done.words(head) for told in SAID_TO_END)
    return section == "recalled"


def _parts(done: Rehearsed) -> Sequence[tuple[str, int, int, str]]:
    """What the model reads, in order: section, id of what stands before a fact, id of the words, name."""
    found: list[tuple[str, int, int, str]] = []
    for row in done.step.prompts[-1].messages:
        message = Message.of_row(row)
        if message.section == "facts":  # after the opening each fact has two parts, its name and its words (known.py)
            pairs = zip(message.parts[1::2], message.parts[2::2], strict=False)
            found += [("facts", head, text, "the facts") for head, text in pairs]
        elif message.section in READ and message.section != "new":
            name = f"p{message.page} ({message.section})" if message.page else message.section
            found += [(message.section, 0, text, name) for text in message.parts]
    return found
