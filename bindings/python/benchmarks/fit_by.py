"""Many models by group on Spark and Ray: groups of 50 to 5,000 units, three of them broken on purpose.

    python benchmarks/fit_by.py --groups 1000

Prints the models, the reports of the groups without one, and how long it took.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import cfqp
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from _engines import COLUMNS, make_units, start_ray, start_spark


def main() -> None:
    """Fits all groups on every engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--classes", default="2", help="the number of classes, or auto")
    parser.add_argument("--members", type=int, default=2)
    parser.add_argument("--engines", default="spark,ray")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        run(json.loads(options.worker))
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = write_groups(Path(folder), options.groups)
        print(f"{options.groups:,} groups of 50 to 5,000 units, {rows:,} rows, three groups broken")
        for engine in options.engines.split(","):
            classes = options.classes if options.classes == "auto" else int(options.classes)
            task = {"engine": engine, "folder": folder, "classes": classes, "members": options.members}
            subprocess.run([sys.executable, __file__, "--worker", json.dumps(task)], check=True, stderr=subprocess.DEVNULL)


def write_groups(folder: Path, groups: int) -> int:
    """Writes all groups to eight files, in random order: one is too small, one has an absurd value, one has no outcome."""
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.uniform(np.log(50), np.log(5_000), groups)).astype(int)
    sizes[0] = 3
    parts = []
    for group, size in enumerate(sizes):
        part = make_units(int(size), group, 10_000 * group)
        if group == 1:
            values = np.where(np.arange(size) == 7, 1e30, part["x0"].to_numpy())
            part = part.set_column(part.column_names.index("x0"), "x0", pa.array(values))
        if group == 2:
            part = part.set_column(part.column_names.index("y"), "y", pa.nulls(size, pa.float64()))
        parts.append(part.append_column("shop", pa.array(np.full(size, group))))
    table = pa.concat_tables(parts)
    table = table.take(pa.array(rng.permutation(len(table))))
    for file in range(8):
        first = len(table) * file // 8
        pq.write_table(table.slice(first, len(table) * (file + 1) // 8 - first), folder / f"{file}.parquet")
    return len(table)


def run(task: dict[str, Any]) -> None:
    """Fits all groups on one engine."""
    estimator = cfqp.CFQP(classes=task["classes"], base="linear", members=task["members"], threads=1)
    if task["engine"] == "spark":
        import cfqp.spark as engine

        data = start_spark(2).read.parquet(task["folder"])
    else:
        import cfqp.ray as engine
        import ray

        start_ray(cpus=2)
        data = ray.data.read_parquet(task["folder"])
    start = time.perf_counter()
    fits = engine.fit_by(data, "shop", estimator=estimator, id="id", **COLUMNS)
    models = len(fits.models)
    report(task["engine"], fits, models, time.perf_counter() - start)


def report(engine: str, fits: Any, models: int, seconds: float) -> None:
    """Prints what came of the fits."""
    times = fits.table["seconds"].to_numpy()
    sizes = pc.binary_length(fits.table["model"])
    print(f"\n{engine}: {models:,} models, {len(fits.failures)} reports, {seconds:.1f} s with two workers")
    print(
        f"  one fit: median {np.median(times):.2f} s, max {times.max():.2f} s; all fits one after the other {times.sum():.1f} s"
    )
    print(f"  models: {pc.sum(sizes).as_py() / 2**20:,.1f} MiB, the largest {pc.max(sizes).as_py() / 2**10:,.0f} KiB")
    for row in fits.failures.to_pylist():
        print(f"  shop {row['shop']} ({row['rows']} rows), {row['error']}: {row['message']}\n    hint: {row['hint']}", flush=True)


if __name__ == "__main__":
    main()
