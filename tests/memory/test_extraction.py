import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.attributes import ATTRIBUTES, attribute_of, is_single
from memory.errors import BadMessage
from memory.extraction import ENTRY_TOKENS, candidates, own_words
from memory.facts import KINDS, LAYERS
from memory.tokens import count

AT = datetime(2026, 3, 2, 9, 0, tzinfo=ZoneInfo("Europe/Berlin"))


def drawn(text, role="user", before="", said_at=AT):
    return candidates(text, role=role, speaker="Ana", said_at=said_at, before=before)[0]


def keys(text, **given):
    """(subject, attribute, value), with "not" before a value that does not hold."""
    return [(c.subject, c.attribute, f"not {c.value}".strip() if c.negated else c.value) for c in drawn(text, **given)]


def why_not(text, role="user"):
    found, reason = candidates(text, role=role, speaker="Ana", said_at=AT)
    assert found == []
    return reason


# ── what is kept ──────────────────────────────────────────────────────────────────────────────────────

SAID = [
    ("My name is Leo.", [("user", "name", "Leo")]),
    ("Good morning! I'm Ana.", [("user", "name", "Ana")]),
    ("You can call me Lee.", [("user", "nickname", "Lee")]),
    ("I'm 28 years old and I live in Rome.", [("user", "age", "28"), ("user", "home city", "Rome")]),
    ("I moved from Lyon to Rome last year.", [("user", "home city", "not Lyon"), ("user", "home city", "Rome")]),
    ("I work as a nurse.", [("user", "job", "nurse")]),
    ("I'm a software engineer at Acme.", [("user", "job", "software engineer")]),
    ("I work at Acme.", [("user", "employer", "Acme")]),
    ("My sister Mia has a dog called Rex.", [("user", "sister", "Mia"), ("Mia", "dog", "Rex")]),
    ("My brother lives in Rome.", [("user's brother", "home city", "Rome")]),
    ("I am allergic to peanuts and shellfish.", [("user", "allergy", "peanuts"), ("user", "allergy", "shellfish")]),
    ("My birthday is 3 May.", [("user", "birthday", "3 May")]),
    ("My budget is 5,000 euros.", [("user", "budget", "5,000 euros")]),
    ("My phone number is 0171 3920042.", [("user", "phone number", "0171 3920042")]),
    ("We have a cat named Miso.", [("user", "cat", "Miso")]),
    ("I love jazz and green tea.", [("user", "likes", "jazz"), ("user", "likes", "green tea")]),
    ("I can't stand coriander.", [("user", "likes", "not coriander")]),
    ("I don't eat meat.", [("user", "eats", "not meat")]),
    ("My favorite color is blue.", [("user", "favourite colour", "blue")]),
    ("I'm vegetarian.", [("user", "diet", "vegetarian")]),
    ("brief replies, please", [("user", "reply style", "brief")]),
    ("I need very detailed reports now.", [("user", "reply style", "very detailed")]),
    ("Let's go with the blue one.", [("user", "", "")]),
    ("I've finished the tax letter.", [("tax letter", "progress", "finished")]),
    ("The report is due on Friday.", [("report", "deadline", "Friday")]),
    ("我叫林晓，今年28岁，在成都做平面设计。",
     [("user", "name", "林晓"), ("user", "age", "28"), ("user", "job", "平面设计")]),
    ("我住在上海。", [("user", "home city", "上海")]),
    ("我搬到了成都。", [("user", "home city", "成都")]),
    ("我是一名护士。", [("user", "job", "护士")]),
    ("我妹妹林月住在上海，她喜欢跳舞。",
     [("user", "sister", "林月"), ("林月", "home city", "上海"), ("林月", "likes", "跳舞")]),
    ("我哥哥住在罗马。", [("user's brother", "home city", "罗马")]),
    ("我对花生和虾过敏。", [("user", "allergy", "花生"), ("user", "allergy", "虾")]),
    ("我的生日是5月3日。", [("user", "birthday", "5月3日")]),
    ("预算是5000元。", [("user", "budget", "5000元")]),
    ("我的电话是13812345678。", [("user", "phone number", "13812345678")]),
    ("我家猫叫团子，三岁。", [("user", "cat", "团子"), ("user's cat", "age", "三")]),
    ("我喜欢爵士乐和绿茶，讨厌香菜。",
     [("user", "likes", "爵士乐"), ("user", "likes", "绿茶"), ("user", "likes", "not 香菜")]),
    ("我不吃辣。", [("user", "eats", "not 辣")]),
    ("我最喜欢的颜色是蓝色。", [("user", "favourite colour", "蓝色")]),
    ("请回答简短一点。", [("user", "reply style", "brief")]),
    ("从今天起我需要非常详细的报告。", [("user", "reply style", "very detailed")]),
    ("我们决定选玉林。", [("user", "", "")]),
    ("周报要在周五之前交。", [("周报", "deadline", "周五")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SAID, ids=[text for text, _ in SAID])
def test_what_people_say_about_themselves_is_kept(text, expected):
    assert keys(text) == expected


VALUES = [  # a value is whole, and reads right after "likes", "owns", "is learning"
    ("I'm lactose intolerant.", [("user", "intolerance", "lactose")]),
    ("I have a gluten intolerance.", [("user", "intolerance", "gluten")]),
    ("我乳糖不耐受。", [("user", "intolerance", "乳糖")]),
    ("I love to relax on the sofa.", [("user", "likes", "to relax on the sofa")]),
    ("I like to read, swim and cook.",
     [("user", "likes", "to read"), ("user", "likes", "to swim"), ("user", "likes", "to cook")]),
    ("I like to listen to classical music, read books and travel.",
     [("user", "likes", "to listen to classical music"), ("user", "likes", "to read books"),
      ("user", "likes", "to travel")]),
    ("I like to create poems and short stories.", [("user", "likes", "to create poems and short stories")]),
    ("I'm learning how to market myself and boost my brand.",
     [("user", "learning", "to market myself and boost my brand")]),
    ("I enjoy curling up with a good book.", [("user", "likes", "curling up with a good book")]),
    ("I enjoy spending time with my family.", [("user", "likes", "spending time with my family")]),
    ("I like coffee with a bit of milk.", [("user", "likes", "coffee")]),
    ("I'm passionate about creating a safe, inviting place.",
     [("user", "likes", "creating a safe, inviting place")]),
    ("I love making new and powerful models.", [("user", "likes", "making new and powerful models")]),
    ("I love listening to old records, watching art films, writing long letters, tasting tea, and collecting things.",
     [("user", "likes", v) for v in ("listening to old records", "watching art films", "writing long letters",
                                     "tasting tea", "collecting things")]),
    ("I like bands like AC/DC.", [("user", "likes", "bands like AC/DC")]),
    ("I like tea/coffee.", [("user", "likes", "tea"), ("user", "likes", "coffee")]),
    ("I'm an assistant manager.", [("user", "job", "assistant manager")]),
    ("I bought a metal detector and walk along the beach.", [("user", "owns", "a metal detector")]),
    ('I bought a book called "Emotional Intelligence".', [("user", "owns", 'a book called "Emotional Intelligence"')]),
    ("I finished up with the report.", [("report", "progress", "finished")]),
    ("My favorite is Hawaiian pizza.", [("user", "likes", "Hawaiian pizza")]),
    ("My favorite music genres are rock and pop.",
     [("user", "favourite music genres", "rock"), ("user", "favourite music genres", "pop")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), VALUES, ids=[text for text, _ in VALUES])
def test_a_value_is_whole_and_reads_by_itself(text, expected):
    assert keys(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I love the color and texture.",
        "I love making this chocolate cake.",
        "I love escaping to that world.",
        "I love seeing them eat fruit.",
        "I like having some of these around.",
        "They accept and love me.",
        "It brought hope, energy and love everywhere.",
        "After all, love is a two-way street.",
        "I'm learning a ton.",
        "I'm even learning with them!",
        "I've been studying real hard.",
        "I've finished few days ago.",
        "The tournament is on again and it's INTENSE!",
        "You got this! Remember that anything is possible with hard work.",
        "Don't forget it's about feeling good, too.",
        "昨天我学了一道新的菜，叫做清蒸鲈鱼。",
    ],
)
def test_what_points_at_something_or_cheers_up_is_no_fact(text):
    assert drawn(text) == []


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("I'm lactose intolerant.", "The user is lactose intolerant."),
        ("I used to have a dog.", "The user has no dog."),
        ("我对麸质不耐受。", "用户对麸质不耐受。"),
        ("My favourite colours are blue and green.", "The user's favourite colours: blue."),
    ],
)
def test_an_entry_reads_as_a_sentence(text, entry):
    assert drawn(text)[0].text == entry


PAIRS = [
    ("My name is Leo", "我的名字是小李"), ("My budget is 8000", "我的预算是八千"), ("I live in Rome", "我住在罗马"),
    ("I love jazz", "我爱听爵士乐"), ("I'm allergic to nuts", "我对坚果过敏"),
    ("brief replies, please", "请回答简短一点"),
    ("My birthday is 3 May", "我的生日是5月3日"), ("Move the weekly report to Tuesday", "把周报改到周二"),
    ("My wife is called Mia", "我妻子叫米娅"), ("My email is a@b.org", "我的邮箱是a@b.org"),
]  # fmt: skip


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_both_languages_meet_under_one_attribute(english, chinese):
    assert drawn(english)[0].attribute == drawn(chinese)[-1].attribute


def test_love_and_hate_meet_under_one_attribute():
    love, hate = drawn("I love Chinese food.")[0], drawn("I hate Chinese food.")[0]
    assert (love.subject, love.attribute, love.value) == (hate.subject, hate.attribute, hate.value)
    assert (love.negated, hate.negated) == (False, True)


CORRECTIONS = [
    ("I no longer live in Lyon.", [("user", "home city", "not Lyon")]),
    ("I don't live in Lyon any more.", [("user", "home city", "not Lyon")]),
    ("Actually, my budget is 8000.", [("user", "budget", "8000")]),
    ("My budget is not 5000 but 8000.", [("user", "budget", "8000")]),
    ("预算不是5000，是8000。", [("user", "budget", "not 5000"), ("user", "budget", "8000")]),
    ("New moving budget, please note: not five, it should be 8000 euros.", [("user", "moving budget", "8000 euros")]),
    ("My moving day is Saturday 25 April instead of 18 April.", [("user", "moving day", "Saturday 25 April")]),
    ("I gave up coffee.", [("user", "drinks", "not coffee")]),
    ("Please move the weekly report to Tuesday.", [("user", "weekly report", "Tuesday")]),
    ("No weekly report any more, please.", [("user", "weekly report", "not")]),
    ("我不再住在里昂了。", [("user", "home city", "not 里昂")]),
    ("预算改成8000元。", [("user", "budget", "8000元")]),
    ("把预算改成8000元。", [("user", "budget", "8000元")]),
    ("请把我的预算改到8000元。", [("user", "budget", "8000元")]),
    ("预算变了：不是二十万，改成三十二万。", [("user", "budget", "三十二万")]),
    ("我不喝咖啡了。", [("user", "drinks", "not 咖啡")]),
    ("周报改到周二。", [("user", "weekly report", "周二")]),
    ("以后不要再发周报了。", [("user", "weekly report", "not")]),
]


@pytest.mark.parametrize(("text", "expected"), CORRECTIONS, ids=[text for text, _ in CORRECTIONS])
def test_a_correction_says_so(text, expected):
    assert keys(text) == expected
    assert {c.origin for c in drawn(text)} == {"correction"}


def test_it_should_be_finds_its_noun_in_what_the_assistant_said():
    told = drawn("No, it should be 8000.", before="Your budget is 5000 euros, so there is room.")
    assert [(c.attribute, c.value, c.origin) for c in told] == [("budget", "8000", "correction")]


def test_it_should_be_without_a_noun_is_kept_in_words():
    (told,) = drawn("Actually, it should be 8000.")
    assert (told.attribute, told.origin) == ("", "correction")


@pytest.mark.parametrize(
    ("before", "answer", "expected"),
    [
        ("What is your budget?", "8000 euros", ("budget", "8000 euros")),
        ("And where do you live?", "In Rome.", ("home city", "Rome")),
        ("你的预算是多少？", "八千元", ("budget", "八千元")),
        ("你今年多大？", "28", ("age", "28")),
    ],
)
def test_a_bare_answer_belongs_to_what_was_asked(before, answer, expected):
    (told,) = drawn(answer, before=before)
    assert (told.attribute, told.value) == expected


def test_what_is_to_be_remembered_weighs_most():
    (told,) = drawn("Please remember this one, it's serious: I am allergic to peanuts.")
    assert (told.value, told.importance) == ("peanuts", 1.0)
    (told,) = drawn("Remember that the key is under the third flower pot.")
    assert (told.attribute, told.importance) == ("", 1.0)
    assert "third flower pot" in told.text
    (told,) = drawn("请记住钥匙在第三个花盆下面。")
    assert told.importance == 1.0


def test_a_statement_about_the_world_has_its_own_subject():
    assert keys("The author of Our Mutual Friend is Charles Dickens.") == [
        ("Our Mutual Friend", "author", "Charles Dickens")
    ]
    assert keys("法国的首都是巴黎。") == [("法国", "capital", "巴黎")]
    assert keys("Paris is the capital of France.") == [("France", "capital", "Paris")]


# ── what is not ───────────────────────────────────────────────────────────────────────────────────────

NOTHING = [
    ("Thanks a lot!", "small talk"),
    ("好的，谢谢你！", "small talk"),
    ("What is my name?", "a question"),
    ("Do you remember where I live?", "a question"),
    ("I don't like comedy movies, right?", "a question"),
    ("你还记得我叫什么吗？", "a question"),
    ("我不喜欢看喜剧片，对吗？", "a question"),
    ("If I moved to Rome, I would need a flat.", "a hypothetical"),
    ("如果我搬到上海，我会养猫。", "a hypothetical"),
    ("I'm tired today.", "a passing state"),
    ("今天好累。", "no fact"),
    ("My head is spinning.", "no fact"),
    ("I like that.", "no fact"),
    ("I love the plot.", "no fact"),
    ("Your love for games is incredible.", "no fact"),
    ("Don't forget to enjoy the process!", "no fact"),
    ("And remember, you got this.", "no fact"),
    ("Yeah, let's do it!", "no fact"),
    ("", "no words"),
    ("<recalled page=\"p3\">My name is Bob.</recalled>", "injected text"),
    ("You said: “My budget is 5000”.", "injected text"),
    ("你说过（第3轮）：“我叫王芳”。", "injected text"),
    ("> My name is Bob", "injected text"),
    ("Tom said \"I love jazz\".", "no fact"),
    ("She told me I live in Rome.", "somebody else's words"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), NOTHING, ids=[text for text, _ in NOTHING])
def test_nothing_is_kept_and_the_reason_said(text, reason):
    assert why_not(text) == reason


@pytest.mark.parametrize(("role", "reason"), [("assistant", "by the assistant"), ("system", "from the system")])
def test_only_people_speak_about_themselves(role, reason):
    assert why_not("My name is Bob and I love jazz.", role=role) == reason


def test_a_tool_states_the_world_but_nothing_about_the_user():
    assert keys("The capital of Ireland is Dublin.\nI live in Rome.", role="tool") == [("Ireland", "capital", "Dublin")]


def test_what_was_injected_leaves_the_rest_in_its_place():
    text = 'Noted: I live in Rome.\nMy name is Ana. <recalled page="p1">My name is Bob</recalled>'
    (told,) = drawn(text)
    assert (told.value, text[told.start : told.end]) == ("Ana", "My name is Ana")
    assert len(own_words(text)) == len(text)


@pytest.mark.parametrize(("text", "value"), [("____ My name is Ana. _______", "Ana"), ("_____我叫小明。___", "小明")])
def test_what_was_erased_leaves_the_rest_in_its_place(text, value):
    (told,) = drawn(text)
    assert told.value == value
    assert value in text[told.start : told.end]
    assert len(own_words(text)) == len(text)
    assert own_words("a snake_case_name and __init__") == "a snake_case_name and __init__"


def test_before_a_question_statements_still_count():
    assert keys("I live in Rome, do you know a good restaurant?") == [("user", "home city", "Rome")]
    assert keys("我住在上海，有什么好玩的地方吗？") == [("user", "home city", "上海")]


# ── how it is kept ────────────────────────────────────────────────────────────────────────────────────


def test_an_entry_reads_by_itself_in_the_language_of_the_turn():
    assert drawn("My budget is 8,000 euros.")[0].text == "The user's budget is 8,000 euros."
    assert drawn("我的预算是八千元。")[0].text == "用户的预算是八千元。"
    assert drawn("The report is due on Friday.")[0].text == "Report's deadline is Friday (2026-03-06)."


def test_layers_follow_kinds():
    layers = {
        t: drawn(t)[0].layer for t in ("I love jazz.", "We booked a table at Luigi's.", "I've finished the letter.")
    }
    assert list(layers.values()) == ["semantic", "episodic", "working"]


@pytest.mark.parametrize(
    ("zone", "since"),
    [
        ("Asia/Shanghai", datetime(2026, 2, 28, 16, tzinfo=UTC)),
        ("US/Pacific", datetime(2026, 3, 1, 8, tzinfo=UTC)),
        ("UTC", datetime(2026, 3, 1, tzinfo=UTC)),
    ],
)
def test_it_holds_since_midnight_where_the_speaker_is(zone, since, monkeypatch):
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    said_at = datetime(2026, 3, 20, 9, 0, tzinfo=ZoneInfo(zone))
    try:
        assert drawn("I have worked at Acme since March.", said_at=said_at)[0].valid_from == since
        assert drawn("从三月起我在阿里上班。", said_at=said_at)[0].valid_from == since
    finally:
        monkeypatch.undo()
        time.tzset()


def test_one_value_at_a_time_or_many():
    assert {a for a in ("budget", "home city", "reply style", "name") if not is_single(a)} == set()
    assert {a for a in ("likes", "allergy", "sister", "hobby", "bank cards") if is_single(a)} == set()


def test_every_noun_leads_to_one_attribute_which_leads_to_itself():
    assert all(attribute_of(attribute) == attribute for attribute in set(ATTRIBUTES.values()))


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(BadMessage, match="no zone"):
        drawn("I live in Rome.", said_at=datetime(2026, 3, 2))  # noqa: DTZ001 - what is refused


PROMPTS = st.sampled_from([*(text for text, _ in SAID), *(text for text, _ in NOTHING)])


@given(st.lists(st.one_of(PROMPTS, st.text(max_size=40)), max_size=4).map(" ".join), st.text(max_size=30))
def test_whatever_is_said_each_entry_points_at_its_words(text, before):
    found, reason = candidates(text, role="user", speaker="Ana", said_at=AT, before=before)
    assert found or reason
    for each in found:
        assert 0 <= each.start < each.end <= len(text)
        assert each.kind in KINDS
        assert each.layer in LAYERS
        assert 0 <= each.importance <= 1
        assert count(each.text) <= ENTRY_TOKENS + 10


HOSTILE = [
    "I like ", "I like x.\n", "我喜欢x。", "my my my ", '"said ', "<recalled ", "a", ", and I ", "1 May ", "我的",
    "\n> ",
    "You said: ", "``` ", "my a b c is is is. ", "I am allergic to ", "请记住", "not but ", "‘“", "remember ",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_million_hostile_characters_take_no_second(unit):
    drawn("I like tea. 我喜欢茶。")
    began = time.process_time()
    found, reason = candidates((unit * 1_000_000)[:1_000_000], role="user", speaker="x", said_at=AT)
    assert time.process_time() - began < 1.5  # of a busy machine
    assert "only the first" in reason or reason == "injected text", found


CITY = [
    ("I have to move to Lyon from Paris in May.", "Paris"),
    ("We're moving from Paris to Lyon next month.", "Paris"),
    ("On Tuesday I moved to Porto, and nothing broke.", "Porto"),
    ("I live in a small flat in Leeds with my cat.", "Leeds"),
    ("I'm based in Lisbon.", "Lisbon"),
    ("I live in the attic.", ""),
    ("I live in a house with a garden.", ""),
    ("I'm not moving from Paris.", ""),
    ("我去年从北京搬到了上海。", "上海"),
    ("我准备从北京搬去深圳。", "北京"),
    ("我打算搬到深圳。", ""),
    ("我住在三楼。", ""),
    ("我住在公司宿舍。", ""),
]


@pytest.mark.parametrize(("said", "city"), CITY)
def test_a_city_is_where_somebody_lives_now_and_no_floor_and_no_plan(said, city):
    found, _ = candidates(said, role="user", speaker="Ana", said_at=AT)
    assert [each.value for each in found if each.attribute == "home city"] == ([city] if city else [])


def test_the_time_of_a_move_ahead_says_nothing_of_where_somebody_lives_now():
    [leaving], _ = candidates("I'm moving from Paris to Lyon in May.", role="user", speaker="Ana", said_at=AT)
    assert (leaving.value, leaving.valid_from, leaving.valid_to) == ("Paris", None, None)


@pytest.mark.parametrize(
    ("said", "values"),
    [
        ("I'm allergic to peanuts, remember.", ["peanuts"]),
        ("I like jazz, blues and rock, honestly.", ["jazz", "blues", "rock"]),
        ("I drink tea for good.", ["tea"]),
        ("I will study and practice well.", []),
        ("I accepted a job at Siemens on Friday.", ["Siemens"]),
        ("我以为你会记得复查的日子呢。", []),
    ],
)
def test_what_is_said_by_the_way_is_no_part_of_a_value(said, values):
    found, _ = candidates(said, role="user", speaker="Ana", said_at=AT)
    assert [each.value for each in found] == values


# ── as people type ────────────────────────────────────────────────────────────────────────────────────

TYPED = [
    ("i live in berlin", [("home city", "berlin")]),
    ("i'm from lisbon, and i speak french", [("hometown", "lisbon"), ("speaks", "french")]),
    ("i live in new york city", [("home city", "new york city")]),
    ("i work at siemens", [("employer", "siemens")]),
    ("my birthday is may 3", [("birthday", "may 3")]),
    ("my cat is called miso", [("cat", "miso")]),
    ("call me max", [("nickname", "max")]),
    ("I LIVE IN BERLIN AND HATE MUSHROOMS", [("home city", "BERLIN"), ("likes", "not MUSHROOMS")]),
    ("im allergic to nuts", [("allergy", "nuts")]),
    ("my brother tom lives in leeds", [("brother", "tom"), ("home city", "leeds")]),
    ("my aunt sally loves jazz", [("aunt", "sally"), ("likes", "jazz")]),
    ("my sister usually lives in leeds", [("home city", "leeds")]),
    ("my brother who lives in leeds is a nurse", []),
    ("my budget tom is 3", [("budget tom", "3")]),
    ("I dont eat pork.", [("eats", "not pork")]),
    ("Ive moved to Lyon.", [("home city", "Lyon")]),
    ("i live in fear", []),
    ("i live in a small flat", []),
    ("i work at night", []),
    ("i'm from here", []),
    ("i may move to rome", []),
    ("We were in Rome.", []),
    ("I own a FRITZ!Box 7590.", [("owns", "a FRITZ!Box 7590")]),
    ("You own a FRITZ!Box 7590.", []),
    ("I work at Booking.com.", [("employer", "Booking.com")]),
    ("My sister's name is Mia.", [("sister", "Mia")]),
    ("My driver's licence is B1072.", [("driver's licence", "B1072")]),
    ("I was born in May.", [("birthday", "May")]),
    ("I was born in Porto.", [("place of birth", "Porto")]),
]


@pytest.mark.parametrize(("said", "expected"), TYPED)
def test_small_letters_left_out_apostrophes_and_marks_inside_names_are_read_as_what_they_are(said, expected):
    assert [(attribute, value) for _, attribute, value in keys(said)] == expected


TRADITIONAL = [
    ("我住在台北，喜歡爬山。", "我住在台北，喜欢爬山。"),
    ("我對花生過敏", "我对花生过敏"),
    ("我的預算改成9000", "我的预算改成9000"),
    ("我養了一隻貓叫咪咪", "我养了一只猫叫咪咪"),
    ("請用簡短的回答", "请用简短的回答"),
    ("以後不要再給我發週報", "以后不要再给我发周报"),
    ("我喜歡吃壽司嗎？", "我喜欢吃寿司吗？"),
    ("謝謝", "谢谢"),
]


EVERYDAY = [
    ("I live in Leeds no longer.", [("user", "home city", "not Leeds")]),
    ("I don't live in Leeds anymore, I'm in Bradford now.",
     [("user", "home city", "not Leeds"), ("user", "home city", "Bradford")]),
    ("I used to work at Acme, now I'm at Globex.", [("user", "employer", "not Acme"), ("user", "employer", "Globex")]),
    ("I left Acme and joined Globex.", [("user", "employer", "not Acme"), ("user", "employer", "Globex")]),
    ("I quit my job at Acme.", [("user", "employer", "not Acme")]),
    ("I started at Globex in May.", [("user", "employer", "Globex")]),
    ("I got promoted to senior engineer.", [("user", "job", "senior engineer")]),
    ("Actually the kitchen budget is 15k now.", [("user", "kitchen budget", "15k")]),
    ("My budget for the kitchen is 12,000 pounds.", [("user", "kitchen budget", "12,000 pounds")]),
    ("My budget increased to 9,000.", [("user", "budget", "9,000")]),
    ("Make the budget 9,000.", [("user", "budget", "9,000")]),
    ("The deadline moved to Friday.", [("user", "deadline", "Friday")]),
    ("Turns out I'm not allergic to nuts.", [("user", "allergy", "not nuts")]),
    ("I'm 31 now.", [("user", "age", "31")]),
    ("I turned 30 last week.", [("user", "age", "30")]),
    ("I'm 1.80 m tall.", [("user", "height", "1.80 m")]),
    ("My birthday is on 3 May.", [("user", "birthday", "3 May")]),
    ("My address changed: 14 Oak Road.", [("user", "address", "14 Oak Road")]),
    ("I live at 12 Elm Street.", [("user", "address", "12 Elm Street")]),
    ("I have type 2 diabetes.", [("user", "health", "type 2 diabetes")]),
    ("Kate moved to Leeds.", [("Kate", "home city", "Leeds")]),
    ("Eva can't eat gluten.", [("Eva", "eats", "not gluten")]),
    ("My dog Rex died.", [("user", "dog", "not Rex")]),
    ("我身高一米八。", [("user", "height", "一米八")]),
    ("装修预算现在是6万了。", [("user", "装修预算", "6万")]),
    ("我从阿里跳槽到腾讯了。", [("user", "employer", "腾讯")]),
    ("我会说法语。", [("user", "speaks", "法语")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), EVERYDAY, ids=[text for text, _ in EVERYDAY])
def test_what_changed_is_read_however_people_say_it(text, expected):
    assert sorted(keys(text)) == sorted(expected)


@pytest.mark.parametrize(
    "text",
    [
        "I'm 3.5 hours late.",
        "I'm in Berlin now.",  # on a visit, perhaps
        "We joined Anna for dinner.",
        "I turned 30 pages last night.",
        "I started at Monday's meeting.",
        "The kitchen budget is tight.",
        "我会说服他。",
    ],
)
def test_what_only_looks_like_it_is_no_fact(text):
    assert keys(text) == []


@pytest.mark.parametrize(("traditional", "other"), TRADITIONAL)
def test_traditional_characters_say_what_simplified_ones_say(traditional, other):
    assert keys(traditional) == keys(other)
    assert [c.origin for c in drawn(traditional)] == [c.origin for c in drawn(other)]


def test_what_is_kept_stays_in_the_characters_in_which_it_was_said():
    [employer, decided] = drawn("我在台積電工作。我決定買那間房子。")
    assert (employer.value, employer.text) == ("台積電", "用户在台積電工作。")
    assert decided.text == "用户决定：“我決定買那間房子”。"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("我叫Ana，I am allergic to 花生", [("name", "Ana"), ("allergy", "花生")]),
        ("My 预算 is 8000", [("budget", "8000")]),
        ("I live in 上海.", [("home city", "上海")]),
        ("我的budget是8000", [("budget", "8000")]),
    ],
)
def test_two_languages_in_one_sentence_are_both_read(said, expected):
    assert [(attribute, value) for _, attribute, value in keys(said)] == expected
