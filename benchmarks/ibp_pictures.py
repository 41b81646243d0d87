"""Pictures of the feature benchmarks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

import matplotlib.pyplot as plt

COLOURS = {
    "paper": "#8c8c8c", "spectral": "#2c6fbb", "polished": "#0b8a5d", "Gibbs 50": "#e0a33a", "Gibbs 500": "#c4452f",
}


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, bbox_inches="tight")
    plt.close(figure)


def error_curves(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Error of the features against the number of images, one panel per noise level, and the time they took."""
    levels = sorted({row["noise"] for row in rows})
    figure, axes = plt.subplots(1, len(levels) + 1, figsize=(3 * len(levels) + 3.4, 3.1))
    for axis, level in zip(axes, [*levels, levels[-1]], strict=True):
        last = axis is axes[-1]
        for method, colour in COLOURS.items():
            chosen = [row for row in rows if row["noise"] == level and row["method"] == method]
            points = sorted((row["n"], row["seconds" if last else "error"]) for row in chosen)
            if points:
                axis.plot(*zip(*points, strict=True), "o-", color=colour, label=method, markersize=4, linewidth=1.5)
        axis.set_title(f"seconds, σ = {level}" if last else f"σ = {level}", fontsize=10)
        axis.set_xlabel("images")
        axis.set_ylim(bottom=None if last else 0)
    axes[-1].set_yscale("log")
    axes[0].set_ylabel("RMSE per pixel of the features")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncol=len(labels), frameon=False, bbox_to_anchor=(0.5, 1.08))
    figure.tight_layout()
    _save(figure, path)


def feature_gallery(images: Mapping[str, np.ndarray], path: Path) -> None:
    """Rows of 6 × 6 pictures, each row an array of shape (36, m) with its name."""
    columns = max(array.shape[1] for array in images.values())
    figure, axes = plt.subplots(len(images), columns, figsize=(1.25 * columns + 1.4, 1.3 * len(images)))
    for row, (name, array) in enumerate(images.items()):
        for column in range(columns):
            axis = axes[row, column]
            axis.set_xticks([])
            axis.set_yticks([])
            if column < array.shape[1]:
                axis.imshow(array[:, column].reshape(6, 6), cmap="gray", vmin=-0.3, vmax=1.2)
            else:
                axis.set_visible(False)
        axes[row, 0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    _save(figure, path)


def distance_boxes(
    distances: Mapping[str, Sequence[float]], directions: Mapping[str, Sequence[float]], title: str, path: Path
) -> None:
    """Frobenius distances over data sets, one box per method; beside them, with the true lengths of the columns."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    for axis, boxes, name in ((axes[0], distances, "dictionary"), (axes[1], directions, "directions only")):
        axis.boxplot(list(boxes.values()), tick_labels=list(boxes), widths=0.55, medianprops={"color": "#c4452f"})
        axis.set_ylim(bottom=0)
        axis.set_title(name, fontsize=10)
    axes[0].set_ylabel("‖Φ found − Φ true‖ (Frobenius)")
    figure.suptitle(title, fontsize=11)
    _save(figure, path)


def signature_map(codes: np.ndarray, treatment: np.ndarray, order: Sequence[str], path: Path) -> None:
    """Samples by signature, ordered by treatment, each signature scaled to unit variance."""
    chosen = np.concatenate([np.flatnonzero(treatment == name) for name in order])
    scaled = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    figure, axis = plt.subplots(figsize=(11, 3.8))
    picture = axis.imshow(scaled[chosen].T, aspect="auto", cmap="RdBu_r", vmin=-3, vmax=3, interpolation="nearest")
    edges = np.cumsum([0, *(int((treatment == name).sum()) for name in order)])
    for edge in edges[1:-1]:
        axis.axvline(edge - 0.5, color="black", linewidth=1)
    axis.set_xticks((edges[:-1] + edges[1:]) / 2, [f"{name or 'unlabelled'}\n{stop - start}" for name, start, stop in
                                                    zip(order, edges[:-1], edges[1:], strict=True)])
    axis.set_yticks(range(codes.shape[1]), [str(i + 1) for i in range(codes.shape[1])])
    axis.set_ylabel("signature")
    figure.colorbar(picture, ax=axis, label="expression of the signature (sd)", pad=0.01)
    _save(figure, path)
