"""Parameters, copies, files and treatments."""

import copy
import json
import logging
import pickle

import cfqp
import numpy as np
import pandas as pd
import pytest
from cfqp._params import COLUMN_NAMES, config_json, seed, spec_json
from cfqp._treatments import grid_json, one_treatment
from conftest import REPOSITORY, ROLES, SMALL
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.filterwarnings("ignore::cfqp.AnswerWarning")


def fields_of(path, name):
    """The public fields of a struct of the library."""
    text = (REPOSITORY / path).read_text()
    body = text.split(f"pub struct {name} {{")[1].split("\n}")[0]
    return [line.split("pub ")[1].split(":")[0] for line in body.splitlines() if line.strip().startswith("pub ")]


def test_all_settings_of_the_library_are_parameters():
    settings = fields_of("crates/cfqp/src/config.rs", "FitConfig")
    params = set(cfqp.CFQP().get_params()) | {"seed"}
    assert set(settings) <= params
    columns = fields_of("crates/cfqp/src/data/table/spec.rs", "TableSpec")
    assert set(columns) == {name.rstrip("_") for name in COLUMN_NAMES}


def test_params_are_kept_and_set():
    mlp = {"hidden": [8]}
    model = cfqp.CFQP(classes=3, mlp=mlp)
    assert model.get_params()["mlp"] is mlp
    assert model.set_params(classes="auto", random_state=5) is model and model.classes == "auto"
    with pytest.raises(ValueError, match="invalid parameter 'klasses'"):
        model.set_params(klasses=3)
    assert repr(cfqp.CFQP(classes=3, members=2)) == "CFQP(classes=3, members=2)"
    with pytest.raises(TypeError):
        cfqp.CFQP(klasses=3)


def test_settings_reach_the_library(frame):
    model = cfqp.CFQP(classes=1, members=2, random_state=7, mlp={"hidden": [8, 8]}, starts="kmeans", y_scale="linear")
    model.fit(frame, **ROLES)
    assert model.config_["seed"] == 7 and model.config_["mlp"]["hidden"] == [8, 8]
    assert model.config_["starts"] == ["kmeans"] and model.n_classes_ == 1
    # two of each form that is averaged
    assert model.config_["members"] == 2 and model.members_ in {2, 4, 6, 8}
    assert model.feature_names_in_.tolist() == [f"x{k}" for k in range(6)] and model.n_features_in_ == 6


def test_single_texts_stand_for_lists():
    spec = json.loads(spec_json({"x": "bp_*", "t": ["a", "b"], "y_kind": "yes-no", "except_": "c", "date_parts": False}))
    assert spec == {"x": ["bp_*"], "t": ["a", "b"], "y_kind": ["yes_no"], "except": ["c"]}


def test_seeds():
    assert seed(np.int64(3)) == 3 and json.loads(config_json({"random_state": 3}))["seed"] == 3
    assert seed(np.random.RandomState(1)) == seed(np.random.RandomState(1))
    assert seed(np.random.default_rng(1)) == seed(np.random.default_rng(1))
    assert seed(None) != seed(None)


def test_equal_seeds_give_equal_models(frame):
    states = [cfqp.CFQP(**SMALL, random_state=k).fit(frame, **ROLES).to_bytes() for k in (0, 0, 1)]
    assert states[0] == states[1] != states[2]


def test_threads_do_not_change_results(frame, model):
    one = cfqp.CFQP(**SMALL, threads=1).fit(frame, **ROLES)
    assert one.to_bytes() == model.to_bytes()


def test_pickles_and_copies_are_fitted(model, frame):
    expected = model.counterfactual(frame, t=0.4)
    for twin in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
        assert twin.get_params() == model.get_params() and twin.report_ == model.report_
        assert twin.counterfactual(frame, t=0.4).equals(expected)
    assert pickle.loads(pickle.dumps(cfqp.CFQP(classes=4))).classes == 4
    with pytest.raises(TypeError, match="give `data`"):
        pickle.loads(pickle.dumps(model)).plot_unit(1)


def test_files_are_those_of_the_model(model, frame, tmp_path):
    model.save(tmp_path / "m.cfqp")
    loaded = cfqp.load(str(tmp_path / "m.cfqp"), threads=1)
    assert loaded.counterfactual(frame, t=0.4).equals(model.counterfactual(frame, t=0.4))
    assert loaded.classes == 2 and loaded.base == "linear" and loaded.random_state == 0
    assert (loaded.n_classes_, loaded.report_) == (model.n_classes_, model.report_)
    assert cfqp.CFQP.from_bytes(model.to_bytes()).describe() == loaded.describe() == model.describe() | {"read": None}
    refitted = loaded.fit(frame, **ROLES)
    assert refitted.to_bytes() == model.to_bytes()


def test_treatments_as_users_write_them(trial, trial_model, model, frame):
    forms = [{"drug": "B", "dose": 0.8}, {"dose": 0.8, "drug": "B"}, ("B", 0.8), ["B", 0.8], "B,0.8", "drug=B,dose=0.8"]
    answers = [trial_model.counterfactual(trial, t=form)["y"].tolist() for form in forms]
    assert all(answer == answers[0] for answer in answers)
    forms = [0.8, np.float64(0.8), np.array(0.8), "0.8", [0.8], {"t": 0.8}]
    answers = [model.counterfactual(frame, t=form)["y"].tolist() for form in forms]
    assert all(answer == answers[0] for answer in answers)
    plan = trial.assign(d=trial["drug"], a=0.8)
    assert len(trial_model.counterfactual(plan, t_from=["d", "a"])) == len(trial)


def test_effects_between_treatments_per_row(model, frame, array_model, data, trial, trial_model):
    same = model.effect(frame, 0.2, 0.8)
    low, high = np.full(len(frame), 0.2), pd.Series(0.8, index=frame.index)
    for ends in ((low, high), (0.2, high), (low, [0.8]), (low, {"t": 0.8})):
        assert model.effect(frame, *ends).equals(same)
    less = model.effect(frame, frame["t"], 0.9 * frame["t"])
    assert np.allclose(less["to"], 0.9 * less["from"]) and less.index.equals(frame.index)
    assert np.allclose(less["effect_y"][7:8], model.effect(frame, frame["t"].iloc[7], 0.9 * frame["t"].iloc[7])["effect_y"][7:8])
    expected = array_model.effect(data.arrays, 0.2, 0.8).point
    for ends in ((low, high), (0.2, high), (low, 0.8)):
        assert np.array_equal(array_model.effect(data.arrays, *ends).point, expected)
    drugs = trial[["drug", "dose"]]
    for end in ({"drug": "B", "dose": 0.8}, ("B", 0.8), "B,0.8", "drug=B,dose=0.8"):
        effects = trial_model.effect(trial, drugs, end)
        assert len(effects) == len(trial) and (effects["to_drug"] == "B").all() and (effects["from_drug"] == trial["drug"]).all()


def test_curves_of_several_treatments(trial, trial_model):
    doses = trial_model.curve(trial, [0.2, 0.8], over="dose", hold={"drug": "B"}, units=[3])
    assert doses["t_new_drug"].tolist() == ["B", "B"] and np.allclose(doses["t_new_dose"], [0.2, 0.8])
    own = trial_model.curve(trial, [0.2, 0.8], over="dose", units=[3])
    assert set(own["t_new_drug"]) == {trial["drug"][3]}
    levels = trial_model.curve(trial, over="drug", units=[3])
    assert levels["t_new_drug"].tolist() == ["A", "B", "C"]
    whole = trial_model.curve(trial, [{"drug": "A", "dose": 0.1}, {"drug": "C", "dose": 0.9}], units=[3])
    assert whole["t_new_drug"].tolist() == ["A", "C"]


def test_a_curve_without_a_grid_covers_the_treatments(model, frame):
    curve = model.curve(frame, units=[3], points=5)
    assert len(curve) == 5 and frame["t"].min() <= curve["t_new"].min() < curve["t_new"].max() <= frame["t"].max() + 1e-6


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_keep_all_digits(value):
    assert one_treatment(value) == value
    assert float(one_treatment({"t": value}).split("=")[1]) == value
    assert json.loads(grid_json([value], 9, None, None))["values"] == [value]


def test_notes_of_fits_are_logged(frame, caplog):
    holes = frame.copy()
    holes.iloc[:3, holes.columns.get_loc("t")] = np.nan
    with caplog.at_level(logging.INFO, logger="cfqp"):
        model = cfqp.CFQP(classes=1, members=2).fit(holes, **ROLES)
    assert "3 units dropped: " in caplog.text
    for note in model.report_["notes"]:
        assert note in caplog.text


def test_checks_and_scores(frame):
    checked = cfqp.check(frame, **ROLES)
    assert checked.ok and checked.units == 200 and not checked.problems
    few = cfqp.check(frame[:10], **ROLES)
    assert not few.ok and "too few" in few.problems[0]
    assert cfqp.check(frame[:50], **ROLES).warnings
    scores = cfqp.CFQP(max_classes=2, base="linear").select(frame, **ROLES)
    assert [row["classes"] for row in scores] == [1, 2] and scores.chosen["chosen"]


def test_arrays_are_checked(data):
    checked = cfqp.check(data.arrays)
    assert checked.ok and checked.units == 200 and "200 units kept" in repr(checked)
    assert not cfqp.check(x=np.zeros((30, 2)), t=np.zeros(30), y=np.arange(30.0)).ok


def test_a_table_to_which_no_model_can_be_fitted_is_refused(frame):
    with pytest.raises(cfqp.DataError) as caught:
        cfqp.CFQP(**SMALL).fit(frame.assign(t=0.5), **ROLES)
    assert cfqp.check(frame.assign(t=0.5), **ROLES).problems[0] in caught.value.message


def test_validation_data(frame):
    model = cfqp.CFQP(**SMALL).fit(frame[:150], validation=frame[150:], **ROLES)
    assert sum(model.report_["units"].values()) == 200


def test_outcomes_of_other_kinds():
    recovery = cfqp.simulate("yes-no", n=150, seed=1).to_pandas()
    model = cfqp.CFQP(classes=1, members=2).fit(recovery, x="x*", t="t", y="y", y_kind="yes-no")
    answers = model.counterfactual(recovery, t=0.9)
    assert answers["y"].between(0, 1).all() and model.outcomes_[0]["kind"].replace("_", "-") == "yes-no"
    count = cfqp.simulate("count", n=150, seed=1).to_pandas()
    model = cfqp.CFQP(classes=1, members=2).fit(count, x="x*", t="t", y="y", y_kind="count")
    answers = model.counterfactual(count, t=0.9, distribution=True)
    assert {"y=0", "y=1", "y>=20"} <= set(answers.columns)


def test_repeated_measurements_of_subjects():
    repeats = cfqp.simulate("crossing", n=60, seed=1, repeats=3)
    frame = repeats.to_pandas()
    assert len(frame) == 180 and frame["subject"].nunique() == 60
    model = cfqp.CFQP(**SMALL).fit(frame, x="x*", t="t", y="y", group="subject")
    answers = model.counterfactual(frame, t=0.5)
    assert set(answers["rho_source"]) == {"learned"} and len(answers) == 180
    with pytest.raises(cfqp.ConfigError, match="world"):
        cfqp.simulate("nowhere", 10)


def test_categories_and_several_treatments():
    levels = cfqp.simulate("category", n=150, seed=1)
    arrays = cfqp.CFQP(classes=1, members=2).fit(levels.arrays).counterfactual(levels.arrays, t=0.5)
    assert arrays.point.shape == (150, 3) and np.allclose(arrays.point.sum(axis=1), 1, atol=1e-4)
    frame = levels.to_pandas()
    frame["level"] = frame[["y0", "y1", "y2"]].idxmax(axis=1)
    model = cfqp.CFQP(classes=1, members=2).fit(frame, x="x*", t="t", y="level")
    answers = model.counterfactual(frame, t=0.5)
    assert {"level", "set_level", "level=y0", "lower_level=y0"} <= set(answers.columns)
    assert model.effect_interval(frame, 0.2, 0.8)[0].shape == (150, 3)
    arms = cfqp.simulate("arms", n=150, seed=1)
    model = cfqp.CFQP(**SMALL).fit(arms.arrays)
    asked = model.counterfactual(arms.arrays, t=np.tile([0.0, 1.0], (150, 1))).point
    assert np.array_equal(asked, model.counterfactual(arms.arrays, t=[0, 1]).point)
    assert model.curve(arms.arrays, [[0, 0], [1, 0], [0, 1]], units=[2]).point.shape == (1, 3)
    table = arms.to_pandas()
    fitted = cfqp.CFQP(**SMALL).fit(table, x="x*", t=["t1", "t2"], y="y")
    own = fitted.counterfactual(table, t=table[["t1", "t2"]], rho=1)
    assert np.allclose(own["y"], table["y"], atol=1e-4)


def test_a_folder_that_does_not_fit_in_memory_is_fitted_in_parts(tmp_path):
    import pyarrow.parquet as pq

    table = cfqp.simulate("single", n=120_000, seed=1).to_arrow()
    for part in range(3):
        pq.write_table(table.slice(part * 40_000, 40_000), tmp_path / f"part-{part}.parquet")
    model = cfqp.CFQP(classes=1, members=2, y_scale="linear")
    with pytest.raises(cfqp.CfqpError, match="memory"):
        model.fit(tmp_path, x="x0", t="t", y="y", memory=1 << 20)
    model.fit(tmp_path, x="x0", t="t", y="y", memory=215_000_000)
    assert any("of 120000 units; members trained on streamed halves" in note for note in model.report_["notes"])
    assert len(model.counterfactual(table.slice(0, 100), t=0.5)) == 100
