"""Which part of a page comes back where the whole page has no room: the exchanges around the turn that answers best.

A part is consecutive, so that it can be read, and never cuts an exchange, unless a single one is too large: then it is
cut between its turns. It does not decide whether the page comes at all (retrieval.py, recalls.py), nor how much room
there is (window.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from memory.turns import Turn

Fits = Callable[[Sequence[Turn]], bool]
Span = tuple[int, int]  # first and last turn


def part_of(turns: Sequence[Turn], scores: Mapping[int, float], fits: Fits) -> Span | None:
    """First and last turn of the part; None where not even the best turn fits.

    `scores`: by turn number, the higher the better; of equal ones the earlier is taken, who has none comes last.
    """
    for groups in (_exchanges(turns), _numbers(turns)):
        values = [max((scores.get(t.number, float("-inf")) for t in group), default=0.0) for group in groups]
        best = max(range(len(groups)), key=values.__getitem__)
        if fits(groups[best]):
            first, last = _grown(groups, values, best, fits)
            return groups[first][0].number, groups[last][-1].number
    return None


def _grown(groups: Sequence[Sequence[Turn]], values: Sequence[float], best: int, fits: Fits) -> tuple[int, int]:
    """From the best group to both sides, the better neighbour first, as far as it fits."""
    first = last = best
    sides = {-1, 1}
    while sides:
        near = {side: first - 1 if side < 0 else last + 1 for side in sides}
        sides = {side for side in sides if 0 <= near[side] < len(groups)}
        if not sides:
            break
        side = max(sides, key=lambda each: (values[near[each]], each))
        low, high = min(first, near[side]), max(last, near[side])
        if fits([turn for group in groups[low : high + 1] for turn in group]):
            first, last = low, high
        else:
            sides.discard(side)
    return first, last


def _exchanges(turns: Sequence[Turn]) -> list[list[Turn]]:
    """A user's turn with what follows up to the next one; pieces of one message stay together."""
    groups: list[list[Turn]] = []
    for turn in turns:
        if not groups or (turn.role == "user" and turn.number != groups[-1][-1].number):
            groups.append([])
        groups[-1].append(turn)
    return groups


def _numbers(turns: Sequence[Turn]) -> list[list[Turn]]:
    return [list(group) for _, group in groupby(turns, key=lambda turn: turn.number)]
