"""How well pages, turns and sittings are found, and how fast: LoCoMo's labelled questions against the one ranker.

Figures say what they are shares of and carry their n; nothing is judged. The weights of the vectors are chosen on nine
conversations and used on the tenth, for each in turn. Labels are taken raw, and again with the corrections of
`audit_errors.json` where that lies beside the file. It knows no store; its vectors lie in a file of their own.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.errors import RecordingError
from memory.exchanges import Line, exchanges
from memory.models.embedding import Embedder, named
from memory.retrieval import Compared, Index, Weighing, fusion
from sessions.readers import read
from sessions.recording import Recording

Floats = NDArray[np.float32]
Say = Callable[[str], None]

# Of the vectors, words being 1; and what of that the mean of a page's exchanges counts.
WEIGHTS = tuple((vectors, mean) for vectors in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.3) for mean in (0.0, 1 / 3, 1 / 2))
PAGE_TURNS = 10
FOREIGN = 200  # questions of other conversations asked of each
RENAMED = 60  # of those, with this conversation's names in them: nothing but the matter tells them apart
TURNS = 100_000
CLIENTS = (1, 4, 16)
ASKED = 160  # questions by all clients together
EVERY_S = 1.0  # in which a client that asks as people do asks once
FAR = 100  # turns looked through for the first that holds the answer
OPEN = Weighing(min_coverage=0, min_margin=0)  # nothing is turned away


@dataclass(frozen=True)
class Talk:
    """One conversation: its lines, where each sitting begins, and its questions with the turns that hold the answer."""

    lines: tuple[Line, ...]
    sitting: tuple[int, ...]  # by turn, from 1
    questions: tuple[str, ...]
    categories: tuple[str, ...]
    evidence: tuple[frozenset[int], ...]  # turn numbers, as labelled
    corrected: tuple[frozenset[int], ...]

    @property
    def page(self) -> tuple[int, ...]:
        return tuple(n // PAGE_TURNS + 1 for n in range(len(self.lines)))

    @property
    def speakers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line.speaker for line in self.lines))


def retrieval_figures(locomo: Path, vectors: Path | None = None, progress: Say | None = None) -> dict[str, Any]:
    """`session`, `turn`, `page`, their `corrected` twins, `false_hit_ratio`, `latency_ms` and `embedding`.

    `vectors` is a file that keeps the vectors between runs. Raises RecordingError for a file that is no LoCoMo.
    """
    say = progress or (lambda line: None)
    talks = read_talks(locomo)
    foreign = _foreign(talks)
    cache = Cache(named(), vectors, say)
    cache.embed(
        (
            q
            for talk, asked in zip(talks, foreign, strict=True)
            for q in (*talk.questions, *asked.plain, *asked.renamed)
        ),
        question=True,
    )
    groups = {name: [_grouped(talk, getattr(talk, name)) for talk in talks] for name in ("page", "sitting")}
    cache.embed(e.text for by in groups.values() for pages in by for page in pages for e in exchanges(page[1]))
    cache.save()
    pages, sittings = ([_indexed(each, cache) for each in groups[name]] for name in ("page", "sitting"))
    say("ranking pages, sittings and turns …")
    ranked = {"page": _ranked(talks, pages, cache), "session": _ranked(talks, sittings, cache)}
    turns = [
        [index.turns(q, cache.question(q), FAR) for q in t.questions] for t, index in zip(talks, pages, strict=True)
    ]
    by_turn = [[[hit.turn for hit in hits] for hits in each] for each in turns]
    figures: dict[str, Any] = {**_figures(talks, ranked, by_turn, lambda talk: talk.evidence)}
    figures["corrected"] = _figures(talks, ranked, by_turn, lambda talk: talk.corrected)
    figures["weights"] = {name: each.weights for name, each in ranked.items()}
    say("asking what was never said …")
    figures["false_hit_ratio"] = _false_hits(talks, pages, foreign, cache)
    say(f"{TURNS:,} turns, {max(CLIENTS)} clients …")
    figures["latency_ms"] = latency(TURNS)
    figures["embedding"] = cache.figures
    return figures


def retrieval_rows(figures: dict[str, Any]) -> list[list[object]]:
    """For a table: figure, value, n."""
    rows: list[list[object]] = []
    for labels, part in (("", figures), (", corrected labels", figures["corrected"])):
        for name, found in (
            ("sessions", part["session"]),
            ("turns", part["turn"]),
            ("pages", part["page"]["fixed_10"]),
        ):
            shares = {key: value for key, value in found.items() if key not in ("n", "by_category")}
            value = ", ".join(f"{key.replace('_at_', '@')} {share:.3f}" for key, share in shares.items())
            rows.append([f"{name}{labels}", value, found["n"]])
    wrong = figures["false_hit_ratio"]
    rows.append(["questions of other conversations that bring something", f"{wrong['value']:.3f}", wrong["n"]])
    renamed, cost = wrong["renamed"], wrong["costs_hit_at_3"]
    rows.append(["the same with this conversation's names in them", f"{renamed['value']:.3f}", renamed["n"]])
    rows.append(["what the thresholds cost of pages' hit@3", f"{cost['value']:.3f}", cost["n"]])
    for clients, spread in figures["latency_ms"]["clients"].items():
        value = f"p50 {spread['p50']:.1f} ms, p95 {spread['p95']:.1f} ms, CPU {spread['cpu']:.1f} ms"
        rows.append([f"a ranking among {TURNS:,} turns, {clients} that ask again at once", value, spread["n"]])
    spread = figures["latency_ms"]["paced"]
    value = f"p50 {spread['p50']:.1f} ms, p95 {spread['p95']:.1f} ms"
    rows.append([f"the same, {spread['clients']} that ask once in {spread['every_s']:g} s each", value, spread["n"]])
    spread = figures["latency_ms"]["growing"]
    value = f"p50 {spread['p50']:.1f} ms, p95 {spread['p95']:.1f} ms"
    rows.append(["the same, a turn more before each question", value, spread["n"]])
    return rows


# ── the questions ─────────────────────────────────────────────────────────────────────────────────────


def read_talks(locomo: Path) -> list[Talk]:
    samples = json.loads(locomo.read_text("utf-8"))
    beside = locomo.with_name("audit_errors.json")
    audit = json.loads(beside.read_text("utf-8")) if beside.exists() else []
    corrections = {each["question_id"]: each["correct_evidence"] for each in audit if each["correct_evidence"]}
    recordings = [each for each in read(locomo, "locomo") if isinstance(each, Recording)]
    if len(recordings) != len(samples):
        raise RecordingError(f"{locomo}: {len(recordings)} of {len(samples)} samples can be read")
    both = enumerate(zip(recordings, samples, strict=True))
    return [_talk(recording, sample, n, corrections) for n, (recording, sample) in both]


def _talk(recording: Recording, sample: dict[str, Any], place: int, corrections: dict[str, list[str]]) -> Talk:
    lines = tuple(Line(t.number, t.role, t.text, t.speaker, t.said_at) for t in recording.turns)
    spoken = sample["conversation"]
    sittings = sorted((key for key in spoken if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:]))
    names = [turn["dia_id"] for key in sittings for turn in spoken[key]]
    if len(names) != len(lines):
        raise RecordingError(f"{recording.conversation}: {len(lines)} of {len(names)} turns can be read")
    number = {name: n for n, name in enumerate(names, 1)}
    sitting = tuple(n for n, key in enumerate(sittings, 1) for _ in spoken[key])
    asked = [nth for nth, qa in enumerate(sample["qa"]) if str(qa["question"]).strip()]
    right = [corrections.get(f"locomo_{place}_qa{nth}", ()) for nth in asked]
    kept = [
        (q, frozenset(number[name] for name in names if name in number))
        for q, names in zip(recording.questions, right, strict=True)
    ]
    answered = [(q, found) for q, found in kept if q.evidence]
    evidence = tuple(frozenset(q.evidence) for q, _ in answered)
    return Talk(
        lines, sitting, tuple(q.question for q, _ in answered), tuple(q.category for q, _ in answered), evidence,
        tuple(found or said for (_, found), said in zip(answered, evidence, strict=True)),
    )  # fmt: skip


@dataclass(frozen=True)
class Foreign:
    """Questions of other conversations; `renamed` have the names of this one's speakers."""

    plain: tuple[str, ...]
    renamed: tuple[str, ...]


def _foreign(talks: Sequence[Talk]) -> list[Foreign]:
    draw, asked = random.Random(5), []
    for talk in talks:
        others = [(other, q) for other in talks if other is not talk for q in other.questions]
        plain, renamed = (draw.sample(others, min(n, len(others))) for n in (FOREIGN, RENAMED))
        with_names = tuple(_renamed(q, other.speakers, talk.speakers) for other, q in renamed)
        asked.append(Foreign(tuple(q for _, q in plain), with_names))
    return asked


def _renamed(question: str, theirs: Sequence[str], ours: Sequence[str]) -> str:
    for their, our in zip(theirs, ours, strict=False):
        question = re.sub(rf"\b{re.escape(their)}\b", our, question, flags=re.IGNORECASE)
    return question


# ── vectors ───────────────────────────────────────────────────────────────────────────────────────────


class Cache:
    """Vectors by text, in one file if wanted; made by one embedder."""

    def __init__(self, embedder: Embedder, path: Path | None, say: Say) -> None:
        self.embedder, self._path, self._say = embedder, path, say
        self._known: dict[str, Floats] = {}
        self._seconds = 0.0
        if path and path.exists():
            self._load(path)

    def _load(self, path: Path) -> None:
        with np.load(path) as held:
            if str(held["identity"]) != self.embedder.identity:
                raise RecordingError(
                    f"{path} holds vectors of {held['identity']}, not of {self.embedder.identity}; name another file"
                )
            for kind in ("queries", "passages"):
                keys, vectors = held[f"{kind}_keys"], held[kind]
                self._known |= {f"{kind}:{key}": vector for key, vector in zip(keys.tolist(), vectors, strict=True)}
            self._seconds = float(held["seconds"])

    def embed(self, texts: Iterable[str], *, question: bool = False) -> None:
        makes = self.embedder.queries if question else self.embedder.passages
        lacking = [text for text in dict.fromkeys(texts) if _key(text, question=question) not in self._known]
        started = time.process_time()
        for at in range(0, len(lacking), 64):
            self._say(f"embedding {at:,} of {len(lacking):,} {'questions' if question else 'exchanges'} …")
            some = lacking[at : at + 64]
            made = zip(some, makes(some), strict=True)
            self._known |= {_key(text, question=question): vector for text, vector in made}
        self._seconds += time.process_time() - started

    def save(self) -> None:
        if self._path is None:
            return
        parts: dict[str, Any] = {"identity": self.embedder.identity, "seconds": self._seconds}
        for kind in ("queries", "passages"):
            keys = [key for key in self._known if key.startswith(kind)]
            parts[f"{kind}_keys"] = np.array([key.partition(":")[2] for key in keys], dtype="U32")
            parts[kind] = np.array([self._known[key] for key in keys], dtype=np.float32)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("wb") as file:
            np.savez(file, **parts)

    def question(self, text: str) -> Floats:
        return self._known[_key(text, question=True)]

    def passage(self, text: str) -> Floats:
        return self._known[_key(text, question=False)]

    @property
    def figures(self) -> dict[str, Any]:
        """CPU seconds over all runs that filled the file, and how many texts that made."""
        return {"embedder": self.embedder.identity, "seconds": round(self._seconds, 1), "texts": len(self._known)}


def _key(text: str, *, question: bool) -> str:
    return f"{'queries' if question else 'passages'}:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:32]}"


# ── rankings ──────────────────────────────────────────────────────────────────────────────────────────

Pages = list[tuple[int, list[Line]]]


def _grouped(talk: Talk, page: Sequence[int]) -> Pages:
    """The lines of each page, or of whatever takes its place."""
    cuts = [0, *(n for n, (a, b) in enumerate(pairwise(page), 1) if a != b), len(page)]
    return [(page[a], list(talk.lines[a:b])) for a, b in pairwise(cuts)]


def _indexed(pages: Pages, cache: Cache) -> Index:
    index = Index()
    for page, lines in pages:
        for line in lines:
            index.add(page, line.turn, line.text, line.label)
        for each in exchanges(lines):
            index.put(page, each.turn, cache.passage(each.text), each.part)
    return index


@dataclass(frozen=True)
class Ranked:
    """The best ten of each question, by conversation, and the weights that the other conversations chose."""

    best: list[list[list[int]]]
    weights: list[tuple[float, float]]  # of WEIGHTS
    indexes: list[Index]


def _ranked(talks: Sequence[Talk], indexes: Sequence[Index], cache: Cache) -> Ranked:
    """Leave one conversation out: its vectors weigh what brings most of the others' questions home."""
    best = [
        [_by_weight(Compared(index, q, cache.question(q))) for q in talk.questions]
        for talk, index in zip(talks, indexes, strict=True)
    ]
    home = np.array([_home(talk, index, each) for talk, index, each in zip(talks, indexes, best, strict=True)])
    chosen = [int((home.sum(axis=0) - home[n]).argmax()) for n in range(len(talks))]
    return Ranked(
        [[by[at] for by in each] for each, at in zip(best, chosen, strict=True)],
        [WEIGHTS[at] for at in chosen],
        list(indexes),
    )


def _by_weight(seen: Compared) -> list[list[int]]:
    found = []
    for weight, mean in WEIGHTS:
        totals = fusion(seen, Weighing(vectors=weight, mean=mean)).totals
        order = np.lexsort((-seen.pages, -totals))[:10]
        found.append(seen.pages[order].tolist())
    return found


def _home(talk: Talk, index: Index, best: list[list[list[int]]]) -> list[int]:
    """By weight: questions answered by the first page, and again by the first three."""
    held = [_pages_of(index, evidence) for evidence in talk.evidence]
    return [
        sum((by[w][0] in gold) + bool(gold & set(by[w][:3])) for gold, by in zip(held, best, strict=True))
        for w in range(len(WEIGHTS))
    ]


def _pages_of(index: Index, turns: Iterable[int]) -> set[int]:
    units = np.searchsorted(index.text.layout.turns, list(turns))
    return set(index.text.layout.pages[units].tolist())


def _figures(
    talks: Sequence[Talk],
    ranked: dict[str, Ranked],
    turns: list[list[list[int]]],
    labels: Callable[[Talk], Sequence[frozenset[int]]],
) -> dict[str, Any]:
    session = _group_figures(talks, ranked["session"], labels)
    page = _group_figures(talks, ranked["page"], labels)
    categories = [category for talk in talks for category in talk.categories]
    first = np.array(page["hit_at_1"])
    by_category = {
        name: {"hit_at_1": _mean(first[[c == name for c in categories]]), "n": categories.count(name)}
        for name in sorted(set(categories))
    }
    pairs = [
        (gold, found) for t, each in zip(talks, turns, strict=True) for gold, found in zip(labels(t), each, strict=True)
    ]
    reciprocal = [next((1 / n for n, turn in enumerate(found, 1) if turn in gold), 0.0) for gold, found in pairs]
    n = len(pairs)
    return {
        "session": {key: _mean(session[key]) for key in ("hit_at_1", "recall_at_10")} | {"n": n},
        "turn": {
            "any_at_10": _mean([bool(gold & set(found[:10])) for gold, found in pairs]),
            "all_at_10": _mean([gold <= set(found[:10]) for gold, found in pairs]),
            "mrr": _mean(reciprocal),
            "n": n,
        },
        "page": {
            "fixed_10": {key: _mean(page[key]) for key in ("hit_at_1", "hit_at_3")}
            | {"n": n, "by_category": by_category}
        },
    }


def _group_figures(
    talks: Sequence[Talk], ranked: Ranked, labels: Callable[[Talk], Sequence[frozenset[int]]]
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"hit_at_1": [], "hit_at_3": [], "recall_at_10": []}
    for talk, index, best in zip(talks, ranked.indexes, ranked.best, strict=True):
        for turns, pages in zip(labels(talk), best, strict=True):
            gold = _pages_of(index, turns)
            found["hit_at_1"].append(pages[0] in gold)
            found["hit_at_3"].append(bool(gold & set(pages[:3])))
            found["recall_at_10"].append(len(gold & set(pages)) / len(gold))
    return found


def _mean(values: Any) -> float:
    return round(float(np.mean(values)), 4)


def _false_hits(
    talks: Sequence[Talk], pages: Sequence[Index], foreign: Sequence[Foreign], cache: Cache
) -> dict[str, Any]:
    """How many questions of other conversations bring something, and what the thresholds cost at three pages."""
    came: dict[str, list[bool]] = {"plain": [], "renamed": []}
    kept: list[bool] = []
    found: list[bool] = []
    for talk, index, asked in zip(talks, pages, foreign, strict=True):
        for kind in came:
            came[kind] += [bool(index.rank(q, cache.question(q), 1).hits) for q in getattr(asked, kind)]
        for question, turns in zip(talk.questions, talk.evidence, strict=True):
            gold, vector = _pages_of(index, turns), cache.question(question)
            found.append(bool(gold & set(index.rank(question, vector, weighing=OPEN).pages)))
            kept.append(bool(gold & set(index.rank(question, vector).pages)))
    return {
        "value": _mean(came["plain"]),
        "n": len(came["plain"]),
        "renamed": {"value": _mean(came["renamed"]), "n": len(came["renamed"])},
        "costs_hit_at_3": {"value": round(_mean(found) - _mean(kept), 4), "n": len(found)},
    }


# ── speed ─────────────────────────────────────────────────────────────────────────────────────────────


def latency(turns: int, clients: Sequence[int] = CLIENTS, asked: int = ASKED) -> dict[str, Any]:
    """Wall time of a ranking, the question's vector at hand; `p50` and `p95` are those of one client.

    `clients` are threads that ask again as soon as they have an answer; `cpu` is the process's time a question.
    `growing`: one client, and a turn more before each question. `paced`: the most clients, each asking once in EVERY_S
    seconds whether or not its last answer has come; the time counts from when the question was due.
    """
    draw = np.random.default_rng(7)
    index, texts, vectors = _made_up(turns, draw)
    questions = [" ".join(text.split()[:12]) for text in draw.choice(texts, asked)]
    index.rank(questions[0], vectors[0])  # what came since the last question is posted at the next
    spreads = {str(n): _timed(index, questions, vectors, n) for n in clients}
    paced = _paced(index, questions, vectors, max(clients))
    growing = []
    for n, question in enumerate(questions[: asked // 4]):
        index.add(turns // PAGE_TURNS + 1, turns + n + 1, texts[n])
        since = time.perf_counter()
        index.rank(question, vectors[n])
        growing.append((time.perf_counter() - since) * 1000)
    return {
        **spreads[str(clients[0])], "turns": turns, "clients": spreads, "paced": paced, "growing": _spread(growing),
    }  # fmt: skip


def _made_up(turns: int, draw: np.random.Generator) -> tuple[Index, list[str], Floats]:
    """Thirty English words a turn by their real frequency; for two turns a random vector as long as the default's."""
    from wordfreq import get_frequency_dict

    frequency = get_frequency_dict("en", "small")
    weights = np.array(list(frequency.values()))
    rows = draw.choice(len(weights), (turns, 30), p=weights / weights.sum())
    texts = [" ".join(row) for row in np.array(list(frequency))[rows]]
    vectors = draw.standard_normal((turns // 2, 384), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index = Index()
    for n, text in enumerate(texts):
        index.add(n // PAGE_TURNS + 1, n + 1, text)
        if n % 2 == 0:
            index.put(n // PAGE_TURNS + 1, n + 1, vectors[n // 2])
    return index, texts, vectors


def _timed(index: Index, questions: Sequence[str], vectors: Floats, clients: int) -> dict[str, float]:
    """Clients that ask again at once."""
    taken: list[float] = []

    def client(first: int) -> None:
        for n in range(first, len(questions), clients):
            since = time.perf_counter()
            index.rank(questions[n], vectors[n])
            taken.append((time.perf_counter() - since) * 1000)

    spent = time.process_time()
    _at_once(client, clients)
    return {**_spread(taken), "cpu": round((time.process_time() - spent) * 1000 / len(taken), 1)}


def _paced(index: Index, questions: Sequence[str], vectors: Floats, clients: int) -> dict[str, float]:
    """Clients that ask by the clock, each beginning somewhere in the first EVERY_S seconds."""
    taken: list[float] = []
    begins = [time.perf_counter() + random.Random(n).uniform(0, EVERY_S) for n in range(clients)]

    def client(first: int) -> None:
        for nth, n in enumerate(range(first, len(questions), clients)):
            due = begins[first] + nth * EVERY_S
            time.sleep(max(0.0, due - time.perf_counter()))
            index.rank(questions[n], vectors[n])
            taken.append((time.perf_counter() - due) * 1000)

    _at_once(client, clients)
    return {**_spread(taken), "clients": clients, "every_s": EVERY_S}


def _at_once(client: Callable[[int], None], clients: int) -> None:
    threads = [threading.Thread(target=client, args=(n,)) for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _spread(taken: Sequence[float]) -> dict[str, float]:
    p50, p95 = np.quantile(taken, [0.5, 0.95])
    return {"p50": round(float(p50), 1), "p95": round(float(p95), 1), "n": len(taken)}
