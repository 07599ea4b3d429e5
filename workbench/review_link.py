"""Links that let one user, and nobody else, review what is remembered about them.

A token is `<claims>.<seal>`: JSON in URL-safe base64, and HMAC-SHA256 over those very characters under a secret of the
store (`review.key` in its folder, for its owner's eyes only). The seal is compared as it is written, so no second
spelling of a token passes. It says who may look and until when; it is no session, and nothing is kept of it here: who
is looking is in access.py. Without the key every link ends: `renew`.
"""

from __future__ import annotations

import binascii
import hmac
import os
import secrets
import stat
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson

from memory.errors import BadSetting, EngineError, StoreReadOnly
from memory.scope import Scope

KEY_FILE = "review.key"
KEY_BYTES = 32
DAYS = 7.0
MOST_DAYS = 366.0
LONG = 4_000  # characters from which nothing is looked at as a token
PARAMETER = "review"  # of the address
FORM = 1


class LinkRefused(EngineError):
    """`why`: needed (there is no token), forged, foreign (of another store, or of a key that was renewed), expired."""

    def __init__(self, why: str, says: str) -> None:
        super().__init__(says)
        self.why = why


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Who looks: this user's memory and nothing else is to be had, up to this moment."""

    user: str
    until: datetime


# ── the secret ────────────────────────────────────────────────────────────────────────────────────────


def key_of(store: Path) -> bytes:
    """The store's secret; b"" where no link was ever made. Raises BadSetting if others may read it."""
    file = store / KEY_FILE
    try:
        with file.open("rb") as opened:
            mode = stat.S_IMODE(os.fstat(opened.fileno()).st_mode)
            raw = opened.read(4 * KEY_BYTES)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise BadSetting(f"{file} cannot be read ({error.strerror}): it is the secret of the review links") from error
    if os.name != "nt" and mode & 0o077:
        raise BadSetting(
            f"{file} may be read by others (mode {mode:o}): `chmod 600` it, or end every link with "
            "`workbench review-link --end-all`"
        )
    try:
        key = bytes.fromhex(raw.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise BadSetting(
            f"{file} holds no key of {KEY_BYTES} bytes: make another with `workbench review-link --end-all`"
        )
    return key


def make_key(store: Path) -> bytes:
    """The store's secret, made if it has none; whoever comes second takes the first one's."""
    key = key_of(store)
    if not key:
        fresh = _written(store)
        try:
            os.link(fresh, store / KEY_FILE)  # whole or not at all, and never over another one
        except FileExistsError:
            pass
        finally:
            fresh.unlink(missing_ok=True)
        key = key_of(store)
    return key


def renew(store: Path) -> None:
    """Another secret: every link given out so far ends."""
    _written(store).replace(store / KEY_FILE)


def _written(store: Path) -> Path:
    file = store / f".{KEY_FILE}.{secrets.token_hex(8)}"
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as opened:
            opened.write(secrets.token_hex(KEY_BYTES) + "\n")
            opened.flush()
            os.fsync(opened.fileno())
    except OSError as error:
        raise StoreReadOnly(
            f"cannot write in {store} ({error.strerror}): the key of review links lies there"
        ) from error
    return file


# ── tokens ────────────────────────────────────────────────────────────────────────────────────────────


def sign(user: str, key: bytes, *, now: datetime, days: float = DAYS) -> str:
    """A token for this user. Raises BadSetting for a user without a name or a time that is none."""
    Scope.own(user)
    if not 0 < days <= MOST_DAYS:  # also refuses nan
        raise BadSetting(f"a review link lasts more than 0 and at most {MOST_DAYS:g} days, not {days:g}")
    if len(key) != KEY_BYTES:
        raise BadSetting(f"a key has {KEY_BYTES} bytes, not {len(key)}")
    until = int((now.astimezone(UTC) + timedelta(days=days)).timestamp())
    claims = {"form": FORM, "key": _name(key), "until": until, "user": user}
    body = urlsafe_b64encode(orjson.dumps(claims)).decode().rstrip("=")
    return f"{body}.{_seal(body, key)}"


def opened(token: str, key: bytes, *, now: datetime) -> Reviewer:
    """Whom a token lets in. Raises LinkRefused; nothing that an unsealed token says is believed."""
    body, _, seal = token.partition(".")
    claims = _claims(body) if len(token) <= LONG and token.isascii() else {}
    if claims and (not key or claims.get("key") != _name(key)):  # without a key nothing was ever sealed
        raise LinkRefused("foreign", "this link was made for another store, or was ended: ask for a new one")
    if not claims or not key or not hmac.compare_digest(seal.encode(), _seal(body, key).encode()):
        raise LinkRefused("forged", "this link is not whole: open it as you got it, to the last character")
    until = datetime.fromtimestamp(claims["until"], UTC)
    if now >= until:
        raise LinkRefused("expired", f"this link was good until {until:%Y-%m-%d %H:%M} UTC: ask for a new one")
    return Reviewer(claims["user"], until)


def _seal(body: str, key: bytes) -> str:
    return (
        urlsafe_b64encode(hmac.digest(key, b"memory-workbench review\0" + body.encode(), sha256)).decode().rstrip("=")
    )


def _name(key: bytes) -> str:
    """Tells keys apart and tells nothing about them."""
    return sha256(b"memory-workbench key\0" + key).hexdigest()[:12]


def _claims(body: str) -> dict[str, Any]:
    """What it says of itself; {} where it says nothing that could be read."""
    try:
        claims = orjson.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (ValueError, binascii.Error):
        return {}
    return claims if isinstance(claims, dict) else {}


# ── the link ──────────────────────────────────────────────────────────────────────────────────────────


def link(url: str, token: str) -> str:
    """The address to give away. Raises BadSetting for one that no browser opens."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise BadSetting(f"--url is where the workbench answers, such as http://127.0.0.1:8501, not {url!r}")
    return f"{url.rstrip('/')}/?{urlencode({PARAMETER: token})}"
