"""The distribution as a stranger gets it: built, installed in a new environment, used in another folder."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pytest

pytestmark = pytest.mark.wheel
ROOT = Path(__file__).resolve().parents[1]
DATA = {"workbench/components": ["*.js", "*.css"], "sessions/demo": ["*.jsonl"]}


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}
    line = [str(word) for word in command]
    return subprocess.run(line, cwd=cwd, env=clean, capture_output=True, text=True, timeout=300, check=False)


def checked(*command: object, cwd: Path) -> str:
    done = run(*command, cwd=cwd)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Installed:
    python: Path
    workbench: Path
    site: Path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    checked(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    return next(out.glob("memory_workbench-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Our wheel is new; its libraries are the ones that this test runs with, found through a .pth file."""
    home = tmp_path_factory.mktemp("venv")
    checked(sys.executable, "-m", "venv", "--without-pip", home, cwd=home)
    python = home / "bin" / "python"
    site = Path(checked(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home).strip())
    pip = (sys.executable, "-m", "pip", "--python", python)
    checked(*pip, "install", "--no-deps", "--no-index", wheel, cwd=home)
    # Plain lines only: a .pth in site-packages is not read again there, so our editable install stays out.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installed(python, home / "bin" / "workbench", site)


@pytest.fixture
def decoys(tmp_path: Path) -> Path:
    """A folder like many: it has a `memory` and a `pages` of its own."""
    for name in ("memory", "pages"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise RuntimeError('the decoy {name} was imported')\n")
    return tmp_path


def test_the_wheel_holds_what_the_program_needs(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    inside = set(names)
    assert {
        "workbench/.streamlit/config.toml",
        "workbench/static/favicon.svg",
        "workbench/static/logo.svg",
        "workbench/static/inter-latin-wght-normal.woff2",
        "workbench/static/jetbrains-mono-latin-wght-normal.woff2",
        "pages/__init__.py",
    } <= inside
    for folder, kinds in DATA.items():
        files = (file for kind in kinds for file in (ROOT / folder).rglob(kind))
        assert {str(file.relative_to(ROOT)) for file in files} <= inside


def test_the_licences_are_in_the_wheel(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if "/licenses/" in name]
        licences = {Path(name).name: archive.read(name).decode() for name in names}
    assert "MIT License" in licences["LICENSE"]
    for font in ("inter-OFL.txt", "jetbrains-mono-OFL.txt"):
        assert "SIL OPEN FONT LICENSE" in licences[font]


def test_the_wheel_brings_four_packages_and_no_tests(wheel: Path):
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"memory", "sessions", "workbench", "pages"}


def test_the_command_works_beside_folders_of_the_same_names(installed: Installed, decoys: Path):
    assert version("memory-workbench") in checked(installed.workbench, "--version", cwd=decoys)


def test_the_packages_come_from_the_wheel(installed: Installed, tmp_path: Path):
    code = "import memory, sessions, workbench as w; print(*(m.__file__ for m in (memory, sessions, w)), sep='\\n')"
    files = [Path(line) for line in checked(installed.python, "-c", code, cwd=tmp_path).splitlines()]
    assert [file.parent.parent for file in files] == [installed.site] * 3


@pytest.mark.parametrize("hiding", ["memory", "sessions", "pages"])
def test_importing_beside_a_file_of_the_same_name_says_which_file_hides_ours(
    installed: Installed, tmp_path: Path, hiding: str
):
    (tmp_path / f"{hiding}.py").touch()
    done = run(installed.python, "-c", "import workbench", cwd=tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {tmp_path / hiding}.py hides Memory Workbench's own '{hiding}'")
    assert "rename it" in last


def test_importing_beside_the_decoys_names_the_first(installed: Installed, decoys: Path):
    done = run(installed.python, "-c", "import workbench", cwd=decoys)
    assert f"{decoys / 'memory' / '__init__.py'} hides" in done.stderr


def test_a_folder_without_init_hides_nothing(installed: Installed, tmp_path: Path):
    (tmp_path / "memory").mkdir()
    checked(installed.python, "-c", "import workbench", cwd=tmp_path)
