"""The catalogue is complete in each language, and says numbers, times and foreign text as it promises."""

import re
from datetime import UTC, datetime
from pathlib import Path
from string import Formatter
from zoneinfo import ZoneInfo

import pytest

import workbench
from memory.bookmarks import BOOKMARKS, BY_MODEL
from memory.boundaries import BOUNDARIES
from memory.eviction import EVICTION
from memory.gist import MAKERS
from workbench.components.diff import _cause
from workbench.views.diff import Cause
from workbench.views.feed import KINDS
from workbench.words import LANGUAGES, WORD_JOINER, Words, escaped, language_of, visible, zone_of

ROOT = Path(workbench.__file__).parent.parent
LOOSE = re.compile(r"missing\.|done\.")


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_every_key_with_the_same_fields(language: str):
    ours, english = LANGUAGES[language], LANGUAGES["en"]
    assert ours.keys() == english.keys()
    assert {key: fields(ours[key]) for key in ours if not key.startswith(("month", "moment"))} == {
        key: fields(english[key]) for key in english if not key.startswith(("month", "moment"))
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_of_event_has_a_name_and_a_sentence(language: str):
    say = Words(language)
    for kind, names in KINDS.items():
        assert say(f"kind.{kind}")
        values = dict.fromkeys(names, 3)
        assert say.sentence(kind, values)
        sentence = LANGUAGES[language].get(f"feed.{kind}")
        assert sentence is None or fields(sentence) <= set(names), kind


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("rule", [*BOUNDARIES, "page_cap"]),
        ("policy", [*EVICTION, "cooperative", "yes_no"]),
        ("origin", [*BOOKMARKS, *BY_MODEL, *MAKERS, "user", "model", "edited", "pruned", "range"]),
    ],
)
def test_whatever_can_be_registered_is_called_something(language: str, group: str, names: list[str]):
    assert [name for name in names if f"{group}.{name}" not in LANGUAGES[language]] == []


def test_one_of_a_thing_is_not_told_as_many():
    """`{n:n} {n:page|pages}`; tokens are never one."""
    many = re.compile(r"\{(\w+):n\} (?:labelled |near |needless )?([a-z]+s)\b")
    never_one = {"tokens", "is", "was", "has", "have", "does", "nodes", "less", "needless"}
    found = {key: m[0] for key, text in LANGUAGES["en"].items() for m in many.finditer(text) if m[2] not in never_one}
    assert found == {}


def test_every_key_that_the_code_asks_for_is_there():
    files = [*(ROOT / "workbench").rglob("*.py"), *(ROOT / "pages").glob("*.py")]
    asked = {key for file in files for key in re.findall(r"""\bsay\(\s*["']([a-z_.]+)["']""", file.read_text())}
    assert asked
    assert asked <= LANGUAGES["en"].keys()


@pytest.mark.parametrize(
    ("value", "unit", "says"),
    [
        (0.125, "ratio", "12.5 %"),
        (0.6, "ratio", "60 %"),
        (12_345, "tokens", "12,345"),
        (0.0123, "usd", "$0.0123"),
        (3, "usd", "$3.00"),
    ],
)
def test_a_number_has_its_unit(value: float, unit: str, says: str):
    assert Words().amount(value, unit) == says


def test_a_time_is_told_in_the_readers_zone():
    at = datetime(2026, 3, 2, 23, 30, tzinfo=UTC)
    assert Words("en", ZoneInfo("Asia/Shanghai")).moment(at) == "3 Mar 2026, 07:30"
    assert Words("zh", ZoneInfo("Asia/Shanghai")).moment(at) == "2026年3月3日 07:30"
    assert zone_of("no/such") is UTC


@pytest.mark.parametrize(
    ("locale", "language"), [("zh-CN", "zh"), ("zh", "zh"), ("de-DE", "en"), (None, "en"), ("en_US", "en")]
)
def test_the_browser_chooses_the_language(locale: str | None, language: str):
    assert language_of(locale) == language


def test_what_steers_a_terminal_or_the_direction_becomes_visible():
    assert visible("\x1b[31m") == "␛[31m"
    assert visible("a\u202eb") == "a⟨Right-To-Left Override⟩b"
    assert visible("two\nlines\tkept") == "two\nlines\tkept"


def test_a_long_text_is_cut_and_says_so():
    assert visible("x" * 1_000_000, 10) == "xxxxxxxxxx… (+999,990)"


@pytest.mark.parametrize("address", ["http://a.example/x", "HTTPS://a.example", "www.a.example", "ana@a.example"])
def test_an_address_in_foreign_words_becomes_no_link(address: str):
    found_in_read_words = re.compile(r"https?://|www(?=\.)|[-.\w+]+@[-\w]+(?:\.[-\w]+)+", re.IGNORECASE)
    assert found_in_read_words.search(address)
    read = re.sub(r"\\(.)", r"\1", escaped(f"see {address} now"))
    assert not found_in_read_words.search(read)
    assert read.replace(WORD_JOINER, "") == f"see {address} now"


def test_what_changed_a_fact_is_told_in_the_readers_language():
    values = {"fact": "f2", "cause": "supersedes", "why": "it replaces f1 from 2026-12-03 on"}
    told = {lang: _cause(0, Cause("fact_changed", values, ()), Words(lang))["title"] for lang in LANGUAGES}
    assert told["en"] == "f2 · Took the place of an older value: it replaces f1 from 3 Dec 2026 on"
    assert told["zh"].startswith("f2 · 取代了旧值：")
    assert "supersede" not in told["zh"]


def test_a_reason_of_the_log_is_told_in_the_readers_language():
    assert Words("zh").reason("above the high watermark (85%)") == "高于高水位线（85%）"
    assert Words("zh").reason("by the assistant") == "是助手说的"
    assert Words("zh").reason("only the first 400 of 512 characters were read") == "共 512 个字符，只读了前 400 个"
    assert Words("zh").reason("something new") == "something new"
    assert Words("en").reason("above the high watermark (85%)") == "above the high watermark (85%)"


def test_a_day_in_a_reason_is_told_as_days_are_and_a_quoted_one_as_it_was_said():
    assert Words("en").reason("it replaces f3 from 2026-04-28 on") == "it replaces f3 from 28 Apr 2026 on"
    assert "2026年4月28日" in Words("zh").reason("it replaces f3 from 2026-04-28 on")
    assert Words("en").reason("it says “2026-04-28”, id 12-2026-04-28") == "it says “2026-04-28”, id 12-2026-04-28"
