"""Results that are neither answers nor frames: checks, scores of numbers of classes, diagnoses and reports."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ._repr import html_table, text_table

_MARKS = {"ok": "✓", "doubtful": "?", "failed": "✗", "not_tested": "–"}


@dataclass(frozen=True)
class Verdict:
    """The verdict on one assumption.

    Attributes
    ----------
    assumption : str
        Its name, such as "separation" or "overlap".
    grade : str
        "ok", "doubtful", "failed" or "not_tested".
    figure : float or None
        The figure behind the grade.
    finding : str
        The verdict in words.
    """

    assumption: str
    grade: str
    figure: float | None
    finding: str


@dataclass(frozen=True)
class Diagnosis:
    """A verdict on each assumption of a model that data can test.

    Attributes
    ----------
    verdicts : tuple of Verdict
        Sorted as `cfqp diagnose` prints them.
    units : int
        The number of units that they are based on.
    warnings : tuple of str
        What makes the data unsuitable, however well the assumptions hold.
    contrast : dict or None
        The treatments "from" and "to" that the verdicts are about; None if they are about typical ones.
    """

    verdicts: tuple[Verdict, ...]
    units: int
    warnings: tuple[str, ...]
    contrast: dict[str, list[float | str]] | None = None

    @classmethod
    def from_json(cls, text: str) -> Diagnosis:
        """From the text of the native module."""
        trust = json.loads(text)
        verdicts = (
            Verdict(row["name"], row["grade"], row["figure"], row["sentence"]) for row in trust["verdicts"]
        )
        warnings = tuple(warning["text"] for warning in trust["warnings"])
        return cls(tuple(verdicts), trust["units"], warnings, trust.get("contrast"))

    @property
    def ok(self) -> bool:
        """Whether no assumption failed; some may be doubtful."""
        return self.grade != "failed"

    @property
    def grade(self) -> str:
        """The worst grade."""
        grades = [verdict.grade for verdict in self.verdicts]
        return next((grade for grade in ("failed", "doubtful") if grade in grades), "ok")

    def __getitem__(self, assumption: str) -> Verdict:
        for verdict in self.verdicts:
            if verdict.assumption == assumption:
                return verdict
        raise KeyError(assumption)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __repr__(self) -> str:
        table = text_table(("grade", "assumption", "finding"), [(v.grade, v.assumption, v.finding) for v in self])
        return "\n".join([table, *(f"warning: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        rows = [(f"{_MARKS.get(v.grade, '')} {v.grade}", v.assumption, v.finding) for v in self]
        notes = "".join(f"<div>warning: {html.escape(warning)}</div>" for warning in self.warnings)
        return html_table(("grade", "assumption", "finding"), rows, caption=f"Diagnosis on {self.units:,} units") + notes


@dataclass(frozen=True)
class Check:
    """What a fit would read, and whether it could use it.

    Attributes
    ----------
    summary : dict
        Rows, units, what was dropped, columns and treatments, as `cfqp check --json` prints them.
    """

    summary: dict[str, Any]

    @property
    def ok(self) -> bool:
        """Whether a fit is possible."""
        return not self.problems

    @property
    def units(self) -> int:
        """The number of units kept."""
        return int(self.summary["units"])

    @property
    def problems(self) -> list[str]:
        """Reasons why a fit is impossible or pointless."""
        return list(self.summary["problems"])

    @property
    def warnings(self) -> list[str]:
        """Findings that deserve attention."""
        return [warning["text"] for warning in self.summary["warnings"]]

    @property
    def dropped(self) -> list[dict[str, Any]]:
        """The units dropped, by reason."""
        return list(self.summary["dropped"])

    def _lines(self) -> list[str]:
        dropped = sum(row["count"] for row in self.dropped)
        lines = [f"{self.summary['rows']:,} rows read, {self.units:,} units kept, {dropped:,} dropped"]
        lines += [f"warning: {warning}" for warning in self.warnings]
        lines += [f"problem: {problem}" for problem in self.problems]
        return lines if self.problems else [*lines, "no problems found"]

    def _columns(self) -> tuple[tuple[str, ...], list[list[Any]]]:
        header = ("name", "role", "kind", "missing", "min", "mean", "max")
        return header, [[column.get(name) for name in header] for column in self.summary["columns"]]

    def __repr__(self) -> str:
        header, rows = self._columns()
        table = text_table(header, rows) if rows else ""
        return "\n".join(filter(None, [self._lines()[0], table, *self._lines()[1:]]))

    def _repr_html_(self) -> str:
        first, *rest = self._lines()
        notes = "".join(f"<div>{html.escape(line)}</div>" for line in rest)
        return html_table(*self._columns(), caption=first) + notes


@dataclass(frozen=True)
class ClassScores:
    """Scores of numbers of classes on held-out units; smaller is better.

    Attributes
    ----------
    rows : tuple of dict
        One per base model and number of classes, as in `cfqp select --json`.
    """

    rows: tuple[dict[str, Any], ...]

    @property
    def chosen(self) -> dict[str, Any]:
        """The chosen row."""
        return next((row for row in self.rows if row["chosen"]), self.rows[0])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def _table(self) -> tuple[tuple[str, ...], list[list[Any]]]:
        header = ("base", "classes", "nll", "full_nll", "mse", "gain_error", "chosen")
        mark = {True: "<- chosen", False: ""}
        return header, [[*(row.get(name) for name in header[:-1]), mark[row["chosen"]]] for row in self.rows]

    def __repr__(self) -> str:
        return text_table(*self._table())

    def _repr_html_(self) -> str:
        return html_table(*self._table(), caption="Scores on held-out units")


@dataclass(frozen=True)
class Report:
    """A report on a model and some units.

    Attributes
    ----------
    html : str
        One self-contained page.
    data : dict
        The same numbers.
    """

    html: str
    data: dict[str, Any]

    def __repr__(self) -> str:
        return f"Report({len(self.html):,} characters of HTML)"

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:600px;border:0" sandbox="allow-scripts"></iframe>'
