"""Arrays of NumPy: shapes, types, missing values."""

import cfqp
import numpy as np
import pytest
from conftest import SMALL
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.filterwarnings("ignore::cfqp.AnswerWarning")


def test_answers_are_shaped_like_y(data, array_model, series, series_model):
    answers = array_model.counterfactual(data.arrays, t=0.5)
    assert answers.point.shape == answers.lower.shape == answers.flag.shape == (200,)
    assert answers.posterior.shape == (200, 2) and np.allclose(answers.posterior.sum(axis=1), 1, atol=1e-5)
    assert (answers.lower <= answers.upper).all() and answers.rho is None and answers.rho_source == "unknown"
    assert np.array_equal(answers.label, answers.posterior.argmax(axis=1))
    column = cfqp.Arrays(data.arrays.x, data.arrays.t, np.asarray(data.arrays.y)[:, None])
    assert array_model.counterfactual(column, t=0.5).point.shape == (200, 1)
    paths = series_model.counterfactual(series.arrays, t=0.5)
    assert paths.point.shape == np.shape(series.arrays.y)
    curve = series_model.curve(series.arrays, [0.2, 0.4, 0.6], units=[1, 5])
    assert curve.point.shape == (2, 3, *np.shape(series.arrays.y)[1:]) and curve.flag.shape == (2, 3)
    assert curve.row.tolist() == [1, 5]


def test_at_its_own_treatment_with_the_same_noise_a_unit_has_its_own_outcome(data, array_model, series, series_model):
    answers = array_model.counterfactual(data.arrays, t=np.asarray(data.arrays.t), rho=1)
    assert np.allclose(answers.point, data.arrays.y, atol=1e-4)
    paths = series_model.counterfactual(series.arrays, t=np.asarray(series.arrays.t), rho=1)
    assert np.allclose(paths.point, series.arrays.y, atol=1e-3)


def test_tuples_keywords_and_objects_are_the_same(data):
    x, t, y = data.arrays.x, data.arrays.t, data.arrays.y
    models = [
        cfqp.CFQP(**SMALL).fit(cfqp.Arrays(x, t, y)),
        cfqp.CFQP(**SMALL).fit((x, t, y)),
        cfqp.CFQP(**SMALL).fit(x=x, t=t, y=y),
    ]
    answers = [model.counterfactual((x, t, y), t=0.5).point.tobytes() for model in models]
    assert len(set(answers)) == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32, ">f8", np.float16])
def test_types_and_memory_orders(data, array_model, dtype):
    x = np.asarray(data.arrays.x).astype(np.float16).astype(dtype)
    expected = array_model.counterfactual((x.astype(np.float32), data.arrays.t, data.arrays.y), t=0.5).point
    for same in (x, np.asfortranarray(x), np.repeat(x, 2, axis=0)[::2], x.tolist()):
        assert np.array_equal(array_model.counterfactual((same, data.arrays.t, data.arrays.y), t=0.5).point, expected)


def test_missing_values_are_nan_or_masked(data):
    x = np.array(data.arrays.x, dtype=np.float64)
    hole = np.zeros(x.shape, bool)
    hole[::7, 2] = True
    with_nan = np.where(hole, np.nan, x)
    masked = np.ma.masked_array(np.where(hole, 1e30, x), hole)
    fits = [cfqp.CFQP(**SMALL).fit(x=given, t=data.arrays.t, y=data.arrays.y) for given in (with_nan, masked)]
    answers = [fit.counterfactual((given, data.arrays.t, data.arrays.y), t=0.5).point
               for fit, given in zip(fits, (with_nan, masked), strict=True)]
    assert np.array_equal(*answers) and np.isfinite(answers[0]).all()


def test_units_without_an_outcome_or_a_treatment(data, array_model):
    new = array_model.counterfactual(cfqp.Arrays(data.arrays.x), t=0.5)
    assert all("no_outcome" in flag for flag in new.flag) and new.point.shape == (200,)
    y = np.array(data.arrays.y)
    y[3] = np.nan
    some = array_model.counterfactual((data.arrays.x, data.arrays.t, y), t=0.5)
    assert "no_outcome" in some.flag[3] and "no_outcome" not in some.flag[4]


def test_groups_are_subjects(data):
    group = np.repeat([f"s{k}" for k in range(100)], 2)
    fitted = cfqp.CFQP(**SMALL).fit(cfqp.Arrays(data.arrays.x, data.arrays.t, data.arrays.y, group))
    units = cfqp.Arrays(data.arrays.x, data.arrays.t, data.arrays.y, group)
    assert len(fitted.counterfactual(units, t=0.5)) == 200
    with pytest.raises(cfqp.DataError, match="one subject per unit|group"):
        cfqp.CFQP(**SMALL).fit(cfqp.Arrays(data.arrays.x, data.arrays.t, data.arrays.y, group[:3]))


def test_images():
    digits = cfqp.simulate("digits", n=40, seed=1)
    model = cfqp.CFQP(classes=1, members=2, base="linear").fit(digits.arrays)
    answers = model.counterfactual(digits.arrays, t=float(np.mean(digits.arrays.t)))
    assert answers.point.shape == np.shape(digits.arrays.y)


def test_arrays_that_do_not_match(data, array_model):
    with pytest.raises(cfqp.DataError, match="t: 3 units, x has 200"):
        cfqp.CFQP().fit(x=data.arrays.x, t=[1, 2, 3], y=data.arrays.y)
    with pytest.raises(cfqp.DataError, match="x: "):
        cfqp.CFQP().fit(x=[["a", "b"]] * 30, t=np.arange(30), y=np.arange(30))
    with pytest.raises(TypeError, match="give `data`"):
        cfqp.CFQP().fit(t=[1, 2, 3])
    with pytest.raises(cfqp.CfqpError):
        array_model.counterfactual((np.zeros((10, 3)), np.zeros(10), np.zeros(10)), t=0.5)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=True, allow_infinity=True), min_size=6, max_size=6), st.floats(width=32))
def test_any_values_give_answers_or_errors(array_model, values, t):
    x = np.asarray([values], np.float32)
    try:
        answers = array_model.counterfactual((x, [0.5], [0.1]), t=t)
    except cfqp.CfqpError as error:
        assert error.message and error.hint
    else:
        assert len(answers) <= 1 and not np.isnan(answers.point).any()
