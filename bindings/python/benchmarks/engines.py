"""Throughput of answers on Spark and Ray, with one worker and with two.

    python benchmarks/engines.py --rows 1000000

Beside the model stand two functions that say what the engine itself and the machine allow: `copy` gives every batch back, `busy`
keeps a core busy for as long as the model would and returns rows like the answers. `processes` stands for plain processes without an engine, what
the machine itself gives. Every figure is the best of several runs after a warm-up, which starts the workers and loads the
model. Ray starts its actors in every run, which takes seconds: give it millions of rows.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import cfqp
import pyarrow as pa
import pyarrow.parquet as pq
from _engines import COLUMNS, make_units, spinner, start_ray, start_spark, write_parts

TREATMENT = 0.8
BATCH_ROWS = 10_000


def main() -> None:
    """Compares the engines, or measures one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--parts", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--engines", default="processes,spark,ray")
    parser.add_argument("--functions", default="copy,busy,cfqp")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        run(json.loads(options.worker))
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(options, Path(folder))


def compare(options: argparse.Namespace, folder: Path) -> None:
    """Prints a table with one row per engine and function."""
    (folder / "units").mkdir()
    write_parts(folder / "units", options.rows, options.parts)
    model = cfqp.CFQP(classes=2, base="linear", threads=1).fit(make_units(2_000, 999), id="id", **COLUMNS)
    model.save(folder / "model.cfqp")
    per_row = alone(model, make_units(50_000, 998))
    print(f"{options.rows:,} rows in {options.parts} files; the model takes {model_size(folder)}")
    print(f"in this process, one thread: {1 / per_row:,.0f} rows/s")
    print(f"{'engine':10}{'function':10}{'1 worker':>14}{'2 workers':>14}{'ratio':>8}   (rows/s)")
    for engine in options.engines.split(","):
        task = {"engine": engine, "folder": str(folder), "repeats": options.repeats, "per_row": per_row}
        task |= {"functions": options.functions.split(",")}
        one, two = (started(task | {"workers": workers}) for workers in (1, 2))
        for name in one:
            first, second = options.rows / one[name], options.rows / two[name]
            print(f"{engine:10}{name:10}{first:14,.0f}{second:14,.0f}{second / first:8.2f}", flush=True)


def alone(model: cfqp.CFQP, units: pa.Table) -> float:
    """Seconds per row without an engine."""
    model = cfqp.CFQP.from_bytes(model.to_bytes(), threads=1)
    warnings.simplefilter("ignore", cfqp.AnswerWarning)
    seconds = best(lambda: model.counterfactual(units, TREATMENT), 3)
    return seconds / len(units)


def model_size(folder: Path) -> str:
    """The size of the model file."""
    return f"{(folder / 'model.cfqp').stat().st_size / 1024:,.0f} KiB"


def started(task: dict[str, Any]) -> dict[str, float]:
    """The seconds of every function, measured in a process of its own."""
    command = [sys.executable, __file__, "--worker", json.dumps(task)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout.strip().splitlines()[-1])


def run(task: dict[str, Any]) -> None:
    """Measures every function on one engine."""
    jobs = {"processes": process_jobs, "spark": spark_jobs, "ray": ray_jobs}[task["engine"]](task)
    print(json.dumps({name: best(jobs[name], task["repeats"]) for name in task["functions"]}))


def best(job: Callable[[], Any], repeats: int) -> float:
    """The shortest time of several runs after a first one."""
    job()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return min(times)


def process_jobs(task: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """The functions in processes, each over all files."""
    pool = ProcessPoolExecutor(task["workers"], multiprocessing.get_context("spawn"))
    files = sorted(Path(task["folder"], "units").iterdir())

    def over_files(function: str) -> Callable[[], Any]:
        return lambda: list(pool.map(one_file, files, [function] * len(files), [task] * len(files)))

    return {name: over_files(name) for name in ("copy", "busy", "cfqp")}


def one_file(path: Path, function: str, task: dict[str, Any]) -> int:
    """A function over the units of one file, in a process of its own."""
    warnings.simplefilter("ignore", cfqp.AnswerWarning)
    units = pq.read_table(path)
    for start in range(0, len(units), BATCH_ROWS):
        part = units.slice(start, BATCH_ROWS)
        if function == "cfqp":
            part = model_of(task["folder"]).counterfactual(part, TREATMENT)
        elif function == "busy":
            spinner(task["per_row"])(len(part))
    return len(units)


@functools.cache
def model_of(folder: str) -> cfqp.CFQP:
    """The model, read once by a process."""
    return cfqp.load(folder + "/model.cfqp", threads=1)


def spark_jobs(task: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """The functions on Spark, each over all rows."""
    import cfqp.spark

    session = start_spark(task["workers"])
    units = session.read.parquet(task["folder"] + "/units")
    spin = spinner(task["per_row"])
    answers = cfqp.spark.counterfactual(units, task["folder"] + "/model.cfqp", TREATMENT)
    (some,) = answers.limit(BATCH_ROWS).toArrow().combine_chunks().to_batches()

    def copy(batches: Any) -> Any:
        yield from batches

    def busy(batches: Any) -> Any:
        for batch in batches:
            spin(batch.num_rows)
            yield some.slice(0, batch.num_rows)

    frames = {
        "copy": units.mapInArrow(copy, units.schema),
        "busy": units.mapInArrow(busy, answers.schema),
        "cfqp": answers,
    }
    return {name: lambda frame=frame: frame.write.format("noop").mode("overwrite").save() for name, frame in frames.items()}


def ray_jobs(task: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """The functions on Ray, each over all rows."""
    import cfqp.ray
    import ray

    start_ray(cpus=4)
    workers, spin = task["workers"], spinner(task["per_row"])
    units = ray.data.read_parquet(task["folder"] + "/units")
    blocks = units.repartition(target_num_rows_per_block=BATCH_ROWS)

    def ask() -> Any:
        return cfqp.ray.counterfactual(units, task["folder"] + "/model.cfqp", TREATMENT, actors=workers)

    some = ask().take_batch(BATCH_ROWS, batch_format="pyarrow")

    class Copy:
        def __call__(self, table: pa.Table) -> pa.Table:
            return table

    class Busy:
        def __call__(self, table: pa.Table) -> pa.Table:
            spin(len(table))
            return some.slice(0, len(table))

    pool = {
        "compute": ray.data.ActorPoolStrategy(size=workers),
        "batch_format": "pyarrow",
        "batch_size": BATCH_ROWS,
        "num_cpus": 0.25,
    }
    data = {
        "copy": lambda: blocks.map_batches(Copy, **pool),
        "busy": lambda: blocks.map_batches(Busy, **pool),
        "cfqp": ask,
    }
    return {name: lambda make=make: make().materialize() for name, make in data.items()}


if __name__ == "__main__":
    main()
