"""Units with two hidden classes, and models of them that are fitted in a moment."""

from __future__ import annotations

import cfqp
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

COLUMNS = {"x": ["age", "weight"], "t": "dose", "y": "outcome"}


def make_units(n: int, seed: int = 0, first: int = 0) -> pa.Table:
    """Patients whose outcome rises with the dose in one class and falls in the other."""
    rng = np.random.default_rng(seed)
    x, t = rng.normal(size=(n, 2)), rng.uniform(0, 1, n)
    sign = np.where(rng.uniform(size=n) < 0.5, 1.0, -1.0)
    y = x[:, 0] - 0.5 * x[:, 1] + 3 * sign * t + 0.1 * rng.normal(size=n)
    patients = [f"p{first + i:07d}" for i in range(n)]
    return pa.table({"patient": patients, "age": x[:, 0], "weight": x[:, 1], "dose": t, "outcome": y})


def make_visits(patients: int, visits: int, seed: int = 0) -> pa.Table:
    """Several visits of every patient, visit after visit, so that those of one patient are far apart."""
    rng = np.random.default_rng(seed)
    sign = np.where(rng.uniform(size=patients) < 0.5, 1.0, -1.0)
    n = patients * visits
    patient = np.tile(np.arange(patients), visits)
    x, t = rng.normal(size=(n, 2)), rng.uniform(0, 1, n)
    y = x[:, 0] - 0.5 * x[:, 1] + 3 * sign[patient] * t + 0.5 * rng.normal(size=n)
    columns = {"visit": np.arange(n), "subject": [f"s{i}" for i in patient], "age": x[:, 0], "weight": x[:, 1]}
    return pa.table(columns | {"dose": t, "outcome": y})


def make_samples(patients: int, seed: int = 0) -> pa.Table:
    """One row per sample: a pressure at twelve minutes, a treatment at minute 5; rows in random order."""
    rng = np.random.default_rng(seed)
    sign = np.where(rng.uniform(size=patients) < 0.5, 1.0, -1.0)
    dose, level = rng.uniform(0, 1, patients), rng.normal(size=patients)
    patient, minute = np.repeat(np.arange(patients), 12), np.tile(np.arange(12), patients)
    response = np.where(minute > 5, sign[patient] * dose[patient] * (minute - 5), 0.0)
    pressure = level[patient] + response + 0.1 * rng.normal(size=12 * patients)
    ward = np.where(patient % 2 == 0, "north", "south")
    table = pa.table({"patient": patient, "minute": minute, "pressure": pressure, "dose": dose[patient], "ward": ward})
    return table.take(pa.array(rng.permutation(12 * patients)))


def quick() -> cfqp.CFQP:
    """Settings of a fit that takes a moment."""
    return cfqp.CFQP(classes=2, base="linear", members=2, threads=1)


def make_groups(sizes: dict[str | None, int]) -> pa.Table:
    """Units of several regions."""
    parts = []
    for seed, (region, size) in enumerate(sizes.items()):
        part = make_units(size, seed, first=100_000 * seed)
        parts.append(part.append_column("region", pa.array([region] * size, pa.string())))
    return pa.concat_tables(parts)


def broken(table: pa.Table, region: str, column: str, value: float | None) -> pa.Table:
    """The same units with one value in a whole column of one region."""
    is_there = pc.fill_null(pc.equal(table["region"], region), False)
    values = pc.if_else(is_there, pa.scalar(value, pa.float64()), table[column])
    return table.set_column(table.column_names.index(column), column, values)
