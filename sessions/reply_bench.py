"""Does memory make replies better: questions with known answers, asked of the engine with its memory and without it.

Our own conversations are continued twice under the same settings, window tokens among them: as they come, and with
remember="off", which knows no facts; pages and bookmarks serve both. The questions are those pinned onto them
(sessions/questions.py) that are asked after the last turn, each once, one after the other in the same order; and each
once more in a new conversation of its user (`apart`), where nothing but what is remembered can help.

A reply is right if it holds every word of the expected value (memory/expected.py: by stem, 8,000 is 8000). Words are
compared, no meaning: a paraphrase counts as wrong, a quotation of the right sentence as right. No model judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memory.engine import Engine, resolved
from memory.expected import looked_for
from memory.settings import Settings
from memory.stores.sql import Store
from sessions.demo import load_demo, questions_file
from sessions.questions import Pinned, read

Say = Callable[[str], None]
Load = Callable[[Store, Settings], object]  # brings the conversations in

REMEMBER = {"with": "rules", "without": "off"}  # the setting
SHOWN = 12  # wrong replies


@dataclass(frozen=True, slots=True)
class Told:
    asked: Pinned
    reply: str

    @property
    def right(self) -> bool:
        """Every expected value stands in it."""
        return all(looked_for(words).held(self.reply) for words in self.asked.expect)

    @property
    def stale(self) -> bool:
        """It gives a value that holds no more, and not the one that does."""
        return not self.right and any(looked_for(words).held(self.reply) for words in self.asked.never)


def reply_figures(
    llm: str | None = None,
    progress: Say | None = None,
    *,
    load: Load | None = None,
    questions: Iterable[Pinned] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """`with` and `without` memory the share of right replies, `n`, `apart` the same in new conversations, `fails`.

    `llm`: any LiteLLM name, else the embedded default; `changes` are settings of both. `load` brings other
    conversations in than the demo, `questions` asks others. Errors of a model are the engine's own.
    """
    say = progress or (lambda line: None)
    asked = asked_last(read(questions_file()) if questions is None else questions)
    settings = Settings.of(**changes, **({"llm": llm} if llm else {}))
    told = {}
    for name, remember in REMEMBER.items():
        say(f"replies {name} memory …")
        with TemporaryDirectory() as folder, Store.open(Path(folder) / "store") as store:
            own = settings.but(remember=remember)
            (load or _demo)(store, own)
            told[name] = [*_replies(store, asked, own)]
            told[f"{name} apart"] = [*_apart(store, asked, own)]
    return {
        "llm": settings.llm,
        "window_tokens": resolved(settings).window_tokens,
        **{name: _right(told[name]) for name in REMEMBER},
        "stale": {name: sum(each.stale for each in told[name]) for name in REMEMBER},
        "apart": {name: _right(told[f"{name} apart"]) for name in REMEMBER} | {"n": len(asked)},
        "n": len(asked),
        "fails": [
            {"question": each.asked.question, "wanted": list(each.asked.expect), "reply": each.reply[:200]}
            for each in told["with"]
            if not each.right
        ][:SHOWN],
    }


def reply_rows(found: dict[str, Any]) -> list[list[object]]:
    """For a table: figure, value, n."""
    return [
        [f"replies that hold the answer, {name} memory{told}", f"{shares[name]:.2f}", shares["n"]]
        for told, shares in (("", found), (", in a new conversation", found["apart"]))
        for name in REMEMBER
    ]


def asked_last(questions: Iterable[Pinned]) -> list[Pinned]:
    """Those with a known answer that are asked after the last turn; each once, by conversation."""
    known = {(q.user, q.conversation, q.question): q for q in questions if q.expect and not q.turn}
    return sorted(known.values(), key=lambda q: (q.user, q.conversation))


def _demo(store: Store, settings: Settings) -> None:
    load_demo(store, settings=settings)


def _replies(store: Store, asked: Sequence[Pinned], settings: Settings) -> Iterator[Told]:
    """Each in its own conversation, after those before it."""
    for user, conversation in dict.fromkeys((each.user, each.conversation) for each in asked):
        with Engine.open(store, user=user, conversation=conversation, background=False, settings=settings) as engine:
            engine.change(remember=settings.remember, llm=settings.llm)
            for each in asked:
                if (each.user, each.conversation) == (user, conversation):
                    yield Told(each, engine.say(each.question).text)


def _apart(store: Store, asked: Sequence[Pinned], settings: Settings) -> Iterator[Told]:
    for n, each in enumerate(asked):
        with Engine.open(
            store, user=each.user, conversation=f"asked-{n}", background=False, settings=settings
        ) as engine:
            yield Told(each, engine.say(each.question).text)


def _right(told: Sequence[Told]) -> float:
    return round(sum(each.right for each in told) / len(told), 4) if told else 0.0
