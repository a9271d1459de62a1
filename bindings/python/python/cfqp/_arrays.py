"""Units and answers as arrays of NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._cfqp import Source
from ._errors import DataError
from ._repr import html_table

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    from ._cfqp import ArrowArray


@dataclass(frozen=True, eq=False)
class Arrays:
    """Units as arrays, the unit first.

    Parameters
    ----------
    x : array_like, shape (n, ...)
        Covariates: features, channels of series (n, channels, times) or of images (n, channels, height, width).
    t : array_like, shape (n,) or (n, d), optional
        Treatments; unknown if absent.
    y : array_like, shape (n,) or (n, ...), optional
        Outcomes; not seen yet if absent.
    group : array_like, shape (n,), optional
        The subject of every unit.

    Notes
    -----
    Values are missing where they are NaN or masked (`numpy.ma`). Arrays of 32-bit and 64-bit floats are not copied; others are converted.

    Examples
    --------
    >>> import numpy as np, cfqp
    >>> units = cfqp.Arrays(x=np.zeros((3, 2)), t=[0.1, 0.5, 0.9], y=[1.0, np.nan, 2.0])
    >>> len(units)
    3
    """

    x: ArrayLike
    t: ArrayLike | None = None
    y: ArrayLike | None = None
    group: ArrayLike | None = None

    def __len__(self) -> int:
        return len(self.x)  # type: ignore[arg-type]

    def source(self) -> Source:
        """The units for the native module."""
        x = floats("x", self.x)
        n = len(x)
        t = None if self.t is None else floats("t", self.t)
        y = None if self.y is None else floats("y", self.y)
        for name, array in (("t", t), ("y", y)):
            if array is not None and len(array) != n:
                raise DataError(f"{name}: {len(array)} units, x has {n}", "give arrays with the unit first")
        flat_t, t_shape = (None, None) if t is None else (flat(t), t.shape)
        flat_y, y_shape = (None, None) if y is None else (flat(y), y.shape)
        return Source.from_arrays(flat(x), x.shape, flat_t, t_shape, flat_y, y_shape, groups(self.group, n))


def floats(name: str, values: ArrayLike) -> NDArray[np.floating[Any]]:
    """`values` as 32-bit or 64-bit floats of at least two dimensions, NaN where they are masked."""
    import numpy as np

    try:
        array = np.ma.asanyarray(values) if np.ma.isMaskedArray(values) else np.asarray(values)
        if array.dtype not in (np.float32, np.float64):
            array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: {error}", "give an array of numbers, NaN where one is missing") from error
    if isinstance(array, np.ma.MaskedArray):
        array = array.filled(np.nan)
    if array.ndim == 0:
        raise DataError(f"{name}: a single number is not an array of units", "give one row per unit")
    return np.ascontiguousarray(array[:, None] if array.ndim == 1 else array)


def flat(array: NDArray[Any]) -> ArrowArray:
    """The values as an Arrow array, without a copy."""
    import pyarrow as pa

    return pa.array(array.reshape(-1))  # type: ignore[no-any-return]


def groups(group: ArrayLike | None, n: int) -> list[int] | None:
    """The subjects as numbers."""
    import numpy as np

    if group is None:
        return None
    labels = np.asarray(group)
    if labels.shape != (n,):
        raise DataError(f"group: shape {labels.shape}, expected ({n},)", "give one subject per unit")
    return [int(number) for number in np.unique(labels, return_inverse=True)[1]]


@dataclass(frozen=True, eq=False)
class ArrayAnswers:
    """Answers about units that were given as arrays.

    Attributes
    ----------
    point, lower, upper : ndarray
        The answers and the ends of their intervals, shaped like y; of curves, shape (n, points, ...).
    posterior : ndarray, shape (n, classes)
        The probability of every class.
    label : ndarray of int, shape (n,)
        The most probable class.
    flag : ndarray of str, shape (n,) or (n, points)
        "ok", or warnings joined by "|".
    row : ndarray of int, shape (n,)
        The position of every unit in the arrays.
    rho : float or None
        The correlation of the noise in both worlds; None if it is unknown.
    rho_source : str
        "given", "learned" or "unknown".
    table : pyarrow.Table
        The same with the columns of `cfqp query`, and those that options such as `rho_bounds` add.
    """

    point: NDArray[np.float32]
    lower: NDArray[np.float32]
    upper: NDArray[np.float32]
    posterior: NDArray[np.float32]
    label: NDArray[np.int64]
    flag: NDArray[np.str_]
    row: NDArray[np.int64]
    rho: float | None
    rho_source: str
    table: pa.Table

    def __len__(self) -> int:
        return len(self.row)

    def __repr__(self) -> str:
        ok = int((self.flag == "ok").sum())
        return f"ArrayAnswers({len(self)} units, point {list(self.point.shape)}, {ok} of {self.flag.size} without warnings)"

    def _repr_html_(self) -> str:
        rows = [(name, _shape(getattr(self, name))) for name in ("point", "lower", "upper", "posterior", "label", "flag")]
        return html_table(("array", "shape"), rows, caption=repr(self))


def _shape(array: NDArray[Any]) -> str:
    return " × ".join(str(side) for side in array.shape)


def array_answers(table: pa.Table, y_shape: tuple[int, ...], is_effect: bool, is_flat: bool) -> ArrayAnswers:
    """The columns of `table` as arrays shaped like y, of which `y_shape` is one unit's shape."""
    import numpy as np

    names = ["y"] if y_shape == (1,) else [f"y{k}" for k in range(y_shape[0])]
    row = np.asarray(table["row"])
    starts = np.flatnonzero(np.r_[True, row[1:] != row[:-1]]) if len(row) else np.zeros(0, int)
    points = len(row) // max(len(starts), 1)
    lead = (len(starts),) if points == 1 else (len(starts), points)
    shape = (*lead, *(() if is_flat else y_shape))

    def outcome(prefix: str) -> NDArray[np.float32]:
        parts = [_values(table[prefix + name], len(row)) for name in names]
        return np.concatenate(parts, axis=1).reshape(shape)

    posterior = [np.asarray(table[name]) for name in table.column_names if name.startswith("posterior_")]
    rho = table["rho"][0].as_py() if len(row) else None
    return ArrayAnswers(
        point=outcome("effect_" if is_effect else ""),
        lower=outcome("lower_"),
        upper=outcome("upper_"),
        posterior=np.stack(posterior, axis=1)[starts],
        label=np.asarray(table["class"])[starts],
        flag=np.asarray(table["flag"].to_pylist(), dtype=np.str_).reshape(lead),
        row=row[starts],
        rho=None if rho is None or np.isnan(rho) else float(rho),
        rho_source=table["rho_source"][0].as_py() if len(row) else "unknown",
        table=table,
    )


def _values(column: pa.ChunkedArray, rows: int) -> NDArray[np.float32]:
    """A column of numbers or of lists, one row per answer."""
    import numpy as np

    values = column.combine_chunks()
    if hasattr(values, "flatten") and "list" in str(values.type):
        values = values.flatten()
    array: NDArray[np.float32] = np.asarray(values, dtype=np.float32)
    return array.reshape(rows, -1) if rows else np.zeros((0, 1), np.float32)
