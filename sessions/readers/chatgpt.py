"""ChatGPT's data export: conversations.json, also in shards, also a single conversation.

A conversation is a tree of messages; the turns are the path that its owner sees, from the root to `current_node`.
What was edited or answered anew beside it is kept as versions: `extra["versions"]` of the turn that stands in their
place. Thoughts and hidden messages are no speech; they are kept in the `extra` of the turn that follows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from sessions.readers.parts import Export, Made, beyond_words, conversations, moment, rest, some, text_of
from sessions.readers.source import Source
from sessions.recording import Draft, RecordedCall, words_of

Node = dict[str, Any]
EXPORT = Export("chatgpt", "mapping", dict, ("conversation_id", "id"), ("title",), "create_time")
REASONING = ("thoughts", "reasoning_recap")
CONTEXT = ("user_editable_context", "model_editable_context")
OFTEN = {"status": "finished_successfully", "weight": 1.0, "recipient": "all"}  # says nothing
_MARKS = re.compile("\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue206]")  # where a citation stood


def looks_like(source: Source) -> bool:
    return any(isinstance(each.get("mapping"), dict) for each in source.head)


def read(source: Source, user: str | None = None) -> Iterator[Made]:
    yield from conversations(source, user, EXPORT, _fill)


def _fill(draft: Draft, raw: Any) -> None:
    draft.remember = raw.get("is_do_not_remember") is not True
    if not draft.remember:
        draft.note("its owner asked that nothing of it be remembered: no fact is taken from it")
    _Reading(draft, raw["mapping"]).read(raw.get("current_node"))


class _Reading:
    """One tree on its way into turns."""

    def __init__(self, draft: Draft, mapping: Mapping[str, Any]) -> None:
        self.draft = draft
        self.nodes: dict[str, Node] = {key: node for key, node in mapping.items() if isinstance(node, dict)}
        self.order = {key: place for place, key in enumerate(self.nodes)}
        self.parents = {key: node.get("parent") for key, node in self.nodes.items()}
        for key, node in self.nodes.items():
            for child in node.get("children") or ():
                if self.parents.get(child, "") is None:
                    self.parents[child] = key
        self.carried: dict[str, list[Any]] = defaultdict(list)  # for the turn that comes next
        self.calls: list[str] = []  # ids of calls that were not answered yet

    def read(self, current: Any) -> None:
        path = self._path(current)
        versions, loose = self._beside(path)
        if loose:
            self.draft.extra["loose"] = loose
            self.draft.note(f"{some(len(loose), 'message')} that hang on no message of it are kept beside it")
        for key in path:
            self.carried["versions"] += versions.pop(self.parents[key], [])
            self._message(key, self.nodes[key].get("message"))
        self.carried["versions"] += [node for nodes in versions.values() for node in nodes]
        if left := {name: each for name, each in self.carried.items() if each}:
            self.draft.extra["after"] = left

    def _path(self, current: Any) -> list[str]:
        if current not in self.nodes:
            if self.nodes:
                self.draft.note("it does not say where it stands now; the newest end is taken")
            current = max(self._leaves(), key=self._age, default=None)
        path: dict[str, None] = {}
        while current in self.nodes and current not in path:
            path[current] = None
            current = self.parents[current]
        if current in path:
            self.draft.note("its messages name each other as the one before; read up to there")
        elif current is not None:
            self.draft.note("the message before its first one is missing")
        return list(reversed(path))

    def _leaves(self) -> list[str]:
        inner = set(self.parents.values())
        return [key for key in self.nodes if key not in inner] or list(self.nodes)

    def _age(self, key: str) -> tuple[float, int]:
        message = self.nodes[key].get("message")
        at = moment(message.get("create_time"), lambda _: None) if isinstance(message, dict) else None
        return (at.timestamp() if at else 0.0, self.order[key])

    def _beside(self, path: list[str]) -> tuple[dict[Any, list[Node]], list[Node]]:
        """Messages off the path, by the message of the path that they follow; and those that follow none."""
        anchors: dict[Any, str | None] = {key: key for key in path}  # None: it hangs on nothing
        on_path = set(path)
        versions: dict[Any, list[Node]] = defaultdict(list)
        loose: list[Node] = []
        for key, node in self.nodes.items():
            climbed: dict[Any, None] = {}
            above: Any = key
            while above in self.nodes and above not in anchors and above not in climbed:
                climbed[above] = None
                above = self.parents[above]
            if key in on_path or not node.get("message"):
                continue
            anchor = anchors.get(above)
            anchors.update(dict.fromkeys(climbed, anchor))
            if anchor is None:
                loose.append(node)
            else:
                versions[anchor].append(node)
        if versions:
            count = sum(map(len, versions.values()))
            self.draft.note(f"{some(count, 'message')} of other versions (edited, answered anew) kept beside")
        return versions, loose

    def _message(self, key: str, message: Any) -> None:
        if not isinstance(message, dict):
            return
        author, content = message.get("author") or {}, message.get("content") or {}
        role, name = text_of(author.get("role")), text_of(author.get("name"))
        sort = text_of(content.get("content_type"))
        words = _words(content)
        if sort in CONTEXT:
            self._context(message, content, words)
        elif sort in REASONING:
            self._carry("reasoning", message)
        elif _hidden(message):
            if words.strip():
                self._carry("hidden", message)
        else:
            self._turn(key, message, role, name, words)

    def _carry(self, what: str, message: Node) -> None:
        self.carried[what].append(message)
        self.draft.note("thoughts and hidden messages are kept beside the turn that follows; they are no speech")

    def _context(self, message: Node, content: Mapping[str, Any], words: str) -> None:
        told = [content.get(name) for name in ("user_profile", "user_instructions", "model_set_context")]
        said = "\n\n".join(each for each in told if isinstance(each, str) and each.strip()) or words
        if said and not self.draft.system:
            self.draft.system = said
            self.draft.extra["context"] = rest(message, "content")
        elif said:
            self._carry("hidden", message)

    def _turn(self, key: str, message: Node, role: str, name: str, words: str) -> None:
        where = f"message {key}"
        if not words.strip() and role in ("system", ""):
            return  # the frame of every conversation
        at = moment(message.get("create_time"), self.draft.note)
        if message.get("status") == "in_progress":
            self.draft.note(f"{where} was cut off while it was written")
        bare = _MARKS.sub("", words)
        recipient = text_of(message.get("recipient")) or "all"
        calls, answers = [], ""
        if role == "assistant" and recipient != "all":
            calls, bare = [RecordedCall(key, recipient, words)], ""
        elif role == "tool" and self.calls:
            answers = self.calls.pop(0)
        extra = {name: each for name, each in self.carried.items() if each} | self._left(message, at is not None)
        if bare != words and not calls:
            extra["marked"] = words
        if self.draft.turn(key, role, bare, at, where, speaker=name, calls=calls, answers=answers, extra=extra):
            self.carried.clear()
            self.calls += [each.id for each in calls]

    @staticmethod
    def _left(message: Node, timed: bool) -> dict[str, Any]:
        """What of it no field of a turn holds."""
        author, content = message.get("author") or {}, message.get("content") or {}
        left = rest(message, "author", "content", *(["create_time"] if timed else []))
        left = {name: value for name, value in left.items() if OFTEN.get(name) != value}
        if more := rest(author, "role", "name"):
            left["author"] = more
        parts = [part for part in _parts(content) if isinstance(part, dict)]
        content_left = rest(content, "parts", *(["text"] if not _parts(content) else []))
        if content_left.get("content_type") == "text":
            del content_left["content_type"]
        if beyond := beyond_words(parts):
            content_left["parts"] = beyond
        return left | ({"content": content_left} if content_left else {})


def _hidden(message: Node) -> bool:
    metadata = message.get("metadata") or {}
    if metadata.get("is_visually_hidden_from_conversation") is True:
        return True
    return message.get("weight") == 0 and (message.get("author") or {}).get("role") != "tool"  # results weigh nothing


def _parts(content: Mapping[str, Any]) -> list[Any]:
    parts = content.get("parts")
    return parts if isinstance(parts, list) else []


def _words(content: Mapping[str, Any]) -> str:
    if parts := _parts(content):
        return "\n".join(words for part in parts if (words := _part(part)))
    return next((each for name in ("text", "result", "content") if isinstance(each := content.get(name), str)), "")


def _part(part: Any) -> str:
    if isinstance(part, dict) and "text" not in part:
        return words_of({"type": part.get("content_type"), **part})
    return words_of(part)
