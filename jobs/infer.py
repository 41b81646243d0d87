"""``spark-submit jobs/infer.py …`` is ``spectral-spark infer …`` on a cluster; ``--help`` explains it."""

from spectral_spark.cli.run import run_job

if __name__ == "__main__":
    run_job("infer")
