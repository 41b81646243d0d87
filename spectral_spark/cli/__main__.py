"""``python -m spectral_spark.cli`` is ``spectral-spark``."""

from spectral_spark.cli.run import program

if __name__ == "__main__":
    program()
