"""How objects show themselves in a notebook: plain HTML, self-contained, every word escaped, light and dark.

No script, no CDN, no Markdown. Colours come from the notebook's own text colour, so that both themes work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

SECTION_COLOURS = {
    "system": "#64748b",
    "facts": "#65a30d",
    "stubs": "#8b5cf6",
    "recalled": "#14b8a6",
    "resident": "#3b82f6",
    "new": "#f59e0b",
    "exchange": "#ec4899",
    "reply": "#94a3b8",
}
BOX = "font:13px/1.5 system-ui,sans-serif;max-width:60rem"
EDGE = "border:1px solid #8885;border-radius:8px;padding:.6rem .8rem"


class Shown:
    """Mixin: an object with `_html` shows itself in a notebook and never runs what it shows."""

    def _html(self) -> str:
        raise TypeError(f"{type(self).__name__} shows nothing: give it an _html method")

    def _repr_html_(self) -> str:
        return f'<div style="{BOX}">{self._html()}</div>'


def text(value: object) -> str:
    return escape(str(value))


def many(n: int, what: str) -> str:
    """
    >>> many(1, "conversation"), many(2_500, "turn")
    ('1 conversation', '2,500 turns')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def small(value: str, characters: int) -> str:
    """One line of at most so many characters."""
    line = " ".join(value.split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


def rows(title: str, pairs: Mapping[str, object]) -> str:
    """A box with words and a line of small figures under them."""
    figures = " · ".join(f"<span style='opacity:.65'>{text(k)}</span> {text(v)}" for k, v in pairs.items())
    return f'<div style="{EDGE}"><div style="white-space:pre-wrap">{text(title)}</div><small>{figures}</small></div>'


def table(head: Sequence[str], body: Iterable[Sequence[object]], most: int = 30) -> str:
    """A table, nothing without rows; longer ones say how many rows they left out."""
    lines = list(body)
    if not lines:
        return ""
    style = "style='text-align:left;vertical-align:top;padding:.15rem .7rem .15rem 0'"
    cells, cell = "".join(f"<th {style}>{text(h)}</th>" for h in head), f"<td {style}>"
    shown = "".join(f"<tr>{''.join(f'{cell}{text(c)}</td>' for c in line)}</tr>" for line in lines[:most])
    more = f"<div style='opacity:.65'>… and {len(lines) - most} more</div>" if len(lines) > most else ""
    head_row = f"<thead><tr>{cells}</tr></thead>"
    return f"<table style='border-collapse:collapse;font:inherit'>{head_row}<tbody>{shown}</tbody></table>{more}"


def bar(parts: Iterable[tuple[str, int, str]], budget: int, marks: Mapping[str, float]) -> str:
    """Tokens by section against the budget; `parts` are label, tokens, section; `marks` are shares."""
    pieces = "".join(
        f'<span title="{escape(label, quote=True)}: {tokens:,} tokens" style="display:inline-block;height:22px;'
        f'width:{100 * tokens / max(budget, 1):.3f}%;background:{SECTION_COLOURS.get(section, "#94a3b8")}"></span>'
        for label, tokens, section in parts
        if tokens
    )
    lines = "".join(
        f'<span title="{escape(name, quote=True)} {share:.0%}" style="position:absolute;top:0;bottom:0;'
        f'left:{100 * share:.2f}%;border-left:2px dashed #e5484d"></span>'
        for name, share in marks.items()
    )
    return (
        '<div style="position:relative;font-size:0;white-space:nowrap;overflow:hidden;border-radius:6px;'
        f'background:#8883">{pieces}{lines}</div>'
    )


def legend(parts: Mapping[str, int]) -> str:
    return " ".join(
        f'<span style="display:inline-flex;gap:.35rem;align-items:center;margin-right:.9rem">'
        f'<i style="width:.7rem;height:.7rem;border-radius:3px;background:{SECTION_COLOURS.get(k, "#94a3b8")}"></i>'
        f"{text(k)} <span style='opacity:.65'>{v:,}</span></span>"
        for k, v in parts.items()
        if v
    )


def columns(values: Sequence[float], top: float, marks: Mapping[str, float], says: str) -> str:
    """A column a value, up to `top`, with named lines across; `says` is what a screen reader reads."""
    wide, high = 720, 120
    step = wide / max(len(values), 1)
    bars = "".join(
        f'<rect x="{i * step:.2f}" y="{high * (1 - min(v / top, 1)):.1f}" width="{max(step - 0.6, 0.4):.2f}" '
        f'height="{high * min(v / top, 1):.1f}" fill="#3b82f6"><title>{i + 1}: {v:,.0f}</title></rect>'
        for i, v in enumerate(values)
    )
    lines = "".join(
        f'<line x1="0" x2="{wide}" y1="{high * (1 - at / top):.1f}" y2="{high * (1 - at / top):.1f}" '
        f'stroke="#e5484d" stroke-dasharray="4 4"/>'
        f'<text x="{wide - 4}" y="{high * (1 - at / top) - 4:.1f}" text-anchor="end" font-size="10" '
        f'fill="currentColor">{text(name)} {at:,.0f}</text>'
        for name, at in marks.items()
    )
    return (
        f'<svg role="img" aria-label="{escape(says, quote=True)}" viewBox="0 -4 {wide} {high + 8}" '
        f'style="width:100%;max-width:{wide}px;margin-top:.5rem">{bars}{lines}</svg>'
    )
