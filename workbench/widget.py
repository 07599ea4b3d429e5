"""Parts of the pages as widgets of a notebook; the live window: the token bar, pages and stubs of any turn, a scrubber.

Drawn by the same code as the page: each part's own JavaScript and CSS, in a shadow of its own. The kernel answers, so
no server runs; where a notebook shows no widgets, the self-contained view stands in its place. It only shows.
A live window that is looked at follows: a thread asks SQLite twice a second whether somebody committed, in this kernel
or elsewhere, and draws again if it was this conversation.
"""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import anywidget
import orjson
import traitlets

from memory.errors import EngineError, NotFound, StoreClosed
from memory.scope import Scope
from memory.stores.sql import Store
from workbench.components import collected, sources
from workbench.components.page_list import page_list
from workbench.components.scrubber import scrubber
from workbench.components.stubs import stubs
from workbench.components.token_bar import token_bar
from workbench.views import window as window_view
from workbench.views.window import PageView, WindowView
from workbench.words import Words

Columns = tuple[tuple[tuple[str, str], ...], ...]  # from left to right; in each from top to bottom: a slot, its part
PARTS = ("scrubber", "token_bar", "page_list", "stubs")  # of the live window
EXPORT = "export default function"  # how a part's code begins what draws it
LOOK_S = 0.5
THEME = {"font": "font", "codeFont": "code-font", "primaryColor": "primary-color", "textColor": "text-color",
         "backgroundColor": "background-color", "secondaryBackgroundColor": "secondary-background-color",
         "borderColor": "border-color"}  # fmt: skip

# A part listens to the keys of the whole page; in a notebook those are the notebook's, so it gets its frame's.
DRAW = """
const within = (host) => ({
  createElement: (tag) => document.createElement(tag),
  createElementNS: (space, tag) => document.createElementNS(space, tag),
  addEventListener: (...rest) => host.addEventListener(...rest),
  removeEventListener: (...rest) => host.removeEventListener(...rest),
  get activeElement() { return document.activeElement; },
  get body() { return document.body; },
});
const isDark = () => {
  const said = document.body.dataset.jpThemeLight;
  if (said) return said === "false";
  if (document.body.dataset.vscodeThemeKind) return document.body.dataset.vscodeThemeKind.includes("dark");
  return matchMedia("(prefers-color-scheme: dark)").matches;
};
function render({ model, el }) {
  const frame = document.createElement("div");
  frame.className = "memory-workbench" + (COLUMNS.length > 1 ? " beside" : "");
  frame.dataset.lmSuppressShortcuts = "true";  // what is typed here is no command to the notebook
  el.classList.add("memory-workbench-around");
  el.append(frame);
  const placed = (column, name, folder) => {
    const host = document.createElement("div"), style = document.createElement("style");
    const root = document.createElement("div"), title = document.createElement("h4");
    const shadow = host.attachShadow({ mode: "open" });
    style.textContent = STYLES[folder];
    root.className = "root";
    shadow.append(style, root);
    host.dataset.part = name;
    column.append(title, host);
    return { name, title, shadow, host, draw: PARTS[folder](within(host)), stop: null };
  };
  const drawn = COLUMNS.flatMap((slots) => {
    const column = document.createElement("div");
    column.className = "column";
    frame.append(column);
    return slots.map(([name, folder]) => placed(column, name, folder));
  });
  const paint = () => {
    for (const [name, value] of Object.entries(THEMES[isDark() ? "dark" : "light"]))
      frame.style.setProperty("--st-" + name, value);
  };
  const draw = () => {
    const parts = model.get("parts"), titles = model.get("titles");
    for (const part of drawn) {
      part.host.hidden = !parts[part.name];
      part.title.textContent = titles[part.name] || "";
      part.title.hidden = part.host.hidden || !part.title.textContent;
      if (part.stop) part.stop();
      if (!parts[part.name]) continue;
      const setTriggerValue = (name, value) => model.send({ part: part.name, name, value });
      part.stop = part.draw({ data: [parts[part.name]], parentElement: part.shadow, setTriggerValue }) || null;
    }
  };
  const watch = new MutationObserver(paint);
  watch.observe(document.body, { attributes: true });
  // Who looks on is told to the kernel, which then need not follow for nobody.
  const view = crypto.getRandomValues(new Uint32Array(2)).join("-");
  const look = (name) => model.send({ name, value: view });
  const leave = () => look("unseen");
  addEventListener("pagehide", leave);
  model.on("change:parts", draw);
  paint();
  draw();
  look("seen");
  return () => {
    leave();
    removeEventListener("pagehide", leave);
    watch.disconnect();
    model.off("change:parts", draw);
  };
}
export default { render };
"""
CSS = """
.memory-workbench-around { container-type: inline-size; }
.memory-workbench { padding: 14px 16px; max-width: 60rem;
  border: 1px solid var(--st-border-color); border-radius: 12px; background: var(--st-background-color); }
.memory-workbench.beside { max-width: none; display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1.9fr);
  gap: 26px; }
@container (max-width: 760px) { .memory-workbench.beside { grid-template-columns: minmax(0, 1fr); } }
.memory-workbench .column { display: flex; flex-direction: column; gap: 14px; min-width: 0; }
.memory-workbench h4 { margin: 6px 0 -6px; font: 640 13.5px/1.4 var(--st-font); color: var(--st-text-color); }
.memory-workbench [data-part=diff] { max-height: 24rem; overflow: auto; }
.memory-workbench [hidden] { display: none; }
"""


@cache
def script(columns: Columns) -> str:
    """One module: the parts' own code, each a function that takes the document it may use."""
    styles, made = {}, []
    for folder in dict.fromkeys(folder for column in columns for _, folder in column):
        css, js = sources(folder)
        styles[folder] = css
        body = js.replace(EXPORT, "const drawn = function", 1)
        made.append(f"{folder}: (document) => {{\n{body}\nreturn drawn;\n}}")
    parts = "const PARTS = {\n" + ",\n".join(made) + "\n};\n"
    values = {"STYLES": styles, "THEMES": themes(), "COLUMNS": columns}
    return parts + "".join(f"const {name} = {_js(value)};\n" for name, value in values.items()) + DRAW


def themes() -> dict[str, dict[str, str]]:
    """The workbench's colours and fonts, as its parts name them."""
    config = tomllib.loads((Path(__file__).parent / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]
    return {
        name: {THEME[key]: value for key, value in {**config, **config[name]}.items() if key in THEME}
        for name in ("light", "dark")
    }


def _js(value: object) -> str:
    return orjson.dumps(value).decode()


class Parts(anywidget.AnyWidget):
    """Parts of a page, by slot, as `collected` has them; a subclass fills them in and hears what is done to them."""

    _css = CSS
    parts = traitlets.Dict().tag(sync=True)
    titles = traitlets.Dict().tag(sync=True)  # above a slot

    def _repr_mimebundle_(self, **wanted: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The widget, and a picture for a notebook that shows none."""
        made = super()._repr_mimebundle_(**wanted)
        if made is not None:
            made[0]["text/html"] = self._repr_html_()
        return made

    def _repr_html_(self) -> str:
        raise NotImplementedError


class LiveWindow(Parts):
    """The window of a conversation at `turn`; `selected` is the page that its reader clicked, else the window.

    At the newest turn it moves on with the conversation, for as long as somebody looks at it and `live` is true.
    """

    _esm = script((tuple((name, name) for name in PARTS),))
    live = traitlets.Bool(default_value=True)

    def __init__(
        self, store: Store, scope: Scope, turn: int | None = None, *, live: bool = True, lang: str = "en"
    ) -> None:
        self._store, self._scope, self._say = store, scope, Words(lang)
        self._turn, self._page = turn, 0
        self._drawing = threading.RLock()  # a click and what is new may come at once
        self._seen_by: set[str] = set()
        self._following: Following | None = None
        self._version = -1
        super().__init__(parts=self._drawn(), live=live)
        self.on_msg(self._heard)

    @property
    def view(self) -> WindowView:
        return window_view.window(self._store, self._scope, self._turn)

    @property
    def selected(self) -> PageView | WindowView:
        return window_view.page(self._store, self._scope, self._page, self._turn) if self._page else self.view

    def goto(self, turn: int | None = None) -> None:
        """To a turn, or to the newest, which is followed. Raises NotFound, and stays where it is."""
        with self._drawing:
            before, self._turn = self._turn, turn
            try:
                self.parts = self._drawn()
            except EngineError:
                self._turn = before
                raise

    def refresh(self) -> None:
        """Show what happened since."""
        with self._drawing:
            self.parts = self._drawn()

    def close(self) -> None:
        self._rest()
        super().close()

    def _heard(self, _: object, told: dict[str, Any], buffers: object) -> None:
        """A click or a key in the widget; or that one more, or one less, looks on."""
        match told.get("name"):
            case "turn":
                last = self._store.require(self._scope).turns
                self.goto(None if int(told["value"]) >= last else int(told["value"]))
            case "page":
                self._page = 0 if told["value"] == self._page else int(told["value"])
                self.refresh()
            case "seen":
                self._seen_by.add(told["value"])
                self._follow()
            case "unseen":
                self._seen_by.discard(told["value"])
                if not self._seen_by:
                    self._rest()

    # ── following ─────────────────────────────────────────────────────────────────────────────────────

    @property
    def is_following(self) -> bool:
        return self._following is not None and self._following.is_alive()

    @traitlets.observe("live")
    def _switched(self, change: dict[str, Any]) -> None:
        if not change["new"]:
            self._rest()
        elif self._seen_by:
            self._follow()

    def _follow(self) -> None:
        if self.live and not self.is_following:
            self._following = Following(self._store, self._moved_on)
            self._following.start()

    def _rest(self) -> None:
        if self._following is not None:
            self._following.stop()
            self._following = None

    def _moved_on(self) -> None:
        if self._store.require(self._scope).version != self._version:
            self.refresh()

    def _drawn(self) -> dict[str, Any]:
        self._version = self._store.require(self._scope).version
        view, say, page = self.view, self._say, self._page or None
        with collected() as parts:
            scrubber(view.turn, view.turns, view.step, view.steps, say, nothing)
            token_bar(view, say, page, nothing)
            page_list(view.pages, say, page, nothing)
            stubs(view.stubs, say, page, nothing, nothing, may_recall=False)
        return parts

    def __repr__(self) -> str:
        return f"<LiveWindow: {self.view!r}>"

    def _repr_html_(self) -> str:
        return self.view._repr_html_()

    def _repr_mimebundle_(self, **wanted: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        self._follow()  # a cell that goes on to talk keeps the kernel from hearing that somebody looks on
        return super()._repr_mimebundle_(**wanted)


class Following(threading.Thread):
    """Tells that somebody committed, at once and then each time, until it is stopped or what was followed is gone."""

    def __init__(self, store: Store, told: Callable[[], None]) -> None:
        super().__init__(name="workbench-following", daemon=True)
        self._store, self._told = store, told
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        watch, seen = self._store.watcher(), -1
        try:
            while not self._stopped.is_set():
                now = watch()
                if now != seen:
                    seen = now
                    self._told()
                self._stopped.wait(LOOK_S)
        except (NotFound, StoreClosed):  # the conversation was deleted, the store closed
            return
        finally:
            watch.close()


def nothing() -> None:
    """What a click is told by is the widget's message."""
