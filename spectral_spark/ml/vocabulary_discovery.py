"""Finds the words of a Vector column: in its metadata, or in the fitted CountVectorizer before it in a Pipeline.

``CountVectorizerModel`` writes no words into the metadata of its column, and a Pipeline tells a stage nothing about the
stages before it. ``Pipeline.fit`` does keep the fitted stages in a local variable, which is read here from the call
stack; where that fails, the vocabulary is simply not known, and ``setVocabulary`` gives it.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.ml import Pipeline, PipelineModel
from pyspark.sql.types import StructType


def discovered_vocabulary(schema: StructType, features: str) -> tuple[str, ...] | None:
    """The words of a Vector column in the order of its entries; None if they cannot be found."""
    return _from_metadata(schema[features].metadata) or _from_pipeline(features)


def _from_metadata(metadata: dict[str, Any]) -> tuple[str, ...] | None:
    """Names of the attributes, where every attribute has one."""
    group = metadata.get("ml_attr") or {}
    kinds = group.get("attrs")
    named: dict[int, str] = {}
    for attributes in (kinds or {}).values():
        named |= {entry["idx"]: entry["name"] for entry in attributes if "idx" in entry and "name" in entry}
    size = group.get("num_attrs", len(named))
    return tuple(str(named[i]) for i in range(size)) if named and sorted(named) == list(range(size)) else None


def _from_pipeline(features: str) -> tuple[str, ...] | None:
    """The vocabulary of the latest stage that made the column, in the Pipelines that are being fitted right now."""
    for stages in _fitted_stages():
        for stage in reversed(list(_flat(stages))):
            if _output(stage) == features:
                words = getattr(stage, "vocabulary", None)
                return tuple(words) if isinstance(words, list | tuple) and words else None
    return None


def _fitted_stages() -> Iterator[list[Any]]:
    """Stages that were fitted before the caller's, of the innermost Pipeline first."""
    frame = sys._getframe()
    while frame is not None:
        if isinstance(frame.f_locals.get("self"), Pipeline) and frame.f_code.co_name == "_fit":
            stages = frame.f_locals.get("transformers")
            if isinstance(stages, list):
                yield stages
        frame = frame.f_back  # type: ignore[assignment]


def _flat(stages: Iterable[Any]) -> Iterator[Any]:
    for stage in stages:
        if isinstance(stage, PipelineModel):
            yield from _flat(stage.stages)
        else:
            yield stage


def _output(stage: Any) -> str | None:
    try:
        return str(stage.getOrDefault("outputCol"))
    except (AttributeError, KeyError, ValueError, TypeError):
        return None
