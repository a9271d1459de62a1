"""Averages, verdicts and reports of a fitted model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ._fitted import unit_ids
from ._params import options_json, to_json
from ._progress import Display, ProgressLike
from ._questions import Questions
from ._results import Diagnosis, Report
from ._treatments import TreatmentLike, one_treatment, treatment_text

DEFAULTS: Mapping[str, Any] = {"units": None, "t0": None, "t1": None, "level": 0.9, "rho": "auto"}
"""The options of a report that its code leaves out."""

AVERAGES = ("outcome", "group", "units", "effect", "lower", "upper", "standard_error", "method")
SUBGROUPS = ("outcome", "column", *AVERAGES[1:], "p_value")
"""The columns of averages, and of averages over subgroups."""


def _subgroup_row(of: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the averages over subgroups."""
    return {**own, "outcome": of["outcome"], "column": of["column"], "p_value": of["corrected_p_value"]}


def call(function: str, first: str, arguments: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> str:
    """The code of a call; arguments with their default values are left out."""
    defaults = defaults or {}
    named = [f"{name}={value!r}" for name, value in arguments.items() if name not in defaults or value != defaults[name]]
    return f"{function}({', '.join([first, *named])})"


class Reports(Questions):
    """What a fitted model says about all units together, and how far it can be trusted."""

    def _fit_columns(self) -> Mapping[str, Any]:
        """The columns of the fit: as given, or, of a loaded model, as stored."""
        if self._columns is not None or self.layout_ is None or "wide" not in self.layout_["form"]:
            return self._columns or {}
        t, y = ([column["name"] for column in columns] for columns in (self.treatments_, self.outcomes_))
        named = {"x": self._description["covariates"], "t": t, "y": y}
        return named | {role: self.layout_[role] for role in ("id", "group") if self.layout_.get(role)}

    def average_effect(
        self, data: Any, t0: TreatmentLike, t1: TreatmentLike, *, by: str | Sequence[str] | None = None, level: float = 0.9,
        rho: float | str = "auto",
    ) -> Any:
        """The average effect of `t1` against `t0`, over all units and over groups of them.

        Parameters
        ----------
        data
            The units, as for `counterfactual`.
        t0, t1 : number, str, sequence or dict
            The reference treatment, and the treatment to compare with it.
        by : str or sequence of str, optional
            Columns of `data` by which to divide the units: any that were known before the treatment. Then the averages are those over subgroups.
        level, rho
            As for `counterfactual`.

        Returns
        -------
        data frame of the same kind, or pyarrow.Table
            Columns `outcome`, `group` ("supported": units on support, "all", "ok": units without flags, "class 0", ...),
            `units`, `effect`, `lower`, `upper`, `standard_error` and `method`: "doubly_robust" where enough units received these
            treatments or similar ones, else "model". Averages over a class weigh units by their posterior. With `by`, columns
            `outcome`, `column`, `group` (a level, a value or a range; "missing" for units without a value), `units`, `effect` (missing
            where there are too few units), `lower`, `upper`, `standard_error`, `method` and `p_value`: of the test that the effect is
            the same in all groups of the column, corrected for the number of columns and outcomes.

        Examples
        --------
        >>> import cfqp
        >>> data = cfqp.simulate("single", n=120, seed=1)
        >>> model = cfqp.CFQP(classes=1, members=2).fit(data.arrays)
        >>> model.average_effect(data.arrays, 0.2, 0.8).column_names
        ['outcome', 'group', 'units', 'effect', 'lower', 'upper', 'standard_error', 'method']
        """
        import pyarrow as pa

        native, units = self._model(), self._input(data)
        ends = one_treatment(t0, "t0"), one_treatment(t1, "t1")
        columns = [by] if isinstance(by, str) else list(by or ())
        found = json.loads(native.averages(units.source, *ends, options_json(level, rho), columns))
        rows: list[dict[str, Any]] = found["averages"]
        names: tuple[str, ...] = AVERAGES
        if columns:
            rows = [_subgroup_row(of, own) for of in found["subgroups"] for own in of["groups"]]
            names = SUBGROUPS
        return units.give_back(pa.table({name: [row[name] for row in rows] for name in names}))

    def ate(
        self, data: Any, t0: TreatmentLike, t1: TreatmentLike, *, by: str | Sequence[str] | None = None, level: float = 0.9,
        rho: float | str = "auto",
    ) -> Any:
        """The same as `average_effect`."""
        return self.average_effect(data, t0, t1, by=by, level=level, rho=rho)

    def diagnose(
        self, data: Any, t0: TreatmentLike | None = None, t1: TreatmentLike | None = None, *, level: float = 0.9,
        rho: float | str = "auto",
    ) -> Diagnosis:
        """A verdict on each assumption that data can test.

        Parameters
        ----------
        data
            Units like those that the model was fitted to, ideally others.
        t0, t1 : number, str, sequence or dict, optional
            The two treatments that answers will compare: overlap, identification and agreement with plain estimates are then judged
            for them, otherwise for typical treatments. Give both or none.
        level, rho
            As for `counterfactual`.

        Returns
        -------
        Diagnosis
            The verdicts; `ok` is false if an assumption failed.

        Examples
        --------
        >>> import cfqp
        >>> data = cfqp.simulate("single", n=120, seed=1)
        >>> model = cfqp.CFQP(classes=1, members=2).fit(data.arrays)
        >>> model.diagnose(data.arrays)["overlap"].grade
        'ok'
        """
        if (t0 is None) != (t1 is None):
            raise TypeError("give both t0 and t1, or none")
        ends = None if t0 is None or t1 is None else (one_treatment(t0, "t0"), one_treatment(t1, "t1"))
        return Diagnosis.from_json(self._model().verdicts(self._input(data).source, options_json(level, rho), ends))

    def report(
        self, data: Any, path: str | os.PathLike[str] | None = None, *, units: Sequence[object] | None = None,
        t0: TreatmentLike | None = None, t1: TreatmentLike | None = None, level: float = 0.9,
        rho: float | str = "auto", name: str | None = None, progress: ProgressLike = None,
    ) -> Report:
        """A report: a summary, the data, verdicts, classes, outcomes by treatment, effects and single units, as one HTML page.

        Parameters
        ----------
        data
            The units, as for `counterfactual`.
        path : path, optional
            The file to write, completely or not at all. An existing file is replaced.
        units : sequence, optional
            The ids of the single units to show; by default typical and flagged ones.
        t0, t1 : number, str, sequence or dict, optional
            The low and the high treatment; by default the 10th and the 90th percentile, or frequent levels.
        level, rho, progress
            As for `counterfactual`.
        name : str, optional
            What the page calls the model; by default its code, such as "CFQP(classes=3)".

        Returns
        -------
        Report
            The page and its numbers; shown in notebooks.
        """
        native, source = self._model(), self._input(data).source
        asked = {"units": units, "t0": t0, "t1": t1, "level": level, "rho": rho}
        spec = {
            "units": unit_ids(units),
            "from": None if t0 is None else treatment_text(t0, "t0"),
            "to": None if t1 is None else treatment_text(t1, "t1"),
            "level": level,
            "rho": rho,
            "model_name": repr(self) if name is None else name,
            "report_code": call("model.report", "data", asked, DEFAULTS),
            "fit_code": call(f"cfqp.{self!r}.fit", "data", self._fit_columns()),
        }
        with Display(progress) as display:
            out = None if path is None else os.fspath(path)
            page, numbers = native.report(source, to_json(spec, "the report"), source.name, out, display.callback)
        return Report(page, json.loads(numbers))
