"""What a run will need, in the words of ``--dry-run``."""

from spectral_spark.engine.memory import GIB, memory_need


def memory_line(terms: int, columns: int, k: int | str | None = None) -> str:
    """Memory for moments of so many words in a basis of so many columns; ``k`` is a number, ``auto`` or not said."""
    need = memory_need(terms, columns, k if isinstance(k, int) else None)
    return f"memory: about {need.driver / GIB:.1f} GiB on the driver, {need.worker / GIB:.1f} GiB in each Python worker"
