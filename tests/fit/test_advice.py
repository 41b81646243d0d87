"""What a fit remarks about its settings."""

import numpy as np
import pytest

from spectral_spark.fit.advice import warn_of_balance, warn_of_layers, warn_of_noise
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.solve.rank import RankChoice
from spectral_spark.tree.census import Census
from spectral_spark.tree.nodes import DocumentTree


@pytest.mark.parametrize(("k", "floor", "rule", "said"), [
    (5, 0.5, "given", True), (2, 0.5, "given", False), (5, None, "given", False), (5, 0.5, "noise-floor", False),
])
def test_more_topics_than_stand_out_are_remarked(k: int, floor: float | None, rule: str, said: bool) -> None:
    run = FitRun()
    warn_of_noise(RankChoice(k, np.array([4.0, 1.0, 0.3, 0.2, 0.1, -0.1]), floor, rule, ""), run)
    assert bool(run.warnings) == said
    if said:
        assert "5 topics were asked for, but only 2 of the 6 eigenvalues exceed the noise floor 0.5" in run.warnings[0]


def census(*paths: tuple[str, ...]) -> Census:
    tree = DocumentTree.from_paths(paths)
    documents = np.array([int(path in paths) for path in tree.paths])
    return Census(tree, documents, documents * 10.0, documents * 100.0)


@pytest.mark.parametrize(("paths", "given", "said"), [
    ((("a", "x"), ("a", "y")), {"group_balance": 1.0}, "all documents are in one top-level group"),
    ((("a",), ("b",)), {"group_balance": 1.0, "refine_passes": 0}, "`refinePasses=0` leaves both out"),
    ((("a",), ("b",)), {"group_balance": 1.0}, None),
    ((("a",),), {}, None),
])
def test_a_balance_that_changes_nothing_is_remarked(
    paths: tuple[tuple[str, ...], ...], given: dict[str, float], said: str | None
) -> None:
    run = FitRun()
    warn_of_balance(census(*paths), FitSettings(**given), run)    # type: ignore[arg-type]
    assert (said in run.warnings[0]) if said else not run.warnings


@pytest.mark.parametrize(("layers", "said"), [(9, True), (5, True), (4, False), (3, False), ("all", False)])
def test_layers_that_the_tree_does_not_have_are_remarked(layers: int | str, said: bool) -> None:
    run = FitRun()
    warn_of_layers(census(("a", "x"), ("a", "y"), ("b",)), FitSettings(layers=layers), run)
    assert bool(run.warnings) == said
    if said:
        assert f"`layers` is {layers}, but the tree has 4 layers, from the root to the documents" in run.warnings[0]
