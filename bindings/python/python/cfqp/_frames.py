"""Data frames in, the same kind of data frame out.

Frames cross the border as Arrow streams. pandas is converted by pyarrow; polars, DuckDB and everything else with the Arrow
PyCapsule interface is handed over as it is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

from ._arrays import Arrays, array_answers
from ._cfqp import Source
from ._errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from ._cfqp import Answers, ArrowStream

_HINT = (
    "give a data frame (pandas, polars, pyarrow, DuckDB or anything with `__arrow_c_stream__`), cfqp.Arrays(x, t, y), "
    "or the path of a file"
)


@dataclass(frozen=True)
class Input:
    """Units as the native module reads them, and how rows about them are given back."""

    source: Source
    kind: str
    """"pandas", "polars", "arrow" or "arrays"."""
    index: Any = None
    """The index of a frame of pandas."""
    flat_y: bool = False
    """Whether y is an array of one dimension."""

    def give_back(self, table: pa.Table, rows: Any = None) -> Any:
        """`table` as a frame of the kind that was given; `rows` are the positions of its rows in a frame of pandas."""
        if self.kind == "polars":
            import polars as pl

            return pl.from_arrow(table)
        if self.kind == "pandas":
            frame = table.to_pandas()
            if rows is not None:
                frame.index = self.index[rows]
            return frame
        return table

    def answers(self, answers: Answers, description: Mapping[str, Any], question: str) -> Any:
        """The answers to a "counterfactual", an "effect" or a "curve" about these units."""
        import pyarrow as pa

        table = pa.table(answers)
        if self.kind == "arrays":
            return array_answers(table, tuple(description["y_shape"]), question == "effect", self.flat_y)
        rows = answers.rows if self.kind == "pandas" and question != "curve" else None
        return self.give_back(table, None if rows is None else pa.array(rows).to_numpy())


def read_input(data: Any, new_columns: Mapping[str, Any] | None = None) -> Input:
    """Prepares `data` for the native module.

    Parameters
    ----------
    data : data frame, path, Arrays, tuple of arrays or Input
        The units.
    new_columns : mapping, optional
        Columns to add to a table; a number or a text is the same in all rows.
    """
    if isinstance(data, Input):
        return data
    if isinstance(data, tuple):
        data = Arrays(*data)
    if isinstance(data, Arrays):
        import numpy as np

        flat_y = data.y is None or np.ndim(data.y) == 1
        return Input(data.source(), "arrays", flat_y=flat_y)
    if isinstance(data, str | os.PathLike):
        if new_columns:
            raise DataError("t: a file has no values per row", "give the column of the file as `t_from`")
        return Input(Source.from_path(os.fspath(data)), "arrow")
    kind, stream = _stream(data)
    if new_columns:
        stream = _with_columns(stream, new_columns)
    name = "Table" if kind == "arrow" else "DataFrame"
    return Input(Source.from_table(stream, name), kind, data.index if kind == "pandas" else None)


def is_frame(data: Any) -> bool:
    """Whether `data` is a table in memory."""
    known = (("pandas", "DataFrame"), ("polars", "DataFrame"), ("polars", "LazyFrame"))
    return any(_is(data, *kind) for kind in known) or hasattr(data, "__arrow_c_stream__")


def outcome_names(table: Any) -> list[str]:
    """The outcomes of a table of answers."""
    names = [name.removeprefix("lower_") for name in column_names(table) if name.startswith("lower_")]
    return [name for name in names if not name.endswith(("_rho0", "_rho1"))]


def column_names(data: Any) -> list[str]:
    """The names of the columns of a table in memory."""
    names = getattr(data, "column_names", None)
    return [str(name) for name in (getattr(data, "columns", ()) if names is None else names)]


def frame_table(data: Any) -> pa.Table:
    """A table in memory as one of pyarrow."""
    import pyarrow as pa

    return pa.table(_stream(data)[1])


def _stream(data: Any) -> tuple[str, ArrowStream]:
    """The kind of a frame, and the frame as a stream."""
    if _is(data, "pandas", "DataFrame"):
        return "pandas", _from_pandas(data)
    if _is(data, "polars", "LazyFrame"):
        data = data.collect()
    if _is(data, "polars", "DataFrame"):
        # early versions do not have the interface
        return "polars", data if hasattr(data, "__arrow_c_stream__") else data.to_arrow()
    if hasattr(data, "__arrow_c_stream__"):
        return "arrow", data
    raise TypeError(f"data: cannot read units from {type(data).__module__}.{type(data).__qualname__}: {_HINT}")


def _is(data: Any, module: str, name: str) -> bool:
    """Whether `data` is of this class, without importing its module."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(data, kind)


def _from_pandas(frame: Any) -> pa.Table:
    import pyarrow as pa

    names = [str(name) for name in frame.columns]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise DataError(f"DataFrame: two columns are called `{repeated}`", "give every column its own name")
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # a column of numbers and texts: as texts, the library names the cells that it cannot read
        mixed = [name for name, kind in frame.dtypes.items() if str(kind) == "object"]
        as_text = {name: frame[name].map(str, na_action="ignore") for name in mixed}
        return pa.Table.from_pandas(frame.assign(**as_text), preserve_index=False)


def _with_columns(stream: ArrowStream, columns: Mapping[str, Any]) -> pa.Table:
    import pyarrow as pa

    table = pa.table(stream)
    for name, values in columns.items():
        if isinstance(values, str | Real):
            values = pa.repeat(values, len(table))
        if len(values) != len(table):
            message = f"t: {len(values)} treatments for {len(table)} rows"
            raise DataError(message, "give one treatment for all units, or one per row")
        table = table.append_column(name, pa.array(values))
    return table
