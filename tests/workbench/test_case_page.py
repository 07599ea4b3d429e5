"""A conversation as one page for anybody: nothing runs, nothing is loaded, and whatever it says stays words."""

import re
from html.parser import HTMLParser

import pytest

from memory.engine import Engine
from memory.errors import StoreError, UnknownName
from memory.scope import Scope
from memory.stores.sql import Store
from workbench.case_page import write_page

HOSTILE = '</p></style><script>alert(1)</script><img src=x onerror="alert(1)"> javascript:alert(1) \u202eevil'
SMALL = {"window_tokens": 1_600, "reply_tokens": 100, "page_turns": 2}


class Tags(HTMLParser):
    """Which elements a page has, with their attributes, and whether each that opens is closed."""

    EMPTY = ("meta", "rect", "line", "path", "circle")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("page") / "store") as opened:
        engine = Engine.open(opened, user="ana", conversation="trip", title=HOSTILE, system=HOSTILE, **SMALL)
        engine.say("My budget for the trip is 5,000 euros. Write to ana@example.org.")
        for n in range(12):
            engine.say(f"{HOSTILE} {n} and some more words about the train to Kyoto, so that pages leave.")
        engine.say("What is my budget for the trip?")
        Engine.open(opened, user="ana", conversation="other", **SMALL).say("My blood type is zero negative.")
        yield opened


@pytest.fixture(scope="module")
def html(store, tmp_path_factory):
    file = tmp_path_factory.mktemp("made") / "trip.html"
    done = write_page(store, Scope("ana", "trip"), file)
    assert done.removed["e-mail address"] >= 1
    return file.read_text("utf-8")


def test_nothing_in_it_runs_or_is_loaded(html):
    tags = Tags(html)
    assert tags.open == []
    assert {tag for tag, _ in tags.found}.isdisjoint({"script", "img", "iframe", "object", "link", "form", "base"})
    assert not [a for _, attrs in tags.found for a in attrs if a.startswith("on") or a in ("src", "srcset")]
    assert all(attrs["href"].startswith("#") for _, attrs in tags.found if attrs.get("href"))
    assert "default-src 'none'" in html
    assert not re.search(r"url\(|@import|\u202e", html)


def test_it_tells_the_conversation_with_what_its_memory_did(store, html):
    state = store.state(Scope("ana", "trip"))
    tags = Tags(html).found
    ids = {attrs["id"] for _, attrs in tags if "id" in attrs}
    assert {f"t{n}" for n in range(1, state.turn + 1)} <= ids
    assert {f"p{n}" for n in state.pages} <= ids
    assert sum(tag == "article" for tag, _ in tags) == state.turn
    left = sum(event.kind == "PageEvicted" for event in store.events(Scope("ana", "trip")))
    assert left
    assert f"<b>{left}</b> <span>left the window</span>" in html
    assert "budget for the trip is 5,000 euros" in html
    assert {attrs["href"][1:] for _, attrs in tags if attrs.get("href")} <= ids


def test_nothing_of_another_conversation_and_no_address_is_in_it(html):
    assert not any(words in html for words in ("blood", "zero negative", "ana@example.org"))


def test_it_is_chinese_where_that_is_wanted_and_overwrites_nothing(store, tmp_path):
    file = tmp_path / "trip.html"
    write_page(store, Scope("ana", "trip"), file, "zh", personal=True)
    html = file.read_text("utf-8")
    assert '<html lang="zh-Hans">' in html
    assert "移出窗口" in html
    assert "left the window" not in html
    assert "ana@example.org" in html
    with pytest.raises(StoreError, match="nothing is overwritten"):
        write_page(store, Scope("ana", "trip"), file)
    with pytest.raises(UnknownName, match="language of pages"):
        write_page(store, Scope("ana", "trip"), tmp_path / "x.html", "fr")
    assert [each.name for each in tmp_path.iterdir()] == ["trip.html"]
