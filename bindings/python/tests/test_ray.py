"""Ray with two nodes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("ray.data", reason="ray[data] is not installed")

import cfqp.ray  # noqa: E402
import ray  # noqa: E402
from engines.contract import Contract, model  # noqa: E402, F401
from engines.units import COLUMNS, make_units, quick  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

NODE = {"num_cpus": 2, "object_store_memory": 100 * 2**20}


class Ray:
    """A cluster of two nodes on this machine."""

    module = cfqp.ray

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.second = cluster.add_node(**NODE)
        cluster.wait_for_nodes()

    def frame(self, parts: list[pa.Table]) -> Any:
        return ray.data.from_arrow(parts)

    def collect(self, frame: Any) -> pa.Table:
        tables = ray.get(frame.to_arrow_refs())
        return pa.concat_tables([table for table in tables if len(table) > 0])

    def slowed(self, frame: Any, folder: Path, seconds: float) -> Any:
        def later(table: pa.Table) -> pa.Table:
            time.sleep(seconds)
            Path(folder, f"{os.getpid()}-{time.time_ns()}").touch()
            return table

        return frame.map_batches(later, batch_format="pyarrow", batch_size=None)

    def lose_worker(self) -> None:
        self.cluster.remove_node(self.second, allow_graceful=False)
        self.second = self.cluster.add_node(**NODE)


@pytest.fixture(scope="module")
def engine() -> Iterator[Ray]:
    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    engine = Ray(cluster)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield engine
    ray.shutdown()
    cluster.shutdown()


class TestRay(Contract):
    """Ray keeps the contract."""

    def test_a_sweep_has_a_row_per_combination(self, engine: Ray) -> None:
        grid = {"classes": [1, 2], "random_state": [0, 1]}
        swept = cfqp.ray.sweep(make_units(200), grid, estimator=quick(), **COLUMNS)
        assert swept.table["classes"].to_pylist() == ["1", "1", "2", "2"]
        assert swept.table["val_nll"].null_count == 0
        # two classes explain the units better than one
        assert swept.best.n_classes_ == 2
        swept = cfqp.ray.sweep(make_units(200), [{"classes": 0}, {"classes": 1}], estimator=quick(), **COLUMNS)
        assert swept.table["status"].to_pylist() == ["failed", "ok"]
        assert "classes" in swept.failures["message"][0].as_py()

    def test_a_sweep_reports_a_worker_that_died(self, engine: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
        fit = cfqp._ray_tasks._fit

        def deadly(table: Any, estimator: cfqp.CFQP, *rest: Any) -> Any:
            if estimator.classes == 2:
                os._exit(1)
            return fit(table, estimator, *rest)

        monkeypatch.setattr(cfqp._ray_tasks, "_fit", deadly)
        swept = cfqp.ray.sweep(make_units(100), {"classes": [1, 2]}, estimator=quick(), **COLUMNS)
        assert swept.table["status"].to_pylist() == ["ok", "failed"]
        assert swept.failures["error"].to_pylist() == ["WorkerCrashedError"]
        assert swept.best.n_classes_ == 1

    def test_a_comparison_has_the_scores_of_one_process(self, engine: Ray) -> None:
        data, test = (cfqp.simulate("oscillator", n=n, seed=n) for n in (120, 40))
        settings = cfqp.CFQP(base="linear", epochs=2, max_classes=2, members=2)
        # the published algorithm gets the number of classes that cfqp chooses
        options = {"methods": ["residual", "cfqp-kmeans", "cfqp"], "seeds": 2, "estimator": settings}
        here, there = cfqp.compare(data, test, **options), cfqp.ray.compare(data, test, **options)
        columns = ["method", "seed", "error", "cf_mse", "classes", "coverage"]
        assert there.table.select(columns).equals(here.table.select(columns))
        assert there.failures == []
        options = {"methods": ["sc", "residual"], "seeds": 1, "estimator": settings}
        failed = cfqp.ray.compare(data, test, window=1e-9, **options)
        assert [run["scores"] is None for run in failed] == [True, False]
        assert "no training unit has a treatment" in failed.failures[0]["error"]
        with pytest.raises(cfqp.ConfigError, match="window: -1 is not a width"):
            cfqp.ray.compare(data, test, window=-1.0, **options)
