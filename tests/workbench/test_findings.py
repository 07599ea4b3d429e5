"""What a check finds is told in the reader's language, in full; its figures stay as they are."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from memory.diagnosis import Diagnosis
from memory.finding import NOT_MEASURED, SUSPECT, Finding, said, share
from memory.scope import Scope
from tests.memory.test_diagnosis import CASES
from workbench.findings import worded
from workbench.words import Words

ENGLISH, CHINESE = Words("en"), Words("zh")
SENTENCE = re.compile(r"[a-z]{2,} [a-z]{2,}")  # two words of English in a row
FOREIGN = ("no room",)  # reasons that no engine gives, and words that somebody said


def of(*findings: Finding) -> Diagnosis:
    return Diagnosis("slow", Scope("ana", "trip"), 9, 5, findings)


def everything() -> Iterator[Finding]:
    for check, bad, good, _ in CASES.values():
        yield from (check(bad), check(good))


@pytest.fixture(scope="module")
def found() -> tuple[Finding, ...]:
    return tuple(everything())


def test_in_chinese_no_sentence_of_english_is_left(found: tuple[Finding, ...]):
    for before, each in zip(found, worded(of(*found), CHINESE).findings, strict=True):
        assert each.name != before.name
        assert each.says != before.says
        told = [each.name, each.says, each.unit, each.compared_as("界限"), *each.evidence]
        told += [] if each.remedy.startswith("workbench ") else [each.remedy]
        left = [line for line in told if SENTENCE.search(line) and not line.endswith(FOREIGN)]
        assert left == [], before.name


def test_in_english_it_says_what_the_check_says(found: tuple[Finding, ...]):
    for before, each in zip(found, worded(of(*found), ENGLISH).findings, strict=True):
        assert (each.name, each.says, each.compared, each.remedy) == (
            before.name, before.says, before.compared, before.remedy,
        )  # fmt: skip
    assert worded(of(*found), ENGLISH).says == of(*found).says
    clear = of(*(each for each in found if not each.suspect))
    assert worded(clear, ENGLISH).says == clear.says


def test_the_headline_names_the_first_suspect_and_counts_the_others():
    bad = share("thrash", said("thrash", steps=3), 4, 8, 0.25, "ours", remedy="guest_steps=3")
    assert (
        worded(of(bad, bad), CHINESE).says
        == "颠簸：离开后 3 步之内又回来的页：8 中有 4（50%）；可试 guest_steps=3；另有 1 处可疑"
    )
    few = share("thrash", said("thrash", steps=3), 1, 2, 0.25, "ours")
    assert few.verdict == NOT_MEASURED
    assert worded(of(few), CHINESE).says == "1 项检查中，0 项没有可疑之处（1 项没有测到）"


def test_what_nobody_worded_stays_as_it_is_and_programs_read_codes():
    own = share("mine", "things of mine", 9, 10, 0.1, "ours")
    assert worded(of(own), CHINESE).findings[0].says == own.says
    told = share("thrash", said("thrash", steps=3), 9, 10, 0.25, "ours").to_dict()
    assert (told["code"], told["values"], told["verdict"]) == ("thrash", {"steps": "3"}, SUSPECT)
    assert told["says"] == "pages back within 3 steps of leaving: 9 of 10 (90%)"
    assert replace(own, says="x").to_dict()["code"] == ""
