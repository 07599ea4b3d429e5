"""Where one page ends and the next begins.

A boundary is a predicate: does the open page close before this turn? It decides nothing about leaving the
window (window.py does). Rules and their names follow the cooperative-paging preprint, arXiv 2604.12376
(since withdrawn); topic shift there cuts nearly every turn of small talk, so it is best combined. One rule needs
an embedder, which comes in as a function (vector_source.py has a store's).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from memory.errors import BadSetting, UnknownName
from memory.language import is_cjk, terms
from memory.pages import guest_tokens
from memory.settings import Settings
from memory.turns import Turn, Words

Closes = Callable[[Sequence[Turn], Turn, Words], bool]
Vector = NDArray[np.float32]
Meaning = Callable[[str], Vector | None]  # words to their vector, of unit length; None: it cannot be had now

TELLS = 1_000  # characters; what a longer message is about stands in them, and embedding takes its time
UNRELATED = {
    False: ("The train to the coast leaves at nine.", "My sister plays the violin.", "How do I sort a list in Python?",
            "I am allergic to peanuts.", "The invoice was paid last week.", "What a lovely old church!"),
    True: ("他每天早上跑步。", "这道菜太咸了。", "我想换一份工作。",
           "电脑又死机了。", "明天会下雨吗？", "孩子们在院子里玩。"),
}  # fmt: skip


def every_turns(n: int) -> Closes:
    return lambda page, turn, words: turn.number - page[0].number >= n


def every_exchanges(n: int) -> Closes:
    """Close before the user begins exchange n + 1; an exchange is a user's turn and what answers it."""
    return lambda page, turn, words: turn.role == "user" and sum(t.role == "user" for t in page) >= n


def token_budget(limit: int) -> Closes:
    """Close when the next turn would take the page past `limit` tokens."""
    return lambda page, turn, words: sum(t.tokens for t in page) + turn.tokens > limit


def idle_gap(gap: timedelta) -> Closes:
    """Close when the speaker came back after `gap` of silence."""
    return lambda page, turn, words: turn.said_at - page[-1].said_at >= gap


def topic_shift(overlap: float, back: int) -> Closes:
    """Close when the turn shares too few words (Jaccard) with the `back` turns before it."""

    def closes(page: Sequence[Turn], turn: Turn, words: Words) -> bool:
        now = set(terms(turn.words(words)))
        before = {term for t in page[-back:] for term in terms(t.words(words))}
        if not now or not before:
            return False  # nothing to compare is no shift
        return len(now & before) / len(now | before) < overlap

    return closes


def meaning_shift(meaning: Meaning, least: float, back: int = 5) -> Closes:
    """Close when the user's message is near to none of the `back` before it, by its vector.

    Nearness goes from 0, what sentences have that nothing relates, to 1, the same vector: embedders differ in where
    unrelated begins, the default one calls it .76 in English and .84 in Chinese. The nearest message counts, for the
    mean of them hides half of the shifts (notebooks/LOG.md). Replies belong to what they answer and are not embedded.
    """
    vector, unlike = _kept(meaning, back + 1), _kept_unlike(meaning)

    def closes(page: Sequence[Turn], turn: Turn, words: Words) -> bool:
        before = [t for t in page if t.role == "user"][-back:]
        if turn.role != "user" or not before:
            return False
        said = turn.words(words)[:TELLS]
        now = vector(said)
        if now is None:
            return False
        near = [float(now @ v) for t in before if (v := vector(t.words(words)[:TELLS])) is not None]
        nothing = unlike(is_cjk(said)) if near else None
        return nothing is not None and max(near) - nothing < least * (1 - nothing)

    return closes


def _kept(meaning: Meaning, most: int) -> Meaning:
    """The last `most` vectors are not asked for again; one without any direction is none."""
    known: dict[str, Vector] = {}

    def vector(text: str) -> Vector | None:
        if text in known:
            return known[text]
        made = meaning(text)
        if made is None or not made.any():
            return None
        if len(known) == most:
            del known[next(iter(known))]
        known[text] = made
        return made

    return vector


def _kept_unlike(meaning: Meaning) -> Callable[[bool], float | None]:
    """The cosine of sentences that nothing relates, by whether they are Chinese."""
    known: dict[bool, float] = {}

    def unlike(chinese: bool) -> float | None:
        if chinese not in known:
            made = [v for text in UNRELATED[chinese] if (v := meaning(text)) is not None]
            if len(made) < len(UNRELATED[chinese]):
                return None
            known[chinese] = float(np.mean([a @ b for a, b in combinations(made, 2)]))
        return known[chinese]

    return unlike


def no_meaning(text: str) -> Vector | None:
    raise BadSetting("the boundary meaning_shift needs an embedder, and there is none here; use topic_shift")


def any_of(*rules: Closes) -> Closes:
    return lambda page, turn, words: any(closes(page, turn, words) for closes in rules)


BOUNDARIES: dict[str, Callable[[Settings, Meaning], Closes]] = {
    "fixed_n": lambda s, meaning: every_turns(s.page_turns),
    "exchanges": lambda s, meaning: every_exchanges(s.page_exchanges),
    "tokens": lambda s, meaning: token_budget(s.page_tokens),
    "idle_gap": lambda s, meaning: idle_gap(timedelta(hours=s.idle_hours)),
    "topic_shift": lambda s, meaning: topic_shift(s.topic_overlap, s.topic_turns),
    "meaning_shift": lambda s, meaning: meaning_shift(meaning, s.topic_nearness, s.topic_turns),
}


def named(boundary: str | Closes, settings: Settings, meaning: Meaning = no_meaning) -> list[tuple[str, Closes]]:
    """The rules behind `idle_gap+fixed_n`, each with its name; or one function of your own."""
    if callable(boundary):
        return [(getattr(boundary, "__name__", "custom"), boundary)]
    parts = [part.strip() for part in boundary.split("+")]
    for part in parts:
        if part not in BOUNDARIES:
            raise UnknownName("boundary", part, BOUNDARIES)
    return [(part, BOUNDARIES[part](settings, meaning)) for part in parts]


def closing_rule(
    page: Sequence[Turn],
    turn: Turn,
    rules: Sequence[tuple[str, Closes]],
    cap: int,
    words: Words,
    most: int | None = None,
) -> str | None:
    """The name of the rule that closes `page` before `turn`, None if it stays open.

    A page never grows past `cap` tokens, for it must fit in the window beside others. A tool call and its results
    do not part, whatever the rules and the cap say, while the page can still be recalled in `most` tokens: beyond
    that it could never come back, and while it is open it could not even stay.
    """
    if not page:
        return None
    fits = guest_tokens((*page, turn)) <= (cap if most is None else most)
    if fits and _awaits(page, turn):
        return None
    if turn.piece or not fits or token_budget(cap)(page, turn, words):
        return "page_cap"
    return next((name for name, closes in rules if closes(page, turn, words)), None)


def _awaits(page: Sequence[Turn], turn: Turn) -> bool:
    """Does a call on this page still wait for its result?

    A user who speaks ends the wait: a call that nobody ever answers must not hold its page open for ever.
    """
    if turn.role == "user" or turn.piece:
        return False
    answered = {t.answers for t in page}
    return any(call.id not in answered for t in page for call in t.calls)
