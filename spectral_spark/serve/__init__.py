"""Fitted topics without Spark: ``TopicModel`` scores texts and counts with NumPy; an MLflow flavour serves it."""
