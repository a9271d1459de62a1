"""Small tables in HTML and in text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_STYLE = "border-collapse:collapse;font-size:90%"
_CELL = "text-align:left;padding:2px 12px 2px 0;vertical-align:top"


def cell_text(value: Any) -> str:
    """A value as a cell shows it: nothing for `None`, numbers with four digits."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(cell_text(item) for item in value)
    return str(value)


def html_table(header: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """A table in HTML; all texts are escaped."""

    def line(tag: str, cells: Sequence[Any]) -> str:
        return "<tr>" + "".join(f'<{tag} style="{_CELL}">{escape(cell_text(cell))}</{tag}>' for cell in cells) + "</tr>"

    title = f"<div><b>{escape(caption)}</b></div>" if caption else ""
    head = line("th", header) if any(header) else ""
    return f'{title}<table style="{_STYLE}">{head}{"".join(line("td", row) for row in rows)}</table>'


def text_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with aligned columns."""
    cells = [list(header), *([cell_text(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)
