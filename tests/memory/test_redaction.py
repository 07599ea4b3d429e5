import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadSetting
from memory.redaction import SECRETS, SHARED, clean, own_patterns, phones_of, preview, redact, redactor

SECRETS_BY_EXAMPLE = {
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
    "card with dots": ("4111.1111.1111.1111", "card number"),
    "card with hard spaces": ("4111\u00a01111\u00a01111\u00a01111", "card number"),
    "card with hard spaces in JSON": (r"4111\u00a01111\u00a01111\u00a01111", "card number"),
    "aws for a while": ("ASIA" + "ABCD1234" * 2, "api key"),
    "google oauth": ("ya29." + "a1B2" * 10, "api key"),
    "google client": ("GOCSPX-" + "a1B2" * 7, "api key"),
    "github refresh": ("ghr_" + "a1B2" * 9, "api key"),
    "groq": ("gsk_" + "a1B2" * 13, "api key"),
    "xai": ("xai-" + "a1B2" * 20, "api key"),
    "perplexity": ("pplx-" + "a1B2" * 12, "api key"),
    "replicate": ("r8_" + "a1B2" * 9, "api key"),
    "langsmith": ("lsv2_pt_" + "a1b2" * 8 + "_" + "a1b2" * 3, "api key"),
    "slack app": ("xapp-1-A1B2C3-1234567890-" + "a1b2" * 8, "api key"),
    "slack address": ("hooks.slack.com/services/T1B2C3D4/B1B2C3D4/" + "a1B2" * 6, "api key"),
    "stripe test": ("sk_test_" + "a1B2" * 6, "api key"),
    "stripe hook": ("whsec_" + "a1B2" * 8, "api key"),
    "twilio": ("SK" + "a1b2" * 8, "api key"),
    "sendgrid": ("SG." + "a1B2" * 5 + "." + "a1B2" * 10, "api key"),
    "mailgun": ("key-" + "a1b2" * 8, "api key"),
    "npm": ("npm_" + "a1B2" * 9, "api key"),
    "pypi": ("pypi-" + "a1B2" * 12, "api key"),
    "docker": ("dckr_pat_" + "a1B2" * 7, "api key"),
    "digital ocean": ("dop_v1_" + "a1b2" * 16, "api key"),
    "telegram": ("1234567890:AA" + "a1B2c3D4e5F" * 3, "api key"),
    "discord": ("M" + "a1B2" * 6 + ".a1B2c3." + "a1B2" * 8, "api key"),
    "shopify": ("shpat_" + "a1b2" * 8, "api key"),
    "pgp": ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQWG\n-----END PGP PRIVATE KEY BLOCK-----", "private key"),
    "age": ("AGE-SECRET-KEY-1" + "A1B2" * 14, "private key"),
}


@pytest.mark.parametrize("around", ["{}", "my key is {}", "KEY={}", "我的密钥是{}，谢谢", "({})", '"{}"', "a\n{}\n"])
@pytest.mark.parametrize(("secret", "sort"), SECRETS_BY_EXAMPLE.values(), ids=SECRETS_BY_EXAMPLE)
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
        "max_tokens: 1024, token=settings.token, api_key=os.environ['API_KEY']",
        "the password: it is on the wall; the secret: 3 eggs",
        "My password is wrong. My password is too short! The password is case-sensitive, and it was expired.",
        "A password is 12 characters long at least; the password is 8-16 characters.",
        "My PIN is blocked, the PIN is 4 digits, PIN: 12.05.2026, my PIN code is 560001 in Bengaluru? no: 5600012",
        "密码是什么？密码是对的。密码为空。",
        "Social Security is 90 years old; case 110105194912310021",  # the check digit is wrong
        "password = get_secret(1), password: string",
        "http://localhost:8080/@me, git@github.com:org/repo.git, ssh://git@example.org:22/x",
    ],
)
def test_what_is_no_secret_stays(text):
    assert redact(text) == (text, {})


@pytest.mark.parametrize(
    "around",
    [
        "postgres://ana:{}@db.example.org:5432/x",
        "redis://:{}@10.0.0.5/0",
        "see https://ana:{}@example.org, please",
        "DB_PASSWORD={}",
        "x=api_key={}",
        "https://example.org/v1?api_key={}&q=1",
        '{{"client_secret": "{}", "user": "ana"}}',
        r"{{\"password\": \"{}\"}}",
        "AccountKey={};EndpointSuffix=core",
        "AWS_SECRET_ACCESS_KEY = '{}'",
    ],
)
def test_a_password_leaves_the_address_or_the_name_that_it_stands_with(around):
    assert redact(around.format("hunter2hunter2")) == (around.format("[password removed]"), {"password": 1})


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("My password is hunter2.", "My password is [password removed]."),
        ("the wifi password is now blue-kettle-42, ok?", "the wifi password is now [password removed], ok?"),
        ('My passphrase is "swordfish" by the way', 'My passphrase is "[password removed]" by the way'),
        ("The password for the old router was tr0ub4dor!", "The password for the old router was [password removed]!"),
        ("Passwort: geheim99", "Passwort: [password removed]"),
        ("My PIN is 1234, don't tell.", "My PIN is [password removed], don't tell."),
        ("PIN number: 123456", "PIN number: [password removed]"),
        ("我的密码是swordfish。", "我的密码是[password removed]。"),
        ("密码改成了吗？密码：abc123！", "密码改成了吗？密码：[password removed]！"),
    ],
)
def test_a_password_that_is_said_leaves_the_sentence(text, kept):
    assert redact(text) == (kept, {"password": 1})


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("My SSN is 078-05-1120.", "My SSN is [identity number removed]."),
        ("Social Security number: 078 05 1120", "Social Security number: [identity number removed]"),
        ("我的身份证号是11010519491231002X", "我的身份证号是[identity number removed]"),
    ],
)
def test_the_number_of_an_identity_paper_leaves_the_text(text, kept):
    assert redact(text) == (kept, {"identity number": 1})


@pytest.mark.parametrize(
    "around", ["Authorization: Bearer {}", "Authorization: Basic {}", '{{"authorization": "Basic {}"}}']
)
def test_a_header_is_a_token(around):
    assert redact(around.format("YW5hOmh1bnRlcjI0Mmh1bnRlcjI0Mg==")) == (around.format("[token removed]"), {"token": 1})


def test_several_secrets_are_counted_by_sort():
    text = " ".join(
        secret for secret, _ in (SECRETS_BY_EXAMPLE["openai"], SECRETS_BY_EXAMPLE["aws"], SECRETS_BY_EXAMPLE["card"])
    )
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
        "token=" * 150_000,
        ":" * 1_000_000,
        "://a:" * 200_000,
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


# ── for somebody else's eyes ──────────────────────────────────────────────────────────────────────────

PERSONAL = {
    "ana@example.org": "e-mail address",
    "a.b+list@mail.example.co.uk": "e-mail address",
    "+49 30 1234567": "phone number",
    "+1 (555) 123-4567": "phone number",
    "0044 20 7946 0958": "phone number",
    "030 123 456 789": "phone number",
    "(555) 123-4567": "phone number",
    "555-123-4567": "phone number",
    "13812345678": "phone number",
    "138 1234 5678": "phone number",
}


@pytest.mark.parametrize("around", ["{}", "write to {}, please", "我的联系方式是{}。", "<{}>", "{}\n"])
@pytest.mark.parametrize(("words", "sort"), PERSONAL.items())
def test_addresses_and_numbers_leave_what_is_shared_and_stay_in_what_is_kept(words, sort, around):
    text = around.format(words)
    assert redact(text) == (text, {})
    assert redactor(SECRETS, SHARED)(text) == (around.format(f"[{sort} removed]"), {sort: 1})


@pytest.mark.parametrize(
    "text",
    [
        "on 2026-03-02 at 09:30", "the 03.02.2026 or 01/02/2026", "5,000 euros, 1000000 in all", "version 3.11.4",
        "192.168.100.200", "turns 100-200", "p3:p41", "1700000000000 ms", "a@b", "0.25", "f12, p34, t5678", "@ana",
    ],
)  # fmt: skip
def test_figures_are_no_phone_numbers(text):
    assert redactor(SHARED)(text) == (text, {})


@pytest.mark.parametrize("text", ["a" * 200_000 + "@", "a@" + "b." * 100_000, "0 " * 100_000, "+1" * 100_000])
def test_what_is_made_to_be_slow_is_shared_quickly(text):
    began = time.process_time()
    redactor(SHARED)(text)
    assert time.process_time() - began < 5


# ── patterns of one's own ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kept", ["49 30 1234567", "30 1234567", "1234567", "4930-1234567", "+49 30 1234567"])
def test_of_a_number_that_was_said_its_digits_leave_what_is_shared_too(kept: str):
    by = redactor({"phone number": phones_of(["Call me: +49 30 1234567.", "no number"])})
    assert by(f"[p1:call,{kept},budget]") == ("[p1:call,[phone number removed],budget]", {"phone number": 1})
    assert by("1,234,567 euros, 91234567, 30") == ("1,234,567 euros, 91234567, 30", {})


def test_own_patterns_stand_one_a_line():
    sorts = own_patterns("# ours\n\ncustomer number: KD-\\d{6}\nproject: (?i)blue ?bird\n")
    assert redactor(SECRETS, sorts)("KD-123456 asks about Blue Bird, KD-1") == (
        "[customer number removed] asks about [project removed], KD-1",
        {"customer number": 1, "project": 1},
    )


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("customer", "a line is `name: regular expression`"),
        ("name:", "a line is"),
        ("[x]: a", "a line is"),
        ("name: (", "is no regular expression"),
        ("name: a*", "also fits where nothing stands"),
        ("api key: x", "named 'api key' already"),
        ("name: x\nname: b", r"line 2: there is a pattern named 'name' already"),
        ("name: name", r"fits `\[name removed\]`"),
        ("name: " + "x" * 1_001, "1,001 characters; at most 1,000"),
    ],
)
def test_a_bad_pattern_says_what_is_wrong_with_it(line, why):
    with pytest.raises(BadSetting, match=why):
        own_patterns(line)


def test_a_pattern_that_does_not_end_is_stopped_and_the_text_goes_nowhere(monkeypatch):
    monkeypatch.setattr("memory.redaction.TIME_S", 0.1)
    sorts = own_patterns(r"slow: (x+x+)+y")
    assert redactor(sorts)("xxy") == ("[slow removed]", {"slow": 1})
    with pytest.raises(BadSetting, match=r"'slow' does not end within 0\.1 s on a text of 5,000 characters"):
        redactor(sorts)("x" * 5_000)


def test_a_preview_shows_where_and_how_much_and_never_the_whole_secret():
    secret = SECRETS_BY_EXAMPLE["openai"][0]
    text = f"hello\nthe key is {secret}, write to ana@example.org"
    found = preview(text, {**SECRETS, **SHARED})
    assert [(g.sort, g.line) for g in found] == [("api key", 2), ("e-mail address", 2)]
    assert found[0].around == "hello the key is [api key removed], write to [e-mail address rem"
    assert not any(part in repr(found) for part in (secret, secret[:8], "ana@", "example"))


@given(st.text(st.sampled_from("aA1 @.+-()0259:\n电话"), max_size=60))
def test_a_preview_counts_what_goes(text):
    everything = {**SECRETS, **SHARED}
    assert Counter(g.sort for g in preview(text, everything)) == redactor(everything)(text)[1]
