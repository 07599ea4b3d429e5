"""The checks of a diagnosis: each a function from what was observed to one finding, nothing else.

They count what the log holds, and ask no model. Every limit names where it comes from: a setting, a published figure,
or "ours", which is a judgement to start from. A check that cannot tell says "not measured" and why; none guesses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median

from memory.events import (
    MemoryWorkFailed,
    ModelCalled,
    ModelFailed,
    PagePagedIn,
    PagesRecalled,
    PagesRetrieved,
    StepFinished,
)
from memory.exposure import UNMARKED, Exposure, versions_of_one
from memory.facts import Fact
from memory.finding import SUSPECT, Finding, Said, figure, said, share, unmeasured
from memory.language import terms
from memory.observed import Observed
from memory.remedies import lowered
from memory.scope import LIVE
from memory.settings import Settings
from memory.steps import Step

Check = Callable[[Observed], Finding]

OURS = "ours"
PAPER = "arXiv 2604.12376: a recall names the right page in 57 %"
QUARTER = 4
FEW_STEPS = 8  # steps, below which a trend says nothing


def _turns(steps: Iterable[Step]) -> list[str]:
    """The newest first: that is where one looks."""
    return [f"turn {step.turn}" for step in reversed(list(steps))]


# ── does memory take part at all ──────────────────────────────────────────────────────────────────────


def facts_reach_prompts(seen: Observed) -> Finding:
    """Whether any fact of long-term memory ever comes: a message that asks for none needs none."""
    name, off = "facts reach prompts", _switched_off(seen)
    if seen.scope.run != LIVE:
        return unmeasured(name, said("no live run", run=seen.scope.run))
    if off:
        why, remedy = off
        return Finding(name, SUSPECT, str(why), 0.0, "share", 0, len(seen.asked), len(seen.asked), 0.0, "settings",
                       remedy=remedy, said=why)  # fmt: skip
    considered = [step for step in seen.asked if step.placed]
    there = [step for step in considered if step.placed and any(f.stage in ("", "window") for f in step.placed.facts)]
    remedy = f"facts_coverage={max(0.05, lowered(seen.settings.facts_coverage / 2)):g}"
    return share(name, said("facts reach"),
                 len(there), len(considered), 0.01, f"{OURS}: none ever", least=True, remedy=remedy,
                 evidence=_turns(there), fewest=20)  # fmt: skip


def _switched_off(seen: Observed) -> tuple[Said, str] | None:
    s = seen.settings
    if not seen.knowledge.on:
        return said("facts paused"), "workbench memory resume"
    if s.remember == "off":
        return said("facts off"), "remember=rules"
    return (said("facts no room"), f"facts_tokens={Settings().facts_tokens}") if not s.facts_tokens else None


def turns_learned(seen: Observed) -> Finding:
    """Messages of the user that nobody looked at for facts yet."""
    name, s = "messages looked at for facts", seen.settings
    if s.remember == "off" or not seen.knowledge.on:
        off = "remember=rules" if s.remember == "off" else "workbench memory resume"
        return unmeasured(name, said("remembering off"), remedy=off)
    last = seen.knowledge.learned.get(seen.scope.conversation, 0)
    behind = [step for step in seen.steps if step.turn > last]
    found = figure(
        name, said("not looked at", behind=len(behind), of=len(seen.steps), last=last),
        len(behind), "messages", len(seen.steps), float(s.remember_turns), "remember_turns", evidence=_turns(behind),
        remedy="workbench work",
    )  # fmt: skip
    unread = [record for record in seen.ledger if record.raw]
    if not unread:
        return found
    return share(
        name, said("unread answers"), len(unread), len(seen.ledger), 0.0, OURS,
        evidence=[f"turn {record.turn}: {record.extractor}" for record in reversed(unread)], remedy="remember=rules",
        fewest=1,
    )  # fmt: skip


def history_is_asked_for(seen: Observed) -> Finding:
    """Of steps with pages outside of the window, those in which any was asked for."""
    name = "pages that left are asked for"
    outside = [step for step in seen.asked if any(p.sections.get("stubs") for p in step.prompts)]
    asked = [step for step in outside if bool(step.all(PagesRecalled)) or bool(step.all(PagesRetrieved))]
    told = said("history asked")
    return share(name, told, len(asked), len(outside), 0.01, f"{OURS}: nobody asks at all", least=True,
                 evidence=_turns(asked), remedy="retrieve_k=1", fewest=FEW_STEPS)  # fmt: skip


# ── what asking brings ────────────────────────────────────────────────────────────────────────────────


def recalls_bring(seen: Observed) -> Finding:
    """Recalls that brought nothing and found nothing in the window."""
    recalls = list(_recalls(seen))
    empty = [(step, b) for step, b in recalls if not (b.came or b.resident or b.opened)]
    told = [f"turn {step.turn}: {b.note or next((r.reason for r in b.refused), 'nothing came')}" for step, b in empty]
    return share("recalls that bring nothing", said("recalls empty"), len(empty), len(recalls), 0.2, OURS,
                 evidence=reversed(told), remedy=_easier(seen))  # fmt: skip


def recalls_are_right(seen: Observed) -> Finding:
    """Against labels, where the recording has some."""
    judged = [(step, b) for step, b in _recalls(seen) if b.right is not None]
    if not judged:
        return unmeasured("recalls are right", said("recalls unlabelled"))
    right = [1 for _, b in judged if b.right]
    wrong = [f"turn {step.turn}: came {', '.join(f'p{n}' for n in b.came) or 'nothing'}" for step, b in judged
             if not b.right]  # fmt: skip
    return share("recalls are right", said("recalls right"), len(right), len(judged), 0.57,
                 PAPER, least=True, evidence=reversed(wrong),
                 remedy=f"recall_k={min(20, seen.settings.recall_k + 2)}")  # fmt: skip


def _recalls(seen: Observed) -> Iterator[tuple[Step, PagesRecalled]]:
    for step in seen.steps:
        yield from ((step, b) for b in step.all(PagesRecalled))


def searches_pass(seen: Observed) -> Finding:
    """Searches whose best page stayed below the thresholds."""
    searches = [(step, b) for step in seen.steps for b in step.all(PagesRetrieved)]
    refused = [(step, b) for step, b in searches if not b.chosen and b.stages.get("scope", 1)]
    told = [f"turn {step.turn}: {b.note or 'below the thresholds'}" for step, b in refused]
    return share("searches below the threshold", said("searches refused"), len(refused), len(searches), 0.5, OURS,
                 evidence=reversed(told), remedy=_easier(seen))  # fmt: skip


def _easier(seen: Observed) -> str:
    """The limit that half of the refused searches would have met."""
    best = sorted(
        (b.thresholds["best_coverage_idf_share"], step.turn)
        for step in seen.steps
        for b in step.all(PagesRetrieved)
        if not b.chosen and "best_coverage_idf_share" in b.thresholds
    )
    if not best:
        return f"recall_k={min(20, seen.settings.recall_k + 2)}"
    return f"min_coverage={min(lowered(best[len(best) // 2][0]), seen.settings.min_coverage):g}"


def facts_have_room(seen: Observed) -> Finding:
    """Facts that were wanted and cut for want of room."""
    cut: list[tuple[Step, int, int]] = []
    wanted = 0
    for step in seen.asked:
        for each in step.placed.facts if step.placed else ():
            wanted += each.stage in ("", "budget")
            if each.stage == "budget":
                cut.append((step, each.fact, each.tokens))
    more = max((sum(t for s, _, t in cut if s is step) for step, _, _ in cut), default=0)
    return share("facts cut for room", said("facts cut"), len(cut), wanted, 0.1, OURS,
                 evidence=[f"turn {step.turn}: f{fact}" for step, fact, _ in reversed(cut)],
                 remedy=f"facts_tokens={seen.settings.facts_tokens + more}")  # fmt: skip


def pages_have_room(seen: Observed) -> Finding:
    """Pages that were wanted and refused, other than those that do not exist."""
    wanted = sum(len(b.came) + len(b.refused) for _, b in _recalls(seen))
    cut = [(step, r) for step, b in _recalls(seen) for r in b.refused if not _is_unknown(r.reason)]
    for_steps = [r for _, r in cut if "page_ins" in r.reason or "in one step" in r.reason]
    s = seen.settings
    wider = f"window_tokens={int(s.window_tokens * 1.25)}"
    return share("pages cut for room", said("pages cut"), len(cut), wanted, 0.1, OURS,
                 evidence=[f"turn {step.turn}: {r.ref}, {r.reason}" for step, r in reversed(cut)],
                 remedy=f"page_ins={min(50, s.page_ins + 2)}" if for_steps else wider)  # fmt: skip


def _is_unknown(reason: str) -> bool:
    return reason.startswith(("no such page", "not a page"))


def vectors_there(seen: Observed) -> Finding:
    """Texts of the run without a vector, or with a bad one."""
    name, found = "vectors", seen.vectors
    if not found.there:
        why = found.note or "nothing was embedded"
        return unmeasured(name, said("words alone", why=why), n=found.wanted, remedy="workbench reindex")
    bad = found.wrong_size + found.unsound + found.empty + found.twin_texts
    told = [*found.faults, *(f"one vector for “{a[:40]}” and “{b[:40]}”" for a, b in found.twins)]
    says = said("vectors bad")
    return share(name, says, found.missing + bad, found.wanted, 0.05, OURS, evidence=told,
                 remedy="workbench verify" if bad else "workbench reindex", fewest=1)  # fmt: skip


# ── one thing, two values ─────────────────────────────────────────────────────────────────────────────


def conflicts_open(seen: Observed) -> Finding:
    """Facts that cannot all hold, and nobody decided."""
    found = [c for c in seen.knowledge.open_conflicts if any(_readable(seen, n) for n in c.facts)]
    told = [f"c{c.id}: {' against '.join(f'f{n}' for n in c.facts)}" for c in reversed(found)]
    remedy = ""
    if found:
        last = found[-1]
        remedy = f"workbench memory settle {last.id}" + (f" f{last.would_win}" if last.would_win else "")
    return figure("conflicts left open", said("conflicts open", open=len(found), of=len(seen.knowledge.conflicts)),
                  len(found), "conflicts", len(seen.knowledge.conflicts), 0.0, "SPEC L7: both are kept until decided",
                  evidence=told, remedy=remedy)  # fmt: skip


def two_values_hold(seen: Observed) -> Finding:
    """Things of one value that have two which hold at once, and no conflict says so."""
    k, doubled = seen.knowledge, list[tuple[Fact, Fact]]()
    groups = [[f for f in facts if f.open and f.state == "active" and _readable(seen, f.id)]
              for facts in k.by_key.values()]  # fmt: skip
    for facts in groups:
        doubled += [(a, b) for n, a in enumerate(facts) for b in facts[n + 1 :] if versions_of_one(a, b)]
    told = [f"{a.name} and {b.name}" for a, b in doubled]
    remedy = f"workbench memory forget {doubled[0][0].name}" if doubled else ""
    return figure("two values hold at once", said("two hold", pairs=len(doubled)),
                  len(doubled), "pairs", sum(map(len, groups)), 0.0, "SPEC L5: one value, the older in history",
                  evidence=told, remedy=remedy)  # fmt: skip


def _readable(seen: Observed, number: int) -> bool:
    return number in seen.knowledge.facts and seen.knowledge.facts[number].readable_in(seen.scope.conversation)


def versions_side_by_side(seen: Observed) -> Finding:
    """Prompts in which an old value stood unmarked beside the new one: the alarm of exposure.py."""
    alarms = seen.stale.alarms
    return _exposed(seen, "two versions in one prompt", said("old beside new"),
                    alarms, 0.0)  # fmt: skip


def old_value_alone(seen: Observed) -> Finding:
    """Prompts whose pages held an old value and nothing that says otherwise."""
    alone = [e for e in seen.stale.exposures if e.how == UNMARKED and not e.beside and e.where != "facts"]
    return _exposed(seen, "old value on a page", said("old on page"), alone, 0.0)


def old_value_as_fact(seen: Observed) -> Finding:
    """Prompts whose section of facts held an old value without its end."""
    lines = [e for e in seen.stale.exposures if e.how == UNMARKED and e.where == "facts"]
    return _exposed(seen, "old value among the facts", said("old as fact"), lines, 0.0)


def old_value_in_bookmarks(seen: Observed) -> Finding:
    """Prompts whose bookmarks name an old value: a bookmark that looks sufficient stops the recall."""
    named = [e for e in seen.stale.exposures if e.where == "bookmark"]
    return _exposed(seen, "old value in a bookmark", said("old in bookmark"), named, 0.05)


def _exposed(seen: Observed, name: str, says: Said, found: Sequence[Exposure], limit: float) -> Finding:
    if not seen.stale.at_risk:
        return unmeasured(name, said("none superseded"))
    steps = len({e.step for e in found})
    return share(name, says, steps, seen.stale.at_risk, limit, OURS, evidence=map(str, reversed(found)),
                 remedy=_rid(seen, found), fewest=1)  # fmt: skip


def _rid(seen: Observed, found: Sequence[Exposure]) -> str:
    """What would take the last one away, or say that it is old."""
    if not found:
        return ""
    last = found[-1]
    if last.where == "facts":
        return f"workbench memory forget f{last.fact}"
    if last.where == "bookmark":
        return f"other keywords for p{last.page}"
    if not last.beside:  # what weighs much comes unasked
        return f"workbench memory mark f{last.newer[0]}"
    return f"say the new value again: a later message outweighs p{last.page}"


def replies_with_old_value(seen: Observed) -> Finding:
    """Replies that say an old value and not the new one."""
    if not seen.stale.at_risk:
        return unmeasured("replies with an old value", said("none superseded"))
    uttered = sorted((turn, f) for f in seen.stale.facts for turn in f.replied)
    told = [f"turn {turn}: f{f.fact} {f.said}, not f{f.newer} {f.says}" for turn, f in reversed(uttered)]
    return share("replies with an old value", said("old in reply"), len({turn for turn, _ in uttered}),
                 seen.stale.at_risk, 0.0, f"{OURS}: by words, history told counts too", evidence=told,
                 remedy=f"workbench show {uttered[-1][0]}" if uttered else "", fewest=1)  # fmt: skip


def stale_replies(seen: Observed) -> Finding:
    """Replies whose facts were changed while the model answered."""
    finished = [(step, b) for step in seen.steps for b in step.all(StepFinished)]
    stale = [(step, b) for step, b in finished if b.stale_facts]
    told = [f"turn {step.turn}: {', '.join(f'f{n}' for n in b.stale_facts)}" for step, b in reversed(stale)]
    return share("facts changed during a reply", said("facts changed"), len(stale),
                 len(finished), 0.0, "DESIGN: such a reply is kept and marked", evidence=told, fewest=1,
                 remedy=f"ask again what turn {stale[-1][0].turn} asked" if stale else "")  # fmt: skip


def updates_take(seen: Observed) -> Finding:
    """New statements that were set apart or left in dispute instead of replacing the old value."""
    outcomes = [(record.turn, o) for record in seen.ledger for o in record.outcomes if o.verdict != "none"]
    held = ("conflict", "quarantined", "refused")
    stuck = [(turn, o) for turn, o in outcomes if o.verdict in held]
    told = [f"turn {turn}: {o.verdict}{f' f{o.fact}' if o.fact else ''}, {o.reason}" for turn, o in reversed(stuck)]
    fact = next((o.fact for _, o in reversed(stuck) if o.fact), 0)
    return share("statements that did not take", said("updates stuck"), len(stuck),
                 len(outcomes), 0.1, OURS, evidence=told, fewest=1,
                 remedy=f"workbench memory release f{fact}" if fact else "workbench memory ledger")  # fmt: skip


def update_lag(seen: Observed) -> Finding:
    """Turns until a new value stood in a prompt without the old one unmarked."""
    name, facts = "new values take over", seen.stale.facts
    if not facts:
        return unmeasured(name, said("none superseded"))
    open_ones = [f for f in facts if f.lag_turns is None]
    told = [f"f{f.newer} after f{f.fact}: {'not yet' if f.lag_turns is None else f'{f.lag_turns} turns'}"
            for f in sorted(facts, key=lambda f: (f.lag_turns is not None, -(f.lag_turns or 0)))]  # fmt: skip
    lag = seen.stale.update_lag
    if lag is None or len(open_ones) * 2 > len(facts):
        return share(name, said("not taken over"), len(open_ones), len(facts), 0.5, OURS, evidence=told,
                     fewest=1, remedy=f"workbench why “{open_ones[0].says}”")  # fmt: skip
    told_so = said("taken over", lag=f"{lag:g}", of=len(facts) - len(open_ones), open=len(open_ones))
    return figure(name, told_so, lag, "turns", len(facts), 4.0, f"{OURS}: 2 is the next message",
                  evidence=told, remedy="remember_turns=1")  # fmt: skip


# ── time ──────────────────────────────────────────────────────────────────────────────────────────────


def _timed(seen: Observed) -> list[tuple[Step, dict[str, float]]]:
    return [(step, b.ms) for step in seen.steps for b in step.all(StepFinished) if b.ms]


NO_CLOCK = said("no clock")


def overhead(seen: Observed) -> Finding:
    """Milliseconds a step spends on memory, the model's left out."""
    timed = _timed(seen)
    if not timed:
        return unmeasured("time for memory", NO_CLOCK)
    spent = [(sum(v for stage, v in ms.items() if stage != "model"), step, ms) for step, ms in timed]
    by_stage = {stage: median(ms.get(stage, 0.0) for _, ms in timed) for _, ms in timed for stage in ms}
    worst = sorted(spent, key=lambda each: -each[0])[:3]
    told = [f"median {stage} {ms:.1f} ms" for stage, ms in sorted(by_stage.items(), key=lambda kv: -kv[1])]
    told += [f"turn {step.turn}: {total:.0f} ms" for total, step, _ in worst]
    slowest = max((stage for stage in by_stage if stage != "model"), key=by_stage.__getitem__, default="")
    middle = median(total for total, _, _ in spent)
    remedy = {"recall": "recall_rounds=2", "plan": "retrieve_k=0"}.get(slowest, "workbench bench engine")
    says = said("overhead" if slowest else "overhead nowhere", ms=f"{middle:.0f}", stage=slowest)
    return figure("time for memory", says, middle, "ms", len(timed), 100.0, f"{OURS}: what a person notices",
                  evidence=told, remedy=remedy)  # fmt: skip


def model_time(seen: Observed) -> Finding:
    """Seconds the model takes for a reply, the slow tenth."""
    timed = [(ms["model"], step) for step, ms in _timed(seen) if "model" in ms]
    if not timed:
        return unmeasured("time of the model", NO_CLOCK)
    ranked = sorted(timed, key=lambda each: -each[0])
    slow = ranked[len(ranked) // 10][0]
    return figure("time of the model", said("model time", s=f"{slow / 1000:.1f}"), slow, "ms",
                  len(timed), 20_000.0, OURS, evidence=[f"turn {s.turn}: {ms:,.0f} ms" for ms, s in ranked],
                  remedy=f"window_tokens={seen.settings.window_tokens // 2}")  # fmt: skip


def rounds(seen: Observed) -> Finding:
    """Calls of the model for one reply: each recall is one more."""
    called = [(len([c for c in step.all(ModelCalled) if c.task == "reply"]), step) for step in seen.asked]
    called = [(n, step) for n, step in called if n]
    if not called:
        return unmeasured("calls for a reply", said("no model"))
    mean = sum(n for n, _ in called) / len(called)
    many = [f"turn {step.turn}: {n} calls" for n, step in sorted(called, key=lambda e: (-e[0], -e[1].turn)) if n > 1]
    return figure("calls for a reply", said("calls", mean=f"{mean:.2f}"), mean, "calls", len(called), 1.5, OURS,
                  evidence=many, remedy="retrieve_k=1")  # fmt: skip


def waits(seen: Observed) -> Finding:
    """Calls that failed: each costs its time, and the wait until the next try."""
    failed = [(step, b) for step in seen.steps for b in step.all(ModelFailed)]
    calls = len(failed) + sum(len(step.all(ModelCalled)) for step in seen.steps)
    waited = sum(b.again_in_s or 0.0 for _, b in failed)
    told = [f"turn {step.turn}: {b.error}, again in {b.again_in_s or 0:g} s" for step, b in reversed(failed)]
    kinds = Counter(b.error for _, b in failed)
    cause = kinds.most_common(1)[0][0] if kinds else ""
    remedy = f"window_tokens={int(seen.settings.window_tokens * 0.8)}" if cause == "ContextOverflow" else "llm=another"
    return share("calls that failed", said("calls failed", s=f"{waited:g}"), len(failed),
                 calls, 0.05, OURS, evidence=told, remedy=remedy)  # fmt: skip


def work_in_step(seen: Observed) -> Finding:
    """Work on the memory by a model that a reply had to wait for."""
    timed = {step.number: sum(ms.values()) for step, ms in _timed(seen)}
    spent = [(sum(c.ms for c in step.all(ModelCalled) if c.task in ("eviction", "retrieval")), step)
             for step in seen.steps if step.number in timed]  # fmt: skip
    total, mine = sum(timed.values()), sum(ms for ms, _ in spent)
    if not total:
        return unmeasured("memory work before the reply", NO_CLOCK)
    told = [f"turn {step.turn}: {ms:,.0f} ms" for ms, step in sorted(spent, key=lambda e: -e[0]) if ms]
    remedy = "second_look=none" if seen.settings.second_look != "none" else "eviction=lru"
    return share("memory work before the reply", said("work before"),
                 round(mine), round(total), 0.25, OURS, evidence=told, remedy=remedy)  # fmt: skip


# ── tokens and money ──────────────────────────────────────────────────────────────────────────────────


def _sections(seen: Observed) -> Counter[str]:
    total: Counter[str] = Counter()
    for step in seen.asked:
        for prompt in step.prompts:
            total.update(prompt.sections)
    return total


def _section(seen: Observed, name: str, section: str, limit: float, limit_from: str, remedy: str) -> Finding:
    total = _sections(seen)
    most = sorted(((p.sections.get(section, 0), step) for step in seen.asked for p in step.prompts),
                  key=lambda each: -each[0])[:3]  # fmt: skip
    return share(name, said("section", section=section), total[section], sum(total.values()), limit,
                 limit_from, evidence=[f"turn {step.turn}: {n:,} tokens" for n, step in most if n],
                 remedy=remedy)  # fmt: skip


def instructions_share(seen: Observed) -> Finding:
    return _section(seen, "instructions in the prompt", "system", 0.3, OURS, "operations=recall")


def facts_share(seen: Observed) -> Finding:
    s = seen.settings
    return _section(seen, "facts in the prompt", "facts", 0.2, OURS, f"facts_tokens={max(100, s.facts_tokens // 2)}")


def stubs_share(seen: Observed) -> Finding:
    """Against what the setting lets them have of the window."""
    s = seen.settings
    told = f"stub_share={max(0.02, round(s.stub_share / 2, 3)):g}"
    return _section(seen, "bookmarks in the prompt", "stubs", s.stub_share, "stub_share, of the window", told)


def recalled_share(seen: Observed) -> Finding:
    s = seen.settings
    return _section(seen, "recalled pages in the prompt", "recalled", 0.4, OURS, f"recall_k={max(1, s.recall_k - 1)}")


def recalled_unused(seen: Observed) -> Finding:
    """Recalled pages whose words the reply did not take up."""
    c, s = seen.state.counts, seen.settings
    remedy = f"recall_k={s.recall_k - 1}" if s.recall_k > 1 else "recall_level=summary"
    return share("recalled for nothing", said("recalled unused"), c.guests_unused,
                 c.guests_used + c.guests_unused, 0.5, OURS, remedy=remedy)  # fmt: skip


def thrash(seen: Observed) -> Finding:
    """Pages that came back soon after they had left."""
    came = [(step, b) for step in seen.steps for b in step.all(PagePagedIn)]
    back = [(step, b) for step, b in came if b.thrash]
    pages = Counter(b.page for _, b in back)
    told = [f"p{page}: {n} times" for page, n in pages.most_common()] + [f"turn {step.turn}" for step, _ in back]
    s = seen.settings
    return share("thrash", said("thrash", steps=s.thrash_steps), len(back), len(came), 0.25, OURS,
                 evidence=told, remedy=f"guest_steps={min(20, s.guest_steps + 2)}")  # fmt: skip


def _spent(seen: Observed, *, work: bool) -> int:
    return sum(
        c.prompt_tokens + c.completion_tokens
        for step in seen.steps
        for c in step.all(ModelCalled)
        if (c.task != "reply") is work
    )


def work_tokens(seen: Observed) -> Finding:
    """Tokens of memory work against those of replies."""
    mine, replies = _spent(seen, work=True), _spent(seen, work=False)
    tasks = Counter[str]()
    for step in seen.steps:
        for c in step.all(ModelCalled):
            tasks[c.task] += c.prompt_tokens + c.completion_tokens if c.task != "reply" else 0
    told = [f"{task}: {n:,} tokens" for task, n in tasks.most_common() if n]
    return share("tokens of memory work", said("work tokens"), mine, mine + replies, 0.3, OURS,
                 evidence=told, remedy=_cheaper(seen, tasks))  # fmt: skip


def _cheaper(seen: Observed, tasks: Counter[str]) -> str:
    task = tasks.most_common(1)[0][0] if tasks else ""
    without = {"bookmark": "bookmarks=rarity", "eviction": "eviction=lru", "extraction": "remember=rules",
               "retrieval": "second_look=none", "summary": "summaries=extract"}  # fmt: skip
    return without.get(task, "memory_llm=a cheaper model")


def extra_rounds_tokens(seen: Observed) -> Finding:
    """Tokens of prompts that were sent again within a step, after a recall."""
    first = sum(step.prompts[0].tokens for step in seen.asked)
    again = [(sum(p.tokens for p in step.prompts[1:]), step) for step in seen.asked if len(step.prompts) > 1]
    total = sum(n for n, _ in again)
    told = [f"turn {step.turn}: {n:,} tokens" for n, step in sorted(again, key=lambda each: -each[0])]
    return share("prompts sent again", said("sent again"), total, first + total, 0.33, OURS,
                 evidence=told, remedy="retrieve_k=1")  # fmt: skip


def prices(seen: Observed) -> Finding:
    calls = [(step, c) for step in seen.steps for c in step.all(ModelCalled)]
    if not calls:
        return unmeasured("prices", said("no model"))
    unknown = [(step, c) for step, c in calls if c.cost_usd is None]
    told = [f"{llm}: {n} calls" for llm, n in Counter(c.llm for _, c in unknown).most_common()]
    total = sum(c.cost_usd or 0.0 for _, c in calls)
    return share("prices", said("prices", usd=f"{total:.4f}"), len(unknown), len(calls), 0.0,
                 f"{OURS}: a sum with gaps is none", evidence=told, fewest=1,
                 remedy="llm=a name that LiteLLM's table prices")  # fmt: skip


# ── bookmarks ─────────────────────────────────────────────────────────────────────────────────────────


def keywords_shared(seen: Observed) -> Finding:
    """Keywords that stand on several pages' bookmarks: they name no page."""
    holders: dict[str, list[str]] = {}
    for page in seen.state.pages.values():
        if page.bookmark and page.bookmark.keywords:
            for keyword in {k.strip().casefold() for k in seen.words[page.bookmark.keywords].split(",")} - {""}:
                holders.setdefault(keyword, []).append(page.name)
    shared = sorted(((k, pages) for k, pages in holders.items() if len(pages) > 1), key=lambda e: (-len(e[1]), e[0]))
    given, many = sum(map(len, holders.values())), sum(len(pages) for _, pages in shared)
    other = "hybrid" if seen.settings.bookmarks != "hybrid" else "rarity"
    return share("keywords of several pages", said("keywords shared"), many, given, 0.25, OURS,
                 evidence=[f"{keyword}: {', '.join(pages[:5])}" for keyword, pages in shared],
                 remedy=f"bookmarks={other}")  # fmt: skip


def bare_bookmarks(seen: Observed) -> Finding:
    """Closed pages that left with a name and no keyword."""
    marked = [page for page in seen.state.pages.values() if page.bookmark]
    bare = [page.name for page in marked if page.bookmark and not page.bookmark.keywords]
    return share("bookmarks without keywords", said("bare"), len(bare), len(marked), 0.1, OURS,
                 evidence=bare, remedy=f"stub_tokens={min(64, seen.settings.stub_tokens + 8)}")  # fmt: skip


def names_known(seen: Observed) -> Finding:
    """Pages that the model asked for by a name nobody has."""
    asked = [(step, b) for step, b in _recalls(seen) if b.by == "model" and b.asked]
    wrong = [(step, r) for step, b in asked for r in b.refused if _is_unknown(r.reason)]
    return share("names that no page has", said("unknown names"), len(wrong),
                 sum(len(b.asked) for _, b in asked), 0.05, OURS,
                 evidence=[f"turn {step.turn}: {r.ref}" for step, r in reversed(wrong)],
                 remedy="protocol=schema" if seen.settings.protocol != "schema" else "protocol=tools")  # fmt: skip


def folded_bookmarks(seen: Observed) -> Finding:
    """Pages that left and stand in the window only within a range."""
    stubs = seen.state.stubs
    folded = [page for page in seen.state.evicted if page.bookmark and page.number not in stubs.shown]
    gone = [page for page in seen.state.evicted if page.bookmark]
    s = seen.settings
    return share("bookmarks folded into ranges", said("folded"), len(folded),
                 len(gone), 0.8, OURS, evidence=[f"p{r.first}-p{r.last}" for r in stubs.ranges],
                 remedy=f"stub_share={min(0.5, round(s.stub_share * 1.5, 3)):g}")  # fmt: skip


def work_failed(seen: Observed) -> Finding:
    """Work that a model was asked for and that came to nothing; jobs that stand as failed."""
    came = [(step, b) for step in seen.steps for b in step.all(MemoryWorkFailed)]
    failed = [job for job in seen.jobs if job.state == "failed"]
    asked = len(seen.jobs) + sum(c.task != "reply" for step in seen.steps for c in step.all(ModelCalled)) + len(came)
    told = [f"job {job.id}: {job.kind} {job.key}, {job.reason}" for job in reversed(failed)]
    told += [f"turn {step.turn}: {b.task}, {b.reason}" for step, b in reversed(came)]
    remedy = f"workbench jobs --retry {failed[-1].id}" if failed else "memory_llm=another model"
    return share("memory work that failed", said("work failed"), len(came) + len(failed), asked, 0.05,
                 OURS, evidence=told, remedy=remedy, fewest=1)  # fmt: skip


# ── too much ──────────────────────────────────────────────────────────────────────────────────────────


def window_full(seen: Observed) -> Finding:
    """Prompts above the mark at which pages should have left."""
    s = seen.settings
    if not s.window_tokens:
        return unmeasured("prompts above the mark", said("no budget"))
    sizes = [(step.prompts[-1].tokens, step) for step in seen.asked]
    over = [(n, step) for n, step in sizes if n > s.high_tokens]
    return share("prompts above the mark", said("above the mark", tokens=f"{s.high_tokens:,}"), len(over), len(sizes),
                 0.2, "high_watermark, which a recall may pass",
                 evidence=[f"turn {step.turn}: {n:,} tokens" for n, step in reversed(over)],
                 remedy=f"low_watermark={max(0.1, round(s.low_watermark - 0.1, 2)):g}")  # fmt: skip


def unasked_facts(seen: Observed) -> Finding:
    """Facts that stand in a prompt because they weigh much, not because the message asks."""
    placed = [f for step in seen.asked if step.placed for f in step.placed.facts if not f.stage]
    hot = Counter(f.fact for f in placed if f.why == "hot")
    told = [f"f{fact}: {n} prompts" for fact, n in hot.most_common()]
    remedy = f"workbench memory mark f{hot.most_common(1)[0][0]} --importance 0.5" if hot else ""
    return share("facts that nobody asked for", said("unasked"), sum(hot.values()), len(placed),
                 0.8, OURS, evidence=told, remedy=remedy)  # fmt: skip


def repeated_facts(seen: Observed) -> Finding:
    """Facts that hold and say the same in the same words."""
    held = [f for f in seen.knowledge.current if _readable(seen, f.id)]
    by_terms: dict[frozenset[str], list[str]] = {}
    for fact in held:
        by_terms.setdefault(frozenset(terms(seen.words.get(fact.text, ""))), []).append(fact.name)
    same = [names for words, names in by_terms.items() if words and len(names) > 1]
    return share("facts told twice", said("told twice"), sum(len(n) - 1 for n in same), len(held),
                 0.05, OURS, evidence=[", ".join(names) for names in same],
                 remedy="workbench memory consolidate")  # fmt: skip


def facts_kept(seen: Observed) -> Finding:
    """Facts kept of a hundred messages of this conversation."""
    kept = Counter(o.fact for record in seen.ledger for o in record.outcomes if o.verdict == "stored")
    if not seen.ledger:
        return unmeasured("facts kept", said("no turn looked at"), n=len(seen.steps))
    rate = 100 * len(kept) / len(seen.ledger)
    return figure("facts kept", said("facts kept", facts=len(kept), turns=len(seen.ledger)), rate,
                  "facts per 100 turns", len(seen.ledger), 150.0, f"{OURS}: SPEC L3 keeps no small talk",
                  evidence=[f"f{n}" for n in list(kept)[-3:]], remedy="remember=rules")  # fmt: skip


# ── growth ────────────────────────────────────────────────────────────────────────────────────────────


def _trend(name: str, code: str, of: Sequence[tuple[float, Step]], limit: float, unit: str, remedy: str) -> Finding:
    """The last quarter against the one before the middle: the window fills at first, and that is no growth."""
    if len(of) < FEW_STEPS * QUARTER:
        return unmeasured(name, said("few steps", steps=len(of), enough=FEW_STEPS * QUARTER), n=len(of))
    part = len(of) // QUARTER
    early, late = of[part : 2 * part], of[-part:]
    before, after = median(v for v, _ in early), median(v for v, _ in late)
    grown = after / before if before else 1.0
    told = [f"turns {early[0][1].turn}-{early[-1][1].turn}: {before:,.4g} {unit}",
            f"turns {late[0][1].turn}-{late[-1][1].turn}: {after:,.4g} {unit}"]  # fmt: skip
    return figure(name, said(code, before=f"{before:,.4g}", after=f"{after:,.4g}"),
                  grown, "times", len(of), limit, OURS, evidence=told, remedy=remedy)  # fmt: skip


def prompt_growth(seen: Observed) -> Finding:
    sizes = [(float(step.prompts[-1].tokens), step) for step in seen.asked]
    remedy = f"high_watermark={max(0.2, round(seen.settings.high_watermark - 0.1, 2)):g}"
    return _trend("growth of prompts", "prompt grows", sizes, 1.5, "tokens", remedy)


def overhead_growth(seen: Observed) -> Finding:
    """A proxy for the CPU: memory's own milliseconds."""
    spent = [(sum(v for stage, v in ms.items() if stage != "model"), step) for step, ms in _timed(seen)]
    if not spent:
        return unmeasured("growth of time for memory", NO_CLOCK)
    return _trend("growth of time for memory", "time grows", spent, 2.0, "ms",
                  "workbench bench engine")  # fmt: skip


def log_growth(seen: Observed) -> Finding:
    """Bytes of records for 1,000 turns, without words."""
    turns = seen.state.turn
    if turns < 2 * FEW_STEPS:
        return unmeasured("growth of the log", said("few turns", turns=turns), n=turns)
    rate = 1000 * seen.log_bytes / turns
    return figure("growth of the log", said("log grows", bytes=f"{seen.log_bytes:,}", turns=f"{turns:,}"), rate,
                  "bytes per 1,000 turns", turns, 20e6, OURS,
                  remedy=f"page_turns={min(200, seen.settings.page_turns * 2)}")  # fmt: skip


def facts_growth(seen: Observed) -> Finding:
    """Facts that hold, against all there are: history is kept for ever, and forgetting is consolidation's."""
    all_of_them, held = len(seen.knowledge.facts), len(seen.knowledge.current)
    return share("facts that hold no more", said("facts history"), all_of_them - held, all_of_them, 0.7, OURS,
                 remedy="workbench memory consolidate", fewest=20)  # fmt: skip


def work_waits(seen: Observed) -> Finding:
    """Jobs of this run that nobody does."""
    waiting = [job for job in seen.jobs if job.state in ("queued", "failed")]
    told = [f"job {job.id}: {job.kind} {job.key}, {job.state} {job.reason}".rstrip() for job in waiting]
    return figure("memory work that waits", said("jobs wait", waiting=len(waiting), of=len(seen.jobs)), len(waiting),
                  "jobs", len(seen.jobs), 20.0, OURS, evidence=told, remedy="workbench work")  # fmt: skip


def process_memory(seen: Observed) -> Finding:
    """Said, so that nobody takes its absence for health."""
    return unmeasured("memory and CPU of the process", said("no process"),
                      remedy="workbench bench engine")  # fmt: skip
