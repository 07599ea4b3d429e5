"""Does the newest value win: FactConsolidation's facts through the write path, its questions over the graph, no model.

Each numbered fact is a turn; its number is the time. Extraction reads it, revision decides what it does to what is
known, and a question is answered by the value at the end of the best chain (memory/chains.py), one claim long or more:
it is not told which. Wordings of relations were read off the sentences and the 6k questions; weights were chosen on
6k. While that was done, of the 32k questions only the totals were looked at (notebooks/LOG.md). FactConsolidation
(MemoryAgentBench, of MQuAKE) is not part of this package.
"""

from __future__ import annotations

import json
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memory.chains import Chain, chains
from memory.errors import RecordingError
from memory.events import Event
from memory.extraction import candidates
from memory.fact_events import FactRevised
from memory.facts import Fact, Source
from memory.graph import Graph
from memory.journal import MemoryJournal
from memory.knowledge import Knowledge, apply
from memory.models.embedding import named
from memory.revision import Writer, revise
from sessions.evidence_bench import beam_figures, memorybank_figures
from sessions.extraction_bench import extraction_figures
from sessions.reply_bench import reply_figures, reply_rows
from sessions.retrieval_bench import Cache

Say = Callable[[str], None]

FILE = "conflict_resolution_6k_32k.json"
SIZES = ("6k", "32k")
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
SHOWN = 12  # wrong answers of each kind
PARTS = ("factconsolidation", "beam", "memorybank")  # folders


@dataclass(frozen=True)
class Fed:
    """What is known after all facts, and what was retired on the way."""

    journal: MemoryJournal
    known: Knowledge
    turns: int
    unread: int  # turns of which nothing was kept
    retired: int
    across: int  # of them by a fact about another subject or another attribute
    seconds: float  # of processor time


@dataclass(frozen=True, slots=True)
class Answer:
    question: str
    wanted: tuple[str, ...]
    given: str
    way: str
    fault: str  # "": it is right


def conflict_figures(
    data: Path, vectors: Path | None = None, progress: Say | None = None, *,
    replies: bool = False, llm: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """`factconsolidation`, `wrongly_retired`, `beam`, `memorybank`, `extraction`; `missing` names folders not there.

    `vectors` is a file that keeps the vectors between runs: with it BEAM and MemoryBank are searched by meaning as
    well. `replies` adds `reply_quality` over the demo, of the embedded default, and of `llm` under `llms` by its name.
    Raises RecordingError for a folder that holds none of the three.
    """
    say = progress or (lambda line: None)
    there = [part for part in PARTS if (data / part).is_dir()]
    if not there:
        raise RecordingError(f"{data} holds none of {', '.join(PARTS)}; name the folder that holds theirs")
    figures: dict[str, Any] = {"missing": [part for part in PARTS if part not in there]}
    if "factconsolidation" in there:
        figures |= factconsolidation_figures(data / "factconsolidation" / FILE, say)
    cache = Cache(named(), vectors, say) if vectors else None
    if "beam" in there:
        say("BEAM …")
        figures["beam"] = beam_figures(data / "beam", cache)
    if "memorybank" in there:
        say("MemoryBank …")
        figures["memorybank"] = memorybank_figures(data / "memorybank", cache)
        figures["extraction"] = extraction_figures(data)
    if cache:
        cache.save()
        figures["embedding"] = cache.figures
    if replies:
        figures["reply_quality"] = reply_figures(progress=say)
        figures["reply_quality"] |= {"llms": {llm: reply_figures(llm, say)}} if llm else {}
    return figures


def conflict_rows(figures: dict[str, Any]) -> list[list[object]]:
    """For a table: figure, value, n."""
    rows: list[list[object]] = [
        [f"FactConsolidation {size}, {hops.replace('_', '-')}", f"{found[hops]:.2f}", found["n"]]
        for size, found in figures.get("factconsolidation", {}).items()
        for hops in ("single_hop", "multi_hop")
    ]
    if wrong := figures.get("wrongly_retired"):
        rows.append(["retired by a fact about something else / active keys", f"{wrong['value']:.4f}", wrong["n"]])
    if beam := figures.get("beam"):
        rows += [[f"BEAM {name.replace('_', ' ')}", _shares(f), f["n"]] for name, f in beam["abilities"].items()]
        both, new = beam["contradiction"], beam["update"]
        rows.append(["BEAM, both sides of a contradiction among ten", f"{both['both_at_10']:.2f}", both["n"]])
        rows.append(["BEAM, what is new before what it replaced", f"{new['new_above_old']:.2f}", new["n"]])
    rows += [[f"MemoryBank {name}", _shares(f), f["n"]] for name, f in figures.get("memorybank", {}).items()]
    rows += [
        [f"extraction {share}, {group}", f"{found[share]['ratio']:.2f}", found[share]["n"]]
        for group, found in figures.get("extraction", {}).items()
        for share in ("precision", "recall")
    ]
    if told := figures.get("reply_quality"):
        rows += reply_rows(told)
        rows += [[f"{name}: {row[0]}", *row[1:]] for name, f in told.get("llms", {}).items() for row in reply_rows(f)]
    return rows


def _shares(found: dict[str, Any]) -> str:
    names = {"any_at_10": "any@10", "all_at_10": "all@10", "page_at_1": "page@1", "page_at_3": "page@3"}
    return ", ".join(f"{told} {found[name]:.2f}" for name, told in names.items())


# ── FactConsolidation ─────────────────────────────────────────────────────────────────────────────────


def factconsolidation_figures(file: Path, progress: Say | None = None) -> dict[str, Any]:
    """`factconsolidation` by size, and `wrongly_retired` over both sizes."""
    say = progress or (lambda line: None)
    rows = _rows(file)
    figures: dict[str, Any] = {}
    all_fed: list[Fed] = []
    for size in SIZES:
        say(f"FactConsolidation {size}: feeding …")
        fed = feed(facts_in(rows["mh", size]["context"]))
        graph = Graph(fed.journal.words).take(fed.known)
        one, many = ([*answers(graph, rows[hops, size])] for hops in ("sh", "mh"))
        figures[size] = {
            "single_hop": _right(one),
            "multi_hop": _right(many),
            "n": len(one) if len(one) == len(many) else {"single_hop": len(one), "multi_hop": len(many)},
            "held_out": size != "6k",
            "facts": fed.turns,
            "unread": fed.unread,
            "feeding_s": round(fed.seconds, 2),
            "fails": {"single_hop": _fails(one), "multi_hop": _fails(many)},
        }
        all_fed.append(fed)
    return {"factconsolidation": figures, "wrongly_retired": _wrongly(all_fed)}


def _rows(file: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """By hops (sh, mh) and size."""
    try:
        named_rows = {row["metadata"]["source"]: row for row in json.loads(file.read_text("utf-8"))}
        return {(h, size): named_rows[f"factconsolidation_{h}_{size}"] for h in ("sh", "mh") for size in SIZES}
    except (FileNotFoundError, KeyError, TypeError, ValueError) as error:
        raise RecordingError(f"{file} is no FactConsolidation with both sizes: {error!r}") from error


def _wrongly(all_fed: Sequence[Fed]) -> dict[str, Any]:
    """Retirements by a fact about something else, over the keys that hold a value at the end."""
    across, retired = sum(f.across for f in all_fed), sum(f.retired for f in all_fed)
    keys = sum(len({fact.key for fact in f.known.current if fact.key}) for f in all_fed)
    return {"value": round(across / keys, 4) if keys else 0.0, "n": keys, "retired": retired, "across": across}


def facts_in(context: str) -> Iterator[tuple[int, str]]:
    """The numbered facts of a context."""
    for m in re.finditer(r"^(\d+)\. (.+)$", context, re.MULTILINE):
        yield int(m[1]), m[2].strip()


def feed(facts: Iterable[tuple[int, str]]) -> Fed:
    """Facts one by one, as a user's turns; the number of each is its time in minutes."""
    started = time.process_time()
    journal, k = MemoryJournal(), Knowledge()
    turns = unread = retired = across = 0
    for number, said in facts:
        at = BEGAN + timedelta(minutes=number)
        found, _ = candidates(said, role="user", speaker="", said_at=at)
        turns, unread, text = turns + 1, unread + (not found), journal.said(said)
        for each in found:
            source = Source("facts", turns, text, each.start, each.end, "user", at)
            made = revise(k, each, source, Writer("facts", k.version, "rules", at), journal.write, lambda _: ())
            before = k
            for body in made.bodies:
                k = apply(k, Event(0, k.version + 1, 0, at, body))
                if isinstance(body, FactRevised) and body.state == "superseded":
                    retired += 1
                    across += not _about_same(journal, before.facts[body.fact], k.facts[made.outcome.fact])
    return Fed(journal, k, turns, unread, retired, across, time.process_time() - started)


def _about_same(journal: MemoryJournal, old: Fact, new: Fact) -> bool:
    """By their words, not by the key that revision compared."""
    pairs = ((old.subject, new.subject), (old.attribute, new.attribute))
    return all(a and b and _plain(journal.words(a)) == _plain(journal.words(b)) for a, b in pairs)


def answers(graph: Graph, row: dict[str, Any]) -> Iterator[Answer]:
    """What the graph says to each question of a row, and what is wrong with it."""
    current = graph.known.current
    among = {fact.id for fact in current}
    values = {_plain(graph.words(fact.value)) for fact in current if fact.value}
    for question, accepted in zip(row["questions"], row["answers"], strict=True):
        best = next(iter(chains(graph, question, among, most=1)), None)
        given = graph.words(graph.known.facts[best.facts[-1]].value) if best else ""
        wanted = {_plain(each) for each in accepted}
        fault = "" if best and _plain(given) in wanted else _fault(best, wanted & values)
        yield Answer(question, tuple(accepted), given, _way(graph, best), fault)


def _fault(best: Chain | None, current: Iterable[str]) -> str:
    if not any(current):
        return "no fact that holds has the answer for its value"
    return "another value" if best else "no chain is spelled out"


def _way(graph: Graph, chain: Chain | None) -> str:
    facts = [graph.known.facts[n] for n in chain.facts] if chain else []
    return "; ".join(f"{graph.words(f.subject)}: {graph.words(f.attribute)}: {graph.words(f.value)}" for f in facts)


def _right(given: Sequence[Answer]) -> float:
    return round(sum(not each.fault for each in given) / len(given), 4) if given else 0.0


def _fails(given: Sequence[Answer]) -> dict[str, Any]:
    """How many of each fault, and the first of them."""
    wrong = [each for each in given if each.fault]
    shown = [
        {"question": a.question, "wanted": a.wanted, "given": a.given, "way": a.way, "fault": a.fault}
        for a in wrong[:SHOWN]
    ]
    return {**Counter(each.fault for each in wrong), "examples": shown} if wrong else {}


def _plain(words: str) -> str:
    """Case, marks and blanks aside."""
    return " ".join(re.sub(r"[^\w\s]", " ", unicodedata.normalize("NFKC", words).casefold()).split())
