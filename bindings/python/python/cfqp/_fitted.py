"""A fitted model inside an estimator: its attributes, its data, and how questions are put to it."""

from __future__ import annotations

import copy
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypedDict

from ._errors import AnswerWarning, NotFittedError
from ._frames import Input, read_input
from ._progress import Display, ProgressLike

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._cfqp import Answers, Model, Progress

logger = logging.getLogger("cfqp")
"""The notes of fits, and units that were dropped."""


_is_quiet: ContextVar[bool] = ContextVar("_is_quiet", default=False)


class AskOptions(TypedDict, total=False):
    """Options of questions."""

    level: float
    """The level of the intervals; 0.9 by default."""
    rho: float | str
    """How much of a unit's noise is the same under the new treatment, from 0 to 1, or "auto"."""
    rho_bounds: bool
    """Whether to add the answers under rho = 0 and rho = 1."""
    units: Sequence[object] | None
    """The ids of the units to ask about; without an id column, the row numbers."""
    progress: ProgressLike
    """Whether, or to whom, progress is reported."""


class Fitted:
    """What is known after a fit or after loading a model.

    Attributes
    ----------
    n_classes_ : int
        The number of hidden classes.
    base_ : str
        The base model.
    members_ : int
        The number of members of the ensemble.
    n_features_in_ : int
        The number of elements of a unit's covariates.
    feature_names_in_ : ndarray of str
        The names of the covariates; only if the model was fitted to a table.
    outcomes_, treatments_ : list of dict
        The names and kinds of outcomes and treatments.
    report_ : dict
        How the fit went: candidates, starts, sizes of classes, held-out scores, notes.
    config_ : dict
        All settings of the fit.
    layout_ : dict or None
        The columns that the model reads.
    """

    n_classes_: int
    base_: str
    members_: int
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    outcomes_: list[dict[str, Any]]
    treatments_: list[dict[str, Any]]
    report_: dict[str, Any]
    config_: dict[str, Any]
    layout_: dict[str, Any] | None

    _native: Model | None = None
    _data: Input | None = None
    _columns: Mapping[str, Any] | None = None
    _description: dict[str, Any]

    def _adopt(self, native: Model, data: Input | None) -> None:
        """Takes a model of the native module, and the data that it was fitted to."""
        self._native, self._data = native, data
        description = json.loads(native.describe())
        self._description = description
        self.n_classes_ = description["classes"]
        self.base_ = description["base"]
        self.members_ = description["members"]
        self.outcomes_ = description["outcomes"]
        self.treatments_ = description["treatments"]
        self.report_ = description["fit"]
        self.config_ = description["config"]
        self.layout_ = description["layout"]
        self.n_features_in_ = 1
        for side in description["x_shape"]:
            self.n_features_in_ *= side
        self.__dict__.pop("feature_names_in_", None)
        if self.layout_ is not None:
            import numpy as np

            self.feature_names_in_ = np.asarray(description["covariates"], dtype=object)

    def _model(self) -> Model:
        if self._native is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted", "call `fit`, or load a model with cfqp.load")
        return self._native

    def describe(self) -> dict[str, Any]:
        """All that is known of the model: shapes, columns, outcomes, treatments, settings and the report of the fit."""
        self._model()
        return copy.deepcopy(self._description)

    def __sklearn_is_fitted__(self) -> bool:
        return self._native is not None

    def _input(self, data: Any, new_columns: Mapping[str, Any] | None = None) -> Input:
        """`data` for the native module; `None` is the data of the fit."""
        self._model()
        if data is None:
            data = self._data
        if data is None:
            raise TypeError("the model was loaded without the data of its fit: give `data`")
        return read_input(data, new_columns)

    def _answer(
        self, units: Input, question: str, ask: Callable[[Progress | None], Answers], progress: ProgressLike
    ) -> Any:
        """Asks, logs and warns, and gives the answers back as the units were given."""
        with Display(progress) as display:
            answers = ask(display.callback)
        log_dropped(json.loads(answers.summary))
        if not _is_quiet.get():
            _warn(json.loads(answers.warnings), stacklevel=4)
        return units.answers(answers, self._description, question)


@contextmanager
def quietly() -> Iterator[None]:
    """Inside, flagged answers do not warn; in this thread only."""
    token = _is_quiet.set(True)
    try:
        yield
    finally:
        _is_quiet.reset(token)


def log_dropped(summary: Mapping[str, Any] | None) -> None:
    """Logs why units were dropped."""
    for dropped in (summary or {}).get("dropped", ()):
        units = "1 unit" if dropped["count"] == 1 else f"{dropped['count']:,} units"
        logger.warning("%s dropped: %s (first: %s)", units, dropped["reason"], dropped["first"])


def _warn(counts: Mapping[str, Any], stacklevel: int) -> None:
    """Warns once if answers are flagged."""
    flagged = counts["answers"] - counts["ok"]
    if flagged:
        flags = ", ".join(f"{name} {count:,}" for name, count in counts["flags"].items() if count)
        message = f"{flagged:,} of {counts['answers']:,} answers are flagged: {flags}; see `flag`"
        warnings.warn(message, AnswerWarning, stacklevel=stacklevel)


def unit_ids(units: Any) -> list[str]:
    """Ids as texts; none stands for all units."""
    if units is None:
        return []
    if isinstance(units, str) or not hasattr(units, "__iter__"):
        return [str(units)]
    return [str(unit) for unit in units]
