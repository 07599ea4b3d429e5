"""A few words in place of many, by a language model: of turns for a summary, of entries for one entry.

Its answer is words and no decision: whether the sources say so is checked by rule (consolidation.doubtful), and what
nobody said is not believed, however well it reads. One retry, then `Unreadable` with the raw words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memory.jsontext import object_in, without_thoughts
from memory.keywords import Ask, Unreadable
from memory.tokens import clip, count

SOURCE_TOKENS = 2_400  # of all sources in the prompt
TRIES = 2
MARGIN = 1.5  # of the tokens asked for, that an answer may take

PROMPT = """\
{task}
Use at most {words} words, in the language of the text. Keep every name, number, date and "not"; add nothing that is \
not in the text, and do not guess.

{sources}

Answer with JSON only: {{"text": "…"}}"""
TURNS = "These are turns of a conversation. Say what was said, decided and asked for, with who said it."
ENTRIES = "These are entries about one user that belong together. Write one entry that says all of them."
SHAPE: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


def condense(task: str, sources: Sequence[str], most_tokens: int, ask: Ask) -> str | Unreadable:
    """The model's words for `sources`; `task` is TURNS or ENTRIES. Raises ModelError."""
    body = clip("\n".join(sources), SOURCE_TOKENS)
    prompt = PROMPT.format(task=task, words=int(most_tokens * 0.6), sources=body)
    raw, error = "", ""
    for _ in range(TRIES):
        again = f"\n\nYour last answer could not be used: {error}. Answer with the JSON object alone." if error else ""
        raw = ask(f"{prompt}{again}", SHAPE)
        said, error = read_text(raw, most_tokens)
        if not error:
            return said
    return Unreadable((), error, raw)


def read_text(raw: str, most_tokens: int) -> tuple[str, str]:
    """The text, and why there is none.

    >>> read_text('Sure: ```{"text": "Ana likes tea.",}```', 20)
    ('Ana likes tea.', '')
    """
    found, error = object_in(without_thoughts(raw), ("text",))
    if error:
        return "", error
    said = found.get("text")
    if not isinstance(said, str) or not said.strip():
        return "", 'there are no words under "text"'
    said = " ".join(said.split())
    if (n := count(said)) > MARGIN * most_tokens:
        return "", f"it takes {n} tokens, and {most_tokens} were asked for"
    return said, ""
