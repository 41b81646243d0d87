"""Where it rests: staged directories with a manifest, locks, and the files of a model. No Spark."""
