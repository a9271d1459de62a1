"""The package as a whole: import time, types, documentation, notebooks."""

import doctest
import importlib
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cfqp
import pytest
from conftest import REPOSITORY

PACKAGE = Path(cfqp.__file__).parent
ROOT = Path(__file__).resolve().parents[1]
OTHERS = ("spark", "ray", "_ray_tasks", "_partitions", "_group_fits")
"""Modules that need packages of their own and have their own tests."""

pytestmark = pytest.mark.filterwarnings("ignore::cfqp.AnswerWarning")


def modules():
    names = [info.name for info in pkgutil.iter_modules([str(PACKAGE)])]
    return [name for name in names if name not in ("_cfqp", *OTHERS)]


def test_importing_is_light():
    heavy = ("numpy", "pyarrow", "pandas", "polars", "sklearn", "matplotlib", "tqdm")
    script = f"import cfqp, sys; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["", *(f".{name}" for name in modules())])
def test_doctests(name):
    module = importlib.import_module(f"cfqp{name}")
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_public_names_have_docstrings():
    for name in cfqp.__all__:
        if name != "__version__":
            assert getattr(cfqp, name).__doc__, name
    for name, method in vars(cfqp.CFQP).items():
        if not name.startswith("_") and callable(method):
            assert method.__doc__, name


def test_modules_are_short():
    for path in PACKAGE.glob("*.py"):
        assert len(path.read_text().splitlines()) < 350, path.name


def test_types_with_mypy():
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_types_with_pyright():
    path = Path(sys.executable).parent / "pyright"
    if not path.exists() and shutil.which("pyright") is None:
        pytest.skip("pyright is not installed")
    command = [str(path) if path.exists() else "pyright", "-p", ".", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def blocks(page):
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["PYTHON.md", "ARROW.md", "PYTHON_MIGRATION.md"])
def test_the_code_of_pages_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    code = blocks(page)
    assert len(code) > 1
    for block in code:
        exec(compile(block, page, "exec"), names)


def test_the_example_runs(tmp_path):
    subprocess.run([sys.executable, ROOT / "examples" / "quickstart.py", tmp_path], check=True)
    assert (tmp_path / "model.cfqp").exists() and (tmp_path / "report.html").exists()


@pytest.mark.parametrize("name", ["tutorial.ipynb", "series_and_images.ipynb"])
def test_notebooks_run(name, tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(ROOT / "examples" / name, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "outputs are not kept in git"
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}})
    client.execute()
