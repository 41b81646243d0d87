"""``spark-submit jobs/compare.py …`` is ``spectral-spark compare …`` on a cluster; ``--help`` explains it."""

from spectral_spark.cli.run import run_job

if __name__ == "__main__":
    run_job("compare")
