"""From simulated data to counterfactuals, effects and a report, with types that mypy and pyright check."""

from __future__ import annotations

import sys

import cfqp
import pandas as pd


def main(folder: str) -> None:
    """Fits a model, asks it, and writes a report and the model to `folder`."""
    data = cfqp.simulate("crossing", n=300, seed=1)
    frame: pd.DataFrame = data.to_pandas()

    model = cfqp.CFQP(classes=3, members=2, random_state=0).fit(frame, x="x*", t="t", y="y")
    for verdict in model.diagnose(frame):
        print(f"{verdict.grade:10} {verdict.assumption}: {verdict.finding}")

    answers = model.counterfactual(frame, t=0.8, level=0.9)
    trusted = answers[answers["flag"] == "ok"]
    print(f"{len(trusted)} of {len(answers)} answers without flags")

    arrays = model_of_arrays(data.arrays).effect(data.arrays, 0.2, 0.8)
    print(f"mean effect {arrays.point.mean():.3f}, of {arrays.posterior.shape[1]} classes")

    model.report(frame, f"{folder}/report.html")
    model.save(f"{folder}/model.cfqp")


def model_of_arrays(units: cfqp.Arrays) -> cfqp.CFQP:
    """The same without a data frame."""
    return cfqp.CFQP(classes=3, members=2).fit(units)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
