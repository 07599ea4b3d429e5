"""What a result is worth: over how many questions, out of how many candidates, with which labels, tuned on what.

It stands beside every result of the lab, the recall funnel and the shape of a conversation, what settings do to a
conversation's questions and its lines of retrieval, pinned questions, the baselines, a scorecard and a bill. It judges
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from memory.events import MessageReceived, PagesRecalled
from memory.observed import Observed

QUESTIONS, STEPS = "questions", "steps"  # what n counts
OWN, RAW, CORRECTED, MODEL = "own", "raw", "corrected", "model"  # labels: by hand, as published, put right, of a model
LOG = "log"  # none: what the log says
BY_HAND = ("recorded", "model", "user")  # whose recalls are a demand; what only a label asks is counted as evidence
SHIPPED, HELD_OUT, NOTHING = "shipped", "held_out", "nothing"  # weights as they ship; of other conversations; there are
LIMITS = "limits"  # nothing was tuned, but somebody set where a mark begins
LABELS = {
    OWN: "labels made by hand with the conversation",
    RAW: "labels as they were published",
    CORRECTED: "labels with the published corrections",
    MODEL: "what the model asked back: what it wanted, not what was right",
    LOG: "none: what the log says, and which words replies took up",
}
TUNED = {
    SHIPPED: "weights as they ship, tuned on LoCoMo: held out only where this is none of it",
    HELD_OUT: "weights chosen on the other conversations",
    NOTHING: "nothing was tuned",
    LIMITS: "nothing was tuned; where a mark begins was set by hand, the figures do not depend on it",
}
RECALL, REPLY, EVICTION, WORTH = "recall", "reply", "eviction", "worth"  # what is not measured
UNMEASURED = {
    RECALL: "whether a model would recall, and what it would answer",
    REPLY: "whether a reply is right: used means that it took up words of the page",
    EVICTION: "what a recall would bring: eviction alone is compared",
    WORTH: "what a reply would have lacked without it: used means that it took up its words",
}
FEW = 30  # questions; below that an interval is wider than most differences


@dataclass(frozen=True, slots=True)
class Honesty:
    """One result's."""

    n: int  # of `of`
    conversations: int
    k: int  # pages a recall brings at the most; 0: none was made
    candidates: float  # pages it chooses among, the mean
    context_tokens: tuple[int, int]  # least and most that stands in the window; 0, 0: counted in pages
    corpus_tokens: int  # of a conversation on average
    labels: str = OWN
    wrong_labels: int | None = None  # known to be wrong; None: nobody looked
    tuned: str = SHIPPED
    unmeasured: str = RECALL
    of: str = QUESTIONS
    labelled: int | None = None  # of n, where not all are

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
        some = "" if self.labelled is None else f"; {self.labelled} of {self.n} {self.of} have one"
        return {
            self.of: f"n = {self.n} in {self.conversations} conversation{'s' * (self.conversations != 1)}{few}",
            "candidates": f"up to {self.k} of {self.candidates:.0f} pages" if self.k else "no recall",
            "context": self._context(),
            "labels": LABELS[self.labels] + ("" if self.labels == LOG else f"{some}; {wrong}"),
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


def of_run(seen: Observed, tuned: str, unmeasured: str) -> Honesty:
    """Of what was counted from a run's log, its steps with a prompt.

    Labels are those that came with the recording; without any, what a recall by hand or by the model asked for.
    """
    labelled = [step for step in seen.asked if any(b.evidence for b in step.all(MessageReceived))]
    recalled = [step for step in seen.asked if any(b.by in BY_HAND for b in step.all(PagesRecalled))]
    labels = OWN if labelled else MODEL if recalled else LOG
    s, pages = seen.settings, seen.state.pages
    room = s.window_tokens - s.reply_tokens
    return Honesty(
        len(seen.asked), 1, s.recall_k, len(pages), (room, room), sum(page.tokens for page in pages.values()),
        labels, None, tuned, unmeasured, STEPS, len(labelled or recalled),
    )  # fmt: skip
