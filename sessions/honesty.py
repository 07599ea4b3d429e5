"""What a result is worth: over how many questions, out of how many candidates, with which labels, tuned on what.

It stands beside every result of the lab, the recall funnel and the shape of a conversation, what settings do to a
conversation's questions and its lines of retrieval, pinned questions and the baselines. It judges nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

OWN, RAW, CORRECTED, MODEL = "own", "raw", "corrected", "model"  # labels: by hand, as published, put right, of a model
SHIPPED, HELD_OUT, NOTHING = "shipped", "held_out", "nothing"  # weights as they ship; of other conversations; there are
LABELS = {
    OWN: "labels made by hand with the conversation",
    RAW: "labels as they were published",
    CORRECTED: "labels with the published corrections",
    MODEL: "what the model asked back: what it wanted, not what was right",
}
TUNED = {
    SHIPPED: "weights as they ship, tuned on LoCoMo: held out only where this is none of it",
    HELD_OUT: "weights chosen on the other conversations",
    NOTHING: "nothing was tuned",
}
RECALL, REPLY, EVICTION = "recall", "reply", "eviction"  # what is not measured
UNMEASURED = {
    RECALL: "whether a model would recall, and what it would answer",
    REPLY: "whether a reply is right: used means that it took up words of the page",
    EVICTION: "what a recall would bring: eviction alone is compared",
}
FEW = 30  # questions; below that an interval is wider than most differences


@dataclass(frozen=True, slots=True)
class Honesty:
    """One result's."""

    n: int  # questions
    conversations: int
    k: int  # pages a recall brings at the most; 0: none was made
    candidates: float  # pages it chooses among, the mean
    context_tokens: tuple[int, int]  # least and most that stands in the window; 0, 0: counted in pages
    corpus_tokens: int  # of a conversation on average
    labels: str = OWN
    wrong_labels: int | None = None  # known to be wrong; None: nobody looked
    tuned: str = SHIPPED
    unmeasured: str = RECALL

    @property
    def is_few(self) -> bool:
        return self.n < FEW

    @property
    def context_ratio(self) -> tuple[float, float] | None:
        """Of the corpus; None where no tokens were counted."""
        if not self.corpus_tokens or not self.context_tokens[1]:
            return None
        low, high = self.context_tokens
        return low / self.corpus_tokens, high / self.corpus_tokens

    def to_dict(self) -> dict[str, str]:
        """In words, by what they are about."""
        wrong = (
            "nobody looked for wrong ones" if self.wrong_labels is None else f"{self.wrong_labels} known to be wrong"
        )
        few = f", too few to tell settings apart by less than {self.error:.0%}" if self.is_few else ""
        return {
            "questions": f"n = {self.n} in {self.conversations} conversation{'s' * (self.conversations != 1)}{few}",
            "candidates": f"up to {self.k} of {self.candidates:.0f} pages" if self.k else "no recall",
            "context": self._context(),
            "labels": f"{LABELS[self.labels]}; {wrong}",
            "weights": TUNED[self.tuned],
            "not measured": UNMEASURED[self.unmeasured],
        }

    @property
    def error(self) -> float:
        """Half of the widest interval that 95 of 100 samples of so many questions fall into."""
        return float(0.98 / max(1, self.n) ** 0.5)

    def _context(self) -> str:
        if self.context_ratio is None:
            return f"pages are counted, not tokens; the conversation has {self.corpus_tokens:,} tokens"
        (low, high), (least, most) = self.context_tokens, self.context_ratio
        shown = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        share = f"{least:.0%}" if low == high else f"{least:.0%} to {most:.0%}"
        return f"{shown} tokens of {self.corpus_tokens:,}: {share}"
