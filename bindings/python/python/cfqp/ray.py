"""Questions, fits, sweeps and comparisons on Ray: one model asked about a data set of any size, many models fitted at once.

Workers need this package; see `docs/CLUSTERS.md`.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import ray
import ray.data

from ._errors import DataError
from ._estimator import CFQP
from ._group_fits import GroupFits, check_keys, fit_group, worker_estimator
from ._partitions import (
    BATCH_ROWS,
    Asked,
    ModelLike,
    Question,
    ask_counterfactual,
    ask_curve,
    ask_effect,
    digest,
    open_model,
    worker_model,
)
from ._ray_tasks import Sweep, collect, compare, sweep

if TYPE_CHECKING:
    from ray.data import Dataset

    from ._treatments import TreatmentLike

__all__ = ["GroupFits", "Sweep", "compare", "counterfactual", "curve", "effect", "fit_by", "sweep"]

_ACTOR_CPUS = 0.25
"""What an actor reserves. There is one per core, so the rest is free for tasks that read blocks, also again after a lost node:
if actors held all cores, neither could go on."""

_PARTITIONS_PER_CPU = 4
"""Partitions of subjects."""

_FITS_PER_CPU = 16
"""Partitions of fits: groups differ in size, and what a lost node had not finished is done again."""

_BUCKET = "__cfqp_bucket"


def counterfactual(
    ds: Dataset, model: ModelLike, t: TreatmentLike | None = None, *, t_from: str | Sequence[str] | None = None,
    keep: Sequence[str] | str | None = None, level: float = 0.9, rho: float | str = "auto", rho_bounds: bool = False,
    distribution: bool = False, actors: int | tuple[int, int] | None = None, partitions: int | None = None,
) -> Dataset:  # fmt: skip
    """The outcome of each unit under another treatment.

    Parameters
    ----------
    ds : ray.data.Dataset
        The units, with the columns that the model was fitted to.
    model : CFQP, path or bytes
        The fitted model. It is put into the object store once, and loaded once by every actor.
    t : number, str, sequence or dict
        The new treatment of all units.
    t_from : str or sequence of str, optional
        The columns with the new treatment of each unit, instead of `t`.
    keep : str or sequence of str, optional
        Columns of `ds` that answers have, too, after the id column. Required if the model has no id column.
    level, rho, rho_bounds, distribution
        As for `CFQP.counterfactual`.
    actors : int or (int, int), optional
        The number of actors, each with one thread, or the smallest and the largest number; by default one per CPU of the cluster.
    partitions : int, optional
        The number of parts that subjects are divided into, where the model has subjects or a table has one row per sample; by default
        4 per CPU.

    Returns
    -------
    ray.data.Dataset
        The id column with its type in `ds`, the columns `keep`, then those of `cfqp query`. Units that cannot be used have no row.
        Nothing is computed before the data set is used, and errors of blocks are raised then.

    Raises
    ------
    CfqpError
        If the model cannot be asked about the columns of `ds`.
    """
    asked = ask_counterfactual(t, t_from, level, rho, rho_bounds, distribution)
    return _ask(ds, model, asked, keep, actors, partitions)


def effect(
    ds: Dataset, model: ModelLike, t0: TreatmentLike, t1: TreatmentLike, *, keep: Sequence[str] | str | None = None,
    level: float = 0.9, rho: float | str = "auto", rho_bounds: bool = False, actors: int | tuple[int, int] | None = None,
    partitions: int | None = None,
) -> Dataset:  # fmt: skip
    """The effect of `t1` against `t0` on each unit, with the columns of `cfqp effect`.

    Parameters
    ----------
    ds, model, keep, actors, partitions
        As for `counterfactual`.
    t0, t1, level, rho, rho_bounds
        As for `CFQP.effect`.
    """
    return _ask(ds, model, ask_effect(t0, t1, level, rho, rho_bounds), keep, actors, partitions)


def curve(
    ds: Dataset, model: ModelLike, grid: Sequence[TreatmentLike] | None = None, *, points: int = 9, over: str | None = None,
    hold: Mapping[str, Any] | None = None, keep: Sequence[str] | str | None = None, level: float = 0.9,
    rho: float | str = "auto", rho_bounds: bool = False, actors: int | tuple[int, int] | None = None,
    partitions: int | None = None,
) -> Dataset:  # fmt: skip
    """Dose-response curves: one row per unit and treatment, with the columns of `cfqp curve`.

    Parameters
    ----------
    ds, model, keep, actors, partitions
        As for `counterfactual`.
    grid, points, over, hold, level, rho, rho_bounds
        As for `CFQP.curve`.
    """
    return _ask(ds, model, ask_curve(grid, points, over, hold, level, rho, rho_bounds), keep, actors, partitions)


def fit_by(
    ds: Dataset, by: str | Sequence[str], *, estimator: CFQP | None = None, timeout: float | None = None,
    partitions: int | None = None, **columns: Any,
) -> GroupFits:  # fmt: skip
    """Fits one model per group of rows. A group that cannot be fitted is reported, and does not stop the others.

    Parameters
    ----------
    ds : ray.data.Dataset
        The units of all groups. All rows of a group must fit into the memory of one worker.
    by : str or sequence of str
        The columns whose values form a group. Fits do not see them.
    estimator : CFQP, optional
        The settings of all fits. With `threads=None` a fit has one thread. A task reserves as many CPUs as a fit has threads.
    timeout : float, optional
        The longest time of one fit, in seconds; a longer one is reported as failed.
    partitions : int, optional
        The number of tasks that share the groups; by default 16 per CPU of the cluster.
    **columns
        The columns `x`, `t`, `y`, ... as for `CFQP.fit`.

    Returns
    -------
    GroupFits
        Models and failures by key. Fits run when they are asked for; `frame` is the data set, one row per group, to write to
        a file.
    """
    keys = check_keys(by, _arrow_schema(ds).names)
    settings = worker_estimator(estimator)

    def fit(table: pa.Table) -> pa.Table:
        return fit_group(table, keys, settings, columns, timeout)

    grouped = ds.groupby(by if isinstance(by, str) else keys, num_partitions=partitions or _FITS_PER_CPU * _cpus())
    frame = grouped.map_groups(fit, batch_format="pyarrow", num_cpus=settings.threads)
    return GroupFits(frame, by, collect=lambda: collect(frame))


class _Answerer:
    """An actor with a model."""

    def __init__(self, question: Question, name: str, data: list[Any]) -> None:
        self._question = question
        self._model = worker_model(name, lambda: ray.get(data[0]))

    def __call__(self, table: pa.Table) -> pa.Table:
        return self._question.answer(self._model, table)


def _ask(
    ds: Dataset, model: ModelLike, asked: Asked, keep: Sequence[str] | str | None,
    actors: int | tuple[int, int] | None, partitions: int | None,
) -> Dataset:  # fmt: skip
    loaded, data = open_model(model)
    schema = _arrow_schema(ds)
    question = Question.plan(loaded, asked, schema.names, keep)
    # a question that cannot be answered fails here, not on the workers
    question.schema(loaded, pa.schema([schema.field(name) for name in question.columns]))
    ds = ds.select_columns(list(question.columns))
    # inside a list, the model outlives actors that are started again
    options = {
        "fn_constructor_args": (question, digest(data), [ray.put(data)]), "batch_format": "pyarrow",
        "num_cpus": _ACTOR_CPUS, "compute": _pool(actors),
    }  # fmt: skip
    if question.subject is None:
        # readers put up to 128 MB into one block, which one actor would answer alone
        ds = ds.repartition(target_num_rows_per_block=BATCH_ROWS)
        return ds.map_batches(_Answerer, batch_size=BATCH_ROWS, **options)
    count = partitions or _PARTITIONS_PER_CPU * _cpus()
    buckets = ds.map_batches(partial(_with_bucket, subject=question.subject, count=count), batch_format="pyarrow")
    return buckets.groupby(_BUCKET, num_partitions=count).map_groups(_Answerer, **options)


def _with_bucket(table: pa.Table, subject: str, count: int) -> pa.Table:
    """Adds a number from 0 to `count` - 1 that is equal for all rows of a subject."""
    codes = table.column(subject).combine_chunks().dictionary_encode()
    numbers = pa.array([zlib.crc32(str(name).encode()) % count for name in codes.dictionary.to_pylist()], pa.int64())
    return table.append_column(_BUCKET, pc.fill_null(numbers.take(codes.indices), 0))


def _pool(actors: int | tuple[int, int] | None) -> Any:
    if actors is None:
        return ray.data.ActorPoolStrategy(min_size=1, max_size=_cpus())
    if isinstance(actors, int):
        return ray.data.ActorPoolStrategy(size=actors)
    return ray.data.ActorPoolStrategy(min_size=actors[0], max_size=actors[1])


def _cpus() -> int:
    if not ray.is_initialized():
        ray.init()
    resources: Mapping[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call, unused-ignore]
    return max(1, int(resources.get("CPU", 1)))


def _arrow_schema(ds: Dataset) -> pa.Schema:
    """The columns as workers get them."""
    schema = ds.schema()
    if schema is None:
        raise DataError("the data set has neither rows nor columns", "read it from files that have columns")
    if isinstance(schema.base_schema, pa.Schema):
        return schema.base_schema
    first: pa.Table = ds.take_batch(1, batch_format="pyarrow")
    return first.schema
