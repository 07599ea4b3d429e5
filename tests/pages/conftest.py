"""A store with both demo conversations, made once; and the app, run without a browser."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import workbench
from workbench import state

APP = Path(workbench.__file__).with_name("app.py")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, demo_copy: Callable[[Path], Path]) -> Path:
    return demo_copy(tmp_path_factory.mktemp("demo") / "store")


@pytest.fixture(scope="session", autouse=True)
def quick(packages_read_once: None) -> None:
    """Every test here runs the app."""


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Run the app on a store, with a query, on a page; asserts nothing."""

    def run(store: Path, page: str = "live", /, **query: str) -> AppTest:
        monkeypatch.setenv(state.STORE_VARIABLE, str(store))
        monkeypatch.delenv(state.PUSH_VARIABLE, raising=False)
        monkeypatch.delenv(state.READONLY_VARIABLE, raising=False)
        state.forget()
        at = AppTest.from_file(str(APP), default_timeout=60)
        for name, value in query.items():
            at.query_params[name] = value
        at.run()
        if page != "overview":
            at.switch_page(f"../pages/{page}.py").run()
        return at

    return run
