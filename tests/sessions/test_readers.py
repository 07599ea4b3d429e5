"""Files of recordings: what is readable comes in, what is not is named, and nothing is silent."""

import codecs
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.errors import RecordingError, UnknownName
from sessions.demo import demo_files
from sessions.readers import READERS, guess, read
from sessions.readers.source import Source, fallback
from sessions.readers.workbench import write
from sessions.recording import Question, RecordedCall, RecordedRecall, RecordedTurn, Recording, Skipped, words_of

HEADER = {"format": "memory-workbench", "version": 1, "conversation": "c", "user": "ana", "title": "t"}
DAY = "2026-03-02T09:00:00+01:00"


def lines(*objects: object) -> bytes:
    return "\n".join(
        each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in objects
    ).encode()


def turn(number: int, text: object = "hello", **more: object) -> dict[str, object]:
    return {"turn": number, "role": "user" if number % 2 else "assistant", "text": text, "said_at": DAY, **more}


def only(raw: bytes, **options: object) -> Recording:
    (found,) = read(raw, **options)
    assert isinstance(found, Recording), found
    return found


# ── our own format ────────────────────────────────────────────────────────────────────────────────────

words = st.text(min_size=1).filter(str.strip)
json_text = st.dictionaries(st.text(), st.integers() | st.text() | st.none()).map(
    lambda values: json.dumps(values, ensure_ascii=False)
)
zones = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))
times = st.datetimes(timezones=zones)


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    count = draw(st.integers(1, 8))
    made = []
    for n in range(1, count + 1):
        earlier = st.integers(1, n - 1)
        evidence = draw(st.lists(earlier, max_size=2, unique=True)) if n > 1 else []
        spans = draw(st.lists(st.tuples(earlier, earlier), max_size=2)) if n > 1 else []
        recalls = [RecordedRecall(tuple((min(s), max(s)) for s in spans), draw(st.text()))] if spans else []
        calls = draw(st.lists(st.builds(RecordedCall, words, words, st.one_of(st.text(), json_text)), max_size=2))
        made.append(
            RecordedTurn(
                n, draw(st.sampled_from(["user", "assistant", "tool"])), draw(words), draw(times), draw(st.text()),
                tuple(calls), draw(st.text()), draw(st.booleans()), tuple(evidence), tuple(recalls),
            )
        )  # fmt: skip
    holding = st.lists(st.integers(1, count), max_size=2, unique=True).map(tuple)
    asked = draw(st.lists(st.builds(Question, words, st.text(), holding, st.text()), max_size=2))
    return Recording(draw(words), draw(words), tuple(made), draw(words), draw(st.text()), draw(st.text()), tuple(asked))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(recordings(), min_size=1, max_size=2))
def test_reading_what_was_written_gives_the_same_recordings(made: list[Recording]):
    found = list(read(write(made).encode()))
    assert found == made
    assert all(not r.skipped for r in found if isinstance(r, Recording))
    assert write(found).encode() == write(made).encode()


@pytest.mark.parametrize("path", demo_files(), ids=lambda path: path.stem)
def test_the_demo_files_come_back_byte_for_byte(path: Path):
    assert write(read(path)).encode() == path.read_bytes()


def test_the_demo_is_long_enough_to_show_everything(demos: dict[str, Recording]):
    assert {name: (len(r.turns), len(r.questions), r.language) for name, r in demos.items()} == {
        "house-move": (191, 30, "en"),
        "tea-shop": (190, 28, "zh"),
    }
    for r in demos.values():
        assert not r.notes
        assert not r.skipped
        assert any(t.calls for t in r.turns)
        assert any(t.recalls for t in r.turns)
        assert any(t.important for t in r.turns)
        assert {"update", "absent"} <= {q.category for q in r.questions}


def test_every_number_in_the_demo_names_an_earlier_turn(demos: dict[str, Recording]):
    for r in demos.values():
        assert [t.number for t in r.turns] == list(range(1, len(r.turns) + 1))
        assert all(1 <= n < t.number for t in r.turns for n in t.evidence)
        assert all(1 <= a <= b < t.number for t in r.turns for recall in t.recalls for a, b in recall.turns)
        assert all(1 <= n <= len(r.turns) for q in r.questions for n in q.evidence)
        assert all(a.said_at <= b.said_at for a, b in pairwise(r.turns))


# ── lines that cannot be read ─────────────────────────────────────────────────────────────────────────

BAD_LINES = {
    "not JSON": "{not json",
    "a list": [1, 2],
    "no turn number": {"role": "user", "text": "x", "said_at": DAY},
    "a number that is text": {"turn": "4", "role": "user", "text": "x"},
    "an unknown role": turn(9, role="moderator"),
    "text of spaces": turn(9, "  "),
    "null text": turn(9, None),
    "a turn twice": turn(1, "again"),
    "recalls that are no ranges": turn(9, recalls=[{"turns": [1, 2]}]),
    "evidence that is no list": turn(9, evidence=3),
    "a call without a name": turn(9, calls=[{"id": "c1"}]),
    "nothing that is known": {"note": "hello"},
    "a question without words": {"question": " ", "evidence": []},
    "nested too deep": "[" * 100_000,
}


@pytest.mark.parametrize("bad", BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_bad_line_is_named_and_the_rest_is_read(bad: object):
    found = only(lines(HEADER, turn(1), bad, turn(2), {"question": "q", "answer": "a", "evidence": [2]}))
    assert [t.number for t in found.turns] == [1, 2]
    assert len(found.questions) == 1
    (skipped,) = found.skipped
    assert skipped.where == "line 3"
    assert skipped.reason
    assert len(skipped.start) <= 60


def test_numbers_follow_when_a_turn_is_lost():
    found = only(lines(HEADER, turn(1), "broken", turn(3, evidence=[1]), turn(4, recalls=[{"turns": [[1, 3]]}])))
    assert [t.number for t in found.turns] == [1, 2, 3]
    assert found.turns[1].evidence == (1,)
    assert found.turns[2].recalls[0].turns == ((1, 2),)


@pytest.mark.parametrize("evidence", [[99], [2], [3]], ids=["unknown", "itself", "later"])
def test_a_label_that_names_no_earlier_turn_is_left_out_and_told(evidence: list[int]):
    found = only(lines(HEADER, turn(1), turn(2, evidence=[1, *evidence]), turn(3)))
    assert found.turns[1].evidence == (1,)
    assert "label" in found.skipped[0].reason


def test_a_broken_header_takes_its_own_turns_with_it_and_no_others():
    other = {**HEADER, "conversation": "second"}
    broken_header = '{"format": "memory-workbench", '
    raw = lines(HEADER, turn(1), broken_header, turn(1), turn(2), other, turn(1, "second"))
    first, broken, lost, second = read(raw)
    assert isinstance(first, Recording)
    assert len(first.turns) == 1
    assert isinstance(broken, Skipped)
    assert lost == Skipped("line 4", "2 lines that follow no readable header", json.dumps(turn(1))[:60])
    assert isinstance(second, Recording)
    assert second.turns[0].text == "second"


@pytest.mark.parametrize("change", [{"version": 2}, {"conversation": None}, {"conversation": 7}, {"title": ["x"]}])
def test_a_header_that_this_version_cannot_read_is_skipped_with_its_reason(change: dict[str, object]):
    first, *_, good = read(lines({**HEADER, **change}, turn(1), HEADER, turn(1)))
    assert isinstance(first, Skipped)
    assert isinstance(good, Recording)


def test_a_conversation_without_a_turn_is_skipped():
    assert [type(one) for one in read(lines(HEADER, HEADER, turn(1)))] == [Skipped, Recording]


def test_a_missing_title_is_the_first_words_and_a_missing_user_is_noted():
    header = {"format": "memory-workbench", "conversation": "c", "title": None}
    found = only(lines(header, turn(1, "Where is my bicycle?")))
    assert (found.title, found.user) == ("Where is my bicycle?", "user")
    assert len(found.notes) == 2


# ── times ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("missing", [{"said_at": None}, {"said_at": ""}, {"said_at": "yesterday"}])
def test_a_missing_time_is_a_second_after_the_turn_before_and_noted(missing: dict[str, object]):
    found = only(lines(HEADER, turn(1, **missing), turn(2), turn(3, **missing)))
    first, second, third = (t.said_at for t in found.turns)
    assert (second - first, third - second) == (timedelta(seconds=1), timedelta(seconds=1))
    assert any("2 turns" in note for note in found.notes)


def test_without_any_time_the_same_file_still_reads_the_same():
    raw = lines(HEADER, *(turn(n, said_at=None) for n in (1, 2, 3)))
    assert only(raw) == only(raw)
    assert all(t.said_at.tzinfo for t in only(raw).turns)


def test_a_time_that_goes_back_is_kept_as_recorded_and_noted():
    found = only(lines(HEADER, turn(1), turn(2, said_at="2026-03-01T09:00:00+01:00")))
    assert found.turns[1].said_at < found.turns[0].said_at
    assert any("turn 2" in note for note in found.notes)


def test_an_offset_is_kept_and_a_missing_one_is_utc_with_a_note():
    found = only(lines(HEADER, turn(1), turn(2, said_at="2026-03-02T23:30:00")))
    assert found.turns[0].said_at.utcoffset() == timedelta(hours=1)
    assert found.turns[1].said_at == datetime(2026, 3, 2, 23, 30, tzinfo=UTC)
    assert any("UTC" in note for note in found.notes)


# ── content ───────────────────────────────────────────────────────────────────────────────────────────

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0"}}


def test_text_parts_are_joined_and_other_parts_leave_a_placeholder_with_a_hash():
    text = words_of([{"type": "text", "text": "Look:"}, IMAGE, "here"])
    first, placeholder, last = text.split("\n")
    assert (first, last) == ("Look:", "here")
    assert placeholder.startswith("[image_url ")
    assert words_of([IMAGE]) != words_of([{**IMAGE, "detail": "high"}])


@pytest.mark.parametrize("content", [None, "", " ", []])
def test_a_call_without_words_is_kept_as_a_call(content: object):
    call = {"id": "c1", "name": "weather", "arguments": {"city": "京都"}}
    found = only(lines(HEADER, turn(1), turn(2, content, calls=[call])))
    assert found.turns[1].calls == (RecordedCall("c1", "weather", '{"city": "京都"}'),)


def test_halves_of_a_character_are_joined_or_replaced():
    found = only(lines(HEADER, '{"turn": 1, "role": "user", "text": "a\\ud83d\\ude00 b\\ud83d"}'))
    assert found.turns[0].text == "a😀 b\ufffd"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_line_end_will_do_and_a_separator_inside_a_text_is_none(end: str):
    raw = end.join(json.dumps(each, ensure_ascii=False) for each in (HEADER, turn(1, "a\u2028b\x85c"))).encode()
    assert only(raw).turns[0].text == "a\u2028b\x85c"


# ── encodings ─────────────────────────────────────────────────────────────────────────────────────────

CHINESE = lines(HEADER, turn(1, "今天我们去买茶叶，价格是八百元。")).decode()
WESTERN = lines(HEADER, turn(1, "Où est le café? Ich möchte Äpfel, señor.")).decode()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("text", [CHINESE, WESTERN], ids=["zh", "fr"])
def test_a_byte_order_mark_is_respected(text: str, encoding: str):
    assert only(text.encode(encoding)) == only(text.encode())
    assert not only(text.encode(encoding)).notes


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_utf_16_of_both_orders(mark: bytes):
    body = CHINESE.encode("utf-16-le" if mark == codecs.BOM_UTF16_LE else "utf-16-be")
    assert only(mark + body) == only(CHINESE.encode())


@pytest.mark.parametrize(("text", "encoding"), [(CHINESE, "gb18030"), (WESTERN, "cp1252")])
def test_what_is_not_utf_8_is_read_by_a_named_fallback_with_a_warning(text: str, encoding: str):
    found = only(text.encode(encoding))
    assert found.turns == only(text.encode()).turns
    assert encoding in found.notes[0]
    assert fallback(text.encode(encoding)) == encoding


def test_the_caller_s_encoding_overrides():
    assert only(CHINESE.encode("big5", "replace"), encoding="big5").turns[0].text.startswith("今天我")
    with pytest.raises(RecordingError, match="is not utf-8"):
        read(CHINESE.encode("gb18030"), encoding="utf-8")
    with pytest.raises(RecordingError, match="no encoding named 'klingon'"):
        read(b"x", encoding="klingon")


# ── which format ──────────────────────────────────────────────────────────────────────────────────────


def test_the_format_is_guessed_from_the_content_and_said():
    assert only(CHINESE.encode()).format == "workbench"


@pytest.mark.parametrize("raw", [b"", b" \n", b"null", b"[]", b"{}", b"hello", b"\xff\xfe"])
def test_a_file_that_nobody_can_read_is_an_error_that_says_so(raw: bytes):
    with pytest.raises(RecordingError, match=r"given bytes is (empty|in no format)"):
        guess(Source.of(raw))


def test_a_missing_file_and_an_unknown_format_are_named(tmp_path: Path):
    with pytest.raises(RecordingError, match=r"cannot read .*nothing\.jsonl"):
        read(tmp_path / "nothing.jsonl")
    with pytest.raises(UnknownName, match=r"choose one of: .*locomo, .*workbench"):
        read(b"x", format="word")


@pytest.mark.parametrize("name", READERS)
def test_a_reader_given_another_format_s_file_says_what_is_wrong(name: str):
    with pytest.raises(RecordingError):
        list(read(b"[not it", format=name))


# ── LoCoMo ────────────────────────────────────────────────────────────────────────────────────────────


def sample(**changes: object) -> dict[str, object]:
    conversation = {
        "speaker_a": "Jon",
        "speaker_b": "Gina",
        "session_2": [{"speaker": "Jon", "dia_id": "D2:1", "text": "Bye.", "blip_caption": "a photo of a dog"}],
        "session_2_date_time": "9:05 am on 2 June, 2023",
        "session_1": [
            {"speaker": "Gina", "dia_id": "D1:1", "text": "Hi!"},
            {"speaker": "Jon", "dia_id": "D1:2", "text": "Hey."},
        ],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_3_date_time": "1:00 pm on 8 July, 2023",
    }
    qa = [{"question": "Who?", "answer": 2023, "evidence": ["D1:1; D2:01"], "category": 2}]
    return {"sample_id": "conv-1", "conversation": conversation, "qa": qa, **changes}


def test_a_locomo_sample_becomes_turns_in_the_order_of_its_sittings():
    found = only(json.dumps([sample()]).encode())
    assert [(t.number, t.role, t.speaker, t.text) for t in found.turns] == [
        (1, "user", "Gina", "Hi!"),
        (2, "assistant", "Jon", "Hey."),
        (3, "assistant", "Jon", "Bye. [image: a photo of a dog]"),
    ]
    assert found.turns[0].said_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert found.questions == (Question("Who?", "2023", (1, 3), "temporal"),)
    assert (found.conversation, found.user, found.format) == ("conv-1", "Gina-1", "locomo")


@pytest.mark.parametrize(("user", "owner", "first"), [("Jon", "Jon-1", "assistant"), ("ana", "ana", "user")])
def test_the_user_may_be_the_other_speaker_or_somebody_s_memory(user: str, owner: str, first: str):
    found = only(json.dumps([sample()]).encode(), user=user)
    assert (found.user, found.turns[0].role) == (owner, first)


SILENT = {"conversation": {"speaker_a": "A", "speaker_b": "B"}}


@pytest.mark.parametrize("bad", [None, 7, {}, {"conversation": {}}, SILENT])
def test_a_bad_sample_stops_no_other(bad: object):
    raw = json.dumps([bad, sample()]).encode()
    first, second = read(raw, format="locomo")
    assert isinstance(first, Skipped)
    assert isinstance(second, Recording)


@pytest.mark.parametrize(("raw", "found"), [("D", 0), ("D9:99", 0), ("D:1:1", 1), ("D1:1 D1:2 D2:1", 3), (None, 0)])
def test_labels_are_normalised_and_what_does_not_resolve_is_counted(raw: object, found: int):
    one = only(json.dumps([sample(qa=[{"question": "q", "answer": "", "evidence": [raw], "category": 4}])]).encode())
    assert len(one.questions[0].evidence) == found
    assert bool(one.skipped) is (found == 0)


def test_all_of_locomo(locomo: list[Recording]):
    assert len(locomo) == 10
    assert sum(len(r.turns) for r in locomo) == 5_882
    questions = [q for r in locomo for q in r.questions]
    assert len(questions) == 1_986
    assert sum(bool(q.evidence) for q in questions) == 1_982
    assert {q.category for q in questions} == {"multi-hop", "temporal", "open-domain", "single-hop", "adversarial"}
    assert len({r.user for r in locomo}) == 10
    assert all(1 <= n <= len(r.turns) for r in locomo for q in r.questions for n in q.evidence)
    assert sum(len(r.skipped) for r in locomo) == 3  # "D", and two turns that do not exist


def test_locomo_labels_resolve_as_they_were_normalised_by_hand(locomo: list[Recording]):
    folder = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "locomo"
    by_id = {r.conversation: r for r in locomo}
    samples = {s["sample_id"]: s["conversation"] for s in json.loads((folder / "locomo10.json").read_text("utf-8"))}
    for fix in json.loads((folder / "evidence_fixups.json").read_text("utf-8")):
        spoken = samples[fix["sample_id"]]
        sittings = sorted((k for k in spoken if k[8:].isdigit() and spoken[k]), key=lambda k: int(k[8:]))
        ids = [t["dia_id"] for k in sittings for t in spoken[k]]
        question = by_id[fix["sample_id"]].questions[fix["qa_index"]]
        assert [ids[n - 1] for n in question.evidence] == fix["normalised"]


def test_a_recording_shows_itself_and_escapes_what_it_shows(demos: dict[str, Recording]):
    one = demos["house-move"]
    shown = replace(one, title="<script>alert(1)</script>")._repr_html_()
    assert "<script>" not in shown
    assert repr(one) == "<Recording 'house-move' of ana: 191 turns, 30 questions>"
