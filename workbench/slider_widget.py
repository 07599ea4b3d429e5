"""Every setting of a conversation as a slider of a notebook, and beside it what moving one does; as the Tune page.

A move is told when its reader pauses, and replayed in a thread: the kernel stays free, one replay runs at a time, and
one whose settings are wanted no more is stopped. Drawn by the parts of the page. Not here: what is tried, applied and
saved (tuner.py); how a widget draws parts (widget.py).
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from memory.errors import EngineError
from memory.settings import Settings
from sessions.effect import Effect
from sessions.honesty import Honesty
from sessions.presets import PRESETS, as_json, as_toml, preset
from workbench.components import collected, pinned, tune
from workbench.components.dials import dials
from workbench.components.diff import diff
from workbench.components.facts import facts
from workbench.components.lab import honesty
from workbench.components.strip import strip
from workbench.tuner import Stale, Tuner
from workbench.views.tune import dials as described
from workbench.views.tune import difference
from workbench.widget import Parts, nothing, script
from workbench.words import Words

COLUMNS = (
    (("dials", "dials"),),
    (("told", "facts"), ("strip", "strip"), ("why", "facts"), ("diff", "diff"), ("figures", "grid"),
     ("pinned", "grid"), ("pinned_worth", "facts"), ("questions", "grid"), ("worth", "facts")),
)  # fmt: skip
TITLES = {"strip": "tune.turns", "pinned": "tune.pinned", "questions": "tune.questions",
          "pinned_worth": "lab.honesty", "worth": "lab.honesty"}  # fmt: skip


class Sliders(Parts):
    """`effect` is what the moved settings do, `changes` which they are; what a tuner does by hand, it does as well."""

    _esm = script(COLUMNS)

    def __init__(self, tuner: Tuner, *, lang: str = "en") -> None:
        self.tuner, self._say = tuner, Words(lang)
        self._turn: int | None = None  # whose prompts are compared
        self._heard_n = 0
        self._lock = threading.RLock()
        self._wanted = tuner.settings  # where the sliders stand
        self._next: Settings | None = None  # to be replayed
        self._worker: threading.Thread | None = None
        self._effect: Effect | None = None  # as it is drawn
        super().__init__(titles={slot: self._say(key) for slot, key in TITLES.items()}, parts=self._dials())
        self.on_msg(self._heard)
        self._want(tuner.settings)

    # ── by hand ───────────────────────────────────────────────────────────────────────────────────────

    @property
    def settings(self) -> Settings:
        return self.tuner.settings

    @property
    def changes(self) -> dict[str, Any]:
        return self.tuner.changes

    @property
    def effect(self) -> Effect:
        """Waits for what is under way."""
        self.wait()
        return self.tuner.effect

    def move(self, **changes: Any) -> Effect:
        """Raises BadSetting, UnknownName, BudgetTooSmall; nothing is moved then."""
        self.wait()
        return self._show(self.tuner.move(**changes))

    def take(self, preset: str) -> Effect:
        self.wait()
        return self._show(self.tuner.take(preset))

    def reset(self) -> Effect:
        self.wait()
        return self._show(self.tuner.reset())

    def apply(self) -> Settings:
        """To the live conversation, from its next step on."""
        self.wait()
        made = self.tuner.apply()
        self._tell(self._say("tune.in_force"))
        return made

    def undo(self) -> Settings:
        made = self.tuner.undo()
        self._tell()
        return made

    def save(self, file: Path | str) -> Path:
        self.wait()
        return self.tuner.save(file)

    def goto(self, turn: int) -> None:
        """Compare the prompts of this turn; of the first that changed, where its own did not."""
        self._turn = turn
        self._draw()

    def wait(self) -> None:
        """Until what was moved is replayed."""
        worker = self._worker
        if worker is not None:
            worker.join()

    # ── by the widget ─────────────────────────────────────────────────────────────────────────────────

    def _heard(self, _: object, told: dict[str, Any], buffers: object) -> None:
        value: Any = told.get("value")
        try:
            match told.get("name"):
                case "move":
                    self._heard_n = int(value["n"])
                    self._want(self._wanted.but(**value["changes"]))
                case "preset":
                    self._want(self._wanted.but(**preset(value)))
                case "reset":
                    self._want(self.tuner.base)
                case "apply":
                    self.apply()
                case "undo":
                    self.undo()
                case "turn":
                    self.goto(int(value))
        except EngineError as error:
            self._refuse(error)

    def _want(self, settings: Settings) -> None:
        """Replayed next; of what is wanted meanwhile only the last."""
        with self._lock:
            self._wanted = self._next = settings
            if self._worker is None or not self._worker.is_alive():
                self._worker = threading.Thread(target=self._work, name="workbench-sliders", daemon=True)
                self._worker.start()

    def _work(self) -> None:
        while True:
            with self._lock:
                wanted, self._next = self._next, None
                if wanted is None:
                    self._worker = None
                    return
            self._try(wanted)

    def _try(self, wanted: Settings) -> None:
        try:
            made = self.tuner.under(wanted, lambda: self._next is not None, self._progress)
        except Stale:
            return
        except EngineError as error:
            with self._lock:
                if self._next is None:
                    self._wanted = self.tuner.settings
            self._refuse(error)
            return
        self.tuner.settings, self._effect = wanted, made
        self._draw()

    def _progress(self, turn: int, turns: int) -> None:
        if turns:
            self._tell(self._say("replay.progress", turn=turn, turns=turns))

    def _refuse(self, error: EngineError) -> None:
        self._tell(f"{self._say('tune.refused')}: {error}", is_refused=True)

    # ── drawn ─────────────────────────────────────────────────────────────────────────────────────────

    def _show(self, made: Effect) -> Effect:
        self._effect, self._wanted = made, self.tuner.settings
        self._draw()
        return made

    def _draw(self) -> None:
        with self._lock:
            came = {} if self._effect is None else self._came_of_it(self._effect)
            self.parts = {**self._dials(), **came}

    def _tell(self, told: str = "", *, is_refused: bool = False) -> None:
        """What came of the last move stays as it is drawn."""
        with self._lock:
            self.parts = {**self.parts, **self._dials(told, is_refused=is_refused)}

    def _dials(self, told: str = "", *, is_refused: bool = False) -> dict[str, Any]:
        tuner = self.tuner
        may = {
            "apply": bool(tuner.not_in_force) and not tuner.store.readonly,
            "undo": tuner.may_undo, "reset": bool(tuner.changes),
        }  # fmt: skip
        files = {f"settings.{kind}": made(tuner.settings) for kind, made in (("toml", as_toml), ("json", as_json))}
        with collected() as parts:
            dials(
                described(tuner.base, self._wanted), PRESETS, self._say, heard=self._heard_n, told=told, may=may,
                files=files, is_refused=is_refused,
            )  # fmt: skip
        return parts

    def _came_of_it(self, made: Effect) -> dict[str, Any]:
        say = self._say
        with collected() as parts:
            tune.figures(made, say)
        found = {"told": parts["facts"], "figures": parts["grid"]}
        at = tune.first_of(made, self._turn)
        with collected() as parts:
            strip(tune.columns(made, say), at, say, "tune_strip", say("tune.turns"), nothing)
            self._turn_of(made, at)
        found |= {"why" if slot == "facts" else slot: part for slot, part in parts.items()}
        with collected() as parts:
            pinned.outcomes(made, say)
        if made.pinned:
            found["pinned"] = parts["grid"]
            found["pinned_worth"] = self._worth(made.pinned_honesty)
        with collected() as parts:
            tune.moved_questions(made, say)
        if any(each.moved for each in made.answers):
            found["questions"] = parts["grid"]
        if made.answers:
            found["worth"] = self._worth(made.honesty)
        return found

    def _worth(self, told: Honesty) -> Any:
        with collected() as parts:
            honesty(told, self._say, "tune_worth")
        return parts["facts"]

    def _turn_of(self, made: Effect, at: int | None) -> None:
        """Why the prompt of this turn changed, and its diff; else that none did."""
        say = self._say
        if at is None:
            facts([], "tune_why", note=say("tune.turns.none" if made.changed else "tune.nothing"))
            return
        step = next(each for each in made.turns if each.turn == at)
        facts([], "tune_why", title=say.turns(step.turn, step.last_turn), note=tune.because(step.why, say))
        found = difference(made, at)
        if found is not None:
            diff(found, say, "tune_diff", "changes")

    def __repr__(self) -> str:
        return f"<Sliders: {self.tuner!r}>"

    def _repr_html_(self) -> str:
        return self.tuner._repr_html_()
