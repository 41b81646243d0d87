"""Lets the tests of this folder import their shared corpora, and ships its kernels to the workers by value."""

import sys
from pathlib import Path

from pyspark import cloudpickle

sys.path.insert(0, str(Path(__file__).parent))

import corpora

cloudpickle.register_pickle_by_value(corpora)
