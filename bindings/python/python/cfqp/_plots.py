"""Plots of single units, curves, effects and classes, by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ._drawing import (
    class_colour,
    draw_band,
    draw_images,
    draw_intervals,
    draw_levels,
    finish,
    new_axes,
    outcome_column,
    series,
)
from ._fitted import quietly
from ._frames import outcome_names
from ._reports import Reports

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from ._treatments import TreatmentLike

MAX_CURVES = 30
"""The largest number of units whose curves are drawn."""
MAX_EFFECTS = 400
"""The largest number of units whose effects are drawn."""


class Plots(Reports):
    """Plots of a fitted model. Every method returns the axes, so that they can be changed."""

    def plot_unit(
        self, unit: object, data: Any = None, *, outcome: str | None = None,
        grid: ArrayLike | Sequence[TreatmentLike] | None = None, over: str | None = None,
        hold: Mapping[str, Any] | None = None, level: float = 0.9, rho: float | str = "auto", ax: Axes | None = None,
    ) -> Axes:  # fmt: skip
        """The dose-response curve of one unit with its interval, and what was observed.

        For series, trajectories under several treatments are drawn over time; for images, the images.

        Parameters
        ----------
        unit
            The id of the unit; without an id column, its row number.
        data : optional
            The units, as for `counterfactual`; by default those of the fit. A loaded model needs it.
        outcome : str, optional
            The outcome; by default the first.
        grid, over, hold, level, rho
            As for `curve`.
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes
        """
        units = replace(self._input(data), kind="arrow")
        points = 4 if self._is_series() else 25
        curve = self._quietly("curve", units, grid, points=points, over=over, hold=hold, level=level, rho=rho, units=[unit])
        observed = self._observed(units, curve, unit)
        name = outcome or outcome_names(curve)[0]
        if len(self._description["y_shape"]) == 3:
            return draw_images(curve, observed, self._description["y_shape"], f"unit {unit}")
        ax = new_axes(ax)
        colour = class_colour(curve["class"][0].as_py())
        if self._is_series():
            self._draw_series(ax, curve, observed, name)
        else:
            self._draw_dose(ax, curve, observed, name, colour, over)
        ax.set_title(f"Unit {unit}: {name} with {level:.0%} intervals, class {curve['class'][0]}")
        return finish(ax)

    def plot_curves(
        self, data: Any = None, *, units: Sequence[object] | None = None, outcome: str | None = None,
        grid: ArrayLike | Sequence[TreatmentLike] | None = None, over: str | None = None,
        hold: Mapping[str, Any] | None = None, level: float = 0.9, rho: float | str = "auto", ax: Axes | None = None,
    ) -> Axes:  # fmt: skip
        """Dose-response curves of several units with their intervals, coloured by class.

        Parameters
        ----------
        data : optional
            The units; by default those of the fit.
        units : sequence, optional
            The ids of the units; by default up to 30 of all units, at even distances.
        outcome, grid, over, hold, level, rho, ax
            As for `plot_unit`. The values of a series are averaged over time.

        Returns
        -------
        matplotlib.axes.Axes
        """
        import numpy as np

        source = replace(self._input(data), kind="arrow")
        curve = self._quietly("curve", source, grid, points=15, over=over, hold=hold, level=level, rho=rho, units=units)
        name, ax = outcome or outcome_names(curve)[0], new_axes(ax)
        ids = np.asarray(curve[curve.column_names[0]].to_pylist(), dtype=object)
        chosen = list(dict.fromkeys(ids.tolist()))
        steps = np.unique(np.linspace(0, len(chosen) - 1, min(MAX_CURVES, len(chosen))).astype(int))
        varied = self._varied(curve, over)
        seen: set[int] = set()
        for unit in (chosen[step] for step in steps):
            rows = curve.filter(ids == unit)
            label = rows["class"][0].as_py()
            names = None if label in seen else f"class {label}"
            seen.add(label)
            draw_band(ax, series(rows, varied), rows, name, class_colour(label), names, faint=len(steps) > 5)
        ax.set_xlabel(varied.removeprefix("t_new_") if varied != "t_new" else self.treatments_[0]["name"])
        ax.set_ylabel(name)
        ax.set_title(f"Dose-response curves of {len(steps)} units with {level:.0%} intervals")
        return finish(ax, legend=True)

    def plot_effects(
        self, data: Any = None, t0: TreatmentLike = 0, t1: TreatmentLike = 1, *, outcome: str | None = None,
        level: float = 0.9, rho: float | str = "auto", ax: Axes | None = None,
    ) -> Axes:  # fmt: skip
        """The effects of `t1` against `t0` on units with their intervals, in order of size, coloured by class.

        Parameters
        ----------
        data : optional
            The units; by default those of the fit.
        t0, t1, level, rho
            As for `effect`.
        outcome, ax
            As for `plot_unit`.

        Returns
        -------
        matplotlib.axes.Axes
        """
        source = replace(self._input(data), kind="arrow")
        effects = self._quietly("effect", source, t0, t1, level=level, rho=rho)
        name, ax = outcome or outcome_names(effects)[0], new_axes(ax)
        averages = self.average_effect(source, t0, t1, level=level, rho=rho).to_pylist()
        mean = next((row["effect"] for row in averages if row["group"] == "all" and row["outcome"] == name), None)
        draw_intervals(ax, effects, name, mean, MAX_EFFECTS)
        ax.set_ylabel(f"effect on {name}")
        ax.set_title(f"Effects of {t1} against {t0} with {level:.0%} intervals")
        return finish(ax, legend=True)

    def plot_classes(
        self, data: Any = None, *, outcome: str | None = None, level: float = 0.9, rho: float | str = "auto",
        ax: Axes | None = None,
    ) -> Axes:  # fmt: skip
        """The mean dose-response curve of every class, and the share of units in it. Of all units, if there is one class or data do
        not show which class under one treatment is which under another.

        Parameters
        ----------
        data : optional
            The units; by default those of the fit.
        outcome, level, rho, ax
            As for `plot_unit`.

        Returns
        -------
        matplotlib.axes.Axes
        """
        report = self.report(replace(self._input(data), kind="arrow"), level=level, rho=rho, progress=False).data
        curves = report.get("dose_curves") or report["curves"]
        chosen = next((row for row in curves["outcomes"] if row["name"] == outcome), curves["outcomes"][0])
        treatments = report["question"]["treatments"]
        varied = next((k for k in range(len(treatments)) if len({str(step[k]) for step in curves["grid"]}) > 1), 0)
        grid, ax = [step[varied] for step in curves["grid"]], new_axes(ax)
        drawn = [
            (curve, summary["class"], f"class {summary['class']} ({summary['share']:.0%} of units)")
            for summary, curve in zip(report["classes"], chosen["classes"], strict=False)
        ]
        for curve, number, label in drawn or [(chosen["all"], 0, "all units")]:
            draw_levels(ax, grid, curve["mean"], curve["lower"], curve["upper"], class_colour(number), label)
        ax.set_xlabel(treatments[varied])
        ax.set_ylabel(chosen["name"])
        ax.set_title(f"Mean response {'of the classes ' if drawn else ''}with {level:.0%} intervals")
        return finish(ax, legend=True)

    def _quietly(self, question: str, *args: Any, **options: Any) -> pa.Table:
        """An answer without progress and warnings: a plot shows what it shows."""
        with quietly():
            return getattr(self, question)(*args, **options, progress=False)

    def _is_series(self) -> bool:
        return len(self._description["y_shape"]) > 1

    def _varied(self, table: pa.Table, over: str | None) -> str:
        """The column with the treatment that varies."""
        names: list[str] = [name for name in table.column_names if name == "t_new" or name.startswith("t_new_")]
        if over is not None and f"t_new_{over}" in names:
            return f"t_new_{over}"
        return max(names, key=lambda name: len(set(table[name].to_pylist())))

    def _observed(self, units: Any, curve: pa.Table, unit: object) -> pa.Table | None:
        """The unit under its own treatment with the same noise: its own outcome. None if it has none."""
        if "no_outcome" in curve["flag"][0].as_py():
            return None
        own = {name: curve[name][0].as_py() for name in curve.column_names if name == "t" or name.startswith("t_")}
        values = [value for name, value in own.items() if name != "t_new" and not name.startswith("t_new_")]
        return self._quietly("counterfactual", units, values[0] if len(values) == 1 else values, rho=1.0, units=[unit])

    def _draw_dose(
        self, ax: Axes, curve: pa.Table, observed: pa.Table | None, name: str, colour: str, over: str | None
    ) -> None:
        varied = self._varied(curve, over)
        draw_band(ax, series(curve, varied), curve, name, colour, None)
        if observed is not None:
            value = observed[outcome_column(observed, name)][0].as_py()
            ax.plot(series(observed, varied)[:1], [value], "o", color="black", zorder=5, label="observed")
            ax.legend(frameon=False)
        ax.set_xlabel(varied.removeprefix("t_new_") if varied != "t_new" else self.treatments_[0]["name"])
        ax.set_ylabel(name)

    def _draw_series(self, ax: Axes, curve: pa.Table, observed: pa.Table | None, name: str) -> None:
        layout = self.layout_ or {}
        time = layout["form"]["long"]["time"] if "long" in layout.get("form", {}) else None
        varied = self._varied(curve, None)
        values = curve[varied].to_pylist()
        for k, step in enumerate(dict.fromkeys(values)):
            rows = curve.filter([value == step for value in values])
            label = f"{self.treatments_[0]['name']} = {step:.3g}" if isinstance(step, float) else str(step)
            draw_band(ax, series(rows, time) if time else None, rows, name, class_colour(k), label)
        if observed is not None:
            times = series(observed, time) if time else None
            draw_band(ax, times, observed, name, "black", "observed", with_band=False)
        ax.set_xlabel(time or "time step")
        ax.set_ylabel(name)
        ax.legend(frameon=False)
