"""Errors have a class per kind, a message and a hint; flagged answers warn once."""

import copy
import pickle
import warnings

import cfqp
import numpy as np
import pytest
from conftest import ROLES, SMALL

KINDS = {
    cfqp.DataError: ValueError,
    cfqp.ConfigError: ValueError,
    cfqp.ModelFileError: ValueError,
    cfqp.FitError: RuntimeError,
    cfqp.NotFittedError: AttributeError,
    cfqp.FileError: OSError,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_one_of_pythons_own(kind):
    assert issubclass(kind, cfqp.CfqpError) and issubclass(kind, KINDS[kind])
    error = kind(2, "no such file", "a.csv", "check the path") if kind is cfqp.FileError else kind("bad", "fix it")
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is kind and str(twin) == str(error)
        assert (twin.message, twin.hint) == (error.message, error.hint)
    assert str(error).endswith("\nhint: " + error.hint)


def test_settings_are_named_as_parameters(frame):
    for params in ({"classes": 0}, {"members": 0}, {"learning_rate": 2.0}, {"batch": 0}, {"mlp": {"hidden": []}}):
        with pytest.raises(cfqp.ConfigError) as caught:
            cfqp.CFQP(**params).fit(frame, **ROLES)
        name = "hidden" if "mlp" in params else next(iter(params))
        assert caught.value.message.startswith(name) and caught.value.hint
    for params in ({"base": "forest"}, {"mlp": {"width": 3}}, {"classes": "many"}, {"mlp": {"hidden": object()}}):
        with pytest.raises(cfqp.ConfigError):
            cfqp.CFQP(**params).fit(frame, **ROLES)
    for seed in (-1, "x", 2**64):
        with pytest.raises(cfqp.ConfigError, match="random_state"):
            cfqp.CFQP(random_state=seed).fit(frame, **ROLES)


def test_columns_are_named(frame):
    with pytest.raises(cfqp.CfqpError, match="dose") as caught:
        cfqp.CFQP(**SMALL).fit(frame, x="x*", t="dose", y="y")
    assert caught.value.hint
    with pytest.raises(cfqp.ConfigError, match="t: no column is given"):
        cfqp.CFQP(**SMALL).fit(frame, x="x*", y="y")
    with pytest.raises(TypeError, match="`treatmnt`|did you mean"):
        cfqp.CFQP().fit(frame, treated="t")
    with pytest.raises(TypeError, match="did you mean `y_kind`"):
        cfqp.check(frame, y_kin="number")


def test_files(model, tmp_path):
    with pytest.raises(cfqp.FileError) as caught:
        cfqp.load(tmp_path / "none.cfqp")
    assert isinstance(caught.value, OSError) and caught.value.errno == 2 and caught.value.hint
    assert str(tmp_path / "none.cfqp") in str(caught.value)
    with pytest.raises(cfqp.FileError):
        model.counterfactual(tmp_path / "none.csv", t=0.5)
    (tmp_path / "text.cfqp").write_text("no model")
    with pytest.raises(cfqp.ModelFileError):
        cfqp.load(tmp_path / "text.cfqp")
    with pytest.raises(cfqp.FileError):
        model.save(tmp_path / "no" / "folder.cfqp")
    damaged = bytearray(model.to_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "damaged.cfqp").write_bytes(damaged)
    with pytest.raises(cfqp.ModelFileError):
        cfqp.load(tmp_path / "damaged.cfqp")


def test_a_pickle_is_never_read(tmp_path):
    class Evil:
        def __reduce__(self):
            return (tmp_path.joinpath("executed").touch, ())

    (tmp_path / "evil.cfqp").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(cfqp.ModelFileError):
        cfqp.load(tmp_path / "evil.cfqp")
    assert not (tmp_path / "executed").exists()


def test_questions(model, frame):
    with pytest.raises(cfqp.ConfigError, match="level"):
        model.counterfactual(frame, t=0.5, level=90)
    with pytest.raises(cfqp.ConfigError, match="rho"):
        model.counterfactual(frame, t=0.5, rho=2)
    with pytest.raises(cfqp.ConfigError, match="rho: 'much' is not a number"):
        model.counterfactual(frame, t=0.5, rho="much")
    with pytest.raises(TypeError, match="either"):
        model.counterfactual(frame)
    with pytest.raises(TypeError, match="either"):
        model.counterfactual(frame, t=0.5, t_from="t")
    for wrong in ("much", [0.5, 0.5], {"other": 0.5}, float("nan")):
        with pytest.raises(cfqp.CfqpError):
            model.counterfactual(frame, t=wrong)
    with pytest.raises(cfqp.ConfigError, match="t0: one treatment per row"):
        model.average_effect(frame, np.zeros(200), 0.5)
    with pytest.raises(cfqp.DataError, match="7 treatments for 200 rows"):
        model.effect(frame, np.zeros(7), 0.5)
    with pytest.raises(cfqp.ConfigError, match="t1: .* is not a treatment"):
        model.effect(frame, np.zeros(200), [0.5, 0.6])
    with pytest.raises(cfqp.ConfigError, match="t0: 3 columns for 1 treatments"):
        model.effect(frame, np.zeros((200, 3)), np.zeros(200))
    with pytest.raises(cfqp.ConfigError, match="grid"):
        model.curve(frame, 0.5)
    with pytest.raises(cfqp.CfqpError, match="99999"):
        model.counterfactual(frame, t=0.5, units=[99999])


def test_an_estimator_that_is_not_fitted(frame, tmp_path):
    model = cfqp.CFQP()
    for call in (lambda: model.counterfactual(frame, t=1), lambda: model.save(tmp_path / "m.cfqp"), lambda: model.plot_unit(1)):
        with pytest.raises(cfqp.NotFittedError):
            call()


def test_flagged_answers_warn_once_with_counts(model, frame):
    with pytest.warns(cfqp.AnswerWarning, match=r"200 of 200 answers are flagged: .*off_support 200") as caught:
        model.counterfactual(frame, t=50.0)
    assert len(caught) == 1 and caught[0].filename == __file__
    with pytest.warns(cfqp.AnswerWarning) as caught:
        model.effect(frame, 0.0, 50.0)
    assert len(caught) == 1 and caught[0].filename == __file__


def test_answers_without_flags_do_not_warn(data):
    one = cfqp.simulate("single", n=200, seed=1)
    model = cfqp.CFQP(classes=1, members=2).fit(one.arrays)
    answers = model.counterfactual(one.arrays, t=0.5)
    ok = int(np.flatnonzero(answers.flag == "ok")[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.counterfactual(one.arrays, t=0.5, units=[ok])
