"""The package and the program give the same models and the same answers, to the last bit."""

import json
import warnings

import cfqp
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROLES, SMALL

FLAGS = ["--classes", 2, "--members", 2, "--base", "linear"]
COLUMNS = ["--x", "x*", "--t", "t", "--y", "y"]


@pytest.fixture(scope="module")
def files(tmp_path_factory, command, frame):
    folder = tmp_path_factory.mktemp("bits")
    frame.to_parquet(folder / "data.parquet", index=False)
    command("fit", folder / "data.parquet", *COLUMNS, *FLAGS, "--out", folder / "model.cfqp", "--quiet")
    return folder


def quiet(question, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cfqp.AnswerWarning)
        return question(*args, **options)


def assert_equal(answers, path):
    expected = pq.read_table(path)
    assert answers.column_names == expected.column_names
    for name in expected.column_names:
        ours, theirs = answers[name].combine_chunks(), expected[name].combine_chunks()
        if pa.types.is_floating(theirs.type):
            assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes(), name
        else:
            assert ours.to_pylist() == theirs.to_pylist(), name


def test_the_model_file_is_the_same(files, model, tmp_path):
    model.save(tmp_path / "model.cfqp")
    assert (tmp_path / "model.cfqp").read_bytes() == (files / "model.cfqp").read_bytes()


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "csv"])
def test_every_kind_of_table_gives_the_same_model(files, data, kind, tmp_path):
    table = data.to_arrow()
    if kind == "csv":
        import pyarrow.csv

        pyarrow.csv.write_csv(table, tmp_path / "data.csv")
    frames = {"pandas": data.to_pandas, "polars": data.to_polars, "arrow": lambda: table, "csv": lambda: tmp_path / "data.csv"}
    model = cfqp.CFQP(**SMALL).fit(frames[kind](), **ROLES)
    model.save(tmp_path / "model.cfqp")
    ours, theirs = cfqp.load(tmp_path / "model.cfqp"), cfqp.load(files / "model.cfqp")
    assert_same_answers(ours, theirs, table)


def assert_same_answers(ours, theirs, table):
    first = quiet(ours.counterfactual, table, t=0.3)
    second = quiet(theirs.counterfactual, table, t=0.3)
    assert first.equals(second)


def test_answers_are_those_of_the_command(files, command, model, frame):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    command("query", files / "model.cfqp", files / "data.parquet", "--treatment", 0.8, "--out", files / "a.parquet")
    assert_equal(quiet(model.counterfactual, table, t=0.8), files / "a.parquet")
    command("query", files / "model.cfqp", files / "data.parquet", "--treatment-from", "x2", "--rho", 1, "--level", 0.5,
            "--rho-bounds", "--out", files / "b.parquet")
    assert_equal(quiet(model.counterfactual, table, t_from="x2", rho=1, level=0.5, rho_bounds=True), files / "b.parquet")
    command("effect", files / "model.cfqp", files / "data.parquet", "--from", 0.2, "--to", 0.7, "--out", files / "c.parquet")
    assert_equal(quiet(model.effect, table, 0.2, 0.7), files / "c.parquet")
    command("curve", files / "model.cfqp", files / "data.parquet", "--grid", "0:1:5", "--units", "3,17", "--out", files / "d.parquet")
    assert_equal(quiet(model.curve, table, np.linspace(0, 1, 5), units=[3, 17]), files / "d.parquet")


def test_averages_verdicts_scores_and_checks_are_those_of_the_command(files, command, model, frame):
    path = files / "data.parquet"
    printed = json.loads(command("effect", files / "model.cfqp", path, "--from", 0.2, "--to", 0.7, "--json"))
    averages = model.average_effect(frame, 0.2, 0.7)
    assert averages.to_dict("records") == printed["averages"]
    printed = json.loads(command("diagnose", files / "model.cfqp", path, "--json"))
    verdicts = {row["name"]: (row["grade"], row["figure"]) for row in printed["verdicts"]}
    assert {v.assumption: (v.grade, v.figure) for v in model.diagnose(frame)} == verdicts
    line = ("diagnose", files / "model.cfqp", path, "--from", 0.2, "--to", 0.7, "--json")
    printed = json.loads(command(*line))
    verdicts = {row["name"]: (row["grade"], row["figure"]) for row in printed["verdicts"]}
    diagnosis = model.diagnose(frame, 0.2, 0.7)
    assert {v.assumption: (v.grade, v.figure) for v in diagnosis} == verdicts
    assert diagnosis.contrast == printed["contrast"] == {"from": [pytest.approx(0.2)], "to": [pytest.approx(0.7)]}
    by = ("effect", files / "model.cfqp", path, "--from", 0.2, "--to", 0.7, "--by", "x0,x1", "--json")
    printed = json.loads(command(*by))["subgroups"]
    subgroups = model.average_effect(frame, 0.2, 0.7, by=["x0", "x1"])
    assert list(subgroups["column"].unique()) == ["x0", "x1"]
    groups = [group for of in printed for group in of["groups"]]
    assert subgroups["effect"].to_list() == [group["effect"] for group in groups]
    assert subgroups["p_value"].iloc[0] == printed[0]["corrected_p_value"]
    printed = json.loads(command("select", path, *COLUMNS, "--classes", "1..2", "--json"))
    scores = cfqp.CFQP(max_classes=2).select(frame, **ROLES)
    assert [(row["classes"], row["nll"]) for row in scores] == [(row["classes"], row["nll"]) for row in printed["candidates"]]
    printed = json.loads(command("check", path, *COLUMNS, "--json"))
    checked = cfqp.check(frame, **ROLES)
    assert {name: printed[name] for name in checked.summary} == checked.summary


def test_arrays_give_the_answers_of_an_npz_file(command, data, array_model, tmp_path):
    units = data.arrays
    np.savez(tmp_path / "data.npz", x=units.x, t=units.t, y=units.y)
    command("fit", tmp_path / "data.npz", *FLAGS, "--out", tmp_path / "m.cfqp", "--quiet")
    command("query", tmp_path / "m.cfqp", tmp_path / "data.npz", "--treatment", 0.8, "--out", tmp_path / "a.npz")
    expected = np.load(tmp_path / "a.npz")
    answers = quiet(array_model.counterfactual, units, t=0.8)
    for ours, theirs in (("point", "answer"), ("lower", "lower"), ("upper", "upper"), ("posterior", "posterior")):
        assert getattr(answers, ours).tobytes() == np.asarray(expected[theirs], np.float32).tobytes(), ours


def test_simulated_data_are_those_of_the_command(command, data, tmp_path):
    command("simulate", "table", "--world", "crossing", "--n", 200, "--seed", 1, "--out", tmp_path / "data.npz")
    expected = np.load(tmp_path / "data.npz")
    assert np.array_equal(np.asarray(data.arrays.x), expected["x"])
    for ours, theirs in ((data.truth.y_new, "y_new"), (data.truth.z, "z"), (data.truth.t_new, "t_new")):
        assert np.array_equal(ours, expected[theirs].reshape(ours.shape)), theirs
