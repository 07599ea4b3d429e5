"""What a question asks for: its kind, whom it names, and the wordings of relations in it. English and Chinese.

One table beside relations.py: an attribute, how people ask for it, and what kind of thing answers. An attribute
outside the table is asked for by its own name. Nothing here knows facts: walk.py compares the wordings with them.

The wordings were read off MQuAKE's questions (FactConsolidation, 6k; 32k was kept apart) and off how people talk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from memory.attributes import ATTRIBUTES, KIN, attribute_of
from memory.graph import entity_key
from memory.language import is_cjk

CONCLUSION, THEN, COMPARISON, PLAIN = "conclusion", "then", "comparison", "plain"
STRONG, WEAK = 1.0, 0.3  # a wording that names the relation; one that many relations share


@dataclass(frozen=True, slots=True)
class Cue:
    """Words of a question, `[start, end)`, that ask for an attribute."""

    attribute: str
    start: int
    end: int
    weight: float


@dataclass(frozen=True, slots=True)
class Mention:
    """Words of a question, `[start, end)`, that may name an entity, and their digest."""

    key: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Wording:
    attribute: str
    answers: str  # the kind of thing that answers
    strong: re.Pattern[str]
    weak: re.Pattern[str] | None


# attribute | what answers | wordings that name it | wordings that many share
_TABLE = r"""
citizenship | country | citizen\w*, nationality, national of, hold\w* (?:a )?passport, 国籍, 哪国人 | belong\w*,
  countr(?:y|ies), nation, hail\w* from, c[oa]mes? from, native, 国家
country of origin | country | countr(?:y|ies) of origin, place of origin, originat\w*, origins?,
  (?:birthplace|homeland|cradle) of the (?:sport|music|genre|religion|game|book), gave rise,
  (?:created|developed|invented|first (?:made|played|created|developed)|originally made) in, first came,
  originally (?:hail|c[oa]me)\w*, 起源 | countr(?:y|ies), nation, hail\w*(?: from)?, c[oa]mes? from, created,
  developed, invented, birthplace, made, 国家
capital | city | capital(?: city)?, 首都 |
continent | continent | continent, 洲 | located
spouse | person | spouse, married, wife, husband, partner, wed, consort, 妻子, 丈夫, 配偶, 结婚, 太太, 老婆, 老公 |
place of death | place | places? of death, (?:died|die|dies|death|passed away|pass away|passing),
  (?:breathed?|took|take|draw|drew) (?:his|her|their|its) last(?: breath)?, last breath, deathplace, 去世, 逝世,
  死于 | located
place of birth | place | places? of birth, born, birth ?place, birth city, city of birth, 出生 | birth, located
sport | sport | sports?, 运动, 项目 | play\w*, compete\w*, game, professional\w*, affiliated
position | position | positions?(?! of\b), specialty, speciali[sz]\w*, 位置 | play\w*, role, known for
founder | person | founders?, founded by, who founded, founded, founding,
  (?:person|individual|leader|one)\w* who (?:founded|established), responsible for (?:founding|establishing),
  co-?founder, started by, 创始人, 创立者, 创办, 创立 | established, created, formed
founded in | place
  | (?:where|place|location|city|country)\b.{0,80}?\b(?:founded|established|formed|set up),
  (?:where|place|location|city|country)\b.{0,80}?\b(?:come|came) into (?:existence|being),
  first established, (?:come|came|coming) into (?:existence|being), place of (?:foundation|formation|founding),
  formation, 成立于, 在哪里成立 | established, founded, formed
religion | religion | religion\w*, religious(?: affiliation| belief\w*)?, faith, belie(?:f|fs|ve\w*), denomination,
  worship\w*, church, 宗教, 信仰, 信奉 | belong\w*, affiliat\w*, follow\w*
author | person | authors?, wrote, written by, writers?, penned, novelist, 作者, 写的 | created, creator, book,
  wrote
performer | person | performers?, performed by, performed, singer, sang, sung by, portrayed by, portray\w*, actor,
  actress, vocalist, recording artist, artist, 演唱, 歌手, 表演者, 扮演 | band, album, song, played by
educated at | organisation | educated, education\w* institution, universit(?:y|ies), college, alma mater,
  institution\w*, stud(?:y|ied|ying) at, school, received \w+ education, education, graduat\w*, 毕业, 就读, 大学,
  母校 | attend\w*, received
headquarters | city | headquarter\w*, head office, based, 总部 | located, location, city
famous for | work | (?:famous|known|renowned|notable|noted|celebrated)(?: for| work\w*| creation\w*)?,
  notable (?:work|creation)\w*, significant (?:creation|work)\w*, masterpiece, best-known, 成名, 著名 | created,
  creation, work
chief executive officer | person | chief executive officers?, CEOs?, 首席执行官 | chief executive, head\w*, runs,
  leader
official language | language | official(?:ly)? (?:used )?languages?, official documents?, officially,
  languages? (?:is|are) (?:recogni[sz]ed|used) officially, 官方语言 | languages?
original language | language | original languages?, languages? of the (?:work|book|film|novel|song|movie), 原文,
  原版语言 | languages?, written, work
speaks | language | (?:speak|spoke|write|sign)\w*, spoken, languages? (?:spoken|known), languages?, fluent, 会说,
  语言 | communicat\w*, written, signed
music genre | genre | genres?(?: of music)?, (?:type|kind|style|sort)s? of (?:music|musical)\w*,
  music\w* (?:genre|style|type)s?, what music, 音乐类型, 流派 | music\w*, play\w*
head of government | person | heads? of (?:the )?(?:\w+ )?government, head of the \w[\w ]{0,40} government,
  chief executive of the (?:country|nation|state|city), government\w*, leads? the (?:country|government), 政府首脑
  | prime minister, mayor, governor, premier, chief executive, leader, head
head of state | person | (?:heads?|chiefs?) of (?:the )?state, monarch, sovereign, ruler, 国家元首 | president,
  king, queen, leader, head, report\w* to
chairperson | person | chair(?:person|man|woman|ing|ed)?s?, 主席, 董事长 | head, leader, leads?
employer | organisation | employ\w*, workplace, (?:works?|worked|working) (?:for|at),
  (?:company|firm)(?= .{0,40}?\b(?:works?|worked)\b(?! of)), where(?= .{0,40}?\b(?:works?|worked)\b(?! of)),
  on the payroll, 雇主, 哪里工作, 哪儿工作, 在哪工作, 哪里上班, 哪儿上班, 公司 | organi[sz]ations?,
  compan(?:y|ies), part of, worked, works?, member, firm, 工作, 上班
field of work | occupation | occupations?, professions?, professional roles?, job titles?, jobs?,
  (?:kind|type|line|field|sort|area) of work, fields?, careers?, vocations?, 职业, 工作领域 | work, professional\w*,
  known for, role
work city | city | (?:work|working) (?:location|place|city), (?:location|place|city) of work, work hours,
  work(?:ed|s|ing)? (?:in|location), cit(?:y|ies)(?=\b.{0,60}?\b(?:work|worked|working|works)\b), 工作地点 | work\w*,
  location, located
director | person | directors?(?:/managers?)?, directed by, managers?, managed by,
  head of the (?:company|organi[sz]ation|corporation), 导演, 总监, 经理 | producer, leads?, head
developer | organisation | developers?, developed by,
  (?:company|organi[sz]ation|firm)\w* (?:that|who|which|behind) (?:developed|created|designed)\w*, who developed,
  designed by, 开发商, 开发者 | developed, creator, created
manufacturer | organisation | manufactur\w*, produced by, (?:produced?|producers?|produces|producing), maker,
  made by, (?:built|makes) by, 制造商, 生产商 | made, company, built
creator | person | creators?, created by, who created, (?:individual|person|one) who created, invented by,
  mastermind\w*, 创作者, 创造者 | created, author, creat\w*
child | person | child\w*, son, daughter, kids?, offspring, 孩子, 儿子, 女儿 | father of, mother of, parent of
original broadcaster | organisation | broadcast\w*, (?:original )?(?:network|channel)s?, aired?(?: on)?, 播出,
  电视台 | original\w*, company, organi[sz]ation
head coach | person | (?:head )?coach(?:es|ed|ing)?, 主教练 | manager, trainer, leads?
prime minister | person | prime ministers?, 首相, 总理 | head of (?:the )?government, government
president | person | presidents?, 总统 | head of (?:the )?state, head of (?:the )?government
governor | person | governors?, 州长 | head of (?:the )?government, head of the \w[\w ]{0,40} government
mayor | person | mayors?, 市长 | head of (?:the )?government, head of the \w[\w ]{0,40} government
home city | city | (?:live|lives|living|lived|reside|resides|residing), home, 住在, 住, 居住 | city, where, 城市,
  哪里
hometown | city | home ?town, grew up, (?:come|comes) from, 老家, 家乡 | from, where, 哪里
job | occupation | (?:does|do) .{1,40}? do\b(?: for a living)?, for a living, 做什么工作, 干什么的 | work\w*, 工作
"""

_ASKS = r"^(?:(?:in|from|to|of|on|at) )?(?:which|what) "  # which city, in what language
_HEADS = (  # how a question begins that wants this kind of thing; the first that fits
    ("person", r"^(?:who|whom|whose)\b|^谁|是谁|哪个人"),
    ("person", _ASKS + r"(?:\w+ )?(?:person|individual|people|leader|sportsperson|man|woman)"),
    ("person", r"\bname of the (?:person|individual|chief|head|chairperson|child|founder|author|spouse|director)\b"),
    ("person", r"\bname of the (?:performer|creator|ceo)\b"),
    ("country", _ASKS + r"(?:countr|nation\b)|^what is the country|哪个国家|哪国"),
    ("continent", _ASKS + r"continent|^what is the (?:name of the )?continent|哪个洲|哪个大洲"),
    ("city", _ASKS + r"(?:capital )?(?:city|town)|\bname of the (?:capital )?city|capital city|哪个城市|哪座城市"),
    ("language", _ASKS + r"(?:\w+ )?languages?|^what is the (?:\w+ )?language|什么语言|哪种语言"),
    ("religion", _ASKS + r"(?:religion|faith)|^what (?:is|was) the relig|什么宗教|哪种宗教"),
    ("sport", _ASKS + r"sport|^what (?:is|was) the sport|什么运动|哪种运动"),
    ("position", _ASKS + r"position|什么位置"),
    ("genre", _ASKS + r"(?:(?:type|kind|genre|style)s? of (?:music|musical)|(?:music\w* )?genre)"),
    (
        "organisation",
        _ASKS + r"(?:educational |academic )?(?:company|organi|universit|school|institution|college|firm)",
    ),
    ("organisation", r"name of the (?:educational )?(?:institution|company|organi)|哪家公司|哪所"),
    ("occupation", r"^what (?:is|was) the (?:job|occupation|profession)|什么职业"),
    ("occupation", _ASKS + r"(?:kind|type|field) of work"),
    ("work", r"famous for|known for|significant creation|notable work"),
    ("place", _ASKS + r"(?:location|place)|^where\b|^what (?:is|was) the (?:place|location|birthplace)"),
    ("place", r"哪里|哪儿|什么地方"),
)
_WITHIN = {"place": {"city", "country"}, "city": {"place"}, "country": {"place"}}  # a place may be either


# ── kinds of questions ────────────────────────────────────────────────────────────────────────────────

_KINDS = (
    (COMPARISON, r"\bcompar\w*|\bdifferen\w*|\bversus\b|\bvs\b|\bin common\b|\bthe same as\b|\brather than\b"),
    (COMPARISON, r"\b(?:better|worse|older|younger|bigger|cheaper|more|less)\b.{0,40}\bthan\b|\bwhich of\b|\bboth\b"),
    (COMPARISON, r"比较|相比|区别|不同|哪个更|一样|共同|还是.*[？?]$|更.{1,4}吗"),
    (THEN, r"\bwhat happened\b|\bhappened (?:then|next|after|before)\b|\b(?:after|before) that\b|\band then\b"),
    (THEN, r"\bwhen did\b|\bsince when\b|\bin (?:what|which) order\b|\bfirst\b.*\bthen\b|\btimeline\b|\bsequence\b"),
    (THEN, r"\b(?:next|earlier|later)\b|然后|后来|之后|接着|之前发生|什么时候|顺序|先.*后|经过"),
    (CONCLUSION, r"^why\b|\bwhy (?:did|do|does|is|was|are)\b|\bbecause\b|\breason\b|\bcause[ds]?\b|\bhow come\b"),
    (CONCLUSION, r"\bso what\b|\bconclu\w*|\boverall\b|\bin the end\b|\bshould (?:i|we)\b|\bdecid\w*|\brecommend\w*"),
    (CONCLUSION, r"\bexplain\b|为什么|为何|原因|因为|结论|总之|总的来说|应该|建议|决定"),
)
_KIND_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)


def kind_of(question: str) -> str:
    """conclusion, then, comparison, or plain.

    >>> kind_of("Why did we move the date?"), kind_of("然后发生了什么？"), kind_of("Is Lyon cheaper than Paris?")
    ('conclusion', 'then', 'comparison')
    """
    return next((kind for kind, pattern in _KIND_PATTERNS if pattern.search(question)), PLAIN)


_STEERS = re.compile(
    r"\bwhat(?: has)? happened(?: (?:then|next|after that))?\b|\bcompared?(?: to| with)?\b|\bin common\b|\bhow come\b"
    r"|\b(?:what|which) (?:is|are) the differen\w* between\b|\bexplain\b"
    r"|发生了什么|比较|相比|有什么(?:区别|不同)|为什么|为何",
    re.IGNORECASE,
)


def matter(question: str) -> str:
    """The question without the words that only say of which kind it is: they stand in no fact.

    >>> matter("What happened after I sold the car?").strip()
    'after I sold the car?'
    """
    return _STEERS.sub(" ", question)


# ── wordings of relations ─────────────────────────────────────────────────────────────────────────────


def _rows() -> list[str]:
    """One an attribute; a line that begins with blanks goes on with the row before it."""
    return re.sub(r"\n +", " ", _TABLE.strip()).splitlines()


@cache
def _wordings() -> tuple[_Wording, ...]:
    return tuple(_read(row) for row in _rows())


def _read(line: str) -> _Wording:
    attribute, answers, strong, weak = _columns(line)
    return _Wording(attribute, answers, _any_of(strong), _any_of(weak) if weak else None)


def _columns(line: str) -> list[str]:
    """Four of them; a bar within brackets belongs to a pattern."""
    columns, depth = [""], 0
    for character in line:
        depth += (character == "(") - (character == ")")
        if character == "|" and not depth:
            columns.append("")
        else:
            columns[-1] += character
    return [column.strip() for column in columns]


def _any_of(wordings: str) -> re.Pattern[str]:
    """Words of Latin letters stand alone; Chinese ones anywhere. The longest of those that begin together."""
    parts = re.split(r", (?![^(]*\))", wordings)
    bounded = [part if is_cjk(part) else rf"\b{part}\b" for part in parts]
    return re.compile("|".join(sorted(bounded, key=len, reverse=True)), re.IGNORECASE)


def cues_in(question: str) -> tuple[Cue, ...]:
    """All wordings of relations in the question, those aside that lie within a stronger one."""
    found = [cue for wording in _wordings() for cue in _found(wording, question)]
    return tuple(c for c in dict.fromkeys(found) if not any(_hides(other, c) for other in found))


def _found(wording: _Wording, question: str) -> Iterator[Cue]:
    for pattern, weight in ((wording.strong, STRONG), (wording.weak, WEAK)):
        for m in pattern.finditer(question) if pattern else ():
            yield Cue(wording.attribute, m.start(), m.end(), weight)


def _hides(other: Cue, cue: Cue) -> bool:
    """A longer wording around it, as "official language" is around "language"."""
    longer = other.end - other.start > cue.end - cue.start
    return longer and other.weight >= STRONG and other.start <= cue.start and cue.end <= other.end


@lru_cache(maxsize=4096)
def named(attribute: str, question: str) -> tuple[Cue, ...]:
    """Where the question says the attribute's own name, or a noun that means it: for those outside the table."""
    nouns = {attribute, *(noun for noun, meant in ATTRIBUTES.items() if meant == attribute)}
    found: dict[tuple[int, int], Cue] = {}
    for noun in nouns:
        pattern = re.escape(noun) if is_cjk(noun) else rf"\b{re.escape(noun)}(?:s|es)?\b"
        for m in re.finditer(pattern, question, re.IGNORECASE):
            found[m.span()] = Cue(attribute, *m.span(), STRONG)
    return tuple(c for c in found.values() if not any(_hides(other, c) for other in found.values()))


_TABLED = frozenset(row.split("|")[0].strip() for row in _rows())


def in_table(attribute: str) -> bool:
    return attribute in _TABLED


def answers_with(attribute: str) -> str:
    """person, city, country, …; "" where nothing is said of it."""
    known = next((w.answers for w in _wordings() if w.attribute == attribute), "")
    return known or ("person" if attribute in KIN else "")


def asked_for(question: str) -> str:
    """person, city, country, …: what kind of thing the question wants; "" where its words do not tell.

    >>> asked_for("In which city was she born?"), asked_for("Where is it, and who founded it?")
    ('city', 'person')
    """
    line = _SECOND.split(question.strip().casefold())[-1]
    return next((kind for kind, pattern in _head_patterns() if pattern.search(line)), "")


_SECOND = re.compile(r",? and (?=(?:in |of )?(?:who|what|which|where)\b)")


@cache
def _head_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(pattern)) for kind, pattern in _HEADS)


def fits(asked: str, answers: str) -> int:
    """1: it is of the kind; -1: it is not; 0: it may be: who makes a thing, or where one works, is a firm as well."""
    if asked == answers or answers in _WITHIN.get(asked, ()):
        return 1
    return 0 if asked in ("person", "place") and answers == "organisation" else -1


# ── who is named ──────────────────────────────────────────────────────────────────────────────────────

MOST_WORDS = 14  # of a name
MOST_CHARACTERS = 14  # of a Chinese one
_EDGE = "\"'“”‘’«»()[]{}<>,.;:!?¿¡…、，。；：！？《》「」『』（）"
_PIECE = re.compile(r"\S+")
_POSSESSIVE = re.compile(r"(?:['’]s|['’])$")
_MINE = re.compile(
    r"\b(?:my|our)\s+(?P<a>[a-z]+(?: [a-z]+)?)|(?:我的|我们的|我家的?|我)(?P<b>[\u4e00-\u9fff]{1,4})", re.I
)
_ME = re.compile(r"\b(?:I|me|my|mine|myself|the user)\b|我|用户")


def mentions_in(question: str) -> Iterator[Mention]:
    """Everything in the question that may name somebody or something, the longest first at each place.

    "my sister" names `user's sister`, as facts have it; "I" and 我 name the user.
    """
    for m in _MINE.finditer(question):
        noun = m["a"] or m["b"]
        for words in _shorter(noun):
            yield Mention(
                entity_key(f"user's {attribute_of(words)}"), m.start(), m.start() + (m[0].find(words) + len(words))
            )
    for m in _ME.finditer(question):
        yield Mention(entity_key("user"), m.start(), m.end())
    yield from _spans(question)


def _shorter(noun: str) -> Iterator[str]:
    if is_cjk(noun):
        yield from (noun[:n] for n in range(len(noun), 0, -1))
    else:
        words = noun.split()
        yield from (" ".join(words[:n]) for n in range(len(words), 0, -1))


def _spans(question: str) -> Iterator[Mention]:
    pieces = [m.span() for m in _PIECE.finditer(question)]
    for i, (start, _) in enumerate(pieces):
        for j in range(min(len(pieces), i + MOST_WORDS) - 1, i - 1, -1):
            yield from _trims(question, start, pieces[j][1])
    for m in re.finditer(r"[\u3400-\u9fff·]+", question):
        for a in range(m.start(), m.end()):
            for b in range(min(m.end(), a + MOST_CHARACTERS), a + 1, -1):
                yield Mention(entity_key(question[a:b]), a, b)


def _trims(question: str, start: int, end: int) -> Iterator[Mention]:
    """The span without marks around it, as it is and without a possessive."""
    inner = question[start:end]
    left = len(inner) - len(inner.lstrip(_EDGE))
    plain = inner.strip(_EDGE)
    ended = inner.rstrip(".,;:!?…，。；：！？")
    for words in dict.fromkeys((inner, ended, plain, _POSSESSIVE.sub("", plain).strip(_EDGE), plain + ".")):
        if words:
            at = start if words in (inner, ended) else start + left
            yield Mention(entity_key(words), at, at + len(words))
