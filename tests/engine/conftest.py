"""Lets the tests of this folder import their shared corpora, and ships its kernels to the workers by value."""

import sys
from pathlib import Path

import pytest
from pyspark import cloudpickle

sys.path.insert(0, str(Path(__file__).parent))

import corpora

cloudpickle.register_pickle_by_value(corpora)


@pytest.fixture(autouse=True)
def _passes_run_on_executors(on_executors: None) -> None:
    """What is tested here is how work is spread; ``test_driver_corpus.py`` tests what stays on the driver."""
