"""What workers do with partitions, without an engine."""

from __future__ import annotations

from datetime import date

import cfqp
import numpy as np
import pyarrow as pa
import pytest
from cfqp import _partitions
from cfqp._group_fits import GroupFits, check_keys, fit_group, fit_record, worker_estimator
from cfqp._partitions import Question, ask_counterfactual, digest, layout_columns, whole_subjects, worker_model
from engines.units import COLUMNS, make_samples, make_units, quick

pytestmark = pytest.mark.filterwarnings("ignore::cfqp.AnswerWarning")


@pytest.fixture(scope="module")
def model() -> cfqp.CFQP:
    return quick().fit(make_units(120), id="patient", **COLUMNS)


def plan(model: cfqp.CFQP, table: pa.Table, keep: list[str] | None = None) -> Question:
    asked = ask_counterfactual(0.5, None, 0.9, "auto", False, False)
    return Question.plan(model, asked, table.column_names, keep)


def test_only_columns_that_are_needed_are_read(model: cfqp.CFQP) -> None:
    table = make_units(5).append_column("notes", pa.array(["a"] * 5))
    assert plan(model, table).columns == ("patient", "dose", "age", "weight", "outcome")
    assert plan(model, table, ["notes"]).columns[-1] == "notes"
    assert plan(model, table.drop_columns(["outcome", "dose"])).columns == ("patient", "age", "weight")


def test_answers_about_no_rows_have_all_columns(model: cfqp.CFQP) -> None:
    table = make_units(5)
    question = plan(model, table)
    assert question.schema(model, table.schema) == question.answer(model, table).schema


def test_ids_may_be_missing_repeated_and_of_any_type(model: cfqp.CFQP) -> None:
    ids = [date(2024, 3, 1), None, date(2024, 3, 1), date(2024, 3, 2)]
    table = make_units(4).set_column(0, "patient", pa.array(ids, pa.date32()))
    answers = plan(model, table).answer(model, table)
    assert answers["patient"].type == pa.date32()
    assert answers["patient"].to_pylist() == [ids[i] for i in (0, 2, 3)]
    expected = model.counterfactual(make_units(4), 0.5)["outcome"].to_numpy()
    np.testing.assert_allclose(answers["outcome"].to_numpy(), expected[[0, 2, 3]], rtol=1e-5)


def test_decimals_are_numbers(model: cfqp.CFQP) -> None:
    table = make_units(6)
    decimals = table["age"].cast(pa.decimal128(12, 6), safe=False)
    found = plan(model, table).answer(model, table.set_column(1, "age", decimals))
    expected = plan(model, table).answer(model, table)
    np.testing.assert_allclose(found["outcome"].to_numpy(), expected["outcome"].to_numpy(), rtol=1e-4, atol=1e-4)


def test_a_process_reads_a_model_once(model: cfqp.CFQP, monkeypatch: pytest.MonkeyPatch) -> None:
    data, reads = model.to_bytes(), []

    def read() -> bytes:
        reads.append(1)
        return data

    first = worker_model(digest(data), read)
    assert worker_model(digest(data), read) is first
    assert len(reads) == 1
    for i in range(_partitions._MAX_MODELS):
        worker_model(f"other {i}", lambda: data)
    assert len(_partitions._models) == _partitions._MAX_MODELS


def test_tables_end_where_a_subject_ends() -> None:
    subjects = [None] * 5 + ["a"] * 3 + ["b"] * 9 + ["c"] + ["d"] * 4
    table = pa.table({"subject": subjects, "row": range(len(subjects))})
    batches = [table.slice(i, 2) for i in range(0, len(table), 2)]
    parts = list(whole_subjects(batches, "subject", rows=4))
    assert pa.concat_tables(parts).equals(table)
    assert len(parts) > 2
    for part, after in zip(parts, parts[1:], strict=False):
        last = part["subject"][-1].as_py()
        assert last is None or last != after["subject"][0].as_py()


def test_columns_of_a_long_table() -> None:
    columns = {"id": "patient", "time": "minute", "series": "pressure", "t": "dose", "treated_at": 5, "x": "ward"}
    model = quick().fit(make_samples(40), **columns)
    assert set(layout_columns(model.layout_)) == {"patient", "minute", "pressure", "dose", "ward"}


def test_a_model_of_arrays_is_refused() -> None:
    units = make_units(60)
    x = np.column_stack([units["age"].to_numpy(), units["weight"].to_numpy()])
    model = quick().fit(x=x, t=units["dose"].to_numpy(), y=units["outcome"].to_numpy())
    with pytest.raises(cfqp.ConfigError, match="fitted to arrays"):
        plan(model, units)


def test_a_group_has_one_row_whatever_happens() -> None:
    units = make_units(80).append_column("region", pa.array(["n"] * 80))
    row = fit_group(units, ["region"], worker_estimator(quick()), COLUMNS, None)
    assert row.to_pylist()[0]["status"] == "ok"
    fits = GroupFits(row, "region")
    assert fits.models["n"].n_classes_ == 2
    assert fits.raise_failures() is fits
    row = fit_group(units.slice(0, 2), ["region"], worker_estimator(quick()), COLUMNS, None)
    failed = row.to_pylist()[0]
    assert (failed["region"], failed["status"], failed["rows"], failed["model"]) == ("n", "failed", 2, None)
    with pytest.raises(cfqp.FitError, match="1 of 1 fits failed; the first, region='n'"):
        GroupFits(row, "region").raise_failures()


def test_a_fit_that_takes_too_long_is_stopped() -> None:
    record = fit_record(make_units(400), cfqp.CFQP(threads=1), COLUMNS, timeout=0.0)
    assert (record["status"], record["error"]) == ("failed", "FitTimeoutError")
    assert "timeout" in record["hint"]


def test_keys_that_cannot_be_used() -> None:
    with pytest.raises(cfqp.ConfigError, match="does not exist"):
        check_keys("region", ["area"])
    with pytest.raises(cfqp.ConfigError, match="has a column `model`, too"):
        check_keys(["model"], ["model"])


def test_several_columns_make_a_key() -> None:
    units = make_units(60).append_column("region", pa.array(["n"] * 60)).append_column("year", pa.array([2024] * 60))
    row = fit_group(units, ["region", "year"], worker_estimator(quick()), COLUMNS, None)
    assert list(GroupFits(row, ["region", "year"]).models) == [("n", 2024)]
