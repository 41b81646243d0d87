"""The command line: ``spectral-spark VERB …``, the same as ``spark-submit jobs/VERB.py …``."""

from spectral_spark.cli.run import main

__all__ = ["main"]
