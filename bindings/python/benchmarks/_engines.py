"""Spark and Ray on this machine, for benchmarks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = {"x": ["x0", "x1", "x2", "x3"], "t": "t", "y": "y"}


def make_units(n: int, seed: int, first: int = 0) -> pa.Table:
    """Units of two classes, one whose outcome rises with the treatment and one whose outcome falls."""
    rng = np.random.default_rng(seed)
    x, t = rng.normal(size=(n, 4)), rng.uniform(0, 1, n)
    sign = np.where(rng.uniform(size=n) < 0.5, 1.0, -1.0)
    y = x @ [1.0, -0.5, 0.2, 0.0] + 3 * sign * t + 0.3 * rng.normal(size=n)
    columns = {f"x{j}": x[:, j] for j in range(4)}
    return pa.table({"id": np.arange(first, first + n), **columns, "t": t, "y": y})


def write_parts(folder: Path, rows: int, parts: int) -> None:
    """Writes units to equal files."""
    size = rows // parts
    for part in range(parts):
        pq.write_table(make_units(size, part, part * size), folder / f"{part:03d}.parquet")


def start_spark(workers: int) -> Any:
    """A session with this many executors of one core, each a process."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # one partition per file
        "spark.sql.files.openCostInBytes": "134217728",
    }
    builder = SparkSession.builder.master(f"local-cluster[{workers},1,1024]").appName("cfqp benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def start_ray(cpus: int) -> None:
    """One node with this many CPUs."""
    import ray

    ray.init(address="local", num_cpus=cpus, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False


def spinner(seconds_per_row: float) -> Callable[[int], None]:
    """A function that keeps one core busy; workers need not have this module."""

    def spin(rows: int) -> None:
        import time

        end = time.thread_time() + rows * seconds_per_row
        while time.thread_time() < end:
            pass

    return spin
