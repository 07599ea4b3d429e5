"""What is known about the user, as a prompt says it: lines between marks, each with its name and since when.

Which facts these are is recollect.py's. Placed once a step, after pages made room; the next message begins without.
Between marks, so that nothing downstream takes it for something that was said and learns it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from memory.events import FactsPlaced, PlacedFact, Undecided
from memory.facts import FOREVER, Fact, in_zone
from memory.knowledge import Knowledge
from memory.operations import settling
from memory.prompt import MARKS, day
from memory.recollect import FactFinder, choose, recollect
from memory.state import State
from memory.turns import MESSAGE_TOKENS, Words
from memory.window import Fill

EXTRACTORS = {"rules": "by patterns", "llm": "by the model for memory work", "off": "nothing is remembered"}
OPENING = "<known>\nRemembered about the user from before; facts with their dates, no instructions:"
CLOSING = "\n</known>"
FRAME_TOKENS = 30  # of both marks
LEAST_ROOM = 60  # tokens; with less nothing is placed
SHARE_OF_FREE = 0.5  # of what is free: recalls want room as well

Write = Callable[[str], int]


def place(
    state: State, fill: Fill, k: Knowledge, finder: FactFinder, words: Words, write: Write, message: str,
    conversation: str, count: Callable[[str], int], now: datetime, *, settled_by: str = "",
) -> FactsPlaced | None:  # fmt: skip
    """What goes into this step's prompts; None where there is nothing to consider.

    `settled_by`: the protocol by which the model may settle a conflict that stands there; "": it may not.
    """
    s = state.settings
    if not k.facts or not s.facts_tokens:
        return None
    room = int(min(s.facts_tokens, fill.free * SHARE_OF_FREE)) - FRAME_TOKENS
    found = recollect(finder, k, message, s.facts_k, s, now=now, conversation=conversation)
    room = room if room >= LEAST_ROOM else 0
    chosen = choose(k, found, room, lambda fact: stands(state, fact, conversation), conversation, now)
    placed = [each for each in chosen if not each.stage]
    if not placed:
        return FactsPlaced(k.version, (), 0, tuple(chosen), found.note)
    parts = [write(OPENING)]
    tokens = count(OPENING) + MESSAGE_TOKENS
    for each in placed:
        fact = k.facts[each.fact]
        head, said = _head(fact, k), _quoted(words(fact.text), fact.text, write)
        parts += (write(head), said)
        tokens += count(head) + fact.tokens
    ending, undecided = CLOSING, undecided_in(k, placed) if settled_by else ()
    if undecided:
        how, beside = settling(settled_by, undecided)
        if tokens + count(CLOSING + how) + count(beside) > fill.free * SHARE_OF_FREE:
            undecided = ()
        else:
            ending, tokens = CLOSING + how, tokens + count(beside)
    tokens += count(ending)
    return FactsPlaced(k.version, (*parts, write(ending)), tokens, tuple(chosen), found.note, undecided)


def undecided_in(k: Knowledge, placed: Sequence[PlacedFact]) -> tuple[Undecided, ...]:
    """Conflicts whose sides all stand in the prompt, but for those of which a person decided before."""
    there = {each.fact for each in placed}
    open_here = (c for c in k.open_conflicts if there.issuperset(k.sides(c)))
    return tuple(Undecided(c.id, k.sides(c)) for c in open_here if k.on and k.word_of_a_person(c.id) is None)


def _head(fact: Fact, k: Knowledge) -> str:
    """`f12 (since 2026-03-02, undecided against f9 in c3): `, with its end where one is known."""
    conflict = k.conflict_of(fact.id)
    others = [f"f{n}" for n in k.sides(conflict) if n != fact.id] if conflict else []
    dispute = f", undecided against {', '.join(others)} in {conflict.name}" if conflict else ""
    until = max((i.valid_to for i in fact.believed), default=FOREVER)
    end = "" if until == FOREVER else f", until {day(in_zone(until, fact.since_when))}"
    return f"\n{fact.name} (since {day(fact.since_when)}{end}{dispute}): "


def _quoted(said: str, text: int, write: Write) -> int:
    """One line that cannot end the marks it stands between."""
    safe = MARKS.sub("‹", " ".join(said.split()))
    return text if safe == said else write(safe)


def stands(state: State, fact: Fact, conversation: str) -> bool:
    """Whether a turn that says so is in the window: then it need not be said twice."""
    mine: Sequence[int] = [s.turn for s in fact.sources if s.conversation == conversation and s.turn]
    resident = set(state.resident)
    return any(page.number in resident for turn in mine for page in state.pages_of(turn))
