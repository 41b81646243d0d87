"""``spark-submit jobs/edit.py …`` is ``spectral-spark edit …`` on a cluster; ``--help`` explains it."""

from spectral_spark.cli.run import run_job

if __name__ == "__main__":
    run_job("edit")
