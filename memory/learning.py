"""What turns hold that is worth keeping, by a model: one call over those that wait, after the reply, as a job.

Where what it draws is like what is known and rules cannot say what becomes of the two, one more call asks about all
such pairs. What the model proposes passes the guard of revision.py; an answer that cannot be read stays in the ledger
with its raw words, and the rules read the turns instead, or decide. So no turn is left out, whatever a model says.
"""

from __future__ import annotations

from collections.abc import Sequence

from memory import drawing, pairs
from memory.drawing import Drawn, draw
from memory.errors import ModelError
from memory.facts import Candidate, Fact, Proposal, key_of, value_digest
from memory.keywords import Ask, Unreadable
from memory.knowledge import Knowledge
from memory.longterm import Heard, LongTerm
from memory.pairs import Judged, Pair, judge
from memory.revision import told_by_rule

MOST = 20  # turns in one call


def learn_by_model(memory: LongTerm, turns: Sequence[Heard], ask: Ask, llm: str) -> str:
    """Look at the turns, the oldest first. Returns why the model's answer could not be used, "" if it could.

    Raises ModelError where the model cannot be asked; the turns then still wait.
    """
    k = memory.knowledge
    told = drawing_of(memory, turns, ask)
    if isinstance(told, Unreadable):
        memory.note_unread(turns[-1], by=llm, reason=told.reason, raw=told.raw, seen=k.version)
        memory.learn(turns, k.version)
        return told.reason
    found = doubtful_pairs(memory, k, told.drawn)
    verdicts, unread = _judged(memory, turns, told.drawn, found, ask, llm)
    drawn: dict[int, list[tuple[Candidate, Proposal | None]]] = {}
    for nth, each in enumerate(told.drawn):
        verdict = verdicts.verdicts.get(_name(nth))
        proposal = verdict and Proposal(verdict.action, found[nth].id, llm, verdict.text)
        drawn.setdefault(each.turn, []).append((each.candidate, proposal or _proposal(each, llm)))
    refused = [(r.reason, r.row) for r in (*told.refused, *verdicts.refused)]
    memory.learn_drawn(turns, drawn, refused, by=llm, seen=k.version)
    return unread


def drawing_of(memory: LongTerm, turns: Sequence[Heard], ask: Ask) -> drawing.Drawing | Unreadable:
    """What the model draws; the facts that have most to do with the turns are offered with them."""
    k = memory.knowledge
    said = " ".join(turn.words for turn in turns if turn.role == "user")
    covered = memory.finder.coverage(k, said)
    near = sorted(covered, key=lambda n: sum(covered[n].values()))
    facts = [k.facts[n] for n in near if k.facts[n].open and k.facts[n].layer != "working"]
    known = {fact.name: memory.words(fact.text) for fact in facts}
    heard = [drawing.Heard(t.turn, t.role, t.words, t.said_at, t.speaker) for t in turns]
    return draw(heard, known, ask)


def doubtful_pairs(memory: LongTerm, k: Knowledge, drawn: Sequence[Drawn]) -> dict[int, Fact]:
    """By its place among the drawn, the known fact that it may be one with, and rules cannot tell.

    Only what the model drew as news: what it named a target for has its verdict.
    """
    found: dict[int, Fact] = {}
    for nth, each in enumerate(drawn):
        fact = None if each.doubt or each.target else _like(memory, k, each.candidate)
        if fact is not None and len(found) < pairs.MOST:
            found[nth] = fact
    return found


def _like(memory: LongTerm, k: Knowledge, new: Candidate) -> Fact | None:
    """The one that is most like it; None where there is none, or rules know what becomes of the two."""
    key = key_of(new)
    if not key:
        near = [(f, words) for f, words in memory.finder.near(k, new) if f.open and f.readable_in(memory.conversation)]
        near = [each for each in near if each[0].subject == 0 or memory.words(each[0].subject) == new.subject]
        return None if any(told_by_rule(new.text, words) for _, words in near) else near[0][0] if near else None
    if new.single or new.negated:
        return None
    of_key = [f for f in k.by_key.get(key, ()) if f.open and f.readable_in(memory.conversation) and not f.negated]
    if any(f.value_key == value_digest(new.value) for f in of_key):
        return None
    like = (f for f in reversed(of_key) if not f.single and pairs.alike(memory.words(f.value), new.value))
    return next(like, None)


def _judged(
    memory: LongTerm, turns: Sequence[Heard], drawn: Sequence[Drawn], found: dict[int, Fact], ask: Ask, llm: str
) -> tuple[Judged, str]:
    """The model's verdicts, and why none can be used: then the rules decide, and the ledger says so."""
    said = {turn.turn: str(turn.said_at.date()) for turn in turns}
    asked = [
        Pair(_name(nth), f.name, memory.text(f), str(f.since_when.date()), drawn[nth].candidate.text,
             said[drawn[nth].turn], bool(f.key))
        for nth, f in found.items()
    ]  # fmt: skip
    try:
        told = judge(asked, ask)
    except ModelError as error:  # what was drawn is not lost for it
        told = Unreadable((), str(error), "")
    if isinstance(told, Judged):
        return told, ""
    reason = f"no verdict on {len(asked)} that are like what is known: {told.reason}"
    memory.note_unread(turns[-1], by=llm, reason=reason, raw=told.raw, seen=memory.knowledge.version)
    return Judged({}), reason


def _name(nth: int) -> str:
    return f"n{nth + 1}"


def _proposal(drawn: Drawn, llm: str) -> Proposal | None:
    return Proposal(drawn.action, int(drawn.target[1:]), llm) if drawn.target else None
