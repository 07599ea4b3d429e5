"""What turns hold that is worth keeping, by a model: one call over those that wait, after the reply, as a job.

What the model proposes passes the guard of revision.py; an answer that cannot be read stays in the ledger with its raw
words, and the rules read the turns instead. So no turn is left out, whatever a model says.
"""

from __future__ import annotations

from collections.abc import Sequence

from memory import drawing
from memory.drawing import Drawn, draw
from memory.facts import Candidate, Proposal
from memory.keywords import Ask, Unreadable
from memory.longterm import Heard, LongTerm

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
    drawn: dict[int, list[tuple[Candidate, Proposal | None]]] = {}
    for each in told.drawn:
        drawn.setdefault(each.turn, []).append((each.candidate, _proposal(each, llm)))
    memory.learn_drawn(turns, drawn, [(r.reason, r.row) for r in told.refused], by=llm, seen=k.version)
    return ""


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


def _proposal(drawn: Drawn, llm: str) -> Proposal | None:
    return Proposal(drawn.action, int(drawn.target[1:]), llm) if drawn.target else None
