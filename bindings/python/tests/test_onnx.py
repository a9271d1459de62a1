"""Models exported to ONNX give the means, posteriors and answers of `cfqp query`.

The code of docs/ONNX.md is run, not a copy of it. The program is target/release/cfqp, or what CFQP_BIN names.
"""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

ROOT = Path(__file__).resolve().parents[3]
CFQP = Path(os.environ.get("CFQP_BIN", ROOT / "target/release/cfqp"))

if not CFQP.exists():
    pytest.skip(f"{CFQP} is not built: cargo build --release --bin cfqp", allow_module_level=True)

# The largest differences, in standard deviations of the outcome's channel: of means, and of answers. Answers about images with
# rho > 0 divide by small variances.
SERIES_AND_TABLES = {"means": 1e-5, "answers": 1e-5}
IMAGES = {"means": 1e-5, "answers": 5e-5}
# probabilities
POSTERIORS = 1e-4


@dataclass(frozen=True)
class Case:
    simulate: str
    fit: str
    predictor: str = "class_networks"
    missing: bool = False
    # whether the first block of the page is exact too
    short: bool = False
    # the law of the noise, or log, that the fit must have found for the case to test what it says
    law: str | None = None

    @property
    def limits(self):
        return IMAGES if self.simulate.startswith("digits") else SERIES_AND_TABLES


SERIES = "oscillator --n 120 --seed 1"
DENSITY = {"predictor": "density"}
CASES = {
    "linear": Case(SERIES, "--base linear --classes 3 --init kmeans --members 3"),
    "linear, one member": Case(SERIES, "--base linear --classes 2 --init kmeans --members 1", short=True),
    "linear, shared": Case(SERIES, "--base linear --classes 3 --init kmeans --members 2 --sharing conditional"),
    "linear, missing x": Case(SERIES, "--base linear --classes 2 --init kmeans --members 2", missing=True),
    "mlp": Case(SERIES, "--base mlp --classes 2 --init kmeans --members 2 --epochs 20"),
    "mlp, shared": Case(SERIES, "--base mlp --classes 2 --init kmeans --members 2 --epochs 20 --sharing conditional"),
    "mlp, missing x": Case(SERIES, "--base mlp --classes 1 --members 2 --epochs 20", missing=True),
    "unet, series": Case(SERIES, "--base unet --classes 1 --members 2 --epochs 3"),
    "unet, series, shared": Case(
        "oscillator --n 60 --seed 2", "--base unet --classes 2 --init kmeans --members 1 --epochs 3 --sharing conditional",
        short=True,
    ),
    "unet, paper": Case("oscillator --n 60 --seed 3", "--recipe paper --base unet --classes 2 --epochs 2", short=True),
    "unet, images": Case("digits --n 40 --seed 1", "--base unet --classes 1 --members 2 --epochs 2"),
    "transformer": Case("cardio --n 60 --seed 1", "--base transformer --classes 1 --members 2 --epochs 2"),
    "density": Case("table --world crossing --n 200 --seed 1", "--classes 2 --members 3", **DENSITY),
    "density, linear": Case("table --world single --n 100 --seed 1", "--base linear --classes 1 --members 2", **DENSITY),
    "density, mlp": Case("table --world confounded-by-x --n 200 --seed 1", "--base mlp --classes 2 --members 2", **DENSITY),
    "density, weights": Case("table --world prior --n 200 --seed 1", "--classes 2 --members 2", **DENSITY),
    "density, weights by treatment": Case(
        "table --world class-drives-treatment --n 300 --seed 1", "--classes 2 --members 2", **DENSITY
    ),
    "density, treatments": Case("table --world several-treatments --n 200 --seed 1", "--classes 2 --members 2", **DENSITY),
    "density, heavy": Case("table --world heavy --n 400 --seed 1", "--classes 2 --members 2", law="student_t", **DENSITY),
    "density, skewed": Case("table --world skewed --n 400 --seed 1", "--classes 2 --members 2", law="skewed", **DENSITY),
    "density, log": Case(
        "table --world lognormal --n 200 --seed 1", "--classes 2 --members 2 --y-scale log", law="log", **DENSITY
    ),
    "density, missing x": Case("table --world crossing --n 200 --seed 2", "--classes 2 --members 2", missing=True, **DENSITY),
}


def page():
    """The functions of docs/ONNX.md."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/ONNX.md").read_text(), re.DOTALL)
    names = {}
    for block in blocks:
        exec(compile(block, "docs/ONNX.md", "exec"), names)
    return names


def cfqp(folder, line, **more):
    done = subprocess.run([CFQP, *line.split(), "-q"], cwd=folder, capture_output=True, text=True, **more)
    assert done.returncode == 0, f"cfqp {line}\n{done.stderr}"


@dataclass
class Exported:
    case: Case
    folder: Path
    model: dict
    x: object
    t: object
    y: object
    to: object
    # by rho: the arrays that cfqp query wrote
    answers: dict

    @property
    def deviation(self):
        """Of every channel, to be broadcast over outcomes."""
        sites = tuple(range(2, self.y.ndim))
        return np.nanstd(self.y, axis=(0, *sites), keepdims=True)

    @property
    def laws(self):
        return {member["noise"]["law"] for member in self.model["members"]}


def remove_values(path):
    """Marks a tenth of x as missing, and a few outcomes if they have several elements."""
    arrays = dict(np.load(path))
    rng = np.random.default_rng(1)
    arrays["x_mask"] = rng.random(arrays["x"].shape) > 0.1
    if arrays["y"][0].size > 1:
        arrays["y_mask"] = rng.random(arrays["y"].shape) > 0.05
    np.savez(path, **arrays)


@pytest.fixture(scope="module", params=CASES, ids=list(CASES))
def exported(request, tmp_path_factory):
    case, folder = CASES[request.param], tmp_path_factory.mktemp("onnx")
    cfqp(folder, f"simulate {case.simulate} --out data.npz")
    if case.missing:
        remove_values(folder / "data.npz")
    cfqp(folder, f"fit data.npz {case.fit} --seed 1 --out m.cfqp")
    cfqp(folder, "model export m.cfqp --onnx networks")
    data = dict(np.load(folder / "data.npz"))
    n = len(data["x"])
    # under the treatments of other units; not the units of the fit, for which cfqp uses other trees
    data["t_new"] = np.roll(data["t"], 7, axis=0)
    data["y"] = (data["y"] + 1e-3 * data["y"].std()).astype(np.float32)
    np.savez(folder / "data.npz", **data)
    answers = {}
    for rho in ["0", "0.5", "1", "auto"]:
        cfqp(folder, f"query m.cfqp data.npz --treatment-from t_new --rho {rho} --force --out answers.npz")
        answers[rho] = dict(np.load(folder / "answers.npz"))
    values = {}
    for name in ["x", "y"]:
        values[name] = np.where(data.get(f"{name}_mask", True), data[name], np.nan).astype(np.float32)
    t, to = (data[name].reshape(n, -1).astype(np.float32) for name in ["t", "t_new"])
    model = page()["load"](folder / "networks")
    return Exported(case, folder / "networks", model, values["x"], t, values["y"], to, answers)


def gap(what, ours, theirs, exported):
    """The largest difference, in standard deviations; printed, for pytest -rP."""
    shape = (-1, *exported.y.shape[1:])
    largest = (np.abs(ours.reshape(shape) - theirs.reshape(shape)) / exported.deviation).max()
    print(f"{what}: {largest:.1e}")
    return largest


def ask(name, exported, rho, **options):
    y = exported.y.reshape(len(exported.y), -1)
    return page()[name](exported.model, exported.x, exported.t, y, exported.to, rho, **options)


def test_files_are_valid(exported):
    assert exported.model["predictor"] == exported.case.predictor
    assert exported.model["missing_x"] == exported.case.missing
    for member in exported.model["members"]:
        onnx.checker.check_model(str(exported.folder / member["file"]), full_check=True)
        outputs = {output.name: output.shape for output in member["session"].get_outputs()}
        assert outputs["mean"] == ["n", member["classes"], *exported.model["y_shape"]]
    if exported.case.law == "log":
        assert any(exported.model["log_range"])
    elif exported.case.law:
        assert exported.case.law in exported.laws


def test_means_agree(exported):
    """With fresh noise, the answer for a unit whose class is certain is the mean of that class."""
    theirs, case = exported.answers["0"], exported.case
    certain = theirs["posterior"].max(axis=1) > 1 - 1e-7
    if case.predictor == "density" and not (exported.laws == {"gaussian"} and certain.all()):
        pytest.skip("the answers of this density are not means of classes; see test_exact_answers_agree")
    assert certain.any()
    run, members = page()["run"], exported.model["members"]
    means = np.mean([run(member, exported.x, exported.to)[0] for member in members], axis=0)
    ours = means[np.arange(len(means)), theirs["class"].astype(int).ravel()]
    assert gap("means", ours[certain], theirs["answer"][certain], exported) < case.limits["means"]


def test_exact_answers_agree(exported):
    for rho in ["0", "0.5", "1"]:
        p, point = ask("exact_answer", exported, float(rho))
        theirs = exported.answers[rho]
        difference = np.abs(p - theirs["posterior"]).max()
        print(f"posteriors: {difference:.1e}")
        assert difference < POSTERIORS
        found = gap(f"answers, rho = {rho}", point, theirs["answer"], exported)
        shrunk = exported.model.get("sparse_effects") is not None and rho != "0"
        assert shrunk or found < exported.case.limits["answers"], rho


def test_an_unknown_rho_is_averaged_over(exported):
    if exported.model.get("sparse_effects") is not None:
        pytest.skip("effects are shrunk")
    nodes = exported.model["uniform_nodes"]
    point = sum(weight * ask("exact_answer", exported, rho, unknown=True)[1] for weight, rho in nodes)
    assert gap("answers, unknown rho", point, exported.answers["auto"]["answer"], exported) < exported.case.limits["answers"]


def test_the_short_answers_are_as_the_page_says(exported):
    for rho in ["0", "1"]:
        p, point = ask("answer", exported, float(rho))
        theirs = exported.answers[rho]
        networks = exported.case.predictor == "class_networks"
        if networks or exported.case.short:
            assert np.abs(p - theirs["posterior"]).max() < POSTERIORS
        same = exported.case.short or (networks and rho == "0")
        found = gap(f"short answers, rho = {rho}", point, theirs["answer"], exported)
        assert not same or found < exported.case.limits["answers"], rho


def test_outcomes_that_are_not_numbers_are_refused(tmp_path):
    cfqp(tmp_path, "simulate table --world yes-no --n 60 --out data.npz")
    cfqp(tmp_path, "fit data.npz --classes 1 --members 2 --out m.cfqp")
    line = [CFQP, "model", "export", "m.cfqp", "--onnx", "networks"]
    refused = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 2 and "is not a number" in refused.stderr
    assert not (tmp_path / "networks").exists()
