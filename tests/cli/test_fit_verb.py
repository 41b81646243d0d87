"""The verbs ``fit`` and ``update`` on a small corpus: what a model keeps, starts from and says."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_spark import SpectralHDPModel
from spectral_spark.cli import main
from spectral_spark.cli.messages import with_flags
from spectral_spark.cli.parsing import Request, parse
from spectral_spark.cli.verbs.fit import VERB, fit_settings, text_recipe
from spectral_spark.cli.verbs.update import documents_lines
from spectral_spark.fit.planned_passes import planned_passes
from spectral_spark.ingest.demo_corpus import simulate_demo, write_demo
from spectral_spark.moments.coefficients import hdp_coefficients
from spectral_spark.moments.projection import ProjectedMoments
from spectral_spark.solve.rank import RankEvidence, noise_floor_rank

QUICK = ("--explore-sweeps", "2", "--refine-passes", "1")


@pytest.fixture(scope="module")
def place(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of 300 notes, and a model of 6 topics."""
    place = tmp_path_factory.mktemp("fit")
    write_demo(simulate_demo(300), place / "notes.jsonl")
    ingest = ["ingest", "--source", "table", "--input", str(place / "notes.jsonl"), "--text-col", "text", "--path-cols",
              "region,town", "--id-col", "id", "--min-documents", "2", "--output", str(place / "corpus"), "--quiet"]
    assert main(ingest, spark) == 0
    assert main(fit(place, "model", "--k", "6"), spark) == 0
    return place


def fit(place: Path, model: str, *more: str) -> list[str]:
    return ["fit", "--corpus", str(place / "corpus"), "--model", str(place / model), *QUICK, *more]


def test_another_k_starts_from_the_model(spark: Any, place: Path) -> None:
    assert main(fit(place, "eight", "--k", "8", "--from", str(place / "model")), spark) == 0
    first, other = (SpectralHDPModel.load(str(place / name)) for name in ("model", "eight"))
    assert (first.k, other.k) == (6, 8)
    assert other.basis.fingerprint == first.basis.fingerprint
    assert "range 1" not in other.summary.passNames
    assert "moments" not in other.summary.passNames
    assert other.summary.settings["refine_passes"] == 1


def test_more_topics_than_stand_out_are_remarked_with_numbers(
    spark: Any, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(fit(place, "forty", "--k", "40"), spark) == 0
    (said,) = (line for line in capsys.readouterr().out.splitlines() if "warning: 40 topics were asked for" in line)
    above, columns = (int(number) for number in re.findall(r"only (\d+) of the (\d+) eigenvalues", said)[0])
    assert above < 40 < columns
    assert "compare the held-out loss with that of --k auto" in said
    assert SpectralHDPModel.load(str(place / "forty")).summary.warnings


@pytest.mark.parametrize(("flags", "grows"), [
    ((), True), (("--k", "auto"), True), (("--k", "9"), False), (("--basis-size", "64"), False),
    (("--range-passes", "3"), False),
])
def test_an_automatic_k_may_widen_its_basis_from_the_command_line_too(flags: tuple[str, ...], grows: bool) -> None:
    words = ["fit", "--corpus", "c", "--model", "m", *flags]
    request = parse(words)
    assert isinstance(request, Request)
    wanted = fit_settings(request.settings)
    assert wanted.grows_basis == grows
    assert ("rank" in planned_passes(wanted, 10_000, 10**6)) == grows


def test_the_hint_at_a_larger_basis_names_the_flag() -> None:
    evidence = RankEvidence(
        moments := ProjectedMoments(np.zeros(4), np.eye(4), None), (moments, moments), np.eye(4),
        hdp_coefficients([1.0]), np.eye(4), np.ones(4) / 4,
    )
    reason = noise_floor_rank(evidence).reason
    assert with_flags(reason).endswith("is signal: a larger --basis-size may find more")
    assert any(flag.name == "basis-size" for flag in VERB.flags)


def test_a_k_beyond_the_basis_grows_it(spark: Any, place: Path) -> None:
    columns = SpectralHDPModel.load(str(place / "model")).basis.size
    assert main(fit(place, "many", "--k", str(columns + 1), "--from", str(place / "model")), spark) == 0
    grown = SpectralHDPModel.load(str(place / "many"))
    assert grown.basis.size > columns
    assert "range 1" in grown.summary.passNames


@pytest.mark.parametrize(("flags", "message"), [
    (("--k", "9", "--basis-size", "5"), "raise --basis-size to at least 9"),
    (("--preset", "paper", "--solver", "polar", "--explore-sweeps", "0"), "--solver polar is not in the paper"),
    (("--preset", "paper"), "--refine-passes 0 leaves out sampling"),
    (("--layers", "4", "--concentrations", "3,0.5"), "--concentrations has 2 numbers for 4 layers; give 3"),
    (("--node-sums", "keep"), "--weighting tokens there are none"),
    (("--layers", "2", "--tensors", "groups"), "--layers 2 ignores the groups"),
    (("--basis", "MODEL", "--from", "MODEL"), "--basis and --from each bring a basis"),
    (("--basis", "MODEL", "--basis-size", "30"), "--basis-size is about finding a basis, and --basis gives one"),
    (("--basis", "MODEL", "--word-scaling", "0.5"), "--word-scaling is about finding a basis"),
])
@pytest.mark.parametrize("dry", [True, False])
def test_flags_that_contradict_each_other_are_refused_before_anything_is_read(
    spark: Any, place: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], message: str, dry: bool
) -> None:
    given = [str(place / "model") if word == "MODEL" else word for word in flags]
    passes = () if "--preset" not in flags else ("--refine-passes", "0")
    capsys.readouterr()
    assert main([*fit(place, "refused", *given), *passes, *(["--dry-run"] if dry else [])], spark) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    assert len([line for line in said.err.splitlines() if line.startswith("spectral-spark: ")]) == 1
    assert not (place / "refused").exists()


def test_a_number_for_every_level_but_not_of_this_tree(
    spark: Any, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(fit(place, "refused", "--concentrations", "1,2,3,4,5"), spark) == 2
    assert "--concentrations has 5 numbers, but the tree has 4 layers; give 3" in capsys.readouterr().err
    assert not (place / "refused").exists()


def test_a_model_of_the_command_line_reads_text(place: Path) -> None:
    model = SpectralHDPModel.load(str(place / "model"))
    shares = model.transform(["bread and butter from the oven", "zyzzyva"])
    assert shares.shape == (2, 6)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert shares[0].max() > 2 * shares[1].min()
    assert model.textRecipe is not None
    assert "the" in model.textRecipe.stop_words


@pytest.mark.parametrize("settings", [
    {"source": "uci", "min_word_length": 3, "stop_words": "english"},
    {"source": "table", "tokens_col": "words", "min_word_length": 3, "stop_words": "english"},
    {"source": "folders", "min_word_length": 3, "stop_words": "a/list/that/is/gone.txt"},
    {},
])
def test_words_of_unknown_make_have_no_recipe(settings: dict[str, Any]) -> None:
    assert text_recipe({"settings": settings}) is None


def test_an_update_says_what_became_of_the_documents(
    spark: Any, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = (place / "notes.jsonl").read_text().splitlines()
    other = [json.loads(line) | {"id": f"new {number}"} for number, line in enumerate(notes[:40])]
    (place / "today.jsonl").write_text("\n".join([*notes[:60], *map(json.dumps, other)]) + "\n")
    ingest = ["ingest", "--source", "table", "--input", str(place / "today.jsonl"), "--text-col", "text", "--path-cols",
              "region,town", "--id-col", "id", "--vocabulary", str(place / "model"), "--output", str(place / "today"),
              "--quiet"]
    assert main(ingest, spark) == 0
    update = ["update", "--corpus", str(place / "today"), "--model", str(place / "model"), "--output",
              str(place / "updated"), "--skip-known"]
    capsys.readouterr()
    assert main(update, spark) == 0
    said = capsys.readouterr().out
    assert "300 → 340 documents" in said
    assert "documents: 40 added; skipped: 60 in the model already" in said
    assert "replay: 2 sweeps over all of the documents, 340 with" in said


def test_what_cannot_be_removed_is_counted() -> None:
    tally = {"given": 9, "taken": 4, "known": 0, "changed": 2, "absent": 3}
    assert documents_lines("removed", {"documents": tally}) == [
        "  documents: 4 removed; skipped: 3 not in the model, 2 changed since then (same id, other words or path)"
    ]
    assert documents_lines("added", {}) == []
