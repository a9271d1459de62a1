"""Treatments as users write them: a number, a level, several of them, or one per row."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

from ._errors import ConfigError
from ._params import to_json

TreatmentLike: TypeAlias = "float | str | Sequence[float | str] | Mapping[str, float | str]"
"""One treatment for all units: a number, a level, one value per treatment, or values by name."""

_HINT = "give a number, a level, one value per treatment, or a dictionary such as {'drug': 'B', 'dose': 0.8}"


def one_treatment(value: Any, name: str = "t") -> float | list[float] | str:
    """A treatment for all units, as the native module reads it."""
    if getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, str):
        return value
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Mapping):
        return ",".join(f"{key}={_text(part)}" for key, part in value.items())
    if isinstance(value, Sequence):
        if all(isinstance(part, Real) for part in value):
            return [float(part) for part in value]
        return ",".join(_text(part) for part in value)
    if is_per_row(value):
        raise ConfigError(f"{name}: one treatment per row cannot be used here", _HINT)
    raise ConfigError(f"{name}: {value!r} is not a treatment", _HINT)


def treatment_text(value: Any, name: str = "t") -> str:
    """The same as text."""
    treatment = one_treatment(value, name)
    if isinstance(treatment, str):
        return treatment
    return ",".join(_text(part) for part in (treatment if isinstance(treatment, list) else [treatment]))


def is_per_row(value: Any) -> bool:
    """Whether `value` is an array or a column with one treatment per row; lists and tuples are single treatments."""
    if getattr(value, "ndim", None) == 0 or isinstance(value, str | Mapping | list | tuple):
        return False
    return hasattr(value, "__array__") or hasattr(value, "__arrow_c_array__") or hasattr(value, "__arrow_c_stream__")


def array_treatments(value: Any, name: str) -> Any:
    """Treatments of arrays: one per unit, or one for all of them."""
    from ._arrays import flat, floats

    return flat(floats(name, value if is_per_row(value) else [value]))


def table_treatments(value: Any, name: str, treatments: Sequence[str], taken: Sequence[str]) -> dict[str, Any]:
    """New columns of a table: treatments per row, or a value that is the same in all rows."""
    if is_per_row(value):
        columns = per_row_columns(value, name, taken)
        if len(columns) != len(treatments):
            raise ConfigError(f"{name}: {len(columns)} columns for {len(treatments)} treatments", f"give {', '.join(treatments)}")
        return columns
    if isinstance(value, str) and len(treatments) > 1:
        value = value.split(",")
        if all("=" in part for part in value):
            value = dict(part.split("=", 1) for part in value)
    if isinstance(value, Mapping):
        values = [value[treatment] for treatment in treatments if treatment in value]
    else:
        values = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    if len(values) != len(treatments):
        raise ConfigError(f"{name}: {value!r} is not a treatment", f"give a value of each of {', '.join(treatments)}")
    return dict(zip(_new_names(name, len(values), taken), values, strict=True))


def per_row_columns(value: Any, name: str, taken: Sequence[str]) -> dict[str, Any]:
    """Columns with one treatment per row, under names that no column of the table has."""
    columns = _columns(value)
    return dict(zip(_new_names(name, len(columns), taken), columns, strict=True))


def _new_names(name: str, count: int, taken: Sequence[str]) -> list[str]:
    names: list[str] = []
    for position in range(count):
        new = name if count == 1 else f"{name}_{position}"
        while new in taken:
            new += "_"
        names.append(new)
    return names


def _columns(value: Any) -> list[Any]:
    if getattr(value, "ndim", 1) == 2:
        import numpy as np

        array = np.asarray(value)
        return [array[:, column] for column in range(array.shape[1])]
    # pyarrow reads columns of pandas and its own; those of polars become one of its own
    return [value.to_arrow() if "polars" in sys.modules and hasattr(value, "to_arrow") else value]


def grid_json(grid: Any, points: int, over: str | None, hold: Mapping[str, Any] | str | None) -> str:
    """The treatments of a curve as the library reads them."""
    spec: dict[str, Any] = {"values": None, "texts": None, "points": points, "over": over, "hold": None}
    if hold is not None:
        spec["hold"] = treatment_text(hold, "hold")
    if grid is not None:
        if isinstance(grid, str | Mapping) or not hasattr(grid, "__iter__"):
            hint = "give a sequence of treatments, such as numpy.linspace(0, 1, 9)"
            raise ConfigError(f"grid: {grid!r} is not a sequence of treatments", hint)
        steps = [step.tolist() if hasattr(step, "tolist") else step for step in grid]
        if all(isinstance(step, Real) for step in steps):
            spec["values"] = [float(step) for step in steps]
        else:
            spec["texts"] = [treatment_text(step, "grid") for step in steps]
    return to_json(spec, "grid")


def _text(value: Any) -> str:
    if isinstance(value, Real) and not isinstance(value, bool):
        return repr(float(value))
    return str(value)
