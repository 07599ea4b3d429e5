"""Every number and choice the engine obeys, in one frozen value.

A field carries its range, its unit and a sentence; sliders, command-line flags, the table in the docs and
the messages of validation are generated from that. The hash of the values stands on every step.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

from memory.errors import BadSetting, UnknownName


def number(default: float, low: float, high: float, unit: str, says: str, choices: Iterable[float] = ()) -> Any:
    return field(
        default=default,
        metadata={"low": low, "high": high, "unit": unit, "says": says, "choices": tuple(choices)},
    )


def name(default: str, says: str, registry: str = "", *, may_be_empty: bool = False) -> Any:
    """A choice by name; `registry` says which dictionary of strategies it is looked up in."""
    metadata = {"says": says, "unit": "name", "registry": registry, "may_be_empty": may_be_empty}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """
    >>> Settings.of(boundary="fixed_20", high_watermark=0.9).page_turns
    20
    """

    llm: str = name("workbench/offline", "The chat model, by its LiteLLM name.")
    memory_llm: str = name(
        "",
        "The model for memory work, a cheaper one perhaps; empty: the chat model. Or by task: name,bookmark=other.",
        may_be_empty=True,
    )
    protocol: str = name("auto", "How the model asks for pages: tools, schema, or auto by model.", "protocol")
    operations: str = name(
        "auto",
        "What it may ask, joined by +, or all; auto: recall, with a real model also search_memory, bookmark, settle.",
    )
    retry_s: float = number(90, 0, 3_600, "seconds", "So long a busy or unreachable model is tried again; 0: never.")
    window_tokens: int = number(0, 0, 4_000_000, "tokens", "The window's budget; 0 takes the model's own.")
    reply_tokens: int = number(500, 16, 64_000, "tokens", "Kept free for the reply.")
    high_watermark: float = number(0.85, 0.2, 1.0, "share of the window", "Above it pages leave.")
    low_watermark: float = number(0.60, 0.1, 1.0, "share of the window", "Down to it they leave.")
    stub_share: float = number(0.15, 0.02, 0.5, "share of the window", "What bookmarks may take at the most.")
    stub_tokens: int = number(24, 8, 64, "tokens", "The longest single stub.")
    boundary: str = name("fixed_n", "What closes a page; several joined by + close at the first.", "boundary")
    page_turns: int = number(10, 1, 200, "turns", "fixed_n: a page closes after so many turns.")
    page_exchanges: int = number(5, 1, 100, "exchanges", "exchanges: a page closes after so many.")
    page_tokens: int = number(800, 50, 32_000, "tokens", "tokens: a page closes before it grows past this.")
    idle_hours: float = number(6, 0.1, 720, "hours", "idle_gap: a page closes after so long a silence.")
    topic_overlap: float = number(0.15, 0, 1, "Jaccard overlap", "topic_shift: a page closes below this.")
    topic_turns: int = number(5, 1, 50, "turns", "How many turns back both shifts compare; meaning_shift: messages.")
    topic_nearness: float = number(
        0.3, 0, 1, "way from unrelated to the same", "meaning_shift, which embeds a message first: closes below this."
    )
    eviction: str = name("lru", "Which page leaves first.", "eviction policy")
    old_turns: int = number(200, 0, 100_000, "turns", "cooperative: a page so old may go unasked; 0: none may.")
    cooperative_asks: str = name(
        "ranking", "cooperative: ranking asks once for all pages, verdicts for a yes or no on each.", "question"
    )
    bookmarks: str = name("rarity", "What makes a page's keywords.", "bookmark generator")
    bookmark_template: str = name("entities", "What llm and llm_batch look for on a page.", "bookmark template")
    bookmark_key: str = name("", "What is key here, in your own words; joins the template.", may_be_empty=True)
    recall_k: int = number(3, 1, 20, "pages", "Pages a recall by question brings at the most.")
    recall_level: str = name("text", "What of a recalled page comes first: text, or summary.", "recall level")
    summaries: str = name("auto", "What makes a page's summary: extract, llm; auto: llm where memory_llm names one.",
                          "maker of summaries")  # fmt: skip
    retrieval: str = name("fusion", "How pages are ranked for a question.", "retrieval strategy")
    second_look: str = name(
        "none", "What the model does with the best: filter those that help, rerank, or none.", "second look"
    )
    retrieve_k: int = number(0, 0, 20, "pages", "Pages that each message brings back unasked; 0: only recalls do.")
    min_coverage: float = number(
        0.2, 0, 1, "share of the question's rarity", "Words say no if the best page's best turn matches less."
    )
    min_margin: float = number(
        0.3, 0, 1, "way from the mean to 1", "Vectors say no if the nearest exchange stands out less."
    )
    words_weight: float = number(1.0, 0, 5, "weight", "What the words of a page count in its score.")
    vectors_weight: float = number(0.6, 0, 5, "weight", "What the nearest exchange of a page counts.")
    recency_weight: float = number(0.0, 0, 5, "weight", "What being new counts.")
    use_weight: float = number(0.0, 0, 5, "weight", "What being used of late counts.")
    duplicate_overlap: float = number(
        0.8, 0.1, 1, "Jaccard overlap", "A page that shares so many of a better one's words does not come."
    )
    remember: str = name("rules", "Who draws facts from turns: rules, llm (the memory_llm), or off.", "extractor")
    remember_turns: int = number(
        1, 1, 50, "messages",
        "Messages of the user after which they are looked at; or when their page closes: topic_shift, on topic change.",
    )  # fmt: skip
    facts_tokens: int = number(400, 0, 8_000, "tokens", "What is known may take of a prompt; 0: no facts in prompts.")
    facts_k: int = number(5, 0, 50, "facts", "Facts that a message brings into its prompt at the most.")
    facts_coverage: float = number(
        0.3, 0, 1, "share of the question's rarity", "A fact that holds less of what is asked does not come."
    )
    page_ins: int = number(5, 1, 50, "pages", "Pages brought back in one step at the most.")
    recall_rounds: int = number(4, 1, 20, "rounds", "Recalls in one step before the model must answer.")
    guest_steps: int = number(1, 1, 20, "steps", "How many steps a recalled page stays.")
    thrash_steps: int = number(6, 1, 100, "steps", "A page back within so many steps of leaving is thrash.")
    chunk_share: float = number(
        0.20, 0.05, 0.5, "share of the window", "A longer message is cut in pieces, and so is a page."
    )
    count_margin: float = number(
        0.03, 0, 0.5, "share of the count", "Added to each token count, for the model may count otherwise."
    )

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if (number := _number(f.type, value)) is not value:
                object.__setattr__(self, f.name, value := number)
            if "low" not in f.metadata:
                if not isinstance(value, str) or not (value or f.metadata["may_be_empty"]):
                    raise BadSetting(f"{f.name} must be a name, not {value!r}")
                continue
            low, high, unit = f.metadata["low"], f.metadata["high"], f.metadata["unit"]
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise BadSetting(f"{f.name} must be {low:,} to {high:,} {unit}, not {value!r}")
            if f.type == "int" and value != int(value):
                raise BadSetting(f"{f.name} must be a whole number of {unit}, not {value!r}")
        by_task(self.memory_llm)
        if self.low_watermark > self.high_watermark:
            raise BadSetting(
                f"low_watermark ({self.low_watermark:g}) must not be above high_watermark ({self.high_watermark:g})"
            )

    @classmethod
    def of(cls, **changes: Any) -> Settings:
        return cls().but(**changes)

    def but(self, **changes: Any) -> Settings:
        """A copy with changes; `boundary="fixed_20"` is short for fixed_n with page_turns=20."""
        known = {f.name: f for f in fields(self)}
        for key in changes:
            if key not in known:
                raise UnknownName("setting", key, known)
        if isinstance(changes.get("boundary"), str):
            changes = {**_spelled_out(changes["boundary"]), **{k: v for k, v in changes.items() if k != "boundary"}}
        return replace(self, **changes)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Settings:
        return cls().but(**values)

    @classmethod
    def stored(cls, values: Mapping[str, Any]) -> Settings:
        """As a log holds them: a setting of a newer program means nothing here."""
        known = {f.name for f in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @cached_property
    def hash(self) -> str:
        """Twelve hex digits that name these values."""
        # As floats: 6 and 6.0 are equal settings, so they need equal hashes.
        values = {name: float(v) if isinstance(v, int) else v for name, v in self.to_dict().items()}
        text = json.dumps(values, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def high_tokens(self) -> int:
        return int(self.window_tokens * self.high_watermark)

    @property
    def low_tokens(self) -> int:
        return int(self.window_tokens * self.low_watermark)

    @property
    def stub_budget(self) -> int:
        return int(self.window_tokens * self.stub_share)

    @property
    def chunk_tokens(self) -> int:
        return max(50, int(self.window_tokens * self.chunk_share))

    def __repr__(self) -> str:
        changed = ", ".join(
            f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default
        )
        return f"Settings({changed or 'defaults'})"


TASKS = ("bookmark", "eviction", "extraction", "retrieval", "summary")  # of memory work


@lru_cache(maxsize=64)
def by_task(memory_llm: str) -> Mapping[str, str]:
    """The models that the setting names, by task; "" is for every other task.

    Raises UnknownName for a task that is not there, BadSetting for one that is named twice or without a model.

    >>> dict(by_task("gpt-4o-mini, bookmark=ollama/llama3"))
    {'': 'gpt-4o-mini', 'bookmark': 'ollama/llama3'}
    """
    found: dict[str, str] = {}
    for part in filter(None, map(str.strip, memory_llm.split(","))):
        task, equals, llm = part.rpartition("=")
        task, llm = task.strip(), llm.strip()
        if equals and task not in TASKS:
            raise UnknownName("task of memory work", task, TASKS)
        if not llm or any(sign.isspace() for sign in llm):
            raise BadSetting(f"memory_llm must name a model for each task, as in bookmark=gpt-4o-mini, not {part!r}")
        if task in found:
            who = f"the task {task}" if task else "every task that is not named"
            raise BadSetting(f"memory_llm names two models for {who}: {found[task]} and {llm}; leave one out")
        found[task] = llm
    return MappingProxyType(found)


SHORT = {"fixed": ("fixed_n", "page_turns"), "exchange": ("exchanges", "page_exchanges"),
         "tokens": ("tokens", "page_tokens"), "idle": ("idle_gap", "idle_hours")}  # fmt: skip


def _spelled_out(boundary: str) -> dict[str, Any]:
    """`fixed_20+idle_6` → boundary fixed_n+idle_gap, page_turns 20, idle_hours 6."""
    names, numbers = [], {}
    for part in boundary.split("+"):
        short = re.fullmatch(r"(fixed|exchange|tokens|idle)_(\d+(?:\.\d+)?)h?", part.strip())
        if short:
            rule, number_field = SHORT[short[1]]
            names.append(rule)
            numbers[number_field] = float(short[2])
        else:
            names.append(part.strip())
    return {"boundary": "+".join(names), **numbers}


def _number(type_name: Any, value: Any) -> Any:
    if type_name == "int" and isinstance(value, float) and value.is_integer():
        return int(value)
    if type_name == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def described() -> list[dict[str, Any]]:
    """One entry a field, in order: name, type, default, and what its metadata says."""
    return [{"name": f.name, "type": f.type, "default": f.default, **f.metadata} for f in fields(Settings)]
