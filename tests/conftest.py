"""What the tests of several folders share: the demo store, made once a run however many processes test."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from memory.stores.sql import Store
from sessions.demo import load_demo

settings.register_profile(  # a busy machine is no failure
    "rules", max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("rules")


@pytest.fixture(scope="session")
def demo_copy(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Copies the store that `workbench open --demo` makes to a path; making it takes seconds, a copy none."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    made, whole = shared / "demo-made", shared / "demo-made.whole"
    with (shared / "demo-made.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.exists():
            with Store.open(made) as store:
                load_demo(store)
            whole.touch()

    def copy(to: Path) -> Path:
        return Path(shutil.copytree(made, to))

    return copy


@pytest.fixture(scope="session")
def packages_read_once() -> Iterator[None]:
    """Streamlit reads what every installed package says of itself for each app that is tested: half of the time."""
    from streamlit.components.v2 import manifest_scanner

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield
