"""Claude Code's session logs: JSON lines, one event each, also several sessions in one file.

Lines that belong to one reply are one turn; what a tool gave back is the tool's turn. Commands, reminders and other
material in the user's place, helpers' side conversations and events of the program are no speech: they are kept in
the `extra` of the turn that follows. A line that comes again (a history that was compacted repeats itself) is none.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memory.errors import RecordingError
from sessions.readers.documents import Document, documents
from sessions.readers.parts import Made, beyond_words, call, guarded, moment, rest, some, text_of
from sessions.readers.source import Source
from sessions.recording import Draft, RecordedCall, Skipped, words_of

Line = dict[str, Any]
SPOKEN = ("user", "assistant")
_MATERIAL = re.compile(r"\s*(?:<[a-z][a-z_-]*>|\[Request interrupted|Caveat: The messages below)")


def looks_like(source: Source) -> bool:
    return any("sessionId" in each and "type" in each for each in source.head)


def read(source: Source, user: str | None = None) -> Iterator[Made]:
    owner = user or "user"
    sessions: dict[str, list[Line]] = defaultdict(list)
    lost: list[Skipped] = []
    for found in documents(source.text):
        if isinstance(found, Skipped):
            lost.append(found)
        elif isinstance(found.value, dict):
            line = {**found.value, "where": found.where, **({"cut": found.cut} if found.cut else {})}
            sessions[text_of(line.get("sessionId"))].append(line)
        else:
            lost.append(Skipped(found.where, "it is no event", str(found.value)[:60]))
    if not sessions and lost:
        raise RecordingError(f"{source.name} holds nothing that can be read; {lost[0]}")
    loose = sessions.pop("", [])  # titles and summaries, which name no session
    for place, (name, lines) in enumerate(sessions.items()):
        both = [*(loose if not place else ()), *lines]
        yield from guarded(Document(f"session {name}", (name, both)), lambda one, _: _session(one[0], one[1], owner))
    if loose and not sessions:
        yield Skipped("the file", f"{some(len(loose), 'line')} that name no session")
    yield from lost


def _session(name: str, lines: Sequence[Line], user: str) -> Iterator[Made]:
    draft = Draft("claude_code", name, user)
    draft.versions = True
    reading = _Reading(draft)
    for line in lines:
        reading.take(line)
    reading.close()
    if left := {name: each for name, each in reading.carried.items() if each}:
        draft.extra["after"] = left
    yield draft.finish()


class _Reading:
    """A session on its way into turns."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.known: dict[str, str] = {}  # uuid of a line: what it said
        self.told: set[str] = set()  # what was said and when, under whichever uuid
        self.carried: dict[str, list[Any]] = defaultdict(list)  # for the turn that comes next
        self.reply: list[Line] = []  # lines of one reply

    def take(self, line: Line) -> None:
        where = text_of(line.pop("where", ""))
        if line.get("cut"):
            self.draft.note(f"the file breaks off in its last line; not read: {line['cut']!r}")
        if self._again(line, where):
            return
        if line.get("type") == "summary" and isinstance(line.get("summary"), str):
            self.draft.title = line["summary"]
        message = line.get("message")
        if line.get("type") not in SPOKEN or not isinstance(message, dict):
            self.carried["events"].append(line)
        elif line.get("isSidechain") and not self._alone(line):
            self.carried["helpers"].append(line)
            self.draft.note("side conversations of helpers are kept beside the turn that follows")
        elif line["type"] == "assistant":
            if self.reply and self._id(self.reply[0]) != self._id(line):
                self.close()
            self.reply.append({**line, "where": where})
        else:
            self.close()
            self._user(line, where)

    @staticmethod
    def _alone(line: Line) -> bool:
        """A log of a helper alone names it: there the side conversation is the conversation."""
        return bool(line.get("agentId"))

    def _again(self, line: Line, where: str) -> bool:
        uuid = text_of(line.get("uuid"))
        said = json.dumps([line.get("type"), line.get("message"), line.get("summary"), line.get("content")])
        stamp = f"{line.get('timestamp')} {said}"
        if uuid in self.known:
            if self.known[uuid] != said:
                self.draft.skip(where, f"a line {uuid} was there before, and it says otherwise", said)
            return True
        if uuid and line.get("timestamp") and stamp in self.told:
            self.draft.note("lines that repeat the history under other names are left out")
            return True
        self.told.add(stamp)
        if uuid:
            self.known[uuid] = said
        return False

    @staticmethod
    def _id(line: Line) -> str:
        return text_of(line["message"].get("id")) or text_of(line.get("uuid")) or text_of(line.get("where"))

    def _user(self, line: Line, where: str) -> None:
        content = line["message"].get("content")
        blocks = [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
        results = [each for each in blocks if each.get("type") == "tool_result"]
        for n, each in enumerate(results):
            text = words_of(each.get("content"))
            left = rest(each, "type", "tool_use_id", "content") | ({} if n else self._line_left(line))
            if beyond := beyond_words(each.get("content")):
                left["content"] = beyond
            self._turn((where, n), "tool", text, line, where, answers=text_of(each.get("tool_use_id")), left=left)
        if results and len(results) == len(blocks):
            return
        words = words_of([each for each in blocks if each not in results] if blocks else content)
        if line.get("isMeta") or line.get("isCompactSummary") or _MATERIAL.match(words):
            self.carried["material"].append(line)
            self.draft.note("commands, reminders and interruptions are kept beside the turn that follows")
            return
        left = self._line_left(line) | ({"content": beyond} if (beyond := beyond_words(blocks)) else {})
        self._turn((where, "words"), "user", words, line, where, left=left)

    @staticmethod
    def _line_left(line: Line) -> dict[str, Any]:
        left = rest(line, "type", "message", "sessionId", "timestamp", "where", "cut")
        return left | ({"message": more} if (more := rest(line["message"], "role", "content")) else {})

    def close(self) -> None:
        """The reply that its lines make up."""
        if not self.reply:
            return
        lines, self.reply = self.reply, []
        blocks: list[Any] = []
        for line in lines:
            content = line["message"].get("content")
            blocks += content if isinstance(content, list) else [content]
        calls: list[RecordedCall] = []
        said: list[Any] = []
        beyond: list[Any] = []
        for block in blocks:
            sort = block.get("type") if isinstance(block, dict) else "text"
            if sort == "tool_use":
                calls.append(call(block.get("id"), block.get("name"), block.get("input")))
            elif sort in ("thinking", "redacted_thinking"):
                beyond.append(block)
            else:
                said.append(block)
        left = self._line_left(lines[0])
        if beyond := [*beyond, *beyond_words(said)]:
            left["content"] = beyond
        if more := [self._line_left(line) for line in lines[1:]]:
            left["lines"] = more
        where = text_of(lines[0].get("where"))
        words = words_of(said)
        if not words.strip() and not calls:
            self.carried["thoughts"].append(left)
            return
        self._turn((where, "reply"), "assistant", words, lines[0], where, calls=calls, left=left)

    def _turn(
        self, ref: tuple[str, object], role: str, words: str, line: Mapping[str, Any], where: str, *,
        left: dict[str, Any], calls: Sequence[RecordedCall] = (), answers: str = "",
    ) -> None:  # fmt: skip
        at = moment(line.get("timestamp"), self.draft.note)
        extra = {name: each for name, each in self.carried.items() if each} | left
        if self.draft.turn(ref, role, words, at, where, calls=calls, answers=answers, extra=extra):
            self.carried.clear()
            return
        self.carried["events"].append(dict(line))
