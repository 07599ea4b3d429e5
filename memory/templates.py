"""What a model is told to look for when it names a page: a few ready notions of what is key, or the user's own.

Texts only; keywords.py makes the prompt and reads the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from memory.errors import UnknownName


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    looks_for: str  # completes "Choose words that name …"
    example: tuple[str, ...]  # of a page's keywords

    def with_key(self, own: str) -> Template:
        """The same, with what the user holds to be key in this conversation in front."""
        own = " ".join(own.split())[:400]
        return Template(self.name, f"above all {own}; else {self.looks_for}", self.example) if own else self


_ALL = (
    Template(
        "entities", "the people, places, things, numbers and dates that it is about", ("peanut allergy", "Lisbon")
    ),
    Template("changes", "what was changed, corrected or decided, with its new value", ("budget 8000", "moved to May")),
    Template("intent", "what the user wants to reach or asks for", ("cancel order", "visa for Japan")),
    Template(
        "support", "the complaint, its escalation, order and serial numbers, what was promised", ("refund", "SN-20771")
    ),
    Template(
        "companion", "people close to the user, feelings with their cause, dates that matter", ("sister Ines", "exam")
    ),
    Template("writing", "characters, places, and turns of the plot", ("Mira betrays Tom", "lighthouse")),
    Template("knowledge", "terms, sources, and the question that was settled", ("Belady anomaly", "FIFO")),
)
TEMPLATES: dict[str, Template] = {template.name: template for template in _ALL}


def named(template: str) -> Template:
    if template not in TEMPLATES:
        raise UnknownName("bookmark template", template, TEMPLATES)
    return TEMPLATES[template]
