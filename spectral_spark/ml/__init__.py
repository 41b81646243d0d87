"""What users import: pyspark.ml estimators and models."""
