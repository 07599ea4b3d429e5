"""What a Chinese sentence says about its speaker, and about people they name: the forms applied.

The tables are in phrases_chinese.py. A clause without a subject has that of the clause before it, for Chinese drops it:
我叫林晓，在成都做设计，喜欢喝茶 are three facts about one person. It knows no dictionary and cuts no words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memory import phrases_chinese as say
from memory.attributes import KIN, MANY, PETS, USER, attribute_of, known_noun
from memory.extraction_english import Found
from memory.phrases_english import Form

_BUSY = re.compile("思考|考虑|[找换想忙]|努力|认真|处理|准备|(?:一家|这家|某)公司$")
LONGEST = 24  # characters of a value


class Clause(NamedTuple):
    start: int  # in the sentence
    text: str


_NOUN_BEFORE = re.compile(
    "(预算|日期|日子|名字|年龄|地址|电话|手机号|邮箱|价格|房租|月租|押金|截止日期|工资|月薪|生日|婚礼|开业日期|开业|搬家日期|时间|目标|身高|体重|人数)"
)
_SOLID = re.compile(r"[\d〇零一二三四五六七八九十百千万两]|周[一二三四五六日天]|星期|[A-Z]|明天|后天|下周|月底|年底")
# what stands before 是 without being an attribute of anybody
_NO_TOPIC_WORDS = """
    这 那 它 他 她 你 您 我 这个 那个 今天 明天 昨天 现在 原因 问题 结果 重点 关键 主要 感觉 心情 想法 意思 情况
    好处 建议 说法 计划 打算 一个 其中 第一 最近 就 也 还 都 真 总 只 可 不 或 如果 尤其 特别 但 而 要么 无论
    这里 那里 时候 目的 事情
    """
_NO_TOPIC = frozenset(_NO_TOPIC_WORDS.split())
_STYLES = {
    "简": "brief", "短": "brief", "详": "very detailed", "细": "very detailed", "具": "very detailed",
    "长": "very detailed", "正式": "formal", "随意": "informal",
}  # fmt: skip


def find_chinese(sentence: str, earlier: str = "", whose: str = USER) -> tuple[list[Found], str, str]:
    """What the sentence states, why nothing, and whom it spoke of last ("": somebody unknown).

    `whose` is whom the sentence before was about.
    """
    if say.QUESTION_TAG.search(sentence):
        return [], "a question", whose
    clauses = _clauses(sentence)
    stated, asked = _stated(sentence, clauses)
    supposed = next((n for n, each in enumerate(stated) if say.HYPOTHETICAL.search(each.text)), None)
    if supposed is not None:
        stated = stated[:supposed]
        if not stated:
            return [], "a hypothetical", whose
    found: list[Found] = list(_reply_style(sentence)) if not asked or stated else []
    for n, clause in enumerate(stated):
        if (m := say.REPORTED.search(clause.text)) and m.start() <= 4:
            break
        new, whose = _clause(sentence, clause, whose, earlier)
        found += new
        if new and new[-1].attribute == "likes" and not new[-1].negated:
            found += _goes_on(stated[n + 1 :], new[-1])
    return found, "a question" if asked and not found else "", whose


def _goes_on(clauses: list[Clause], last: Found) -> list[Found]:
    """我喜欢唱歌，健身，旅游，电影: a list with commas, of two at least; 特别是爵士乐 goes on alone."""
    if clauses and (m := say.ESPECIALLY.match(clauses[0].text)):
        at = clauses[0].start
        values = _values(m["v"], "likes", "liked")
        return [last._replace(start=at, end=at + m.start("v") + end, value=value) for value, end in values]
    found = []
    for clause in clauses:
        if not _SHORT_NOUN.match(clause.text) or say.SMALL_TALK.match(clause.text):
            break
        end = clause.start + len(clause.text)
        found.append(last._replace(start=clause.start, end=end, value=_bare(clause.text)))
    return found if len(found) > 1 else []


_SHORT_NOUN = re.compile(r"(?![我你他她真很也都还就不对但])[\u4e00-\u9fff]{2,5}$")


def _clauses(sentence: str) -> list[Clause]:
    found, at = [], 0
    for m in say.SPLITS.finditer(sentence):
        found.append(Clause(at, sentence[at : m.start()]))
        at = m.end()
    found.append(Clause(at, sentence[at:].rstrip("。.! ")))
    return [each for each in found if each.text.strip()]


def _stated(sentence: str, clauses: list[Clause]) -> tuple[list[Clause], bool]:
    """The clauses that state; whatever comes with the first that asks is not stated."""
    marked = sentence.rstrip(" ”’」』）)\"'").endswith(("？", "?"))
    for n, clause in enumerate(clauses):
        if say.ASKS.search(clause.text):
            return clauses[:n], True
    return (clauses[:-1], True) if marked else (clauses, False)


def _clause(sentence: str, clause: Clause, whose: str, earlier: str) -> tuple[list[Found], str]:
    text = clause.text
    lead = say.LEAD.match(text)
    start = lead.end() if lead else 0
    found: list[Found] = []
    m = say.SUBJECT.match(text, start)
    at = m.end() if m else start
    if m:
        whose = whose if m["he"] and whose != USER else _whose(m)
        if m["kin"] and m["name"]:
            found.append(Found(0, m.end("name"), attribute_of(m["kin"]), m["name"]))
    owned = bool(m and (m["self"] or m["kin"]))
    if whose:
        found += _first(_predicates(text, at, start, whose), _topics(text, at if owned else start, whose, owned=owned))
    if not found or found[-1].attribute in KIN:
        found += _first(_refused(text, start), _deeds(text, start, sentence) if whose == USER else iter(()))
    rather = "不是" in sentence[: clause.start] and say.RATHER.match(text)  # 不是5000，是8000
    if not found and (changed := say.CHANGED.match(text, start) or rather):
        found += _corrected(changed, f"{earlier}{sentence[: clause.start]}")
    if found and whose == USER:
        whose = _next_subject(found[-1])
    if say.UNSURE.search(text):
        found = [each for each in found if each.kind != "decision" and each.attribute not in ("learning", "owns")]
    return [each._replace(start=each.start + clause.start, end=each.end + clause.start) for each in found], whose


def _next_subject(last: Found) -> str:
    """我家猫叫团子，三岁: what follows is said of the cat; after 定了唐一鸣 of whoever that is."""
    if last.attribute in PETS and last.value:
        return f"user's {last.attribute}"
    if last.attribute in KIN and last.value and last.subject == USER:
        return last.value
    return "" if last.said == "决定" else USER


def _first(*ways: Iterator[Found]) -> list[Found]:
    return next((found for way in ways if (found := list(way))), [])


def _whose(m: re.Match[str]) -> str:
    if m["self"]:
        return USER
    if m["kin"]:
        return m["name"] or f"user's {attribute_of(m['kin'])}"
    return ""


def _predicates(text: str, at: int, start: int, whose: str) -> Iterator[Found]:
    adverbs = say.ADVERBS.match(text, at)
    places = dict.fromkeys((adverbs.end() if adverbs else at, at))
    for form in say.PREDICATES:
        if any(map(text.__contains__, form.hints)):
            for place in places:
                if (m := form.pattern.match(text, place)) and (found := list(_read(form, m, whose, start))):
                    yield from found
                    return


_NO_TOWN = re.compile(
    r"[楼层]$|[一二三四五六七八九十两几\d][个间套栋座层楼室号]|(?:公寓|宿舍|房子|屋子|酒店|宾馆|家|楼)里?$"
)
_OF_A_THING = re.compile(r"(?:^|[^我的名就])叫[做作]")  # 学了一道菜，叫做清蒸鲈鱼: a person is 我叫做
_AHEAD = re.compile("要|得|会|想|打算|准备|计划|将")  # who is to move lives there not yet


def _read(form: Form, m: re.Match[str], whose: str, start: int) -> Iterator[Found]:
    groups = m.groupdict()
    attribute = form.attribute or attribute_of(groups.get("a") or "")
    if groups.get("for") and attribute == "budget":
        attribute = attribute_of(f"{groups['for'].strip('的我')}预算")
    if attribute == "employer" and form.check == "work" and say.CITY.match(m["v"]):
        attribute = "work city"
    if attribute == "name" and whose.startswith("user's "):
        whose, attribute = USER, whose.removeprefix("user's ")  # 我的下属叫李梓轩
    if attribute == "name" and _OF_A_THING.search(m.string, 0, m.start("v")):
        return
    if not attribute or (whose != USER and attribute in KIN):
        return
    if attribute == "home city":
        ahead = not form.now and _AHEAD.search(m.string, start, m.start("v"))
        if ahead or _NO_TOWN.search(m["v"]):
            return
    negated = form.negated != bool(groups.get("neg") or groups.get("neg2"))
    corrects = bool(say.CORRECTS.search(m.string))
    for value, end in _values(m["v"], attribute, form.check):
        yield Found(start, m.start("v") + end, attribute, value, form.kind, whose, negated, corrects, now=form.now)


# ── 我的X是Y ──────────────────────────────────────────────────────────────────────────────────────────


def _topics(text: str, at: int, whose: str, *, owned: bool) -> Iterator[Found]:
    if m := say.BA.match(text, at):
        yield from _moved(m)
    elif m := say.TOPIC.match(text, at):
        yield from _owned(m, whose, owned=owned or bool(m["det"]))


def _owned(m: re.Match[str], whose: str, *, owned: bool) -> Iterator[Found]:
    noun = m["a"].removesuffix("的")
    known = known_noun(noun)
    attribute = attribute_of(noun)
    moved = re.search("改|推|挪|提前|调|涨|降|换|变|加到|提高", m["be"]) is not None
    if noun in _NO_TOPIC or not (
        known or (moved and _SOLID.search(m["v"]) and not _NO_NOUN.search(noun)) or (owned and _solid(m))
    ):
        return
    if attribute in KIN | PETS and (m["be"] not in ("叫", "是叫", "名叫") or whose != USER):
        return
    negated = m["be"] in ("不是", "不再是")
    for value, end in _values(m["v"], attribute, "noun"):
        kind = "preference" if attribute.startswith("favourite") else "fact"
        yield Found(m.start(), m.start("v") + end, attribute, value, kind, whose or USER, negated, moved or negated)


def _solid(m: re.Match[str]) -> bool:
    """我的X是Y with a noun outside the vocabulary: a short noun, and a value of a number, a date or a name."""
    return len(m["a"]) <= 6 and not _NO_NOUN.search(m["a"]) and bool(_SOLID.search(m["v"][:8]) or m["be"] == "叫")


_NO_NOUN = re.compile("[我你他她的了就在把将被用想因看说对有是去来给让做听叫会能到过着没不很但一二三四五六七八九十]")


def _moved(m: re.Match[str]) -> Iterator[Found]:
    noun = m["a"].removesuffix("的")
    if noun in _NO_TOPIC:
        return
    for value, end in _values(m["v"], "", "noun"):
        yield Found(m.start(), m.start("v") + end, attribute_of(noun), value, "decision", corrects=True, single=True)


def _refused(text: str, start: int) -> Iterator[Found]:
    if m := say.REFUSED.match(text, start):
        yield Found(m.start(), m.end(), attribute_of(m["a"]), "", "decision", negated=True, corrects=True, single=True)


def _corrected(m: re.Match[str], earlier: str) -> list[Found]:
    """改成三十二万: of the noun that was spoken of last."""
    nouns = _NOUN_BEFORE.findall(earlier)
    nouns = [noun for noun in nouns if noun not in ("日期", "日子", "时间")] or nouns
    value = _values(m["v"], "", "noun")
    if not nouns or not value or not _SOLID.search(m["v"]):
        return []
    return [
        Found(m.start(), m.start("v") + value[0][1], attribute_of(nouns[-1]), value[0][0], corrects=True, single=True)
    ]


# ── what was done, decided, is still to do ────────────────────────────────────────────────────────────


def _deeds(text: str, start: int, sentence: str) -> Iterator[Found]:
    if (m := say.DUE.match(text, start)) and _SOLID.search(m["v"] or m["v2"] or ""):
        thing, when = m["s"] or m["s2"], m["v"] or m["v2"]
        yield Found(start, m.end(), "deadline", when.strip(), "task", thing.removeprefix("我的").strip())
    elif m := say.BIRTHDAY.search(text):
        yield Found(m.start(), m.end(), "birthday", m["v"])
    elif (m := say.DECIDED.match(text, start)) and m["v"].strip("了 "):
        yield Found(start, m.end(), "", "", "decision", said="决定")
    elif (m := say.DONE.match(text, start)) and (thing := (m["s"] or "") + m["v"]).strip("了 "):
        yield Found(start, m.end(), "progress", "完成", "task", thing.strip("了，。 "), said="已完成")
    elif m := say.TO_DO.match(text, start):
        yield Found(start, m.end(), "progress", "待办", "task", m["v"].strip("。 "), said="待办")


def _reply_style(sentence: str) -> Iterator[Found]:
    told = [m for m in say.REPLY_STYLE.finditer(sentence) if not re.match("作废|不要|取消|了", sentence[m.end() :])]
    if not told or not say.WANTS_STYLE.search(sentence) or re.search("[我他她]$", sentence[: told[-1].start()]):
        return
    m = told[-1]
    words = m["v"] or m["v2"]
    value = next((style for key, style in _STYLES.items() if key in words), words)
    yield Found(m.start(), m.end(), "reply style", value, "preference", corrects=bool(say.CORRECTS.search(sentence)))


# ── values ────────────────────────────────────────────────────────────────────────────────────────────


def _values(raw: str, attribute: str, check: str) -> list[tuple[str, int]]:
    """The value, or the values of a list, each with its end in `raw`; [] where it is none."""
    if attribute not in MANY:
        value = _bare(raw)
        return [(value, len(raw.rstrip("。 ")))] if _fits(value, check) else []
    if raw.startswith("在"):
        return [(_bare(raw), len(raw))] if _fits(_bare(raw), check) else []  # 在海滩、山脉附近拍摄 is one thing
    found, at = [], 0
    for m in (*say.PIECES.finditer(raw), None):
        piece = raw[at : m.start()] if m else raw[at:]
        value = _bare(piece)
        if not _fits(value, check):
            break
        found.append((value, at + len(piece)))
        at = m.end() if m else at
    return found


def _bare(value: str) -> str:
    value = say.TAIL.sub("", value.strip(' “”"「」『』《》（）()。.！!,，'))
    return value.strip(' “”"「」『』《》（）()的') if len(value) > 1 else value


def _fits(value: str, check: str) -> bool:
    if not value or len(value) > LONGEST:
        return False
    if check == "name":
        return value not in say.NOT_NAMES and not re.search("[我你他她了的]", value)
    if check in ("liked", "eaten"):
        return not say.NOT_LIKED.match(value)
    if check == "place":
        return not re.match("[这那它他她我你哪]|一起|一个人", value) and not re.search("怎么|什么", value)
    if check == "date":
        return _SOLID.search(value) is not None
    if check == "work":
        return not re.match("[这那它他她我你哪]|认真|努力|一起", value) and not _BUSY.search(value)
    if check == "learnt":
        return not re.search("技能|知识|一道|新菜|新的菜|[我你]|有些|困难|吃力", value)
    return not re.match("[这那它他她你]", value)
