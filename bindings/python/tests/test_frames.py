"""Frames of every kind go in and come out again."""

import warnings

import cfqp
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import ROLES, SMALL
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.filterwarnings("ignore::cfqp.AnswerWarning")


@pytest.fixture(scope="module")
def expected(model, frame):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cfqp.AnswerWarning)
        return model.counterfactual(frame, t=0.8)


def test_pandas_keeps_the_index(model, frame, expected):
    assert isinstance(expected, pd.DataFrame)
    assert expected.index.equals(frame.index) and expected.index.name == "patient"
    few = model.counterfactual(frame, t=0.8, units=[5, 17])
    assert list(few.index) == ["p5", "p17"]
    pd.testing.assert_frame_equal(few, expected.loc[["p5", "p17"]])
    assert isinstance(model.curve(frame, [0.2, 0.4], units=[5]).index, pd.RangeIndex)


def test_dropped_rows_keep_the_index_of_the_others(frame, caplog):
    holes = frame.assign(code=[f"c{k}" for k in range(len(frame))])
    holes.iloc[3, holes.columns.get_loc("t")] = np.nan
    fitted = cfqp.CFQP(**SMALL).fit(holes, **ROLES, id="code")
    assert "1 unit dropped: " in caplog.text
    answers = fitted.counterfactual(holes, t=0.5)
    assert "p3" not in answers.index and len(answers) == len(frame) - 1
    assert answers.loc["p4", "code"] == "c4"


@pytest.mark.parametrize("kind", ["polars", "lazy", "table", "batch", "reader", "duckdb", "stream"])
def test_other_kinds_come_back_as_they_are(model, frame, expected, kind):
    table = pa.Table.from_pandas(frame, preserve_index=False)

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    frames = {
        "polars": lambda: pl.from_arrow(table),
        "lazy": lambda: pl.from_arrow(table).lazy(),
        "table": lambda: table,
        "batch": lambda: table.combine_chunks().to_batches()[0],
        "reader": lambda: table.to_reader(),
        "duckdb": lambda: duckdb.from_arrow(table),
        "stream": Stream,
    }
    answers = model.counterfactual(frames[kind](), t=0.8)
    assert isinstance(answers, pl.DataFrame if kind in ("polars", "lazy") else pa.Table)
    assert answers["y"].to_numpy().tolist() == expected["y"].tolist()
    assert answers["flag"].to_pylist() == expected["flag"].tolist() if kind == "table" else True


@pytest.mark.parametrize("extension", ["csv", "parquet", "arrow"])
def test_files_are_read_by_path(model, frame, expected, extension, tmp_path):
    path = tmp_path / f"data.{extension}"
    if extension == "csv":
        frame.to_csv(path, index=False)
    elif extension == "parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.reset_index(drop=True).to_feather(path)
    for place in (path, str(path)):
        assert model.counterfactual(place, t=0.8)["y"].to_pylist() == expected["y"].tolist()


def test_several_chunks_give_the_same_answers(model, frame, expected):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    chunks = pa.concat_tables([table.slice(start, 50) for start in range(0, 200, 50)])
    assert chunks["y"].num_chunks == 4
    assert model.counterfactual(chunks, t=0.8)["y"].to_pylist() == expected["y"].tolist()


def test_types_of_columns_do_not_matter(model, frame, expected):
    for dtype in (np.float32, np.float64, "Float64", "float64[pyarrow]"):
        typed = frame.astype(np.float32).astype(dtype)
        assert model.counterfactual(typed, t=0.8)["y"].tolist() == expected["y"].tolist(), dtype


def test_texts_categories_and_dates(trial, trial_model):
    texts = trial_model.counterfactual(trial, t={"drug": "B", "dose": 0.5})
    for dtype in ("category", "string", object):
        typed = trial.astype({"sex": dtype, "drug": dtype})
        assert trial_model.counterfactual(typed, t={"drug": "B", "dose": 0.5})["y"].tolist() == texts["y"].tolist(), dtype
    lazy = pl.from_pandas(trial).with_columns(pl.col("sex").cast(pl.Categorical))
    assert trial_model.counterfactual(lazy, t="B,0.5")["y"].to_list() == texts["y"].tolist()
    dated = trial.assign(day=pd.date_range("2024-01-01", periods=len(trial)))
    fitted = cfqp.CFQP(classes=1, members=2).fit(dated, x=["x0", "day"], t="dose", y="y")
    assert fitted.feature_names_in_.tolist() == ["x0", "day"]


def test_series_of_lists(series, series_model):
    table = series.to_arrow()
    fitted = cfqp.CFQP(**SMALL).fit(table, x=series.names["x"], t="t", y=series.names["y"])
    name = series.names["y"][0]
    answers = fitted.counterfactual(table, t=0.5)
    arrays = series_model.counterfactual(series.arrays, t=0.5)
    assert np.asarray(answers[name].to_pylist()).shape == arrays.point[:, 0].shape
    frame = fitted.counterfactual(series.to_pandas(), t=0.5)
    assert np.array_equal(np.stack(frame[name]), np.asarray(answers[name].to_pylist(), np.float32))


def test_long_tables(series):
    units = series.arrays
    x, y = np.asarray(units.x)[:60], np.asarray(units.y)[:60]
    both = np.concatenate([x, y], axis=2)
    n, channels, times = both.shape
    rows = {"unit": np.repeat(np.arange(n), times), "time": np.tile(np.arange(times), n), "dose": np.repeat(units.t[:60], times)}
    rows |= {f"s{k}": both[:, k].reshape(-1) for k in range(channels)}
    table = pd.DataFrame(rows)
    fitted = cfqp.CFQP(**SMALL).fit(
        table, id="unit", time="time", series=["s0", "s1"], t="dose", treated_at=float(x.shape[2] - 1)
    )
    answers = fitted.counterfactual(table, t=0.5)
    assert len(answers) == n * y.shape[2] and list(answers.columns[:2]) == ["unit", "time"]
    assert isinstance(answers.index, pd.RangeIndex)


def test_a_frame_of_numbers_and_texts_names_the_cell(frame):
    mixed = frame.astype({"t": object})
    mixed.iloc[7, mixed.columns.get_loc("t")] = "much"
    with pytest.raises(cfqp.DataError, match="much"):
        cfqp.CFQP(**SMALL).fit(mixed, **ROLES)


def test_what_is_no_table_is_refused(model):
    with pytest.raises(TypeError, match="cannot read units from builtins.int"):
        model.counterfactual(3, t=0.8)
    with pytest.raises(cfqp.DataError, match="two columns are called `x0`"):
        model.counterfactual(pd.DataFrame([[1, 2]], columns=["x0", "x0"]), t=0.8)


def test_one_treatment_per_row(model, frame, data):
    values = np.linspace(0, 1, len(frame))
    by_column = model.counterfactual(frame.assign(plan=values), t_from="plan")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    for column in (values, pd.Series(values), pl.Series(values), pa.array(values), pa.chunked_array([values])):
        assert model.counterfactual(frame, t=column)["y"].tolist() == by_column["y"].tolist()
        assert model.counterfactual(table, t=column)["y"].to_pylist() == by_column["y"].tolist()
    with pytest.raises(cfqp.DataError, match="3 treatments for 200 rows"):
        model.counterfactual(frame, t=values[:3])
    with pytest.raises(cfqp.CfqpError, match="t_from"):
        model.counterfactual("data.csv", t=values)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_order_and_chunks_of_rows_do_not_matter(model, frame, expected, data):
    rows = data.draw(st.lists(st.integers(0, len(frame) - 1), min_size=1, max_size=30, unique=True))
    cut = data.draw(st.integers(0, len(rows)))
    part = frame.iloc[rows]
    answers = model.counterfactual(part, t=0.8)
    assert list(answers.index) == list(part.index)
    assert answers["y"].tolist() == expected["y"].iloc[rows].tolist()
    chunks = pl.concat([pl.from_pandas(part[:cut]), pl.from_pandas(part[cut:])], rechunk=False)
    assert model.counterfactual(chunks, t=0.8)["y"].to_list() == answers["y"].tolist()
