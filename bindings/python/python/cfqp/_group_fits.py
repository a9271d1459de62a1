"""One model per group of rows: what workers fit, and what is known about all groups afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from ._errors import CfqpError, ConfigError, FitError
from ._estimator import CFQP

Self = TypeVar("Self", bound="GroupFits")

_RECORD = pa.schema([
    ("status", pa.string()),
    ("error", pa.string()),
    ("message", pa.string()),
    ("hint", pa.string()),
    ("seconds", pa.float64()),
    ("rows", pa.int64()),
    ("n_classes", pa.int64()),
    ("val_nll", pa.float64()),
    ("r2", pa.float64()),
    ("model", pa.binary()),
])  # fmt: skip


class GroupFits:
    """Models and failures of many fits, by key.

    Parameters
    ----------
    frame : pyarrow.Table, or a table of an engine
        One row per key, with the columns below. A table that was written to a file can be given again.
    by : str or sequence of str
        The columns of the key.
    collect : callable, optional
        Turns `frame` into a `pyarrow.Table`.

    Attributes
    ----------
    frame
        As given. Where it is a table of Spark or Ray, its use runs the fits.
    by : tuple of str
        The columns of the key.

    Notes
    -----
    The columns are the key, then `status` ("ok" or "failed"), `error` (the name of the exception), `message`, `hint`, `seconds`,
    `rows`, `n_classes`, `val_nll` (mean negative log-likelihood of held-out units), `r2` (of held-out outcomes) and `model` (the bytes
    of the model file).
    """

    def __init__(self, frame: Any, by: str | Sequence[str], collect: Callable[[], pa.Table] | None = None) -> None:
        self.frame = frame
        self.by = (by,) if isinstance(by, str) else tuple(by)
        self._is_scalar = isinstance(by, str)
        self._collect = collect or (lambda: frame)
        self._table: pa.Table | None = None

    @property
    def table(self) -> pa.Table:
        """All rows on this machine. The first use runs the fits."""
        if self._table is None:
            self._table = self._collect()
        return self._table

    @property
    def models(self) -> Mapping[Any, CFQP]:
        """The fitted models by key: a value, or a tuple if the key has several columns. They are read when they are used."""
        return _Models(self)

    @property
    def failures(self) -> pa.Table:
        """The rows of groups without a model, without the column `model`."""
        return self.table.filter(pc.equal(self.table["status"], "failed")).drop_columns(["model"])

    def keys(self) -> list[Any]:
        """The keys of all rows."""
        columns = [self.table[name].to_pylist() for name in self.by]
        return columns[0] if self._is_scalar else list(zip(*columns, strict=True))

    def raise_failures(self: Self) -> Self:
        """These fits, if all of them succeeded.

        Raises
        ------
        FitError
            With the number of failures and the first of them.
        """
        failed = self.failures.to_pylist()
        if failed:
            first = failed[0]
            key = ", ".join(f"{name}={first[name]!r}" for name in self.by)
            message = f"{len(failed)} of {len(self.table)} fits failed; the first, {key}: {first['message']}"
            raise FitError(message, first["hint"])
        return self

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        name = type(self).__name__
        if self._table is None and not isinstance(self.frame, pa.Table):
            return f"{name}(by={self.by!r}, not run yet)"
        failed = len(self.failures)
        return f"{name}(by={self.by!r}, {len(self) - failed:,} models, {failed:,} failures)"


class _Models(Mapping[Any, CFQP]):
    """The models of a table, read when they are used."""

    def __init__(self, fits: GroupFits) -> None:
        self._bytes, self._messages = fits.table["model"], fits.table["message"]
        rows = list(enumerate(zip(fits.keys(), fits.table["status"].to_pylist(), strict=True)))
        self._rows = {key: row for row, (key, status) in rows if status == "ok"}
        self._failed = {key: row for row, (key, status) in rows if status != "ok"}

    def __getitem__(self, key: Any) -> CFQP:
        if key in self._failed:
            raise KeyError(f"{key!r}: its fit failed: {self._messages[self._failed[key]]}")
        return CFQP.from_bytes(self._bytes[self._rows[key]].as_py())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def record_schema() -> pa.Schema:
    """The columns after the key."""
    return _RECORD


def worker_estimator(estimator: CFQP | None) -> CFQP:
    """An unfitted copy with one thread, unless it names a number."""
    params = (estimator or CFQP()).get_params()
    return CFQP(**{**params, "threads": params["threads"] or 1})


def check_keys(by: str | Sequence[str], names: Sequence[str]) -> list[str]:
    """The columns of the key.

    Raises
    ------
    ConfigError
        If one does not exist, or has the name of another column of the result.
    """
    keys = [by] if isinstance(by, str) else list(by)
    if not keys:
        raise ConfigError("by: no column is named", "name the column whose values form a group")
    for key in keys:
        if key not in names:
            raise ConfigError(f"by: column `{key}` does not exist", f"the columns are {', '.join(names)}")
        if key in _RECORD.names:
            raise ConfigError(f"by: the result has a column `{key}`, too", "rename the column before fitting")
    return keys


def fit_group(
    table: pa.Table, keys: Sequence[str], estimator: CFQP, columns: Mapping[str, Any], timeout: float | None,
    types: pa.Schema | None = None,
) -> pa.Table:  # fmt: skip
    """The row of one group: its key, and a model or the reason why there is none."""
    key = table.select(keys).slice(0, 1)
    record = fit_record(table.drop_columns(keys), estimator, columns, timeout)
    row = pa.Table.from_pylist([record], _RECORD)
    schema = pa.schema([*(types or key.schema), *_RECORD])
    return pa.Table.from_arrays([*key.columns, *row.columns], names=schema.names).cast(schema)


def fit_record(
    table: pa.Table, estimator: CFQP, columns: Mapping[str, Any], timeout: float | None, **more: Any
) -> dict[str, Any]:
    """Fits a copy of `estimator` and describes what came of it. Only an interrupt of the process is raised."""
    start = time.monotonic()
    record: dict[str, Any] = {"rows": len(table)}
    try:
        model = CFQP(**estimator.get_params()).fit(table, progress=_limit(timeout), **columns, **more)
        r2 = model.report_.get("r2")
        record |= {"status": "ok", "n_classes": model.n_classes_, "val_nll": model.report_.get("val_nll")}
        record |= {"r2": r2 and r2["value"], "model": model.to_bytes()}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the native module is no Exception
        record |= failure(error)
    return record | {"seconds": time.monotonic() - start}


def failure(error: BaseException) -> dict[str, Any]:
    """An exception as columns of the result."""
    message = error.message if isinstance(error, CfqpError) else str(error)
    return {"status": "failed", "error": type(error).__name__, "message": message, "hint": getattr(error, "hint", None)}


class FitTimeoutError(FitError):
    """A fit took longer than it was allowed to."""


def _limit(timeout: float | None) -> Any:
    """Stops a fit that takes longer than `timeout` seconds."""
    if timeout is None:
        return False
    start = time.monotonic()

    def check(stage: str, done: int, announced: int) -> None:
        if time.monotonic() - start > timeout:
            message = f"the fit took longer than {timeout:g} s"
            raise FitTimeoutError(message, "allow more time with `timeout`, or fit the group alone with more threads")

    return check
