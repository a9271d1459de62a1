"""Many fits of the same units on Ray: sweeps over settings, and comparisons of methods."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import ray
import ray.data

from ._compare import NEED_CLASSES, Comparison, Setting, failed_run
from ._errors import CfqpError, ConfigError, FitError
from ._estimator import CFQP
from ._group_fits import GroupFits, failure, fit_record, record_schema, worker_estimator

if TYPE_CHECKING:
    from ray.data import Dataset

    from ._simulate import Truth


class Sweep(GroupFits):
    """The fits of a sweep, by their number. The columns after `run` are the parameters, as JSON texts."""

    @property
    def best(self) -> CFQP:
        """The model with the smallest `val_nll`.

        Raises
        ------
        FitError
            If no fit succeeded.
        """
        scores = dict(zip(self.keys(), self.table["val_nll"].to_pylist(), strict=True))
        known = {run: score for run, score in scores.items() if score is not None}
        if not known:
            self.raise_failures()
        return self.models[min(known, key=known.__getitem__)]


def sweep(
    data: Any, grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]], *, estimator: CFQP | None = None,
    validation: Any = None, timeout: float | None = None, **columns: Any,
) -> Sweep:  # fmt: skip
    """Fits the same units with many settings, each in a Ray task, and tabulates held-out scores.

    Parameters
    ----------
    data : pyarrow.Table, any table that pyarrow reads, or ray.data.Dataset
        The units. It is put into the object store once.
    grid : mapping or sequence of mappings
        The values of every parameter of `CFQP`, of which all combinations are fitted:
        ``{"classes": [1, 2, 3], "random_state": range(5)}``. A sequence has the parameters of every fit.
    estimator : CFQP, optional
        The other settings. With `threads=None` a fit has one thread. A task reserves as many CPUs as a fit has threads.
    validation
        Units for selection and calibration, like `data`; by default a part of `data`, or every unit in turn.
    timeout : float, optional
        The longest time of one fit, in seconds; a longer one is reported as failed.
    **columns
        The columns `x`, `t`, `y`, ... as for `CFQP.fit`.

    Returns
    -------
    Sweep
        One row per fit: `run`, the parameters, then the columns of `GroupFits`. Also a fit whose worker died has a row.
    """
    runs = _runs(grid)
    base = (estimator or CFQP()).get_params()
    estimators = [worker_estimator(CFQP(**base).set_params(**run)) for run in runs]
    table = ray.put(_table(data))
    more = {} if validation is None else {"validation": ray.put(_table(validation))}
    fit: Any = ray.remote(_fit)
    refs = [fit.options(num_cpus=settings.threads).remote(table, settings, columns, timeout, more) for settings in estimators]
    records = [_outcome(ref) for ref in refs]
    names = list(dict.fromkeys(name for run in runs for name in run))
    rows = [
        {"run": i} | {name: json.dumps(run[name], default=str) for name in run} | record
        for i, (run, record) in enumerate(zip(runs, records, strict=True))
    ]
    schema = pa.schema([("run", pa.int64()), *((name, pa.string()) for name in names), *record_schema()])
    return Sweep(pa.Table.from_pylist(rows, schema), "run")


def compare(
    data: Any, test: Any = None, truth: Truth | None = None, *, pairs: Any = None, methods: Sequence[str] | None = None,
    seeds: int | Sequence[int] | None = None, estimator: CFQP | None = None, rho: float | str | None = None, window: float = 0.1,
    **columns: Any,
) -> Comparison:  # fmt: skip
    """Compares methods as `cfqp.compare` does, every method with every seed in a Ray task of its own.

    Parameters
    ----------
    data, test, truth, pairs, methods, seeds, rho, window, **columns
        As for `cfqp.compare`. Data in memory are put into the object store once; paths must exist on all machines.
    estimator : CFQP, optional
        The settings of methods that fit a mixture. With `threads=None` a run has one thread. A task reserves as many CPUs as a run has
        threads.

    Returns
    -------
    Comparison
        The same runs as those of `cfqp.compare`, but for their times. Also a run whose worker died has a row, with its error.

    Raises
    ------
    CfqpError
        The first error, if all runs failed.
    """
    setting = Setting.plan(data, test, truth, pairs, methods, seeds, worker_estimator(estimator), rho, window, columns)
    shared = ray.put(setting)
    run: Any = ray.remote(_run).options(num_cpus=setting.estimator.threads)
    chosen: dict[int, Any] = {}
    if setting.estimator.classes == "auto" and "cfqp" in setting.methods:
        chosen = {seed: run.remote(shared, "cfqp", seed) for seed in setting.seeds}

    def start(method: str, seed: int) -> Any:
        if method == "cfqp" and seed in chosen:
            return chosen[seed]
        return run.remote(shared, method, seed, chosen.get(seed) if method in NEED_CLASSES else None)

    planned = [(method, seed) for method in setting.methods for seed in setting.seeds]
    started = [start(method, seed) for method, seed in planned]
    finished = [_finished_run(ref, setting, method, seed) for ref, (method, seed) in zip(started, planned, strict=True)]
    errors = [run.error for run in finished if run.error is not None]
    if errors and len(errors) == len(finished):
        raise errors[0]
    return Comparison(tuple(run.record for run in finished))


@dataclass(frozen=True)
class _Run:
    """A run of a comparison, and its error if it failed."""

    record: dict[str, Any]
    error: CfqpError | None = None


def collect(ds: Dataset) -> pa.Table:
    """All rows of a data set on this machine."""
    tables = ray.get(ds.to_arrow_refs())
    return pa.concat_tables([table for table in tables if len(table) > 0] or tables)


def _table(data: Any) -> pa.Table:
    if isinstance(data, ray.data.Dataset):
        return collect(data)
    return data if isinstance(data, pa.Table) else pa.table(data)


def _runs(grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The parameters of every fit."""
    if isinstance(grid, Mapping):
        runs = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    else:
        runs = [dict(run) for run in grid]
    if not runs or not runs[0]:
        raise ConfigError("grid: there is nothing to fit", "give values of parameters, such as {'classes': [1, 2, 3]}")
    return runs


def _fit(
    table: pa.Table, estimator: CFQP, columns: Mapping[str, Any], timeout: float | None, more: Mapping[str, Any]
) -> dict[str, Any]:
    return fit_record(table, estimator, columns, timeout, **{name: ray.get(ref) for name, ref in more.items()})


def _run(setting: Setting, method: str, seed: int, chosen: _Run | None = None) -> _Run:
    """One run of a comparison, with the number of classes that another run has chosen."""
    classes = None if chosen is None else (chosen.record["scores"] or {}).get("classes")
    one = setting.only(method, seed, classes)
    try:
        return _Run(one.run(one.estimator.threads)[0])
    except CfqpError as error:
        return _Run(failed_run(one, str(error)), error)


def _finished_run(ref: Any, setting: Setting, method: str, seed: int) -> _Run:
    """A run, also if its worker died."""
    try:
        run: _Run = ray.get(ref)
    except ray.exceptions.RayError as error:
        return _Run(failed_run(setting.only(method, seed), str(error)), FitError(str(error)))
    return run


def _outcome(ref: Any) -> dict[str, Any]:
    """The record of a fit, also if its worker died."""
    try:
        record: dict[str, Any] = ray.get(ref)
    except ray.exceptions.RayError as error:
        return failure(error)
    return record
