"""The page of what is remembered about a user: theirs alone, whatever the address says; what they do there is done."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from memory.journal import utc_now
from memory.longterm import LongTerm
from memory.stores.sql import Store
from workbench import reviewing
from workbench.review_link import make_key, sign
from workbench.words import LANGUAGES, Words

APP = Path(reviewing.__file__).with_name("app.py")
Run = Callable[..., AppTest]
SECRETS = {"ana": "ANASECRET", "lin": "LINSECRET"}


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A store with two users, each with a word of their own in everything that is remembered."""
    from memory import Engine

    with Store.open(tmp_path / "store") as store:
        for user, secret in SECRETS.items():
            engine = Engine.open(
                store, user=user, conversation=f"c-{user}", title=f"About {secret}", window_tokens=2000
            )
            engine.say(f"My {secret.lower()} budget is 5000 euros, and I live in {secret}.")
            engine.say(f"My boss is {secret}.")
    return tmp_path / "store"


def everything(at: AppTest) -> str:
    boxes = [*at.markdown, *at.text, *at.caption, *at.code, *at.error, *at.warning, *at.info, *at.selectbox]
    told = [str(getattr(b, "value", "")) + str(getattr(b, "options", "")) for b in boxes]
    return "\n".join([*told, *(e.proto.json for e in at.get("bidi_component"))])


def token(store: Path, user: str, **more: float) -> str:
    return sign(user, make_key(store), now=utc_now(), **more)


@pytest.mark.parametrize("user", ["ana", "lin", ""])
@pytest.mark.parametrize("conv", ["c-ana", "c-lin", ""])
def test_a_reviewer_sees_no_word_of_another_user_whatever_the_address_says(app: Run, two: Path, user: str, conv: str):
    app(two, "overview")  # the store is shown from here on
    at = AppTest.from_file(APP, default_timeout=60)
    asked = {"review": token(two, "ana"), "user": user, "conv": conv, "fact": "1", "turn": "1", "run": "live"}
    for name, value in asked.items():
        if value:
            at.query_params[name] = value
    at.run()
    assert not at.exception
    assert "ANASECRET" in everything(at)
    assert "LINSECRET" not in everything(at)
    del at.query_params["review"]  # a session that had a link is never a developer's again
    at.query_params["user"] = "lin"
    at.run()
    assert "ANASECRET" in everything(at)
    assert "LINSECRET" not in everything(at)


@pytest.mark.parametrize("change", ["forged", "foreign"])
def test_a_link_that_is_no_good_shows_nothing_of_anybody(app: Run, two: Path, tmp_path: Path, change: str):
    other = tmp_path / "other"
    Store.open(other).close()
    bad = {"forged": token(two, "ana")[:-2] + "xx", "foreign": token(other, "ana")}[change]
    at = app(two, "overview", review=bad)
    assert not at.exception
    assert not any(secret in everything(at) for secret in SECRETS.values())


@pytest.mark.parametrize("lang", LANGUAGES)
def test_it_says_what_is_remembered_in_words_that_need_no_explanation(app: Run, two: Path, lang: str):
    at = app(two, "review", user="ana", lang=lang)
    assert not at.exception
    shown = everything(at)
    assert "ANASECRET" in shown
    assert "LINSECRET" not in shown
    rows = [json.loads(e.proto.json)[0] for e in at.get("bidi_component") if e.proto.component_name.endswith("entries")]
    assert rows


def test_what_a_browser_sends_touches_only_the_user_s_own_entries(two: Path, monkeypatch: pytest.MonkeyPatch):
    from workbench import state

    monkeypatch.setenv(state.STORE_VARIABLE, str(two))
    state.forget()
    with Store.open(two) as store:
        before = store.knowledge("lin").version
        memory = LongTerm.open(store, user="ana")
        budget = next(fact for fact in memory.facts() if "5000" in memory.text(fact))
    acts = reviewing.Acts("ana", 0, Words("en"))
    for asked in ({"do": "forget", "key": 999}, {"do": "forget", "key": "1"}, {"do": "drop table", "key": 1}, {}):
        acts.do(asked)
    acts.do({"do": "mark", "key": budget.id, "important": True})
    with Store.open(two) as store:
        assert store.knowledge("lin").version == before
        assert store.knowledge("ana").facts[budget.id].importance == 1.0
