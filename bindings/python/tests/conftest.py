"""Small data sets and models that tests share."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import cfqp
import matplotlib
import pandas as pd
import pytest

matplotlib.use("Agg")

REPOSITORY = Path(__file__).resolve().parents[3]
SMALL = {"classes": 2, "members": 2, "base": "linear"}
"""Settings of quick fits."""
ROLES = {"x": "x*", "t": "t", "y": "y"}
"""The columns of simulated tables."""


@pytest.fixture(scope="session")
def data() -> cfqp.Simulated:
    """A table with two covariates that matter, hidden classes and one outcome."""
    return cfqp.simulate("crossing", n=200, seed=1)


@pytest.fixture(scope="session")
def frame(data: cfqp.Simulated) -> pd.DataFrame:
    """The same as a frame whose index is not the row number."""
    frame = data.to_pandas()
    frame.index = pd.Index([f"p{number}" for number in range(len(frame))], name="patient")
    return frame


@pytest.fixture(scope="session")
def model(frame: pd.DataFrame) -> cfqp.CFQP:
    """A model fitted to `frame`."""
    return cfqp.CFQP(**SMALL).fit(frame, **ROLES)


@pytest.fixture(scope="session")
def array_model(data: cfqp.Simulated) -> cfqp.CFQP:
    """A model fitted to the arrays of `data`."""
    return cfqp.CFQP(**SMALL).fit(data.arrays)


@pytest.fixture(scope="session")
def series() -> cfqp.Simulated:
    """Series of two channels."""
    return cfqp.simulate("oscillator", n=120, seed=1)


@pytest.fixture(scope="session")
def series_model(series: cfqp.Simulated) -> cfqp.CFQP:
    """A model of series."""
    return cfqp.CFQP(**SMALL).fit(series.arrays)


@pytest.fixture(scope="session")
def trial() -> pd.DataFrame:
    """A table with a treatment that has levels, one that is a number, and texts among the covariates."""
    raw = cfqp.simulate("crossing", n=150, seed=3).to_pandas()
    raw["drug"] = pd.cut(raw["x4"], [-99, -0.4, 0.4, 99], labels=["A", "B", "C"]).astype(str)
    raw["sex"] = ["f" if value > 0 else "m" for value in raw["x5"]]
    return raw.rename(columns={"t": "dose"})[["x0", "x1", "sex", "drug", "dose", "y"]]


@pytest.fixture(scope="session")
def trial_model(trial: pd.DataFrame) -> cfqp.CFQP:
    """A model of `trial`."""
    return cfqp.CFQP(**(SMALL | {"classes": 1})).fit(trial, x=["x0", "x1", "sex"], t=["drug", "dose"], y="y")


@pytest.fixture(scope="session")
def command() -> Callable[..., str]:
    """Runs the program `cfqp` and returns what it printed."""
    path = os.environ.get("CFQP_BIN", str(REPOSITORY / "target" / "release" / "cfqp"))
    if shutil.which(path) is None:
        pytest.skip(f"there is no program {path}: build it, or set CFQP_BIN")

    def run(*arguments: object) -> str:
        done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    return run
