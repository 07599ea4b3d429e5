"""What the README shows is what happens."""

import contextlib
import inspect
import io
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memory.stores.log import VIEWS
from workbench.cli import app, bench

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


DAY = re.compile(r"\d{4}-\d\d-\d\d")
PRINTED = re.findall(r"```python\n(.*?)```\s*```\n(.*?)```", README, re.S)


@pytest.mark.parametrize(("code", "told"), PRINTED, ids=["five lines", "what it remembers"])
def test_the_lines_print_what_the_readme_says(code: str, told: str, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own lines
    assert DAY.sub("today", printed.getvalue()) == DAY.sub("today", told)


@pytest.mark.parametrize("folder", ["memory", "memory/stores", "sessions", "workbench", "pages"])
def test_every_file_has_its_sentence(folder):
    files = [p.name for p in (ROOT / folder).glob("*.py") if p.name != "__init__.py"]
    assert [name for name in files if f"{name}`" not in README] == []


def test_every_command_is_in_the_table():
    commands = {c.name or c.callback.__name__ for c in app.registered_commands}
    assert {name for name in commands if f"`{name}" not in README and f"`{name} " not in README} == set()


BENCHES = re.findall(r"workbench (bench \w+(?: (?:\[?[A-Z$(]\S*|--[a-z]+(?: [A-Z$(a]\S*)?))*)", f"{README}{MAKEFILE}")


@pytest.mark.parametrize("line", sorted({line.replace("`", "").replace("[FILE]", "") for line in BENCHES}))
def test_what_makes_the_figures_is_a_command_with_these_options(line: str):
    _, name, *given = line.split()
    (command,) = [c.callback for c in bench.registered_commands if c.name == name]
    options = {f"--{option}" for option in inspect.signature(command).parameters}
    assert {each for each in given if each.startswith("--")} <= options


def test_every_bench_makes_figures():
    assert {c.name for c in bench.registered_commands} <= {line.split()[1] for line in BENCHES}
    for named in {c.name for c in bench.registered_commands}:
        assert f"workbench bench {named}" in MAKEFILE


def test_the_pictures_are_there():
    assert [p for p in re.findall(r"!\[.*?\]\((.+?)\)", README) if not (ROOT / p).exists()] == []


def test_help_names_every_view_that_sql_may_ask():
    told = CliRunner().invoke(app, ["sql", "--views", "--json"])
    assert told.exit_code == 0
    assert all(view in told.output for view in VIEWS)
