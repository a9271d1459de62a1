"""Parameters as the library's settings: the columns of a table and the settings of a fit."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from ._errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    Names = str | Sequence[str]


class Columns(TypedDict, total=False):
    """Which columns of a table are what; of arrays, `x`, `t`, `y` and `group` themselves."""

    x: Names | ArrayLike | None
    """The covariates: names, ranges "x0..x19", wildcards "bp_*"."""
    except_: Names | None
    """Columns that the wildcards of `x` leave out."""
    t: Names | ArrayLike | None
    """The treatments: numbers, or texts, whose values become levels."""
    t_kind: Names | None
    """"auto", "number" or "category", one for all treatments or one for each."""
    y: Names | ArrayLike | None
    """The outcomes. Long table: the series that are outcomes, by default all."""
    y_kind: Names | None
    """"auto", "number", "yes-no", "count", "ordered", "amount" or "category", one for all outcomes or one for each."""
    id: str | None
    """The id of the unit."""
    group: str | ArrayLike | None
    """The subject of the unit: units of one subject share a class and inform each other."""
    time: str | None
    """Long table (one row per sample): the time of the sample."""
    series: Names | None
    """Long table: the series measured over time."""
    treated_at: float | str | None
    """Long table: the time of the treatment, a number, a date or a column."""
    step: float | None
    """Long table: the time step of the grid that samples are placed on."""
    before: float | None
    """Long table: how long before the treatment x starts."""
    after: float | None
    """Long table: how long after the treatment y ends."""
    categorical: Names | None
    """Numeric covariates to treat as categories."""
    missing: Names | None
    """Additional words that stand for a missing value."""
    decimal: str | None
    """The decimal separator of numbers in texts, "." or ","."""
    date_format: str | None
    """The order of day and month in dates such as 03/04/2024: "dmy" or "mdy"."""
    date_parts: bool
    """Whether dates that are covariates give their month and weekday, too."""
    x_shape: Sequence[int] | None
    """List columns: the shape of x."""
    y_shape: Sequence[int] | None
    """List columns: the shape of y."""
    delimiter: str | None
    """CSV: the field delimiter."""
    sheet: str | None
    """Spreadsheet: the sheet."""


COLUMN_NAMES = tuple(Columns.__annotations__)
"""The keyword arguments that describe a table."""

_LISTS = ("x", "except", "t", "t_kind", "y", "y_kind", "series", "categorical", "missing", "x_shape", "y_shape")


def check_names(given: Mapping[str, Any], caller: str) -> None:
    """Raises a `TypeError` for a keyword argument that describes no column."""
    for name in given:
        if name not in COLUMN_NAMES:
            close = difflib.get_close_matches(name, COLUMN_NAMES, n=1)
            proposal = f": did you mean `{close[0]}`?" if close else ""
            raise TypeError(f"{caller}() got an unexpected keyword argument `{name}`{proposal}")


def spec_json(columns: Mapping[str, Any]) -> str:
    """The description of a table as the library reads it."""
    spec: dict[str, Any] = {}
    for argument, value in columns.items():
        if value is None or value is False:
            continue
        name = argument.rstrip("_")
        if name in _LISTS:
            value = [value] if isinstance(value, str | int) else list(value)
            if name == "y_kind":
                value = [str(kind).replace("-", "_") for kind in value]
        elif name == "treated_at" and hasattr(value, "isoformat"):
            value = value.isoformat()
        spec[name] = value
    return to_json(spec, "the description of the table")


def config_json(params: Mapping[str, Any]) -> str:
    """The settings of a fit as the library reads them; `None` stands for the library's default."""
    config = {name: value for name, value in params.items() if value is not None}
    if isinstance(config.get("starts"), str):
        config["starts"] = [config["starts"]]
    config["seed"] = seed(config.pop("random_state", None))
    return to_json(config, "the settings of the fit")


def seed(random_state: Any) -> int:
    """The seed of a fit: an integer, one drawn from a generator of NumPy, or, for `None`, from the operating system."""
    if random_state is None:
        return int.from_bytes(os.urandom(4), "little")
    if hasattr(random_state, "randint"):
        return int(random_state.randint(2**31))
    if hasattr(random_state, "integers"):
        return int(random_state.integers(2**32))
    try:
        number = int(random_state)
    except (TypeError, ValueError):
        number = -1
    if not 0 <= number < 2**64:
        message = f"random_state: {random_state!r} is not a seed"
        raise ConfigError(message, "give an integer from 0 to 2**64 - 1, a generator of NumPy, or None")
    return number


def resources_json(
    threads: int | None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    memory: int | None = None,
) -> str:
    """What a fit may use, and where it leaves its checkpoint; `memory` in bytes."""
    path = None if checkpoint is None else os.fspath(checkpoint)
    content = {"threads": threads, "checkpoint": path, "resume": resume, "memory": memory}
    return to_json(content, "the resources of the fit")


def options_json(level: float, rho: float | str, **more: bool) -> str:
    """The options of a question; those that are `False` are left out."""
    if isinstance(rho, str) and rho != "auto":
        raise ConfigError(f"rho: {rho!r} is not a number", "give 1 for the same noise, 0 for fresh noise, or auto")
    options: dict[str, Any] = {"level": level, "rho": rho}
    options.update({name: value for name, value in more.items() if value})
    return to_json(options, "the options of the question")


def to_json(values: Any, what: str) -> str:
    """`values` as JSON; numbers of NumPy, paths and arrays are converted."""
    try:
        return json.dumps(values, default=_plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{what}: {error}", "give plain numbers, texts, lists and dictionaries") from error


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{value!r} is not a plain value")
