"""The window: what stands in the model's context, what must leave, what may come back. A pure state machine.

It decides *when* and *how much*; which page goes first is eviction.py's, what a bookmark says is bookmarks.py's.
Every function takes a state and returns the records that the decision amounts to; nothing is changed in place.

Physical memory is the token budget, pages leave above the high watermark down to the low one, and a page is
never dropped before its words and its bookmark are in the log.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from memory.errors import BudgetTooSmall
from memory.events import Candidate, PageEvicted, PagePagedIn, Refusal
from memory.eviction import Score, ranked
from memory.pages import PART, SUMMARY, TEXT, Page
from memory.parts import part_of
from memory.state import State, changed
from memory.turns import MESSAGE_TOKENS, Turn, results

SECTION_TOKENS = 16  # the header and frame of the bookmarks' section
ORPHAN_TOKENS = 16  # the result that the prompt makes up for a call without one
QUOTE_TOKENS = 9  # the marks around a result without its call
RANGE_TOKENS = 24
LEAST_PAGE = 50  # tokens; in less nothing is said
OPENED = 12  # stubs that opening a range shows at once

SECTIONS = ("system", "facts", "stubs", "recalled", "resident", "new")


@dataclass(frozen=True, slots=True)
class Fill:
    """Tokens by section, as the model is expected to count them, against the budget."""

    system: int
    stubs: int
    recalled: int
    resident: int  # closed pages
    new: int  # the page that still grows
    reply: int  # kept free
    budget: int
    facts: int = 0  # what is known about the user

    @property
    def used(self) -> int:
        return self.system + self.facts + self.stubs + self.recalled + self.resident + self.new

    @property
    def free(self) -> int:
        return self.budget - self.used - self.reply

    @property
    def used_ratio(self) -> float:
        return self.used / self.budget if self.budget else 0.0


def scaled(state: State, tokens: int) -> int:
    """Our count, corrected by what the model really counted so far, plus the safety margin."""
    return ceil(tokens * max(1.0, state.count_ratio) * (1 + state.settings.count_margin))


def fill(state: State, instructions: int) -> Fill:
    """`instructions`: tokens of the paging instructions and the tool that join the application's system prompt."""
    spoken = [p for p in state.residents if not p.guest_until]
    growing = sum(p.tokens for p in spoken if not p.closed)
    return Fill(
        system=scaled(state, state.system_tokens + instructions + MESSAGE_TOKENS),
        stubs=_section(state, state.stubs.tokens),
        recalled=scaled(state, sum(p.guest_tokens for p in state.guests)),
        resident=scaled(state, sum(p.tokens for p in spoken if p.closed) + _mending(spoken)),
        new=scaled(state, growing),
        reply=state.settings.reply_tokens,
        budget=state.settings.window_tokens,
        facts=scaled(state, state.known_tokens),
    )


def _section(state: State, stubs: int) -> int:
    return scaled(state, stubs + SECTION_TOKENS) if stubs else 0


def _mending(pages: Sequence[Page]) -> int:
    """What the prompt adds where half of a tool exchange is not in the window."""
    turns = [turn for page in pages for turn in page.turns if turn.calls or turn.role == "tool"]
    found = [place for places in results(turns).values() for place in places]
    answered = len(found) - found.count(None)
    return found.count(None) * ORPHAN_TOKENS + (sum(t.role == "tool" for t in turns) - answered) * QUOTE_TOKENS


def page_room(state: State, instructions: int) -> int:
    """Tokens that a page may take, so that two of them fit beside all that never leaves.

    Two, for a step may spread over the page that closes and the one that begins; and a recalled page must fit
    beside the one that grows.
    """
    s = state.settings
    fixed = state.system_tokens + instructions + MESSAGE_TOKENS + SECTION_TOKENS + s.stub_budget
    room = s.window_tokens - s.reply_tokens - scaled(state, fixed)
    return max(LEAST_PAGE, int(room / 2 * 1_000 / scaled(state, 1_000)) - 1)


def pinned(state: State) -> set[int]:
    """Pages that may not leave: the one that grows, and the one with the end of the user's last message."""
    numbers = {p.number for p in state.residents if not p.closed}
    last = [p.number for p in state.residents if any(t.number == state.user_turn for t in p.turns)]
    return numbers | set(last[-1:])


def make_room(
    state: State, instructions: int, score: Score, *, need: int = 0, cause: str = "", keep: Collection[int] = ()
) -> list[PageEvicted]:
    """The pages that must leave, in order, with the reason of each.

    Without `need`: if the window with the reply's reserve is above the high watermark, down to the low one; guests
    stay as long as they were told to, unless nothing else is left and the window would overflow.
    With `need` tokens to come in: until they fit under the budget, and no more.
    """
    s, now = state.settings, fill(state, instructions)
    limit = s.window_tokens - need if need else s.high_tokens
    target = limit if need else s.low_tokens
    used = now.used + now.reply
    if used <= limit:
        return []
    cause = cause or f"above the high watermark ({s.high_watermark:.0%})"
    forbidden = pinned(state) | set(keep) | ({p.number for p in state.guests} if need else set())
    free = [p for p in state.residents if p.number not in forbidden]
    own = ranked([p for p in free if not p.guest_until], score, state.step)
    queue = own + ranked([p for p in free if p.guest_until], score, state.step)
    if not queue and not need and used > s.window_tokens:
        raise BudgetTooSmall(_too_small(now))
    return _victims(state, queue, used, limit, target, cause)


def _victims(
    state: State, queue: Sequence[tuple[float, Page]], used: int, limit: int, target: int, cause: str
) -> list[PageEvicted]:
    candidates = tuple(Candidate(p.number, round(sc, 6)) for sc, p in queue)
    leaving: list[PageEvicted] = []
    held = {False: sum(p.tokens for p in state.residents if not p.guest_until and p.closed),
            True: sum(p.guest_tokens for p in state.guests)}  # fmt: skip
    stubs = state.stubs.tokens
    for i, (score, page) in enumerate(queue):
        guest = bool(page.guest_until)
        if used <= (state.settings.window_tokens if guest else target):
            break
        before = scaled(state, held[guest]) + _section(state, stubs)
        held[guest] -= page.guest_tokens if guest else page.tokens
        stub = page.bookmark.tokens + 1 if page.bookmark else state.settings.stub_tokens + 1
        stubs += min(stub, max(0, state.settings.stub_budget - stubs))
        freed = before - scaled(state, held[guest]) - _section(state, stubs)
        after = queue[i + 1] if i + 1 < len(queue) else None
        leaving.append(
            PageEvicted(
                page=page.number,
                policy=state.settings.eviction,
                score=round(score, 6),
                runner_up=after[1].number if after else 0,
                runner_up_score=round(after[0], 6) if after else 0.0,
                candidates=candidates[i : i + 50],
                freed_tokens=max(0, freed),
                cause=cause,
                used_tokens=used,
                limit_tokens=limit,
            )
        )
        used -= freed
    return leaving


def _too_small(now: Fill) -> str:
    """Nothing can leave any more, and what is left is too much."""
    return (
        f"the system prompt and instructions ({now.system} tokens), bookmarks ({now.stubs}), the last message "
        f"({now.resident + now.new}) and the reply's reserve ({now.reply}) need {now.used + now.reply} tokens; "
        f"the window holds {now.budget}: raise window_tokens, shorten the system prompt, or lower reply_tokens"
    )


def can_be_free(state: State, instructions: int, keep: Collection[int] = ()) -> int:
    """Tokens for guests and tool results if everything left that may leave; `keep` and guests stay."""
    s, now = state.settings, fill(state, instructions)
    stay = pinned(state) | set(keep)
    held = [p for p in state.residents if p.number in stay and not p.guest_until]
    closed = scaled(state, sum(p.tokens for p in held if p.closed) + _mending(held))  # as `fill` sums: each is rounded
    taken = now.system + now.facts + now.recalled + closed + now.new + now.reply + _section(state, s.stub_budget)
    return s.window_tokens - taken


def page_in(
    state: State,
    instructions: int,
    page: Page,
    by: str,
    keep: Collection[int] = (),
    beside: int = 0,
    level: str = TEXT,
    part: tuple[int, int] = (0, 0),
) -> PagePagedIn | Refusal:
    """Bring one page back as a guest, if it fits beside what must stay and `beside` tokens of the recalls so far.

    `level`: its text, its summary, or the `part` of its text; what is here already may come again in place of that.
    """
    s = state.settings
    came = changed(page, guest_as=level, part=part)
    tokens, room = scaled(state, came.guest_tokens), _room(state, instructions, page, keep, beside)
    if tokens > room:
        return Refusal(page.name, f"needs {tokens} tokens; {max(0, room)} can be made free")
    since = state.step - page.left_at
    return PagePagedIn(
        page=page.number,
        by=by,
        tokens=_brought(came),
        thrash=bool(page.left_at) and since <= s.thrash_steps and not page.guest_until,
        until=state.step + s.guest_steps - 1,
        level=level,
        part=part,
    )


def part_in(
    state: State,
    instructions: int,
    page: Page,
    by: str,
    worth: Mapping[int, float],
    keep: Collection[int] = (),
    beside: int = 0,
) -> PagePagedIn | Refusal:
    """Bring the part of a page that fits around its best turn, for the whole does not; a part that is here already
    is not brought again. `worth`: by turn, see parts.part_of.
    """
    room = _room(state, instructions, page, keep, beside)

    def fits(turns: Sequence[Turn]) -> bool:
        span = (turns[0].number, turns[-1].number)
        return scaled(state, changed(page, guest_as=PART, part=span).guest_tokens) <= room

    part = part_of(page.turns, worth, fits)
    if part is None or (page.guest_as == PART and page.part == part):
        return page_in(state, instructions, page, by, keep, beside)  # which says by how much the whole does not fit
    return page_in(state, instructions, page, by, keep, beside, PART, part)


def _room(state: State, instructions: int, page: Page, keep: Collection[int], beside: int) -> int:
    """Tokens that this page may take as a guest; what it takes already counts as free."""
    held = scaled(state, page.guest_tokens) if page.guest_until else 0
    return can_be_free(state, instructions, keep) - scaled(state, beside) + held


def _brought(came: Page) -> int:
    if came.guest_as == SUMMARY and came.gist:
        return came.gist.tokens
    return sum(turn.tokens for turn in came.standing) if came.guest_as == PART else came.tokens
