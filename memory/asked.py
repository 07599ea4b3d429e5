"""The words with which a question asks for a fact: how much each says, and which attribute they name.

Facts are short, and few tell of one thing: how rare a word is among them says nothing, so it is taken from the
language. A fact is asked for by the names of its attribute and by what people say instead, in English and Chinese
alike: "Where do I live?" finds 用户住在成都. Wordings of relations between others are in asking.py.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memory.attributes import ATTRIBUTES, KIN, PETS
from memory.language import UNKNOWN, is_cjk, terms, zipf

COMMON = 7.0  # zipf of "the": such a word asks for nothing
LIGHT = 0.3  # what it counts all the same, and so does a pair of characters that is no word
_FUNCTION = frozenset("我你您他她它的了吗呢吧啊么什是哪谁几多少在有和")
_GENERIC = frozenset(
    terms("tell know remember recall say said please now again still exactly actually currently anything days")
    + terms("现在 目前 平时 到底 最后 告诉 记得")
)

# How people ask for what an attribute holds, where they do not name it.
ASKED_BY = {
    "home city": "live lives living reside home 住 哪里 城市",
    "name": "called name 叫 名字",
    "age": "old 多大 几岁 岁数",
    "birthday": "born birthday 出生 生日",
    "job": "work job profession do 做什么 工作 职业",
    "employer": "work company employer job 公司 工作",
    "likes": "enjoy enjoys love loves favourite favorite like taste fond hobbies 喜欢 爱好 爱吃 口味",
    "hobby": "hobbies pastime leisure 爱好 兴趣 业余",
    "budget": "spend spending afford 花费 能花 可花",
    "reply style": "answer reply respond detailed 回答 回复 答复 详细",
    "allergy": "allergic allergy allergies eat avoid 过敏 忌口 食物",
    "intolerance": "intolerant tolerate eat avoid food 不耐受 忌口 食物",
    "diet": "eat food diet vegetarian 吃 饮食",
    "eats": "eat food 吃",
    "drinks": "drink 喝 饮料",
    "plays": "play instrument sport 玩",
    "speaks": "speak languages 语言",
    "teacher": "teach taught lessons 教",
    "hometown": "from 来自",
    "salary": "earn 挣 赚",
    "spouse": "married wife husband 结婚",
    "children": "son daughter children kids 孩子",
    "owns": "own 拥有",
    "moving day": "move moving date when 搬家",
    "phone number": "call reach phone 电话 联系",
}
_NOUNS: dict[str, str] = {}
for _noun, _attribute in ATTRIBUTES.items():
    _NOUNS[_attribute] = f"{_NOUNS.get(_attribute, '')} {_noun}"
NAMING = frozenset(terms("name called named 名字"))  # of a sister, a cat: it is what the fact holds
_ASKED_WITH = frozenset(word for asked in ASKED_BY.values() for word in asked.split() if len(word) == 1)
# Of one character, which stands in no pair that is a term: 我的猫. But 家 is in 国家 and 大家, and 叫 is no term.
_ALONE = frozenset(each for each in {*_ASKED_WITH, *ATTRIBUTES} if len(each) == 1 and terms(each)) - {"家"}
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CHINESE_NOUN = re.compile(
    "|".join(sorted((noun for noun in ATTRIBUTES if is_cjk(noun) and len(noun) > 1), key=len, reverse=True))
)


def asked_weights(question: str) -> dict[str, float]:
    """What a question asks for: its terms, the rarer in the language the heavier."""
    weights: dict[str, float] = {}
    for word in _WORD.findall(question.casefold().replace("for a living", "as a job")):
        across = _across_nouns(word) if is_cjk(word) else frozenset()
        for term in terms(word):
            if term in _GENERIC or (is_cjk(term) and _FUNCTION & set(term)):
                continue
            known = zipf(term if is_cjk(term) else word)
            no_word = is_cjk(term) and (known == UNKNOWN or term in across)
            weights[term] = LIGHT if no_word else max(LIGHT, COMMON - known)
    return weights or dict.fromkeys(_ASKED_WITH & set(question), 1.0)  # 我住在哪里 asks with one character


def fact_weights(question: str) -> dict[str, float]:
    """The same with single characters that name what a fact is of: 猫 in 我的猫叫什么."""
    return asked_weights(question) | {each: max(LIGHT, COMMON - zipf(each)) for each in _ALONE.intersection(question)}


def _across_nouns(run: str) -> frozenset[str]:
    """Pairs that only begin or end in the name of an attribute: 哪天开业 asks for 开业, and says nothing of 天开."""
    spans = [m.span() for m in _CHINESE_NOUN.finditer(run)]
    edges = {edge for start, end in spans for edge in (start - 1, end - 1)}
    return frozenset(run[i : i + 2] for i in edges if i >= 0)


@lru_cache(maxsize=4096)
def asked_by(attribute: str) -> str:
    """All that a question may ask for it with: its names, and what people say instead.

    >>> asked_by("cat").split()
    ['cat', 'cat', 'kitten', '猫', '小猫', '猫咪']
    """
    return f"{attribute} {ASKED_BY.get(attribute, '')} {_NOUNS.get(attribute, '')}"


def holds_a_name(attribute: str) -> bool:
    """Whether the value is somebody's name: "What is my sister's name?" asks for the sister."""
    return attribute in KIN | PETS
