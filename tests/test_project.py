"""What the project promises outside its code: licences, names, targets, dependencies and a quick start."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import workbench

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ["memory", "sessions", "workbench", "pages"]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported(file: Path) -> set[str]:
    """The top-level names that a file imports, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


@cache
def installed() -> Mapping[str, list[str]]:
    """From an import name to the distributions that bring it."""
    return packages_distributions()


def test_the_changelog_has_the_version():
    headings = re.findall(r"^## \[(.+?)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0][0] == PROJECT["version"] == workbench.__version__


FEW = {
    "_heart": "processes",
    "callback_class": "classes of ours",
    "_pieces": "sentences of ours",
    "load_model": "yes and no",
    "_frequencies": "languages that are known",
    "script": "arrangements of the parts of a widget",
    "ranks": "questions of a conversation; it goes with what was made for them",
}


@pytest.mark.parametrize("folder", PACKAGES)
def test_what_is_kept_by_what_somebody_gives_has_a_bound(folder: str):
    found = [
        f"{file.relative_to(ROOT)}: {function.name}"
        for file in modules(folder)
        for function in ast.walk(ast.parse(file.read_text()))
        if isinstance(function, ast.FunctionDef) and function.args.args and function.name not in FEW
        for decorator in map(ast.unparse, function.decorator_list)
        if decorator in {"cache", "functools.cache"} or "maxsize=None" in decorator or "lru_cache(None" in decorator
    ]
    assert found == []


TARGETS = ["setup", "run", "test", "lint", "soak", "bench", "screenshots", "notebooks", "wheel-test", "lock", "clean"]


@pytest.mark.parametrize("target", TARGETS)
def test_make_has_the_target(target: str):
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(rf"^{target}:.* ## ", makefile, re.M)
    assert target in re.search(r"^\.PHONY:(.*)$", makefile, re.M)[1].split()


def test_the_readme_and_ci_run_the_same_command():
    assert re.search(r"^make test\b", (ROOT / "README.md").read_text(), re.M)
    assert re.search(r"^make test\b", (ROOT / ".ci" / "run").read_text(), re.M)


def test_the_lock_holds_every_dependency_with_hashes_and_names_no_other_index():
    lock = (ROOT / "requirements.lock").read_text()
    entries = re.split(r"^(?=[a-z0-9])", lock, flags=re.M)[1:]
    locked = {entry.partition("==")[0] for entry in entries}
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    assert {Requirement(line).name for line in wanted} <= locked
    assert all("--hash=sha256:" in entry for entry in entries)
    assert not re.search(r"^--|://|file:|\s/\w", lock, re.M)


@pytest.mark.parametrize("line", [line for line in PROJECT["dependencies"] if "==" not in line])
def test_a_dependency_has_both_bounds(line: str):
    assert {spec.operator for spec in Requirement(line).specifier} == {">=", "<"}


def test_every_library_that_we_import_is_a_declared_dependency():
    declared = {Requirement(line).name.lower() for line in PROJECT["dependencies"]}
    declared |= {"httpx", "openai"}  # part of litellm's interface, which is pinned
    distributions = installed()
    for file in (file for folder in PACKAGES for file in modules(folder)):
        libraries = imported(file) - sys.stdlib_module_names - set(PACKAGES)
        for name in libraries:
            assert declared & {found.lower() for found in distributions.get(name, [])}, (
                f"{file.relative_to(ROOT)} imports {name}, which pyproject.toml does not name"
            )


def test_no_file_in_workbench_is_named_like_a_library():
    # Streamlit puts its script's folder first on the path: workbench/logging.py would be everyone's `logging`.
    libraries = sys.stdlib_module_names | installed().keys() - set(PACKAGES)
    ours = {entry.stem for entry in (ROOT / "workbench").iterdir() if entry.suffix in {"", ".py"}}
    assert not ours & libraries
    assert not ours & set(PACKAGES)


def test_every_file_of_the_core_is_under_its_import_contract():
    *_, core = PYPROJECT["tool"]["importlinter"]["contracts"]
    files = {f"memory.{file.stem}" for file in (ROOT / "memory").glob("*.py")}
    joins = {"memory.__init__", *core["forbidden_modules"]}  # core and stores, or core and models
    assert set(core["source_modules"]) == files - joins


ARGUMENTS = {"read_text": 1, "write_text": 2, "open": 3, "fdopen": 4}  # so many name the encoding by their place


@pytest.mark.parametrize("folder", PACKAGES)
def test_no_file_is_read_or_written_in_the_machine_s_own_encoding(folder: str):
    """Windows and LANG=C have others than UTF-8: there æ becomes Ã¦, and Chinese an error."""
    calls = [
        (file, node)
        for file in modules(folder)
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call)
    ]
    assert [f"{file.relative_to(ROOT)}:{call.lineno}" for file, call in calls if leaves_encoding_open(call)] == []


def leaves_encoding_open(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if len(call.args) >= ARGUMENTS.get(name, 0) or any(each.arg == "encoding" for each in call.keywords):
        return False
    if name in ("read_text", "write_text"):
        return True
    modes = [each.value for each in call.args if isinstance(each, ast.Constant)]
    return any(re.fullmatch(r"[rwax]t?\+?", str(mode)) for mode in modes)  # stores and addresses are opened, too


@pytest.mark.parametrize("folder", PACKAGES)
def test_no_test_folder_shadows_a_package(folder: str):
    assert not (ROOT / "tests" / folder / "__init__.py").exists()


def test_the_app_starts_without_the_slow_libraries():
    code = """
import sys
import workbench.app
print(sorted({"litellm", "lancedb", "openai", "transformers"} & sys.modules.keys()))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_theme_is_complete_and_asks_nobody_outside():
    text = (ROOT / "workbench" / ".streamlit" / "config.toml").read_text()
    config = tomllib.loads(text)
    assert config["server"]["address"] == "127.0.0.1"
    assert config["browser"]["gatherUsageStats"] is False
    assert len(config["theme"]["headingFontSizes"]) == 6
    assert config["theme"]["light"].keys() == config["theme"]["dark"].keys()
    assert "://" not in text
    for face in config["theme"]["fontFaces"]:
        assert (ROOT / "workbench" / face["url"].removeprefix("app/")).stat().st_size > 10_000


def test_streamlit_knows_every_setting_of_ours():
    from streamlit import config as streamlit_config

    def keys(table: dict[str, object], prefix: str = "") -> Iterator[str]:
        for key, value in table.items():
            if isinstance(value, dict):
                yield from keys(value, f"{prefix}{key}.")
            else:
                yield prefix + key

    ours = keys(tomllib.loads((ROOT / "workbench" / ".streamlit" / "config.toml").read_text()))
    known = streamlit_config.get_config_options()
    assert [key for key in ours if key not in known] == []


@pytest.mark.parametrize("picture", ["favicon.svg", "logo.svg"])
def test_our_pictures_bring_their_own_letters(picture: str):
    svg = (ROOT / "workbench" / "static" / picture).read_text()
    assert "<text" not in svg
    assert "href" not in svg
