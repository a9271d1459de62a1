"""A question from Python beside the same question to the program, from file to file.

    CFQP_BIN=target/release/cfqp python benchmarks/overhead.py --rows 1000000

Both are whole processes: start, reading the model and the units, answers, writing them. They take turns; the shortest time of each counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq

PROGRAM = str(Path(os.environ["CFQP_BIN"]).resolve()) if "CFQP_BIN" in os.environ else "cfqp"
PYTHON = """
import warnings
import cfqp, pyarrow.parquet
warnings.simplefilter("ignore", cfqp.AnswerWarning)
pyarrow.parquet.write_table(cfqp.load("m.cfqp").counterfactual("units.parquet", t=0.8), "python.parquet")
"""


def main() -> None:
    """Prints the times of both, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        simulate = "simulate table --world crossing --no-truth -q"
        run(folder, PROGRAM, *simulate.split(), "--n", str(options.rows), "--out", "units.parquet")
        run(folder, PROGRAM, *simulate.split(), "--n", "2000", "--seed", "3", "--out", "train.parquet")
        fit = "fit train.parquet --id id --x x0..x5 --t t --y y --classes 2 --base linear --out m.cfqp -q"
        run(folder, PROGRAM, *fit.split())
        query = "query m.cfqp units.parquet --treatment 0.8 --out program.parquet --force -q"
        commands = {"program": (PROGRAM, *query.split()), "Python": (sys.executable, "-c", PYTHON)}
        times = {who: [] for who in commands}
        for _ in range(options.repeats):
            for who, command in commands.items():
                times[who].append(run(folder, *command))
        same = pq.read_table(folder / "program.parquet").equals(pq.read_table(folder / "python.parquet"))
        best = {who: min(seconds) for who, seconds in times.items()}
        for who, seconds in times.items():
            print(f"{who:8} {best[who]:6.1f} s   (of {', '.join(f'{second:.1f}' for second in seconds)})")
        print(f"Python / program: {best['Python'] / best['program']:.3f}; answers are {'equal' if same else 'different'}")


def run(folder: Path, *command: str) -> float:
    """The seconds that a command takes."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
