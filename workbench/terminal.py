"""Views laid out for a terminal. What was said is shown as text: no escape sequence of it reaches the terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from memory.diagnosis import Diagnosis
    from memory.earlier import EarlierQuestions
    from memory.why import Verdict
    from sessions.replay import Replay
    from workbench.views.retrieval import RetrievalView
    from workbench.views.turn import CallRow, RecallView, TurnView
    from workbench.views.window import PageView
    from workbench.words import Words

WIDE = 160  # columns where nobody watches: a file, a pipe
FIGURE = re.compile(r"[-+$]?[\d,.]+(?: ?(?:ms|%))?|[–?]|None")
FILED = 4_000  # characters of what a file says beside one turn
SHORT = 16  # characters that are never broken
# Escape and the other controls but tab and newline; marks that turn the reading direction.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

out = Console(width=None if sys.stdout.isatty() else WIDE)


def plain(words: object, style: str = "") -> Text:
    return Text(CONTROLS.sub("\ufffd", str(words)), style=style)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Figures stand right and never break; words fold."""
    lines = [[str(cell) for cell in row] for row in rows]
    if not lines:
        out.print(plain("nothing", "dim"))
        return
    laid = Table(box=None, pad_edge=False, header_style="bold")
    for name, cells in zip(head, zip(*lines, strict=True), strict=True):
        figures = all(FIGURE.fullmatch(cell) for cell in cells)
        short = figures or max(map(len, cells)) <= SHORT
        laid.add_column(name, justify="right" if figures else "left", no_wrap=short, overflow="fold")
    for line in lines:
        laid.add_row(*map(plain, line))
    out.print(laid)


def json(value: object) -> None:
    """One document, for programs: nothing else is printed beside it."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=str).decode()
    sys.stdout.write(text + "\n")


def line(words: object) -> None:
    out.print(plain(words))


def aside(words: object) -> None:
    """Of work under way: not part of what was asked for."""
    Console(stderr=True).print(plain(words, "dim"))


def verdict(found: Verdict) -> None:
    """The answer in a line, then each stage with what was seen, then every change that was tried."""
    out.print(plain(found.line, "bold"))
    marks = [[s.name, s.mark, "; ".join((s.says, *(e.says for e in s.evidence[:3])))] for s in found.stages]
    table(["stage", "", "what was found"], marks)
    if found.remedies:
        table(["tried", "works", "what came of it"], [[r.change, r.works, r.says] for r in found.remedies])


def diagnosis(found: Diagnosis, say: Words) -> None:
    """The first suspect in a line, then each check; of suspects what shows it."""
    out.print(plain(found.says, "bold"))
    head = [say("symptoms.check"), "", say("symptoms.measured"), say("symptoms.try")]
    table(head, [[f[0], f[1], f[2], f[4]] for f in found.rows()])
    for each in found.suspects:
        out.print(plain(f"{each.name}: {each.compared_as(say('symptoms.limit'))}", "dim"))
        for line in each.evidence:
            out.print(plain(f"  {line}", "dim"))


def earlier(found: EarlierQuestions) -> None:
    """Questions of the past, and what each brought into its prompt."""
    out.print(plain(f"questions like “{found.question}”, compared {found.compared}", "bold"))
    table(*found.lines())


# ── a turn ────────────────────────────────────────────────────────────────────────────────────────────


def turn(view: TurnView, *, with_prompt: bool = False) -> None:
    """A step whole: what came in, what left, what was recalled, what the model read and said."""
    why = f": {view.why}" if view.why else ""
    out.print(plain(f"turn {view.turn} · step {view.step} · {view.state}{why} · {view.scope}", "bold"))
    for m in view.messages:
        out.print(plain(f"\n#{m.turn} {m.speaker}, {m.said_at:%Y-%m-%d %H:%M}, on page p{m.page}:"))
        out.print(plain(m.text, "cyan"))
    _evictions(view)
    for recall in view.recalls:
        _recall(recall)
    for each in view.retrievals:
        retrieval(each)
    if view.prompt:
        out.print(plain(f"\nprompt: {view.prompt_tokens:,} tokens in {len(view.prompt)} messages", "bold"))
        table(["section", "tokens"], [[name, f"{n:,}"] for name, n in view.sections.items()])
    for part in view.prompt if with_prompt else ():
        out.print(plain(f"── {part.section} · {part.role} · {part.tokens} tokens", "dim"))
        out.print(plain(part.text))
    if view.calls:
        out.print(plain("\nmodel", "bold"))
        table(["round", "llm", "prompt", "reply", "cost", "took", "end"], map(_call, view.calls))
    for row in view.filed:
        where = f"turn {row.turn}" if row.turn else "the conversation"
        out.print(plain(f"\nin the file, beside the words of {where}", "bold"))
        out.print(plain(row.text[:FILED], "dim"))
        if len(row.text) > FILED:
            out.print(plain(f"… {len(row.text) - FILED:,} characters more: --json", "dim"))


def _evictions(view: TurnView) -> None:
    if not view.evictions:
        return
    out.print(plain("\nleft the window", "bold"))
    rows = [
        [f"p{e.page}", e.stub, e.freed_tokens, e.policy, f"{e.score:g}", f"p{e.runner_up}", e.cause]
        for e in view.evictions
    ]
    table(["page", "stub", "freed", "policy", "score", "next would be", "cause"], rows)


def _recall(recall: RecallView) -> None:
    verdict = {True: ", right", False: ", wrong", None: ""}[recall.right]
    asked = ", ".join(recall.asked) or ", ".join(f"turns {a}-{b}" for a, b in recall.turns)
    question = f"“{recall.question}” " if recall.question else ""
    came = f"came {recall.arrived}{verdict}"
    out.print(plain(f"\nrecall by {recall.by}: {asked} {question}→ {came} {recall.note}", "bold"))
    if recall.retrieval:
        retrieval(recall.retrieval)
    for ref, reason in recall.refused:
        out.print(plain(f"  refused {ref}: {reason}"))


def retrieval(view: RetrievalView) -> None:
    with_what = f" with {view.embedder}" if view.embedder else " by words"
    out.print(plain(f"\n“{view.question}” by {view.strategy}{with_what}: {view.counted}", "bold"))
    out.print(plain(f"{view.limits} {view.note}", "dim"))
    head, made = view.rows()
    if made:
        table(head, made)


def _call(call: CallRow) -> list[object]:
    cost = "?" if call.cost_usd is None else f"${call.cost_usd:.4f}"
    end = call.error or ", ".join(call.calls) or call.finish
    return [call.round, call.llm, call.prompt_tokens, call.completion_tokens, cost, f"{call.ms:.0f} ms", end]


# ── a page, replays ───────────────────────────────────────────────────────────────────────────────────


def page(view: PageView) -> None:
    """A page's words, and when and why it came and left."""
    r = view.row
    out.print(plain(f"{r.name} {r.stub} · turns {r.first}-{r.last} · {r.tokens:,} tokens · {r.state}", "bold"))
    if view.summary:
        out.print(plain(view.summary))
    table(["turn", "who", "words"], [[m.turn, m.speaker, m.text] for m in view.turns])
    rows = [[h.step, h.kind, ", ".join(f"{k}={v}" for k, v in h.values.items() if k != "page")] for h in view.history]
    table(["step", "what", "why"], rows)


REPLAY_HEAD = ["conversation", "turns", "pages", "evicted", "wanted", "hits", "faults", "recalled", "questions"]
REPLAY_LEGEND = """\
evicted: pages · wanted: turns that recalls and labelled questions asked for, each question after the last turn
faults: wanted turns not in the window · recalled: tokens brought back for them · questions: how many are labelled"""


def replays(done: Sequence[Replay]) -> None:
    table(REPLAY_HEAD, map(_replay, done))
    out.print(plain(REPLAY_LEGEND, "dim"))


def _replay(one: Replay) -> list[str]:
    wanted, hits = one.demands + one.probe_demands, one.hits + one.probe_hits
    recalled = one.recalled_tokens + one.probe_recalled_tokens
    figures = [one.turns, one.pages, one.evictions, wanted, hits, wanted - hits, recalled, one.questions]
    return [one.recording.conversation, *(f"{n:,}" for n in figures)]
