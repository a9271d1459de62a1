"""The estimator."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from . import _cfqp
from ._check import read_table
from ._fitted import log_dropped, logger
from ._frames import read_input
from ._params import Columns, check_names, config_json, resources_json
from ._plots import Plots
from ._progress import Display, ProgressLike
from ._repr import cell_text, html_table
from ._results import ClassScores

if TYPE_CHECKING:
    from typing_extensions import Unpack

Self = TypeVar("Self", bound="CFQP")

SETTINGS = (
    "recipe", "classes", "max_classes", "base", "y_scale", "sharing", "starts", "members", "epochs", "learning_rate",
    "batch", "mlp", "unet", "transformer", "random_state",
)  # fmt: skip
"""The parameters that are settings of the library, by its names but for the seed."""


BASES = ("linear", "mlp", "unet", "transformer")


class CFQP(Plots):
    """Counterfactual queries where hidden classes of units respond differently to a treatment.

    Parameters
    ----------
    classes : int or "auto", default "auto"
        The number of hidden classes; "auto" chooses it on held-out units.
    max_classes : int, default 9
        The largest number that "auto" tries.
    base : {"auto", "linear", "mlp", "unet", "transformer"}, default "auto"
        The base model. Outcomes of at most 8 elements are fitted by mixture density networks unless it is "unet" or
        "transformer".
    members : int, optional
        The number of members of the ensemble; for outcomes of at most 8 elements of each form that is averaged, up to 5. By default 5
        there, else by the base model.
    y_scale : {"auto", "linear", "log"}, default "auto"
        The scale on which outcomes are modelled.
    sharing : {"auto", "separate", "conditional"}, default "auto"
        One network per class, or one shared network with the class as input.
    starts : str or sequence of str, optional
        Starts of EM: "kmeans", "kmeans-scaled", "kmeans-unit", "kmeans-outcome", "gmm", "annealed", "scratch".
    epochs : int, optional
        Epochs of each network's final training.
    learning_rate : float, optional
        The learning rate of Adam.
    batch : int, default 128
        The largest number of units per step.
    mlp, unet, transformer : dict, optional
        Settings of these base models, such as ``{"hidden": [64, 64]}``.
    recipe : {"default", "paper"}, default "default"
        The fitting algorithm; "paper" is the published one.
    random_state : int, default 0
        The seed: equal data, settings and seed give an equal model. `None` draws one.
    threads : int, optional
        The number of threads; results do not depend on it. By default all cores.

    Examples
    --------
    >>> import cfqp
    >>> data = cfqp.simulate("single", n=120, seed=1).to_pandas()
    >>> model = cfqp.CFQP(classes=1, members=2).fit(data, x=["x0", "x1..x5"], t="t", y="y")
    >>> model.n_classes_, model.n_features_in_
    (1, 6)
    >>> model.get_params()["classes"]
    1
    """

    def __init__(
        self, *, classes: int | str = "auto", max_classes: int = 9, base: str = "auto", members: int | None = None,
        y_scale: str = "auto", sharing: str = "auto", starts: str | Sequence[str] | None = None, epochs: int | None = None,
        learning_rate: float | None = None, batch: int = 128, mlp: Mapping[str, Any] | None = None,
        unet: Mapping[str, Any] | None = None, transformer: Mapping[str, Any] | None = None, recipe: str = "default",
        random_state: Any = 0, threads: int | None = None,
    ) -> None:  # fmt: skip
        self.classes = classes
        self.max_classes = max_classes
        self.base = base
        self.members = members
        self.y_scale = y_scale
        self.sharing = sharing
        self.starts = starts
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch = batch
        self.mlp = mlp
        self.unet = unet
        self.transformer = transformer
        self.recipe = recipe
        self.random_state = random_state
        self.threads = threads

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; `deep` has no effect."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self: Self, **params: Any) -> Self:
        """Sets parameters; the fitted model, if any, stays as it is."""
        for name, value in params.items():
            if name not in self._names():
                raise ValueError(f"invalid parameter {name!r} for {type(self).__name__}; its parameters are {self._names()}")
            setattr(self, name, value)
        return self

    def _config(self) -> str:
        return config_json({name: getattr(self, name) for name in SETTINGS} | {"random_state": self.random_state})

    def fit(
        self: Self, data: Any = None, *, validation: Any = None, checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False, memory: int | None = None, progress: ProgressLike = None, **columns: Unpack[Columns],
    ) -> Self:  # fmt: skip
        """Finds the hidden classes and how each of them responds.

        Parameters
        ----------
        data : data frame, Arrays, (x, t, y) or path, optional
            The units: a frame of pandas, polars or pyarrow, anything with the Arrow PyCapsule interface, arrays, or a file
            (.csv, .parquet, .arrow, .xlsx, .npz, or a folder of Parquet files). Without it, `x`, `t`, `y` and `group` are arrays.
        x, t, y : str or sequence of str, or arrays
            Columns with covariates, treatments and outcomes: names, ranges "x0..x19", wildcards "bp_*".
        id, group : str
            Columns with the id of the unit and with its subject.
        **columns
            The other keywords that describe a table: `except_`, `t_kind`, `y_kind`, `time`, `series`, `treated_at`, `step`,
            `before`, `after`, `categorical`, `missing`, `decimal`, `date_format`, `date_parts`, `x_shape`, `y_shape`,
            `delimiter` and `sheet`. They mean what the flags of `cfqp fit` mean; see `docs/TABLES.md`.
        validation
            Data for selection and calibration, like `data`; by default a part of `data`, or every unit in turn.
        checkpoint : path, optional
            The file that keeps finished work, for a fit that is interrupted. It stays after the fit: remove it once the model is
            saved.
        resume : bool, default False
            Whether to continue from the checkpoint, if there is one.
        memory : int, optional
            The memory of the fit in bytes, 4 GB by default. A table to which a fit would need more is explored on a sample and
            then fitted in parts from disk; see `docs/SCALE.md`.
        progress : bool or callable, optional
            `None` shows progress in terminals and notebooks; a callable gets the stage, the work done and the work announced.

        Returns
        -------
        CFQP
            This estimator, fitted.

        Raises
        ------
        DataError, ConfigError, FitError, FileError
            With a message that names the place, and a `hint`.
        KeyboardInterrupt
            On Ctrl-C, within a second; work is kept in `checkpoint`.
        """
        check_names(columns, "fit")
        units, spec = read_table(data, columns)
        valid = None if validation is None else read_input(validation).source
        resources = resources_json(self.threads, checkpoint, resume, memory)
        with Display(progress) as display:
            native = _cfqp.fit(units.source, spec, self._config(), resources, valid, display.callback)
        self._adopt(native, units)
        self._columns = {name: value for name, value in columns.items() if isinstance(value, str | int | float | list | tuple)}
        log_dropped(self._description.get("read"))
        for note in self.report_.get("notes", ()):
            logger.info("%s", note)
        return self

    def select(self, data: Any = None, *, progress: ProgressLike = None, **columns: Unpack[Columns]) -> ClassScores:
        """Scores of numbers of classes, from 1 to `max_classes`, on held-out units. Nothing is fitted for later use.

        Parameters
        ----------
        data, progress, **columns
            As for `fit`.

        Returns
        -------
        ClassScores
            One row per base model and number of classes; `chosen` is the one that `fit` would take.
        """
        check_names(columns, "select")
        units, spec = read_table(data, columns)
        resources = resources_json(self.threads)
        with Display(progress) as display:
            text = _cfqp.score_classes(units.source, spec, self._config(), resources, display.callback)
        return ClassScores(tuple(json.loads(text)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the fitted model to a file, completely or not at all; `cfqp.load` and the command `cfqp` read it."""
        self._model().save(os.fspath(path))

    def to_bytes(self) -> bytes:
        """The content of the file that `save` writes."""
        return self._model().to_bytes()

    @classmethod
    def from_bytes(cls: type[Self], data: bytes, *, threads: int | None = None) -> Self:
        """The model that `to_bytes` gave."""
        return cls._from_native(_cfqp.Model.from_bytes(data, threads), threads)

    @classmethod
    def _from_native(cls: type[Self], native: _cfqp.Model, threads: int | None) -> Self:
        model = cls(threads=threads)
        model._adopt(native, None)
        config = model.config_
        # of the settings of base models, only those of the chosen one matter
        known = {name: config[name] for name in SETTINGS if config.get(name) and name not in BASES or name == model.base_}
        known |= {"classes": config["classes"]["given"]} if isinstance(config["classes"], dict) else {}
        return model.set_params(**known, random_state=config["seed"])

    def export_onnx(self, folder: str | os.PathLike[str]) -> list[str]:
        """Writes the networks as ONNX files into `folder` and returns their paths."""
        return self._model().export_onnx(os.fspath(folder))

    def __getstate__(self) -> dict[str, Any]:
        # the model travels as the bytes of its file; the data of the fit stay behind
        model = None if self._native is None else self._native.to_bytes()
        return {"params": self.get_params(), "model": model}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["params"])  # type: ignore[misc]
        if state["model"] is not None:
            self._adopt(_cfqp.Model.from_bytes(state["model"], self.threads), None)

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        if self._native is None:
            return html_table(("parameter", "value"), self.get_params().items(), caption=f"{self!r}, not fitted")
        report = self.report_
        r2 = report.get("r2")
        rows = [
            ("classes", f"{self.n_classes_}, with {cell_text(report['class_sizes'])} units"),
            ("base model", f"{self.base_}, {self.members_} members"),
            ("treatments", [treatment["name"] for treatment in self.treatments_]),
            ("outcomes", [outcome["name"] for outcome in self.outcomes_]),
            ("held-out R2", r2 and f"{r2['value']:.3f} (standard error {r2['standard_error']:.3f})"),
            *(("note", note) for note in report.get("notes", ())),
        ]
        return html_table(("", ""), rows, caption=repr(self))


def load(path: str | os.PathLike[str], *, threads: int | None = None) -> CFQP:
    """Loads a model that `CFQP.save` or the command `cfqp fit` wrote.

    Parameters
    ----------
    path : path
        The file. It is checked and never executed: it contains no pickle.
    threads : int, optional
        The number of threads for questions; by default all cores.

    Returns
    -------
    CFQP
        The fitted estimator. It has no data: plots need `data`.

    Raises
    ------
    ModelFileError
        If the file is damaged, or no model file.
    """
    return CFQP._from_native(_cfqp.Model.load(os.fspath(path), threads), threads)
