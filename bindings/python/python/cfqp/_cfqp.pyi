"""The native module: it translates between Python and the Rust library, and nothing else.

Structured values cross the border as JSON texts (the serialised form of the library's own types), tables and
answers as Arrow streams. Every method that works releases the GIL, checks for Ctrl-C about every 50 ms, and raises the
exceptions of `cfqp._errors`.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from typing_extensions import CapsuleType

__version__: str

class ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType: ...

class ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[CapsuleType, CapsuleType]: ...

Progress: TypeAlias = Callable[[str, int, int], object]
"""Called with a stage ("3 classes, mlp"), the work done so far and the work announced so far (in epochs or rows).
An exception that it raises stops the work and propagates."""

Treatment: TypeAlias = float | Sequence[float] | str
"""One treatment for all units: a number, one number per dimension, or a text such as "B" or "drug=B,dose=0.8"."""

class Source:
    """Units that can be read several times."""
    @staticmethod
    def from_table(stream: ArrowStream, name: str = ...) -> Source:
        """A table in memory (no copy); `name` is what error messages call it."""
    @staticmethod
    def from_path(path: str) -> Source:
        """A file (.csv, .parquet, .arrow, .xlsx, .npz), or a folder of Parquet files."""
    @staticmethod
    def from_arrays(
        x: ArrowArray, x_shape: Sequence[int], t: ArrowArray | None, t_shape: Sequence[int] | None,
        y: ArrowArray | None, y_shape: Sequence[int] | None, groups: Sequence[int] | None = ...,
    ) -> Source:
        """Arrays, flattened in C order, float32 or float64, NaN where a value is missing.
        Shapes begin with the number of units. Without `y` and `t`, units have no outcome and no treatment yet."""
    @property
    def name(self) -> str: ...

class Answers:
    """Rows of answers, with the columns that `cfqp query` writes. Can be read several times."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType: ...
    @property
    def summary(self) -> str:
        """JSON: {"rows": int, "units": int, "dropped": [{"reason": str, "count": int, "first": str}]}"""
    @property
    def rows(self) -> ArrowArray | None:
        """The row of the source, counted from 0, of every unit of the answers; None for tables with one row per sample."""
    @property
    def warnings(self) -> str:
        """JSON: {"answers": int, "ok": int, "flags": {"off_support": int, ...}, "rho": str}, counted over units"""

class Model:
    @staticmethod
    def load(path: str, threads: int | None = ...) -> Model: ...
    @staticmethod
    def from_bytes(data: bytes, threads: int | None = ...) -> Model: ...
    def to_bytes(self) -> bytes: ...
    def save(self, path: str) -> None: ...
    def describe(self) -> str:
        """JSON: {"version", "classes", "base", "members", "outcomes": [{"name", "kind", "elements"}], "treatments": [{"name", "levels"|null}],
        "covariates": [str], "x_shape": [int], "t_shape": [int], "y_shape": [int],
        "layout": {...}|null (the library's Layout), "config": {...} (FitConfig), "fit": {...} (FitReport: class_sizes, notes, candidates,
        agreement, one_class_suffices, r2, ...), "learned_rho": float|null, "read": {...}|null (what the fit read: TableSummary), ...}"""
    def parse_treatment(self, text: str) -> list[float]: ...
    def counterfactual(
        self, source: Source, treatment: Treatment | None, columns: str | None = ..., per_unit: ArrowArray | None = ...,
        options: str = ..., ids: Sequence[str] = ..., progress: Progress | None = ...,
    ) -> Answers:
        """The outcome under `treatment`, under the treatments in `columns` (comma-separated) of a table, or under
        `per_unit` (flattened, one row per unit; for arrays).
        `options`: JSON {"level": 0.9, "rho": "auto"|number, "rho_bounds": false, "distributions": false, "allow_empty": false}"""
    def effect(
        self, source: Source, ends: tuple[Treatment, Treatment] | None, columns: tuple[str, str] | None = ...,
        per_unit: tuple[ArrowArray, ArrowArray] | None = ..., options: str = ..., ids: Sequence[str] = ...,
        progress: Progress | None = ...,
    ) -> Answers:
        """The effect of the second of two treatments against the first, given as for `counterfactual`; of `per_unit`, an array may have one row."""
    def curve(
        self, source: Source, grid: str, options: str = ..., ids: Sequence[str] = ..., progress: Progress | None = ...,
    ) -> Answers:
        """`grid`: JSON {"values": [float]|null, "texts": [str]|null, "points": int|null, "over": str|null, "hold": str|null}: amounts of one
        treatment, or whole treatments; without either, even steps over the treatments of the units, or all levels"""
    def averages(
        self, source: Source, t0: Treatment, t1: Treatment, options: str = ..., by: Sequence[str] = ...,
        progress: Progress | None = ...,
    ) -> str:
        """JSON: {"averages": [{"outcome", "group", "units", "effect", "lower", "upper",
        "standard_error", "method"}], "subgroups": [{"column", "outcome", "groups": [{"group", "units", "effect": float|null, ...}],
        "p_value", "corrected_p_value", "sentence"}] (with `by`), "verdicts": [...], "plain": [...], "causation": [...]}, as in
        `cfqp effect --json`"""
    def verdicts(
        self, source: Source, options: str = ..., ends: tuple[Treatment, Treatment] | None = ...,
        progress: Progress | None = ...,
    ) -> str:
        """JSON: {"units", "ok", "rho", "rho_source", "contrast": {"from", "to"} (with `ends`), "verdicts": [{"name", "grade", "figure": float|null, "sentence"}],
        "warnings": [{"kind", "text"}]}"""
    def report(
        self, source: Source, spec: str, data_name: str, out: str | None = ..., progress: Progress | None = ...,
    ) -> tuple[str, str]:
        """The HTML page, which is written to `out`, and the same numbers as JSON. `spec`: JSON {"units": [str], "from": str|null, "to": str|null,
        "level": 0.9, "rho": "auto"|number, "model_name": str, "report_code": str, "fit_code": str}"""
    def export_onnx(self, folder: str) -> list[str]:
        """Writes the networks as ONNX files; returns their paths."""

def fit(
    source: Source, spec: str, config: str, resources: str = ..., validation: Source | None = ...,
    progress: Progress | None = ...,
) -> Model:
    """`spec`: JSON of the library's TableSpec ("{}" for arrays); `config`: JSON of FitConfig;
    `resources`: JSON {"threads": int|null, "checkpoint": str|null, "resume": bool, "memory": int|null (bytes)}"""

def score_classes(source: Source, spec: str, config: str, resources: str = ..., progress: Progress | None = ...) -> str:
    """JSON: [{"classes", "base", "nll", "gain_error", "chosen", ...}], as in `cfqp select --json`"""

def check(source: Source, spec: str) -> str:
    """JSON of the library's TableSummary: units kept and dropped, columns, warnings."""

def default_methods(on_pairs: bool, classes_known: bool) -> list[str]:
    """The methods that are compared unless others are named."""

def compare(
    train: Source, spec: str, comparison: str, test: Source | None = ..., truth: Source | None = ...,
    train_z: Sequence[int] | None = ..., test_z: Sequence[int] | None = ..., pairs: Source | None = ..., resources: str = ...,
    folder: str | None = ..., progress: Progress | None = ...,
) -> str:
    """JSON of the runs, as in `cfqp compare --json`. `comparison`: JSON {"methods": [str], "seeds": [int], "config": {...}
    (MethodConfig)}; `truth`: the units of `test` with the new treatments as t and the outcomes under them as y, unless `test` is an
    .npz file that has them; `pairs`: instead of `test`, for a table; `folder` keeps finished runs."""

def summarise_runs(runs: str) -> str:
    """JSON: [{"method", "failed", "measures": [{"measure", "statistics": {"mean", "deviation", "runs"}|null}]}] of the runs of `compare`."""

def simulate(world: str, n: int, seed: int, options: str = ...) -> tuple[dict[str, tuple[list[int], object]], str]:
    """Data of a built-in simulator with known counterfactuals: arrays by name (x, t, y, t_new, y_new, z), each as (shape,
    object with `__arrow_c_array__`), and the names of the columns as JSON."""
