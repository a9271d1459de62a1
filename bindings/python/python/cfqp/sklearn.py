"""An estimator for scikit-learn: pipelines, grid search, cross-validation.

>>> import cfqp
>>> from cfqp.sklearn import CounterfactualRegressor
>>> from sklearn.model_selection import cross_val_score
>>> data = cfqp.simulate("single", n=120, seed=1).to_pandas()
>>> X, y = data.drop(columns="y"), data["y"]
>>> scores = cross_val_score(CounterfactualRegressor("t", classes=1, members=2), X, y, cv=3)
>>> bool(scores.mean() > 0)
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, validate_data

from ._arrays import ArrayAnswers, Arrays
from ._errors import ConfigError, DataError
from ._estimator import CFQP
from ._fitted import quietly
from ._frames import column_names, frame_table, is_frame

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from ._treatments import TreatmentLike

__all__ = ["CounterfactualRegressor"]


class CounterfactualRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts outcomes from covariates and a treatment, and answers what they would have been.

    Parameters
    ----------
    treatment : str or int, default -1
        The column of X with the treatment: its name in a data frame, or its position. It is not used if `fit` gets the
        treatments as `treatment`, which can be routed as metadata.
    classes, max_classes, base, members, y_scale, sharing, starts, epochs, learning_rate, batch, mlp, unet, transformer, recipe, \
random_state, threads
        As for `cfqp.CFQP`.

    Attributes
    ----------
    model_ : cfqp.CFQP
        The fitted model.
    n_features_in_, feature_names_in_
        The number and the names of the columns of X.

    Notes
    -----
    Texts among the columns of a data frame become categories. Missing values in X are allowed.
    """

    def __init__(
        self, treatment: str | int = -1, *, classes: int | str = "auto", max_classes: int = 9, base: str = "auto",
        members: int | None = None, y_scale: str = "auto", sharing: str = "auto", starts: str | Sequence[str] | None = None,
        epochs: int | None = None, learning_rate: float | None = None, batch: int = 128, mlp: Mapping[str, Any] | None = None,
        unet: Mapping[str, Any] | None = None, transformer: Mapping[str, Any] | None = None, recipe: str = "default",
        random_state: Any = 0, threads: int | None = None,
    ) -> None:  # fmt: skip
        self.treatment = treatment
        self.classes = classes
        self.max_classes = max_classes
        self.base = base
        self.members = members
        self.y_scale = y_scale
        self.sharing = sharing
        self.starts = starts
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch = batch
        self.mlp = mlp
        self.unet = unet
        self.transformer = transformer
        self.recipe = recipe
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: Any, y: Any, treatment: Any = None) -> CounterfactualRegressor:
        """Fits a model to covariates and treatments `X` and outcomes `y`.

        Parameters
        ----------
        X : data frame or array_like, shape (n, columns)
            Covariates and, unless `treatment` is given, the treatment.
        y : array_like, shape (n,) or (n, outcomes)
            Outcomes.
        treatment : array_like, shape (n,), optional
            The treatment of every unit.

        Returns
        -------
        CounterfactualRegressor
            This estimator, fitted.
        """
        self._has_metadata = treatment is not None
        self._y_names: list[str] = []
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        params = self.get_params(deep=False)
        del params["treatment"]
        model = CFQP(**params)
        units = self._units(X, y, treatment, reset=True)
        if isinstance(units, Arrays):
            self.model_ = model.fit(units, progress=False)
            return self
        self._y_names = [name for name in units.column_names if name not in column_names(X) and name != self._t_name(X)]
        x = [name for name in column_names(X) if name != self._t_name(X)]
        self.model_ = model.fit(units, x=x, t=self._t_name(X), y=self._y_names, progress=False)
        return self

    def predict(self, X: Any, treatment: Any = None) -> NDArray[np.float64]:
        """The expected outcome of new units under their own treatment.

        Parameters
        ----------
        X, treatment
            As for `fit`.

        Returns
        -------
        ndarray, shape (n,) or (n, outcomes)
        """
        units = self._units(X, None, treatment)
        own = np.asarray(units.t) if isinstance(units, Arrays) else None
        t_from = None if own is not None else self._t_name(X)
        return self._ask("counterfactual", units, len(np.asarray(own) if own is not None else units), t=own, t_from=t_from)[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None, treatment: Any = None) -> float:
        """The R2 of `predict`."""
        return float(r2_score(y, self.predict(X, treatment), sample_weight=sample_weight))

    def effect(self, X: Any, T0: TreatmentLike = 0, T1: TreatmentLike = 1, *, y: Any = None) -> NDArray[np.float64]:
        """The effect of `T1` against `T0` on each unit, in the words of EconML.

        Parameters
        ----------
        X : data frame or array_like
            As for `fit`.
        T0, T1 : number, str, sequence or dict
            The treatments to compare.
        y : array_like, optional
            The outcomes of these units. With them the effect is that on the unit itself; without them, the mean effect on
            units with its covariates.

        Returns
        -------
        ndarray, shape (n,) or (n, outcomes)
        """
        units = self._units(X, y, None, optional=True)
        return self._ask("effect", units, len(units), t0=T0, t1=T1)[0]

    def effect_interval(
        self, X: Any, T0: TreatmentLike = 0, T1: TreatmentLike = 1, *, alpha: float = 0.05, y: Any = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The intervals of `effect` at the level 1 - alpha, in the words of EconML."""
        units = self._units(X, y, None, optional=True)
        return self._ask("effect", units, len(units), t0=T0, t1=T1, level=1 - alpha)[1:]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        tags.target_tags.required = True
        return tags

    def _ask(
        self, question: str, units: Any, n: int, **arguments: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Points and intervals, one row per unit; a unit that cannot be answered is an error."""
        with quietly():
            answers = getattr(self.model_, question)(units, **arguments, progress=False)
        if isinstance(answers, ArrayAnswers):
            ends: tuple[NDArray[Any], ...] = answers.point, answers.lower, answers.upper
        else:
            point = "effect_" if question == "effect" else ""
            clash = "answer_" if question != "effect" and f"answer_{self._y_names[0]}" in answers.column_names else point
            ends = tuple(_matrix(answers, prefix, self._y_names) for prefix in (clash, "lower_", "upper_"))
        if len(ends[0]) != n:
            message = f"X: {n - len(ends[0])} of {n} units cannot be answered: values are missing, or categories are unknown"
            raise DataError(message, "fit to data with such values, or leave these units out")
        return tuple(end.astype(np.float64) for end in ends)  # type: ignore[return-value]

    def _units(self, X: Any, y: Any, treatment: Any, reset: bool = False, optional: bool = False) -> Any:
        """The units of X as arrays or as a table."""
        if not reset:
            check_is_fitted(self, "model_")
        has_metadata = treatment is not None
        if self._has_metadata != has_metadata and not (optional and self._has_metadata):
            message = "treatment: the model was fitted " + ("without it" if has_metadata else "with it")
            raise ConfigError(message, "give `treatment` to `fit` and `predict`, or to neither")
        if is_frame(X):
            return self._frame_units(X, y, treatment, reset)
        options: dict[str, Any] = {"ensure_all_finite": "allow-nan", "dtype": [np.float64, np.float32], "reset": reset}
        options["ensure_min_features"] = 1 if self._has_metadata else 2
        if y is None:
            X = validate_data(self, X, **options)
        else:
            y_options: dict[str, Any] = {"multi_output": True, "y_numeric": True, "ensure_min_samples": 2 if reset else 1}
            X, y = validate_data(self, X, y, **options, **y_options)
        if self._has_metadata:
            return Arrays(X, treatment, y)
        if not isinstance(self.treatment, int) or not -X.shape[1] <= self.treatment < X.shape[1]:
            message = f"treatment: {self.treatment!r} is not a column of an array with {X.shape[1]} columns"
            raise ConfigError(message, "give its position, or a data frame")
        return Arrays(np.delete(X, self.treatment, axis=1), X[:, self.treatment], y)

    def _frame_units(self, X: Any, y: Any, treatment: Any, reset: bool) -> pa.Table:
        import pyarrow as pa

        validate_data(self, X, reset=reset, skip_check_array=True)
        table = frame_table(X)
        if treatment is not None:
            check_consistent_length(X, treatment)
            table = table.append_column(self._t_name(X), pa.array(np.asarray(treatment)))
        elif not self._has_metadata and self._t_name(X) not in table.column_names:
            raise ConfigError(f"treatment: there is no column `{self.treatment}`", f"the columns are {table.column_names}")
        if y is None:
            return table
        values = check_array(y, ensure_2d=False, dtype="numeric", input_name="y")
        check_consistent_length(X, values)
        for name, column in zip(self._outcome_names(y, values, table), np.atleast_2d(values.T), strict=True):
            table = table.append_column(name, pa.array(column))
        return table

    def _outcome_names(self, y: Any, values: NDArray[Any], table: pa.Table) -> list[str]:
        """The names of the outcomes, different from those of the table."""
        if self._y_names:
            return self._y_names
        count = 1 if values.ndim == 1 else values.shape[1]
        given = [getattr(y, "name", None)] if count == 1 else list(getattr(y, "columns", [None] * count))
        names = [str(name) if name is not None else ("y" if count == 1 else f"y{k}") for k, name in enumerate(given)]
        return [name + "_" * (name in table.column_names) for name in names]

    def _t_name(self, X: Any) -> str:
        """The name of the column with the treatment."""
        names = column_names(X)
        if self._has_metadata:
            return "treatment" + "_" * ("treatment" in names)
        if isinstance(self.treatment, int) and -len(names) <= self.treatment < len(names):
            return names[self.treatment]
        return str(self.treatment)


def _matrix(table: pa.Table, prefix: str, names: Sequence[str]) -> NDArray[Any]:
    columns = [np.asarray(table[prefix + name]) for name in names]
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
