"""Settings to be tried on a conversation, one after another, in a notebook: move one, look, keep it or take it along.

    tuner = Tuner(engine.store, engine.scope, engine.change)
    tuner.move(page_turns=20)     # replayed with the recorded replies: the effect, as the Tune page has it
    tuner.apply()                 # from the conversation's next step on; undo() takes it back
    tuner.save("tuned.toml")      # for Engine.open(…, settings=load("tuned.toml"))

Replays are kept by replaying.py, so that going back costs nothing. Not here: the sliders (slider_widget.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory import show
from memory.errors import EngineError
from memory.scope import Scope
from memory.settings import Settings
from memory.show import Shown
from memory.stores.sql import Store
from sessions import presets
from sessions.effect import Effect, effect
from sessions.questions import Pinned, file_of, of_conversation, read
from workbench import replaying, tuning
from workbench.assigned import changed_from
from workbench.replaying import Playing
from workbench.views.tune import GROUPS, Dial, dials

if TYPE_CHECKING:
    import pandas as pd

LOOK_S = 0.1  # how soon a replay that nobody wants any more is noticed
Key = tuple[int, Hashable, str, tuple[Pinned, ...]]


class Stale(EngineError):
    """Something else is wanted by now."""


class Tuner(Shown):
    """`base` is what is compared with: the settings of the run as it stood; `settings` what is tried in their place."""

    def __init__(
        self, store: Store, scope: Scope, change: Callable[..., Settings] | None = None, **changes: Any
    ) -> None:
        self.store, self.scope = store, scope
        self._change = change or self._changed
        self.base = store.state(scope).settings
        self.settings = self.base.but(**changes)
        self._before: dict[str, Any] = {}  # what was in force before something was applied
        self._made: tuple[Key, Effect] | None = None

    @property
    def changes(self) -> dict[str, Any]:
        """What is moved, with its value."""
        return changed_from(self.base, self.settings)

    @property
    def dials(self) -> tuple[Dial, ...]:
        return dials(self.base, self.settings)

    @property
    def effect(self) -> Effect:
        """Of what is moved now, on the conversation as it is now."""
        return self.under(self.settings)

    # ── moving ────────────────────────────────────────────────────────────────────────────────────────

    def move(self, **changes: Any) -> Effect:
        """Raises BadSetting, UnknownName, or BudgetTooSmall where a replay finds no room; nothing is moved then."""
        wanted = self.settings.but(**changes)
        made = self.under(wanted)
        self.settings = wanted
        return made

    def take(self, preset: str) -> Effect:
        """A named set: knowledge_base, support, companion, writing. Raises UnknownName."""
        return self.move(**presets.preset(preset))

    def reset(self) -> Effect:
        self.settings = self.base
        return self.effect

    def under(
        self, settings: Settings, is_stale: Callable[[], bool] = lambda: False,
        told: Callable[[int, int], None] = lambda turn, turns: None,
    ) -> Effect:  # fmt: skip
        """What these settings do; nothing is moved. `told` hears turn and turns of a replay under way.

        Raises Stale as soon as `is_stale`, and the error that ended a replay.
        """
        source = replaying.source_of(self.store, self.scope)
        pins = tuple(of_conversation(read(file_of(self.store)), self.scope.user, self.scope.conversation))
        facts = self.store.stream(Scope.own(self.scope.user))
        known = tuning.known_of(self.store, facts.version if facts else 0)
        key = self.store.require(source).version, known, settings.hash, pins
        if self._made is not None and self._made[0] == key:
            return self._made[1]
        both = [replaying.playing(self.store, source, each) for each in (self.base, settings)]
        for each in both:
            _await(each, is_stale, told)
        before, after = (each.played() for each in both)
        made = effect(
            before.replay, after.replay, price=tuning.price_of(settings.llm),
            asked=(tuning.asked(before), tuning.asked(after)),
            pinned=tuning.pinned_between(self.store, before, after, pins, known),
        )  # fmt: skip
        self._made = key, made
        return made

    # ── keeping ───────────────────────────────────────────────────────────────────────────────────────

    @property
    def not_in_force(self) -> dict[str, Any]:
        """What `apply` would change in the live conversation."""
        now = self._now()
        return {name: value for name, value in self.changes.items() if getattr(now, name) != value}

    @property
    def may_undo(self) -> bool:
        return bool(self._before)

    def apply(self) -> Settings:
        """What is moved is in force from the conversation's next step on. Raises StoreReadOnly."""
        wanted, now = self.not_in_force, self._now()
        made = self._change(**wanted)
        self._before = {name: getattr(now, name) for name in wanted} or self._before
        return made

    def undo(self) -> Settings:
        """What was in force before `apply` is so again."""
        made = self._change(**self._before)
        self._before = {}
        return made

    def save(self, file: Path | str) -> Path:
        """As .toml or .json: what differs from the defaults. `sessions.presets.load` reads it."""
        return presets.save(self.settings, file)

    def _now(self) -> Settings:
        """Of the live run, which may have begun since."""
        return self.store.state(replaying.source_of(self.store, self.scope)).settings

    def _changed(self, **changes: Any) -> Settings:
        from memory.engine import Engine

        return Engine.open(self.store, user=self.scope.user, conversation=self.scope.conversation).change(**changes)

    # ── shown ─────────────────────────────────────────────────────────────────────────────────────────

    def __repr__(self) -> str:
        moved = ", ".join(f"{name} {getattr(self.base, name)} → {value}" for name, value in self.changes.items())
        return f"<Tuner of {self.scope.user}/{self.scope.conversation}: {moved or 'nothing moved'}>"

    def _html(self) -> str:
        """What came of what is moved; and every setting, by group."""
        came = self.effect._html() + _picture(self.effect) if self.changes else f"<code>{show.text(repr(self))}</code>"
        head = ["setting", "now", "before", "from", "to", "unit", "meaning"]
        groups = {group: [_row(dial) for dial in self.dials if dial.group == group] for group in GROUPS}
        told = "".join(
            f"<details><summary>{show.text(group)}</summary>{show.table(head, rows)}</details>"
            for group, rows in groups.items()
        )
        return f"{came}<div style='margin-top:.6rem'>{told}</div>"

    def to_dict(self) -> dict[str, Any]:
        return {"changes": self.changes, **self.effect.to_dict()}

    def to_df(self) -> pd.DataFrame:
        """One row a setting."""
        import pandas as pd

        rows = [
            {"setting": d.name, "group": d.group, "value": d.value, "before": d.base, "default": d.default,
             "low": d.low if d.kind in ("int", "float") else None,
             "high": d.high if d.kind in ("int", "float") else None, "unit": d.unit, "shows": d.shows, "says": d.says}
            for d in self.dials
        ]  # fmt: skip
        return pd.DataFrame(rows)


def _picture(made: Effect) -> str:
    """Tokens of each step's last prompt under what is moved, against its watermarks."""
    under, values = made.settings[1], [step.prompts[-1] if step.prompts else 0 for step in made.replays[1].steps]
    room = under.window_tokens or max(values)
    marks = {name: room * getattr(under, name) for name in ("high_watermark", "low_watermark")}
    return show.columns(values, max(room, *values), marks, f"Tokens of {len(values)} prompts under these settings")


def _row(dial: Dial) -> list[Any]:
    ends = [f"{dial.low:,}", f"{dial.high:,}"] if dial.kind in ("int", "float") else ["", ""]
    return [dial.name, dial.value, dial.base if dial.is_moved else "", *ends, dial.unit, dial.says]


def _await(each: Playing, is_stale: Callable[[], bool], told: Callable[[int, int], None]) -> None:
    each.start()  # goes on with one that was stopped
    while each.is_under_way:
        each.wait(LOOK_S)
        if is_stale():
            each.stop()
            raise Stale(f"at turn {each.turn} of {each.turns} other settings were wanted")
        if each.is_under_way:
            told(each.turn, each.turns)
