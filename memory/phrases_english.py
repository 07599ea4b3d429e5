"""How people say in English what is worth keeping about them: forms of a predicate, and of "my X is Y".

A form is matched where a predicate begins, right after its subject ("I", "my sister", "Jule"); whose fact it is, and
whether the sentence states anything at all, extraction.py decides.
"""

# ruff: noqa: E501 - a form is read on one line
from __future__ import annotations

import re
from typing import NamedTuple


class Form(NamedTuple):
    """Groups: `v` the value, `neg` a negation, `old` what holds no more, `a` the noun, `for` what an amount is for."""

    hints: tuple[str, ...]  # one of them stands in the sentence, in lower case
    pattern: re.Pattern[str]
    attribute: str
    kind: str = "fact"
    value: str = ""  # fixed
    negated: bool = False
    check: str = ""  # "name", "amount", "place", "noun", "date": what the value must be
    whole: bool = False  # the entry quotes the clause
    now: bool = False  # it holds as it is said, whatever time its clause tells of


NEG = (
    r"(?P<neg>(?: do| does)(?: not|n['’]t)(?: really| actually| particularly)?| no longer| never| used to"
    r"| can(?:not|['’]t| not)| did(?: not|n['’]t) use to| stopped| quit| gave up| have given up|['’]ve given up)?"
)
ADV = (
    r"(?: (?:really|also|still|just|now|currently|always|absolutely|usually|actually|simply|truly|especially|personally"
    r"|particularly|quite|very much|both|already|recently|finally|only|often|mostly|secretly|even|first|do|generally"
    r"|normally|mainly|so|totally|completely|kind of|definitely|certainly|properly|severely|very|highly)){0,3}"
)
BE = r"(?:['’](?:m|s|re)| am| is| are|['’]ve been| have been| has been)(?P<neg> not|n['’]t| no longer)?"
HAVE = r"(?:['’](?:ve|s)| have| has| had)?"
V = r" (?P<v>[^.!?;\n]{1,160})"
NAME = r"(?P<v>[A-Z][\w'’.-]*(?: (?:(?:de|van|von|da|del|la|di) )?[A-Z][\w'’.-]*){0,3})"
# whoever is to leave a place lives there until then
LEAVING = (
    r"(?:(?:['’](?:m|re)| am| are| is)(?: (?:now|soon|finally|also|actually|currently|planning on|thinking of))*"
    r" (?:moving|relocating)|(?:['’]ll| will|['’]d| would| have| has|['’]ve got| need| must| want| plan| hope| intend"
    r"|(?:['’](?:m|re)| am| are| is)(?: \w+)? (?:going|about|planning|hoping|due|set|supposed|ready))"
    r"(?: (?:like|soon|have|need|also|now|probably))*(?: to)? (?:move|relocate))(?: away| out| house| home)?"
)
AMOUNT = r"(?P<v>(?:about |around |roughly )?[$€£¥]? ?\d[\d,.]*(?: ?(?:k|thousand|million|euros?|eur|dollars?|usd|pounds?|yuan|rmb|bucks|€|\$))*)"
JOBS = (
    "engineer|teacher|professor|lecturer|doctor|nurse|lawyer|developer|programmer|designer|artist|writer|author|editor"
    "|journalist|student|scientist|researcher|analyst|accountant|manager|consultant|chef|cook|baker|waiter|waitress"
    "|driver|pilot|police officer|officer|soldier|farmer|architect|dentist|vet|pharmacist|therapist|psychologist"
    "|photographer|musician|singer|actor|actress|dancer|model|salesman|saleswoman|salesperson|clerk|secretary"
    "|librarian|mechanic|electrician|plumber|carpenter|builder|technician|translator|interpreter|translater|freelancer"
    "|entrepreneur|founder|owner|director|administrator|assistant|planner|banker|trader|economist|biologist|chemist"
    "|physicist|mathematician|historian|coach|trainer|instructor|athlete|gardener|hairdresser|barista|bartender"
    "|receptionist|marketer|recruiter|tutor|principal|paramedic|firefighter|blogger|youtuber|streamer|retiree|intern"
    "|apprentice|specialist|operator|worker|officer|executive|statistician|surgeon|veterinarian|sales representative"
    "|programmer|coder|sommelier|tailor|florist|curator|producer|composer|poet|novelist|graduate|freshman|sophomore"
    "|undergraduate|postgraduate|PhD student|housewife|househusband|homemaker|stay-at-home (?:mum|mom|dad)"
)
LIKE = r"likes?|loves?|enjoys?|adores?|(?:am|is|are) (?:a (?:big |huge )?fan of|fond of|into|crazy about|keen on)"
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_NOUN_WORD = r"(?:(?!['’]s\b)[\w'’-])"  # whose it is stands apart: "my sister's name"
MY_NOUN = rf"(?P<a>[A-Za-z\u4e00-\u9fff]{_NOUN_WORD}*(?: {_NOUN_WORD}+){{0,4}}?)"


_BOUNDED = re.compile(r"\[\^[^]]+\]\{\d+,\d+\}(?=\))")  # a value of at most so many letters ends where a word does


def _form(hints: str, pattern: str, attribute: str, kind: str = "fact", **more: object) -> Form:
    pattern = pattern.replace("['’]", "['’]?")  # "im", "dont": people leave it out
    pattern = _BOUNDED.sub(r"\g<0>(?!\\w)", pattern)
    flags = re.IGNORECASE if "(?P<v>[A-Z]" not in pattern else re.NOFLAG
    return Form(tuple(hints.split("|")), re.compile(pattern, flags), attribute, kind, **more)  # type: ignore[arg-type]


_END = r"(?=\s*(?:[.,!;:—–)-]|$)|\s+(?:and|but|from|so|who|because|now|today|this)\b)"

# What is said of whoever the subject is; each begins with the blank or apostrophe after it.
PREDICATES: tuple[Form, ...] = (
    _form("called|named", rf"{BE}{ADV} (?:called|named) {NAME}", "name", check="name"),
    _form("call me|calls me", rf" calls? me {NAME}", "nickname", check="name"),
    _form("years old|years of age|year old", rf"{BE}{ADV} (?P<v>\d{{1,3}}) years? (?:old|of age)", "age"),
    _form("'m |am |’m |im |is |'s |’s |turn", rf"(?:{BE}{ADV}|{HAVE}{ADV} turn(?:s|ed|ing)?) (?P<v>\d{{1,3}})(?=[.,!;](?!\d)|$| and\b| now\b| this| today| next)", "age"),
    _form("turn", rf"{HAVE}{ADV} turned (?P<v>\d{{1,3}})(?= last| yesterday| on\b| in\b| a (?:few|couple))", "age"),
    _form("'m |am |’m |im |is |'s |’s |are ", rf"{BE}{ADV} (?:an?|the) (?P<v>(?:[\w-]+ ){{0,4}}?(?:{JOBS})(?: (?:{JOBS}))*s?)\b(?! of (?:mine|yours))", "job"),
    _form("work", rf"{NEG}{HAVE}{ADV} (?:been )?work(?:s|ed|ing)?{ADV} as (?:an? |the )?(?P<v>[^.!?;,\n]{{2,60}})", "job", check="noun"),
    _form("'m work|im work|am work|is work|’m work|’s work|'s work", rf"{BE}{ADV} working{ADV} as (?:an? |the )?(?P<v>[^.!?;,\n]{{2,60}})", "job", check="noun"),
    _form("work", rf"{NEG}(?:{HAVE}|{BE.replace('neg', 'neg2')}){ADV} (?:been )?(?:working|works?|(?<=ve )worked|(?<=has )worked){ADV} (?:at|for) (?P<v>[^.!?;,\n]{{2,60}})", "employer", check="place"),
    _form("job|position|internship|employed|hired", rf"(?:{HAVE}{ADV} (?:accepted|got|took|started|landed|found|have) an? (?:new )?(?:job|position|internship)|{BE}{ADV} (?:employed|hired)) (?:at|with|by|as|in) (?P<v>[^.!?;,\n]{{2,60}})", "employer", check="name"),
    _form("promoted", rf"(?: got|{BE}|{HAVE} been){ADV} promoted to (?:an? |the )?(?P<v>[^.!?;,\n]{{3,40}})", "job", check="noun"),
    _form("join", rf"{ADV} (?:left|quit) (?P<old>[A-Z][\w&.-]*(?: [A-Z][\w&.-]*){{0,3}})(?:,? (?:and|then|to)){{1,2}}(?: I)? join(?:ed)? {NAME}", "employer", check="name"),
    _form("quit|left|resigned", rf"(?P<neg> (?:quit|left) (?:my|her|his|the) (?:job|position|post) at| resigned from) {NAME}", "employer", check="name"),
    _form("started|start ", rf"{HAVE}{ADV} start(?:ed)?(?: working)? (?:at|with) {NAME}", "employer", check="name"),
    _form("live at|lives at|living at", rf"(?:{ADV} lives?|{BE}{ADV} living) at (?P<v>\d+[a-z]? [A-Z][^.!?;\n]{{2,60}})", "address", check="noun"),
    _form("live|living|lives|reside", rf"(?:{NEG}{HAVE}{ADV} (?:lived?|lives|reside[sd]?|been living)|{BE.replace('neg', 'neg2')}{ADV} living)(?: here)?{ADV} (?:in|at|near) (?P<v>[^.!?;\n]{{2,60}})", "home city", check="place"),
    _form("mov|relocat|leav", rf"{LEAVING}(?: (?:there|here)|(?: back| over)? (?:to|into) [^.!?;,\n]{{1,40}}?)? from (?P<v>[A-Z][^.!?;,\n]{{1,60}})", "home city", check="place", now=True),
    _form("based in", rf"{BE}{ADV} based in (?P<v>[A-Z][^.!?;,\n]{{1,50}})", "home city", check="place"),
    _form("moved|relocated", rf"{HAVE}{ADV} (?:moved|relocated)(?: away)?(?: back)?(?: from (?P<old>[A-Z][\w -]{{1,30}}?))? (?:to|into) (?P<v>[A-Z][^.!?;\n]{{1,60}})", "home city", check="place"),
    _form("from", rf"(?:{BE}{ADV}(?: originally)? from| (?:originally )?comes? from| grew up in| (?:was|were) raised in) (?P<v>[A-Z][^.!?;\n]{{1,50}})", "hometown", check="place"),
    _form("grew up|raised", r" (?:grew up|was raised|were raised) in (?P<v>[A-Z][^.!?;\n]{1,50})", "hometown", check="place"),
    _form("born", r" (?:was|were) born (?:on|in) (?P<v>[^.!?;\n]{3,50})", "birthday", check="date"),
    _form("born", rf" (?:was|were) born in (?P<v>(?:{MONTHS})(?: \d{{4}})?)\b", "birthday"),
    _form("born", r" (?:was|were) born (?:in|at) (?P<v>[A-Z][^.!?;\n]{1,50})", "place of birth", check="place"),
    _form("married to|engaged to", rf"{BE}{ADV} (?:married|engaged) to (?P<v>[^.!?;,\n]{{2,50}})", "spouse", check="name"),
    _form("married|single|divorced|engaged|widowed", rf"(?:{BE}{ADV}| got) (?P<v>married|single|divorced|engaged|widowed){_END}", "marital status"),
    _form("allerg", rf"{BE}{ADV} allergic to{V}", "allergy"),
    _form("allerg", rf"{NEG}{HAVE}{ADV}(?: have| has)? an? (?:severe |bad |serious |mild )?allergy to{V}", "allergy"),
    _form("allerg", rf"{NEG}{HAVE}{ADV}(?: have| has)? an? (?:severe |bad |serious |mild )?(?P<v>\w+) allergy", "allergy"),
    _form("intolerant", rf"{BE}{ADV} (?P<v>\w+)[ -]intolerant", "intolerance"),
    _form("intolerant", rf"{BE}{ADV} intolerant (?:to|of){V}", "intolerance"),
    _form("intoleran", rf"{NEG}{HAVE}{ADV}(?: have| has)? an? (?:severe |bad |serious |mild )?(?P<v>\w+)[ -]intolerance", "intolerance"),
    _form("vegetarian|vegan|pescatarian|coeliac|celiac|halal|kosher", rf"(?:{BE}{ADV}| have{ADV} become| became| turned| went)(?: an?)? (?P<v>vegetarian|vegan|pescatarian|coeliac|celiac)", "diet"),
    _form("diabetic|asthmatic", rf"{BE}{ADV}(?: an?)? (?P<v>diabetic|asthmatic)", "health"),
    _form("diabetes|asthma|migraine|hypertension|arthritis|insomnia|blood pressure|anemia|anaemia", rf"{NEG}{HAVE}{ADV}(?: have| has| got| suffers? from)? (?P<v>(?:type [12] |\w+ )?(?:diabetes|asthma|migraines?|hypertension|high blood pressure|low blood pressure|arthritis|insomnia|an(?:a)?emia))\b", "health"),
    _form("like|love|enjoy|adore|fan of|fond of|into|crazy about|keen on", rf"{NEG}{ADV} (?:likes?|loves?|enjoys?|adores?|have (?:always )?(?:loved|liked|enjoyed)|has (?:always )?(?:loved|liked)){V}", "likes", "preference", check="liked"),
    _form("loved", rf"{ADV} loved (?P<v>[A-Z][^.!?;\n]{{2,50}})", "likes", "preference", check="place"),
    _form("loved|liked|enjoyed", rf"['’]ve always (?:loved|liked|enjoyed){V}", "likes", "preference", check="liked"),
    _form("fan of|fond of|into|crazy about|keen on|interested in|passionate about|addicted to", rf"{BE}{ADV} (?:a (?:big |huge |great )?fan of|fond of|into|crazy about|keen on|(?:very |really |quite )?interested in|passionate about|addicted to){V}", "likes", "preference", check="liked"),
    _form("hate|dislike|detest|despise|loathe|stand|bear", rf"{NEG}{ADV} (?:hates?|dislikes?|detests?|despises?|loathes?){V}", "likes", "preference", negated=True, check="liked"),
    _form("stand|bear", rf" (?:can['’]?t|cannot|can not)(?: really)? (?:stand|bear){V}", "likes", "preference", negated=True, check="liked"),
    _form("prefer", rf"{NEG}{ADV} prefers?{V}", "prefers", "preference", check="liked"),
    _form("eat", rf"(?:(?P<neg> (?:don['’]t|doesn['’]t|do not|does not|never|no longer|can['’]?t|cannot))| (?:only|mostly|mainly|usually)){ADV} eats?{V}", "eats", "preference", check="eaten"),
    _form("eating", rf"(?P<neg> (?:stopped|quit|gave up|have stopped)|['’]ve (?:stopped|quit|given up)){ADV} eating{V}", "eats", "preference", check="eaten"),
    _form("drinking|coffee|smoking|alcohol|sugar|meat", rf"(?P<neg> (?:stopped|quit|gave up|have given up|have stopped|have quit)|['’]ve (?:stopped|quit|given up)){ADV}(?: drinking| having)? (?P<v>coffee|tea|alcohol|beer|wine|soda|milk|[\w ]{{1,20}}tea)\b", "drinks", "preference"),
    _form("drink", rf"{NEG}{ADV} drinks?{V}", "drinks", "preference", check="eaten"),
    _form("switch", rf"{HAVE}{ADV} switched(?: over)?(?: from (?P<old>[\w ]{{2,30}}?))? to (?P<v>(?:[\w-]+ ){{0,2}}(?:tea|coffee|milk|juice|rooibos|decaf|water|wine|beer)\b[^.!?;\n]{{0,40}})", "drinks", "preference"),
    _form("play", rf"{NEG}{ADV} plays? (?P<v>(?:the )?(?:piano|guitar|violin|cello|drums?|flute|saxophone|trumpet|harp|ukulele|bass|clarinet|basketball|football|soccer|tennis|badminton|volleyball|chess|golf|hockey|baseball|cricket|rugby|table tennis)\b[^.!?;\n]{{0,40}})", "plays", check="noun"),
    _form("speak", rf"{NEG}(?: can)?{ADV} (?:speaks?|am fluent in|is fluent in) (?P<v>(?:fluent |some |a little |good )?[A-Z][^.!?;\n]{{1,50}})", "speaks", check="place"),
    _form("learn", rf"(?:{HAVE}{ADV} (?:started|begun|been|began)(?: (?:to learn|learning))|{BE.replace('neg', 'neg2')}{ADV}(?: trying to| planning to)? learn(?:ing)?)(?: how)? (?P<v>[^.!?;\n]{{3,60}})", "learning", check="learnt"),
    _form("studied|study|graduated|degree", rf"{HAVE}{ADV} (?:studied|study|studies|graduated)(?: [\w ]{{1,30}}?)? (?:at|from) (?P<v>(?:the )?[A-Z][^.!?;\n]{{2,60}})", "educated at", check="place"),
    _form("studying", rf"(?:{BE}|{HAVE}{ADV} been){ADV} studying (?P<v>[^.!?;,\n]{{3,50}})", "learning", check="learnt"),
    _form("learned|learnt|practic|practis", rf"(?: (?:recently|just) (?:learned|learnt)(?: how)?(?: to)?|{HAVE}{ADV} been practi[cs]ing) (?P<v>[^.!?;,\n]{{3,50}})", "learning", check="learnt"),
    _form("practice|practise", rf"{NEG}{ADV} practi[cs]es? (?P<v>[^.!?;\n]{{3,70}})", "hobby", "preference", check="liked"),
    _form("major", rf"(?:{BE}{ADV} majoring in| majors? in| majored in) (?P<v>[^.!?;,\n]{{3,50}})", "major", check="noun"),
    _form("cat|dog|rabbit|hamster|parrot|puppy|kitten|turtle|bird|goldfish|horse", rf"{NEG}{HAVE}{ADV}(?: have| has| got| own| adopted| keep)(?: got)? (?:an?|one|my) (?:[\w-]+ ){{0,3}}?(?P<a>cat|dog|rabbit|hamster|parrot|puppy|kitten|turtle|bird|goldfish|horse)(?:,? (?:called|named|whose name is|by the name of)|:|,) (?P<v>[A-Z][\w'’-]+)", "", check="name"),
    _form("cat|dog|rabbit|hamster|parrot|pupp|kitten|turtle|bird|fish|horse", rf"{NEG}{HAVE}{ADV}(?: have| has| got| own| adopted| keep)(?: got)? (?P<v>(?:an?|one|two|three|four|five|\d+) (?:[\w-]+ ){{0,2}}?(?:cat|dog|rabbit|hamster|parrot|puppy|puppies|kitten|turtle|bird|goldfish|horse)s?)\b", "pet"),
    _form("son|daughter|child|kid|brother|sister|sibling|cousin|wife|husband|girlfriend|boyfriend", rf"{NEG}{HAVE}{ADV}(?: have| has| got)(?: got)? (?:an?|one) (?:[\w-]+ ){{0,2}}?(?P<a>son|daughter|brother|sister|cousin|wife|husband|girlfriend|boyfriend)(?:,? (?:called|named|whose name is)|,) (?P<v>[A-Z][\w'’-]+)", "", check="name"),
    _form("son|daughter|child|kid|brother|sister|sibling", rf"{NEG}{HAVE}{ADV}(?: have| has| got)(?: got)? (?P<v>(?:an?|one|two|three|four|five|six|no|\d+) (?:[\w-]+ ){{0,2}}?(?:son|daughter|child|children|kid|brother|sister|sibling)s?)\b", "children"),
    _form("own|bought", rf"{NEG}{HAVE}{ADV} (?:own|owns|bought(?: myself)?) (?P<v>(?:an?|my first|my|two|three|the) [^.!?;,\n]{{2,50}})", "owns", check="noun"),
    _form("appointment|reservation|flight|interview", rf"{HAVE}{ADV}(?: have| has| got| made| booked)(?: got)? (?P<v>(?:an?|my) (?:[\w-]+ ){{0,3}}?(?:appointment|interview|reservation)[^.!?;\n]{{3,70}})", "appointment", check="noun"),
    _form("budget", rf"{HAVE}{ADV}(?: have| set| has| got) (?:an?|my|the) (?:(?P<for>\w+) )?budget (?:of|to|at) {AMOUNT}", "budget", check="amount"),
    _form("spend", rf"(?: can| will| want to|['’]d like to| am willing to)?(?: only)? spend (?:up to|at most|no more than|a maximum of|under) {AMOUNT}(?: (?:on|for) (?P<for>[\w ]{{3,40}}))?", "budget", check="amount"),
    _form("spend", rf" (?:don['’]t|do not) want to spend more than {AMOUNT}(?: (?:on|for) (?P<for>[\w ]{{3,40}}))?", "budget", check="amount"),
    _form("cap ", rf"(?: want to|['’]d like to)? cap (?:the )?(?:whole |entire )?(?P<for>[\w ]{{3,30}}?) at {AMOUNT}", "budget", check="amount"),
    _form("aside|saved", rf"{HAVE}{ADV} (?:put aside|set aside|saved|put) {AMOUNT}(?: aside)? for (?P<for>[\w ]{{3,40}})", "budget", check="amount"),
    _form("earn|make", rf"{NEG}{ADV} (?:earns?|makes?) {AMOUNT}(?: (?:a|per) (?:month|year|week|hour))?", "salary", check="amount"),
    _form("pay ", rf" pay {AMOUNT} (?:in |of )?(?:rent|warm|cold|a month in rent)", "rent", check="amount"),
    _form("weigh", rf"{NEG}{ADV} weighs? (?P<v>\d[\d.,]* ?(?:kilos?|kg|pounds?|lbs?))", "weight"),
    _form("tall", rf"{BE}{ADV} (?P<v>\d[\d.,']* ?(?:cm|m|meters?|metres?|feet|ft|centimeters?)?(?: ?\d+)?) tall", "height"),
    _form("switched|changed|converted", rf"{HAVE}{ADV} changed (?:my )?(?P<a>\w+(?: \w+)?) (?:from (?P<old>[^.!?;,\n]{{1,40}}?) )?to (?P<v>[^.!?;,\n]{{1,50}})", "", check="noun"),
)  # fmt: skip

# "my X is Y": the whole clause
TOPIC = re.compile(
    rf"(?P<det>my|our)(?: own)? {MY_NOUN}(?:['’]s (?P<b>[a-z]+(?: [a-z]+)?))?"
    r"(?:(?P<be> (?:is|are|will be|has been|has become|has changed to|has been changed to|changed to"
    r"|should be|must be|would be|(?:went|gone|go|goes|is|was|came) (?:up|down) to|rose to|rises to|grew to|(?:was |has )?(?:increased|raised|cut|lowered) to|fell to|dropped to|remains|stays)|['’]s| ?[:=])(?P<neg> not| no longer|n['’]t)?)"
    r"(?: now| still| currently| actually| also| called| named| about| around| only| again| set(?: to| at)?){0,2}:?(?: with)? "
    r"(?P<v>[^!?;\n]{1,100})",
    re.IGNORECASE,
)
# "the budget is 8000", "budget: 8000", "new moving day is Saturday": nouns of the vocabulary only
BARE_TOPIC = re.compile(
    rf"(?:the |a |new |our |your )*{MY_NOUN}"
    r"(?:(?P<be> (?:is|are|was|will be|has changed to|has been changed to|changed to|should be|must be|would be|is moved to"
    r"|moved to|is now|(?:went|goes|is|was) (?:up|down) to|rose to|grew to|(?:was |has )?(?:increased|raised|cut|lowered) to|fell to|dropped to)|['’]s|(?:, [\w ]{2,20})? ?[:=])(?P<neg> not| no longer|n['’]t)?)(?: now| still| actually| only){0,2} "
    r"(?P<v>[^!?;\n]{1,80})",
    re.IGNORECASE,
)
# "make my budget 8000", "move the weekly report to Tuesday", "change the address to …", "set the budget to 8000"
CHANGED = re.compile(
    r"(?:please |can you |could you |let['’]?s |i (?:want|need|have) to |we (?:want|need|have) to |i['’]?d like to "
    r"|i['’]?ve |i )*"
    r"(?:move|moved|change|changed|set|update|make|raise|raised|reschedule|rescheduled|shift|shifted|postpone|postponed"
    r"|increase|increased|lower|lowered|reduce|reduced|push|correct)"
    rf" (?:the |my |our )?{MY_NOUN}(?: from (?P<old>[^.!?;,\n]{{1,30}}?))? (?:to|until|till|into) (?P<v>[^.!?;\n]{{1,60}})",
    re.IGNORECASE,
)
REFUSED = re.compile(
    r"(?:please |can you |could you |i want to |i['’]?d like to )*(?:(?:stop|cancel|drop|skip|end)(?: sending)?(?: me)?"
    r"|don['’]?t (?:send|give)(?: me)?|do not send(?: me)?|i (?:don['’]?t|do not|no longer) (?:want|need)(?: to (?:get|have|receive))?"
    r"|no more|no)(?: the| my| any| a| more| your| those| these){0,2} "
    r"(?P<a>(?:[\w-]+ ){0,2}?(?:reports?|newsletters?|reminders?|summar(?:y|ies)|meetings?|calls?|lessons?|subscriptions?"
    r"|appointments?|notifications?|emails?|updates|bulletins?|digest))(?: any ?more| any longer|,? please| for now)*(?=[.,;!]|$)",
    re.IGNORECASE,
)
CALL_ME = re.compile(r"(?i:(?:(?:you|people|friends|everyone) (?:can |may |all )?)?calls? me )(?P<v>[A-Z][\w'’-]+)(?=\s*(?:[.,!;]|$))")
PUT_ASIDE = re.compile(rf"for (?:the |my |our )?(?P<for>[\w ]{{3,30}}?),? i(?:['’]ve| have)? (?:put|set) aside {AMOUNT}", re.I)
STARTS = re.compile(
    r"(?:the|my|our) (?P<a>[a-z][\w -]{1,25}?) (?P<verb>starts?|begins?|ends?|expires?|runs until)(?: again)?(?: on| in| at)? (?P<v>[^.!?;,\n]{2,40})", re.I
)
NO_MORE = re.compile(r"no more (?P<v>[a-z][a-z -]{2,25}?) for me\b", re.I)
BIRTHDAY = re.compile(r"\b(?:today is my birthday|(?:it['’]s|it is) my birthday today)\b", re.I)
REPLY_STYLE = re.compile(
    r"\b(?P<v>(?:(?:very|more|really|extremely) )?(?:brief|short|concise|detailed|long|longer|shorter|thorough|terse"
    r"|simple|formal|informal|friendly))(?: and (?:\w+))? (?:repl(?:y|ies)|answers?|responses?|reports?|messages)\b"
    r"|\b(?:keep (?:it|them|your (?:answers|replies|responses))|answer|reply|be|please be) (?:me )?(?:more |very |rather )?"
    r"(?P<v2>brief|short|concise|detailed|brief(?:ly)?|shortly|concisely|in detail|in more detail)\b",
    re.IGNORECASE,
)
WANTS_STYLE = re.compile(
    r"\b(?:please|request|i (?:need|want|prefer|like)|i['’]?d (?:like|prefer)|from (?:now|today) on|only|give me|keep)\b", re.I
)
# "make the budget 9,000"
MADE = re.compile(rf"(?:please |can you |could you |let['’]?s )*make (?:the |my |our ){MY_NOUN} (?:it |to )?{AMOUNT}(?=\s*(?:[.,!;]|$|now\b|instead\b|please\b))", re.I)
DIED = re.compile(r"\s+(?:(?:has |had |just |recently |sadly )*(?:died|passed away)|is dead)\b")
APPOSITION = re.compile(
    r"\b(?P<det>[Mm]y|[Oo]ur) (?P<k>(?:older |younger |little |big |twin |elder |best |close |old |dear )?[a-z]+),? "
    r"(?P<v>[A-Z][\w’-]+(?: [A-Z][\w’-]+)?)\b(?!['’]s? (?:of|at)\b)"
)
SHOULD_BE = re.compile(
    r"\b(?:it['’]s(?= [A-Z\d])|(?:it|that|this)(?: should| must|['’]s supposed to|['’]s meant to)? (?:be|is))(?: now| actually)? (?P<v>(?!not\b)[^.!?;\n]{1,50})",
    re.IGNORECASE,
)
REMEMBER = re.compile(
    r"(?:^|[.!?:;,\n—–-]\s*|\b(?:and|so|but|also|ok|okay|now|please|could you|can you|you must|you should) )"
    r"(?:please )?(?:also )?(?:remember|don['’]?t forget|do not forget|never forget|keep in mind|note|make a note"
    r"|take note|write down|bear in mind|know (?=this:|that:))(?: (?:this|that|it|down))?(?: (?:one|too|as well|for me|well|please))*"
    r"(?P<rest>(?: that)?[:,]? .*|[:,.!]?)$",
    re.IGNORECASE | re.DOTALL,
)
DECIDED = re.compile(
    r"(?:let['’]?s go (?:with|for) (?!it\b|this\b|that\b)|let['’]?s (?:book|use|choose) (?!it\b|this\b|that\b|our\b|your\b)|(?:i|we)(?:['’]ve| have)? (?:just |finally |already |now )*"
    r"(?:decided|booked|settled on|opted for|signed(?: up for)?|reserved|ordered|agreed (?:on|to|with)"
    r"|enrolled in|registered for|gone with|went with|agreed)\b|(?:i|we)['’]ll (?:take the|go (?:with|for)(?! it)|choose the)"
    r"|(?:i|we)(?:['’](?:m|re)| am| are) going (?:with|for)|we(?:['’]ve)? (?:chose|chosen|picked)\b|it['’]s decided|decision:|decided:)(?P<v>[^!?;\n]{0,160})",
    re.IGNORECASE,
)
DONE = re.compile(
    r"(?:(?:i|we)(?:['’]ve| have)?(?: just| finally| already)*(?: now)? (?:finished|completed|submitted|handed in|delivered)(?: up)?(?: with)?"
    r"|(?:i|we)(?:['’]m|['’]re| am| are)(?: just| finally| already)* (?:done|finished|through) with) (?P<v>[^.!?;,\n]{2,80})",
    re.IGNORECASE,
)
TO_DO = re.compile(
    r"(?:(?:i|we)(?:['’]ve)? still (?:have|need|has|got)(?: got)? to|still to do:?|to[- ]do:|still open:?|still missing:?"
    r"|(?:i|we) (?:haven['’]t|have not|still haven['’]t) (?:finished|written|completed|started)(?: yet)?"
    r"|next step:?|next up:?) (?P<v>[^.!?;\n]{2,90})",
    re.IGNORECASE,
)
DUE = re.compile(
    r"(?:the |my |our )?(?P<s>[\w' -]{2,40}?)(?: is|['’]s| are)(?: now)? due (?:on |by |in |at )?(?P<v>[^.!?;,\n]{2,40})", re.I
)
SMALL_TALK = re.compile(
    r"^\W*(?:(?:hi|hello|hey|good (?:morning|afternoon|evening|night)|morning|thanks?(?: you)?(?: so much| very much| a lot)?|ok(?:ay)?|yes|no|sure"
    r"|great|fine|bye|goodbye|see you(?: \w+)?|nice|cool|perfect|wonderful|alright|all right|got it|sounds good|haha?|lol|you too"
    r"|i see|i understand|that['’]?s (?:great|good|nice|true|right|helpful))(?: (?:there|again|for \w+(?: \w+){0,4}|everyone|then|too))?\W*){1,4}$",
    re.IGNORECASE,
)
QUESTION_TAG = re.compile(
    r",\s*(?:right|correct|is(?:n['’]t| not)? (?:it|that right)|is that right|do(?:n['’]t)? (?:i|you)|aren['’]t (?:i|you)|am i"
    r"|did(?:n['’]t)? i|have(?:n['’]t)? i|yes|no|or)\W*$", re.I
)  # fmt: skip
ASKS = re.compile(
    r"\W*(?:(?:so|and|but|or|well|now|also|then|hey|hi|hello|ok|okay|please|by the way|actually|oh|quick question)[,:]?\s+){0,3}"
    r"(?:what|who|whom|whose|which|where|when|why|how|is|are|am|was|were|do|does|did|can|could|should|would|will|has|have"
    r"|had|may|shall|any|tell me|show me|explain|recommend|suggest|remind me|isn['’]t|aren['’]t|don['’]t you|what['’]s|who['’]s|where['’]s|how['’]s)\b",
    re.IGNORECASE,
)
ASKS_PLAINLY = re.compile(
    r"\W*(?:what(?:['’]s| is| are| was| did| do| does| should| kind| type| time| day| year| else)|who (?:is|are|was|did)|where (?:is|are|was|did|do|can)"
    r"|when (?:is|are|was|did|do|does)|why (?:is|are|was|did|do|does)|how (?:is|are|was|did|do|does|can|should|much|many|long|about|often)"
    r"|(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have) (?:i|you|we|they|he|she|it|my|there|this|that|the|any)"
    r"|tell me|show me|explain|remind me (?!to\b))\b", re.I
)  # fmt: skip
HYPOTHETICAL = re.compile(
    r"\b(?:(?:if|in case|unless|whether|suppose|supposing|imagine|pretend|what if|as if|as though) (?:i|we|my|our)\b|i wish|if only|hypothetically"
    r"|let['’]?s say|for example, if|were to)\b", re.I
)  # fmt: skip
UNSURE = re.compile(
    r"\b(?:would|might|(?-i:may)|maybe|perhaps|could|should i|probably|possibly|thinking (?:of|about)|considering|wonder(?:ing)?|not sure"
    r"|hope to|hoping to|not certain|unsure|almost|nearly)\b", re.I
)  # fmt: skip
REPORTED = re.compile(
    r"\b(?:(?:he|she|they|[A-Z]\w+|(?:my|the|his|her|our|a) \w+|people|everyone|someone|somebody)(?:['’]s| has| have)?"
    r" (?:says?|said|thinks?|thought|claims?|claimed|believes?|told (?:me|us|him|her)|tells (?:me|us)|asked|wrote|writes|insists?|quoted|reads?)"
    r"(?: that)?[,:]?|according to \w+,?|as \w+ (?:says|said|put it),?)\s*(?=I\b|I['’]|my\b|we\b|[\"“])", re.M
)  # fmt: skip
CORRECTS = re.compile(
    r"\b(?:actually|correction|no longer|not any ?more|any ?more|any longer|it should be|should be|i was wrong|i misspoke|i meant|i mean"
    r"|instead of|rather than|not .{1,30},? but|changed (?:it |my mind|to)|from now on|that['’]s wrong|wrong|not true|used to|new .{1,25}:"
    r"|stopped|gave up|given up|switched|instead)\b|^\W*no[,!.:]", re.I
)  # fmt: skip
LEAD = re.compile(
    r"(?:(?:well|oh|yes|yeah|no(?=[,.!:;—])|nope|actually|also|honestly|so|but|and|now|okay|ok|hi|hello|hey|good (?:morning|afternoon|evening)|just|in fact|by the way"
    r"|btw|anyway|plus|besides|then|sorry|correction|wait|please note|note|please|remember|remember that|that|because|since|although|though|as"
    r"|(?:it )?turns out(?: that)?|it turned out(?: that)?|as you know|fyi|today|currently|these days|nowadays|recently|lately|i think|i guess|i believe|to be honest|personally|of course|for now|first"
    r"|(?:last|this|next) (?:year|month|week|spring|summer|autumn|fall|winter|\w+day)|yesterday|on (?:mon|tues|wednes|thurs|fri|satur|sun)day(?: (?:morning|afternoon|evening|night))?|since (?:last \w+|(?:19|20)\d\d|january|february|march|april|may|june|july|august|september|october|november|december)"
    r"|(?:\w+|a couple of) (?:days|weeks|months|years|year|month|week) ago|in (?:19|20)\d\d|finally|unfortunately|luckily|happily|sadly|one more thing|you know|know this|know that|from now on|i must say|i have to say|let me introduce myself"
    r"|please remember|please remember that|keep in mind that|don['’]t forget that|note that|nice to meet you|thanks|thank you|in the end|at last|like|haha|ah|hmm)"
    r"\b[,:!.]*[ \t]*|['’\"“(*\-•–—] ?)*", re.I
)  # fmt: skip
BREAKS = re.compile(
    r"(?:,(?!\d)|[;—–(，；：]|:(?!\d)|\.(?= )|\s(?:and|but|so|because|since|although|though|that|plus|while|as|whereas|or)(?=\s))\s*"
)
CUTS = re.compile(
    r"\s*(?:(?:,|\s)\s*(?:no longer|but|because|since|so|although|though|which|who|when|where|while|if|unless|until|till|after|before"
    r"|as (?:i|it|they|he|she|well|you|my|a treat|much)|as|too|then|now|right now|these days|anymore|any ?more|any longer|very much|a lot|so much|the most|more than|most|at the moment"
    r"|at all|anyway|though|by the way|however|please|to be honest|thank you|thanks|of course|for now|today|lately|recently|already|for (?:years|a long time|\d+ years|\w+ years)"
    r"|not|not just|even|just|every \w+|in the (?:morning|evening|afternoon)s?|again|instead|(?<!time )(?<!up )(?<!ing )with (?:my|a|two|three)|without|and (?:i|my|we|he|she|they|it|you|now|then|so|also|have|am|was|want|would|need|has|is|are|will|can|do|don['’]t)|and)\b.*"
    r"|,(?!\d).*|(?:[;—–(…，；：]|:(?!\d)).*|[.](?:\s.*)?$|\s-\s.*|['’]?\s*$)", re.I | re.S
)  # fmt: skip
PLACE_CUTS = re.compile(r"\s+(?:from|to|with|for|by|since|after|in order|(?:last|next|this) \w+|yesterday|today|\w+ \w+ ago|in (?:19|20)\d\d|in (?:January|February|March|April|May|June|July|August|September|October|November|December)|as an?|on (?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|the \d|\d))\b.*", re.I | re.S)
LIST = re.compile(
    r"\s*(?:,?\s+(?:especially|particularly|in particular|such as|including)\s+|,\s*(?:and |or |but also |also )?"
    r"|\s+and\s+(?:also )?|\s+or\s+|\s*&\s*|\s+/\s+|(?<=[a-z])/(?=[a-z])|\s+as well as\s+)\s*"
)
NOT_A_PIECE = re.compile(
    r"(?:i|he|she|it|we|they|you|my|his|her|our|your|that|this|but|so|because|which|who|when|where|if|though|although|then|also|not|live|lives|work|works|have|has"
    r"|am|is|are|was|can|will|would|want|need|think|don['’]t|play|hate|love|like|prefer|please|thanks?|what|how|do|does|could|even|even though|and|recently|just|to|in|on|at|for|with|of|find|feel|often|usually|sometimes|a variety|all of|etc|among|more|remember|(?:bear in )?mind(?: you)?$|believe me|trust me|you see|right|really|honestly|frankly|seriously|obviously|clearly|naturally|of course|apparently|sadly|unfortunately|luckily|fortunately|sorry|no|yes|well|too|either|anyway|as|since|unless|until|always|never|now|still|today)\b", re.I
)  # fmt: skip
NOT_LIKED = re.compile(
    r"[-–—]|(?:it|that|this|them|their|its|those|these|you|your|me|us|him|his|her|he|she|is|are|was|am|and|or|of|with|for|theme|the (?-i:[a-z])(?!(?:ea|each|cean|ountains?|utdoors|iano|uitar|iolin|old|eat|ain|now|un|heatre|heater|pera|inema|ountryside|ity|orest|oods|mell of|ound of|aste of|treet food|olou?r (?!and|of|here))\b)\w*|how|what|when|if|where|everywhere|everything|anything|nothing|something|all|to (?:hear|know|see|ask|think|say|share|tell|have|try|get|go back|talk|believe|do)"
    r"|both|one|so much|the (?:\w+ and )?(?:\w+ ){0,2}(?:actors?|plot|story|stories|characters?|ending|atmosphere|feeling|movie|film|book|song|lyrics|style)\b|the (?:idea|way|sound|suggestion|plan|first|second|same|other|one|ones|new one|most)|being here|talking|chatting|about|my (?:day|time)|myself|the people|the fact|very much|a lot|at all)\b", re.I
)  # fmt: skip
ADVERB = re.compile(
    r"(?:very |more |too |so |pretty |quite )?(?:well|hard|daily|weekly|monthly|regularly|often|properly|carefully|slowly|quickly"
    r"|alone|together|early|late|here|there|harder|better|more|less|a bit|a little|every (?:day|week|month|morning|evening|night))", re.I
)  # fmt: skip
FILLER_HEAD = re.compile(
    r"(?:the|an?|my|some|any|really|very|all kinds of|all sorts of|various|different|most|both|having|eating|drinking|going to|also|reading books by|especially|so called) ", re.I
)  # fmt: skip
NOT_NAMES = frozenset(
    ["I", "OK", "Okay", "Ok", "Here", "There", "Happy", "Sorry", "Sure", "Glad", "Fine", "Good", "Done", "Back", "Home", "Not", "Really", "So", "Now", "Just", "Still", "Also", "Very", "The", "A", "An", "My", "In", "On", "At", "Looking", "Going", "Feeling", "Trying", "Thinking", "Chinese", "English", "German", "French", "Spanish", "Italian", "American", "British", "Japanese", "Korean", "Indian", "Russian", "Canadian", "Dutch", "Portuguese", "Swiss", "Austrian", "Polish", "Turkish", "Mexican", "Brazilian", "Australian", "European", "Asian", "African", "Muslim", "Christian", "Jewish", "Buddhist", "Hindu", "Catholic", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
)
NATIONALITIES = frozenset(
    ["Chinese", "English", "German", "French", "Spanish", "Italian", "American", "British", "Japanese", "Korean", "Indian", "Russian", "Canadian", "Dutch", "Portuguese", "Swiss", "Austrian", "Polish", "Turkish", "Mexican", "Brazilian", "Australian"]
)
NOT_SUBJECTS = frozenset(
    ["He", "She", "It", "They", "We", "You", "This", "That", "These", "Those", "There", "Here", "Who", "What", "Which", "When", "Where", "How", "Everyone", "Everybody", "Nobody", "Someone", "Somebody", "One", "People", "Anyone", "Yes", "No", "And", "But", "So", "If", "Then", "Also", "Now", "Today", "Tomorrow", "Yesterday", "Life", "Nothing", "Everything", "The", "A", "An", "In", "On", "At", "Please", "Remember", "Well", "Oh", "Actually"]
)
# Where a name stands in a message without capitals: nothing else is meant after these, but for a few words.
_NO_NAME = (
    r"(?:(?:an?|the|my|our|his|her|your|their|this|that|these|it|me|you|him|us|them|one|not|no|of|to|in|on|at|by|for|and|or|as|so"
    r"|here|there|now|home|bed|town|school|college|university|work|fear|peace|hope|hell|heaven|harmony|silence|misery|poverty"
    r"|luxury|denial|pain|sin|style|comfort|constant|shared|rented|student|central|downtown|rural|urban|nature|isolation|chaos"
    r"|night|nights|sea|height|least|present|weekends|noon|free|money|hire|myself|yourself|all|times|something|someone|somewhere"
    r"|nothing|everything|scratch|time|first|last|next|what|where|when|how|which|abroad|part|about|off|out|up|back|over|just"
    r"|only|still|very|really|quite|too|also|always|never|sometimes|soon|is|are|was|be|if|with|from)\b|\d)"
)
_HEAD = r"(?:(?:new|san|santa|los|las|el|la|saint|st|rio de|buenos|mexico|cape|tel|kuala|hong|abu|united|costa|sri|south|north) )?"
_SMALL = rf"(?P<v>(?!{_NO_NAME}){_HEAD}[^\W\d_][\w-]*)"
NAME_FOLLOWS = tuple(
    re.compile(rf"\b(?:{lead}) {_SMALL}")
    for lead in (
        r"(?:live|lives|lived|living|reside|resides|based|born|raised|grew up) (?:here )?in",
        r"(?:moved|relocated|moving|move) (?:back )?(?:to|from)|(?:i['’]?m|i am|we['’]?re|we are|comes?) (?:originally )?from",
        r"my name(?:['’]?s| is)|'s name is|\bis called|named|calls? me|have (?:an? )?[a-z]+ called",
        r"(?:work|works|working|worked) (?:at|for)",
    )
)
_NO_KIN_NAME = (  # "my brother usually lives", "my dog who is"
    r"(?!(?:kel|sal|emi|li|lil|mol|pol|hol|bil|wil|car|bever|kimber|reil|al|nel)ly\b)\w+ly\b"
    r"|(?:who|whom|whose|that|which|and|often|already|both|either|then|who['’]?s|does|did|do|has|had|have|can|could|will|would"
    r"|should|might|may|must|used|got|went|said|says|told)\b"
)
KIN_NAMED = re.compile(
    rf"\bmy (?P<kin>[a-z]+) (?!{_NO_KIN_NAME}){_SMALL}"
    r"(?= (?:lives?|works?|is|was|has|loves?|likes?|hates?|eats?|drinks?|plays?|studies|moved|turned|speaks|prefers|wants|can['’]?t|doesn['’]?t)\b)"
)
NAMES_ANYWHERE = re.compile(  # of languages, and the month between figures
    rf"\b(?:{'|'.join(sorted(NATIONALITIES)).lower()})\b|\bmay(?= \d)|(?<=\d )may\b|(?<=(?:st|nd|rd|th) )may\b|(?<=born in )(?:{MONTHS.lower()})\b"
)
