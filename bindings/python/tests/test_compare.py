"""Comparisons of methods."""

import json

import cfqp
import numpy as np
import pandas as pd
import pytest
from conftest import ROLES, SMALL

METHODS = ["cfqp", "cfqp-kmeans", "residual"]


def scores(run):
    """The scores that do not depend on the machine."""
    return {name: value for name, value in run["scores"].items() if "seconds" not in name and name != "peak_rss_mb"}


def test_a_comparison_is_that_of_the_command(tmp_path, command):
    train, test = tmp_path / "train.npz", tmp_path / "test.npz"
    for path, n, seed in ((train, 150, 1), (test, 60, 2)):
        command("simulate", "oscillator", "--n", n, "--seed", seed, "--out", path)
    flags = ["--methods", ",".join(METHODS), "--seeds", 2, "--classes", 2, "--epochs", 3]
    printed = json.loads(command("compare", train, "--eval", test, *flags, "--json"))
    settings = cfqp.CFQP(classes=2, epochs=3)
    found = cfqp.compare(train, test, methods=METHODS, seeds=2, estimator=settings)
    simulated = [cfqp.simulate("oscillator", n=n, seed=seed) for n, seed in ((150, 1), (60, 2))]
    same = cfqp.compare(*simulated, methods=METHODS, seeds=range(1, 3), estimator=settings)
    for ours, again, theirs in zip(found, same, printed["runs"], strict=True):
        assert (ours["method"], ours["seed"]) == (theirs["method"], theirs["seed"])
        assert scores(ours) == scores(again) == scores(theirs)
    mean = np.mean([run["scores"]["cf_mse"] for run in found if run["method"] == "cfqp"])
    assert found.summary["cfqp"]["cf_mse"][0] == pytest.approx(mean)
    assert found.table.column_names[:4] == ["method", "seed", "error", "cf_mse"]
    assert len(found.table) == 6 and "± " in repr(found) and "<table" in found._repr_html_()


def test_a_table_is_compared_on_pairs(frame, data, tmp_path):
    units = frame.reset_index()
    pairs = pd.DataFrame({"patient": units["patient"][:50], "t_new": data.truth.t_new[:50], "y_new": data.truth.y_new[:50]})
    found = cfqp.compare(units, pairs=pairs, id="patient", estimator=cfqp.CFQP(**SMALL), folder=tmp_path / "runs", **ROLES)
    assert list(found.summary) == ["regression", "residual", "shrunk-residual", "conformal", "cfqp"]
    assert found.summary["cfqp"]["rmse"][0] > 0 and found.summary["conformal"]["width"][0] > 0
    assert len(list((tmp_path / "runs").iterdir())) == 5, "finished runs are kept"
    with pytest.raises(cfqp.DataError, match="no unit with the id nobody"):
        cfqp.compare(units, pairs=pairs.assign(patient="nobody"), id="patient", **ROLES)


def test_the_truth_of_arrays_may_come_apart(data):
    truth = cfqp.Truth(data.truth.t_new, data.truth.y_new)
    found = cfqp.compare(data.arrays, data.arrays, truth, methods=["regression"], seeds=[7])
    assert [run["seed"] for run in found] == [7]
    assert found.failures == []


def test_the_paper_s_methods_are_the_default(data):
    setting = cfqp._compare.Setting.plan(data, data, None, None, None, None, None, None, 0.1, {})
    assert setting.methods[-1] == "oracle" and len(setting.methods) == 8 and setting.seeds == (1, 2, 3, 4, 5)
    setting = cfqp._compare.Setting.plan(data.arrays, data, None, None, None, 2, None, None, 0.1, {})
    assert "oracle" not in setting.methods and setting.seeds == (1, 2)


def test_what_cannot_be_compared_is_refused(frame, data):
    with pytest.raises(cfqp.ConfigError, match="nothing to compare with"):
        cfqp.compare(data)
    with pytest.raises(cfqp.ConfigError, match="does not choose the number of classes"):
        cfqp.compare(data, data, methods=["cfqp-gmm"])
    with pytest.raises(cfqp.ConfigError, match="unknown variant `bart`"):
        cfqp.compare(data, data, methods=["bart"])
    with pytest.raises(cfqp.ConfigError, match="outcomes under another treatment"):
        cfqp.compare(data.arrays, data.arrays)
    with pytest.raises(cfqp.ConfigError, match="second treatment"):
        cfqp.compare(frame, data, **ROLES)
    with pytest.raises(TypeError, match="unexpected keyword argument `metods`"):
        cfqp.compare(data, data, metods=["sc"])
