"""The contract of every engine: the same answers as without it, no row lost, none doubled, no failure lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import cfqp
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from .units import COLUMNS, broken, make_groups, make_samples, make_units, make_visits, quick


class Engine(Protocol):
    """An engine with two workers, which are processes of their own."""

    module: ModuleType

    def frame(self, parts: list[pa.Table]) -> Any:
        """A distributed table with these partitions."""

    def collect(self, frame: Any) -> pa.Table: ...

    def slowed(self, frame: Any, folder: Path, seconds: float) -> Any:
        """The same rows, later; every batch leaves a file in `folder`."""

    def lose_worker(self) -> None:
        """Kills a worker."""


@pytest.fixture(scope="session")
def model() -> cfqp.CFQP:
    return quick().fit(make_units(300), id="patient", **COLUMNS)


def cut(table: pa.Table, *sizes: int) -> list[pa.Table]:
    """Consecutive slices of these sizes."""
    ends = np.cumsum(sizes).tolist()
    assert ends[-1] == len(table)
    return [table.slice(end - size, size) for end, size in zip(ends, sizes, strict=True)]


def assert_equal(found: pa.Table, expected: pa.Table, *keys: str) -> None:
    """Checks that two tables have the same columns and, in any order, the same rows."""
    assert found.column_names == expected.column_names
    assert len(found) == len(expected)
    order = [(key, "ascending") for key in keys]
    found, expected = found.sort_by(order), expected.sort_by(order)
    for name in expected.column_names:
        left, right = found[name].to_pylist(), expected[name].to_pylist()
        if pa.types.is_floating(expected[name].type):
            np.testing.assert_allclose(np.array(left, float), np.array(right, float), rtol=1e-5, atol=1e-6, err_msg=name)
        else:
            assert left == right, name


@pytest.mark.filterwarnings("ignore::cfqp.AnswerWarning")
class Contract:
    """Tests that every engine passes; `engine` is a fixture of the class that inherits them."""

    def test_answers_are_those_of_one_machine(self, engine: Engine, model: cfqp.CFQP) -> None:
        units = make_units(12_503, seed=1)
        # a skewed, a single-row and an empty partition
        frame = engine.frame(cut(units, 12_000, 1, 0, 502))
        answers = engine.collect(engine.module.counterfactual(frame, model, 0.8, level=0.8))
        assert_equal(answers, model.counterfactual(units, 0.8, level=0.8), "patient")

    def test_effects_curves_and_treatments_of_a_column(self, engine: Engine, model: cfqp.CFQP) -> None:
        units = make_units(30, seed=2)
        units = units.append_column("wanted", pa.array(np.linspace(0, 1, 30)))
        frame = engine.frame(cut(units, 20, 10))
        effects = engine.collect(engine.module.effect(frame, model, 0.2, 0.8))
        assert_equal(effects, model.effect(units, 0.2, 0.8), "patient")
        curves = engine.collect(engine.module.curve(frame, model, [0.1, 0.5, 0.9]))
        assert_equal(curves, model.curve(units, [0.1, 0.5, 0.9]), "patient", "t_new")
        answers = engine.collect(engine.module.counterfactual(frame, model, t_from="wanted"))
        assert_equal(answers, model.counterfactual(units, t_from="wanted"), "patient")

    def test_dropped_units_have_no_row(self, engine: Engine, model: cfqp.CFQP) -> None:
        units = make_units(40, seed=3)
        age = [None if i < 25 else value for i, value in enumerate(units["age"].to_pylist())]
        units = units.set_column(1, "age", pa.array(age, pa.float64()))
        # of the first partition no unit is left
        frame = engine.frame(cut(units, 20, 20))
        answers = engine.collect(engine.module.counterfactual(frame, model, 0.8))
        assert_equal(answers, model.counterfactual(units.slice(25), 0.8), "patient")

    def test_kept_columns_have_their_types(self, engine: Engine) -> None:
        units = make_units(60, seed=4)
        plain = quick().fit(units, **COLUMNS)
        units = units.append_column("row_number", pa.array(range(60), pa.int32()))
        frame = engine.frame(cut(units, 1, 59))
        answers = engine.collect(engine.module.counterfactual(frame, plain, 0.5, keep=["row_number", "patient"]))
        assert answers.column_names[:3] == ["row_number", "patient", "t"]
        assert answers["row_number"].type == pa.int32()
        expected = plain.counterfactual(units, 0.5)
        found = answers.sort_by("row_number")
        assert found["patient"].to_pylist() == units["patient"].to_pylist()
        np.testing.assert_allclose(found["outcome"].to_numpy(), expected["outcome"].to_numpy(), rtol=1e-5)
        with pytest.raises(cfqp.ConfigError, match="no id column"):
            engine.module.counterfactual(frame, plain, 0.5)
        with pytest.raises(cfqp.ConfigError, match="the answers have a column `outcome`"):
            engine.module.counterfactual(frame, plain, 0.5, keep="outcome")

    def test_all_rows_of_a_subject_are_answered_together(self, engine: Engine) -> None:
        visits = make_visits(patients=40, visits=3)
        grouped = quick().fit(visits, id="visit", group="subject", **COLUMNS)
        frame = engine.frame(cut(visits, 40, 40, 40))
        answers = engine.collect(engine.module.counterfactual(frame, grouped, 0.5))
        assert answers["visit"].type == pa.int64()
        assert_equal(answers, grouped.counterfactual(visits, 0.5), "visit")

    def test_all_samples_of_a_unit_are_answered_together(self, engine: Engine) -> None:
        samples = make_samples(60)
        columns = {"id": "patient", "time": "minute", "series": "pressure", "t": "dose", "treated_at": 5}
        series = quick().fit(samples, **columns)
        frame = engine.frame(cut(samples, 300, 420))
        answers = engine.collect(engine.module.counterfactual(frame, series, 0.5, keep="ward"))
        wards = ["north" if patient % 2 == 0 else "south" for patient in answers["patient"].to_pylist()]
        assert answers["ward"].to_pylist() == wards
        assert_equal(answers.drop_columns(["ward"]), series.counterfactual(samples, 0.5), "patient", "minute")

    def test_errors_have_the_message_and_the_hint(self, engine: Engine, model: cfqp.CFQP) -> None:
        units = make_units(20, seed=5)
        frame = engine.frame([units])
        with pytest.raises(cfqp.CfqpError):  # before anything runs
            engine.module.counterfactual(frame, model, "high")
        ages = [*map(str, units["age"].to_pylist()[:-1]), "young"]
        frame = engine.frame(cut(units.set_column(1, "age", pa.array(ages)), 10, 10))
        lazy = engine.module.counterfactual(frame, model, 0.8)
        with pytest.raises(Exception, match="young") as error:
            engine.collect(lazy)
        assert "hint: " in str(error.value)

    def test_no_row_is_lost_or_doubled_if_a_worker_dies(self, engine: Engine, model: cfqp.CFQP, tmp_path: Path) -> None:
        units = make_units(24_000, seed=6)
        frame = engine.slowed(engine.frame(cut(units, *[1_000] * 24)), tmp_path, seconds=0.4)
        lazy = engine.module.counterfactual(frame, model, 0.8)
        answers = disturbed(engine, lambda: engine.collect(lazy), lambda: len(list(tmp_path.iterdir())) >= 4)
        assert_equal(answers, model.counterfactual(units, 0.8), "patient")

    def test_fits_by_group_report_failures_by_key(self, engine: Engine, tmp_path: Path) -> None:
        sizes = {f"r{i:02d}": 40 + 10 * (i % 7) for i in range(38)} | {"small": 3, None: 50}
        table = broken(make_groups(sizes), "r05", "age", None)
        table = broken(table, "r11", "outcome", None)
        table = table.take(pa.array(np.random.default_rng(0).permutation(len(table))))
        frame = engine.slowed(engine.frame(cut(table, 1_000, len(table) - 1_000)), tmp_path, seconds=0)
        fits = engine.module.fit_by(frame, "region", estimator=quick(), partitions=8, id="patient", **COLUMNS)
        assert "not run" in repr(fits)
        # a worker dies after all rows have been read
        disturbed(engine, lambda: fits.table, lambda: len(list(tmp_path.iterdir())) >= 2)
        assert len(fits) == len(sizes)
        assert (len(fits.models), len(fits.failures)) == (37, 3)
        failed = {row["region"]: row for row in fits.failures.to_pylist()}
        assert set(failed) == {"small", "r05", "r11"}
        assert all(row["message"] and row["hint"] and row["error"].endswith("Error") for row in failed.values())
        assert {row["region"]: row["rows"] for row in fits.table.to_pylist()} == sizes
        alone = quick().fit(make_groups(sizes).filter(pc.field("region") == "r07"), id="patient", **COLUMNS)
        assert fits.models["r07"].to_bytes() == alone.to_bytes()
        with pytest.raises(KeyError, match="small"):
            fits.models["small"]


def disturbed(engine: Engine, job: Callable[[], pa.Table], is_time: Callable[[], bool]) -> pa.Table:
    """The result of a job that loses a worker."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(job)
        while not is_time() and not future.done():
            time.sleep(0.05)
        time.sleep(1.0)
        assert not future.done(), f"the job ended before it could be disturbed: {future.exception()}"
        engine.lose_worker()
        return future.result()
