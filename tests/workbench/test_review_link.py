"""Review links: whom they let in, until when, and what no change of a single character gets past."""

import stat
from base64 import urlsafe_b64encode
from datetime import timedelta

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadSetting
from memory.journal import utc_now
from workbench.review_link import DAYS, KEY_FILE, LinkRefused, key_of, link, make_key, opened, renew, sign

NOW = utc_now()
KEY = b"k" * 32
TOKEN = sign("ana", KEY, now=NOW)


def test_a_link_lets_its_user_in_until_it_ends():
    who = opened(TOKEN, KEY, now=NOW + timedelta(days=DAYS, seconds=-2))
    assert who.user == "ana"
    with pytest.raises(LinkRefused, match="was good until") as refused:
        opened(TOKEN, KEY, now=NOW + timedelta(days=DAYS, seconds=1))
    assert refused.value.why == "expired"


@given(place=st.integers(0, len(TOKEN) - 1), put=st.characters(codec="ascii"))
def test_another_character_anywhere_is_refused(place: int, put: str):
    changed = TOKEN[:place] + put + TOKEN[place + 1 :]
    if changed != TOKEN:
        with pytest.raises(LinkRefused):
            opened(changed, KEY, now=NOW)


@given(st.text(max_size=200))
def test_what_is_no_token_is_refused_whatever_it_is(text: str):
    with pytest.raises(LinkRefused):
        opened(text, KEY, now=NOW)


def test_claims_without_their_seal_are_not_believed():
    body, _, seal = TOKEN.partition(".")
    claims = {"form": 1, "key": "0" * 12, "until": 2**40, "user": "lin"}
    made_up = urlsafe_b64encode(orjson.dumps(claims)).decode().rstrip("=")
    for token in (body, f"{body}.", f"{made_up}.{seal}", f"{body}.{seal}=", f"{body}.{seal} "):
        with pytest.raises(LinkRefused):
            opened(token, KEY, now=NOW)


def test_a_link_of_another_store_is_refused_and_says_so():
    with pytest.raises(LinkRefused) as refused:
        opened(TOKEN, b"x" * 32, now=NOW)
    assert refused.value.why == "foreign"
    with pytest.raises(LinkRefused):
        opened(TOKEN, b"", now=NOW)  # a store where no link was ever made


def test_the_key_is_its_owner_s_alone_and_another_one_ends_every_link(tmp_path):
    key = make_key(tmp_path)
    assert make_key(tmp_path) == key
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
    token = sign("ana", key, now=NOW)
    renew(tmp_path)
    with pytest.raises(LinkRefused):
        opened(token, key_of(tmp_path), now=NOW)


def test_a_key_that_others_may_read_is_refused(tmp_path):
    make_key(tmp_path)
    (tmp_path / KEY_FILE).chmod(0o644)
    with pytest.raises(BadSetting, match="chmod 600"):
        key_of(tmp_path)


def test_a_damaged_key_is_refused_and_says_how_to_make_another(tmp_path):
    make_key(tmp_path)
    (tmp_path / KEY_FILE).write_text("no key")
    with pytest.raises(BadSetting, match="--end-all"):
        key_of(tmp_path)


@pytest.mark.parametrize("days", [0, -1, 367, float("nan")])
def test_a_link_lasts_some_days_and_no_longer_than_a_year(days: float):
    with pytest.raises(BadSetting, match="days"):
        sign("ana", KEY, now=NOW, days=days)


@pytest.mark.parametrize("url", ["ftp://x", "127.0.0.1:8501", "http://x/?a=b", "http://x/#y", ""])
def test_a_link_begins_with_where_a_browser_goes(url: str):
    with pytest.raises(BadSetting, match="--url"):
        link(url, TOKEN)
