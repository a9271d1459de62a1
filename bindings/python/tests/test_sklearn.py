"""The estimator follows the conventions of scikit-learn."""

import warnings

import cfqp
import numpy as np
import polars as pl
import pytest
import sklearn
from cfqp.sklearn import CounterfactualRegressor
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

QUICK = {"classes": 1, "members": 2, "base": "linear"}

FEW = "it fits fewer units than the 20 that a fit needs"
EXPECTED_FAILURES = {
    "check_n_features_in_after_fitting": FEW,
    "check_regressor_multioutput": FEW,
    "check_regressors_no_decision_function": FEW,
    "check_estimators_pickle": "it removes values of the treatment, which a unit with an outcome needs",
}
"""Checks of scikit-learn that the estimator does not pass, with the reason."""


@pytest.fixture(scope="module")
def xy():
    frame = cfqp.simulate("single", n=150, seed=1).to_pandas()
    return frame.drop(columns="y"), frame["y"]


@parametrize_with_checks([CounterfactualRegressor(**QUICK)], expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_checks_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_clones_are_not_fitted(model):
    for estimator in (cfqp.CFQP(classes=3), model, CounterfactualRegressor("t", classes=3)):
        twin = clone(estimator)
        assert twin.get_params() == estimator.get_params() and not hasattr(twin, "n_classes_")


def test_pipelines_grids_and_scores(xy):
    X, y = xy
    scores = cross_val_score(CounterfactualRegressor("t", **QUICK), X, y, cv=3)
    assert scores.mean() > 0.5
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), CounterfactualRegressor("t", **QUICK))
    assert pipeline.fit(X, y).score(X, y) > 0.5
    search = GridSearchCV(CounterfactualRegressor("t", **QUICK), {"classes": [1, 2], "y_scale": ["linear"]}, cv=2)
    assert search.fit(X, y).best_params_["classes"] in (1, 2)
    assert cross_val_predict(CounterfactualRegressor("t", **QUICK), X, y, cv=2).shape == y.shape


def test_frames_arrays_and_metadata_give_the_same_predictions(xy):
    X, y = xy
    by_name = CounterfactualRegressor("t", **QUICK).fit(X, y)
    assert by_name.feature_names_in_.tolist() == X.columns.tolist() and by_name.n_features_in_ == 7
    expected = by_name.predict(X)
    by_position = CounterfactualRegressor(-1, **QUICK).fit(X.to_numpy(), y.to_numpy())
    assert np.allclose(by_position.predict(X.to_numpy()), expected, atol=1e-5)
    covariates = X.drop(columns="t")
    by_metadata = CounterfactualRegressor(**QUICK).fit(covariates, y, treatment=X["t"])
    assert np.allclose(by_metadata.predict(covariates, treatment=X["t"]), expected, atol=1e-5)
    frame = pl.from_pandas(X)
    assert np.allclose(CounterfactualRegressor("t", **QUICK).fit(frame, pl.Series(y)).predict(frame), expected, atol=1e-5)
    with pytest.raises(cfqp.ConfigError, match="treatment"):
        by_metadata.predict(covariates)
    with pytest.raises(cfqp.ConfigError, match="there is no column `dose`"):
        CounterfactualRegressor("dose", **QUICK).fit(X, y)


def test_treatments_are_routed_as_metadata(xy):
    X, y = xy
    covariates = X.drop(columns="t")
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = CounterfactualRegressor(**QUICK)
        estimator.set_fit_request(treatment=True).set_predict_request(treatment=True).set_score_request(treatment=True)
        scores = cross_val_score(estimator, covariates, y, cv=3, params={"treatment": X["t"].to_numpy()})
    assert scores.mean() > 0.5


def test_effects_in_the_words_of_econml(xy):
    X, y = xy
    estimator = CounterfactualRegressor("t", **QUICK).fit(X, y)
    effect = estimator.effect(X, T0=0.2, T1=0.8)
    lower, upper = estimator.effect_interval(X, T0=0.2, T1=0.8, alpha=0.1)
    assert effect.shape == lower.shape == (150,) and (lower <= effect).all() and (effect <= upper).all()
    own = estimator.effect(X, 0.2, 0.8, y=y)
    frame = X.assign(y=y)
    expected = estimator.model_.effect(frame, 0.2, 0.8)["effect_y"]
    assert np.allclose(own, expected)
    assert np.allclose(estimator.effect(X, np.full(150, 0.2), np.full(150, 0.8), y=y), expected)
    lower, upper = estimator.model_.effect_interval(frame, 0.2, 0.8, alpha=0.1)
    assert np.allclose(lower, estimator.model_.effect(frame, 0.2, 0.8, level=0.9)["lower_y"])
    assert not hasattr(estimator, "const_marginal_effect")


def test_texts_are_categories(trial):
    X, y = trial.drop(columns="y"), trial["y"]
    estimator = CounterfactualRegressor("drug", **QUICK).fit(X, y)
    assert estimator.predict(X).shape == (150,)
    assert estimator.effect(X, "A", "C").shape == (150,)
    with pytest.raises(cfqp.DataError, match="1 of 150 units cannot be answered"):
        estimator.predict(X.assign(sex=["x", *X["sex"][1:]]))


def test_the_package_does_not_import_scikit_learn():
    import subprocess
    import sys

    script = "import cfqp, sys; assert 'sklearn' not in sys.modules and 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
