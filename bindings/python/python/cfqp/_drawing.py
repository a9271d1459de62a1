"""The marks that plots are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._frames import outcome_names

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#8C6D31", "#666666")


def class_colour(label: int) -> str:
    """The colour of a class; people with colour blindness can tell them apart."""
    return _COLOURS[label % len(_COLOURS)]


def new_axes(ax: Axes | None) -> Axes:
    """`ax`, or new axes of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'cfqp[plot]'") from error
    return plt.subplots(figsize=(7, 4.2), layout="constrained")[1]


def finish(ax: Axes, legend: bool = False) -> Axes:
    """Removes what does not help reading."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.title.set_fontsize(11)
    named = sorted(zip(*ax.get_legend_handles_labels(), strict=True), key=lambda pair: str(pair[1]))
    if legend and named:
        ax.legend([mark for mark, _ in named], [name for _, name in named], frameon=False)
    return ax


def outcome_column(table: pa.Table, name: str) -> str:
    """The column with the answers on an outcome."""
    choices = (f"effect_{name}", f"answer_{name}", name)
    found = next((choice for choice in choices if choice in table.column_names), None)
    if found is None:
        raise ValueError(f"outcome: there is no outcome `{name}`; the outcomes are {outcome_names(table)}")
    return found


def series(table: pa.Table, column: str) -> NDArray[Any]:
    """A column of numbers or texts; of lists, one row per list."""
    import numpy as np

    values = table[column].to_pylist()
    return np.asarray(values, dtype=object if values and isinstance(values[0], str) else float)


def _ends(table: pa.Table, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    column = outcome_column(table, name)
    return series(table, column), series(table, f"lower_{name}"), series(table, f"upper_{name}")


def draw_band(
    ax: Axes, at: NDArray[Any] | None, table: pa.Table, name: str, colour: str, label: str | None, faint: bool = False,
    with_band: bool = True,
) -> None:  # fmt: skip
    """A line with its interval; levels are points with error bars. Without `at`, the lists of one row are drawn by position."""
    import numpy as np

    point, lower, upper = _ends(table, name)
    if at is None:
        point, lower, upper = point[0], lower[0], upper[0]
        at = np.arange(len(point))
    elif point.ndim > 1:
        point, lower, upper = point.mean(axis=1), lower.mean(axis=1), upper.mean(axis=1)
    if at.dtype != object:
        order = np.argsort(at, kind="stable")
        at, point, lower, upper = at[order], point[order], lower[order], upper[order]
    draw_levels(ax, at, point, lower, upper, colour, label, faint, with_band)


def draw_levels(
    ax: Axes, at: Sequence[Any] | NDArray[Any], point: Any, lower: Any, upper: Any, colour: str, label: str | None,
    faint: bool = False, with_band: bool = True,
) -> None:  # fmt: skip
    """A line and a band over numbers, points with error bars over levels."""
    import numpy as np

    point, lower, upper = (np.asarray(values, dtype=float) for values in (point, lower, upper))
    if len(at) and isinstance(at[0], str):
        ends = np.abs([point - lower, upper - point])
        ax.errorbar(list(at), point, yerr=ends, fmt="o", color=colour, capsize=3, alpha=0.4 if faint else 1, label=label)
        return
    positions = np.asarray(at, dtype=float)
    ax.plot(positions, point, color=colour, linewidth=1 if faint else 2, alpha=0.7 if faint else 1, label=label)
    if with_band:
        ax.fill_between(positions, lower, upper, color=colour, alpha=0.04 if faint else 0.15, linewidth=0)


def draw_intervals(ax: Axes, table: pa.Table, name: str, mean: float | None, most: int) -> None:
    """Intervals in order of size, coloured by class; at most `most` of them, at even distances."""
    import numpy as np

    point, lower, upper = (values.mean(axis=1) if values.ndim > 1 else values for values in _ends(table, name))
    labels = np.asarray(table["class"])
    order = np.argsort(point, kind="stable")
    order = order[np.unique(np.linspace(0, len(order) - 1, min(most, len(order))).astype(int))]
    rank = np.arange(len(order))
    for label in np.unique(labels):
        rows = labels[order] == label
        kept, colour = order[rows], class_colour(int(label))
        ax.vlines(rank[rows], lower[kept], upper[kept], color=colour, alpha=0.3, linewidth=1)
        ax.plot(rank[rows], point[kept], ".", color=colour, markersize=4, label=f"class {label}")
    ax.axhline(0, color="black", linewidth=0.8)
    if mean is not None:
        ax.axhline(mean, color="black", linewidth=1, linestyle="--", label=f"average {mean:.3g}")
    ax.set_xlabel("units, in order of their effects")


def draw_images(table: pa.Table, observed: pa.Table | None, shape: Sequence[int], title: str) -> Axes:
    """The observed image and those under the treatments of a curve; returns the axes of the first."""
    import matplotlib.pyplot as plt
    import numpy as np

    def image(rows: pa.Table, row: int) -> NDArray[Any]:
        channels = [np.asarray(rows[outcome_column(rows, name)][row].as_py()) for name in outcome_names(rows)]
        pixels: NDArray[Any] = np.stack(channels).reshape(shape).transpose(1, 2, 0)
        return np.clip(pixels, 0, 1) if shape[0] == 3 else np.asarray(pixels.mean(axis=2))

    images = [] if observed is None else [("observed", image(observed, 0))]
    images += [(f"under {table['t_new'][row].as_py():.3g}", image(table, row)) for row in range(len(table))]
    figure, axes = plt.subplots(1, len(images), figsize=(1.8 * len(images), 2.2), layout="constrained", squeeze=False)
    for ax, (name, pixels) in zip(axes[0], images, strict=True):
        ax.imshow(pixels, cmap="gray")
        ax.set_title(name, fontsize=10)
        ax.set_axis_off()
    figure.suptitle(title, fontsize=11)
    first: Axes = axes[0][0]
    return first
