"""The experiments of the paper with features: images, block images, sparse factors, gene signatures.

    python benchmarks/ibp_paper.py [--part images|variational|blocks|factors|genes|all] [--seeds 10]

Writes a table (``ibp_PART.md``), all numbers (``ibp_PART.json``) and pictures for every part. Real data comes from
SPECTRAL_DATA (default ../shared/data). One process, one BLAS thread.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, context, markdown_table, write_json
from ibp_data import (
    TREATMENTS,
    block_images,
    image_error,
    image_features,
    liver_expression,
    matched_columns,
    noisy_images,
    sparse_factors,
)
from ibp_gibbs import posterior_dictionary
from ibp_pictures import distance_boxes, error_curves, feature_gallery, signature_map
from ibp_variational import fit_variational
from threadpoolctl import threadpool_limits

from spectral_spark.ibp import FeatureModel, IbpSettings, fit_features, local_runner
from spectral_spark.ibp.likelihood import RowReader

NOISES, SIZES = (0.1, 0.2, 0.3, 0.4, 0.5), (100, 200, 300, 400, 500)
PUBLISHED = {100: 0.121, 500: 0.053}
SIGNATURES = 10
GENE_FEATURES = ("PCA", "isfa", "iica", "binary")
GIBBS_SEEDS = 3
RESTARTS, TRUNCATION, VARIATIONAL_SEEDS = 5, 10, 3


def fit(values: np.ndarray, **settings: Any) -> FeatureModel:
    return fit_features(local_runner(values), values.shape[1], IbpSettings(**settings)).model


def _gibbs(sweeps: int) -> Callable[[np.ndarray, int], np.ndarray]:
    return lambda values, seed: posterior_dictionary(values, 10, sweeps, seed)[0]


IMAGE_METHODS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "paper": lambda values, seed: fit(values, k=4, solver="paper", probabilities="mean").dictionary,
    "spectral": lambda values, seed: fit(values, k=4).dictionary,
    "polished": lambda values, seed: fit(values, k=4, polish=2).dictionary,
    "Gibbs 50": _gibbs(50),
    "Gibbs 500": _gibbs(500),
}


def images(seeds: int) -> list[dict[str, Any]]:
    """Every method on every noise level and size: error and seconds, averaged over data sets."""
    truth, rows = image_features(), []
    for noise in NOISES:
        for n in SIZES:
            for method, run in IMAGE_METHODS.items():
                errors, seconds = [], []
                for seed in range(GIBBS_SEEDS if "Gibbs" in method else seeds):
                    values = noisy_images(n, noise, seed)
                    started = time.perf_counter()
                    found = run(values, seed)
                    seconds.append(time.perf_counter() - started)
                    errors.append(image_error(found, truth))
                rows.append({"noise": noise, "n": n, "method": method, "error": float(np.mean(errors)),
                             "worst": float(np.max(errors)), "seconds": float(np.median(seconds))})
    return rows


def image_table(rows: list[dict[str, Any]]) -> str:
    """One line per noise and size, one column per method; the published error where there is one."""
    lines = []
    for noise in NOISES:
        for n in SIZES:
            line: dict[str, Any] = {"σ": noise, "n": n, "published": PUBLISHED.get(n) if noise == 0.5 else None}
            for row in rows:
                if (row["noise"], row["n"]) == (noise, n):
                    line[row["method"]] = row["error"]
                    line[f"{row['method']} s"] = row["seconds"]
            lines.append(line)
    names = [name for method in IMAGE_METHODS for name in (method, f"{method} s")]
    return markdown_table(lines, ["σ", "n", "published", *names])


def variational(seeds: int) -> list[dict[str, Any]]:
    """Negative log-likelihood of fresh images and CPU seconds, beside the infinite variational method.

    That one is told the true noise and keeps the best bound of its restarts, whose seconds all count; the others
    estimate the noise, and ``auto`` the number of features as well.
    """
    methods: dict[str, Callable[[np.ndarray, int, float], FeatureModel]] = {
        "spectral": lambda values, seed, noise: fit(values, k=4),
        "auto": lambda values, seed, noise: fit(values),
        "polished": lambda values, seed, noise: fit(values, k=4, polish=2),
        "variational": _best_of_restarts,
    }
    rows = []
    for noise in NOISES:
        for n in SIZES:
            row: dict[str, Any] = {"σ": noise, "n": n, "truth": 0.0}
            for seed in range(seeds):
                values, fresh = noisy_images(n, noise, seed), noisy_images(1000, noise, 1000 + seed)
                known = FeatureModel("binary", image_features(), np.full(4, 0.5), np.zeros(36), noise**2)
                row["truth"] += _loss(known, fresh) / seeds
                for name, run in methods.items():
                    started = time.process_time()
                    model = run(values, seed, noise)
                    row[f"{name} s"] = row.get(f"{name} s", 0.0) + (time.process_time() - started) / seeds
                    row[name] = row.get(name, 0.0) + _loss(model, fresh) / seeds
            rows.append({name: row[name] for name in ("σ", "n", "truth", *methods, *(f"{one} s" for one in methods))})
    return rows


def _best_of_restarts(values: np.ndarray, seed: int, noise: float) -> FeatureModel:
    fits = [fit_variational(values, TRUNCATION, RESTARTS * seed + start, noise**2) for start in range(RESTARTS)]
    best = max(fits, key=lambda found: found.bounds[-1])
    return FeatureModel("binary", best.dictionary, best.probabilities, np.zeros(values.shape[1]), noise**2)


def _loss(model: FeatureModel, fresh: np.ndarray) -> float:
    """Negative log-likelihood per row, summed over all codes."""
    return -float(RowReader(model).read(fresh).log_likelihood.mean())


def blocks(output: Path) -> list[dict[str, Any]]:
    """The published block images: features found beside the true ones. The set is centred: an offset is found."""
    values, truth = block_images()
    rows, gallery = [], {"images": values[:4].T + 0.5, "true": truth}
    for name, settings in (("spectral", {}), ("polished", {"polish": 2}), ("paper", {"solver": "paper", "k": 4})):
        started = time.perf_counter()
        result = fit_features(local_runner(values), 36, IbpSettings(**settings))
        seconds = time.perf_counter() - started
        found = matched_columns(result.model.dictionary, truth)
        gallery[name] = found
        rows.append({"method": name, "k": result.model.k, "offset": result.recovery.offset, "seconds": seconds,
                     "noise": result.model.noise_variance**0.5, "error": image_error(found, truth)})
    started = time.perf_counter()
    chain = posterior_dictionary(values - result.model.offset, 10, 500, 0)[0]
    gallery["Gibbs 500"] = matched_columns(chain, truth)
    rows.append({"method": "Gibbs 500", "k": 10, "offset": "given (ours)", "seconds": time.perf_counter() - started,
                 "noise": None, "error": image_error(chain, truth)})
    feature_gallery(gallery, output / "block_images.png")
    return rows


def factors(seeds: int, output: Path) -> list[dict[str, Any]]:
    """Seven dimensions, four sources, 500 rows: Frobenius distance to the true dictionary.

    ``directions`` gives every column its true length first: FastICA does not know lengths at all.
    """
    rows = []
    for kind in ("isfa", "iica"):
        distances: dict[str, list[float]] = {}
        directions: dict[str, list[float]] = {}
        for seed in range(3 * seeds):
            values, truth = sparse_factors(kind, 500, seed)
            found = {
                "paper": fit(values, kind=kind, k=4, solver="paper").dictionary,
                "spectral": fit(values, kind=kind, k=4).dictionary,
                "polished": fit(values, kind=kind, k=4, polish=20).dictionary,
                "FastICA": fast_ica(values),
            }
            for name, dictionary in found.items():
                distances.setdefault(name, []).append(_distance(dictionary, truth))
                directions.setdefault(name, []).append(_distance(_with_lengths(dictionary, truth), truth))
        del distances["FastICA"]
        title = f"{kind}: 7 dimensions, 4 sources, n = 500"
        distance_boxes(distances, directions, title, output / f"{kind}_distance.png")
        rows += [{"kind": kind, "method": name, "distance": _median(distances.get(name)),
                  "directions": _median(directions[name]), "true norm": float(np.linalg.norm(truth))}
                 for name in directions]
    return rows


def _distance(found: np.ndarray, truth: np.ndarray) -> float:
    return float(np.linalg.norm(matched_columns(found, truth, signs=True) - truth))


def _with_lengths(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Columns matched by direction, with the lengths of the true ones."""
    unit, lengths = found / np.linalg.norm(found, axis=0), np.linalg.norm(truth, axis=0)
    return matched_columns(unit, truth / lengths, signs=True) * lengths


def _median(values: list[float] | None) -> float | None:
    return None if values is None else float(np.median(values))


def fast_ica(values: np.ndarray) -> np.ndarray:
    """Mixing matrix of scikit-learn's FastICA."""
    from sklearn.decomposition import FastICA

    ica = FastICA(4, random_state=0, whiten="unit-variance", max_iter=2000, tol=1e-3)
    return np.asarray(ica.fit(values).mixing_)


def genes(output: Path, repeats: int = 3) -> list[dict[str, Any]]:
    """Ten signatures of liver expression: the picture, and how well they separate the four treatments."""
    data = liver_expression()
    started = time.perf_counter()
    model = fit(data.values, kind="isfa", k=SIGNATURES, missing="mean")
    seconds = time.perf_counter() - started
    codes = RowReader(model).read(data.values).codes
    signature_map(codes, data.treatment, [*TREATMENTS, ""], output / "gene_signatures.png")
    known = np.flatnonzero(data.treatment != "")
    alone = {name: single_separation(name, data, known) for name in GENE_FEATURES}
    rows = []
    for grouping, groups in (("replicates together", data.replicates), ("series together", data.series)):
        for name in GENE_FEATURES:
            labelled = data.values[known], data.treatment[known], groups[known]
            scores = [accuracy(name, *labelled, seed) for seed in range(repeats)]
            rows.append({"folds": grouping, "features": name, "accuracy": float(np.mean(scores)),
                         "spread": float(np.std(scores)), "best single": alone[name]})
    rows[0]["distinct profiles"] = int(data.replicates.max() + 1)
    rows[0]["seconds of the isfa fit"] = seconds
    return rows


def accuracy(name: str, values: np.ndarray, labels: np.ndarray, groups: np.ndarray, seed: int) -> float:
    """Five-fold accuracy of logistic regression; features are fitted on the training rows of each fold only."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedGroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    right = 0
    for train, test in StratifiedGroupKFold(5, shuffle=True, random_state=seed).split(values, labels, groups):
        coder = fit_coder(name, values[train])
        classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
        classifier.fit(coder(values[train]), labels[train])
        right += int((classifier.predict(coder(values[test])) == labels[test]).sum())
    return right / len(labels)


def fit_coder(name: str, values: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Ten features fitted on these rows, as a function of rows."""
    if name != "PCA":
        reader = RowReader(fit(values, kind=name, k=SIGNATURES, missing="mean"))
        return lambda rows: reader.read(rows).codes
    from sklearn.decomposition import PCA

    mean = np.nanmean(values, axis=0)
    pca = PCA(SIGNATURES, svd_solver="full").fit(np.where(np.isnan(values), mean, values))
    return lambda rows: np.asarray(pca.transform(np.where(np.isnan(rows), mean, rows)))


def single_separation(name: str, data: Any, known: np.ndarray) -> float:
    """Mean over treatments of the best area under the curve that one feature alone reaches."""
    from sklearn.metrics import roc_auc_score

    codes, labels = fit_coder(name, data.values)(data.values[known]), data.treatment[known]
    areas = [[roc_auc_score(labels == treatment, column) for column in codes.T] for treatment in TREATMENTS]
    return float(np.mean([max(max(one), 1 - min(one)) for one in areas]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--part", choices=["images", "variational", "blocks", "factors", "genes", "all"], default="all")
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    output: Path = arguments.output
    parts: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "images": lambda: images(arguments.seeds),
        "variational": lambda: variational(min(arguments.seeds, VARIATIONAL_SEEDS)),
        "blocks": lambda: blocks(output),
        "factors": lambda: factors(arguments.seeds, output),
        "genes": lambda: genes(output),
    }
    for name, run in parts.items():
        if arguments.part not in (name, "all"):
            continue
        with threadpool_limits(1):
            rows = run()
        if name == "images":
            error_curves(rows, output / "images.png")
        table = image_table(rows) if name == "images" else markdown_table(rows, list(rows[0]))
        write_json(output / f"ibp_{name}.json", {"context": context(), "rows": rows})
        (output / f"ibp_{name}.md").write_text(table)
        print(f"## {name}\n\n{table}")


if __name__ == "__main__":
    main()
