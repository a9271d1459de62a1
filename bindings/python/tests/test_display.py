"""What users see: HTML, texts, reports and plots."""

import html.parser
import json

import cfqp
import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import ROLES

pytestmark = pytest.mark.filterwarnings("ignore::cfqp.AnswerWarning")


class Balanced(html.parser.HTMLParser):
    """Fails on tags that do not match."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("br", "meta", "link", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_html(text):
    parser = Balanced()
    parser.feed(text)
    assert not parser.open


def test_html_of_results(model, array_model, data, frame):
    scores = cfqp.ClassScores(({"base": "mlp", "classes": 1, "nll": 1.5, "chosen": True},))
    shown = [model, cfqp.CFQP(), model.diagnose(frame), cfqp.check(frame, **ROLES), scores]
    shown += [array_model.counterfactual(data.arrays, t=0.5), model.report(frame)]
    for value in shown:
        check_html(value._repr_html_())
        assert repr(value) and "object at 0x" not in repr(value)
    assert "<td" in model._repr_html_() and "classes" in model._repr_html_()


def test_names_are_escaped(frame):
    renamed = frame.rename(columns={"y": "<b>y"})
    model = cfqp.CFQP(classes=1, members=2, base="linear").fit(renamed, x="x*", t="t", y="<b>y")
    assert "<b>y" not in model._repr_html_() and "&lt;b&gt;y" in model._repr_html_()
    check_html(model._repr_html_())


def test_diagnoses(model, frame):
    diagnosis = model.diagnose(frame)
    assert diagnosis["overlap"].finding and diagnosis.units == 200
    assert len(diagnosis) == 8 and diagnosis.ok == (diagnosis.grade != "failed")
    assert {verdict.grade for verdict in diagnosis} <= {"ok", "doubtful", "failed", "not_tested"}
    with pytest.raises(KeyError):
        diagnosis["magic"]


def test_reports(model, frame, tmp_path):
    report = model.report(frame, tmp_path / "report.html", units=[17], t0=0.2, t1=0.8)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page == report.html and page.lstrip().lower().startswith("<!doctype html")
    assert json.loads(json.dumps(report.data))["units"][0]["id"] == "17"
    assert np.allclose(report.data["question"]["from"], [0.2])


def test_reports_have_the_code_of_the_fit(model, frame):
    assert "cfqp.CFQP(classes=2, base=&#39;linear&#39;" in model.report(frame).html.replace("'", "&#39;")
    loaded = cfqp.CFQP.from_bytes(model.to_bytes())
    assert repr(loaded) == "CFQP(classes=2, base='linear', members=2)"
    page = loaded.report(frame, t0=0.2, t1=0.8).html.replace("'", "&#39;")
    assert "model.report(data, t0=0.2, t1=0.8)" in page
    assert "t=[&#39;t&#39;], y=[&#39;y&#39;])" in page


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def check_axes(ax):
    assert ax.get_xlabel() and ax.get_ylabel() and ax.get_title()
    assert ax.lines or ax.containers or ax.collections


@pytest.mark.parametrize("plot", ["unit", "curves", "effects", "classes"])
def test_plots_of_tables(model, plot, tmp_path):
    calls = {
        "unit": lambda: model.plot_unit(17),
        "curves": lambda: model.plot_curves(),
        "effects": lambda: model.plot_effects(t0=0.2, t1=0.8),
        "classes": lambda: model.plot_classes(),
    }
    ax = calls[plot]()
    check_axes(ax)
    ax.figure.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5000


def test_the_observed_outcome_is_in_the_plot(model, frame):
    ax = model.plot_unit(17)
    observed = next(line for line in ax.lines if line.get_label() == "observed")
    assert np.allclose(observed.get_xydata(), [[frame["t"].iloc[17], frame["y"].iloc[17]]], atol=1e-4)


def test_plots_of_levels_series_and_images(trial, trial_model, series, series_model):
    check_axes(trial_model.plot_unit(3, over="dose"))
    check_axes(trial_model.plot_unit(3, over="drug"))
    check_axes(trial_model.plot_effects(t0=("A", 0.5), t1=("C", 0.5)))
    check_axes(trial_model.plot_classes())
    check_axes(series_model.plot_unit(5, outcome="y1"))
    check_axes(series_model.plot_curves(units=[3, 4]))
    check_axes(series_model.plot_effects(t0=0.2, t1=0.8))
    digits = cfqp.simulate("digits", n=40, seed=1)
    model = cfqp.CFQP(classes=1, members=2, base="linear").fit(digits.arrays)
    assert len(model.plot_unit(3).figure.axes) > 2


def test_plots_use_the_axes_and_the_data_that_are_given(model, frame, tmp_path):
    model.save(tmp_path / "m.cfqp")
    loaded = cfqp.load(tmp_path / "m.cfqp")
    _, ax = plt.subplots()
    assert loaded.plot_unit(17, frame, ax=ax) is ax
    with pytest.raises(TypeError, match="give `data`"):
        loaded.plot_unit(17)
    with pytest.raises(ValueError, match="there is no outcome `z`"):
        model.plot_unit(17, outcome="z")
