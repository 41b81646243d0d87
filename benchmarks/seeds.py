"""What seeds keep and what they cost: fits with and without themes of one's own, as people run them.

    python benchmarks/seeds.py --corpus CORPUS --themes benchmarks/themes/enron.toml --k 50 [--seeds 0 1] [--background]

For every random seed, a fit without themes and one with them; held-out loss of both, and for each theme how many of its
words are among the 30 most relevant of its topic (without seeds: of the topic where most of them are). Rows are added
to ``results/seeds.json``.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, context, markdown_table, merge_rows

from spectral_spark.cli import main as spectral_spark
from spectral_spark.data.seeds import load_seeds
from spectral_spark.files.model_files import TopicModelFiles, read_model_files
from spectral_spark.fit.seed_report import FIRST_WORDS
from spectral_spark.report.relevance import top_words, word_shares

COLUMNS = {
    "themes": "themes", "k": "k", "background": "background", "seed": "seed", "loss": "loss without seeds",
    "seeded_loss": "with seeds", "rise": "rise", "kept": "kept of ten words, by theme", "fewest": "fewest",
    "unseeded": "without seeds",
}


def kept_words(files: TopicModelFiles, themes: list[dict[str, Any]], topics: list[int] | None) -> list[int]:
    """How many words of each theme its topic keeps; without topics, the best topic of all."""
    place = {word: number for number, word in enumerate(files.vocabulary or ())}
    shares = word_shares(files.topics, files.weights)
    first = [set(top_words(column, shares, FIRST_WORDS).tolist()) for column in files.topics.T]
    wanted = [{place[word] for word in theme["words"] if word in place} for theme in themes]
    if topics is None:
        return [max(len(words & found) for found in first) for words in wanted]
    return [len(words & first[topic]) for words, topic in zip(wanted, topics, strict=True)]


def fitted(corpus: str, k: int, seed: int, place: Path, *more: str) -> tuple[TopicModelFiles, float]:
    """A model as the command line fits it, and its held-out loss."""
    model, result = str(place / "model"), place / "evaluation.json"
    for words in (
        ["fit", "--corpus", corpus, "--model", model, "--k", str(k), "--seed", str(seed), *more],
        ["evaluate", "--corpus", corpus, "--model", model, "--output", str(result)],
    ):
        if spectral_spark(words):
            raise SystemExit(f"'{' '.join(words)}' failed")
    return read_model_files(model), float(json.loads(result.read_text())["loss"])


def measured(corpus: str, themes: str, k: int, seed: int, background: bool) -> dict[str, Any]:
    asked = load_seeds(themes)["topics"]
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        plain, loss = fitted(corpus, k, seed, Path(one))
        more = ["--background"] if background else []
        seeded, seeded_loss = fitted(corpus, k, seed, Path(two), "--seeds", themes, *more)
    numbers = [entry["topic"] for entry in seeded.summary["seeds"]["topics"]]
    kept = kept_words(seeded, asked, numbers)
    return {
        "corpus": Path(corpus).name, "themes": Path(themes).stem, "k": k, "background": background, "seed": seed,
        "loss": loss, "seeded_loss": seeded_loss, "rise": f"{seeded_loss - loss:+.4f}",
        "kept": " ".join(map(str, kept)), "fewest": int(np.min(kept)),
        "unseeded": " ".join(map(str, kept_words(plain, asked, None))),
        "warnings": seeded.summary["extra"].get("warnings", []),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--themes", required=True)
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--background", action="store_true")
    options = parser.parse_args()
    for seed in options.seeds:
        row = measured(options.corpus, options.themes, options.k, seed, options.background)
        everything = merge_rows(
            RESULTS / "seeds.json", [row], ("corpus", "themes", "k", "background", "seed"), context=context()
        )
        (RESULTS / "seeds.md").write_text(markdown_table(everything["rows"], COLUMNS))
        print(markdown_table([row], COLUMNS))


if __name__ == "__main__":
    main()
