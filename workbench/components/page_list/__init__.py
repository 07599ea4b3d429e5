"""The pages in the window: what each is about, its size, how warm it is, why it stays; a click reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.components import part
from workbench.views.rows import PageRow
from workbench.words import Words, visible

_list = part("page_list")


def page_list(
    rows: Sequence[PageRow], say: Words, selected: int | None, on_page: Callable[[], None], key: str = "pages"
) -> Any:
    return _list(
        key=key,
        data={
            "rows": [_row(row, say) for row in rows],
            "selected": selected,
            "label": say("pages.label"),
            "empty": say("pages.empty"),
        },
        on_page_change=on_page,
    )


def _row(row: PageRow, say: Words) -> dict[str, Any]:
    meta = [say.turns(row.first, row.last), say("pages.used", hits=row.hits), say("pages.came", step=row.loaded_at)]
    if row.faults:
        meta.append(say("pages.faults", faults=row.faults))
    return {
        "number": row.number,
        "name": row.name,
        "title": visible(row.title, 160) or say("pages.untitled"),
        "untitled": not row.title,
        "meta": " · ".join(meta),
        "tokens": say("tokens", tokens=row.tokens),
        "heat": round(row.heat * 100),
        "heat_label": say("pages.heat", share=row.heat),
        "state": row.state,
        "state_label": say(f"state.{row.state}"),
        "state_title": say(f"state.{row.state}.says"),
        "marked": say("pages.marked") if row.marked else "",
    }
