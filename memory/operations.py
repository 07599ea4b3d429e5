"""What a language model may ask of its memory: one closed set, whichever way it asks.

Two protocols. With `tools` it calls functions. With `schema` each of its answers is one JSON object whose schema
names the pages that left: small local models choose among names where they fail at calls (0 of 12 against 9 of 12,
llama.cpp with a model of 0.5B). The recall comes before the reply in the object, so that by the time a reply streams
it is known whether it was made without the page; such a draft is not shown.

Nothing is done here: serving.py does it. What cannot be read becomes `Malformed`, with a reason for the log that
holds none of the model's words, and a sentence for the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.errors import UnknownName
from memory.events import Undecided
from memory.jsontext import object_in, string_at, without_thoughts
from memory.pages import SUMMARY, TEXT
from memory.prompt import INSTRUCTIONS, RECALL_TOOL, Offer
from memory.redaction import clean

MOST_REFS = 20  # page names that one call may give
MOST_KEYWORDS = 5
MOST_NAMED = 3  # pages that one answer under a schema may ask for
ROOMY = 4_000  # tokens of a window in which more tools than one find room


@dataclass(frozen=True, slots=True)
class Recall:
    call: str
    pages: tuple[str, ...]  # as the model wrote them: "p3", "p3-p41"
    question: str
    full: bool = False  # the text of the pages, where their summaries would come first


@dataclass(frozen=True, slots=True)
class SearchMemory:
    call: str
    query: str


@dataclass(frozen=True, slots=True)
class MakeBookmark:
    call: str
    place: str  # a page's name, or `turn 12`
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Remember:
    call: str
    text: str


@dataclass(frozen=True, slots=True)
class Forget:
    call: str
    what: str


@dataclass(frozen=True, slots=True)
class Settle:
    call: str
    conflict: str  # as the model wrote it: "c3"
    keep: str  # "f12", or "both"
    why: str


@dataclass(frozen=True, slots=True)
class Malformed:
    call: str
    operation: str  # one of NAMES, "reply", or "?"
    reason: str  # for the log: none of the model's words
    told: str  # for the model


Operation = Recall | SearchMemory | MakeBookmark | Remember | Forget | Settle | Malformed


# ── as tools ──────────────────────────────────────────────────────────────────────────────────────────


def _tool(name: str, says: str, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": says, "parameters": parameters}}


_TEXT = {"type": "string"}
TOOLS: dict[str, dict[str, Any]] = {
    "recall": RECALL_TOOL,
    "search_memory": _tool(
        "search_memory",
        "Search all of this conversation; gives page names with a line each and brings no page back.",
        query=_TEXT,
    ),
    "bookmark": _tool(
        "bookmark",
        "Choose the keywords by which a page is found once it left the window.",
        page={"type": "string", "description": 'A page name such as "p3", or "turn 12".'},
        keywords={"type": "array", "items": _TEXT, "description": "2 to 5, specific to this page."},
    ),
    "remember": _tool("remember", "Keep a fact about the user beyond this conversation.", text=_TEXT),
    "forget": _tool("forget", "Forget what is remembered about something.", what=_TEXT),
    "settle": _tool(
        "settle",
        "Decide between remembered facts that cannot all hold.",
        conflict={"type": "string", "description": 'Its name, such as "c3".'},
        keep={"type": "string", "description": 'The fact that holds, such as "f12", or "both".'},
        why=_TEXT,
    ),
}
NAMES = tuple(TOOLS)
SETTLE = "settle"  # goes only with a prompt that holds what is undecided
BOTH = "both"
_FULL = {"type": "boolean", "description": "The whole text of the pages, not their summaries first."}


def tools(operations: Sequence[str], level: str = TEXT) -> list[dict[str, Any]]:
    """The tools of these operations but `settle`; where summaries come first, a recall can ask for the text."""
    found = [TOOLS[name] for name in operations if name != SETTLE]
    if level != SUMMARY:
        return found
    function = RECALL_TOOL["function"]
    parameters = function["parameters"]
    full = {**parameters, "properties": {**parameters["properties"], "full": _FULL}}
    recall = {**RECALL_TOOL, "function": {**function, "parameters": full}}
    return [recall if tool is RECALL_TOOL else tool for tool in found]


def offered(setting: str, *, real: bool, roomy: bool) -> tuple[str, ...]:
    """The operations that a setting names: `auto`, `all`, or names joined by +; recall is always among them.

    `real`: a model, not the embedded responder; `roomy`: in a window with room for more tools than one. Only `auto`
    asks.
    """
    if setting == "auto":
        more = ("search_memory", "bookmark") if real and roomy else ()
        return ("recall", *more, *((SETTLE,) if real else ()))
    names = NAMES if setting == "all" else tuple(part.strip() for part in setting.split("+"))
    for each in names:
        if each not in TOOLS:
            raise UnknownName("memory operation", each, (*NAMES, "auto", "all"))
    return tuple(name for name in NAMES if name in names or name == "recall")


def of_call(call: str, name: str, arguments: Mapping[str, Any], error: str = "") -> Operation:
    """A tool call as an operation; `error` says why its arguments could not be read."""
    if name == "reply" and error:
        return Malformed(call, name, f"the answer cannot be read: {error}",
                         f"your answer cannot be read ({error}); send {EXAMPLES[name]}")  # fmt: skip
    read = _READERS.get(name)
    if read is None:
        return Malformed(call, "?", "no such tool", f"there is no such tool; there are: {', '.join(NAMES)}")
    if error:
        return Malformed(call, name, f"the arguments cannot be read: {error}",
                         f"the arguments cannot be read ({error}); send {EXAMPLES[name]}")  # fmt: skip
    return read(call, arguments)


EXAMPLES = {
    "recall": '{"page_ids": ["p3"], "question": "…"}',
    "search_memory": '{"query": "…"}',
    "bookmark": '{"page": "p3", "keywords": ["…", "…"]}',
    "remember": '{"text": "…"}',
    "forget": '{"what": "…"}',
    "settle": '{"conflict": "c3", "keep": "f12", "why": "…"}',
    "reply": '{"recall": [], "question": "", "reply": "…"}',
}


def _recall(call: str, arguments: Mapping[str, Any]) -> Operation:
    pages = tuple(clean(str(ref)) for ref in _listed(arguments.get("page_ids"))[:MOST_REFS])
    full = str(arguments.get("full", "")).strip().lower() in ("true", "1", "yes")
    return Recall(call, pages, _text(arguments.get("question")), full)


def _search(call: str, arguments: Mapping[str, Any]) -> Operation:
    query = _text(arguments.get("query"))
    return SearchMemory(call, query) if query else _missing(call, "search_memory", "query")


def _bookmark(call: str, arguments: Mapping[str, Any]) -> Operation:
    place = _text(arguments.get("page")) or (f"turn {turn}" if (turn := _text(arguments.get("turn"))) else "")
    keywords = arguments.get("keywords")
    words = keywords.split(",") if isinstance(keywords, str) else [_text(word) for word in _listed(keywords)]
    if not place:
        return _missing(call, "bookmark", "page")
    if not any(word.strip() for word in words):
        return _missing(call, "bookmark", "keywords")
    return MakeBookmark(call, place, tuple(words[:MOST_KEYWORDS]))


def _remember(call: str, arguments: Mapping[str, Any]) -> Operation:
    text = _text(arguments.get("text"))
    return Remember(call, text) if text else _missing(call, "remember", "text")


def _forget(call: str, arguments: Mapping[str, Any]) -> Operation:
    what = _text(arguments.get("what"))
    return Forget(call, what) if what else _missing(call, "forget", "what")


def _settle(call: str, arguments: Mapping[str, Any]) -> Operation:
    conflict, keep, why = (_text(arguments.get(name)) for name in ("conflict", "keep", "why"))
    if not conflict or not keep:
        return _missing(call, SETTLE, "keep" if conflict else "conflict")
    return Settle(call, conflict, keep, why)


_READERS: dict[str, Callable[[str, Mapping[str, Any]], Operation]] = {
    "recall": _recall,
    "search_memory": _search,
    "bookmark": _bookmark,
    "remember": _remember,
    "forget": _forget,
    "settle": _settle,
}


def _missing(call: str, name: str, field: str) -> Malformed:
    return Malformed(call, name, f"{field} is missing", f'"{field}" is missing; send {EXAMPLES[name]}')


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value in (None, "", {}) else [value]


def _text(value: Any) -> str:
    return "" if value is None else clean(value if isinstance(value, str) else str(value)).strip()


# ── as one JSON object an answer ──────────────────────────────────────────────────────────────────────

_AS_JSON = """
Answer with one JSON object: {"recall": [], "question": "", "reply": "your answer"}.
If the answer may lie on a page that left, do not guess: put its name into "recall", what you look for into
"question", and leave "reply" empty; you are asked again when the page is back."""
SCHEMA_INSTRUCTIONS = INSTRUCTIONS.replace(
    "call recall(page_ids, question) before answering; do not guess.", "recall that page before answering."
)
_PROPERTIES: dict[str, dict[str, Any]] = {
    "search_memory": {"type": "string"},
    "bookmark": {
        "type": "object",
        "properties": {"page": {"type": "string"}, "keywords": {"type": "array", "items": _TEXT, "maxItems": 5}},
        "required": ["page", "keywords"],
        "additionalProperties": False,
    },
    "remember": {"type": "string"},
    "forget": {"type": "string"},
}
_ARGUMENT = {"search_memory": "query", "remember": "text", "forget": "what"}  # of an operation that takes a text
KEYS = ("recall", "question", *_PROPERTIES, SETTLE, "reply")


_SUMMARY_FIRST = {
    "tools": "\nA page comes back as its <summary> first; recall it again, or with full=true, to read it whole.",
    "schema": "\nA page comes back as its <summary> first; recall it again to read it whole.",
}


def schema(
    pages: Sequence[str], operations: Sequence[str] = ("recall",), undecided: Sequence[Undecided] = ()
) -> dict[str, Any]:
    """The shape of an answer; `pages` are the names that may be recalled, `undecided` what may be settled.

    Without any, only a reply is left.
    """
    properties: dict[str, Any] = {}
    if pages:
        names = {"type": "string", "enum": list(pages)}
        properties["recall"] = {"type": "array", "items": names, "maxItems": MOST_NAMED}
        properties["question"] = _TEXT
        properties |= {name: _PROPERTIES[name] for name in operations if name in _PROPERTIES}
    if undecided:
        properties[SETTLE] = _settling(undecided)
    properties["reply"] = _TEXT
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _settling(undecided: Sequence[Undecided]) -> dict[str, Any]:
    sides = dict.fromkeys(f"f{n}" for each in undecided for n in each.facts)
    properties = {
        "conflict": {"type": "string", "enum": ["", *(each.name for each in undecided)]},
        "keep": {"type": "string", "enum": ["", *sides, BOTH]},
        "why": _TEXT,
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_WHERE_CLEAR = "Where the user's own words make it clear which of them holds, "
_SAYS_HOW = {
    "tools": _WHERE_CLEAR + "call settle(conflict, keep, why); else leave it undecided.",
    "schema": 'Answer with one JSON object; "reply" is your answer. ' + _WHERE_CLEAR + '"settle" is '
    '{"conflict": "c1", "keep": "f1", "why": "…"}; else its strings are empty.',
}


def settling(protocol: str, undecided: Sequence[Undecided]) -> tuple[str, str]:
    """What a prompt with these conflicts says about them below what is known, and what goes beside it for them."""
    named = "; ".join(f"{each.name} ({' or '.join(f'f{n}' for n in each.facts)})" for each in undecided)
    beside = [TOOLS[SETTLE]] if protocol == "tools" else schema((), (), undecided)
    return f"\nUndecided: {named}. {_SAYS_HOW[protocol]}", json.dumps(beside)


def offer(protocol: str, operations: tuple[str, ...], level: str = TEXT) -> Offer:
    """What a prompt says and weighs under this protocol with these operations; `level`: what a recall brings first."""
    first = _SUMMARY_FIRST.get(protocol, "") if level == SUMMARY else ""
    if protocol == "tools":
        told = INSTRUCTIONS + first
        return Offer(operations, protocol, told, INSTRUCTIONS, json.dumps(tools(operations, level)), level)
    told = SCHEMA_INSTRUCTIONS + first + _AS_JSON
    if extra := [name for name in operations if name in _PROPERTIES]:
        told += f"\nThe object may also hold {', '.join(extra)}; leave empty what you do not need."
    return Offer(operations, protocol, told, SCHEMA_INSTRUCTIONS, json.dumps(schema(("p1",), operations)), level)


@dataclass(frozen=True, slots=True)
class Spoken:
    """An answer under the schema, taken apart: what the reader gets, and calls as (name, arguments)."""

    text: str
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    error: str = ""  # why it could not be read; then there are no calls


def of_answer(raw: str) -> Spoken:
    """
    >>> of_answer('{"recall": ["p3"], "question": "budget", "reply": "It is"}')
    Spoken(text='', calls=(('recall', {'page_ids': ['p3'], 'question': 'budget'}),), error='')
    >>> of_answer("It is 8,000.")
    Spoken(text='It is 8,000.', calls=(), error='')
    """
    text = reply_so_far(raw, whole=True)
    bare = without_thoughts(raw)
    if not _OBJECT.search(bare):
        return Spoken(text) if text else Spoken("", error="there is no reply in it")
    found, error = object_in(bare, KEYS)
    if error:  # a cut object is read up to the cut: a recall that is whole counts, though a draft of a reply is not
        found = _fields(bare)
    if found.keys().isdisjoint(KEYS):
        return Spoken(text) if text else Spoken("", error=error or f"it has none of {', '.join(KEYS)}")
    calls = _calls(found, bool(text))
    if not calls and not text:
        return Spoken("", error=error or "it holds neither a recall nor a reply")
    return Spoken(text, calls)


def _calls(found: Mapping[str, Any], replied: bool) -> tuple[tuple[str, dict[str, Any]], ...]:
    calls: list[tuple[str, dict[str, Any]]] = []
    names, question = _listed(found.get("recall")), _text(found.get("question"))
    if names or (question and not replied):  # a question beside a reply is a form filled in
        calls.append(("recall", {"page_ids": names, "question": question}))
    for name in _PROPERTIES:
        value = found.get(name)
        if isinstance(value, dict) and name == "bookmark":
            asks = any(_text(part) not in ("", "[]") for part in value.values())
            calls += [(name, value)] if asks else []
        elif _text(value):
            calls.append((name, {_ARGUMENT.get(name, "page"): value}))
    return (*calls, *_ruling(found.get(SETTLE)))


def _ruling(value: Any) -> list[tuple[str, dict[str, Any]]]:
    """A conflict named without what to keep is a form not filled in."""
    if not isinstance(value, dict):
        return [(SETTLE, {"conflict": value})] if _text(value) not in ("", "[]") else []
    return [(SETTLE, value)] if _text(value.get("keep")) else []


_OBJECT = re.compile(rf'\A\s*(?:```\w*\s*)?\{{|\{{\s*"(?:{"|".join(KEYS)})"\s*:')
_FENCE = re.compile(r"```\w*\s*\Z")
_MAY_BEGIN = re.compile(r'(?:`{1,3}\w*\s*)?(?:\{\s*(?:"\w*"?\s*)?)?\Z')  # an object, in a fence perhaps
_THOUGHT_OPENS = re.compile(r"\A\s*<(?:\Z|t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?\Z|think)", re.IGNORECASE)
_PAIR = re.compile(r'[\s,]*"((?:[^"\\]|\\.)*)"\s*:\s*')


def reply_so_far(raw: str, *, whole: bool = False) -> str:
    """What the reader may see of an answer of which `raw` came so far: the words of its reply, never its JSON.

    It only grows as `raw` does. An answer that is no JSON is a reply as it stands.

    >>> reply_so_far('{"recall": [], "reply": "The bud')
    'The bud'
    >>> reply_so_far('{"recall": ["p3"], "reply": "The bud')
    ''
    """
    text = without_thoughts(raw)
    if not whole and _THOUGHT_OPENS.match(text):
        return ""
    found = _OBJECT.search(text)
    if found:
        before = _FENCE.sub("", text[: found.start()]).strip()
        said = _reply_in(text, text.index("{", found.start()) + 1)
        return f"{before} {said}".strip() if before else said
    if not whole:
        text = text[: m.start()] if (m := _MAY_BEGIN.search(text)) else text
    return text.strip()


def _fields(text: str) -> dict[str, Any]:
    """The fields of a single object that are whole; {} where there is no object that is cut, but something else."""
    if len(_OBJECT.findall(text)) != 1:
        return {}
    found: dict[str, Any] = {}
    at = text.index("{", _OBJECT.search(text).start()) + 1  # type: ignore[union-attr]
    while pair := _PAIR.match(text, at):
        try:
            found[pair[1]], at = json.JSONDecoder(strict=False).raw_decode(text, pair.end())
        except (ValueError, RecursionError):
            break
    return found


def _reply_in(text: str, at: int) -> str:
    """The reply of the object whose first key stands at `at`; "" if something that needs an answer comes before."""
    asks = False
    while pair := _PAIR.match(text, at):
        key, at = pair[1], pair.end()
        if key == "reply":
            said, _ = string_at(text, at)
            return "" if asks else said
        try:
            value, at = json.JSONDecoder(strict=False).raw_decode(text, at)
        except (ValueError, RecursionError):  # it is cut here
            return ""
        asks = asks or (key in ("recall", "search_memory") and bool(_listed(value)))
    return ""


# ── what the reader gets ──────────────────────────────────────────────────────────────────────────────


class Speech:
    """The reply of one step, which the model gives in several answers: each word once.

    A text before a call stays; a model that begins its next answer with it again is heard once. `on_text` gets the
    same words as `text` holds, as they come. Only where a model ends a thought that it never opened, the thought was
    shown: what follows it then stands below.
    """

    def __init__(self, on_text: Callable[[str], None] | None = None) -> None:
        self.text = ""
        self._on_text = on_text
        self._before, self._raw, self._out, self._as_json = "", "", "", False

    def begin(self, *, as_json: bool) -> None:
        """The next answer begins."""
        self._before, self._raw, self._out, self._as_json = self.text, "", "", as_json

    def piece(self, text: str) -> None:
        """A piece of the answer as it streams."""
        self._raw += text
        self._show(reply_so_far(self._raw) if self._as_json else self._raw, whole=False)

    def end(self, raw: str) -> None:
        """The answer is whole."""
        self._show(reply_so_far(raw, whole=True) if self._as_json else raw, whole=True)

    def _show(self, seen: str, *, whole: bool) -> None:
        fresh = _not_yet_said(seen, self._before.strip(), whole=whole)
        out = _joint(self._before, fresh) + fresh if fresh else ""
        known = out.startswith(self._out)  # else a thought was shown
        new = out[len(self._out) :] if known else f"\n\n{out}" if whole else ""
        if new:
            self._out = out
            self.text += new
            if self._on_text is not None:
                self._on_text(new)


def _not_yet_said(seen: str, before: str, *, whole: bool) -> str:
    """Without a beginning that repeats what was said before; nothing as long as it may still become one."""
    if not before:
        return seen
    bare = seen.lstrip()
    if bare.startswith(before):
        return bare[len(before) :].lstrip()
    return "" if not bare or (before.startswith(bare) and not whole) else bare


def _joint(before: str, after: str) -> str:
    """What stands between two texts that came one after another."""
    if not before or before[-1].isspace() or after[0].isspace():
        return ""
    if before[-1] in '.!?:;…)"”':
        return "\n\n"
    return "" if before[-1] > "\u2e80" or after[0] in ".,;:!?)" else " "
