"""Where the topics of a model come from whose topics were merged or split by hand.

Every topic has a short text: its number in the fitted model, ``3+7`` for two that were merged, ``12a`` and ``12b`` for
the parts of one that was split, and combinations such as ``(3+7)a``. Updates carry the texts on; ``new`` is a topic
that an update found.
"""

from collections.abc import Sequence

import numpy as np

NEW = "new"


def lineage_of(lineage: Sequence[str], k: int) -> list[str]:
    """The lineage of every topic; a topic of a model that nobody has edited comes from itself."""
    return list(lineage) if len(lineage) == k else [str(topic) for topic in range(k)]


def merged_lineage(parts: Sequence[str]) -> str:
    """The text of a topic that was merged from these."""
    return "+".join(parts)


def split_lineage(text: str) -> tuple[str, str]:
    """The texts of the two parts of a topic."""
    whole = f"({text})" if "+" in text else text
    return f"{whole}a", f"{whole}b"


def carried_lineage(lineage: Sequence[str], previous: np.ndarray) -> list[str]:
    """The lineage after an update, whose topics were those of ``previous`` before (−1 for a new one)."""
    if not lineage:
        return []
    return [lineage[old] if 0 <= old < len(lineage) else NEW for old in previous.tolist()]
