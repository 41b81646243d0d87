"""A fit over a tree with as many nodes as documents, in the driver's memory: every node gets proportions of its own."""

import numpy as np
import pytest

from spectral_spark.engine.corpus import CountedCorpus
from spectral_spark.engine.progress import Progress
from spectral_spark.engine.sample_corpus import open_sample
from spectral_spark.fit import fit_settings
from spectral_spark.fit.fit_run import FitRun
from spectral_spark.fit.fit_settings import FitSettings
from spectral_spark.fit.fitted_topics import Topics
from spectral_spark.fit.gibbs_step import sample_topics
from spectral_spark.fit.refine_step import settle_topics
from spectral_spark.ingest.simulate import SimulatedCorpus, simulate_hdp

K, GROUPS, LEAVES = 4, 6, 30


@pytest.fixture(scope="module")
def drawn() -> SimulatedCorpus:
    return simulate_hdp((120, K), [[1] * LEAVES] * GROUPS, [3.0, 3.0, 1.0], 30, seed=1)


def fitted(drawn: SimulatedCorpus, settings: FitSettings) -> Topics:
    corpus: CountedCorpus = open_sample(None, drawn.batch, drawn.tree.paths, None, Progress())  # type: ignore[arg-type]
    nodes = len(drawn.tree)
    start = Topics(drawn.topics + 1e-3, np.full(K, 1 / K), np.full((nodes, K), 1 / K), (), 1.0, {})
    run = FitRun()
    return settle_topics(sample_topics(start, corpus, settings, run), corpus, settings, run)


@pytest.mark.parametrize("given", [{}, {"refine_passes": 1}])
def test_every_node_has_proportions_of_its_own_in_the_end(
    drawn: SimulatedCorpus, given: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit_settings, "SAMPLE_WORDS", 1_000)            # so that all words are swept after a search
    settings = FitSettings(k=K, explore_sweeps=20, **given)
    found = fitted(drawn, settings)
    proportions = found.node_proportions
    assert proportions.shape == (len(drawn.tree), K)
    np.testing.assert_allclose(proportions.sum(axis=1), 1.0, rtol=1e-9)
    leaves = proportions[drawn.tree.level == 2]
    assert len(np.unique(leaves.round(7), axis=0)) > GROUPS * LEAVES // 2
    np.testing.assert_array_equal(fitted(drawn, settings).node_proportions, proportions)
