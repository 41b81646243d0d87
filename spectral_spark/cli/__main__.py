"""``python -m spectral_spark.cli`` is ``spectral-spark``."""

import sys

from spectral_spark.cli.run import main

if __name__ == "__main__":
    sys.exit(main())
