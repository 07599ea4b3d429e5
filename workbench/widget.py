"""The live window as a widget of a notebook: the token bar, the pages and the stubs of any turn, with a scrubber.

Drawn by the same code as the page: each part's own JavaScript and CSS, in a shadow of its own. The kernel answers, so
no server runs; where a notebook shows no widgets, the self-contained view stands in its place. It only shows.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import anywidget
import orjson
import traitlets

from memory.errors import EngineError
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

PARTS = ("scrubber", "token_bar", "page_list", "stubs")  # from top to bottom
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
  frame.className = "memory-workbench";
  el.append(frame);
  const drawn = Object.keys(PARTS).map((name) => {
    const host = document.createElement("div"), style = document.createElement("style");
    const root = document.createElement("div");
    const shadow = host.attachShadow({ mode: "open" });
    style.textContent = STYLES[name];
    root.className = "root";
    shadow.append(style, root);
    host.dataset.part = name;
    frame.append(host);
    return { name, shadow, host, draw: PARTS[name](within(host)), stop: null };
  });
  const paint = () => {
    for (const [name, value] of Object.entries(THEMES[isDark() ? "dark" : "light"]))
      frame.style.setProperty("--st-" + name, value);
  };
  const draw = () => {
    const parts = model.get("parts");
    for (const part of drawn) {
      part.host.hidden = !parts[part.name];
      if (part.stop) part.stop();
      if (!parts[part.name]) continue;
      const setTriggerValue = (name, value) => model.send({ part: part.name, name, value });
      part.stop = part.draw({ data: [parts[part.name]], parentElement: part.shadow, setTriggerValue }) || null;
    }
  };
  const watch = new MutationObserver(paint);
  watch.observe(document.body, { attributes: true });
  model.on("change:parts", draw);
  paint();
  draw();
  return () => { watch.disconnect(); model.off("change:parts", draw); };
}
export default { render };
"""
CSS = """
.memory-workbench { display: flex; flex-direction: column; gap: 14px; max-width: 60rem; padding: 14px 16px;
  border: 1px solid var(--st-border-color); border-radius: 12px; background: var(--st-background-color); }
"""


@cache
def script() -> str:
    """One module: the parts' own code, each a function that takes the document it may use."""
    styles, made = {}, []
    for folder in PARTS:
        css, js = sources(folder)
        styles[folder] = css
        body = js.replace("export default function", "return function", 1)
        made.append(f"{folder}: (document) => {{\n{body}\n}}")
    parts = "const PARTS = {\n" + ",\n".join(made) + "\n};\n"
    return parts + f"const STYLES = {_js(styles)};\nconst THEMES = {_js(themes())};\n{DRAW}"


def themes() -> dict[str, dict[str, str]]:
    """The workbench's colours and fonts, as its parts name them."""
    config = tomllib.loads((Path(__file__).parent / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]
    return {
        name: {THEME[key]: value for key, value in {**config, **config[name]}.items() if key in THEME}
        for name in ("light", "dark")
    }


def _js(value: object) -> str:
    return orjson.dumps(value).decode()


class LiveWindow(anywidget.AnyWidget):
    """The window of a conversation at `turn`; `selected` is the page that its reader clicked, else the window."""

    _esm = script()
    _css = CSS
    parts = traitlets.Dict().tag(sync=True)

    def __init__(self, store: Store, scope: Scope, turn: int | None = None, *, lang: str = "en") -> None:
        self._store, self._scope, self._say = store, scope, Words(lang)
        self._turn, self._page = turn, 0
        super().__init__(parts=self._drawn())
        self.on_msg(self._heard)

    @property
    def view(self) -> WindowView:
        return window_view.window(self._store, self._scope, self._turn)

    @property
    def selected(self) -> PageView | WindowView:
        return window_view.page(self._store, self._scope, self._page, self._turn) if self._page else self.view

    def goto(self, turn: int | None = None) -> None:
        """To a turn, or to the newest, which is followed by `refresh`. Raises NotFound, and stays where it is."""
        before, self._turn = self._turn, turn
        try:
            self.parts = self._drawn()
        except EngineError:
            self._turn = before
            raise

    def refresh(self) -> None:
        """Show what happened since."""
        self.parts = self._drawn()

    def _heard(self, _: object, told: dict[str, Any], buffers: object) -> None:
        """A click or a key in the widget."""
        if told.get("name") == "turn":
            last = self._store.require(self._scope).turns
            self.goto(None if int(told["value"]) >= last else int(told["value"]))
        elif told.get("name") == "page":
            self._page = 0 if told["value"] == self._page else int(told["value"])
            self.refresh()

    def _drawn(self) -> dict[str, Any]:
        view, say, page = self.view, self._say, self._page or None
        with collected() as parts:
            scrubber(view.turn, view.turns, view.step, view.steps, say, _nothing)
            token_bar(view, say, page, _nothing)
            page_list(view.pages, say, page, _nothing)
            stubs(view.stubs, say, page, _nothing, _nothing, may_recall=False)
        return parts

    def __repr__(self) -> str:
        return f"<LiveWindow: {self.view!r}>"

    def _repr_mimebundle_(self, **wanted: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The widget, and the view for a notebook that shows none."""
        made = super()._repr_mimebundle_(**wanted)
        if made is not None:
            made[0]["text/html"] = self.view._repr_html_()
        return made


def _nothing() -> None:
    """What a click is told by is the widget's message."""
