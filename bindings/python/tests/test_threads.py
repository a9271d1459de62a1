"""Fits and questions at the same time give equal bits; memory does not grow; Ctrl-C stops a fit."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import cfqp
import numpy as np
import pytest
from conftest import SMALL

pytestmark = pytest.mark.filterwarnings("ignore::cfqp.AnswerWarning")


def test_concurrent_fits_and_questions_give_equal_bits(data, array_model):
    expected = array_model.to_bytes()
    answer = array_model.counterfactual(data.arrays, t=0.5).point.tobytes()
    with ThreadPoolExecutor(4) as pool:
        fits = [pool.submit(lambda: cfqp.CFQP(**SMALL).fit(data.arrays).to_bytes()) for _ in range(4)]
        asked = [pool.submit(lambda: array_model.counterfactual(data.arrays, t=0.5).point.tobytes()) for _ in range(20)]
    assert all(fit.result() == expected for fit in fits)
    assert all(ask.result() == answer for ask in asked)


def test_other_threads_run_during_a_fit(data):
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(lambda: cfqp.CFQP(classes=3, members=4).fit(data.arrays))
        ticks = 0
        while not work.done():
            ticks += 1
            time.sleep(0.001)
    assert work.result().n_classes_ == 3 and ticks > 5


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_memory_does_not_grow():
    units = cfqp.simulate("single", n=100, seed=1)
    frame = units.to_pandas()

    def work():
        model = cfqp.CFQP(classes=1, members=1, base="linear", threads=1).fit(frame, x="x*", t="t", y="y")
        model.counterfactual(frame, t=0.5)
        model.curve(units.arrays if model.layout_ is None else frame, [0.2, 0.5])

    for _ in range(60):
        work()
    before = resident_bytes()
    for _ in range(200):
        work()
    growth = resident_bytes() - before
    assert growth < 16 * 2**20, f"{growth / 2**20:.1f} MiB in 200 rounds"


SCRIPT = """
import sys, cfqp
data = cfqp.simulate(sys.argv[2], n=1000, seed=1).arrays
model = cfqp.CFQP(base="mlp", members=3)
def progress(stage, done, announced):
    print(stage, flush=True)
try:
    model.fit(data, checkpoint=sys.argv[1], resume=True, progress=progress)
except KeyboardInterrupt:
    print("stopped", flush=True)
    sys.exit(130)
"""


@pytest.mark.parametrize("world", ["oscillator", "crossing"])
def test_an_interrupt_stops_a_fit_and_leaves_a_checkpoint(tmp_path, world):
    checkpoint = tmp_path / "fit.checkpoint"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, checkpoint, world], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    for line in lines:
        if checkpoint.exists() and line:
            break
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=30)[0]
    assert process.returncode == 130 and rest.endswith("stopped\n")
    assert checkpoint.exists() and checkpoint.stat().st_size > 0


# large enough that several calls of the callback see a fit at work
@pytest.mark.parametrize(("world", "n"), [("oscillator", 120), ("crossing", 1000)])
def test_a_resumed_fit_is_the_same(world, n, tmp_path):
    arrays = cfqp.simulate(world, n=n, seed=1).arrays

    class Stop(Exception):
        pass

    calls = []

    def stop_late(stage, done, announced):
        calls.append(stage)
        if len(set(calls)) > 1:
            raise Stop

    settings = {"base": "mlp", "classes": 2, "members": 2}
    expected = cfqp.CFQP(**settings).fit(arrays).to_bytes()
    checkpoint = tmp_path / "fit.checkpoint"
    with pytest.raises(Stop):
        cfqp.CFQP(**settings).fit(arrays, checkpoint=checkpoint, progress=stop_late)
    assert checkpoint.exists()
    resumed = cfqp.CFQP(**settings).fit(arrays, checkpoint=checkpoint, resume=True)
    assert resumed.to_bytes() == expected


def test_progress_is_reported(data):
    calls = []
    cfqp.CFQP(**SMALL).fit(data.arrays, progress=lambda *call: calls.append(call))
    assert calls and all(isinstance(stage, str) and done >= 0 for stage, done, _ in calls)


def test_an_exception_of_the_callback_stops_the_fit(data):
    def fail(stage, done, announced):
        raise ZeroDivisionError("from the callback")

    model = cfqp.CFQP(**SMALL)
    with pytest.raises(ZeroDivisionError, match="from the callback"):
        model.fit(data.arrays, progress=fail)
    assert not hasattr(model, "n_classes_")


def test_displays(monkeypatch, capsys):
    from cfqp import _progress

    monkeypatch.setattr(_progress, "DELAY", 0.0)
    monkeypatch.setattr(_progress.importlib.util, "find_spec", lambda name: None)
    with _progress.Display(True) as display:
        display.callback("2 classes", 5, 10)
    assert "2 classes 50%" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.setattr(_progress, "DELAY", 0.0)
    with _progress.Display(True) as display:
        display.callback("2 classes", 5, 10)
        display._bar.mininterval = 0
        display.callback("3 classes", 9, 10)
    assert "3 classes" in capsys.readouterr().err
    monkeypatch.setattr(_progress, "_is_watched", lambda: False)
    assert _progress.Display(None).callback is None and _progress.Display(False).callback is None


def test_copies_share_no_state(data, array_model):
    import copy

    twin = copy.deepcopy(array_model)
    twin.set_params(classes=5)
    assert array_model.classes == 2
    assert np.array_equal(
        twin.counterfactual(data.arrays, t=0.5).point, array_model.counterfactual(data.arrays, t=0.5).point
    )
