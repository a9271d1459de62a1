"""Spark with two executors, each a process of its own. Needs Java."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")
psutil = pytest.importorskip("psutil", reason="psutil is not installed")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java", allow_module_level=True)

import cfqp.spark  # noqa: E402
from engines.contract import Contract, model  # noqa: E402, F401
from pyspark.sql import DataFrame, SparkSession  # noqa: E402


def is_executor(process: Any) -> bool:
    """Whether a process is an executor that still runs."""
    try:
        return any("CoarseGrainedExecutorBackend" in word for word in process.cmdline())
    except psutil.Error:  # it has ended meanwhile
        return False


class Spark:
    """Spark in `local-cluster` mode."""

    module = cfqp.spark

    def __init__(self, session: SparkSession, folder: Path) -> None:
        self.session = session
        self.folder = folder

    def frame(self, parts: list[pa.Table]) -> DataFrame:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        for i, part in enumerate(parts):
            pq.write_table(part, folder / f"{i:03d}.parquet")
        frame = self.session.read.parquet(str(folder))
        assert frame.rdd.getNumPartitions() == len(parts)
        return frame

    def collect(self, frame: DataFrame) -> pa.Table:
        return frame.toArrow()

    def slowed(self, frame: DataFrame, folder: Path, seconds: float) -> DataFrame:
        def later(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                time.sleep(seconds)
                Path(folder, f"{os.getpid()}-{time.time_ns()}").touch()
                yield batch

        return frame.mapInArrow(later, frame.schema)

    def executors(self) -> list[Any]:
        return [process for process in psutil.Process().children(recursive=True) if is_executor(process)]

    def lose_worker(self) -> None:
        while len(executors := self.executors()) < 2:  # one may be starting
            time.sleep(0.1)
        executors[0].send_signal(signal.SIGKILL)
        executors[0].wait(10)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.showConsoleProgress": "false",
        # one partition per file
        "spark.sql.files.openCostInBytes": "134217728",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("cfqp tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield Spark(session, tmp_path_factory.mktemp("tables"))
    session.stop()


class TestSpark(Contract):
    """Spark keeps the contract."""
