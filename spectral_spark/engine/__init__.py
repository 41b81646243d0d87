"""How it runs: the only package that runs Spark work."""
