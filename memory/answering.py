"""What people ask of their memory in a message, done and answered: `handle`, before a model is called.

Forgetting here means that a fact holds no more; no message ever erases words: the reply says how that is done. Where a
correction fits two facts nothing is changed, and the reply asks which. Where it fits none, or the message may mean
something else, the answer is None and the message goes its usual way. What is recognised stands in people.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory.attributes import KIN, attribute_of
from memory.errors import BadMessage, NotFound, UndoRefused
from memory.events import FactsPlaced
from memory.fact_events import Outcome, TurnRemembered
from memory.facts import BEGINNING, Candidate, Fact
from memory.language import is_cjk, terms
from memory.people import ALL, CORRECT, FORGET, PAUSE, RECALL, RESUME, UNDO, Act, asked
from memory.scope import Scope
from memory.show import many, small
from memory.topic import Topic

if TYPE_CHECKING:
    from memory.longterm import Heard, LongTerm
    from memory.stores.sql import Store

MOST = 20  # facts in one reply
WEIGHT = 0.9  # of what somebody asked to have remembered
LOOK_BACK = 300  # placements looked through for the last use of a fact
BY = "the user's word"

_BARE = re.compile(r"[$€£¥]?\d[\d.,]*\s?(?:k|万|千)?")
_FIGURE = re.compile(r"(\D*?)\d[\d.,]*(\D*)")
_AROUND = re.compile(
    r"^(?:(?:my|the|our|any|old|new|current|previous|former|that|this|所有|我们?的?|旧的?|新的?) ?)+", re.IGNORECASE
)
_KINDS = {
    "time": re.compile(r"\d{1,2}:\d\d|\b\d{1,2} ?(?:am|pm|o'clock)\b|[\d一二三四五六七八九十]点", re.IGNORECASE),
    "date": re.compile(
        r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\btomorrow\b|\d{4}-\d\d"
        r"|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b"
        r"|星期|礼拜|周[一二三四五六日天]|\d月|\d[日号]",
        re.IGNORECASE,
    ),
    "number": re.compile(r"\d|[一二三四五六七八九十百千万]{2,}"),
}


def handle(message: str, memory: LongTerm, heard: Heard | None = None) -> str | None:
    """The reply to a message that asks something of the memory, which is then done; None where it asks nothing.

    `heard`: the turn that the message is. It then counts as looked at, and is not searched for facts once more.
    """
    act = asked(message)
    if act is None:
        return None
    reply = answer(act, memory, heard.before if heard else "")
    if reply is not None and heard is not None and act.kind != RECALL:
        _note(memory, heard, act)
    return reply


def answer(act: Act, memory: LongTerm, before: str = "") -> str | None:
    """Carry it out and say what was done; None where it does not mean the memory after all.

    `before`: the reply that the message follows; "undo that" is said of the change that it tells of.
    """
    try:
        if act.kind == RECALL:
            return _recall(act, memory)
        if act.kind == CORRECT:
            return _correct(act, memory)
        if act.kind == FORGET:
            return _forget(act, memory)
        if act.kind == UNDO:
            return _undo(act, memory, before)
        if act.kind in (PAUSE, RESUME):
            return _switch(act, memory)
        return _remember(act, memory)
    except NotFound as error:  # f99
        return _say(act, f"I cannot do that: {error}.", f"做不到：{error}。")


def _say(act: Act, english: str, chinese: str) -> str:
    return chinese if act.chinese else english


def _note(memory: LongTerm, heard: Heard, act: Act) -> None:
    """One line for the write ledger."""
    outcome = (Outcome("none", f"a word to the memory itself: {act.kind}"),)
    memory.commit(lambda k: [TurnRemembered(heard.conversation, heard.turn, BY, outcome, k.version, memory.clock())])


# ── what do you remember? ─────────────────────────────────────────────────────────────────────────────


def _recall(act: Act, memory: LongTerm) -> str | None:
    found = about(memory, act.about) if act.about else memory.facts()
    if not act.clear and not any(_is_of(memory, fact, act.about) for fact in found):
        return None  # "what do you know about Python?"
    if act.about and not found:
        found = list(memory.query(act.about, 5).found)
    if not found:
        english = f"I remember nothing about {act.about}." if act.about else "I remember nothing about you so far."
        return _say(act, english, f"关于{act.about or '你'}，我什么都不记得。")
    used = last_uses(memory.store, memory.user, [f.id for f in found[:MOST]])
    lines = [_line(act, memory, fact, used.get(fact.id)) for fact in found[:MOST]]
    more = len(found) - len(lines)
    if more:
        lines.append(_say(act, f"… and {more} more: ask about one thing.", f"……还有{more}条：可以只问一件事。"))
    head = _say(act, f"I remember {many(len(found), 'fact')}:", f"我记得{len(found)}条：")
    name = found[0].name
    tail = _say(
        act,
        f'"{name} should be …" corrects one, "forget {name}" ends it.',
        f"“{name}应该是……”可以更正，“忘掉{name}”可以作废。",
    )
    return "\n".join([head, *lines, tail])


def _line(act: Act, memory: LongTerm, fact: Fact, used: tuple[str, int] | None) -> str:
    """`- f2: The user's budget is 8000. Since 2026-03-02. You said: “…” (trip, turn 5). Last used in trip, step 9.`"""
    parts = [f"- {fact.name}: {small(memory.text(fact), 200).rstrip('.。')}"]
    if fact.since > BEGINNING:
        day = fact.since_when.date()
        parts.append(_say(act, f"Since {day}", f"自{day}"))
    if conflict := memory.knowledge.conflict_of(fact.id):
        others = ", ".join(f"f{n}" for n in memory.knowledge.sides(conflict) if n != fact.id)
        parts.append(_say(act, f"Undecided against {others}", f"与{others}矛盾，尚未决定"))
    for source, words in memory.quotes(fact)[-1:]:
        where, turn = source.conversation, source.turn
        place = _say(act, f" ({where}, turn {turn})", f"（{where}，第{turn}句）") if turn else ""
        said = f"“{small(words, 120)}”{place}"
        parts.append(_say(act, f"You said: {said}", f"你说过：{said}"))
    if used:
        parts.append(_say(act, f"Last used in {used[0]}, step {used[1]}", f"上次用于{used[0]}第{used[1]}步"))
    return ". ".join(parts) + "." if not act.chinese else "。".join(parts) + "。"


def last_uses(store: Store, user: str, facts: Sequence[int]) -> dict[int, tuple[str, int]]:
    """By fact, the conversation and step whose prompt held it last, as far as the newest placements of each tell."""
    wanted = set(facts)
    found: dict[int, tuple[int, str, int]] = {}
    for stream in store.streams(user):
        for event in store.newest(stream, FactsPlaced.__name__, LOOK_BACK):
            assert isinstance(event.body, FactsPlaced)
            placed = {p.fact for p in event.body.facts if not p.stage}
            for number in placed & wanted:
                known = found.get(number)
                if known is None or known[0] < event.seq:
                    found[number] = (event.seq, stream.scope.conversation, event.step)
    return {number: (conversation, step) for number, (_, conversation, step) in found.items()}


def about(memory: LongTerm, what: str) -> list[Fact]:
    """Facts that hold and are about this: its attribute's name, or all of its words in theirs."""
    attribute = attribute_of(_AROUND.sub("", what))
    wanted = set(terms(_AROUND.sub("", what)))
    topic = Topic.of(_AROUND.sub("", what)) if is_cjk(what) and wanted else None
    found = []
    for fact in memory.facts():
        own = memory.words(fact.attribute) if fact.attribute else ""
        words = " ".join([memory.text(fact), own, memory.words(fact.value), memory.words(fact.tags)])
        if own == attribute or (wanted and wanted <= set(terms(words))) or (topic is not None and words in topic):
            found.append(fact)
    return [*found, *_of_those(memory, found)]


def _of_those(memory: LongTerm, found: Sequence[Fact]) -> list[Fact]:
    """What is known of the people whom these facts name: of Kate, where she is the sister."""
    named = {memory.words(f.value) for f in found if f.attribute and memory.words(f.attribute) in KIN and not f.negated}
    others = (f for f in memory.facts() if f.subject and f not in found)
    return [f for f in others if memory.words(f.subject) in named]


def _is_of(memory: LongTerm, fact: Fact, whom: str) -> bool:
    """Whether the fact is of somebody, or says who somebody is, by name or as what the user calls them."""
    subject, own = (memory.words(i) if i else "" for i in (fact.subject, fact.attribute))
    plain = _AROUND.sub("", whom)
    names = {subject.casefold()} | ({memory.words(fact.value).casefold()} if own in KIN else set())
    return plain.casefold() in names or attribute_of(plain) in KIN & {own, subject.removeprefix("user's ")}


# ── that is wrong ─────────────────────────────────────────────────────────────────────────────────────


def _correct(act: Act, memory: LongTerm) -> str | None:
    fits = _meant(act, memory)
    if not fits:
        return None
    if len(fits) > 1:
        named = "\n".join(f"- {f.name}: {memory.text(f)}" for f in fits[:MOST])
        tell = f'"{fits[0].name} should be {act.value}"'
        english = f"Which one do you mean? Nothing is changed yet; say {tell}, for example.\n{named}"
        return _say(act, english, f"你指的是哪一条？还没有改动；可以说“{fits[0].name}应该是{act.value}”。\n{named}")
    fact = fits[0]
    if not act.value:
        change = memory.retract(fact.id)
        english = f"{fact.name} is taken back: {memory.text(fact)} (change {change.number}; it can be undone)"
        return _say(act, english, f"已撤回{fact.name}：{memory.text(fact)}（第{change.number}次更改，可以撤销）")
    old, new = memory.words(fact.value), like(memory.words(fact.value), act.value)
    if old and " ".join(old.casefold().split()) == " ".join(new.casefold().split()):
        return _say(
            act, f"{fact.name} says so already: {memory.text(fact)}", f"{fact.name}已经是这样：{memory.text(fact)}"
        )
    was, change = memory.text(fact), memory.update(fact.id, new)
    english = (
        f"Corrected: f{change.new}: {memory.text(change.new)} in place of {fact.name}: {was} (change {change.number})"
    )
    return _say(
        act, english, f"已更正：f{change.new}：{memory.text(change.new)}，代替{fact.name}（第{change.number}次更改）"
    )


def _meant(act: Act, memory: LongTerm) -> list[Fact]:
    """The facts that a correction may mean; [] where it means none that is known."""
    if act.fact:
        return [memory.fact(act.fact)]
    pool = [f for f in memory.facts() if f.value and not f.negated]
    if act.about:
        attribute = attribute_of(act.about)
        pool = [f for f in pool if memory.words(f.attribute) == attribute and memory.words(f.subject) == "user"]
    else:
        pool = [f for f in pool if kind_of(memory.words(f.value)) == kind_of(act.value)]
    if act.old:
        return [f for f in pool if _holds(memory.words(f.value), act.old)]
    if act.about:
        return pool if len(pool) < 2 or act.clear else []
    near = _at_hand(memory)
    fits = [f for f in pool if f.id in near]
    return fits or (pool if act.clear and kind_of(act.value) != "text" else [])


def _holds(value: str, old: str) -> bool:
    try:
        return value in Topic.of(old)
    except BadMessage:  # nothing that could be looked for
        return False


def _at_hand(memory: LongTerm) -> set[int]:
    """Facts that stood in the conversation's last prompt, and those that it changed last."""
    k, near = memory.knowledge, set()
    stream = memory.store.stream(Scope(memory.user, memory.conversation)) if memory.conversation else None
    if stream is not None:
        for event in memory.store.newest(stream, FactsPlaced.__name__, 1):
            assert isinstance(event.body, FactsPlaced)
            near |= {p.fact for p in event.body.facts if not p.stage}
    mine = [c for c in k.changes.values() if {k.facts[n].written_in for n in c.facts} & {memory.conversation, "~"}]
    return near | set(mine[-1].facts if mine else ())


def kind_of(value: str) -> str:
    """time, date, number, or text."""
    return next((kind for kind, form in _KINDS.items() if form.search(value)), "text")


def like(old: str, new: str) -> str:
    """A bare figure takes over what stands around the old one.

    >>> like("5,000 euros", "8000"), like("5000", "8000 dollars")
    ('8000 euros', '8000 dollars')
    """
    around = _FIGURE.fullmatch(old)
    if not around or not _BARE.fullmatch(new):
        return new
    return f"{around[1] if new[0].isdigit() else ''}{new}{around[2]}"


# ── forget, remember ──────────────────────────────────────────────────────────────────────────────────


def _forget(act: Act, memory: LongTerm) -> str | None:
    if act.about and ALL.match(act.about):
        n = len(memory.facts())
        english = f"That would be everything, {many(n, 'fact')}. Name a topic, or run `workbench memory forget --all`."
        return _say(act, english, f"那是全部{n}条。请说一个话题，或者运行 `workbench memory forget --all`。")
    found = [memory.fact(n) for n in dict.fromkeys((act.fact, *act.more))] if act.fact else about(memory, act.about)
    found = [f for f in found if f.lasts(memory.clock())]
    if not found:
        if not act.clear:
            return None
        what = f"f{act.fact}" if act.fact else act.about
        return _say(act, f"I remember nothing about {what} that still holds.", f"关于{what}，没有现在还有效的记忆。")
    told = "\n".join(f"- {f.name}: {memory.text(f)}" for f in found[:MOST])
    change = memory.forget(*(f.id for f in found))
    topic = act.about or '" "'.join(f.name for f in found)
    english = (
        f"From now on this holds no more ({many(len(found), 'fact')}; change {change.number}, it can be undone):\n"
        f"{told}\n"
        f'It stays in the history. To take the words out for good: `workbench memory erase "{topic}"`.'
    )
    chinese = (
        f"从现在起不再有效（{len(found)}条；第{change.number}次更改，可以撤销）：\n{told}\n"
        f'历史里还留着。要彻底抹去这些话：`workbench memory erase "{topic}"`。'
    )
    return _say(act, english, chinese)


# ── undo that, stop remembering ───────────────────────────────────────────────────────────────────────

# As the replies above word it: a model's that speaks of "change 3" means something else.
_TOLD_OF = re.compile(
    r"From now on this holds no more \(\d+ facts?; change (\d+),"
    r"|(?:Corrected: |f\d+ is taken back: ).*\(change (\d+)(?:; it can be undone)?\)$"
    r"|从现在起不再有效（\d+条；第(\d+)次更改|(?:已更正|已撤回).*（第(\d+)次更改(?:，可以撤销)?）$",
    re.DOTALL,
)


def _undo(act: Act, memory: LongTerm, before: str) -> str | None:
    found = _TOLD_OF.match(before)
    told = next(int(n) for n in found.groups() if n) if found else 0
    number = act.change or told
    if not number or not (act.clear or number == told):
        return None
    try:
        undone = memory.undo(number)
    except UndoRefused as error:
        return _say(act, f"I cannot undo that: {error}.", f"无法撤销：{error}。")
    here = (f for n in undone.facts if (f := memory.knowledge.facts[n]).readable_in(memory.conversation))
    back = [f for f in here if f.lasts(memory.clock())]
    lines = "".join(f"\n- {f.name}: {memory.text(f)}" for f in back[:MOST])
    return _say(act, f"Change {number} is undone. This holds again:{lines}" if lines else f"Change {number} is undone.",
                f"第{number}次更改已撤销，现在有效的是：{lines}" if lines else f"第{number}次更改已撤销。")  # fmt: skip


def _switch(act: Act, memory: LongTerm) -> str:
    memory.switch(on=act.kind == RESUME)
    if act.kind == RESUME:
        return _say(act, "From now on I remember again.", "从现在起我会继续记忆。")
    english = 'From now on I remember nothing new; what I know stays. "Resume remembering" switches it on again.'
    return _say(act, english, "从现在起我不再记新的内容，已经记得的保留。说“恢复记忆”可以重新打开。")


def _remember(act: Act, memory: LongTerm) -> str:
    if not memory.knowledge.on:
        return _say(act, "Remembering is switched off, so nothing is kept.", "记忆已关闭，什么都不会留下。")
    text = act.about[:1].upper() + act.about[1:] + ("。" if act.chinese else ".")
    outcomes = [o for o in memory.write(text) if o.fact and o.verdict != "quarantined"]
    if not outcomes:
        outcomes = memory.write(Candidate(text, 0, len(text), tags=("intent:remember",), importance=WEIGHT))
    for outcome in outcomes:
        if memory.fact(outcome.fact).importance < WEIGHT:
            memory.mark(outcome.fact, WEIGHT)
    told = "\n".join(f"- f{o.fact}: {memory.text(o.fact)}" for o in outcomes)
    return _say(act, f"I will remember:\n{told}", f"记住了：\n{told}")
