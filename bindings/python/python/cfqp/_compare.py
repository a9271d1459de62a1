"""Comparisons of methods where outcomes under a second treatment are known."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from . import _cfqp
from ._arrays import Arrays
from ._check import read_table
from ._errors import ConfigError
from ._estimator import CFQP
from ._frames import read_input
from ._params import Columns, check_names, resources_json, to_json
from ._progress import Display, ProgressLike
from ._repr import html_table, text_table
from ._simulate import Simulated, Truth

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

SEEDS = 5
"""The default number of seeds; on pairs of measurements it is 1."""

NEED_CLASSES = ("cfqp-kmeans", "cfqp-gmm")
"""The methods that do not choose the number of classes."""

_SHOWN = ("cf_mse", "rmse", "rmse_sd", "ssim", "class_accuracy", "coverage", "width", "fit_seconds")
"""The measures that a comparison prints, those that it has."""


@dataclass(frozen=True)
class Comparison:
    """The scores of several methods.

    Attributes
    ----------
    runs : tuple of dict
        One per method and seed, as in `cfqp compare --json`: `method`, `seed`, `scores` or, if it failed, `error`, and `config`.
    """

    runs: tuple[dict[str, Any], ...]

    @property
    def table(self) -> pa.Table:
        """One row per run: `method`, `seed`, `error`, and all scores."""
        import pyarrow as pa

        names = list(dict.fromkeys(name for run in self.runs for name in run["scores"] or {}))
        rows = [
            {"method": run["method"], "seed": run["seed"], "error": run["error"]} | dict.fromkeys(names) | (run["scores"] or {})
            for run in self.runs
        ]
        return pa.Table.from_pylist(rows)

    @property
    def summary(self) -> dict[str, dict[str, tuple[float, float]]]:
        """The mean and the standard deviation over seeds, by method and measure."""
        return {
            row["method"]: {
                measure["measure"]: (measure["statistics"]["mean"], measure["statistics"]["deviation"])
                for measure in row["measures"]
                if measure["statistics"] is not None
            }
            for row in json.loads(_cfqp.summarise_runs(json.dumps(self.runs)))
        }

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The runs that failed."""
        return [run for run in self.runs if run["scores"] is None]

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.runs)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        summary = self.summary
        shown = [name for name in _SHOWN if any(name in measures for measures in summary.values())]

        def cell(measures: Mapping[str, tuple[float, float]], name: str) -> str:
            mean, deviation = measures.get(name, (None, 0.0))
            if mean is None:
                return ""
            return f"{mean:.3g} ± {deviation:.2g}" if deviation else f"{mean:.3g}"

        return ["method", *shown], [[method, *(cell(of, name) for name in shown)] for method, of in summary.items()]

    def __repr__(self) -> str:
        failed = [f"{run['method']} failed with seed {run['seed']}: {run['error']}" for run in self.failures]
        return "\n".join([text_table(*self._cells()), *failed])

    def _repr_html_(self) -> str:
        return html_table(*self._cells(), caption=f"{len(self)} runs, mean ± standard deviation over seeds")


@dataclass(frozen=True)
class Setting:
    """What is compared, with which data. It can be sent to workers.

    Attributes
    ----------
    data, test, truth, pairs, train_z
        The data, as for `compare`; the truth is separate from the units.
    columns : mapping
        The description of a table.
    methods : tuple of str
        The methods.
    seeds : tuple of int
        The seeds.
    estimator : CFQP
        The settings of methods that fit a mixture.
    rho : float or "auto"
        The correlation of the noise that is assumed.
    window : float
        The window of synthetic control.
    """

    data: Any
    test: Any
    truth: Truth | None
    pairs: Any
    train_z: Any
    columns: Mapping[str, Any]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    estimator: CFQP
    rho: float | str
    window: float

    @classmethod
    def plan(
        cls, data: Any, test: Any, truth: Truth | None, pairs: Any, methods: Iterable[str] | None, seeds: int | Iterable[int] | None,
        estimator: CFQP | None, rho: float | str | None, window: float, columns: Mapping[str, Any],
    ) -> Setting:  # fmt: skip
        """The setting of a comparison with its defaults.

        Raises
        ------
        ConfigError
            If nothing is known about a second treatment, or a method needs a number of classes that nobody chooses.
        """
        check_names(columns, "compare")
        if (test is None) == (pairs is None):
            raise ConfigError("compare: there is nothing to compare with", "give either `test` or `pairs`")
        train_z = None
        if isinstance(data, Simulated):
            data, train_z = data.arrays, data.truth.z
        if isinstance(test, Simulated):
            test, truth = test.arrays, truth or test.truth
        if methods is None:
            classes_known = _has_classes(data, train_z) and _has_classes(test, truth and truth.z)
            methods = _cfqp.default_methods(pairs is not None, classes_known)
        chosen = tuple(dict.fromkeys(methods))
        if seeds is None:
            seeds = SEEDS if pairs is None else 1
        numbers = range(1, seeds + 1) if isinstance(seeds, int) else seeds
        estimator = estimator or CFQP()
        if rho is None:
            rho = 1.0 if pairs is None else "auto"
        needy = [method for method in chosen if method in NEED_CLASSES]
        if needy and estimator.classes == "auto" and "cfqp" not in chosen:
            message = f"classes: {needy[0]} does not choose the number of classes"
            raise ConfigError(message, "give CFQP(classes=3), or add cfqp to the methods: its choice is then used")
        return cls(data, test, truth, pairs, train_z, dict(columns), chosen, tuple(map(int, numbers)), estimator, rho, window)

    def only(self, method: str, seed: int, classes: int | None = None) -> Setting:
        """One run of this comparison, if need be with a number of classes."""
        params = self.estimator.get_params()
        if classes is not None:
            params["classes"] = classes
        return replace(self, methods=(method,), seeds=(seed,), estimator=CFQP(**params))

    def run(
        self, threads: int | None, folder: str | os.PathLike[str] | None = None,
        progress: Callable[[str, int, int], object] | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """All runs, one after the other."""
        units, spec = read_table(self.data, self.columns)
        comparison = {"methods": self.methods, "seeds": self.seeds, "config": self.config()}
        text = _cfqp.compare(
            units.source, spec, to_json(comparison, "the settings of the comparison"),
            None if self.test is None else read_input(self.test).source, self._true_units(), _numbers(self.train_z),
            None if self.truth is None else _numbers(self.truth.z), None if self.pairs is None else read_input(self.pairs).source,
            resources_json(threads), None if folder is None else os.fspath(folder), progress,
        )  # fmt: skip
        runs: list[dict[str, Any]] = json.loads(text)
        return runs

    def config(self) -> dict[str, Any]:
        """The settings of all methods, as the library reads them."""
        return {"fit": json.loads(self.estimator._config()), "rho": self.rho, "sc": {"window": self.window}}

    def _true_units(self) -> _cfqp.Source | None:
        """The test units as they would be under their new treatments."""
        if self.truth is None or self.test is None:
            return None
        test = Arrays(*self.test) if isinstance(self.test, tuple) else self.test
        if not isinstance(test, Arrays):
            raise ConfigError("truth: the test units are not arrays", "give `test` as cfqp.Arrays(x, t, y)")
        return Arrays(test.x, self.truth.t_new, self.truth.y_new).source()


def compare(
    data: Any, test: Any = None, truth: Truth | None = None, *, pairs: Any = None, methods: Iterable[str] | None = None,
    seeds: int | Iterable[int] | None = None, estimator: CFQP | None = None, rho: float | str | None = None, window: float = 0.1,
    folder: str | os.PathLike[str] | None = None, progress: ProgressLike = None, **columns: Unpack[Columns],
) -> Comparison:  # fmt: skip
    """Compares methods on units whose outcome under a second treatment is known.

    Parameters
    ----------
    data : Simulated, Arrays, (x, t, y), path or data frame
        The units that every method is fitted to.
    test : Simulated, Arrays, (x, t, y) or path, optional
        Other units, with known counterfactuals. An .npz file has t_new and y_new and, if known, z.
    truth : Truth, optional
        The counterfactuals of `test`, if it does not have them itself.
    pairs : data frame or path, optional
        Instead of `test`: real measurements of units of the table `data` under a second treatment, with the columns id, t_new and y_new.
    methods : sequence of str, optional
        "deep-ite", "sc", "deep-scm", "diff-scm", "cfqp-kmeans", "cfqp-gmm", "cfqp", "oracle", "regression", "residual",
        "shrunk-residual", "conformal", "process"; by default those of the paper, or on pairs "regression", "residual",
        "shrunk-residual", "conformal" and "cfqp".
    seeds : int or sequence of int, optional
        Every method runs once with each; a number n stands for 1 to n. By default 5, on pairs 1.
    estimator : CFQP, optional
        The settings of methods that fit a mixture: classes, base model, epochs, learning rate. Where the number of classes is "auto",
        the published algorithm uses the choice of "cfqp".
    rho : float or "auto", optional
        How much of a unit's noise "cfqp" and "oracle" assume to be the same under the new treatment; by default 1, on pairs "auto".
    window : float, default 0.1
        "sc": the largest distance between the treatment of a donor and the new treatment.
    folder : path, optional
        Where finished runs are kept: the same comparison continues where it stopped.
    progress
        As for `CFQP.fit`.
    **columns
        The columns of a table, as for `CFQP.fit`.

    Returns
    -------
    Comparison
        All runs; a method that fails is reported, and does not stop the others.

    Examples
    --------
    >>> import cfqp
    >>> train, test = cfqp.simulate("crossing", n=150, seed=1), cfqp.simulate("crossing", n=50, seed=2)
    >>> found = cfqp.compare(train, test, methods=["regression", "residual"], seeds=1)
    >>> sorted(found.summary)
    ['regression', 'residual']
    """
    setting = Setting.plan(data, test, truth, pairs, methods, seeds, estimator, rho, window, columns)
    with Display(progress) as display:
        return Comparison(tuple(setting.run(setting.estimator.threads, folder, display.callback)))


def failed_run(setting: Setting, error: str) -> dict[str, Any]:
    """The record of a comparison of one run that failed."""
    method, seed = setting.methods[0], setting.seeds[0]
    config = setting.config()
    return {"method": method, "seed": seed, "version": _cfqp.__version__, "config": config, "scores": None, "error": error}


def _has_classes(data: Any, z: Any) -> bool:
    """Whether the true classes of `data` are known: `z`, or an array of an .npz file."""
    import numpy as np

    if z is not None or not isinstance(data, str | os.PathLike) or not str(data).endswith(".npz"):
        return z is not None
    try:
        with np.load(data) as arrays:
            return "z" in arrays.files
    except (OSError, ValueError):  # the library names what is wrong with the file
        return False


def _numbers(classes: Any) -> list[int] | None:
    return None if classes is None else [int(number) for number in classes]
