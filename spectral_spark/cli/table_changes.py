"""``update --changes``: a model follows a Delta table. The model says which columns and version it was made from."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from spectral_spark.errors import InputError, SettingsError

if TYPE_CHECKING:
    from spectral_spark.cli.run import CommandRun
    from spectral_spark.ml.hdp import SpectralHDPModel

_COLUMNS = ("text_col", "path_cols", "id_col", "missing_path", "drop_duplicates", "tokens_col")


def table_of(manifest: dict[str, Any]) -> dict[str, Any] | None:
    """What a model keeps of the table that its corpus was made from; None if that has no versions."""
    version = manifest.get("notes", {}).get("table_version")
    if version is None:
        return None
    given = manifest["settings"]
    return {"name": given["input"], "version": version, "format": manifest["notes"]["format"],
            **{name: given.get(name) for name in _COLUMNS}}


def plan_changes(settings: Namespace, summary: dict[str, Any]) -> list[str]:
    """What ``--changes`` will do, after a check of the flags that go with it."""
    if not settings.changes:
        for flag in ("since-version", "table-version"):
            if getattr(settings, flag.replace("-", "_")) is not None:
                raise SettingsError(f"--{flag} goes with --changes TABLE; give that too, or leave it out")
        return []
    if settings.corpus or settings.remove:
        raise SettingsError("--changes already adds and removes documents; give --corpus and --remove in another run")
    table = _table(summary)
    since = _since(settings, table)
    until = "the newest" if settings.table_version is None else settings.table_version
    return [f"apply the changes of '{settings.changes}' after version {since}, up to {until}"]


def changed_by_table(run: "CommandRun", model: "SpectralHDPModel", settings: Namespace) -> "SpectralHDPModel":
    """The model after the changes; it remembers the version that it stands at now."""
    from spectral_spark.cli.opened import with_columns_of
    from spectral_spark.ingest.lake_tables import LakeTable, find_table
    from spectral_spark.ml.change_feed import apply_changes, read_changes

    known = _table({"extra": model.summary.extra})
    found = find_table(run.spark, settings.changes, None) or LakeTable(settings.changes, "files", False)
    feed, version = read_changes(run.spark, found, _since(settings, known), settings.table_version)
    corpus = model.summary.extra["corpus"]
    columns: dict[Any, Any] = {model.textCol: known["text_col"], model.idCol: known["id_col"]}
    if known["path_cols"]:
        columns[model.pathCols] = list(known["path_cols"])
    reading = model.copy(columns).setProgress(run.passes)
    changed = reading if feed is None else apply_changes(reading, _with_paths(feed, known))
    return with_columns_of(model, changed, ("textCol", "idCol", "pathCols")).setCorpus(
        corpus.get("name", ""), corpus.get("dropped", {}), corpus.get("held_out"), corpus.get("cut_words"),
        known | {"version": version},
    )


def _with_paths(feed: Any, known: dict[str, Any]) -> Any:
    """Documents without a group are filed as ``ingest`` filed them."""
    if known.get("missing_path") != "unknown":
        return feed
    from pyspark.sql import functions as F

    for name in known["path_cols"] or ():
        feed = feed.withColumn(name, F.coalesce(F.col(f"`{name}`").cast("string"), F.lit("unknown")))
    return feed


def _table(summary: dict[str, Any]) -> dict[str, Any]:
    table = ((summary.get("extra") or {}).get("corpus") or {}).get("table")
    if not isinstance(table, dict) or not {"name", "version", *_COLUMNS} <= table.keys():
        raise InputError("--changes: this model was not made from a corpus of a Delta table, so its columns are not "
                         "known; ingest the table and fit a model to that corpus first")
    if not table["id_col"] or not table["text_col"]:
        raise InputError("--changes: documents are told apart by their ids and read as text; ingest the table with "
                         "--id-col and --text-col, and fit a model to that corpus first")
    if table["drop_duplicates"]:
        raise InputError("--changes: the corpus was made without duplicates, which single changes cannot tell; ingest "
                         "the table without --drop-duplicates, and fit a model to that corpus first")
    return table


def _since(settings: Namespace, table: dict[str, Any]) -> int:
    since = table["version"] if settings.since_version is None else settings.since_version
    if not isinstance(since, int):
        raise InputError("--changes: the model does not say at which version it stands; give --since-version")
    return since
