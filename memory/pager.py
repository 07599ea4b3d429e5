"""One conversation over a journal: receives turns, makes room, brings pages back, settles. Knows no model.

The live engine and replay drive this same class. Decisions are added to a draft, folded at once so that the
next decision sees them, and committed together: a commit is a whole piece of a step, or nothing of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from memory import boundaries, cooperative, eviction, gist, naming, recalls, secondlook, templates, tokens
from memory.bookmarks import Corpus, Generator, PageWords, promise
from memory.bookmarks import named as named_generator
from memory.errors import BadMessage, BadSetting, EngineError, ModelError, StoreError, UnknownName
from memory.events import (
    Body,
    Candidate,
    ConversationStarted,
    Event,
    GuestLeft,
    MessageReceived,
    MessageReplied,
    ModelFailed,
    PageClosed,
    PageEvicted,
    PagesRecalled,
    PagesUsed,
    PromptAssembled,
    ReplyRated,
    SettingsChanged,
    StepAbandoned,
    StepFinished,
    TextRedacted,
    TurnMarked,
)
from memory.finder import Finder, VectorSource
from memory.importance import weigh
from memory.journal import Clock, Journal, utc_now
from memory.known import EXTRACTORS
from memory.naming import CHOSEN, EDITED, MARKED_WEIGHT
from memory.pages import SUMMARY, TEXT, Page
from memory.prompt import (
    CUT_TOKENS,
    PROTOCOLS,
    RECALL_ONLY,
    Message,
    Offer,
    Prompt,
    Settled,
    assemble,
    call_tokens,
    instruction_tokens,
)
from memory.recalls import Request
from memory.redaction import Redact, clean, redact
from memory.retrieval import Ranking, strategy_of
from memory.settings import Settings
from memory.state import apply
from memory.stubs import Gone, arrange_stubs
from memory.turns import MESSAGE_TOKENS, ROLES, Call, Turn
from memory.window import Fill, can_be_free, fill, make_room, page_room, scaled

LEVELS = {
    TEXT: "a recalled page comes whole, or the part of it that fits",
    SUMMARY: "its summary comes first, the text when it is asked for again",
}
NEAR_BEST = 0.75  # of the most used page's share; what many pages hold a little of was used from none of them
USED_SHARE = 0.25  # of the reply's rare words that stand on resident pages; a page with less was not used
EMBEDDER = "embedder"  # who is named where it failed: the store's own, or the default
SHORTEST_CUT = 8  # tokens; what is left of a call's arguments at the least


@dataclass(frozen=True, slots=True)
class Said:
    """A message on its way in, in words."""

    text: str
    role: str = "user"
    said_at: datetime | None = None  # None: now
    speaker: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()  # id, name, arguments as JSON text
    answers: str = ""
    important: bool = False
    evidence: tuple[int, ...] = ()
    text_id: int = 0  # words that the store holds already


Consult = Callable[[Sequence[Page], str], cooperative.Decision]  # undecided pages, the message
LookAgain = Callable[[Ranking, str, int], Ranking]  # a ranking, its question, how many may come
NOBODY_ASKED = cooperative.Decision(fallback="no model decides here")
IN_BETWEEN = "room was made in the middle of a step"


class _Strategies(NamedTuple):
    """What the settings name, as functions."""

    rules: list[tuple[str, boundaries.Closes]]
    score: eviction.Score
    keywords: Generator


class Pager:
    """
    `boundary`, `eviction_policy` and `generator` may be functions of your own; by default the settings name them.
    `meaning`: what embeds messages for a boundary that goes by it.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        boundary: boundaries.Closes | None = None,
        eviction_policy: eviction.Score | None = None,
        generator: Generator | None = None,
        clock: Clock = utc_now,
        redactor: Redact = redact,
        track_use: bool = True,
        vectors: VectorSource | None = None,
        meaning: boundaries.Meaning | None = None,
    ) -> None:
        self.journal = journal
        self._vectors = vectors
        self._meaning = meaning or boundaries.no_meaning
        self._unmeant: EngineError | None = None  # why a message could not be compared with those before it
        self.clock = clock
        self.redactor = redactor
        self.track_use = track_use
        self._boundary, self._eviction, self.generator = boundary, eviction_policy, generator
        self.offer: Offer = RECALL_ONLY
        self.keep: Callable[[str], str] | None = None  # what the model wants remembered, and forgotten, across
        self.drop: Callable[[str], str] | None = None  # conversations; None: there is no long-term memory
        self.rule: Callable[[int, int, str], str] | None = None  # a conflict, who holds (0: all), and why it says so
        self.consult: Consult | None = None  # whom cooperative eviction asks; None: it goes by rules alone
        self.look_again: LookAgain | None = None  # a model's second look at a ranking; None: it stays as ranked
        self._consulted = NOBODY_ASKED
        self._draft: list[Body] = []
        self._finder: Finder | None = None
        self._corpus: Corpus | None = None
        self._settled: Settled = {}
        self._gone = Gone()
        self.about = ""  # the message of this step: what stubs are arranged for
        self.state = journal.load()
        self.instructions = self.state.told_tokens or instruction_tokens(tokens.count)
        self._chosen: tuple[Settings, _Strategies] | None = None

    # ── draft and commit ──────────────────────────────────────────────────────────────────────────────

    def refresh(self) -> None:
        """Drop the draft and take up what others committed."""
        before = self.state
        self._draft.clear()
        self.state = self.journal.load()
        if self.state is not before:  # equal versions prove nothing: a draft that was dropped had numbers as well
            self._finder = self._corpus = None
            self._settled.clear()

    def add(self, *bodies: Body) -> None:
        for body in bodies:
            step = self._step(body)
            self._draft.append(body)
            self.state = apply(self.state, Event(0, self.state.version + 1, step, _EPOCH, body))

    def commit(self) -> list[Event]:
        events = self.journal.commit(self._draft, self.state.step, self.state) if self._draft else []
        self._draft = []
        return events

    def _step(self, body: Body) -> int:
        """A user's message opens the next step; everything after it belongs to that."""
        opens = isinstance(body, MessageReceived) and not body.turn.piece
        return self.state.step + (1 if opens else 0)

    @property
    def strategies(self) -> _Strategies:
        """Looked up when first needed: a run may name one that only its maker had. Raises UnknownName."""
        if self._chosen is None or self._chosen[0] is not self.state.settings:
            self._chosen = (self.state.settings, self._looked_up(self.state.settings))
        return self._chosen[1]

    def offers(self, offer: Offer) -> None:
        """What the model may ask of its memory from the next prompt on, and how it is told."""
        self.offer = offer
        self.instructions = instruction_tokens(tokens.count, offer)

    def _looked_up(self, s: Settings) -> _Strategies:
        if s.protocol not in PROTOCOLS:
            raise UnknownName("protocol", s.protocol, PROTOCOLS)
        cooperative.named(s.cooperative_asks)
        templates.named(s.bookmark_template)
        strategy_of(s.retrieval)
        secondlook.named(s.second_look)
        if s.recall_level not in LEVELS:
            raise UnknownName("recall level", s.recall_level, LEVELS)
        if s.summaries not in gist.MAKERS:
            raise UnknownName("maker of summaries", s.summaries, gist.MAKERS)
        if s.remember not in EXTRACTORS:
            raise UnknownName("extractor", s.remember, EXTRACTORS)
        return _Strategies(
            boundaries.named(self._boundary or s.boundary, s, self._meant),
            eviction.named(self._eviction or s.eviction),
            named_generator(self.generator or s.bookmarks),
        )

    # ── beginning ─────────────────────────────────────────────────────────────────────────────────────

    def start(
        self, settings: Settings, title: str = "", system: str = "", language: str = "", source: str = "live"
    ) -> None:
        """First records of a new stream."""
        prompt = self.said(system) if system else 0
        self.add(
            ConversationStarted(
                title=self.said(title) if title else 0,
                system=prompt,
                system_tokens=tokens.count(self.journal.words(prompt)) + 1 if prompt else 0,
                language=language,
                source=source,
            )
        )
        self.change_settings(settings)

    def instruct(self, system: str) -> None:
        """The application's system prompt from the next prompt on; nothing is written where it is the same."""
        s = self.state
        if self.redactor(clean(system))[0] == (self.journal.words(s.system) if s.system else ""):
            return
        prompt = self.said(system) if system else 0
        size = tokens.count(self.journal.words(prompt)) + 1 if prompt else 0
        self.add(ConversationStarted(s.title, prompt, size, s.language, s.source))

    def change_settings(self, settings: Settings) -> None:
        self._looked_up(settings)  # an unknown name changes nothing
        self.add(SettingsChanged(settings.to_dict(), settings.hash))

    # ── turns ─────────────────────────────────────────────────────────────────────────────────────────

    def receive(self, said: Said) -> Turn:
        """Place a user's turn on its page. Commit right after it: nothing comes before a message is safe."""
        return self._place(said, MessageReceived)

    def reply(self, said: Said) -> Turn:
        """Place an assistant's or a tool's turn."""
        return self._place(said, MessageReplied)

    def _place(self, said: Said, kind: type[MessageReceived] | type[MessageReplied]) -> Turn:
        most = page_room(self.state, self.instructions)
        cap = min(self.state.settings.chunk_tokens, most)
        turns = self._turns(said, cap)
        words, rules = self.journal.words, self.strategies.rules
        for turn in turns:
            page = self.state.open_page
            if page and (rule := boundaries.closing_rule(page.turns, turn, rules, cap, words, most)):
                self._close(page, rule)
            if kind is MessageReceived:
                self.add(MessageReceived(turn, said.evidence))
            else:
                self.add(MessageReplied(turn))
            self._note_unmeant()
            if self._finder is not None:
                self._finder.add(len(self.state.pages), turn)
        return turns[0]

    def _meant(self, text: str) -> boundaries.Vector | None:
        """For a rule that goes by meaning. What cannot be had closes no page, and no message is lost of it."""
        if self._unmeant is not None:  # whoever did not answer is not asked again for the same message
            return None
        try:
            return self._meaning(text)
        except (BadSetting, ModelError, StoreError) as error:
            self._unmeant = error
            return None

    def _note_unmeant(self) -> None:
        error, self._unmeant = self._unmeant, None
        if error is not None:
            self.add(ModelFailed(0, EMBEDDER, type(error).__name__, self.without_secrets(str(error)), task="boundary"))

    def _turns(self, said: Said, cap: int) -> list[Turn]:
        """The turn, in as many pieces of at most `cap` tokens as its length needs."""
        if not isinstance(said.text, str):
            raise BadMessage(f"a message is text, not {type(said.text).__name__}; join its parts first")
        if said.role not in ROLES:
            raise BadMessage(f"no role is named {said.role!r}; it is one of: {', '.join(ROLES)}")
        text_id = said.text_id or self.said(said.text)
        text = self.journal.words(text_id)
        if not text.strip() and not said.calls and not said.answers:
            raise BadMessage("a message needs words; this one is empty")
        said_at = said.said_at or self.clock()
        if said_at.tzinfo is None:
            raise BadMessage(f"said_at needs its offset from UTC, and {said_at.isoformat()} has none")
        number = self.state.turn + 1
        calls, calling = self._calls(said, number, cap)
        turn = Turn(
            number=number,
            role=said.role,
            text=text_id,
            tokens=tokens.count(text) + MESSAGE_TOKENS + calling,
            said_at=said_at,
            speaker=clean(said.speaker),
            calls=calls,
            answers=clean(said.answers) if said.role == "tool" else "",
            important=said.important,
        )
        if turn.tokens <= cap:
            return [turn]
        frame = MESSAGE_TOKENS + CUT_TOKENS
        spans = tokens.pieces(text, max(1, cap - frame - calling)) or [(0, 0)]
        end = len(spans) - 1  # calls stand on the last piece: their results follow it
        return [
            replace(
                turn,
                piece=i,
                pieces=len(spans),
                start=start,
                end=stop,
                tokens=tokens.count(text[start:stop]) + frame + (calling if i == end else 0),
                calls=calls if i == end else (),
            )
            for i, (start, stop) in enumerate(spans)
        ]

    def _calls(self, said: Said, turn: int, cap: int) -> tuple[tuple[Call, ...], int]:
        """The calls of a turn, and what they add to it. Arguments that would not fit on its page are cut."""
        calls, total = [], 0
        most = max(SHORTEST_CUT, cap // 2 // max(1, len(said.calls)))
        for nth, (call_id, name, arguments) in enumerate(said.calls):
            call = Call(clean(call_id) or f"call_{turn}_{nth}", clean(name), self.said(_shortened(arguments, most)))
            calls.append(call)
            total += call_tokens(call.name, self.journal.words(call.arguments), tokens.count)
        return tuple(calls), total

    def said(self, text: str) -> int:
        """An id for what somebody said, without the secrets in it."""
        kept, removed = self.redactor(clean(text))
        text_id = self.journal.said(kept)
        if removed:
            self.add(TextRedacted(text_id, removed))
        return text_id

    def without_secrets(self, words: str) -> str:
        """As a record may hold them."""
        return self.redactor(clean(words))[0]

    def mark(self, turn: int, important: bool = True, by: str = "user") -> None:
        """The user marks a message: its page gets a bookmark of high weight, at once; or takes the mark back."""
        pages = self.state.pages_of(turn)
        if not pages:
            raise BadMessage(f"there is no turn {turn} to mark; turns go from 1 to {self.state.turn}")
        others = any(t.number != turn and self.counts_as_marked(t) for p in pages for t in p.turns)
        importance, why = weigh([text for p in pages for text in self.texts(p)], important or others)
        self.add(TurnMarked(turn, important, by, importance, why))
        for page in (self.state.pages[p.number] for p in pages):
            if page.bookmark is None or page.bookmark.origin != EDITED:
                naming.bookmark(self, page)
            elif important and page.bookmark.weight < MARKED_WEIGHT:  # its words are a person's: they stay
                naming.give(self, page, naming.keywords_of(self, page), EDITED, MARKED_WEIGHT)

    def rate(self, turn: int, rating: int, by: str = "user") -> None:
        """What a person thinks of a reply: 1, -1, or 0, which takes it back."""
        if rating not in (1, 0, -1):
            raise BadMessage(f"a reply is rated 1 (up), -1 (down) or 0 (taken back), not {rating!r}")
        replies = (t for page in self.state.pages_of(turn) for t in page.turns if t.number == turn)
        if not any(t.role == "assistant" for t in replies):
            raise BadMessage(f"turn {turn} is no reply of the assistant's; turns go from 1 to {self.state.turn}")
        self.add(ReplyRated(turn, rating, by))

    # ── pages ─────────────────────────────────────────────────────────────────────────────────────────

    def texts(self, page: Page) -> tuple[str, ...]:
        return tuple(turn.words(self.journal.words) for turn in page.turns)

    def _close(self, page: Page, rule: str) -> None:
        importance, why = weigh(self.texts(page), self._is_marked(page))
        self.add(PageClosed(page.number, rule, importance, why))
        if self._finder is not None:
            self._finder.close(page)
        chosen = page.bookmark and page.bookmark.origin in (CHOSEN, EDITED)
        if page.bookmark and not chosen and not self._is_marked(page):  # made while it grew, of what it held then
            naming.bookmark(self, self.state.pages[page.number])

    def _is_marked(self, page: Page) -> bool:
        return any(self.counts_as_marked(turn) for turn in page.turns)

    def counts_as_marked(self, turn: Turn) -> bool:
        return turn.important or turn.number in self.state.marked

    @property
    def corpus(self) -> Corpus:
        """The words of all closed pages."""
        if self._corpus is None:
            self._corpus = Corpus()
            for page in self.state.pages.values():
                if page.closed:
                    self._corpus.add(PageWords(page.number, self.texts(page)))
        return self._corpus

    def shelve(self, page: int, keywords: str) -> None:
        """The words of a page's bookmark, for whoever is found by them."""
        if self._finder is not None:
            self._finder.shelf.put(page, keywords)

    @property
    def finder(self) -> Finder:
        """Finds pages of the whole conversation."""
        if self._finder is None:
            self._finder = Finder.of(self.state, self.journal.words, self._vectors)
        return self._finder

    # ── the window ────────────────────────────────────────────────────────────────────────────────────

    @property
    def fill(self) -> Fill:
        return fill(self.state, self.instructions)

    def plan(self, message: str = "", text_id: int = 0) -> None:
        """Make room if the window is above its high watermark; arrange the stubs for this message; bring back what
        it asks for, if the settings want that. `text_id`: of the message's words.
        """
        self.about = message
        self.arrange(message)  # guests may have left since, and their bookmarks take room again
        self._consulted = self._ask_whom_to_keep(message)
        self.make_room(message)
        if self._consulted.verdicts:  # they hold for the rest of the step
            self._consulted = replace(self._consulted, fallback=IN_BETWEEN)
        if message.strip() and self.state.settings.retrieve_k and self.state.evicted:
            recalls.retrieve(self, message, text_id)

    def make_room(self, message: str, need: int = 0, cause: str = "", keep: Collection[int] = ()) -> None:
        """Until it is enough: what a page frees is known only once its bookmark is made."""
        score = self._score(message)
        while leaving := make_room(self.state, self.instructions, score, need=need, cause=cause, keep=keep):
            self._evict(leaving)
            self.arrange(message)

    def _score(self, message: str) -> eviction.Score:
        """The policy, told what a page does not know of itself."""
        score = self.strategies.score
        if score is eviction.relevance:
            return partial(eviction.relevance, relevant=self._relevant(message))
        if score is eviction.promising:
            closed = (page for page in self.state.residents if page.closed)
            return partial(eviction.promising, promise={page.number: promise(self.texts(page)) for page in closed})
        if score is eviction.cooperative:
            return partial(eviction.cooperative, verdicts=cooperative.scores(self._verdicts()))
        return score

    def _relevant(self, message: str) -> dict[int, float]:
        """What each closed resident page has to do with the message, by its words, as a share of the best one's."""
        among = [page.number for page in self.state.residents if page.closed]
        if not message.strip() or not among:
            return {}
        hits = self.finder.index.text.search(message, len(among), among=among, min_coverage=0.0).hits
        return {hit.page: round(hit.score / hits[0].score, 4) for hit in hits}

    def _verdicts(self) -> dict[int, cooperative.Verdict]:
        """Who decided about which resident page: rules first, then what the model said in this step."""
        rules = cooperative.ruled(self.state.residents, self.state.turn, self.state.settings.old_turns)
        return {**self._consulted.verdicts, **rules}

    def _ask_whom_to_keep(self, message: str) -> cooperative.Decision:
        """The model's word, where the policy wants it, room is needed, and rules do not find enough of it."""
        if self.consult is None or self.strategies.score is not eviction.cooperative:
            return NOBODY_ASKED
        self._consulted = NOBODY_ASKED
        leaving = make_room(self.state, self.instructions, self._score(message))
        rules = self._verdicts()
        if all(evicted.page in rules for evicted in leaving):
            return NOBODY_ASKED
        numbers = [c.page for c in leaving[0].candidates if c.page not in rules]
        return self.consult([p for n in numbers if not (p := self.state.pages[n]).guest_until], message)

    def cut_down(self, limit_tokens: int, beside: int = 0) -> bool:
        """Make room once as if the window held `limit_tokens`, down to the low watermark; whether any page left.

        For a model that took the prompt for too long. `beside`: tokens of this step's calls and results.
        """
        before = self.state.counts.evictions
        s = self.state.settings
        target = int(min(limit_tokens or s.window_tokens, s.window_tokens) * s.low_watermark)
        need = max(1, s.window_tokens - target + scaled(self.state, beside))
        self.make_room(self.about, need=need, cause="the model took the prompt for too long")
        return self.state.counts.evictions > before

    def _evict(self, leaving: Sequence[PageEvicted]) -> None:
        for evicted in leaving:  # write first, drop after
            if self.state.pages[evicted.page].bookmark is None:
                naming.bookmark(self, self.state.pages[evicted.page])
            if self.state.pages[evicted.page].closed:
                naming.summarised(self, self.state.pages[evicted.page])
        for evicted in leaving:
            if self.strategies.score is eviction.cooperative:
                by, why = cooperative.reason(evicted.page, self._verdicts(), self._consulted.fallback)
                evicted = replace(evicted, decided_by=by, why=why)
            self.add(evicted)

    def arrange(self, message: str) -> None:
        words, write = self.journal.words, self.journal.write
        self._gone = self._gone.now(self.state)
        arranged = arrange_stubs(self.state, self.finder.matches(message), words, write, self._gone)
        if arranged:
            self.add(arranged)

    def prompt(self, round_: int = 0, exchange: Sequence[Message] = ()) -> Prompt:
        """What the model reads next; pages make room for the `exchange` of this step's recalls."""
        if exchange:
            exchange = self._fitting(exchange)
            beside = scaled(self.state, sum(m.tokens for m in exchange))
            self.make_room(self.about, need=beside, cause="makes room for this step's recalls")
        write, words = self.journal.write, self.journal.words
        prompt = assemble(self.state, words, write, tokens.count, exchange, self._settled, self.offer)
        self.add(PromptAssembled(round_, prompt.rows, prompt.sections, prompt.tokens, prompt.hash, self.instructions))
        return prompt

    def _fitting(self, exchange: Sequence[Message]) -> Sequence[Message]:
        """Without its first calls and their results, where they cannot fit beside what they brought."""
        room = can_be_free(self.state, self.instructions)
        starts = [i for i, m in enumerate(exchange) if m.role == "assistant"]
        fitting = (exchange[i:] for i in starts if scaled(self.state, sum(m.tokens for m in exchange[i:])) <= room)
        return next(fitting, ())

    # ── recall ────────────────────────────────────────────────────────────────────────────────────────

    def recall(self, request: Request, came_before: int = 0, beside: int = 0) -> PagesRecalled:
        """Bring pages back: named ones, those that hold the turns, those whose content answers the question.

        `came_before`: how many came in this step already; the settings cap the sum. `beside`: tokens of the calls
        and results of this step so far.
        """
        return recalls.recall(self, request, came_before, beside)

    def find(self, question: str, k: int, by: str, *, text_id: int = 0, everywhere: bool = False) -> Ranking:
        """The pages that left the window, or all of them, against a question; what came of it is in the log."""
        return recalls.find(self, question, k, by, text_id=text_id, everywhere=everywhere)

    # ── the end of a step ─────────────────────────────────────────────────────────────────────────────

    def settle(self, reply: str = "", ms: dict[str, float] | None = None, stale_facts: tuple[int, ...] = ()) -> None:
        """After the reply: who was used, which guests leave, what closed pages are remembered by."""
        used = self._pages_used(reply) if reply and self.track_use else ()
        if used:
            self.add(PagesUsed(used))
        names = {c.page for c in used}
        leaving = [page for page in self.state.guests if page.guest_until <= self.state.step]
        self.add(*(GuestLeft(page.number, page.number in names) for page in leaving))
        if leaving:
            self.arrange(self.about)  # their bookmarks are back at once
        for page in [p for p in self.state.residents if p.closed and p.bookmark is None]:
            naming.bookmark(self, page)
        for page in [p for p in self.state.residents if p.closed and p.gist is None]:
            naming.summarised(self, page)
        self.add(StepFinished(ms or {}, stale_facts))

    def _pages_used(self, reply: str) -> tuple[Candidate, ...]:
        """Resident pages, but the open one, whose words stand in the reply; the most used first."""
        among = [p.number for p in self.state.residents if p.closed]
        shares = self.finder.shares(reply, among) if among else {}
        least = max(USED_SHARE, NEAR_BEST * max(shares.values(), default=0.0))
        used = [Candidate(n, round(share, 4)) for n, share in shares.items() if share >= least]
        return tuple(sorted(used, key=lambda c: (-c.score, c.page)))

    def abandon(self, reason: str) -> None:
        """Give the open step up: what was received stays, guests leave."""
        if guests := self.state.guests:
            self.add(*(GuestLeft(page.number, used=False) for page in guests))
            self.arrange(self.about)
        self.add(StepAbandoned(reason))


def _shortened(arguments: str, most: int) -> str:
    """JSON text of at most about `most` tokens: the arguments, or an object with their beginning."""
    if tokens.count(arguments) <= most:
        return arguments
    return json.dumps({"cut": tokens.clip(arguments, most) + "…"}, ensure_ascii=False)


_EPOCH = datetime.fromtimestamp(0, UTC)  # the fold reads no clock; the journal stamps
