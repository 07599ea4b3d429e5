"""What is remembered, in a notebook: objects that show themselves, and two magics."""

from types import SimpleNamespace

import pytest
from IPython.core.error import UsageError

import workbench
from memory import Engine
from memory.stores.sql import Store
from workbench.inline import WorkbenchMagics


@pytest.fixture
def engine(tmp_path):
    with Store.open(tmp_path / "store") as store:
        opened = Engine.open(store, user="ana", conversation="trip", background=False)
        opened.memory.write("My budget is 5000 euros. I live in Lyon.")
        yield opened
        opened.close()


def test_facts_one_fact_and_conflicts_show_themselves(engine: Engine):
    assert repr(workbench.facts(engine)) == "<FactsView of ana: 2 shown; 2 active>"
    assert "5000 euros" in workbench.facts(engine, tag="topic:money")._repr_html_()
    assert "My budget is 5000 euros" in workbench.fact(engine, 1)._repr_html_()
    assert workbench.conflicts((engine.store, engine.scope)) == ()
    assert "5000 euros" in workbench.lanes(engine, words="budget")._repr_html_()
    assert workbench.lanes(engine, words="budget").count == 1


def test_an_erase_is_looked_at_then_carried_out(engine: Engine):
    preview = workbench.erase(engine, "Lyon")
    assert "f2" in preview._repr_html_()
    assert "for good" in preview._repr_html_()
    assert preview.carry_out().facts == (2,)
    assert [r.name for r in workbench.facts(engine)] == ["f1"]


def test_the_magics(engine: Engine):
    magics = WorkbenchMagics(None)
    magics.shell = SimpleNamespace(user_ns={"engine": engine})
    assert [r.name for r in magics.memory("facts")] == ["f2", "f1"]
    assert magics.memory("fact f1").row.value == "5000 euros"
    with pytest.raises(UsageError, match="no fact f9"):
        magics.memory("fact f9")
    with pytest.raises(UsageError, match="which fact"):
        magics.memory("fact budget")
