"""``spark-submit jobs/choose.py …`` is ``spectral-spark choose …`` on a cluster; ``--help`` explains it."""

from spectral_spark.cli.run import run_job

if __name__ == "__main__":
    run_job("choose")
