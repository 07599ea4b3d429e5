"""Settings as a file come back as they were; presets are settings; what cannot be is refused with its reason."""

import pytest

from memory.boundaries import BOUNDARIES
from memory.errors import BadSetting, UnknownName
from memory.eviction import EVICTION
from memory.settings import Settings
from memory.templates import TEMPLATES
from sessions.presets import PRESETS, differing, load, preset, save

ODD = Settings.of(page_turns=20, high_watermark=0.9, bookmark_key='prices "in euros"\n\x7f', memory_llm="x,summary=y")


@pytest.mark.parametrize("kind", ["toml", "json", "TOML"])
@pytest.mark.parametrize("settings", [Settings(), ODD])
def test_what_is_saved_is_loaded(tmp_path, kind, settings):
    file = save(settings, tmp_path / f"tuned.{kind}")
    assert load(file) == settings
    assert load(file).hash == settings.hash


def test_a_file_names_only_what_differs(tmp_path):
    text = save(Settings.of(recall_k=5), tmp_path / "s.toml").read_text()
    assert [line for line in text.splitlines() if line and not line.startswith("#")] == ["recall_k = 5"]
    assert "pages: " in text


@pytest.mark.parametrize(
    ("text", "says"),
    [("page_turn = 3", "page_turn"), ("page_turns = 0", "1 to 200"), ("page_turns = ", "cannot be read"),
     ("recall_k = '5'", "recall_k must be")],
)  # fmt: skip
def test_what_cannot_be_is_refused(tmp_path, text, says):
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises((BadSetting, UnknownName), match=says):
        load(tmp_path / "s.toml")


def test_other_files_are_refused(tmp_path):
    (tmp_path / "s.json").write_text("[1]")
    with pytest.raises(BadSetting, match="not settings by their names"):
        load(tmp_path / "s.json")
    with pytest.raises(BadSetting, match=r"\.toml or \.json"):
        save(Settings(), tmp_path / "s.yaml")
    with pytest.raises(BadSetting, match="cannot be read"):
        load(tmp_path / "none.toml")


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_settings_of_names_that_exist(name):
    made = Settings().but(**preset(name))
    assert differing(made)
    assert made.eviction in EVICTION
    assert made.bookmark_template in TEMPLATES
    assert set(made.boundary.split("+")) <= set(BOUNDARIES)


def test_there_is_no_other_preset():
    with pytest.raises(UnknownName, match="knowledge_base"):
        preset("no_such")
