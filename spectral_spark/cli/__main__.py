"""``python -m spectral_spark.cli`` is ``spectral-spark``."""

from spectral_spark.cli.run import end_process, main

if __name__ == "__main__":
    end_process(main())
