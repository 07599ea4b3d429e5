"""LoCoMo: ten long conversations of two people with labelled questions (Maharana et al. 2024).

Its data is CC BY-NC 4.0 and stays out of this package: give the path of locomo10.json. A file is a list of samples;
`session_N` holds the turns of a sitting, `session_N_date_time` when it began, `dia_id` "D3:11" names turn 11 of
sitting 3, and questions name their evidence by these. Not read: summaries, observations and events made by a model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from memory.errors import RecordingError
from sessions.readers.source import Source
from sessions.recording import Draft, Recording, Skipped

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
PACE = timedelta(minutes=1)  # only the sitting has a time: its turns are taken a minute apart
_DIA = re.compile(r"D\s*:?\s*0*(\d+)\s*:\s*0*(\d+)")


def looks_like(source: Source) -> bool:
    return '"dia_id"' in source.text and '"speaker_a"' in source.text


def read(source: Source, user: str | None = None) -> Iterator[Recording | Skipped]:
    """`user`: which of the two speakers is the user; by default whoever speaks first.

    A `user` who is neither of them is whose memory it becomes.
    """
    try:
        samples = json.loads(source.text)
    except ValueError as error:
        raise RecordingError(f"{source.name} is not JSON: {error}") from error
    for place, sample in enumerate(samples if isinstance(samples, list) else [samples]):
        try:
            yield _recording(sample, user, f"sample {place}")
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            start = json.dumps(sample, ensure_ascii=False)[:60]
            yield Skipped(_name(sample, place), f"no LoCoMo conversation: {type(error).__name__} {error}", start)


def _name(sample: Any, place: int) -> str:
    return str(sample.get("sample_id") or f"sample {place}") if isinstance(sample, dict) else f"sample {place}"


def _recording(sample: dict[str, Any], user: str | None, fallback: str) -> Recording | Skipped:
    spoken = sample["conversation"]
    numbers = sorted(int(key[8:]) for key in spoken if re.fullmatch(r"session_\d+", key) and spoken[key])
    speakers = (spoken["speaker_a"], spoken["speaker_b"])
    name = str(user) if user in speakers else spoken[f"session_{numbers[0]}"][0]["speaker"]
    conversation = str(sample.get("sample_id") or fallback)
    # Two samples have a user called John, and they are two people: the conversation tells them apart.
    owner = user if user and user not in speakers else f"{name}-{conversation.removeprefix('conv-')}"
    draft = Draft("locomo", conversation, owner, title=f"{speakers[0]} and {speakers[1]}", language="en")
    draft.note(f"{name} is taken as the user, the other speaker as the assistant")
    draft.note("only sittings have a time, without an offset: taken as UTC, their turns a minute apart")
    for number in numbers:
        began = spoken.get(f"session_{number}_date_time")
        _sitting(draft, number, spoken[f"session_{number}"], began, name)
    for place, question in enumerate(sample.get("qa") or ()):
        _question(draft, f"question {place}", question)
    return draft.finish()


def _sitting(draft: Draft, number: int, turns: Sequence[dict[str, Any]], began: Any, user: str) -> None:
    at = _time(began)
    if at is None:
        draft.note(f"sitting {number} has no time that can be read: {began!r}")
    for place, turn in enumerate(turns):
        where = f"sitting {number}, turn {place + 1}"
        try:
            draft.turn(
                _ids(turn["dia_id"])[0],
                "user" if turn["speaker"] == user else "assistant",
                _words(turn),
                at and at + PACE * place,
                where,
                speaker=turn["speaker"],
            )
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            draft.skip(where, f"no turn: {type(error).__name__} {error}", str(turn))


def _time(text: Any) -> datetime | None:
    """
    >>> _time("1:56 pm on 8 May, 2023")
    datetime.datetime(2023, 5, 8, 13, 56, tzinfo=datetime.timezone.utc)
    """
    try:
        return datetime.strptime(str(text), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        return None


def _words(turn: dict[str, Any]) -> str:
    """The turn's text; a picture it came with as its caption."""
    text = turn.get("text") or ""
    if "blip_caption" not in turn and "img_url" not in turn:
        return str(text)
    caption = turn.get("blip_caption")
    return f"{text} [image: {caption}]".lstrip() if caption else f"{text} [image]".lstrip()


def _question(draft: Draft, where: str, question: dict[str, Any]) -> None:
    try:
        category = question.get("category")
        evidence = [each for raw in question.get("evidence") or () for each in _named(draft, where, raw)]
        answer = question.get("answer", "")
        draft.ask(where, question["question"], str(answer), evidence, CATEGORIES.get(category, str(category)))  # type: ignore[arg-type]
    except (KeyError, TypeError, AttributeError) as error:
        draft.skip(where, f"no question: {type(error).__name__} {error}", str(question))


def _named(draft: Draft, where: str, raw: Any) -> list[str]:
    found = _ids(raw)
    if not found:
        draft.skip(where, f"its label {raw!r} names no turn")
    return found


def _ids(raw: Any) -> list[str]:
    """The turns that a label names, in one spelling; some labels hold several, or are misspelt.

    >>> _ids("D8:6; D9:17"), _ids("D:11:26"), _ids("D30:05"), _ids("D")
    (['D8:6', 'D9:17'], ['D11:26'], ['D30:5'], [])
    """
    return [f"D{sitting}:{turn}" for sitting, turn in _DIA.findall(str(raw))]
