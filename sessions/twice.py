"""Two prompts for one model: what asking both may take at the most, told before anybody is asked; then both replies.

Not here: what the prompts are (counterfactual.py, blind.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory.models.chat import Answer, complete, price_of
from memory.show import Shown, rows

Chat = Sequence[Mapping[str, Any]]  # the messages of a prompt, as a model reads them
Ask = Callable[[str, list[dict[str, Any]]], Answer]  # the model's name, and a prompt


@dataclass(frozen=True)
class Twice(Shown):
    llm: str
    prompts: tuple[Chat, Chat] = field(repr=False)
    tokens: tuple[int, int]  # of the prompts
    reply_tokens: int  # of each reply, at the most

    @property
    def cost_usd(self) -> float | None:
        """At the most; None: LiteLLM's table has no price for this model."""
        return price_of(self.llm, sum(self.tokens), 2 * self.reply_tokens)

    @property
    def summary(self) -> str:
        cost = self.cost_usd
        told = "LiteLLM knows no price for it" if cost is None else f"at most ${cost:.4f}"
        return (
            f"2 calls of {self.llm}: {sum(self.tokens):,} tokens in, at most {2 * self.reply_tokens:,} out, {told}"
        )

    def replies(self, ask: Ask | None = None, say: Callable[[str], None] = lambda _: None) -> tuple[str, str]:
        """One after the other. `say` hears which is asked next. Raises a ModelError."""
        said = []
        for nth, prompt in enumerate(self.prompts, 1):
            say(f"reply {nth} of 2")
            messages = [dict(message) for message in prompt]
            asked = ask(self.llm, messages) if ask else complete(self.llm, messages, max_tokens=self.reply_tokens)
            said.append(asked.text)
        return said[0], said[1]

    def to_dict(self) -> dict[str, Any]:
        return {"llm": self.llm, "prompt_tokens": sum(self.tokens), "completion_tokens": 2 * self.reply_tokens,
                "cost_usd": self.cost_usd}  # fmt: skip

    def __repr__(self) -> str:
        return f"<Twice: {self.summary}>"

    def _html(self) -> str:
        return rows("Asking both would take, at the most", self.to_dict())
