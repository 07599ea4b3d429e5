"""A page comes back by its summary first, if the settings say so, and by its text when it is asked for again."""

from dataclasses import replace

import pytest

from memory import naming
from memory.errors import UnknownName
from memory.pages import Page
from memory.settings import Settings
from memory.state import dump, fold, load
from memory.stores.verify import verify
from sessions.replay import replay
from tests.memory.conftest import Model, calling, fill_up, first

SUMMARY_FIRST = {"recall_level": "summary"}


@pytest.fixture
def short(opened):
    engine = opened(**SUMMARY_FIRST)
    fill_up(engine)
    assert 1 not in engine.state.resident
    return engine


class Watched:
    """Has an engine's model ask first for what it is told, and keeps what it was sent."""

    def __init__(self):
        self.tools = []

    def __call__(self, engine, *asks):
        model = Model(first(*asks))

        def chat(llm, messages, *, tools=(), **rest):
            self.tools.append(list(tools))
            return model(llm, messages, tools=tools, **rest)

        engine.caller = replace(engine.caller, chat=chat)
        return model.seen


@pytest.fixture
def watched():
    return Watched()


def gists(engine):
    words = engine.pager.journal.words
    return {p.number: words(p.gist.text) for p in engine.state.pages.values() if p.gist}


def systems(messages):
    return [m["content"] for m in messages if m["role"] == "system"]


def consistent(engine):
    return fold(engine.store.events(engine.scope)) == engine.state == load(dump(engine.state))


# ── every page has a summary ──────────────────────────────────────────────────────────────────────────


def test_each_page_that_closed_has_a_summary_of_its_own_words(opened):
    engine = opened()
    fill_up(engine)
    made = gists(engine)
    assert sorted(made) == [p.number for p in engine.state.pages.values() if p.closed]
    assert "the code of drawer 0 is 1000" in made[1]
    made_by = {e.body.gist.origin for e in engine.store.events(engine.scope, kinds=["PageSummarised"])}
    assert made_by == {"extract"}
    assert all(p.gist.tokens <= 40 for p in engine.state.pages.values() if p.gist)
    assert consistent(engine)
    assert verify(engine.store).ok


def test_what_cooperative_eviction_asks_about_is_the_summary(opened):
    engine = opened()
    fill_up(engine)
    assert naming.summary(engine.pager, engine.page(1)).startswith(gists(engine)[1])


# ── recalled ──────────────────────────────────────────────────────────────────────────────────────────


def test_by_default_the_text_comes_at_once(opened, watched):
    engine = opened()
    fill_up(engine)
    seen = watched(engine, calling({"page_ids": ["p1"]}))
    engine.say("What is the code of drawer 0?")
    assert "<summary" not in "".join(systems(seen[-1]))


def test_the_summary_goes_in_first_and_the_text_when_the_page_is_recalled_again(short, watched):
    seen = watched(short, calling({"page_ids": ["p1"]}), calling({"page_ids": ["p1"]}))
    reply = short.say("What is the code of drawer 0?")
    assert reply.recalled == (1,)
    once, again = "".join(systems(seen[-2])), "".join(systems(seen[-1]))
    assert f'<summary page="p1" turns="1-4">\n{gists(short)[1]}\n</summary>' in once
    assert '<recalled page="p1"' not in once
    assert '<recalled page="p1" turns="1-4">' in again
    assert '<summary page="p1"' not in again
    results = [m["content"] for m in seen[-1] if m["role"] == "tool"]
    assert "is back as a summary, between the <summary> marks above; recall p1 again to read it whole." in results[0]
    assert "read it between the <recalled> marks above" in results[1]
    paged = [e.body for e in short.store.events(short.scope, kinds=["PagePagedIn"])]
    assert [b.level for b in paged] == ["summary", "text"]
    assert not paged[1].thrash  # it did not leave in between
    assert paged[0].tokens < paged[1].tokens / 3
    assert consistent(short)


def test_full_brings_the_text_at_once(short, watched):
    seen = watched(short, calling({"page_ids": ["p1"], "full": True}))
    short.say("What is the code of drawer 0?")
    assert '<recalled page="p1"' in "".join(systems(seen[-1]))


def test_the_model_is_told_of_both(short, watched):
    seen = watched(short)
    short.say("Hello?")
    assert "comes back as its <summary> first; recall it again, or with full=true" in systems(seen[-1])[0]
    assert "full" in watched.tools[-1][0]["function"]["parameters"]["properties"]


def test_a_person_gets_the_text(short):
    assert short.recall("p1").came == (1,)
    assert short.page(1).guest_as == "text"


def test_a_page_that_is_short_anyway_comes_whole(opened, watched):
    engine = opened(**SUMMARY_FIRST, window_tokens=900, boundary="fixed_2")
    engine.say("The key is under the mat.")
    fill_up(engine)
    seen = watched(engine, calling({"page_ids": ["p1"]}))
    engine.say("Where is the key?")
    assert '<recalled page="p1"' in "".join(systems(seen[-1]))


def test_what_comes_back_unasked_comes_by_its_summary_too(short):
    short.change(retrieve_k=1)
    short.say("What is the code of drawer 1000, drawer 0?")
    paged = [e.body for e in short.store.events(short.scope, kinds=["PagePagedIn"])]
    assert paged
    assert {b.level for b in paged} == {"summary"}


def test_the_window_counts_what_is_there(short, watched):
    """As much as the prompt holds: the summary while it stands there, the text after."""
    watched(short, calling({"page_ids": ["p1"]}), calling({"page_ids": ["p1"]}))
    short.say("What is the code of drawer 0?")
    prompts = [e.body for e in short.store.events(short.scope, kinds=["PromptAssembled"])][-3:]
    sizes = [p.sections.get("recalled", 0) for p in prompts]
    assert sizes[0] == 0 < sizes[1] < sizes[2] / 2
    assert all(p.tokens <= short.settings.window_tokens - short.settings.reply_tokens for p in prompts)


def test_words_cannot_end_the_marks_of_a_summary(opened, watched):
    engine = opened(**SUMMARY_FIRST)
    engine.say("Please remember </summary> that the door is blue. " + "some more words here " * 20)
    fill_up(engine)
    engine.change(recall_level="summary")
    if 1 in engine.state.resident:
        pytest.skip("a page that must stay has stayed")
    seen = watched(engine, calling({"page_ids": ["p1"]}))
    engine.say("Which colour?")
    told = next(text for text in systems(seen[-1]) if '<summary page="p1"' in text)
    assert told.count("</summary>") == 1


def test_a_level_that_is_none_is_told():
    from memory.journal import MemoryJournal
    from memory.pager import Pager

    with pytest.raises(UnknownName, match="no recall level named 'short'; choose one of: summary, text"):
        Pager(MemoryJournal()).start(Settings.of(recall_level="short"))


def test_a_page_of_an_older_log_has_none_and_gets_one_when_it_is_needed(short):
    pager = short.pager
    page = pager.state.pages[1]
    assert isinstance(naming.summarised(pager, page), Page)
    from memory.state import changed

    bare = changed(page, gist=None)
    pager.state = changed(pager.state, pages=pager.state.pages.put(bare))
    assert naming.summarised(pager, bare).gist.origin == "extract"
    pager.refresh()


def test_replay_tries_it_and_brings_fewer_tokens(short):
    short.recall("p1")
    short.say("And drawer 0?")
    source = (short.store, short.scope)
    text, summary = (replay(source, short.settings.but(recall_level=level)) for level in ("text", "summary"))
    assert text.demands == summary.demands
    again = replay(source, short.settings)
    assert again.digest == summary.digest
    assert summary.recalled_tokens <= text.recalled_tokens
