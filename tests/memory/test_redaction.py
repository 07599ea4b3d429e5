import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.redaction import clean, redact

SECRETS = {
    "openai": ("sk-" + "a1B2" * 8, "api key"),
    "openai project": ("sk-proj-" + "a1B2_" * 8, "api key"),
    "anthropic": ("sk-ant-" + "a1B2-" * 8, "api key"),
    "aws": ("AKIA" + "ABCD1234" * 2, "api key"),
    "google": ("AIza" + "a1B2c3d" * 5, "api key"),
    "github": ("ghp_" + "a1B2" * 9, "api key"),
    "github fine-grained": ("github_pat_" + "a1B2_" * 10, "api key"),
    "gitlab": ("glpat-" + "a1B2" * 5, "api key"),
    "slack": ("xoxb-1234567890-abcdef", "api key"),
    "hugging face": ("hf_" + "a1B2" * 8, "api key"),
    "stripe": ("sk_live_" + "a1B2" * 6, "api key"),
    "jwt": ("eyJ" + "a1B2" * 5 + ".eyJ" + "a1B2" * 5 + "." + "a1B2" * 5, "token"),
    "private key": ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "private key"),
    "cut private key": ("-----BEGIN PRIVATE KEY-----\nMIIE", "private key"),
    "card": ("4111 1111 1111 1111", "card number"),
    "card in one": ("5500005555555559", "card number"),
    "card with dashes": ("4111-1111-1111-1111", "card number"),
    "amex": ("3782 822463 10005", "card number"),
}


@pytest.mark.parametrize("around", ["{}", "my key is {}", "KEY={}", "我的密钥是{}，谢谢", "({})", '"{}"', "a\n{}\n"])
@pytest.mark.parametrize(("secret", "sort"), SECRETS.values(), ids=SECRETS)
def test_a_secret_leaves_the_text(secret, sort, around):
    kept, counts = redact(around.format(secret))
    assert secret not in kept
    assert f"[{sort} removed]" in kept
    assert counts == {sort: 1}


@pytest.mark.parametrize("after", [" 12/27", " 123", ",12/27", ", 123", " 2027", ". Thanks", " exp 12/27"])
@pytest.mark.parametrize("before", ["", "Ana,", "card: "])
@pytest.mark.parametrize("number", ["4111 1111 1111 1111", "4111111111111111"])
def test_a_card_number_goes_with_whatever_stands_beside_it(number, before, after):
    kept, counts = redact(before + number + after)
    assert kept == f"{before}[card number removed]{after}"
    assert counts == {"card number": 1}


@pytest.mark.parametrize(
    "text",
    [
        "Order 4111 1111 1111 1112",  # no card: the check digit is wrong
        "1700000000000 ms",
        "0.4111111111111111",
        "4111111111111111.5",
        "call 030 123 456 789",
        "the task-force met; sk-short",
        "2222222222222224444444444444444",
        "0000 0000 0000 0000",
    ],
)
def test_what_is_no_secret_stays(text):
    assert redact(text) == (text, {})


def test_several_secrets_are_counted_by_sort():
    text = " ".join(secret for secret, _ in (SECRETS["openai"], SECRETS["aws"], SECRETS["card"]))
    assert redact(text)[1] == {"api key": 2, "card number": 1}


@given(st.text(max_size=80))
def test_a_text_without_its_secrets_has_none(text):
    kept, _ = redact(text)
    assert redact(kept) == (kept, {})


@pytest.mark.parametrize(
    "text",
    [
        "eyJaaaaaaaaaa-" * 70_000,
        "4111 " * 200_000,
        "-----BEGIN " * 90_000,
        "sk-" * 300_000,
        "1" * 1_000_000,
        "a" * 1_000_000,
    ],
)
def test_a_megabyte_made_to_be_slow_is_not(text):
    began = time.perf_counter()
    redact(text)
    assert time.perf_counter() - began < 10


# ── halves of characters ──────────────────────────────────────────────────────────────────────────────


def test_halves_of_a_character_are_joined_or_replaced():
    assert clean("\ud83d\ude00") == "😀"
    assert clean("a\ud83db") == "a\ufffdb"
    assert clean("\ufeffa\x00b\u202ec") == "\ufeffa\x00b\u202ec"


@given(st.text(st.characters(exclude_categories=[]), max_size=50))
def test_every_cleaned_text_can_be_written(text):
    clean(text).encode()
    assert clean(clean(text)) == clean(text)
