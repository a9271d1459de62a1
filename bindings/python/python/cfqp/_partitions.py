"""Questions about the partitions of a distributed table: what runs on the workers of Spark and Ray.

A worker loads a model once, with one thread, and answers partition after partition. Answers depend on a unit and its subject
alone, so a partition that is answered again after a lost worker gives the same rows.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ._cfqp import Source
from ._errors import ConfigError
from ._estimator import CFQP, load
from ._params import options_json
from ._treatments import grid_json, one_treatment

ModelLike: TypeAlias = "CFQP | str | os.PathLike[str] | bytes"
"""A fitted model, the path of a model file, or the bytes of one."""

BATCH_ROWS = 10_000
"""Rows that are answered at once, as far as subjects allow it."""

_MAX_MODELS = 4
_models: OrderedDict[str, CFQP] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True)
class Asked:
    """What is asked about every unit.

    Attributes
    ----------
    method : str
        "counterfactual", "effect" or "curve", a method of the native model.
    arguments : mapping
        What it gets besides the units.
    """

    method: str
    arguments: Mapping[str, Any]

    @property
    def columns(self) -> list[str]:
        """The columns with new treatments."""
        names = self.arguments.get("columns")
        return names.split(",") if names else []


def ask_counterfactual(
    t: Any, t_from: str | Sequence[str] | None, level: float, rho: float | str, rho_bounds: bool, distribution: bool
) -> Asked:
    """Asks for the outcome under `t`, or under the treatments in the columns `t_from`."""
    if (t is None) == (t_from is None):
        raise TypeError("give the new treatment either as `t` or as `t_from`")
    columns = t_from if t_from is None or isinstance(t_from, str) else ",".join(t_from)
    treatment = None if t is None else one_treatment(t)
    options = _options(level, rho, rho_bounds=rho_bounds, distributions=distribution)
    return Asked("counterfactual", {"treatment": treatment, "columns": columns, "options": options})


def ask_effect(t0: Any, t1: Any, level: float, rho: float | str, rho_bounds: bool) -> Asked:
    """Asks for the effect of `t1` against `t0`."""
    options = _options(level, rho, rho_bounds=rho_bounds)
    return Asked("effect", {"ends": (one_treatment(t0, "t0"), one_treatment(t1, "t1")), "options": options})


def ask_curve(grid: Any, points: int, over: str | None, hold: Any, level: float, rho: float | str, rho_bounds: bool) -> Asked:
    """Asks for dose-response curves."""
    options = _options(level, rho, rho_bounds=rho_bounds)
    return Asked("curve", {"grid": grid_json(grid, points, over, hold), "options": options})


def _options(level: float, rho: float | str, **more: bool) -> str:
    # a partition without usable units has answers without rows
    return options_json(level, rho, allow_empty=True, **more)


@dataclass(frozen=True)
class Question:
    """A question to a model about a distributed table. It travels to the workers; the model travels beside it.

    Attributes
    ----------
    asked : Asked
        What is asked about every unit.
    id : str or None
        The column of the model with the ids of units.
    repeats_ids : bool
        Whether a unit may have several rows.
    subject : str or None
        The column whose equal values must be answered together.
    kept : tuple of str
        Columns of the input that begin a row of answers.
    columns : tuple of str
        Columns of the input that are needed.
    """

    asked: Asked
    id: str | None
    repeats_ids: bool
    subject: str | None
    kept: tuple[str, ...]
    columns: tuple[str, ...]

    @classmethod
    def plan(cls, model: CFQP, asked: Asked, names: Sequence[str], keep: Sequence[str] | str | None) -> Question:
        """The question to `model` about a table with the columns `names`.

        Raises
        ------
        ConfigError
            If the model was fitted to arrays, if a column to keep does not exist, or if nothing identifies a row of answers.
        """
        layout = model.layout_
        if layout is None:
            raise ConfigError("the model was fitted to arrays, not to a table", "fit it to a table with named columns")
        id, group, is_long = layout.get("id"), layout.get("group"), "long" in layout["form"]
        kept = _kept_columns(id, keep, names)
        wanted = [*layout_columns(layout), *asked.columns, *kept]
        columns = tuple(dict.fromkeys(name for name in wanted if name in names))
        subject = group or (id if is_long else None)
        return cls(asked, id, is_long or (id is not None and id == group), subject, kept, columns)

    def answer(self, model: CFQP, table: pa.Table) -> pa.Table:
        """The answers about the units of `table`: the kept columns, then those of the command without its id column.

        Units that the library drops have no rows.
        """
        numbered, first_rows = self._numbered(_plain_input(table))
        ask = getattr(model._model(), self.asked.method)
        answers = pa.table(ask(Source.from_table(numbered, "partition"), **self.asked.arguments))
        units = answers.column(0).combine_chunks()
        kept = table.select(self.kept).take(units if first_rows is None else first_rows.take(units))
        return _side_by_side(kept, _plain_answers(answers.remove_column(0)))

    def schema(self, model: CFQP, input_schema: pa.Schema) -> pa.Schema:
        """The columns of the answers about a table with these columns. A question that cannot be answered fails here."""
        return self.answer(model, input_schema.empty_table()).schema

    def _numbered(self, table: pa.Table) -> tuple[pa.Table, pa.Array | None]:
        """The table with units numbered from 0 in place of ids, and the first row of every unit if it may have several.

        A missing id stays missing.
        """
        if self.id is None or self.id not in table.column_names:
            return table, None
        ids = table.column(self.id).combine_chunks()
        if self.repeats_ids:
            numbers = ids.dictionary_encode().indices.cast(pa.int64())
            known = numbers.fill_null(-1).to_numpy()
            values, first = np.unique(known, return_index=True)
            first_rows = pa.array(first[values >= 0])
        else:
            positions = pa.array(np.arange(len(ids), dtype=np.int64))
            numbers, first_rows = pc.if_else(ids.is_valid(), positions, pa.scalar(None, pa.int64())), None
        return table.set_column(table.column_names.index(self.id), self.id, numbers), first_rows


def open_model(model: ModelLike) -> tuple[CFQP, bytes]:
    """The model for the driver, and its bytes for the workers."""
    if isinstance(model, bytes):
        return CFQP.from_bytes(model, threads=1), model
    if isinstance(model, str | os.PathLike):
        model = load(model, threads=1)
    return model, model.to_bytes()


def digest(data: bytes) -> str:
    """The name of a model in the memory of workers."""
    return hashlib.sha256(data).hexdigest()


def worker_model(name: str, read: Callable[[], bytes]) -> CFQP:
    """The model called `name` (see `digest`), with one thread. A process reads it once, and remembers a few models."""
    with _lock:
        if name not in _models:
            _models[name] = CFQP.from_bytes(read(), threads=1)
            if len(_models) > _MAX_MODELS:
                _models.popitem(last=False)
        _models.move_to_end(name)
        return _models[name]


def answer_batches(question: Question, model: CFQP, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The answers about a partition, batch by batch. If the question needs whole subjects, rows are sorted by subject."""
    tables: Iterable[pa.Table] = (pa.Table.from_batches([batch]) for batch in batches)
    if question.subject is not None:
        tables = whole_subjects(tables, question.subject)
    for table in tables:
        if len(table) > 0:
            yield from question.answer(model, table).to_batches()


def whole_subjects(tables: Iterable[pa.Table], subject: str, rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
    """The same rows in tables of about `rows` rows that end where a subject ends; rows of a subject are contiguous."""
    pending: list[pa.Table] = []
    count = 0
    for table in tables:
        pending.append(table)
        count += len(table)
        if count < rows:
            continue
        joined = pa.concat_tables(pending)
        end = _last_subject_start(joined.column(subject))
        if end > 0:
            yield joined.slice(0, end)
        pending, count = [joined.slice(end)], len(joined) - end
    if count > 0:
        yield pa.concat_tables(pending)


def layout_columns(layout: Mapping[str, Any]) -> list[str]:
    """The columns that a model with this layout reads. Those of outcomes and treatments may be absent from a table."""
    # a treatment that is a number is written as its name alone
    treatments = [column if isinstance(column, str) else column["name"] for column in layout["t"]]
    names = [layout.get("id"), layout.get("group"), *treatments]
    form = layout["form"]
    if "wide" in form:
        names += [name for role in ("x", "y") for name in _block_columns(form["wide"][role])]
    else:
        samples = form["long"]
        names += [samples["time"], *samples["series"], *samples["outcomes"]]
        names += [feature["name"] for feature in samples["fixed"]]
        if isinstance(samples["treated_at"], str):
            names.append(samples["treated_at"])
    return [name for name in names if name is not None]


def _block_columns(block: Mapping[str, Any]) -> list[str]:
    if "lists" in block:
        return list(block["lists"]["columns"])
    return [feature["name"] for feature in block["features"]]


def _kept_columns(id: str | None, keep: Sequence[str] | str | None, names: Sequence[str]) -> tuple[str, ...]:
    """The id column of the model, then the columns that the user wants to keep."""
    if id is None and keep is None:
        message = "keep: the model has no id column, so nothing would tell whose answers are whose"
        raise ConfigError(message, "name the columns that identify a row: keep=['patient']; keep=[] gives answers alone")
    more = [keep] if isinstance(keep, str) else list(keep or ())
    for name in more:
        if name not in names:
            raise ConfigError(f"keep: column `{name}` does not exist", f"the columns are {', '.join(names)}")
    return tuple(dict.fromkeys([*([id] if id else []), *more]))


def _side_by_side(kept: pa.Table, answers: pa.Table) -> pa.Table:
    for name in kept.column_names:
        if name in answers.column_names:
            message = f"keep: the answers have a column `{name}`, too"
            raise ConfigError(message, "rename the column of the input before asking, or do not keep it")
    schema = pa.schema([*kept.schema, *answers.schema])
    return pa.Table.from_arrays([*kept.columns, *answers.columns], schema=schema)


def _last_subject_start(subjects: pa.ChunkedArray) -> int:
    """Where the rows of the last subject begin. Rows without a subject are units that are dropped: they need no company."""
    last = subjects[len(subjects) - 1]
    if not last.is_valid:
        return len(subjects)
    others = pc.fill_null(pc.not_equal(subjects, last), True).to_numpy()
    return int(np.flatnonzero(others)[-1]) + 1 if others.any() else 0


def _plain_input(table: pa.Table) -> pa.Table:
    """Extension types as what they store, decimals as numbers."""
    for position, field in enumerate(table.schema):
        column = table.column(position)
        if isinstance(field.type, pa.BaseExtensionType):
            storage = pa.chunked_array([chunk.storage for chunk in column.chunks], field.type.storage_type)
            table = table.set_column(position, field.name, storage)
        elif pa.types.is_decimal(field.type):
            table = table.set_column(position, field.name, column.cast(pa.float64()))
    return table


def _plain_answers(table: pa.Table) -> pa.Table:
    """Lists of fixed length as lists, which every engine knows; fields that may be missing."""
    fields = []
    for field in table.schema:
        is_list = pa.types.is_fixed_size_list(field.type)
        fields.append(pa.field(field.name, pa.list_(field.type.value_type) if is_list else field.type))
    return table.cast(pa.schema(fields))
