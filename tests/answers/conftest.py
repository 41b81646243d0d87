"""One small fitted model and its documents, shared by the tests of answers."""

from typing import Any

import pytest

from spectral_spark import SpectralHDP, SpectralHDPModel


@pytest.fixture(scope="session")
def answering(documents: Any) -> SpectralHDPModel:
    """Five topics of the simulated tree a, b/x, b/y."""
    estimator = SpectralHDP(
        k=5, termsCol="terms", countsCol="counts", idCol="doc_id", vocabSize=300, exploreSweeps=0, refinePasses=1,
        vocabulary=[f"w{number}" for number in range(300)],
    )
    return estimator.fit(documents)
