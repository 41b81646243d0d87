"""``python -m spectral_spark``: the command line, in environments whose scripts are not on the path."""

import sys

from spectral_spark.cli import main

sys.exit(main())
