"""Whose memory, which conversation, which run of it.

A scope without a user does not exist; a store neither reads nor writes without one. `run` tells the live
conversation from its recording, from saved replays of it, and from forks, in which a model was asked again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memory.errors import BadSetting

LIVE = "live"  # a person and a model are talking, or were
RECORDED = "recorded"  # the bare transcript of an import: turns, no decision
FORK = "fork-"  # begins the name of a run in which a model was asked again from some turn on
OWN = "~"  # in place of a conversation: what is remembered about the user across all of them
FACTS = "facts"  # its only run


@dataclass(frozen=True, slots=True)
class Scope:
    user: str
    conversation: str
    run: str = LIVE

    def __post_init__(self) -> None:
        for name in ("user", "conversation", "run"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise BadSetting(f"a scope needs a {name}, not {value!r}")
            if len(value) > 200 or not value.isprintable():
                raise BadSetting(f"{name} must be at most 200 printable characters, not {value[:60]!r}")
        if (self.conversation == OWN) != (self.run == FACTS):
            raise BadSetting(
                f"the conversation {OWN!r} and the run {FACTS!r} are what is remembered about a user: take other names"
            )

    @classmethod
    def own(cls, user: str) -> Scope:
        """Of what is remembered about this user, which belongs to no conversation."""
        return cls(user, OWN, FACTS)

    @property
    def is_own(self) -> bool:
        return self.conversation == OWN

    def at(self, run: str) -> Scope:
        return replace(self, run=run)

    def __str__(self) -> str:
        return f"{self.user}/{self.conversation}/{self.run}"


def is_fork(run: str) -> bool:
    return run.startswith(FORK)
