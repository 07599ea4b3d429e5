"""What is taken for a word to the memory, and, as important, what is not."""

import pytest

from memory.people import CORRECT, FORGET, PAUSE, RECALL, REMEMBER, RESUME, UNDO, asked

RECALLS = [
    ("What do you remember?", ""),
    ("what do you remember about me?", ""),
    ("So, what do you still remember about us?", ""),
    ("What do you know about me?", ""),
    ("Please tell me what you remember about me.", ""),
    ("Can you show me everything you know about me?", ""),
    ("What do you remember about the budget?", "the budget"),
    ("what have you stored about me", ""),
    ("What is in your memory?", ""),
    ("Show me your memories about Lisbon", "Lisbon"),
    ("what do u remember about me", ""),
    ("What have you got on me?", ""),
    ("Do you remember anything about me?", ""),
    ("Show me my facts", ""),
    ("Which things about me have you stored?", ""),
    ("What info do you have about me?", ""),
    ("What have you learned about me so far?", ""),
    ("So what do you remember about me by now?", ""),
    ("What do you remember so far?", ""),
    ("What is remembered about me?", ""),
    ("List all facts about me.", ""),
    ("你记得什么？", ""),
    ("你记得哪些关于我的事？", ""),
    ("你记得关于我的事情吗", ""),
    ("你对我了解多少？", ""),
    ("你了解我什么？", ""),
    ("你保存了我的哪些信息？", ""),
    ("告诉我你记得的一切", ""),
    ("把你记得的关于预算的都告诉我", "预算"),
    ("看看你的记忆", ""),
    ("我的记忆有哪些？", ""),
    ("你都记得我什么？", ""),
    ("你还记得关于预算的什么事？", "预算"),
    ("关于预算，你记得什么？", "预算"),
    ("你知道我哪些事情？", ""),
    ("你的记忆里有什么？", ""),
    ("你記得我什麼？", ""),
    ("你記得關於預算的什麼", "預算"),
]
CORRECTIONS = [
    ("That is wrong, it should be 8000.", ("", "8000", "", 0, True)),
    ("That's wrong. It should be 8,000 euros!", ("", "8,000 euros", "", 0, True)),
    ("No, that's not right, it should be Tuesday", ("", "Tuesday", "", 0, True)),
    ("No, it should be 8000", ("", "8000", "", 0, False)),
    ("No, it's 8000, not 5000", ("", "8000", "5000", 0, False)),
    ("No, not 5000, 8000", ("", "8000", "5000", 0, False)),
    ("No, my budget is 8000.", ("budget", "8000", "", 0, False)),
    ("That's wrong, my moving budget is 8000 euros", ("moving budget", "8000 euros", "", 0, True)),
    ("My budget is 8000, not 5000.", ("budget", "8000", "5000", 0, True)),
    ("f3 should be 8000", ("", "8000", "", 3, True)),
    ("f3 is wrong, it should be 8000.", ("", "8000", "", 3, True)),
    ("f12 is wrong", ("", "", "", 12, True)),
    ("thats not right, should be 8000", ("", "8000", "", 0, True)),
    ("You've got it wrong. It should be 8000.", ("", "8000", "", 0, True)),
    ("That's incorrect; the right value is 8000.", ("", "8000", "", 0, True)),
    ("Correction: my budget is 8000.", ("budget", "8000", "", 0, False)),
    ("It's 8000, not 5000.", ("", "8000", "5000", 0, False)),
    ("Actually, it isn't 5000, it's 8000", ("", "8000", "5000", 0, False)),
    ("It is not 5,000 but 8,000.", ("", "8,000", "5,000", 0, False)),
    ("My budget isn't 5000, it's 8000.", ("budget", "8000", "5000", 0, True)),
    ("My budget is not 5,000 but 8,000 euros.", ("budget", "8,000 euros", "5,000", 0, True)),
    ("I said 8000, not 5000.", ("", "8000", "5000", 0, False)),
    ("Sorry, I meant Tuesday.", ("", "Tuesday", "", 0, False)),
    ("change f2 to 8,000 euros", ("", "8,000 euros", "", 2, True)),
    ("f2 should be 8,000 euros, not 5,000", ("", "8,000 euros", "", 2, True)),
    ("不，应该是8000", ("", "8000", "", 0, False)),
    ("你记错了，应该是8000", ("", "8000", "", 0, True)),
    ("我说错了，是8000", ("", "8000", "", 0, False)),
    ("更正：预算是8000", ("预算", "8000", "", 0, False)),
    ("不对，预算应该是8000", ("预算", "8000", "", 0, False)),
    ("预算不对，应该是8000", ("预算", "8000", "", 0, True)),
    ("我的预算不是5000，是8000", ("预算", "8000", "5000", 0, True)),
    ("不是5000而是8000", ("", "8000", "5000", 0, False)),
    ("是8000，不是5000", ("", "8000", "5000", 0, False)),
    ("我说的是8000，不是5000", ("", "8000", "5000", 0, False)),
    ("把f2改成8000", ("", "8000", "", 2, True)),
    ("不对，应该是8000", ("", "8000", "", 0, True)),
    ("错了，应该是8000元。", ("", "8000元", "", 0, True)),
    ("不对，我的预算是8000", ("预算", "8000", "", 0, False)),
    ("不是5000，是8000", ("", "8000", "5000", 0, False)),
    ("f3应该是8000", ("", "8000", "", 3, True)),
]
FORGETTINGS = [
    ("Forget what I said about peanuts.", ("peanuts", 0, True)),
    ("Please forget everything you know about my job", ("my job", 0, True)),
    ("forget about Lisbon", ("Lisbon", 0, False)),
    ("Forget my old address.", ("my old address", 0, False)),
    ("Can you forget that I live in Lyon?", ("I live in Lyon", 0, False)),
    ("forget f7", ("", 7, True)),
    ("Forget fact 7", ("", 7, True)),
    ("Delete f7", ("", 7, True)),
    ("Forget the peanuts, thanks.", ("the peanuts", 0, False)),
    ("You can forget my allergy now.", ("my allergy", 0, False)),
    ("I'd like you to forget my allergy.", ("my allergy", 0, False)),
    ("Remove the peanuts from your memory.", ("the peanuts", 0, True)),
    ("Erase what you know about my job", ("my job", 0, True)),
    ("Wipe your memory", ("everything", 0, True)),
    ("别再记得花生的事", ("花生", 0, True)),
    ("别记我的过敏了", ("过敏", 0, False)),
    ("请删除关于花生的记忆", ("花生", 0, True)),
    ("把花生过敏从你的记忆里删掉", ("花生过敏", 0, True)),
    ("把花生的事忘了", ("花生", 0, False)),
    ("把f7删掉", ("", 7, True)),
    ("清空你的记忆", ("所有", 0, True)),
    ("Forget everything about me", ("me", 0, True)),
    ("请忘掉花生过敏的事", ("花生过敏", 0, False)),
    ("忘掉我说过的关于花生的事。", ("花生", 0, True)),
    ("把我的地址忘了吧", ("地址", 0, False)),
    ("请忘记我的电话号码", ("电话号码", 0, False)),
    ("忘掉f7", ("", 7, True)),
]
REMEMBERINGS = [
    ("Remember that my flight leaves at nine.", "my flight leaves at nine"),
    ("Please remember: the code is 4711", "the code is 4711"),
    ("Don't forget that I am allergic to nuts!", "I am allergic to nuts"),
    ("can you note that we meet on Monday", "we meet on Monday"),
    ("请记住，我对花生过敏。", "我对花生过敏"),
    ("记一下：会议是星期二", "会议是星期二"),
]
NOTHING = [
    "Forget it, let's go on.",
    "Forget it.",
    "forget that",
    "Forget about it!",
    "Don't forget to buy milk.",
    "don't forget the milk",
    "I forgot.",
    "I forgot my password",
    "I forget what I said about the trip",
    "Forget what I just said",
    "Let's forget about the budget for now.",
    "Forget the budget for now, what about the date?",
    "Never forget where you come from",
    "How do people forget things?",
    "Could you forget something if I asked?",
    "How does memory work?",
    "What do people remember about their childhood?",
    "What do you know?",
    "What do you remember from your training?",
    "What do you remember about your training?",
    "Do you remember my name?",
    "Do you remember what I said about the budget?",
    "I remember everything.",
    "Remember that time in Rome?",
    "Remember that time we went to Rome",
    "Remember that?",
    "Remember that epic block in Game 7? That is why I love basketball.",
    "No, not yet. I want to solidify the plan first, though!",
    "Remember to buy milk.",
    "I can't remember that my flight is at nine.",
    "That is wrong.",
    "You are wrong about that, and it should be obvious.",
    "It should be sunny tomorrow.",
    "It is 8000.",
    "My budget is 8000.",
    "No, it is fine.",
    "No, that is too expensive.",
    "No, thanks.",
    "No, my sister is coming too, and she should be there at 9.",
    "Is it wrong that it should be 8000?",
    "The word 'forget' should be banned",
    "Write a poem that begins with: forget me not, and ends with remember me",
    "What do you have?",
    "What have you learned?",
    "What about me?",
    "Show me the facts.",
    "Which facts do you know about Rome?",
    "Tell me things about me time.",
    "Remove the peanuts from the recipe.",
    "Please delete my last paragraph.",
    "Delete everything about peanuts",
    "Clear the table.",
    "It is hot, not cold.",
    "It's not a bug but a feature.",
    "Should be fine.",
    "I said no.",
    "I meant well.",
    "I said 8000.",
    "Change it to 12 points.",
    "Don't you remember? It should be 8 pm.",
    "",
    "   ",
    "删除文件",
    "是我，不是他",
    "不，我不去",
    "这不是我的，是他的",
    "应该是的",
    "我了解你",
    "你记得的事",
    "记忆力怎么提高",
    "别忘了买牛奶",
    "我忘了",
    "我忘了带钥匙",
    "忘了密码怎么办",
    "忘记密码了",
    "忘了说，我明天不在",
    "算了，忘了它吧",
    "忘了吧",
    "你记得我的名字吗？",
    "你记得昨天发生了什么吗？",
    "你知道什么是机器学习吗？",
    "记住了吗？",
    "你记住我说的了吗",
    "记忆是什么？",
    "不对，应该是这样",
    "不是我",
    "应该是8000吧",
    "我的预算是8000",
    "不是的，我没说过",
]  # fmt: skip


@pytest.mark.parametrize(("message", "about"), RECALLS)
def test_asking_what_is_remembered(message, about):
    act = asked(message)
    assert act
    assert (act.kind, act.about) == (RECALL, about)


@pytest.mark.parametrize(("message", "expected"), CORRECTIONS)
def test_correcting(message, expected):
    act = asked(message)
    assert act
    assert (act.kind, act.about, act.value, act.old, act.fact, act.clear) == (CORRECT, *expected)


@pytest.mark.parametrize(("message", "expected"), FORGETTINGS)
def test_forgetting(message, expected):
    act = asked(message)
    assert act
    assert (act.kind, act.about, act.fact, act.clear) == (FORGET, *expected)


@pytest.mark.parametrize(("message", "what"), REMEMBERINGS)
def test_remembering(message, what):
    act = asked(message)
    assert act
    assert (act.kind, act.about) == (REMEMBER, what)


@pytest.mark.parametrize("message", NOTHING)
def test_what_may_be_meant_otherwise_is_no_act(message):
    assert asked(message) is None


@pytest.mark.parametrize(
    ("message", "kind", "change"),
    [
        ("Undo that.", UNDO, 0),
        ("please undo the last change", UNDO, 0),
        ("Take that back, please.", UNDO, 0),
        ("Undo change 5.", UNDO, 5),
        ("撤销刚才的更改。", UNDO, 0),
        ("撤销第5次更改", UNDO, 5),
        ("Stop remembering things.", PAUSE, 0),
        ("Don't remember anything from now on.", PAUSE, 0),
        ("别再记了。", PAUSE, 0),
        ("从现在起，不要再记录任何内容。", PAUSE, 0),
        ("Resume remembering.", RESUME, 0),
        ("You can remember things again.", RESUME, 0),
        ("恢复记忆。", RESUME, 0),
    ],
)
def test_undoing_and_pausing(message, kind, change):
    act = asked(message)
    assert act is not None
    assert (act.kind, act.change) == (kind, change)


@pytest.mark.parametrize(
    "message",
    [
        "Undo the last commit.", "Undo the change in line 5.", "Don't save anything.", "Do not store anything else.",
        "Take the car back.", "Stop reminding me.",
        "I don't remember anything.", "Resume the download.", "撤销订单。", "我别再记错了。", "继续。",
    ],
)  # fmt: skip
def test_what_is_undone_or_resumed_elsewhere_is_no_act(message):
    assert asked(message) is None


def test_what_is_known_of_a_thing_may_be_asked_of_the_model():
    act = asked("What do you know about Python?")
    assert act is not None
    assert (act.kind, act.about, act.clear) == (RECALL, "Python", False)


def test_a_long_message_says_more_than_one_thing():
    assert asked("Forget the peanuts. " + "And another thing. " * 20) is None


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("forget f3 and f4", (3, 4)),
        ("Delete f2, f3 and fact 9", (2, 3, 9)),
        ("忘掉f3和f4", (3, 4)),
        ("把f1、f2删掉", (1, 2)),
    ],
)
def test_several_facts_are_forgotten_by_their_names(message, facts):
    act = asked(message)
    assert act
    assert (act.kind, act.fact, *act.more) == (FORGET, *facts)
