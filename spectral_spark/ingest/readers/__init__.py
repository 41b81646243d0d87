"""One small reader per kind of input; each turns it into rows of documents, none knows about vocabularies."""

from spectral_spark.ingest.readers.source import Source, read_source

__all__ = ["Source", "read_source"]
