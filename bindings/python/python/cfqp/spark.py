"""Questions and fits on Spark: one model asked about a table of any size, or one model fitted per group of rows.

Workers need this package and pyarrow; see `docs/CLUSTERS.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    FloatType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from ._estimator import CFQP
from ._group_fits import GroupFits, check_keys, fit_group, record_schema, worker_estimator
from ._partitions import (
    Asked,
    ModelLike,
    Question,
    answer_batches,
    ask_counterfactual,
    ask_curve,
    ask_effect,
    digest,
    open_model,
    worker_model,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ._treatments import TreatmentLike

__all__ = ["GroupFits", "counterfactual", "curve", "effect", "fit_by"]

_FITS_PER_CORE = 16
"""Partitions of fits: groups differ in size, and what a lost worker had not finished is done again."""

_TYPES: Mapping[pa.DataType, DataType] = {
    pa.int64(): LongType(),
    pa.float32(): FloatType(),
    pa.float64(): DoubleType(),
    pa.string(): StringType(),
    pa.binary(): BinaryType(),
}


def counterfactual(
    df: DataFrame, model: ModelLike, t: TreatmentLike | None = None, *, t_from: str | Sequence[str] | None = None,
    keep: Sequence[str] | str | None = None, level: float = 0.9, rho: float | str = "auto", rho_bounds: bool = False,
    distribution: bool = False,
) -> DataFrame:  # fmt: skip
    """The outcome of each unit under another treatment.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The units, with the columns that the model was fitted to.
    model : CFQP, path or bytes
        The fitted model. It is broadcast once, and loaded once by every Python worker.
    t : number, str, sequence or dict
        The new treatment of all units.
    t_from : str or sequence of str, optional
        The columns with the new treatment of each unit, instead of `t`.
    keep : str or sequence of str, optional
        Columns of `df` that answers have, too, after the id column. Required if the model has no id column.
    level, rho, rho_bounds, distribution
        As for `CFQP.counterfactual`.

    Returns
    -------
    pyspark.sql.DataFrame
        The id column with its type in `df`, the columns `keep`, then those of `cfqp query`. Units that cannot be used have no row.
        Nothing is computed before an action of Spark, and errors of partitions are raised by it.

    Raises
    ------
    CfqpError
        If the model cannot be asked about the columns of `df`.

    Notes
    -----
    If the model has subjects (`group`), or a table has one row per sample, `df` is first shuffled by subject or unit.
    """
    asked = ask_counterfactual(t, t_from, level, rho, rho_bounds, distribution)
    return _ask(df, model, asked, keep)


def effect(
    df: DataFrame, model: ModelLike, t0: TreatmentLike, t1: TreatmentLike, *, keep: Sequence[str] | str | None = None,
    level: float = 0.9, rho: float | str = "auto", rho_bounds: bool = False,
) -> DataFrame:  # fmt: skip
    """The effect of `t1` against `t0` on each unit, with the columns of `cfqp effect`.

    Parameters
    ----------
    df, model, keep
        As for `counterfactual`.
    t0, t1, level, rho, rho_bounds
        As for `CFQP.effect`.
    """
    return _ask(df, model, ask_effect(t0, t1, level, rho, rho_bounds), keep)


def curve(
    df: DataFrame, model: ModelLike, grid: Sequence[TreatmentLike] | None = None, *, points: int = 9, over: str | None = None,
    hold: Mapping[str, Any] | None = None, keep: Sequence[str] | str | None = None, level: float = 0.9,
    rho: float | str = "auto", rho_bounds: bool = False,
) -> DataFrame:  # fmt: skip
    """Dose-response curves: one row per unit and treatment, with the columns of `cfqp curve`.

    Parameters
    ----------
    df, model, keep
        As for `counterfactual`.
    grid, points, over, hold, level, rho, rho_bounds
        As for `CFQP.curve`.
    """
    return _ask(df, model, ask_curve(grid, points, over, hold, level, rho, rho_bounds), keep)


def fit_by(
    df: DataFrame, by: str | Sequence[str], *, estimator: CFQP | None = None, timeout: float | None = None,
    partitions: int | None = None, **columns: Any,
) -> GroupFits:  # fmt: skip
    """Fits one model per group of rows. A group that cannot be fitted is reported, and does not stop the others.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The units of all groups. All rows of a group must fit into the memory of one Python worker.
    by : str or sequence of str
        The columns whose values form a group. Fits do not see them.
    estimator : CFQP, optional
        The settings of all fits. With `threads=None` a fit has one thread.
    timeout : float, optional
        The longest time of one fit, in seconds; a longer one is reported as failed.
    partitions : int, optional
        The number of tasks that share the groups; by default 16 per core of the cluster.
    **columns
        The columns `x`, `t`, `y`, ... as for `CFQP.fit`.

    Returns
    -------
    GroupFits
        Models and failures by key. Fits run when they are asked for; `frame` is the DataFrame, one row per group, to write to a
        file.
    """
    keys = check_keys(by, df.columns)
    settings = worker_estimator(estimator)
    count = partitions or _fit_tasks(df)
    fields = [df.schema[key] for key in keys] + _spark_fields(record_schema())
    input_types = _arrow_schema(df.select(*map(_quoted, keys)))

    def fit(_: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        return fit_group(table, keys, settings, columns, timeout, input_types)

    # without a number of its own, adaptive execution would merge small groups into few tasks
    shuffled = df.repartition(count, *map(_quoted, keys))
    frame = shuffled.groupBy(*map(_quoted, keys)).applyInArrow(fit, StructType(fields))
    return GroupFits(frame, by, collect=lambda: frame.toArrow())


def _ask(df: DataFrame, model: ModelLike, asked: Asked, keep: Sequence[str] | str | None) -> DataFrame:
    loaded, data = open_model(model)
    question = Question.plan(loaded, asked, df.columns, keep)
    df = df.select(*map(_quoted, question.columns))
    answers = question.schema(loaded, _arrow_schema(df))
    kept = [df.schema[name] for name in question.kept]
    fields = kept + _spark_fields(pa.schema(list(answers)[len(kept) :]))
    if question.subject is not None:
        subject = _quoted(question.subject)
        df = df.repartition(subject).sortWithinPartitions(subject)
    name, read = digest(data), _sent(df, data)

    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from answer_batches(question, worker_model(name, read), batches)

    return df.mapInArrow(answer, StructType(fields))


def _sent(df: DataFrame, data: bytes) -> Callable[[], bytes]:
    """How a worker gets `data`: by a broadcast, or with the function itself where Spark Connect has none."""
    try:
        broadcast = df.sparkSession.sparkContext.broadcast(data)
    except Exception:  # Spark Connect raises its own error
        return lambda: data
    return lambda: broadcast.value


def _fit_tasks(df: DataFrame) -> int:
    try:
        return _FITS_PER_CORE * int(df.sparkSession.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect raises its own error
        return int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)


def _arrow_schema(df: DataFrame) -> pa.Schema:
    """The columns as workers get them."""
    return df.limit(0).toArrow().schema


def _spark_fields(schema: pa.Schema) -> list[StructField]:
    """The columns of answers and fits as Spark describes them."""

    def kind(arrow: pa.DataType) -> DataType:
        return ArrayType(kind(arrow.value_type)) if pa.types.is_list(arrow) else _TYPES[arrow]

    return [StructField(field.name, kind(field.type)) for field in schema]


def _quoted(name: str) -> str:
    """A column name that Spark does not take apart at its points."""
    return "`" + name.replace("`", "``") + "`"
