"""What facts are about: a small vocabulary in English for both languages, and how an entry reads.

"My budget is 8000" and 预算是八千 must meet under one key, so nouns of both languages lead to one attribute. A noun
that stands in no table stays itself, in lower case. Nothing is recognised here; phrases_english.py and
phrases_chinese.py do that.
"""

# ruff: noqa: E501 - a row of the table of nouns is a line
from __future__ import annotations

import re
from functools import cache, lru_cache

from memory.language import HAN, is_cjk, simplified

USER = "user"

# attribute: nouns that name it. The first column is the key; one value at a time unless it stands in MANY.
_NOUNS = """
name: name, full name, real name, 名字, 姓名, 全名, 大名
nickname: nickname, nick name, 小名, 外号, 昵称, 绰号
age: age, 年龄, 年纪, 岁数
birthday: birthday, date of birth, birth date, birthdate, 生日, 出生日期
home city: home city, city, place of residence, residence, 所在城市, 居住地, 家
hometown: hometown, home town, birthplace, 老家, 家乡, 故乡, 籍贯
country: country, nationality, citizenship, 国籍, 祖国
address: address, home address, street address, 地址, 住址, 家庭住址
neighbourhood: neighbourhood, neighborhood, 小区
job: job, occupation, profession, job title, 工作, 职业, 职位, 岗位
employer: employer, company, workplace, firm, 公司, 单位, 雇主, 工作单位
work city: work city, 工作地点, 工作的地方, 上班的地方, 上班地点
school: school, university, college, 学校, 大学, 母校
education: education, degree, 学历, 文凭
major: major, field of study, 专业
salary: salary, income, wage, pay, 工资, 月薪, 薪水, 收入, 年薪
rent: rent, 房租, 租金, 月租
deposit: deposit, 押金
budget: budget, total budget, whole budget, overall budget, 预算, 总预算
phone number: phone number, phone, telephone number, mobile number, cell number, mobile, number to call, 电话, 电话号码, 电话号, 手机号, 手机号码, 联系电话, 联系方式
email: email, e-mail, email address, e-mail address, mail address, 邮箱, 邮箱地址, 电子邮箱, 邮件地址
height: height, 身高, 个子
weight: weight, 体重
blood type: blood type, blood group, 血型
marital status: marital status, 婚姻状况
language: language, native language, mother tongue, first language, 语言, 母语
learning: course
reply style: reply style, answer style, style of replies, 回答风格
diet: diet, 饮食
likes: likes, 爱好对象
prefers: preference
hobby: hobby, hobbies, pastime, pastimes, interest, interests, 爱好, 兴趣, 兴趣爱好, 业余爱好
dream: dream, life goal, 梦想, 理想
goal: goal, target, aim, 目标
allergy: allergy, allergies, food allergy, 过敏, 过敏原, 过敏史
intolerance: intolerance, intolerances, food intolerance, 不耐受
car: car, 车, 汽车, 座驾
phone model: 手机, 手机型号
wi-fi name: wifi name, wi-fi name
deadline: deadline, due date, 截止日期, 截止时间, 期限
moving day: moving day, moving date, move date, day of the move, 搬家日期, 搬家的日子, 搬家时间
moving budget: moving budget, move budget, 搬家预算
wedding date: wedding date, wedding day, wedding, 婚礼日期, 婚礼日子, 婚礼, 婚期
opening date: opening date, opening day, opening, 开业日期, 开业时间, 开业, 开业日子
landlord: landlord, landlady, 房东
boss: boss, manager, supervisor, 老板, 上司, 领导
teacher: teacher, tutor, instructor, 老师, 教练
doctor: doctor, physician, 医生, 大夫
vet: vet, 兽医
colleague: colleague, coworker, co-worker, 同事
friend: friend, best friend, close friend, 朋友, 好朋友, 闺蜜, 好友, 哥们
roommate: roommate, flatmate, housemate, 室友
neighbour: neighbour, neighbor, 邻居
mother: mother, mum, mom, mommy, mummy, 妈妈, 母亲, 妈, 老妈
father: father, dad, daddy, 爸爸, 父亲, 爸, 老爸
parents: parents, 父母, 爸妈
sister: sister, older sister, younger sister, little sister, big sister, elder sister, twin sister, 姐妹, 姐姐, 妹妹, 姐, 妹
brother: brother, older brother, younger brother, little brother, big brother, elder brother, twin brother, 兄弟, 哥哥, 弟弟, 哥, 弟
wife: wife, 妻子, 老婆, 太太, 爱人
husband: husband, 丈夫, 老公, 先生
partner: partner, 伴侣, 对象
girlfriend: girlfriend, 女朋友, 女友
boyfriend: boyfriend, 男朋友, 男友
fiancé: fiancé, fiancée, fiance, fiancee, 未婚妻, 未婚夫
son: son, 儿子
daughter: daughter, 女儿
child: child, kid, children, kids, baby, 孩子, 小孩, 宝宝
grandmother: grandmother, grandma, granny, 祖母, 奶奶, 外婆, 姥姥
grandfather: grandfather, grandpa, grandad, 祖父, 爷爷, 外公, 姥爷
aunt: aunt, auntie, 阿姨, 姑姑, 姨妈, 舅妈, 婶婶, 姑妈
uncle: uncle, 叔叔, 舅舅, 伯伯, 姑父, 姨父
cousin: cousin, 表亲, 表哥, 表弟, 表姐, 表妹, 堂哥, 堂弟, 堂姐, 堂妹
nephew: nephew, 侄子, 外甥
niece: niece, 侄女, 外甥女
subordinate: subordinate, 下属
cat: cat, kitten, 猫, 小猫, 猫咪
dog: dog, puppy, 狗, 小狗, 狗狗
pet: pet, pets, rabbit, hamster, parrot, bird, turtle, goldfish, horse, guinea pig, 宠物, 兔子, 仓鼠, 鹦鹉, 乌龟
weekly report: weekly report, weekly reports, 周报
daily report: daily report, daily reports, 日报
monthly report: monthly report, monthly reports, 月报
favourite food: favourite food, favourite dish, favourite meal, 最喜欢的食物, 最爱吃的菜, 最喜欢的菜, 最喜欢吃的菜
favourite colour: favourite colour, 最喜欢的颜色
favourite book: favourite book, favourite novel, 最喜欢的书, 最喜欢的小说
favourite film: favourite film, favourite movie, 最喜欢的电影, 最爱的电影
favourite song: favourite song, 最喜欢的歌, 最喜欢的歌曲
favourite singer: favourite singer, 最喜欢的歌手
favourite music: favourite music, 最喜欢的音乐
favourite sport: favourite sport, 最喜欢的运动
favourite author: favourite author, favourite writer, 最喜欢的作家
favourite season: favourite season, 最喜欢的季节
favourite city: favourite city, 最喜欢的城市
favourite animal: favourite animal, 最喜欢的动物
favourite drink: favourite drink, 最喜欢的饮料
favourite game: favourite game, 最喜欢的游戏
favourite subject: favourite subject, 最喜欢的科目
"""
ATTRIBUTES: dict[str, str] = {}  # noun: attribute
for _line in _NOUNS.strip().splitlines():
    _attribute, _, _nouns = _line.partition(":")
    ATTRIBUTES |= dict.fromkeys((noun.strip() for noun in _nouns.split(",") if noun.strip()), _attribute)
    ATTRIBUTES.setdefault(_attribute, _attribute)

MANY = frozenset(
    [
        "likes",
        "prefers",
        "allergy",
        "intolerance",
        "hobby",
        "dream",
        "goal",
        "learning",
        "language",
        "owns",
        "pet",
        "cat",
        "dog",
        "friend",
        "colleague",
        "roommate",
        "neighbour",
        "sister",
        "brother",
        "son",
        "daughter",
        "child",
        "parents",
        "aunt",
        "uncle",
        "cousin",
        "nephew",
        "niece",
        "subordinate",
        "grandmother",
        "grandfather",
        "teacher",
        "doctor",
        "eats",
        "drinks",
        "plays",
        "health",
        "speaks",
        "visited",
        "appointment",
        "school",
        "educated at",
        "famous for",
        "employee",
        "member of",
        "major",
        "read",
        "watched",
        "children",
    ]
)
KIN = frozenset(
    [
        "mother",
        "father",
        "parents",
        "sister",
        "brother",
        "wife",
        "husband",
        "partner",
        "girlfriend",
        "boyfriend",
        "fiancé",
        "son",
        "daughter",
        "child",
        "grandmother",
        "grandfather",
        "aunt",
        "uncle",
        "cousin",
        "nephew",
        "niece",
        "friend",
        "colleague",
        "roommate",
        "neighbour",
        "boss",
        "landlord",
        "teacher",
        "doctor",
        "vet",
        "subordinate",
    ]
)
PETS = frozenset({"cat", "dog", "pet"})
PREFERENCES = frozenset({"likes", "prefers", "eats", "drinks", "reply style", "diet", "hobby"})
EPISODIC = frozenset({"appointment", "visited", "read", "watched"})

_PLAIN_ADJECTIVES = re.compile(
    r"^(?:(?:new|current|total|overall|whole|entire|present|actual|own|old|exact|updated|revised|latest|first|next"
    r"|real|main|personal|private|original)\s+)+"
)
_AMERICAN = re.compile(r"\b(favo|colo)r(?=ite\b|s?\b)")


def attribute_of(noun: str) -> str:
    """The attribute that a noun of either language names; the noun itself where the vocabulary has none.

    >>> attribute_of("Overall budget"), attribute_of("总预算"), attribute_of("new desk lamp"), attribute_of("mum")
    ('budget', 'budget', 'desk lamp', 'mother')
    """
    plain = _AMERICAN.sub(r"\1ur", " ".join(simplified(noun).lower().split()))
    plain = plain.removesuffix("的") if len(plain) > 1 else plain
    if plain in ATTRIBUTES:
        return ATTRIBUTES[plain]
    bare = _PLAIN_ADJECTIVES.sub("", plain)
    return ATTRIBUTES.get(bare, bare or plain)


def known_noun(noun: str) -> bool:
    return attribute_of(noun) in _KNOWN or noun.lower().startswith(("favourite ", "favorite ", "最喜欢的"))


_KNOWN = frozenset(ATTRIBUTES.values())


def is_single(attribute: str) -> bool:
    """Whether there is one value at a time; an attribute outside the vocabulary is, unless it is a plural."""
    if attribute in MANY:
        return False
    return attribute in _KNOWN or not (attribute.endswith("s") and not attribute.endswith(("ss", "us", "is")))


# ── how an entry reads ────────────────────────────────────────────────────────────────────────────────

_ENGLISH: dict[str, tuple[str, str]] = {  # attribute: that it holds, that it does not
    "name": ("{Owner} name is {v}", "{Owner} name is not {v}"),
    "age": ("{Who} is {v} years old", "{Who} is not {v} years old"),
    "home city": ("{Who} lives in {v}", "{Who} does not live in {v}"),
    "hometown": ("{Who} comes from {v}", "{Who} does not come from {v}"),
    "work city": ("{Who} works in {v}", "{Who} does not work in {v}"),
    "employer": ("{Who} works at {v}", "{Who} does not work at {v}"),
    "job": ("{Owner} job: {v}", "{Who} does not work as {v}"),
    "likes": ("{Who} likes {v}", "{Who} does not like {v}"),
    "prefers": ("{Who} prefers {v}", "{Who} does not prefer {v}"),
    "eats": ("{Who} eats {v}", "{Who} does not eat {v}"),
    "drinks": ("{Who} drinks {v}", "{Who} does not drink {v}"),
    "plays": ("{Who} plays {v}", "{Who} does not play {v}"),
    "speaks": ("{Who} speaks {v}", "{Who} does not speak {v}"),
    "learning": ("{Who} is learning {v}", "{Who} is not learning {v}"),
    "owns": ("{Who} owns {v}", "{Who} does not own {v}"),
    "allergy": ("{Who} is allergic to {v}", "{Who} is not allergic to {v}"),
    "educated at": ("{Who} studied at {v}", "{Who} did not study at {v}"),
    "intolerance": ("{Who} is {v} intolerant", "{Who} is not {v} intolerant"),
    "pet": ("{Owner} pet: {v}", "{Who} has no {v}"),
    "spouse": ("{Who} is married to {v}", "{Who} is not married to {v}"),
    "diet": ("{Who} is {v}", "{Who} is not {v}"),
    "marital status": ("{Who} is {v}", "{Who} is not {v}"),
    "health": ("{Who} has {v}", "{Who} does not have {v}"),
    "hobby": ("{Owner} hobby: {v}", "{Owner} hobby is not {v}"),
    "place of birth": ("{Who} was born in {v}", "{Who} was not born in {v}"),
    "visited": ("{Who} went to {v}", "{Who} did not go to {v}"),
    "read": ("{Who} read {v}", "{Who} did not read {v}"),
    "watched": ("{Who} watched {v}", "{Who} did not watch {v}"),
    "progress": ("{Who}: {v}", "{Who}: not {v}"),
    **{
        f"{each} report": (f"{{Owner}} {each} report is set to {{v}}", f"{{Who}} does not want the {each} report {{v}}")
        for each in ("daily", "weekly", "monthly")
    },
}
_CHINESE: dict[str, tuple[str, str]] = {
    "age": ("{Who}{v}岁", "{Who}不是{v}岁"),
    "home city": ("{Who}住在{v}", "{Who}不住在{v}"),
    "hometown": ("{Owner}老家是{v}", "{Owner}老家不是{v}"),
    "work city": ("{Who}在{v}工作", "{Who}不在{v}工作"),
    "employer": ("{Who}在{v}工作", "{Who}不在{v}工作"),
    "job": ("{Owner}工作是{v}", "{Owner}工作不是{v}"),
    "likes": ("{Who}喜欢{v}", "{Who}不喜欢{v}"),
    "prefers": ("{Who}更喜欢{v}", "{Who}并不更喜欢{v}"),
    "eats": ("{Who}吃{v}", "{Who}不吃{v}"),
    "drinks": ("{Who}喝{v}", "{Who}不喝{v}"),
    "plays": ("{Who}会玩{v}", "{Who}不玩{v}"),
    "speaks": ("{Who}会说{v}", "{Who}不会说{v}"),
    "learning": ("{Who}在学{v}", "{Who}不学{v}了"),
    "owns": ("{Who}有{v}", "{Who}没有{v}"),
    "allergy": ("{Who}对{v}过敏", "{Who}对{v}不过敏"),
    "intolerance": ("{Who}对{v}不耐受", "{Who}能耐受{v}"),
    "educated at": ("{Who}就读于{v}", "{Who}没有就读于{v}"),
    "spouse": ("{Owner}配偶是{v}", "{Owner}配偶不是{v}"),
    "health": ("{Who}有{v}", "{Who}没有{v}"),
    "visited": ("{Who}去了{v}", "{Who}没去{v}"),
    "read": ("{Who}读了{v}", "{Who}没读{v}"),
    "watched": ("{Who}看了{v}", "{Who}没看{v}"),
    "progress": ("{Who}：{v}", "{Who}：没有{v}"),
}
_CHINESE_NOUNS = {
    attribute: next((n for n, a in ATTRIBUTES.items() if a == attribute and is_cjk(n)), attribute)
    for attribute in set(ATTRIBUTES.values())
} | {
    "reply style": "回答风格",
    "diet": "饮食",
    "marital status": "婚姻状况",
    "appointment": "预约",
    "deadline": "截止日期",
    "likes": "喜好",
    "prefers": "偏好",
    "eats": "饮食习惯",
    "drinks": "喝的",
    "owns": "拥有",
    "learning": "在学",
    "health": "健康",
    "progress": "进展",
    "visited": "去过",
    "read": "读过",
    "watched": "看过",
    "speaks": "会说",
    "plays": "会玩",
}
_HAN = re.compile(f"[{HAN}]")
_STYLES = {"brief": "简短", "very detailed": "非常详细", "formal": "正式", "informal": "随意"}


def entry(subject: str, attribute: str, value: str, *, negated: bool, chinese: bool) -> str:
    """One sentence that stands by itself, in the language of the turn; since when is the fact's own.

    >>> entry("user", "budget", "8,000 euros", negated=False, chinese=False)
    "The user's budget is 8,000 euros."
    """
    if chinese:
        return f"{_chinese(subject, attribute, value, negated=negated)}。"
    return f"{_english(subject, attribute, value, negated=negated)}."


def _english(subject: str, attribute: str, value: str, *, negated: bool) -> str:
    who = "the user" if subject == USER else subject.replace("user's", "the user's", 1)
    who = who[:1].upper() + who[1:]
    owner = f"{who}'s"
    if attribute in _ENGLISH and (value or not negated):
        return _ENGLISH[attribute][negated].format(Who=who, Owner=owner, v=value)
    if negated and not value:
        return f"{who} does not want the {attribute}"
    if negated:
        return f"{owner} {attribute} is not {value}"
    plural = attribute.startswith("favourite") and not is_single(attribute)
    return f"{owner} {attribute}: {value}" if plural or attribute in MANY else f"{owner} {attribute} is {value}"


def _chinese(subject: str, attribute: str, value: str, *, negated: bool) -> str:
    who = subject_called(subject, chinese=True)
    noun = _CHINESE_NOUNS.get(attribute, attribute)
    value = value_called(attribute, value, chinese=True)
    if attribute in _CHINESE:
        return _CHINESE[attribute][negated].format(Who=who, Owner=f"{who}的", v=value)
    if negated and not value:
        return f"{who}不要{noun}"
    return f"{who}的{noun}{'不是' if negated else '是'}{value}"


@lru_cache(maxsize=4096)
def told_of(text: str) -> frozenset[str]:
    """What an entry may be about, read back from how `entry` words it; more than one where wordings are shared.

    >>> sorted(told_of("The user's furniture budget is 1,800 euros.")), sorted(told_of("用户住在成都。"))
    (['budget', 'furniture budget'], ['home city'])
    """
    line = text.strip().rstrip(".。")
    found = {attribute for attribute, wording in _wordings() if wording.match(line)}
    for m in filter(None, (_OWN_ENGLISH.match(line), _OWN_CHINESE.match(line))):
        found |= {attribute_of(m["a"]), attribute_of(m["a"].split()[-1])}
    return frozenset(found)


@lru_cache(maxsize=4096)
def kin_in(text: str) -> frozenset[str]:
    """Whom of the speaker's people and pets a question or an entry names.

    >>> sorted(kin_in("Where does my mum live?")), sorted(kin_in("用户的猫三岁。")), sorted(kin_in("I live here."))
    (['mother'], ['cat'], [])
    """
    return frozenset(ATTRIBUTES[m[0].lower()] for m in _KIN_NOUN.finditer(text))


_KIN_NOUN = re.compile(
    "|".join(
        noun if is_cjk(noun) else rf"\b{re.escape(noun)}\b"
        for noun in sorted((n for n, meant in ATTRIBUTES.items() if meant in KIN | PETS), key=len, reverse=True)
    ),
    re.IGNORECASE,
)
_OWN_ENGLISH = re.compile(r"[^:]+?['’]s (?P<a>\w[^:]*?)(?: is |: )")
_OWN_CHINESE = re.compile(r"[^：]+?的(?P<a>[^是：，]{1,12}?)不?是")


@cache
def _wordings() -> list[tuple[str, re.Pattern[str]]]:
    """The forms of entries as patterns; where only "is" stands between, the subject has no attribute of its own."""
    found = []
    for table in (_ENGLISH, _CHINESE):
        for attribute, forms in table.items():
            for form in forms:
                who = "[^'’的]+" if form in _SHARED else ".+?"
                pattern = re.escape(form).replace(r"\{Who\}", who).replace(r"\{Owner\}", ".+?").replace(r"\{v\}", ".+")
                found.append((attribute, re.compile(f"{pattern}$", re.IGNORECASE)))
    return found


_SHARED = ("{Who} is {v}", "{Who} is not {v}", "{Who}有{v}", "{Who}没有{v}")


def called(attribute: str, *, chinese: bool) -> str:
    """What a reader knows the attribute by; one outside the vocabulary is called as it was said.

    >>> called("opening date", chinese=True), called("opening date", chinese=False), called("flat", chinese=True)
    ('开业日期', 'opening date', 'flat')
    """
    return _CHINESE_NOUNS.get(attribute, attribute) if chinese else attribute


def subject_called(subject: str, *, chinese: bool) -> str:
    """What a reader knows the subject by; a name is the name.

    >>> [subject_called(each, chinese=True) for each in ("user's cat", "user", "Mia")]
    ['用户的猫', '用户', 'Mia']
    """
    if not chinese:
        return subject
    kin = subject.removeprefix("user's ")
    return "用户" if subject == USER else f"用户的{_CHINESE_NOUNS.get(kin, kin)}" if kin != subject else subject


def value_called(attribute: str, value: str, *, chinese: bool) -> str:
    """A value out of our own vocabulary in the reader's language; what somebody said stays as it was said."""
    return _STYLES.get(value, value) if chinese and attribute == "reply style" else value


def mostly_chinese(text: str) -> bool:
    """More Chinese characters than words in Latin letters."""
    return len(_HAN.findall(text)) > len(re.findall(r"[A-Za-z]+", text))


TOPICS = {
    "food": "likes eats drinks allergy intolerance diet favourite food favourite drink",
    "money": "budget salary rent deposit moving budget",
    "home": "home city address neighbourhood hometown landlord roommate neighbour rent deposit moving day moving budget",
    "work": "job employer work city salary boss colleague subordinate deadline weekly report daily report monthly report",
    "family": "mother father parents sister brother wife husband partner son daughter child grandmother grandfather "
    "aunt uncle cousin nephew niece marital status spouse girlfriend boyfriend fiancé",
    "pets": "cat dog pet vet",
    "health": "allergy intolerance health diet doctor blood type weight height",
    "study": "school education major educated at learning language speaks teacher",
    "contact": "phone number email address",
}


def topic_of(attribute: str) -> str:
    """food, money, home, …; "" where the vocabulary knows none."""
    return next((topic for topic, words in _TOPICS.items() if attribute in words), "")


_TOPICS = {
    topic: frozenset(a for a in {*_KNOWN, "likes", "eats", "drinks", "health", "speaks", "educated at", "spouse"}
                     if re.search(rf"(?:^| ){re.escape(a)}(?: |$)", words))
    for topic, words in TOPICS.items()
}  # fmt: skip
_TOPICS["food"] -= {"likes"}  # whoever likes jazz eats nothing
