"""Data of the built-in simulators, with known counterfactuals."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _cfqp
from ._arrays import Arrays
from ._params import to_json

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known of simulated units only: fits never see it.

    Attributes
    ----------
    t_new, y_new : ndarray
        Another treatment of every unit, and the outcome under it.
    z : ndarray or None
        The class of every unit, if it is known.
    y_bayes : ndarray or None
        The best answer that the observed values allow, if it is known.
    """

    t_new: NDArray[Any]
    y_new: NDArray[Any]
    z: NDArray[Any] | None = None
    y_bayes: NDArray[Any] | None = None


@dataclass(frozen=True, eq=False)
class Simulated:
    """Simulated units and, separately, the truth about them.

    Attributes
    ----------
    arrays : Arrays
        The units.
    truth : Truth
        Their classes and counterfactuals.
    names : dict
        The columns of `x`, `t` and `y` in tables.
    """

    arrays: Arrays
    truth: Truth
    names: dict[str, list[str]]

    def to_arrow(self) -> pa.Table:
        """The units as a table, one row per unit; of series and images every channel is a column of lists."""
        import numpy as np
        import pyarrow as pa

        columns: dict[str, Any] = {}
        for role in ("x", "t", "y"):
            array = np.asarray(getattr(self.arrays, role))
            if array.ndim == 1:
                array = array[:, None]
            for k, name in enumerate(self.names[role]):
                channel = array[:, k]
                columns[name] = pa.array(channel if channel.ndim == 1 else list(channel.reshape(len(array), -1)))
        if self.arrays.group is not None:
            columns["subject"] = pa.array(self.arrays.group)
        return pa.table(columns)

    def to_pandas(self) -> pd.DataFrame:
        """The units as a frame of pandas."""
        return self.to_arrow().to_pandas()  # type: ignore[no-any-return]

    def to_polars(self) -> pl.DataFrame:
        """The units as a frame of polars."""
        import polars as pl

        return pl.DataFrame(self.to_arrow())

    def __len__(self) -> int:
        return len(self.arrays)


def simulate(world: str = "crossing", n: int = 1000, seed: int = 0, **options: float) -> Simulated:
    """Simulates units with known counterfactuals.

    Parameters
    ----------
    world : str
        "oscillator" and "cardio" (series), "digits" (images), "ihdp" (a table without hidden classes), or a world of tables
        with one outcome, such as "crossing", "prior", "arms", "yes-no" or "count".
    n : int
        The number of units.
    seed : int
        The random seed.
    **options
        Options of the simulator, such as `sigma`, `rho` and, for tables, `repeats`: the number of units of every subject.

    Returns
    -------
    Simulated
        The units and, separately, the truth.

    Examples
    --------
    >>> import cfqp
    >>> data = cfqp.simulate("crossing", n=200, seed=1)
    >>> data.to_arrow().column_names
    ['x0', 'x1', 'x2', 'x3', 'x4', 'x5', 't', 'y']
    >>> sorted(set(data.truth.z.tolist()))
    [0, 1, 2]
    """
    import numpy as np
    import pyarrow as pa

    raw, names = _cfqp.simulate(world, n, seed, to_json(options, "the options of the simulator"))
    arrays = {name: np.asarray(pa.array(values)).reshape(shape) for name, (shape, values) in raw.items()}
    given = json.loads(names)
    columns = {role: given.get(role) or _numbered(role, arrays[role]) for role in ("x", "t", "y")}
    y, y_new = arrays["y"], arrays["y_new"]
    bayes = arrays.get("y_bayes")
    if y.shape[1:] == (1,):
        y, y_new = y[:, 0], y_new[:, 0]
        bayes = None if bayes is None else bayes.reshape(-1)
    group = arrays.get("group")
    units = Arrays(arrays["x"], _one_column(arrays["t"]), y, None if group is None else group.astype(np.int64))
    truth = Truth(_one_column(arrays["t_new"]), y_new, arrays["z"].reshape(-1).astype(np.int64), bayes)
    return Simulated(units, truth, columns)


def _numbered(role: str, array: NDArray[Any]) -> list[str]:
    count = array.shape[1] if array.ndim > 1 else 1
    return [role] if count == 1 else [f"{role}{k}" for k in range(count)]


def _one_column(array: NDArray[Any]) -> NDArray[Any]:
    return array[:, 0] if array.shape[1:] == (1,) else array
