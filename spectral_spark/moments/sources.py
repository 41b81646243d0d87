"""The sources of a state: fingerprints of the corpora that were added, and marks of those that were removed.

A mark stays until the same documents are added again, so that nothing is removed twice.
"""

from collections.abc import Iterable

from spectral_spark.errors import InputError

REMOVED = "removed:"


def removal(source: str) -> str:
    """The mark of documents that were removed."""
    return f"{REMOVED}{source}"


def added(mine: Iterable[str], theirs: Iterable[str]) -> tuple[str, ...]:
    """The sources of both states; a source that is in both is refused."""
    mine, theirs = set(mine), set(theirs)
    repeated = sorted(source for source in mine & theirs if not source.startswith(REMOVED))
    if repeated:
        raise InputError(f"moments: source {repeated[0]} is in both states; its documents would count twice")
    both = mine | theirs
    return tuple(sorted(both - {removal(source) for source in both}))


def subtracted(mine: Iterable[str], theirs: Iterable[str]) -> tuple[str, ...]:
    """The sources without the others, which are marked as removed; what was removed before is refused."""
    mine, theirs = set(mine), set(theirs)
    gone = sorted(source for source in theirs if removal(source) in mine)
    if gone:
        raise InputError(f"moments: source {gone[0]} was removed from this state before; its documents would be "
                         "subtracted twice")
    marks = {removal(source) for source in theirs if not source.startswith(REMOVED)}
    back = {source.removeprefix(REMOVED) for source in theirs - mine if source.startswith(REMOVED)}
    return tuple(sorted((mine - theirs) | marks | back))
