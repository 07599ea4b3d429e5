"""A second look at a ranking by a language model: which of the best pages help, or in which order.

The model reads a line of each of the best few, never the pages. What it leaves out is a near miss like any other, with
its reason; that none helps is an answer. An answer that cannot be read, or a model that cannot be asked, changes
nothing, and the ranking says so: there is one question and no second one, for a reply waits for it.

It ranks nothing itself (retrieval.py), and is off unless a setting asks for it: it costs a call a question, and a
published re-ranker lost 7 points of a hybrid's first hits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memory.bookmarks import one_page
from memory.errors import ModelError, UnknownName
from memory.jsontext import object_in, without_thoughts
from memory.retrieval import MISSES, Hit, Ranking

OFF = "none"
OFFERED = 8  # pages that the model is shown
HELP = 2  # the most that the filter asks for
STAGE = "model"
NOBODY = "no model was asked for a second look"

Ask = Callable[[str, Mapping[str, Any]], str]  # a prompt and the shape of its answer; raises ModelError


@dataclass(frozen=True, slots=True)
class Looked:
    ranking: Ranking
    offered: tuple[int, ...] = ()  # pages that the model was shown
    fallback: str = ""  # why the ranking is as it was
    raw: str = ""  # an answer that could not be used


@dataclass(frozen=True, slots=True)
class Look:
    """What the model is asked, by which name its pages come back, and what becomes of those it leaves out."""

    asks: str
    key: str
    most: int
    left_out: str = ""  # why they do not come; "": they follow, in the order they had


FILTER = Look(
    f"Which one or two of these pages help to answer it? Name at most {HELP}; give an empty list if none helps.",
    "help",
    HELP,
    "the model says that it does not help",
)
RERANK = Look("Order these pages by how much they help to answer it, the best first.", "order", OFFERED)
SECOND_LOOKS: dict[str, Look | None] = {OFF: None, "filter": FILTER, "rerank": RERANK}

PROMPT = """\
A question about a long conversation, and pages of it that may hold the answer, a line of each:

{pages}

The question: {question}

{asks} Answer with JSON only: {{"{key}": ["…"]}}"""  # no name as an example: a small model would copy it


def named(look: str) -> Look | None:
    if look not in SECOND_LOOKS:
        raise UnknownName("second look", look, SECOND_LOOKS)
    return SECOND_LOOKS[look]


def second_look(
    ranking: Ranking, question: str, k: int, look: str, line: Callable[[int], str], ask: Ask | None
) -> Looked:
    """The ranking after the model saw its best pages; `line` tells a page in one, `ask` None: there is no model.

    A page below the first `k` may come in place of one of them. Where nothing was found nobody is asked.
    """
    how, offered = named(look), _offered(ranking)
    if how is None or not ranking.hits:
        return Looked(ranking)
    pages = tuple(hit.page for hit in offered)
    if ask is None:
        return _as_it_was(ranking, (), NOBODY)
    lines = "\n".join(f"p{page}: {_one_line(line(page)) or 'nothing to tell'}" for page in pages)
    prompt = PROMPT.format(pages=lines, question=_one_line(question), asks=how.asks, key=how.key)
    try:
        raw = ask(prompt, schema(how, pages))
    except ModelError as error:
        return _as_it_was(ranking, pages, f"the model could not be asked ({type(error).__name__})")
    named_pages, error_ = read(raw, how, pages)
    if error_:
        return _as_it_was(ranking, pages, f"the model's answer could not be used: {error_}", raw)
    return Looked(_looked_at(ranking, offered, named_pages, k, look, how), pages)


def unseen(ranking: Ranking) -> Ranking:
    """As it was, with a word that nobody looked."""
    return _as_it_was(ranking, (), NOBODY).ranking if ranking.hits else ranking


def schema(how: Look, pages: Collection[int]) -> dict[str, Any]:
    names = {"type": "string", "enum": [f"p{page}" for page in pages]}
    listed = {"type": "array", "items": names, "maxItems": min(how.most, len(pages))}
    return {"type": "object", "properties": {how.key: listed}, "required": [how.key], "additionalProperties": False}


def read(raw: str, how: Look, offered: Collection[int]) -> tuple[list[int], str]:
    """The pages in order, and why there are none to be read; one that was not offered is passed over, never guessed at.

    >>> read('{"help": ["p3", "p99", "[p1:hotel]"],}', FILTER, {1, 2, 3})
    ([3, 1], '')
    >>> read('None of them: {"help": []}', FILTER, {1, 2, 3})
    ([], '')
    """
    found, error = object_in(without_thoughts(raw), (how.key,))
    if error:
        return [], error
    given = found.get(how.key, 0)
    if given is None or (isinstance(given, str) and given.strip().lower() in ("", "no", "none")):
        given = []
    if not isinstance(given, list):
        return [], f'there is no list "{how.key}" in it'
    pages = [page for page in map(one_page, given) if page in offered]
    if not pages and (given or not how.left_out):
        return [], "it names none of the pages that were offered"
    return list(dict.fromkeys(pages))[: how.most], ""


def _offered(ranking: Ranking) -> list[Hit]:
    """The best that no threshold and no duplicate holds back."""
    return [hit for hit in (*ranking.hits, *ranking.misses) if hit.stage in ("", "rank")][:OFFERED]


def _looked_at(
    ranking: Ranking, offered: Sequence[Hit], named_pages: Sequence[int], k: int, look: str, how: Look
) -> Ranking:
    by_page = {hit.page: hit for hit in offered}
    chosen = [by_page[page] for page in named_pages]
    others = [hit for hit in offered if hit.page not in named_pages]
    if not how.left_out:
        chosen, others = chosen + others, []
    late = enumerate(chosen[k:], k + 1)
    lost = [_dropped(hit, f"the model put it at {place} of {len(offered)}") for place, hit in late]
    lost += [_dropped(hit, how.left_out) for hit in others]
    rest = [hit for hit in ranking.misses if hit.page not in by_page]
    hits = tuple(replace(hit, stage="", dropped="") for hit in chosen[:k])
    told = f"of {len(offered)} pages the model was shown, none helps" if not hits else ""
    return replace(
        ranking,
        strategy=f"{ranking.strategy}+{look}",
        hits=hits,
        misses=(*lost, *rest)[:MISSES],
        stages={**ranking.stages, "rank": len(offered), STAGE: len(hits)},
        note="; ".join(part for part in (told, ranking.note) if part),
    )


def _dropped(hit: Hit, why: str) -> Hit:
    return replace(hit, stage=STAGE, dropped=why)


def _as_it_was(ranking: Ranking, offered: tuple[int, ...], why: str, raw: str = "") -> Looked:
    note = "; ".join(part for part in (f"{why}: as ranked", ranking.note) if part)
    return Looked(replace(ranking, note=note), offered, why, raw)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:299] + "…"
