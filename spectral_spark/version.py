"""The version of the package, kept apart so that every layer may name it."""

__version__ = "0.1.0"
