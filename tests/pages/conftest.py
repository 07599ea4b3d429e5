"""A store with both demo conversations, made once; and the app, run without a browser."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

import workbench
from workbench import state

APP = Path(workbench.__file__).with_name("app.py")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, demo_copy: Callable[[Path], Path]) -> Path:
    return demo_copy(tmp_path_factory.mktemp("demo") / "store")


@pytest.fixture(scope="session", autouse=True)
def packages_read_once() -> Iterator[None]:
    """Streamlit reads what every installed package says of itself for each app that is tested: half of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


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
