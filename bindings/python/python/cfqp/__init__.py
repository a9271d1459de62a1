"""Counterfactual queries: what would this unit's outcome have been under another treatment.

`CFQP` answers from observational data in which hidden classes of units respond differently to a treatment.

>>> import cfqp
>>> data = cfqp.simulate("single", n=120, seed=1).to_pandas()
>>> model = cfqp.CFQP(classes=1, members=2, random_state=0).fit(data, x="x*", t="t", y="y")
>>> answers = model.counterfactual(data, t=0.8, level=0.9)
>>> len(answers)
120
"""

from ._arrays import ArrayAnswers, Arrays
from ._cfqp import __version__
from ._check import check
from ._compare import Comparison, compare
from ._errors import (
    AnswerWarning,
    CfqpError,
    ConfigError,
    DataError,
    FileError,
    FitError,
    ModelFileError,
    NotFittedError,
)
from ._estimator import CFQP, load
from ._results import Check, ClassScores, Diagnosis, Report, Verdict
from ._simulate import Simulated, Truth, simulate

__all__ = [
    "CFQP",
    "AnswerWarning",
    "ArrayAnswers",
    "Arrays",
    "CfqpError",
    "Check",
    "ClassScores",
    "Comparison",
    "ConfigError",
    "DataError",
    "Diagnosis",
    "FileError",
    "FitError",
    "ModelFileError",
    "NotFittedError",
    "Report",
    "Simulated",
    "Truth",
    "Verdict",
    "__version__",
    "check",
    "compare",
    "load",
    "simulate",
]
