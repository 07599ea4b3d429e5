"""Two prompts side by side: what changed, grouped by cause, above the words that differ.

Any two turns of one run, or a turn in two runs. A change is of a thing (a fact, a stub, a recalled page, a message),
not of a line: what came because page 7 was recalled stands under that recall. Why is read from the log between the
two; across runs it is what each run did with the page, and the settings in which they differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any

from memory import show
from memory.errors import NotFound
from memory.events import (
    Event,
    FactsPlaced,
    GuestLeft,
    ModelCalled,
    PageEvicted,
    PagePagedIn,
    PagesRecalled,
    PromptAssembled,
)
from memory.knowledge import Change as KnowledgeChange
from memory.knowledge import Knowledge
from memory.prompt import Message
from memory.scope import Scope
from memory.show import Shown, small
from memory.state import State
from memory.stores.sql import Store

LONGEST = 4_000  # words of one text that are compared; a longer one is shown as replaced
CONTEXT = 240  # characters kept of a stretch that is the same

_TOKEN = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff]|[^\W\u2e80-\u9fff\uf900-\ufaff]+|\s+|[^\w\s]")
_FACT = re.compile(r"^(f\d+) \(")
_STUB = re.compile(r"\[(p\d+(?:-p\d+)?)(?::[^\]\n]*)?\]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of words: the same on both sides, only before, or only after."""

    kind: str  # same, gone, new
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is in one prompt and not, or otherwise, in the other."""

    kind: str  # gone, new, changed
    section: str
    name: str  # p7, f12, turn 90; "" for the system prompt
    before: str
    after: str
    tokens: int  # more, or less than 0: fewer
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Cause:
    """Why; `kind` names a sentence, `values` what it says."""

    kind: str
    values: Mapping[str, Any]
    changes: tuple[Change, ...]
    seq: int = 0

    @property
    def tokens(self) -> int:
        return sum(change.tokens for change in self.changes)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two prompts."""

    scope: Scope
    turn: int
    step: int
    tokens: int
    sections: Mapping[str, int]
    cost_usd: float | None
    llm: str
    settings_hash: str
    user_version: int  # of what was known about the user


@dataclass(frozen=True)
class DiffView(Shown):
    a: Side
    b: Side
    causes: tuple[Cause, ...]  # the heaviest first
    same: int  # things that stand in both
    settings: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)  # in which the two differ

    @property
    def changes(self) -> int:
        return sum(len(cause.changes) for cause in self.causes)

    def __repr__(self) -> str:
        moved = self.b.tokens - self.a.tokens
        return (
            f"<Diff of turn {self.a.turn} ({self.a.scope.run}) and turn {self.b.turn} ({self.b.scope.run}): "
            f"{self.changes} changes of {len(self.causes)} causes, {moved:+,} tokens>"
        )

    def _html(self) -> str:
        rows = [
            [told(cause), {"gone": "−", "new": "+", "changed": "±"}[c.kind], c.section, c.name, f"{c.tokens:+,}",
             small(c.after or c.before, 120)]
            for cause in self.causes for c in cause.changes
        ]  # fmt: skip
        return f"<code>{show.text(repr(self))}</code>" + show.table(["why", "", "in", "what", "tokens", "words"], rows)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_df(self) -> Any:
        """One row a change."""
        import pandas as pd

        return pd.DataFrame([{"cause": told(cause), **asdict(c)} for cause in self.causes for c in cause.changes])


CAUSES = {
    "recalled": "{page} was recalled by “{question}”",
    "recalled_by_name": "{page} was recalled by its name",
    "guest_left": "{page} was a guest of one step",
    "evicted": "{page} left: {policy} {score:g}, {why}",
    "fact_changed": "{fact}: {cause}, {why}",
    "fact_superseded": "{fact} superseded by {by}: {why}",
    "fact_asked": "{fact} answers the message",
    "fact_not_asked": "{fact} is not asked for any more: {why}",
    "said": "said since",
    "stubs": "bookmarks were arranged for another message",
    "settings": "other settings: {names}",
    "instructions": "the instructions are others",
    "other": "not told by the log",
}  # fmt: skip


def told(cause: Cause) -> str:
    """The cause in a sentence, for where there is no catalogue of words."""
    return CAUSES[cause.kind].format(**cause.values)


def diff(store: Store, a: Scope, turn_a: int, b: Scope, turn_b: int) -> DiffView:
    """The prompts that were read at two turns. Raises NotFound for a turn without one.

    Each is the last prompt of its turn's step.
    """
    if (a.user, a.conversation) != (b.user, b.conversation):
        raise NotFound(f"a diff is of one conversation; {a} and {b} are two")
    one, other = _read(store, a, turn_a), _read(store, b, turn_b)
    # Each in its own words: two replays in memory give the same ids to what they made themselves.
    before = _things(one.prompt, store.words(a, sorted(_ids(one))))
    after = _things(other.prompt, store.words(b, sorted(_ids(other))))
    log = _between(store, one, other)
    explain = _Explained(store, one, other, log, store.words(a, sorted(_questions(log))))
    groups: dict[tuple[str, str], list[Change]] = {}
    causes: dict[tuple[str, str], tuple[str, Mapping[str, Any], int]] = {}
    for change, thing in _changes(before, after):
        kind, values, seq = explain.why(change, thing)
        key = (kind, repr(sorted(values.items())))
        causes[key] = (kind, values, seq)
        groups.setdefault(key, []).append(change)
    found = [Cause(causes[key][0], causes[key][1], tuple(group), causes[key][2]) for key, group in groups.items()]
    same = sum(1 for key in before if key in after and before[key].text == after[key].text)
    return DiffView(
        one.side, other.side, tuple(sorted(found, key=lambda c: -sum(abs(x.tokens) for x in c.changes))), same,
        _settings(one.state, other.state),
    )  # fmt: skip


# ── the two prompts ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Read:
    scope: Scope
    turn: int
    version: int
    state: State
    prompt: PromptAssembled
    side: Side


def _read(store: Store, scope: Scope, turn: int) -> _Read:
    end = store.version_at(scope, turn)
    state = store.state(scope, end)
    start = store.version_at(scope, state.user_turn - 1) if state.user_turn > 1 else 0
    events = [e for e in store.events(scope, after=start, upto=end) if e.step == state.step]
    prompts = [e.body for e in events if isinstance(e.body, PromptAssembled)]
    if not prompts:
        raise NotFound(f"turn {turn} of {scope} has no prompt; a recording has none, and neither has a step cut short")
    calls = [e.body for e in events if isinstance(e.body, ModelCalled) and e.body.task == "reply"]
    costs = [c.cost_usd for c in calls]
    side = Side(
        scope=scope,
        turn=turn,
        step=state.step,
        tokens=prompts[-1].tokens,
        sections=dict(prompts[-1].sections),
        cost_usd=None if not costs or None in costs else sum(c or 0.0 for c in costs),
        llm=calls[-1].llm if calls else state.settings.llm,
        settings_hash=state.settings.hash,
        user_version=state.known_version,
    )
    return _Read(scope, turn, end, state, prompts[-1], side)


def _ids(read: _Read) -> set[int]:
    return {part for row in read.prompt.messages for part in Message.of_row(row).parts}


def _settings(a: State, b: State) -> dict[str, tuple[Any, Any]]:
    one, other = a.settings.to_dict(), b.settings.to_dict()
    return {name: (one[name], other[name]) for name in one if one[name] != other.get(name)}


@dataclass(frozen=True, slots=True)
class _Thing:
    """What can be in a prompt or not: found again in the other prompt by its key."""

    section: str
    name: str
    text: str
    tokens: int
    page: int = 0


def _things(prompt: PromptAssembled, texts: Mapping[int, str]) -> dict[tuple[str, str], _Thing]:
    found: dict[tuple[str, str], _Thing] = {}
    for row in prompt.messages:
        message = Message.of_row(row)
        for key, thing in _of_message(message, "".join(texts.get(p, "") for p in message.parts)):
            twin = key
            n = 2
            while twin in found:  # the same words said twice
                twin, n = (key[0], f"{key[1]} ({n})"), n + 1
            found[twin] = thing
    return found


def _of_message(message: Message, text: str) -> Iterator[tuple[tuple[str, str], _Thing]]:
    match message.section:
        case "facts":
            lines = text.split("\n")
            for line in lines:
                if named := _FACT.match(line):
                    yield ("facts", named[1]), _Thing("facts", named[1], line, _share(message, line, text))
        case "stubs":
            for line in text.split("\n"):
                if named := _STUB.match(line):
                    yield ("stubs", named[1]), _Thing("stubs", named[1], line, _share(message, line, text))
        case "recalled" if not message.page:  # by a memory of the application's own
            yield ("recalled", text), _Thing("recalled", "", text, message.tokens)
        case "recalled":
            name = f"p{message.page}"
            yield ("recalled", name), _Thing("recalled", name, text, message.tokens, message.page)
        case "resident" | "new":  # a message that stays is the same thing when its page closes
            key = f"{message.role}:{','.join(map(str, message.parts))}"
            yield ("message", key), _Thing(message.section, f"p{message.page}", text, message.tokens, message.page)
        case section:
            yield (section, message.role), _Thing(section, "", text, message.tokens)


def _share(message: Message, line: str, text: str) -> int:
    return round(message.tokens * len(line) / max(1, len(text)))


def _changes(
    before: Mapping[tuple[str, str], _Thing], after: Mapping[tuple[str, str], _Thing]
) -> Iterator[tuple[Change, _Thing]]:
    for key, old in before.items():
        new = after.get(key)
        if new is None:
            yield Change("gone", old.section, old.name, old.text, "", -old.tokens), old
        elif new.text != old.text:
            pieces = tuple(words_diff(old.text, new.text))
            yield Change("changed", new.section, new.name, old.text, new.text, new.tokens - old.tokens, pieces), new
    for key, new in after.items():
        if key not in before:
            yield Change("new", new.section, new.name, "", new.text, new.tokens), new


# ── why ───────────────────────────────────────────────────────────────────────────────────────────────


def _between(store: Store, a: _Read, b: _Read) -> list[Event]:
    """What the log says from the one to the other, the later last; of two runs, what each did up to its turn."""
    if a.scope == b.scope:
        low, high = sorted((a.version, b.version))
        return store.events(a.scope, after=low, upto=high)
    kinds = [k.__name__ for k in (PageEvicted, PagePagedIn, PagesRecalled, GuestLeft, FactsPlaced)]
    return [
        *store.events(a.scope, upto=a.version, kinds=kinds),
        *store.events(b.scope, upto=b.version, kinds=kinds),
    ]


def _questions(log: Iterable[Event]) -> set[int]:
    return {e.body.question for e in log if isinstance(e.body, PagesRecalled)} - {0}


class _Explained:
    """The log between the two, by page and fact."""

    def __init__(self, store: Store, a: _Read, b: _Read, log: Sequence[Event], texts: Mapping[int, str]) -> None:
        self._a, self._b = a, b
        self._left: dict[int, tuple[PageEvicted, int]] = {}
        self._guests: dict[int, int] = {}
        self._recalls: dict[int, tuple[str, int]] = {}
        self._placed: FactsPlaced | None = None
        for event in log:
            body = event.body
            if isinstance(body, PageEvicted):
                self._left[body.page] = (body, event.seq)
            elif isinstance(body, GuestLeft):
                self._guests[body.page] = event.seq
            elif isinstance(body, PagesRecalled):
                self._recalls |= dict.fromkeys(body.came, (small(texts.get(body.question, ""), 80), event.seq))
            elif isinstance(body, FactsPlaced):
                self._placed = body
        self._knowledge = self._known(store)
        self._settings = _settings(a.state, b.state)

    def _known(self, store: Store) -> Knowledge | None:
        low, high = sorted((self._a.side.user_version, self._b.side.user_version))
        return store.knowledge(self._b.scope.user, high) if high and high != low else None

    def why(self, change: Change, thing: _Thing) -> tuple[str, Mapping[str, Any], int]:
        match thing.section:
            case "recalled" if thing.page:
                return self._recalled(change, thing)
            case "facts":
                return self._fact(change)
            case "stubs":
                return self._stub(change, thing)
            case "resident" | "new":
                return self._message(change, thing)
            case "system":
                return self._other("instructions")
            case _:
                return self._other("other")

    def _other(self, kind: str) -> tuple[str, Mapping[str, Any], int]:
        if self._settings:
            return "settings", {"names": ", ".join(self._settings)}, 0
        return kind, {}, 0

    def _recalled(self, change: Change, thing: _Thing) -> tuple[str, Mapping[str, Any], int]:
        if change.kind == "gone" and self._a.scope == self._b.scope:
            return "guest_left", {"page": thing.name}, self._guests.get(thing.page, 0)
        question, seq = self._recalls.get(thing.page, ("", 0))
        if question:
            return "recalled", {"page": thing.name, "question": question}, seq
        return "recalled_by_name", {"page": thing.name}, seq

    def _fact(self, change: Change) -> tuple[str, Mapping[str, Any], int]:
        number, k = int(change.name[1:]), self._knowledge
        low = min(self._a.side.user_version, self._b.side.user_version)
        if k is not None and number in k.facts and k.facts[number].changed_at > low:
            last = max((c for c in k.changes.values() if number in c.facts), key=lambda c: c.number, default=None)
            if last is not None:
                return _changed_by(last, number)
        if change.kind != "gone":
            return "fact_asked", {"fact": change.name}, 0
        dropped = next((f for f in self._placed.facts if f.fact == number), None) if self._placed else None
        return "fact_not_asked", {"fact": change.name, "why": dropped.dropped if dropped else "nothing in common"}, 0

    def _stub(self, change: Change, thing: _Thing) -> tuple[str, Mapping[str, Any], int]:
        page = int(thing.name.partition("-")[0][1:])
        if change.kind == "gone" and page in self._recalls:  # its page came, so its bookmark went
            return self._recalled(replace(change, kind="new"), replace(thing, page=page))
        if change.kind == "new" and page in self._guests and self._a.scope == self._b.scope:
            return "guest_left", {"page": thing.name}, self._guests[page]
        if page in self._left and "-" not in thing.name:
            return self._evicted(page)
        return self._other("stubs")

    def _evicted(self, page: int) -> tuple[str, Mapping[str, Any], int]:
        body, seq = self._left[page]
        values = {"page": f"p{page}", "policy": body.policy, "score": body.score, "why": body.why or body.cause}
        return "evicted", values, seq

    def _message(self, change: Change, thing: _Thing) -> tuple[str, Mapping[str, Any], int]:
        if thing.page in self._left and (change.kind == "gone" or self._a.scope != self._b.scope):
            return self._evicted(thing.page)
        return self._other("other") if self._a.scope != self._b.scope else ("said", {}, 0)


def _changed_by(last: KnowledgeChange, fact: int) -> tuple[str, Mapping[str, Any], int]:
    name = f"f{fact}"
    if last.cause == "supersede" and fact in last.old:
        return "fact_superseded", {"fact": name, "by": f"f{last.new}", "why": last.why}, 0
    cause = "supersedes" if last.cause == "supersede" and fact == last.new else last.cause
    return "fact_changed", {"fact": name, "cause": cause, "why": last.why}, 0


# ── words ─────────────────────────────────────────────────────────────────────────────────────────────


def words_diff(before: str, after: str, *, whole: bool = False) -> Iterator[Piece]:
    """By word, Chinese by character; long stretches that are the same are shortened, unless `whole`.

    >>> [(p.kind, p.text) for p in words_diff("budget is 5,000", "budget is 8,000")]
    [('same', 'budget is '), ('gone', '5'), ('new', '8'), ('same', ',000')]
    """
    a, b = _TOKEN.findall(before), _TOKEN.findall(after)
    if max(len(a), len(b)) > LONGEST:
        yield from (Piece("gone", before), Piece("new", after))
        return
    for kind, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            same = "".join(a[i:j])
            yield Piece("same", same if whole else _shortened(same))
            continue
        if i < j:
            yield Piece("gone", "".join(a[i:j]))
        if k < m:
            yield Piece("new", "".join(b[k:m]))


def _shortened(text: str) -> str:
    half = CONTEXT // 2
    return text if len(text) <= CONTEXT else f"{text[:half]} … {text[-half:]}"
