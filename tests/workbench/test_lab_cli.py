"""The lab as a command: over the store's conversations, over files, and what it refuses."""

import json
from pathlib import Path

import pytest

from memory.stores.sql import Store
from sessions.demo import demo_files
from sessions.importer import import_recordings
from sessions.readers import read
from tests.workbench.conftest import run

SMALL = ("--boundary", "fixed_20", "--eviction", "lru", "--budget", 4000)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The English demo as it was recorded."""
    path = tmp_path_factory.mktemp("lab") / "store"
    with Store.open(path) as store:
        import_recordings(store, list(read(demo_files()[-1])), replay=False, remember=False)
    return path


def test_a_grid_over_a_store_is_one_document_and_is_kept_beside_it(place: Path):
    told = json.loads(run("lab", "--store", place, *SMALL, "--json"))
    (cell,) = told["cells"]
    assert cell["n"] == 54
    assert sum(cell["split"].values()) == 54
    assert set(cell["end_to_end"]) == {"1", "3", "5"}
    assert {"message", "single", "multi"} <= set(cell["by_category"])
    assert "n = 54 in 1 conversation" in told["honesty"]["questions"]
    assert len(list((place / "lab").iterdir())) == 1
    shown = run("lab", "--store", place, *SMALL)
    assert "not measured" in shown
    assert "fixed_20 · lru · content · 4,000 tokens" in shown


def test_files_need_no_store_and_pages_may_be_counted(tmp_path: Path):
    pages = ("--boundary", "fixed_20", "--eviction", "lru", "--pages", 5, "--cache", tmp_path, "--json")
    told = json.loads(run("lab", demo_files()[0], *pages))
    assert [(cell["pages"], cell["n"]) for cell in told["cells"]] == [(5, 41)]
    assert "pages are counted" in told["honesty"]["context"]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [(("--eviction", "lur"), "no eviction policy of the lab named 'lur'"), (("--recall", "llm"), "by a model"),
     (("--boundary", "odd"), "boundary"), (("--conversation", "nobody"), "workbench pin")],
)  # fmt: skip
def test_what_cannot_be_is_one_line(place: Path, wrong: tuple[str, ...], says: str):
    told = run("lab", "--store", place, *wrong, ok=False)
    assert says in told
    assert "Traceback" not in told


def test_the_shape_of_a_conversation_and_its_funnel(place: Path):
    told = json.loads(run("topology", "--store", place, "--json"))
    assert (told["kind"], told["n"]) == ("revisits", 28)
    assert "not told apart" in run("topology", "--store", place)
    assert json.loads(run("funnel", "--store", place, "--json"))["counts"]["should"] == 0  # a recording has no prompts
    assert "nothing was tuned" in run("funnel", "--store", place)
