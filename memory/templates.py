"""What a model is told to look for when it names a page: a few ready notions of what is key, or the user's own.

Texts only; keywords.py makes the prompt and reads the answer. There are no examples among them: a small model gives
those back as the keywords of every page.
"""

from __future__ import annotations

from dataclasses import dataclass

from memory.errors import UnknownName


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    looks_for: str  # what the keywords should name

    def with_key(self, own: str) -> Template:
        """The same, with what the user holds to be key in this conversation in front."""
        own = " ".join(own.split())[:400]
        return Template(self.name, f"above all {own}; else {self.looks_for}") if own else self


_ALL = (
    Template("entities", "the people, places, things, numbers and dates that it is about"),
    Template("changes", "what was changed, corrected or decided, with its new value"),
    Template("intent", "what the user wants to reach or asks for"),
    Template("support", "the complaint, its escalation, order and serial numbers, what was promised"),
    Template("companion", "people close to the user, feelings with their cause, dates that matter"),
    Template("writing", "characters, places, and turns of the plot"),
    Template("knowledge", "terms, sources, and the question that was settled"),
)
TEMPLATES: dict[str, Template] = {template.name: template for template in _ALL}


def named(template: str) -> Template:
    if template not in TEMPLATES:
        raise UnknownName("bookmark template", template, TEMPLATES)
    return TEMPLATES[template]
