"""Data and the description of its columns, and what a fit would read of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _cfqp
from ._arrays import Arrays
from ._frames import Input, read_input
from ._params import Columns, check_names, spec_json
from ._results import Check

if TYPE_CHECKING:
    from typing_extensions import Unpack


def check(data: Any = None, **columns: Unpack[Columns]) -> Check:
    """Checks data before a fit: units kept and dropped, missing values, constant columns, treatments.

    Parameters
    ----------
    data, **columns
        As for `CFQP.fit`.

    Returns
    -------
    Check
        What a fit would read; `ok` says whether it could use it.

    Examples
    --------
    >>> import cfqp
    >>> data = cfqp.simulate("crossing", n=100).to_pandas()
    >>> cfqp.check(data, x="x*", t="t", y="y").ok
    True
    """
    check_names(columns, "check")
    units, spec = read_table(data, columns)
    return Check(json.loads(_cfqp.check(units.source, spec)))


def read_table(data: Any, columns: Mapping[str, Any]) -> tuple[Input, str]:
    """The units and the description of their columns."""
    if data is None:
        arrays = {name: columns.get(name) for name in ("x", "t", "y", "group")}
        if arrays["x"] is None or isinstance(arrays["x"], str):
            raise TypeError("give `data` and the names of its columns, or arrays as `x`, `t` and `y`")
        return read_input(Arrays(arrays["x"], arrays["t"], arrays["y"], arrays["group"])), "{}"
    return read_input(data), spec_json(columns)
