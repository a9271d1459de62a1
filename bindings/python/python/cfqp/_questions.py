"""Questions to a fitted model: counterfactuals, effects, curves, averages, verdicts and reports."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ._arrays import ArrayAnswers
from ._fitted import AskOptions, Fitted, unit_ids
from ._frames import column_names, outcome_names
from ._params import options_json
from ._progress import ProgressLike
from ._treatments import TreatmentLike, array_treatments, grid_json, is_per_row, one_treatment, per_row_columns, table_treatments

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Unpack

    from ._arrays import Arrays
    from ._cfqp import ArrowStream

    ArraysLike = Arrays | tuple[ArrayLike, ...]
    Others = str | os.PathLike[str] | ArrowStream
    Grid = ArrayLike | Sequence[TreatmentLike] | None
    EffectEnd = TreatmentLike | ArrayLike
    NewTreatment = EffectEnd | None

FrameT = TypeVar("FrameT", "pd.DataFrame", "pl.DataFrame")


class Questions(Fitted):
    """The questions that a fitted model answers."""

    @overload
    def counterfactual(
        self, data: ArraysLike, t: NewTreatment = ..., **options: Unpack[AskOptions]
    ) -> ArrayAnswers: ...
    @overload
    def counterfactual(
        self, data: FrameT, t: NewTreatment = ..., *, t_from: str | Sequence[str] | None = ..., distribution: bool = ...,
        **options: Unpack[AskOptions],
    ) -> FrameT: ...
    @overload
    def counterfactual(
        self, data: Others, t: NewTreatment = ..., *, t_from: str | Sequence[str] | None = ..., distribution: bool = ...,
        **options: Unpack[AskOptions],
    ) -> pa.Table: ...

    def counterfactual(
        self, data: Any, t: Any = None, *, t_from: str | Sequence[str] | None = None, level: float = 0.9,
        rho: float | str = "auto", rho_bounds: bool = False, distribution: bool = False,
        units: Sequence[object] | None = None, progress: ProgressLike = None,
    ) -> Any:
        """The outcome of each unit under another treatment.

        Parameters
        ----------
        data : data frame, Arrays, (x, t, y) or path
            The units, with the columns that the model was fitted to. Units without an outcome are answered by their
            covariates alone and flagged "no_outcome".
        t : number, str, sequence, dict, array or column
            The new treatment of all units: a number, a level, one value per treatment, or values by name. An array or a
            column (of pandas, polars or pyarrow) has one treatment per row.
        t_from : str or sequence of str, optional
            The columns with the new treatment of each unit, instead of `t`.
        level : float, default 0.9
            The level of the intervals.
        rho : float or "auto", default "auto"
            How much of a unit's noise is the same under the new treatment, from 0 (fresh noise) to 1 (the same noise);
            "auto": learned from subjects seen more than once, else unknown.
        rho_bounds : bool, default False
            Whether to add the answers under rho = 0 and rho = 1.
        distribution : bool, default False
            Whether to add the probability of every value of counts and ordered levels.
        units : sequence, optional
            The ids of the units to ask about; without an id column, the row numbers.
        progress : bool or callable, optional
            Whether, or to whom, progress is reported.

        Returns
        -------
        data frame of the same kind
            One row per unit (and time), with the columns of `cfqp query`; see `docs/TABLES.md`. A frame of pandas has the index
            of the rows of `data`. `ArrayAnswers` for arrays, a `pyarrow.Table` for paths and other Arrow streams.

        Warns
        -----
        AnswerWarning
            If answers are flagged.

        Examples
        --------
        >>> import cfqp
        >>> data = cfqp.simulate("single", n=120, seed=1).to_pandas()
        >>> model = cfqp.CFQP(classes=1, members=2).fit(data, x="x*", t="t", y="y")
        >>> answers = model.counterfactual(data, t=0.8)
        >>> list(answers.columns[:6])
        ['row', 't', 't_new', 'y', 'lower_y', 'upper_y']
        """
        if (t is None) == (t_from is None):
            raise TypeError("give the new treatment either as `t` or as `t_from`")
        native, columns, per_unit, new_columns = self._model(), None, None, None
        if t_from is not None:
            columns = t_from if isinstance(t_from, str) else ",".join(t_from)
        elif is_per_row(t) and self._description["layout"] is None:
            per_unit = array_treatments(t, "t")
        elif is_per_row(t):
            new_columns = per_row_columns(t, "t_new", column_names(data))
            columns = ",".join(new_columns)
        source = self._input(data, new_columns)
        treatment = None if per_unit is not None or columns is not None else one_treatment(t)
        options = options_json(level, rho, rho_bounds=rho_bounds, distributions=distribution)
        return self._answer(
            source, "counterfactual",
            lambda report: native.counterfactual(
                source.source, treatment, columns, per_unit, options, unit_ids(units), report
            ),
            progress,
        )

    @overload
    def effect(self, data: ArraysLike, t0: EffectEnd, t1: EffectEnd, **options: Unpack[AskOptions]) -> ArrayAnswers: ...
    @overload
    def effect(self, data: FrameT, t0: EffectEnd, t1: EffectEnd, **options: Unpack[AskOptions]) -> FrameT: ...
    @overload
    def effect(self, data: Others, t0: EffectEnd, t1: EffectEnd, **options: Unpack[AskOptions]) -> pa.Table: ...

    def effect(
        self, data: Any, t0: Any, t1: Any, *, level: float = 0.9, rho: float | str = "auto", rho_bounds: bool = False,
        units: Sequence[object] | None = None, progress: ProgressLike = None,
    ) -> Any:
        """The effect of `t1` against `t0` on each unit.

        Parameters
        ----------
        data
            The units, as for `counterfactual`.
        t0, t1 : number, str, sequence, dict, array or column
            The reference treatment, and the treatment to compare with it. An array or a column has one treatment per row:
            ``effect(df, df["dose"], 0.9 * df["dose"])``.
        level, rho, rho_bounds, units, progress
            As for `counterfactual`.

        Returns
        -------
        data frame of the same kind
            One row per unit (and time): `effect_Y`, `lower_Y` and `upper_Y` for every outcome Y, and the columns of
            `cfqp effect`.

        Examples
        --------
        >>> import cfqp
        >>> data = cfqp.simulate("single", n=120, seed=1)
        >>> model = cfqp.CFQP(classes=1, members=2).fit(data.arrays)
        >>> model.effect(data.arrays, 0.2, 0.8).point.shape
        (120,)
        """
        native, ends, columns, per_unit = self._model(), None, None, None
        new_columns: dict[str, Any] = {}
        if not (is_per_row(t0) or is_per_row(t1)):
            ends = one_treatment(t0, "t0"), one_treatment(t1, "t1")
        elif self._description["layout"] is None:
            per_unit = array_treatments(t0, "t0"), array_treatments(t1, "t1")
        else:
            treatments = [treatment["name"] for treatment in self.treatments_]
            first, second = (table_treatments(t, name, treatments, column_names(data)) for t, name in ((t0, "t0"), (t1, "t1")))
            columns, new_columns = (",".join(first), ",".join(second)), first | second
        source = self._input(data, new_columns)
        options = options_json(level, rho, rho_bounds=rho_bounds)
        return self._answer(
            source, "effect",
            lambda report: native.effect(source.source, ends, columns, per_unit, options, unit_ids(units), report),
            progress,
        )

    def effect_interval(
        self, data: Any, T0: Any = 0, T1: Any = 1, *, alpha: float = 0.05, rho: float | str = "auto"
    ) -> tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]:
        """The intervals of effects, in the words of EconML: `effect` with `level=1 - alpha`.

        Returns
        -------
        lower, upper : ndarray
            One row per row of `effect`; for several outcomes, one column per outcome.
        """
        import numpy as np

        answers: Any = self.effect(data, T0, T1, level=1 - alpha, rho=rho)
        if isinstance(answers, ArrayAnswers):
            return answers.lower, answers.upper
        names = outcome_names(answers)
        ends = [np.stack([np.asarray(answers[side + name]) for name in names], axis=1) for side in ("lower_", "upper_")]
        return (ends[0][:, 0], ends[1][:, 0]) if len(names) == 1 else (ends[0], ends[1])

    @overload
    def curve(
        self, data: ArraysLike, grid: Grid = ..., *, points: int = ..., over: str | None = ..., hold: Mapping[str, Any] | None = ...,
        **options: Unpack[AskOptions],
    ) -> ArrayAnswers: ...
    @overload
    def curve(
        self, data: FrameT, grid: Grid = ..., *, points: int = ..., over: str | None = ..., hold: Mapping[str, Any] | None = ...,
        **options: Unpack[AskOptions],
    ) -> FrameT: ...
    @overload
    def curve(
        self, data: Others, grid: Grid = ..., *, points: int = ..., over: str | None = ..., hold: Mapping[str, Any] | None = ...,
        **options: Unpack[AskOptions],
    ) -> pa.Table: ...

    def curve(
        self, data: Any, grid: Any = None, *, points: int = 9, over: str | None = None,
        hold: Mapping[str, Any] | str | None = None, level: float = 0.9, rho: float | str = "auto",
        rho_bounds: bool = False, units: Sequence[object] | None = None, progress: ProgressLike = None,
    ) -> Any:
        """Dose-response curves: the outcome of each unit at every treatment of a grid.

        Parameters
        ----------
        data
            The units, as for `counterfactual`.
        grid : sequence of treatments, optional
            Numbers, levels or whole treatments. Without it, `points` even steps over the treatments of the training units,
            or one answer per level.
        points : int, default 9
            The number of steps.
        over : str, optional
            The treatment that varies, if there are several.
        hold : dict, optional
            The values of other treatments, such as {"drug": "B"}; by default what each unit received.
        level, rho, rho_bounds, units, progress
            As for `counterfactual`.

        Returns
        -------
        data frame of the same kind
            One row per unit and treatment (and time), with the columns of `cfqp curve`.

        Examples
        --------
        >>> import cfqp
        >>> data = cfqp.simulate("single", n=120, seed=1)
        >>> model = cfqp.CFQP(classes=1, members=2).fit(data.arrays)
        >>> model.curve(data.arrays, grid=[0.2, 0.5, 0.8], units=[3, 17]).point.shape
        (2, 3)
        """
        native, source = self._model(), self._input(data)
        steps = grid_json(grid, points, over, hold)
        options = options_json(level, rho, rho_bounds=rho_bounds)
        return self._answer(
            source, "curve",
            lambda report: native.curve(source.source, steps, options, unit_ids(units), report),
            progress,
        )
