"""What people ask of their memory in the conversation itself, English and Chinese: one message, one act, or none.

"What do you remember about me?", "that is wrong, it should be 8000", "no, my budget is 8000", "forget the peanuts",
"remember that …", "undo that", "stop remembering". The patterns are narrow: a message that is taken for a command gets
no answer from the model. What may be meant otherwise ("forget it, let's go on", "don't forget to buy milk", "忘了密码")
is no act. Nothing is done here; answering.py does it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from memory.language import as_written, is_cjk, simplified

RECALL, CORRECT, FORGET, REMEMBER = "recall", "correct", "forget", "remember"
UNDO, PAUSE, RESUME = "undo", "pause", "resume"
LONGEST = 300  # characters; whoever writes more says more than one thing
LONGEST_VALUE = 6  # words, where no name of a fact or of an attribute says what is meant


@dataclass(frozen=True, slots=True)
class Act:
    """What is asked. Of a correction: which fact, if it is named; else what it is about; else its old value."""

    kind: str
    about: str = ""  # "": everything about whoever asks
    value: str = ""
    old: str = ""
    fact: int = 0
    clear: bool = True  # False: only if there is a fact that it clearly means
    more: tuple[int, ...] = ()  # facts that are named beside the first
    change: int = 0  # to be undone; 0: the one that was told of last, as it must be where the act is not `clear`
    chinese: bool = False


def asked(message: str) -> Act | None:
    """What the message asks of the memory; None where it asks something else, or may.

    >>> asked("What do you remember about the budget?")
    Act(kind='recall', about='the budget', value='', old='', fact=0, clear=True, more=(), change=0, chinese=False)
    >>> asked("Forget it, let's go on.") is None
    True
    """
    said = " ".join(message.split())
    if not said or len(said) > LONGEST:
        return None
    plain, read = _SHORT.sub(lambda m: _AT_LENGTH[m[0].lower()], said), simplified(said)
    for each, words in (*((f, read) for f in (_CHINESE if is_cjk(said) else ())), *((f, plain) for f in _ENGLISH)):
        if (act := each(words)) is not None:
            about, value, old = (as_written(part, read, said) for part in (act.about, act.value, act.old))
            return replace(act, about=about, value=value, old=old) if read != said else act
    return None


_AT_LENGTH = {"u": "you", "ur": "your", "pls": "please", "plz": "please", "thats": "that's", "whats": "what's",
              "dont": "don't", "isnt": "isn't"}  # fmt: skip
_SHORT = re.compile(rf"(?<![\w'’-])(?:{'|'.join(_AT_LENGTH)})(?![\w'’-])")
_NUMBERS = re.compile(r"(?:fact )?f(\d{1,6})|fact (?:number |no\.? ?)?(\d{1,6})", re.IGNORECASE)
_SEVERAL = re.compile(r"\s*(?:,|;|、|，|\band\b|&|和|跟|以及)\s*", re.IGNORECASE)


def _named(words: str) -> tuple[int, ...]:
    """The facts that are all that is named: "f3 and f4", "fact 7"."""
    found = [_NUMBERS.fullmatch(part) for part in _SEVERAL.split(words.strip()) if part]
    return tuple(int(m[1] or m[2]) for m in found if m) if all(found) else ()


# ── English ───────────────────────────────────────────────────────────────────────────────────────────

_KIND = r"(?:(?:hey|hi|hello|ok(?:ay)?|so|and|well|now|please|thanks)[,.!]? )*"
_WOULD = r"(?:(?:can|could|would|will) you (?:please )?|please )?"
_END = r"(?:,? (?:please|thanks|thank you|now|for good))*\s*[.!?]*$"
_BY_NOW = r"(?:,? (?:so far|by now|until now|up to now|right now|at the moment|already))?"
_DONE = r"(?:remember(?:ed)?|know|stored?|saved?|kept|noted)"
_WORDS = r"(?:[^,;?!.]|(?<=\d),(?=\d)|\.(?=\w))+?"  # the comma of a figure is none, nor does its point end a sentence
_VALUE, _OLD = rf"(?P<value>{_WORDS})", rf"(?P<old>{_WORDS})"

_RECALL = re.compile(
    rf"^{_KIND}{_WOULD}(?:(?:tell|show|list)(?: me)? )?(?:(?:all|everything)(?: that)? |what (?:exactly |all |else )?)"
    rf"(?:(?:do|did|have) )?you (?:(?:still|currently|already|now) )?(?:have )?(?P<verb>{_DONE})"
    rf"(?: (?:about|of|on|regarding) (?P<about>.+?)|(?: from(?: our)? (?:earlier|before)))?{_BY_NOW}{_END}",
    re.IGNORECASE,
)
_FACTS = r"(?:facts?|things?|info|information|details|data|memories|notes)"
_OF_ME = r"(?:about|of|on) (?:me|us|myself)"
_ASK = r"(?:show|list|tell|give|read|remind)(?: me)?(?: of)?"
_STILL = r"(?:(?:still|currently|already|now|actually|ever) )*"
_ABOUT_ME = re.compile(
    rf"^{_KIND}{_WOULD}(?:"
    rf"(?:{_ASK} |recall )?(?:what|which|everything|all)"
    rf"(?: (?:are |of )?(?:the |all )?{_FACTS})?(?: that)?(?: {_OF_ME})?"
    rf" (?:(?:do|did|have) )?you (?:have )?{_STILL}(?:remember(?:ed)?|know|recall|have|got|stored?|saved?|kept|noted"
    rf"|learn(?:ed|t)|gathered|collected)(?: (?:stored|saved|on file|on record|in (?:your )?memory))?(?: {_OF_ME})?"
    rf"|(?:do|did) you {_STILL}(?:remember|know|have|recall) (?:anything|something|(?:any )?{_FACTS}) {_OF_ME}"
    rf"|(?:what(?:['’]s| is| has been)|which {_FACTS} are) {_STILL}"
    rf"(?:stored|remembered|known|saved|kept|noted) {_OF_ME}"
    rf"|{_ASK} (?:all (?:of )?)?(?:the )?(?:stored )?facts {_OF_ME}"
    rf"|{_ASK} (?:all (?:of )?)?my (?:stored )?(?:facts|memories|memory)){_BY_NOW}{_END}",
    re.IGNORECASE,
)
_SAYS_OF_ME = re.compile(rf" {_OF_ME}\b| my (?:stored )?(?:facts|memor)", re.IGNORECASE)
_MEMORY_OF = re.compile(
    rf"^{_KIND}{_WOULD}(?:(?:show|list|tell)(?: me)?|what(?:'s| is| are)(?: in)?|what do you have in) (?:all )?"
    r"(?:your|the) (?:memory|memories)(?: (?:about|of|on) (?P<about>.+?))?" + _END,
    re.IGNORECASE,
)
_ME = re.compile(r"^(?:me|us|myself|ourselves|my ?self|all of us)$", re.IGNORECASE)
_ITSELF = re.compile(r"^(?:you|your|yourself|its?|that|this|them|it all)\b", re.IGNORECASE)


def _recall(said: str) -> Act | None:
    if _ABOUT_ME.match(said) and _SAYS_OF_ME.search(said):
        return Act(RECALL)
    found = _RECALL.match(said) or _MEMORY_OF.match(said)
    if not found:
        return None
    about = found["about"] or ""
    verb = found.groupdict().get("verb") or "remember"
    known = verb.lower() == "know" and not _ME.match(about)  # "what do you know about Python?" asks the model
    if about and (_ITSELF.match(about) or re.search(r"[,;:]| and then ", about)):
        return None
    return Act(RECALL, "" if _ME.match(about) else about, clear=not known) if about or not known else None


_WRONG = (
    r"(?:(?:(?:that|this|it)(?:['’]?s| is| was| isn['’]?t| is not) |you(?:['’]re| are) "
    r"|you(?:['’]ve| have)? (?:got )?(?:that|it) |you remember(?:ed)? (?:that|it) )"
    r"(?:just |quite |completely |all )?(?:wrong|incorrect|false|not (?:right|correct|true)|right|correct|true"
    r"|a mistake|mistaken)|wrong|incorrect)"
)
_DENIED = re.compile(r"(?:not|n['’]t|n['’]?t)\b", re.IGNORECASE)
_SHOULD = re.compile(
    rf"^(?P<no>(?:no|nope|sorry|wait|correction)[,.!;:]+ ?(?:but )?)?(?P<wrong>{_WRONG}[,.!;:]* ?(?:[-–—] ?)?)?"
    r"(?:actually,? )?"
    r"(?:(?:it|that|this)(?:['’]s| is| should be| should have been| must be| ought to be| was| should say| should read)"
    r"|(?P<bare>should be)|(?P<meant>I (?:meant|said))|(?P<right>the (?:right|correct|real|actual)"
    r" (?:value|answer|one|number|figure|amount|date|name|time) is))"
    rf" (?:actually |really |now |in fact )?{_VALUE}(?:,? (?:and )?not {_OLD})?[.!]*$",
    re.IGNORECASE,
)
_NOT_OLD = re.compile(
    rf"^(?P<no>(?:no|nope|sorry|wait|correction)[,.!;:]+ ?)?(?:actually,? )?(?:it(?:['’]s not| is not| isn['’]t) |not )"
    rf"{_OLD}(?:[,;](?!\d) ?(?:but |it(?:['’]s| is) )?| but (?:it(?:['’]s| is) )?){_VALUE}[.!]*$",
    re.IGNORECASE,
)
_NOUN = r"(?:my|the|our) (?P<about>(?!(?:right|correct|real|actual) )[a-z][\w'’-]*(?: [\w'’-]+){0,3}?)"
_MINE = re.compile(
    r"^(?:(?P<no>(?:no|nope|sorry|wait|correction)[,.!;:]+ ?(?:that(?:['’]s| is) (?:wrong|not right)[,.!;:]+ ?)?)"
    rf"|{_WRONG}[,.!;:]+ ?)(?:actually,? )?{_NOUN} (?:is|are|was|should be|should have been) "
    rf"(?:actually |really |now |in fact )?{_VALUE}(?:,? (?:and )?not {_OLD})?[.!]*$",
    re.IGNORECASE,
)
_MINE_NOT = re.compile(
    rf"^(?:no[,.!;:]+ ?)?(?:actually,? )?{_NOUN} (?:is|are|should be) {_VALUE},? (?:and )?not {_OLD}[.!]*$",
    re.IGNORECASE,
)
_MINE_IS_NOT = re.compile(
    rf"^(?:no[,.!;:]+ ?)?(?:actually,? )?{_NOUN} (?:isn['’]t|is not|wasn['’]t|was not) {_OLD}"
    rf"(?:[,;](?!\d) ?(?:but |it(?:['’]s| is) )| but (?:it(?:['’]s| is) )?){_VALUE}[.!]*$",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"^(?:no[,.!;:]+ ?)?(?:fact )?f(?P<fact>\d{1,6})(?: is (?:wrong|incorrect|not (?:right|true))[,.!;:]* ?"
    r"(?:(?:(?:it|that) (?:should be|is)|should be) (?P<value>.+?))?| should (?:be|say) (?P<value2>.+?))"
    rf"(?:,? (?:and )?not {_WORDS})?[.!]*$",
    re.IGNORECASE,
)
_CHANGE_NAMED = re.compile(
    rf"^{_KIND}{_WOULD}(?:change|correct|update|set|fix) (?:fact )?f(?P<fact>\d{{1,6}})"
    rf" ?(?:to|:|=) ?(?P<value>.+?){_END}",
    re.IGNORECASE,
)
# Where nothing says that a memory is meant: a figure, a day of the week.
_EXACT = re.compile(r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|周[一二三四五六日天]|星期", re.IGNORECASE)
_VAGUE = re.compile(
    r"^(?:fine|ok(?:ay)?|good|right|wrong|true|false|correct|over|done|it|that|this|so|not|like|because|what|how|why|"
    r"a (?:bit|lot|pity|shame|good|bad)\b.*|too\b.*|very\b.*|just\b.*|still\b.*|about\b.*)$",
    re.IGNORECASE,
)


def _correct(said: str) -> Act | None:
    if found := _NAMED.match(said):
        return Act(CORRECT, value=found["value"] or found["value2"] or "", fact=int(found["fact"]))
    if found := _CHANGE_NAMED.match(said):
        return Act(CORRECT, value=found["value"], fact=int(found["fact"]))
    for form in (_MINE, _MINE_NOT, _MINE_IS_NOT):
        if (found := form.match(said)) and not _VAGUE.match(found["value"]):
            old = found["old"] or ""
            clear = bool(old) or found.groupdict().get("no") is None
            return Act(CORRECT, found["about"], found["value"], old, clear=clear)
    found = _NOT_OLD.match(said)
    if found and (found["no"] or _both_exact(found["value"], found["old"])):
        return _by_value(found["value"], found["old"], clear=False)
    found = _SHOULD.match(said)
    if found and _says_what_was_meant(found):
        wrong = bool(found["wrong"]) and bool(found["right"] or "should" in said.lower())
        return _by_value(found["value"], found["old"] or "", clear=wrong and _says_wrong(found["wrong"]))
    return None


def _says_what_was_meant(found: re.Match[str]) -> bool:
    """Whether a form of `_SHOULD` corrects: it says that something is wrong, or what instead of what."""
    value, old = found["value"], found["old"] or ""
    if found["bare"]:
        return bool(found["wrong"])
    if found["meant"]:
        return bool(old or (_EXACT.search(value) and found["meant"].lower().endswith("meant")))
    return bool(found["no"] or found["wrong"]) or (bool(old) and _both_exact(value, old))


def _both_exact(value: str, old: str) -> bool:
    return bool(_EXACT.search(value) and _EXACT.search(old))


def _says_wrong(words: str) -> bool:
    return bool(re.search(r"wrong|incorrect|false|mistake", words, re.IGNORECASE)) or bool(_DENIED.search(words))


def _by_value(value: str, old: str, *, clear: bool) -> Act | None:
    value = re.sub(r"^(?:the|a|an) (?=\d)", "", value)
    if _VAGUE.match(value) or len(value.split()) > LONGEST_VALUE:
        return None
    return Act(CORRECT, value=value, old=old, clear=clear)


_SAID = r"(?:(?:that|what(?:ever)?|everything|all|anything)(?: that)? )?(?:I|we) (?:(?:have|['’]ve) )?(?:just )?"
_FORGET = re.compile(
    rf"^{_KIND}(?:(?:(?:can|could|would|will) )?you (?:can |may |should )?(?:please )?|please "
    r"|I(?: want|['’]d like| would like) you to )?"
    r"(?:forget|stop remembering|don['’]?t remember|(?:delete|remove) from your memory)"
    rf" (?:(?:about )?{_SAID}(?:said|told you|mentioned|wrote|asked)(?: you)? (?:about|of|regarding) "
    r"|(?:what|everything|all|anything)(?: that)? (?:you (?:still )?)?(?:know|remember|have)? ?"
    r"(?:about|of|on|regarding) "
    rf"|about |the fact that |that )?(?P<about>.+?){_END}",
    re.IGNORECASE,
)
# "Remove the peanuts" is said of a recipe; a memory is meant where it, or what is known, or a fact is named.
_AWAY = rf"^{_KIND}{_WOULD}(?:I(?: want|['’]d like| would like) you to )?(?:delete|remove|erase|wipe|clear)"
_DELETE = re.compile(
    rf"{_AWAY} (?:(?P<fact>(?:fact )?f\d.*?|fact \d.*?)"
    r"|(?:what|everything|all|anything)(?: that)? you (?:still )?(?:know|remember|have) (?:about|of|on) (?P<about>.+?)"
    r"|(?:the|your|any|all)? ?(?:memory|memories|facts) (?:about|of|on) (?P<about2>.+?)"
    rf"|(?P<about3>.+?) from (?:your |the )?memory){_END}",
    re.IGNORECASE,
)
_ALL_OF_IT = re.compile(
    rf"{_AWAY} (?:all (?:of )?)?(?:your (?:entire |whole )?memor(?:y|ies)|my (?:data|memories|facts)){_END}",
    re.IGNORECASE,
)
# Said to people, not to a memory; or a clause follows, or it is no thing.
_NOT_FORGOTTEN = re.compile(
    r"^(?:it|that|this|them|about it|to\b.*|how\b.*|where\b.*|when\b.*|why\b.*|who\b.*|what\b.*|whether\b.*|if\b.*"
    r"|you\b.*|your\b.*|yourself|not|one thing|something"
    r"|the (?:rest|above|(?:last|previous) (?:one|message|part|point))"
    r"|I (?:said|asked|mentioned|ever)\b.*|all that|all this|the question|my (?:last )?question|for (?:now|a)\b.*)$",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"[,;:?]|\b(?:and (?:then|let|tell|go)|for now|if|unless|because)\b", re.IGNORECASE)
_PLAINLY = re.compile(rf"{_SAID}(?:said|told|mentioned|wrote)|you (?:know|remember)|memory", re.IGNORECASE)
ALL = re.compile(
    r"^(?:me|us|everything|all|all of it|everything you (?:know|remember)|you (?:know|remember) about me"
    r"|我|所有|一切|全部)$",
    re.IGNORECASE,
)


def _forget(said: str) -> Act | None:
    if _ALL_OF_IT.match(said):
        return Act(FORGET, "everything")
    if found := _DELETE.match(said):
        about = found["fact"] or found["about"] or found["about2"] or found["about3"]
    elif found := _FORGET.match(said):
        about = found["about"]
    else:
        return None
    if numbers := _named(about):
        return Act(FORGET, fact=numbers[0], more=numbers[1:])
    if _GOES_ON.search(about):
        return None
    if _NOT_FORGOTTEN.match(about):
        return None
    return Act(FORGET, about, clear=bool(_PLAINLY.search(said) or ALL.match(about)))


_REMEMBER = re.compile(
    rf"^{_KIND}(?:(?:can|could|would|will) you (?:please )?|please |I want you to |do )?"
    r"(?:remember|note|keep in mind|make a note|memorize|memorise|(?:please )?don['’]?t forget)"
    r"(?: that |: ?|, ?that )(?P<what>.+?)[.!]*$",
    re.IGNORECASE,
)
# "Remember that time in Rome?" recalls; it tells nothing.
_TIME = re.compile(
    r"^(?:(?:one|first|last|other|old|crazy|great|funny|little|weird|amazing) )*(?:time|day|night|evening|morning"
    r"|summer|winter|guy|man|woman|song|movie|film|book|place|trip|party|restaurant|conversation|discussion|joke|story"
    r"|thing)\b",
    re.IGNORECASE,
)


def _remember(said: str) -> Act | None:
    found = _REMEMBER.match(said)
    if not found or "?" in said or _TIME.match(found["what"]) or len(found["what"].split()) < 2:
        return None
    return Act(REMEMBER, found["what"])


_UNDO = re.compile(
    rf"^{_KIND}{_WOULD}(?:(?:undo|revert) (?:that|it|this|(?:the|your|my) (?:last )?(?:change|correction)"
    rf"|(?P<memory>memory )?change (?:number |no\.? ?)?(?P<n>\d{{1,6}}))|take (?:that|it) back){_END}",
    re.IGNORECASE,
)
_PAUSE = re.compile(
    rf"^{_KIND}{_WOULD}(?:(?:stop|pause) remembering(?: (?:anything|things|everything|me))?"
    r"|(?:don['’]t|do not) (?:remember anything|(?:save|store) anything about me))"
    rf"(?: (?:else|more|any ?more|new|about me))*(?: (?:from now on|for now))?{_END}",
    re.IGNORECASE,
)
_RESUME = re.compile(
    rf"^{_KIND}{_WOULD}(?:you (?:can|may) )?(?:(?:start|resume) remembering(?: (?:again|things|me))*"
    rf"|remember (?:things|me) again){_END}",
    re.IGNORECASE,
)


def _undo(said: str) -> Act | None:
    found = _UNDO.match(said)
    clear = not found or bool(found["memory"] or not found["n"])  # "change 5" may be one of a text, or of a program
    return Act(UNDO, change=int(found["n"] or 0), clear=clear) if found else None


def _switch(said: str) -> Act | None:
    return Act(PAUSE) if _PAUSE.match(said) else Act(RESUME) if _RESUME.match(said) else None


# ── Chinese ───────────────────────────────────────────────────────────────────────────────────────────

_PLEASE = (
    r"(?:(?:请问?|麻烦|那么?|好的?|嗯|对了|现在)[，, ]?)*(?:你)?(?:能不能|可以|能|可不可以|帮我|给我)?"
    r"(?:告诉我|说说|列出|列一下|看看)?(?:一下)?"
)
_STOP = r"[吗呢吧啊呀]?[。！？?!. ]*$"
_THING = r"(?:事情?|事儿|内容|信息|东西|情况|资料|记忆)"
_WHAT = rf"(?:些什么|什么|哪些|多少){_THING}?"

_RECALL_ZH = re.compile(
    rf"^{_PLEASE}(?:你)?(?:现在|目前|还|都|到底|究竟)*(?:记得|记住|记着|记下|知道)(?:了)?"
    rf"(?:(?:关于|有关)(?P<about>.+?)的?|(?P<me>我(?:们)?(?:的)?))?(?:{_WHAT}|一切){_STOP}"
    rf"|^{_PLEASE}(?:关于|有关|对于?)(?P<about2>.+?)[，, ]?你(?:现在|目前|还|都)*(?:记得|记住|知道)了?{_WHAT}{_STOP}",
)
_MEMORY_ZH = re.compile(
    rf"^{_PLEASE}[你我](?:的)?记忆(?:里|中|库里)?(?:(?:关于|有关)我的?)?(?:都|现在)*有{_WHAT}{_STOP}"
    rf"|^(?:请|让我|给我)?(?:看看|显示|列出|查看|说说)(?:一下)?[你我]的(?:所有|全部)?记忆{_STOP}"
)
_OF_ME_ZH = re.compile(
    rf"^{_PLEASE}你(?:现在|目前|还|都|到底|究竟)*对我(?:现在|目前|还|都)*(?:了解{_WHAT}|有{_WHAT}了解|知道{_WHAT}){_STOP}"
    rf"|^{_PLEASE}你(?:现在|目前|还|都|到底|究竟)*(?:了解|保存|存|储存|记录)了?我(?:们)?的?{_WHAT}{_STOP}"
    rf"|^{_PLEASE}你(?:现在|目前|还|都|到底|究竟)*(?:记得|记住|知道|保存|存|记录)了?(?:{_WHAT})?(?:关于|有关)我的?{_THING}{_STOP}"
    rf"|^{_PLEASE}(?:关于|有关)我的?{_THING}?[，, ]?你(?:现在|目前|还|都)*(?:记得|记住|知道)了?(?:些)?什么{_STOP}"
)
_ALL_KNOWN_ZH = re.compile(
    rf"^(?:请|麻烦)?(?:你)?(?P<ask>告诉我|说说|列出|列一下|看看|说出)?(?:把)?(?P<all>所有|全部)?你(?:还|都|现在)*(?:记得|记住|知道)的"
    rf"(?P<all2>所有|一切|全部)?(?:的)?(?:(?:关于|有关)(?P<about>.+?)的?)?{_THING}?(?P<ask2>都?(?:告诉我|说出来|列出来|讲出来)|说一遍)?{_STOP}"
)


def _recall_chinese(said: str) -> Act | None:
    if _MEMORY_ZH.match(said) or _OF_ME_ZH.match(said):
        return Act(RECALL, chinese=True)
    found = _ALL_KNOWN_ZH.match(said)
    if found and (found["ask"] or found["ask2"] or found["all"]) and not re.search("[，,；;]", said):
        about = (found["about"] or "").strip("的 ")
        return Act(RECALL, "" if about in ("我", "我们") else about, chinese=True)
    found = _RECALL_ZH.match(said)
    if not found:
        return None
    about = (found["about"] or found["about2"] or "").strip("的 ")
    if "知道" in said and not (found["me"] or about in ("我", "我们")):
        return None
    if about.startswith(("你", "它", "这", "那")) or re.search("[，,；;]", about):
        return None
    return Act(RECALL, "" if about in ("我", "我们") else about, chinese=True)


_NO = (
    r"(?:(?:不对[，, ]*)+|不是的?|不|错了|不正确|(?:这|那|它|这个|那个)(?:是)?(?:不对|错的?|不正确)的?了?"
    r"|[你我]?(?:记|弄|说)错了|更正(?:一下)?)"
)
_ZH = "[^，,；;？?]+?"
_VALUE_ZH, _OLD_ZH = rf"(?P<value>{_ZH})", rf"(?P<old>{_ZH})"
_SHOULD_ZH = re.compile(
    rf"^(?P<no>{_NO})[，,。！!；;：: ]+(?P<should>应该|应当)?(?:其实|正确的|实际上)*(?:是|为){_VALUE_ZH}"
    rf"(?:[，,]?(?:而)?不是{_OLD_ZH})?[。！!.]*$"
)
_NOT_OLD_ZH = re.compile(rf"^(?:不对[，,。 ]*)?不是{_OLD_ZH}[，,；; ](?:而)?(?:应该|应当)?是{_VALUE_ZH}[。！!.]*$")
_NOUN_ZH = r"(?:我们?的?)?(?P<about>(?!这|那|它|他|她|说|记|弄|搞|应该|应当|其实|我|你)[^，,；;？?是不]{1,10}?)"
_MINE_ZH = re.compile(
    rf"^(?:{_NO})[，,。！!；;：: ]+(?:其实|实际上)?{_NOUN_ZH}(?:应该|应当|其实|现在)*是"
    rf"{_VALUE_ZH}(?:[，,]?(?:而)?不是{_OLD_ZH})?[。！!.]*$"
)
_MINE_WRONG_ZH = re.compile(
    rf"^{_NOUN_ZH}(?:不对|错了|不正确|记错了|是错的)[，,。！!；; ]+(?:其实|实际上)?(?:应该|应当)?(?:是|为){_VALUE_ZH}"
    rf"(?:[，,]?(?:而)?不是{_OLD_ZH})?[。！!.]*$"
)
_MINE_IS_NOT_ZH = re.compile(rf"^{_NOUN_ZH}不是{_OLD_ZH}[，,；; ]*(?:而)?(?:应该|应当)?是{_VALUE_ZH}[。！!.]*$")
_INSTEAD_ZH = re.compile(
    rf"^(?P<said>我说的)?(?:其实|应该|应当)?(?:是|为){_VALUE_ZH}[，,；; ]?(?:而)?不是{_OLD_ZH}[。！!.]*$"
    rf"|^不是(?P<old2>{_ZH})[，,；; ]?而(?:应该|应当)?是(?P<value2>{_ZH})[。！!.]*$"
)
_NAMED_ZH = re.compile(
    r"^(?:不对[，, ]*|请)?把?f(?P<fact>\d{1,6})(?:是)?(?:错的?了?|不对)?[，,。 ]*(?:(?:应该|应当)(?:是|为)|改[成为])"
    r"(?P<value>.+?)[。！!.]*$",
    re.IGNORECASE,
)
_VAGUE_ZH = re.compile(r"^(?:这样|那样|的|吗|吧|我|你|他|她|对|错|因为.*|什么.*|怎么.*|说.*|没.*|不.*)$")


def _correct_chinese(said: str) -> Act | None:
    if found := _NAMED_ZH.match(said):
        return Act(CORRECT, value=found["value"], fact=int(found["fact"]), chinese=True)
    if (found := _MINE_ZH.match(said)) and not _VAGUE_ZH.match(found["value"]):
        return Act(CORRECT, found["about"], found["value"], found["old"] or "", clear=bool(found["old"]), chinese=True)
    for form in (_MINE_WRONG_ZH, _MINE_IS_NOT_ZH):
        if (found := form.match(said)) and not _VAGUE_ZH.match(found["value"]):
            return Act(CORRECT, found["about"], found["value"], found["old"] or "", chinese=True)
    if found := _INSTEAD_ZH.match(said):
        value, old = found["value"] or found["value2"], found["old"] or found["old2"]
        if found["said"] or _both_exact(value, old):
            return Act(CORRECT, value=value, old=old, clear=False, chinese=True)
    for form in (_NOT_OLD_ZH, _SHOULD_ZH):
        found = form.match(said)
        if found and not _VAGUE_ZH.match(found["value"]) and len(found["value"]) <= LONGEST_VALUE * 3:
            clear = bool(found.groupdict().get("should")) and found["no"] != "不" and not found["no"].startswith("不是")
            return Act(CORRECT, value=found["value"], old=found["old"] or "", clear=clear, chinese=True)
    return None


_FORGET_ZH = re.compile(
    rf"^(?:(?:请|麻烦|那|好的?)[，, ]?)*(?:你)?(?:可以|能不能|帮我|把)*(?:"
    r"(?:忘掉|忘却|删掉|(?:删除|清除)(?=.*(?:记忆|关于|f\d))|(?:别|不要)再?记(?:住|得|着)?)(?P<a>.+?)了?"
    r"|(?<=请)(?:你)?(?:忘了|忘记)(?P<b>.+?)"
    r"|(?:忘了|忘记)(?=.{0,2}我.{0,3}(?:说|提))(?P<c>.+?)"
    r"|(?P<d>.+?)(?:都|全都|全部)?(?:给)?(?:忘了|忘掉|忘记|从(?:你的)?记忆(?:里|中)(?:删掉|删除|清除)"
    r"|(?:(?<=\d)|(?<=记忆))(?:都|全都|全部)?(?:删掉|删除|清除)))"
    rf"(?:的?(?:这件|那件)?(?:事情?|内容|信息|记忆))?{_STOP}"
)
_ALL_ZH = re.compile(rf"^(?:请|麻烦)?(?:你)?(?:清空|清除|删除|删掉)(?:你的)?(?:所有|全部)?(?:的)?记忆{_STOP}")
_TAIL_ZH = re.compile(r"(?:的?(?:这|那)?(?:件|条|个)?(?:事情?|内容|信息|记忆)|的?(?:这|那)(?:件|条|个))$")
_ABOUT_ZH = re.compile(
    r"^(?:我(?:之前|刚才|以前)?(?:说|提|讲|告诉你)(?:过|到|的)*的?)?(?:所有|一切)?(?:你(?:记得|知道)的)?(?:关于|有关)?"
    r"(?:我的)?(?P<about>.+?)的?$"
)
_NO_THING_ZH = re.compile(r"^(?:它|他|她|这|那|带|买|说|做|去|问|告诉|吧|了)")
_PLAINLY_ZH = re.compile("说|提|记得|知道|关于|记忆")


def _forget_chinese(said: str) -> Act | None:
    if _ALL_ZH.match(said):
        return Act(FORGET, "所有", chinese=True)
    found = _FORGET_ZH.match(said)
    if found and (numbers := _named(found["a"] or found["b"] or found["c"] or found["d"])):
        return Act(FORGET, fact=numbers[0], chinese=True, more=numbers[1:])
    if not found or re.search("[，,；;：:]", said.rstrip("。！？?!")) or "别忘" in said or "不要忘" in said:
        return None
    if found["d"] and "把" not in said[: said.index(found["d"])]:
        return None  # 我忘了: they forgot something themselves
    inner = _ABOUT_ZH.match(found["a"] or found["b"] or found["c"] or found["d"])
    about = (_TAIL_ZH.sub("", inner["about"]) or inner["about"]) if inner else ""
    if not about or _NO_THING_ZH.match(about):
        return None
    return Act(FORGET, about, clear=bool(_PLAINLY_ZH.search(said) or ALL.match(about)), chinese=True)


_REMEMBER_ZH = re.compile(
    r"^(?:(?:请|麻烦)[，, ]?)?(?:你)?(?:要|一定要|帮我|可以|能不能)?(?:记住|记下来?|记一下|别忘了|不要忘记)[，,：: ]*"
    r"(?P<what>.+?)[。！!.]*$"
)
_STATES_ZH = re.compile(r"^(?!了|的|这|那)(?:我|他|她|它|.{1,8}(?:是|在|有|要|叫|住|喜欢|不)).{3,}")


def _remember_chinese(said: str) -> Act | None:
    found = _REMEMBER_ZH.match(said)
    if not found or re.search(r"[吗呢？?]$|什么", said) or not _STATES_ZH.match(found["what"]):
        return None
    return Act(REMEMBER, found["what"], chinese=True)


_UNDO_ZH = re.compile(
    rf"^{_PLEASE}(?:撤销|撤回)(?:第(?P<n>\d{{1,6}})次|刚才的?|上一次的?|上次的?|这次的?)?(?:更改|修改|改动|操作)?{_STOP}"
)
_PAUSE_ZH = re.compile(
    rf"^(?:从现在起|以后|今后|接下来)?[，, ]?{_PLEASE}(?:暂停|停止|别再|不要再|不用再)(?:记忆|记录|记住|记)"
    rf"(?:任何|我说的|新的)?(?:东西|内容|事情?|话)?了?{_STOP}"
)
_RESUME_ZH = re.compile(rf"^{_PLEASE}(?:恢复|重新开始|继续)(?:记忆|记录|记住|记)(?:东西|内容|事情?)?{_STOP}")


def _undo_chinese(said: str) -> Act | None:
    found = _UNDO_ZH.match(said)
    return Act(UNDO, change=int(found["n"] or 0), chinese=True) if found else None


def _switch_chinese(said: str) -> Act | None:
    if _PAUSE_ZH.match(said):
        return Act(PAUSE, chinese=True)
    return Act(RESUME, chinese=True) if _RESUME_ZH.match(said) else None


_ENGLISH: tuple[Callable[[str], Act | None], ...] = (_recall, _correct, _undo, _switch, _forget, _remember)
_CHINESE: tuple[Callable[[str], Act | None], ...] = (
    _recall_chinese,
    _correct_chinese,
    _undo_chinese,
    _switch_chinese,
    _forget_chinese,
    _remember_chinese,
)
