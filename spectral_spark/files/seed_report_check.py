"""What a saved model says about its seeds and its lineage, checked: it may come from anywhere."""

from typing import Any

from spectral_spark.files.safe_reading import damaged

_LONGEST_LINEAGE = 10_000
_ENTRY: dict[str, tuple[type, ...]] = {
    "topic": (int,), "name": (str,), "share": (int, float), "kept": (int,), "words": (list,), "not": (dict,),
}
_SHARES = ("here", "share_there")


def check_own_topics(summary: dict[str, Any], where: str) -> None:
    """Refuse a run report whose ``seeds`` or ``lineage`` are not what a fit writes."""
    k = summary.get("k", 0)
    lineage, seeds = summary.get("lineage") or [], summary.get("seeds") or {}
    if lineage and (len(lineage) != k or not all(isinstance(text, str) and len(text) <= _LONGEST_LINEAGE
                                                 for text in lineage)):
        raise damaged(where, f"'lineage' does not name the origin of {k} topics")
    if not seeds:
        return
    entries, background = seeds.get("topics"), seeds.get("background")
    if not isinstance(entries, list) or not all(map(_is_entry, entries)):
        raise damaged(where, "'seeds' is of another kind")
    numbers = [entry["topic"] for entry in entries] + ([] if background is None else [background])
    if not all(_is_topic(number, k) for number in numbers) or len(set(numbers)) < len(numbers):
        raise damaged(where, "'seeds' has topics that are not there, or one of them twice")
    if not all(_is_word(row, k) for entry in entries for row in entry["words"]):
        raise damaged(where, "'seeds' has words of another kind")


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and all(isinstance(entry.get(name), kinds) for name, kinds in _ENTRY.items())


def _is_word(row: Any, k: int) -> bool:
    return (
        isinstance(row, dict) and isinstance(row.get("word"), str) and _is_topic(row.get("most"), k)
        and all(isinstance(row.get(name), int | float) for name in _SHARES)
    )


def _is_topic(number: Any, k: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < k
