"""The default without a language model: it quotes what stands in its window, asks for pages, and says so.

`respond` is a pure function over the messages of a prompt: the same prompt, the same answer. It scores
sentences by the rare terms they share with a question; it draws no conclusion, knows nothing about the world,
and writes no sentence of its own beyond a few fixed ones. It does not learn, and it fills no JSON schemas.

The engine asks it by `heard`, in its own process: LiteLLM's import would cost the first message seconds.
`register` makes it the LiteLLM provider `workbench` as well, for whoever calls it through LiteLLM.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from math import log
from types import MappingProxyType
from typing import Any

from memory.asked import NAMING, asked_by, fact_weights, holds_a_name
from memory.attributes import kin_in, told_of
from memory.errors import ModelError
from memory.language import HAN, UNKNOWN, alike, is_cjk, sentences, terms, zipf
from memory.tokens import count

PROVIDER = "workbench"
OFFLINE = "workbench/offline"
WINDOW_TOKENS = 8_000
ENTRY: Mapping[str, Any] = MappingProxyType(  # its row in LiteLLM's table
    {
        "litellm_provider": PROVIDER,
        "mode": "chat",
        "input_cost_per_token": 0.0,
        "output_cost_per_token": 0.0,
        "cache_creation_input_token_cost": 0.0,  # without the two LiteLLM warns
        "cache_read_input_token_cost": 0.0,
        "max_input_tokens": WINDOW_TOKENS,
    }
)

ENOUGH = 0.55  # coverage of the question's terms below which a sentence is no answer
ENOUGH_KNOWN = 0.3  # the same of a remembered fact: it is short, and what it is about counts as its own words
ALIKE_KNOWN = 3  # facts that answer as well as the best are told together
NEAR = 0.8  # of the best score: a newer turn this close wins, it may be the changed value
CHANGED = 1.25  # a sentence that says "actually", "now", 改成 ranks higher by this
PAIR = 0.9  # two sentences quoted together rank lower than one that says the same
SECOND = 0.6  # of the best bookmark's share: a second page this close is recalled with it
ROUNDS = 3  # recalls in one exchange, opening a range included
FEW = 30  # statements; among fewer, how many hold a term says little about its rarity
QUOTED = 300  # characters
MESSAGE_TOKENS = 4  # what a chat format adds to a message, beside its words

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recall:
    page_ids: tuple[str, ...]  # "p3", or a range "p3-p41"; empty: search by the question
    question: str

    @property
    def arguments(self) -> str:
        return json.dumps({"page_ids": list(self.page_ids), "question": self.question}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Response:
    """Text, or a call of the tool `recall`; never both."""

    text: str = ""
    recall: Recall | None = None


def respond(messages: Sequence[Message], tools: Sequence[Message] = (), tool_choice: Any = "auto") -> Response:
    """What the responder says next.

    >>> respond([{"role": "user", "content": "I am allergic to peanuts."},
    ...          {"role": "assistant", "content": "Noted."},
    ...          {"role": "user", "content": "What am I allergic to?"}]).text
    'You said: “I am allergic to peanuts”.'
    """
    prompt = read(messages)
    say = _CHINESE if _is_chinese(prompt.message) else _ENGLISH
    if not prompt.message:
        return Response(say["empty"])
    if _ABOUT.search(prompt.message):
        return Response(say["about"])
    if question := question_in(prompt.message):
        may_recall = tool_choice != "none" and any(_tool_name(tool) == "recall" for tool in tools)
        return _answer(prompt, question, say, may_recall=may_recall)
    if kind := _small_talk(prompt.message):
        return Response(say[kind])
    return Response(say["noted"].format(quote=_quotable(_key_sentence(prompt.message))))


# The prompt, read back


@dataclass(frozen=True, slots=True)
class Statement:
    """A message of the conversation that can be quoted."""

    role: str  # user or assistant
    text: str
    turn: int = 0  # 0: not known
    date: str = ""
    resident: bool = True  # not from a recalled page
    fact: str = ""  # its name, where it is remembered from before
    against: tuple[str, ...] = ()  # other facts, with which it cannot both hold

    @property
    def place(self) -> tuple[bool, int]:
        """Residents are newer than what was paged out; among pages the turn decides."""
        return self.resident, 0 if self.resident else self.turn


@dataclass(frozen=True, slots=True)
class Stub:
    name: str  # p3, or p3-p41
    keywords: str


@dataclass(frozen=True)
class Prompt:
    message: str  # the last user message
    statements: tuple[Statement, ...]  # oldest first
    stubs: tuple[Stub, ...]
    pages: frozenset[str]  # whose words are here because they were recalled
    asked: tuple[Recall, ...]  # recalls since the last user message

    @cached_property
    def hidden(self) -> tuple[Stub, ...]:
        """Bookmarks of what is neither here nor was asked for."""
        asked = {name for recall in self.asked for name in recall.page_ids}
        return tuple(stub for stub in self.stubs if stub.name not in self.pages and stub.name not in asked)


_STUB = re.compile(r"\[(p\d+(?:-p\d+)?)(?::([^\]\n]*))?\]")
_OPENING = re.compile(r'<recalled page="(p\d+)"')
_TURN = re.compile(r"turn (\d+) · ([^·\n]+?)(?: · (\d{4}-\d\d-\d\d[^:\n]*(?::\d\d)*))?: ?")
_FACT = re.compile(
    r"(f\d+) \(since (\d{4}-\d\d-\d\d)[^)\n]*?(?:, undecided against (f\d+(?:, f\d+)*) in c\d+)?\): ?(.+)"
)
_CUT = re.compile(r"\[… [^\]\n]*\]\n")  # the engine's note above a message whose beginning is paged out


def read(messages: Sequence[Message]) -> Prompt:
    last = max((i for i, m in enumerate(messages) if m.get("role") == "user"), default=-1)
    spoken: list[Statement] = []
    known: list[Statement] = []
    recalled: list[Statement] = []
    stubs: dict[str, Stub] = {}
    pages: set[str] = set()
    asked: list[Recall] = []
    for i, message in enumerate(messages):
        role, text = message.get("role"), text_of(message)
        if role in ("system", "tool"):
            stubs |= {stub.name: stub for stub in _stubs(text)}
            found, names = _recalled(text)
            recalled += found
            pages |= names
            known += _known(text)
        elif role in ("user", "assistant") and i != last:
            spoken.append(Statement(role, _CUT.sub("", text, count=1) if _CUT.match(text) else text))
            asked += _recalls(message) if i > last else []
    said = text_of(messages[last]).strip() if last >= 0 else ""
    in_order = (*sorted(recalled, key=lambda s: s.turn), *known, *spoken)
    return Prompt(said, in_order, tuple(stubs.values()), frozenset(pages), tuple(asked))


def text_of(message: Message) -> str:
    """The words of a message, whose content may be text, nothing, or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _stubs(text: str) -> Iterator[Stub]:
    """A line that begins with a stub holds stubs; one inside a sentence is an example in the instructions."""
    for line in text.splitlines():
        if line.startswith("[p"):
            yield from (Stub(m[1], (m[2] or "").strip(" …")) for m in _STUB.finditer(line))


def _recalled(text: str) -> tuple[list[Statement], set[str]]:
    """The turns between recall marks, and the pages; a line without a header continues the turn above."""
    statements: list[Statement] = []
    pages: set[str] = set()
    inside = False
    for line in text.splitlines():
        if opening := _OPENING.match(line):
            inside = True
            pages.add(opening[1])
        elif line.startswith("</recalled>"):
            inside = False
        elif inside and (header := _TURN.match(line)):
            role = "assistant" if header[2] == "assistant" else "user"
            statements.append(Statement(role, line[header.end() :], int(header[1]), header[3] or "", resident=False))
        elif inside and statements:
            above = statements[-1]
            statements[-1] = Statement(above.role, f"{above.text}\n{line}", above.turn, above.date, resident=False)
    return [s for s in statements if s.role in ("user", "assistant")], pages


def _known(text: str) -> Iterator[Statement]:
    """The lines between marks of what is known."""
    if text.startswith("<known>"):
        for found in _FACT.finditer(text):
            against = tuple(found[3].split(", ")) if found[3] else ()
            yield Statement("user", found[4], date=found[2], fact=found[1], against=against)


def _recalls(message: Message) -> list[Recall]:
    """The recalls that an assistant's message asks for; calls that cannot be read are none of ours."""
    recalls = []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        try:
            arguments = json.loads(str(function.get("arguments") or "{}"))
        except ValueError:
            continue
        if function.get("name") == "recall" and isinstance(arguments, dict):
            names = arguments.get("page_ids")
            known = tuple(map(str, names)) if isinstance(names, list) else ()
            recalls.append(Recall(known, str(arguments.get("question", ""))))
    return recalls


def _tool_name(tool: Message) -> Any:
    return (tool.get("function") or {}).get("name")


# Is it a question?

_LEAD = r"(?:(?:so|and|but|well|ok|okay|hey|hi|hello|please|sorry|also|by the way)\b[\s,!.]*)*"
_VERB = r"is|are|am|was|were|do|does|did|can|could|should|would|will|has|have|had"
_MEASURE = r"much|many|long|old|often|far|big|about"
_PERSON = r"i|you|we|they|he|she|it|my|our|your|his|her|the|there|this|that|any|anyone|anything"
_ASKS = re.compile(
    rf"^{_LEAD}(?:"
    rf"(?:what|who|whom|whose|which|where|when|why|how)(?:['’]s|\s+(?:{_VERB}|{_MEASURE})\b)"
    r"|(?:what|which|whose)\s+\w+\s+(?:is|are|am|was|were|do|does|did|can|should)\b"
    rf"|(?:is|are|am|was|were|do|does|did|can|could|should|would|will|has|have|had)\s+(?:{_PERSON})\b"
    r"|(?:tell me|show me|list)\b(?! (?:that|when you|if)\b)|remind me (?!to\b)"
    r"|(?:do|can) you (?:still )?(?:remember|recall|know)"
    r")",
    re.IGNORECASE,
)
_ASKS_CHINESE = re.compile(
    r"吗|(?<!没)什么|多少|哪(?!怕)|谁|怎么|怎样|为何|何时|是否|是不是|有没有|记不记得|还记得|告诉我"
    r"|第几|几[点号岁楼]|(?:星期|周|几|月)几|呢[。!！]?\s*$|几[个次天年月位]?[。!！]?\s*$"
)
_MARK = re.compile(r"？|\?(?=[\"'”’)\]!?]*(?:\s|$))")


def is_question(sentence: str) -> bool:
    """
    >>> [is_question(s) for s in ("When was it?", "When I was young, I sang.", "预算是多少", "没什么")]
    [True, False, True, False]
    """
    return bool(_MARK.search(sentence) or _ASKS.match(sentence.strip()) or _ASKS_CHINESE.search(sentence))


def question_in(message: str) -> str:
    """The sentences of a message that ask; "" if none does."""
    return " ".join(s for s in _split(message) if is_question(s))


def _split(text: str) -> list[str]:
    return [s for start, end in sentences(text) if (s := text[start:end].strip())]


def _is_chinese(text: str) -> bool:
    """More Chinese characters than words in Latin letters."""
    return len(re.findall(f"[{HAN}]", text)) > len(re.findall(r"[A-Za-z]+", text))


# What answers it?

_GENERIC = """
tell told say said remember recall mention know knew talk discuss decide agree remind please exactly last
previous earlier ago question answer actually
多少 少钱 多钱 时候 记得 说过 提过 告诉 请问 知道 之前 以前 上次 最后 来着 还记 到底
"""
_LIGHT = """
now currently name call time day date number amount kind sort type thing
名字 时间 日期 号码 数字 东西 事情 现在 目前
"""
_FUNCTION = frozenset("我你您的了吗呢吧啊么什是哪谁几")  # a pair with one of these says nothing in a question
_CHANGE = re.compile(
    r"\b(?:actually|instead|now|changed?|updated?|no longer|not any ?more|rather|correction)\b"
    r"|改[成为到]|现在|其实|不再|更正|换成|变成",
    re.IGNORECASE,
)
_OURS = re.compile(
    r"(?:You|I) said(?: \(turn[^)]*\))?:|I remember \(f\d|我记得（f\d|Noted: |I do not find "
    r"|你说过|我说过|记下了：|在我能看到的内容里"
)


@dataclass(frozen=True, slots=True)
class Found:
    statement: Statement
    text: str
    coverage: float  # share of the question's weight that the sentence holds
    score: float
    missing: frozenset[str]


def _answer(prompt: Prompt, question: str, say: Mapping[str, str], *, may_recall: bool) -> Response:
    statements = [s for s in prompt.statements if not s.fact and not _OURS.match(s.text)]
    weights = _weights(question, [s.text for s in statements])
    best = _best(statements, "user", weights)
    known = _remembered([s for s in prompt.statements if s.fact], question, weights)
    if known and not (best and best.score > known[0].score):  # what holds now, whatever was said before
        best = known[0]
    if may_recall and weights and (recall := _recall(prompt, question, weights, best)):
        return Response(recall=recall)  # what an assistant said is no reason not to look for the user's own words
    best = best or _best(statements, "assistant", weights)
    alike_best = known if best and best.statement.fact else [best] if best else []
    told = [each for each in alike_best if each.statement.fact not in alike_best[0].statement.against]
    quotes = [_quote(each, say) + _disputed(each, prompt, say) for each in told]
    return Response(" ".join(quotes) or _not_found(prompt, say))


def _remembered(facts: Iterable[Statement], question: str, weights: Mapping[str, float]) -> list[Found]:
    """The facts that hold most of what is asked, the newest first; what they are about counts, in either language."""
    asked = fact_weights(question)
    found = []
    for fact in facts:
        about = told_of(fact.text)
        if not _of_whom_is_asked(fact.text, about, question):
            continue
        held = _term_set(f"{fact.text} {' '.join(asked_by(each) for each in sorted(about))}")
        if any(map(holds_a_name, about)):
            held |= NAMING
        elif "name" in about and not all(_held(held, term) for term in asked):  # the cat's name is not the user's
            held -= NAMING
        coverage = sum(w for term, w in asked.items() if _held(held, term)) / sum(asked.values()) if asked else 0.0
        missing = frozenset(term for term in weights if not _held(held, term))
        if coverage >= ENOUGH_KNOWN:
            found.append(Found(fact, fact.text, coverage, coverage, missing))
    most = max((each.coverage for each in found), default=0.0)
    best = [each for each in found if each.coverage == most]
    return sorted(best, key=lambda each: each.statement.date, reverse=True)[:ALIKE_KNOWN]


def _of_whom_is_asked(fact: str, about: Collection[str], question: str) -> bool:
    """Where my sister lives is not where I live, nor the other way round."""
    asked, told = kin_in(question), kin_in(fact)
    of_user = fact.startswith(("The user", "用户"))
    return bool(asked & told) or not of_user if asked else not told or bool(told & set(about))


def query_terms(question: str) -> list[str]:
    """The terms a question asks with, without those that every question holds."""
    found = [t for t in dict.fromkeys(terms(question)) if not _FUNCTION & set(t)]
    return [t for t in found if t not in _term_set(_GENERIC)] or found


def _weights(question: str, texts: Sequence[str]) -> dict[str, float]:
    """Rare terms weigh most, from 1.3 (in one statement, or in none) down to 0.3 (in all of many); what stands across
    two Chinese words (店一 in 酒店一晚多少钱) says next to nothing."""
    holders = Counter(term for text in texts for term in _term_set(text))
    many = max(len(texts), FEW)
    weights = {}
    for term in query_terms(question):
        held = sum(n for other, n in holders.items() if alike(term, other))
        rarity = 0.3 + log(many / min(max(held, 1), many)) / log(many)
        no_word = is_cjk(term) and zipf(term) == UNKNOWN
        weights[term] = rarity * (0.1 if no_word else 0.4 if term in _term_set(_LIGHT) else 1.0)
    return weights


def _best(statements: Iterable[Statement], role: str, weights: Mapping[str, float]) -> Found | None:
    """The sentence that covers the question best; a newer turn with nearly the same score goes first."""
    found = [f for s in statements if s.role == role and (f := _best_of(s, weights)) and f.coverage >= ENOUGH]
    if not found:
        return None
    top = max(f.score for f in found)
    return [f for f in found if f.score >= NEAR * top][-1]


def _best_of(statement: Statement, weights: Mapping[str, float]) -> Found | None:
    """The best sentence of a turn, or two that stand together; a later one wins a tie."""
    if not weights or not any(_holds(statement.text, term) for term in weights):
        return None
    parts = [s for s in _split(statement.text) if not is_question(s)]
    pairs = [f"{a} {b}" for a, b in pairwise(parts)]
    candidates = [(s, 1.0) for s in parts] + [(s, PAIR) for s in pairs]
    best: Found | None = None
    for text, factor in candidates:
        missing = frozenset(term for term in weights if not _holds(text, term))
        coverage = 1 - sum(weights[term] for term in missing) / sum(weights.values())
        score = coverage * factor * (CHANGED if _CHANGE.search(text) else 1.0)
        if best is None or score >= best.score:
            best = Found(statement, text, coverage, score, missing)
    return best


def _holds(text: str, term: str) -> bool:
    return _held(_term_set(text), term) or (term in _SAID_AS and _SAID_AS[term] in text)


def _held(held: Collection[str], term: str) -> bool:
    return term in held or any(alike(term, other) for other in held)


_SAID_AS = {"名字": "我叫"}  # who is asked for a name tells it without the word


@lru_cache(maxsize=20_000)
def _term_set(text: str) -> frozenset[str]:
    return frozenset(terms(text))


# Which page may hold it?


def _recall(prompt: Prompt, question: str, weights: Mapping[str, float], best: Found | None) -> Recall | None:
    """Pages whose bookmarks promise more than what is here; at first also what only a search can find."""
    if len(prompt.asked) >= ROUNDS or (prompt.asked and not _opened_range(prompt)):
        return None
    ranked = _promising(prompt.hidden, weights, best)
    single = [(name, share) for name, share in ranked if "-" not in name]
    chosen = [r for r in single[:2] if r[1] >= SECOND * single[0][1]] or ranked[:1]
    if chosen:
        return Recall(tuple(name for name, _ in chosen), question)
    if best is None and prompt.hidden and not prompt.asked:
        return Recall((), question)
    return None


def _opened_range(prompt: Prompt) -> bool:
    """The last recall asked for a range: its answer is a list of stubs, not a page."""
    return any("-" in name for name in prompt.asked[-1].page_ids)


def _promising(stubs: Iterable[Stub], weights: Mapping[str, float], best: Found | None) -> list[tuple[str, float]]:
    """Names with the share of the question they cover, best first; newer pages first in a tie."""
    total = sum(weights.values())
    ranked = []
    for stub in stubs:
        held = {term for term in weights if _holds(stub.keywords, term)}
        share = sum(weights[term] for term in held) / total
        if held and (best is None or (share > best.coverage and held & best.missing)):
            ranked.append((stub.name, share))
    return sorted(ranked, key=lambda r: (-r[1], -int(r[0].split("-")[0][1:])))


# The few sentences it has

_ENGLISH = {
    "user": "You said{when}: “{quote}”.",
    "assistant": "I said{when}: “{quote}”.",
    "known": "I remember{when}: “{quote}”.",
    "against": " It is undecided against {fact}, since {date}: “{quote}”.",
    "since": "since {}",
    "turn": "turn {turn}",
    "when": " ({})",
    "comma": ", ",
    "missing": "I do not find that in what I can see ({seen}).",
    "window": "window",
    "page": "window and 1 recalled page",
    "pages": "window and {n} recalled pages",
    "noted": "Noted: {quote}",
    "thanks": "You are welcome.",
    "hello": "Hello! Tell me something, or ask me about what you told me.",
    "bye": "Goodbye!",
    "fine": "All right.",
    "empty": "There is no message to answer.",
    "about": (
        "I am the built-in offline responder: a set of rules without a language model. I can only quote what "
        "stands in my window or comes back through recall; I know nothing else. For real answers set a model "
        'by any LiteLLM name, for example llm="gpt-4o-mini".'
    ),
}
_CHINESE = {
    "user": "你说过{when}：“{quote}”。",
    "assistant": "我说过{when}：“{quote}”。",
    "known": "我记得{when}：“{quote}”。",
    "against": "它与 {fact}（自 {date} 起）矛盾，尚未决定：“{quote}”。",
    "since": "自 {} 起",
    "turn": "第{turn}轮",
    "when": "（{}）",
    "comma": "，",
    "missing": "在我能看到的内容里没有找到（{seen}）。",
    "window": "窗口",
    "page": "窗口和 1 个召回的页",
    "pages": "窗口和 {n} 个召回的页",
    "noted": "记下了：{quote}",
    "thanks": "不客气。",
    "hello": "你好！你可以告诉我一些事，或者问我你说过的事。",
    "bye": "再见！",
    "fine": "好的。",
    "empty": "没有可以回答的消息。",
    "about": (
        "我是内置的离线应答程序：只有规则，没有语言模型。我只能引用窗口里的内容或召回的页，别的都不知道。"
        '要得到真正的回答，请设置一个模型，任何 LiteLLM 名称都可以，例如 llm="gpt-4o-mini"。'
    ),
}
_ABOUT = re.compile(
    r"\b(?:what can you do|who are you|what are you\b(?! \w+ing)|how do you work"
    r"|are you (?:an? )?(?:ai|bot|robot|human|llm|language model)"
    r"|(?:which|what) (?:model|llm) (?:are you|is this))\b"
    r"|[你您](?:是谁|能做什么|会做什么|会什么|能干什么|能干嘛|是什么(?:模型)?|是(?:机器人|人工智能|AI))",
    re.IGNORECASE,
)
_SMALL_TALK = {
    "thanks": r"(?:many )?(?:thanks|thank you|thx|cheers)(?: (?:so|very) much| a lot)?(?: for [\w ]{1,30})?"
    r"|(?:非常|太|多)?(?:感谢|谢谢|谢了|谢啦|多谢)(?:你|您|了|啦)?",
    "hello": r"(?:hi|hello|hey|good (?:morning|afternoon|evening))(?: there| again)?"
    r"|(?:你好|您好|嗨|哈喽|早上好|下午好|晚上好|早)[啊呀]?",
    "bye": r"(?:good)?bye|bye bye|see you(?: later| soon| tomorrow)?|good night|再见|拜拜|回头见|晚安",
    "fine": r"(?:ok|okay|yes|no|sure|great|fine|perfect|cool|got it|all right|sounds good)"
    r"|(?:好|好的|嗯|行|可以|没问题|知道了|明白了|对)[啊呀]?",
}


def _small_talk(message: str) -> str:
    """Which kind of courtesy the whole message is; "" if it says more."""
    bare = message.strip(" \t\n.!~…,。！～，")
    return next((kind for kind, form in _SMALL_TALK.items() if re.fullmatch(form, bare, re.IGNORECASE)), "")


def _quote(found: Found, say: Mapping[str, str]) -> str:
    s = found.statement
    if s.fact:
        when = say["when"].format(say["comma"].join((s.fact, say["since"].format(s.date))))
        return say["known"].format(when=when, quote=_quotable(found.text))
    known = [say["turn"].format(turn=s.turn)] if s.turn else []
    known += [s.date] if s.date else []
    when = say["when"].format(say["comma"].join(known)) if known else ""
    return say[s.role].format(when=when, quote=_quotable(found.text))


def _disputed(best: Found, prompt: Prompt, say: Mapping[str, str]) -> str:
    """The other sides of a conflict that nobody settled: half of it would be no answer."""
    others = [s for s in prompt.statements if s.fact in best.statement.against]
    return "".join(say["against"].format(fact=s.fact, date=s.date, quote=_quotable(s.text)) for s in others)


def _not_found(prompt: Prompt, say: Mapping[str, str]) -> str:
    n = len(prompt.pages)
    seen = say["window"] if n == 0 else say["page"] if n == 1 else say["pages"].format(n=n)
    return say["missing"].format(seen=seen)


def _key_sentence(message: str) -> str:
    """The sentence with the most terms; the first of equals."""
    return max(_split(message), key=lambda s: len(_term_set(s)), default=message)


def _quotable(text: str) -> str:
    """On one line, without its full stop, and cut after a word where it is long."""
    line = " ".join(text.split()).rstrip(".。")
    if len(line) <= QUOTED:
        return line
    return re.sub(r"\s\S{0,30}$", "", line[:QUOTED]) + "…"


# As a LiteLLM provider


def answered(messages: Sequence[Message], options: Mapping[str, Any]) -> tuple[Response, dict[str, int]]:
    """The response to a request as LiteLLM shapes it, and its usage in tokens; a ModelError where it fills no form."""
    form = (options.get("response_format") or {}).get("type", "text")
    if form != "text":
        raise ModelError(f"{OFFLINE} fills no {form}; set a language model for this task")
    tools = options.get("tools") or ()
    response = respond(messages, tools, options.get("tool_choice", "auto"))
    return response, _usage(messages, tools, response)


def pieces(text: str) -> list[str]:
    """As a stream brings it."""
    return re.findall(r"(?s).{1,8}\s?", text)


def register() -> None:
    """Make `workbench/offline` a model that LiteLLM knows: its provider, window and price (0)."""
    import litellm

    if any(entry["provider"] == PROVIDER for entry in litellm.custom_provider_map):
        return
    litellm.custom_provider_map.append({"provider": PROVIDER, "custom_handler": _provider()})
    litellm.register_model({OFFLINE: dict(ENTRY)})


def _provider() -> Any:
    """An object of a class that is made here, for its base is litellm's. LiteLLM passes all by keyword."""
    import litellm
    from litellm.llms import custom_llm

    untyped: Any = custom_llm

    def asked(messages: list[Any], options: Mapping[str, Any]) -> tuple[Response, dict[str, int]]:
        try:
            return answered(messages, options)
        except ModelError as error:
            raise untyped.CustomLLMError(400, str(error)) from None

    def completion(_: Any, *, messages: list[Any], model_response: Any, **given: Any) -> Any:
        response, usage = asked(messages, given["optional_params"])
        calls = [call_of(response.recall, messages)] if response.recall else None
        choice = model_response.choices[0]
        choice.message = litellm.Message(content=response.text or None, tool_calls=calls)
        choice.finish_reason = "tool_calls" if calls else "stop"
        model_response.model = given["model"]
        model_response.usage = litellm.Usage(**usage)
        return model_response

    def streaming(_: Any, *, messages: list[Any], **given: Any) -> Iterator[dict[str, Any]]:
        response, usage = asked(messages, given["optional_params"])
        yield from _chunks(response, messages, usage)

    async def acompletion(self: Any, **given: Any) -> Any:
        return completion(self, **given)

    async def astreaming(self: Any, **given: Any) -> AsyncIterator[dict[str, Any]]:
        for chunk in streaming(self, **given):
            yield chunk

    methods = (completion, streaming, acompletion, astreaming)
    return type("Offline", (untyped.CustomLLM,), {method.__name__: method for method in methods})()


def call_of(recall: Recall, messages: Sequence[Message]) -> dict[str, Any]:
    """A tool call; its id is new in this conversation and the same for the same prompt."""
    digest = hashlib.sha256(f"{len(messages)} {recall.arguments}".encode()).hexdigest()
    function = {"name": "recall", "arguments": recall.arguments}
    return {"id": f"call_{digest[:12]}", "type": "function", "function": function}


def _chunks(response: Response, messages: Sequence[Message], usage: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """The answer in small pieces, then how it ended and what it used."""
    blank = {"text": "", "tool_use": None, "is_finished": False, "finish_reason": "", "usage": None}
    for piece in pieces(response.text):
        yield {**blank, "text": piece}
    if response.recall:
        yield {**blank, "tool_use": {**call_of(response.recall, messages), "index": 0}}
    reason = "tool_calls" if response.recall else "stop"
    yield {**blank, "is_finished": True, "finish_reason": reason, "usage": dict(usage)}


def _usage(messages: Sequence[Message], tools: Sequence[Message], response: Response) -> dict[str, int]:
    asked = sum(count(text_of(m)) + MESSAGE_TOKENS for m in messages)
    calls = [m["tool_calls"] for m in messages if m.get("tool_calls")]
    asked += count(json.dumps([*tools, *calls], ensure_ascii=False, default=str)) if tools or calls else 0
    told = count(response.text) + (count(response.recall.arguments) if response.recall else 0)
    return {"prompt_tokens": asked, "completion_tokens": told, "total_tokens": asked + told}
