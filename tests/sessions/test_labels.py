import json
from collections import Counter
from pathlib import Path

import pytest

from sessions.labels import read_evidence

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "memorybank"


def test_each_probing_question_has_its_evidence():
    assert Counter(each.language for each in read_evidence()) == {"en": 100, "zh": 100}
    unanswered = [(each.language, each.user, each.question) for each in read_evidence() if not each.exchanges]
    assert unanswered == [("en", "John Zhang", 4)]


@pytest.mark.skipif(not DATA.is_dir(), reason="MemoryBank is not part of the repository")
@pytest.mark.parametrize(("language", "name"), [("en", "en"), ("zh", "cn")])
def test_evidence_names_exchanges_that_exist(language, name):
    told = json.loads((DATA / f"memory_bank_{name}.json").read_text(encoding="utf-8"))
    days = {user.strip(): memory["history"] for user, memory in told.items()}
    for each in (e for e in read_evidence() if e.language == language):
        assert all(place < len(days[each.user][day]) for day, place in each.exchanges)
