"""``python -m spectral_spark``: the command line, in environments whose scripts are not on the path."""

from spectral_spark.cli.run import program

program()
