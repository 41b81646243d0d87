"""Saves a topic model, and keeps what people wrote into the model that it replaces: labels, and names in a taxonomy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyarrow import fs

from spectral_spark.errors import SpectralError
from spectral_spark.files.directories import Staging, exists, new_directory, read_file, resolve
from spectral_spark.files.labels_file import LABELS_TOML, LARGEST_LABELS
from spectral_spark.files.model_files import MODEL_KIND, MODEL_VERSION, TopicModelFiles, read_model_files
from spectral_spark.files.taxonomy_file import TAXONOMY_JSON
from spectral_spark.fit.topic_matching import match_topics
from spectral_spark.ml.persistence import DirectoryWriter
from spectral_spark.report.taxonomy_view import carried

BACKUP = f"{LABELS_TOML}.bak"
_MOST_BACKUPS = 99


@dataclass(frozen=True, eq=False)
class EditedFiles:
    """What people wrote into a model that is about to be replaced.

    Attributes
    ----------
    labels : the bytes of ``labels.toml``, None if there is none.
    backups : earlier files of labels, by name.
    model : the model, None if it cannot be read.
    """

    labels: bytes | None = None
    backups: Mapping[str, bytes] = field(default_factory=dict)
    model: TopicModelFiles | None = None

    @classmethod
    def at(cls, path: str) -> "EditedFiles":
        """Those at a path; nothing where there is no model."""
        if not exists(path):
            return cls()
        filesystem, inside = resolve(path)
        if filesystem.get_file_info(inside).type != fs.FileType.Directory:
            return cls()
        found = {
            info.base_name: read_file(filesystem, info.path)
            for info in filesystem.get_file_info(fs.FileSelector(inside))
            if info.base_name.startswith(LABELS_TOML) and info.is_file and (info.size or 0) <= LARGEST_LABELS
        }
        if not found and not exists(f"{str(path).rstrip('/')}/{TAXONOMY_JSON}"):
            return cls()
        try:
            model: TopicModelFiles | None = read_model_files(path)
        except SpectralError:
            model = None
        return cls(found.pop(LABELS_TOML, None), found, model)

    def continued(self, files: TopicModelFiles) -> TopicModelFiles:
        """The new model with the labels of the topics that its topics continue, where it has none of its own."""
        old = self.model
        if old is None or old.vocabulary != files.vocabulary or len(old.topics) != len(files.topics):
            return files
        if not old.labels and old.taxonomy is None:
            return files
        previous = match_topics(files.topics, old.topics)
        before = {int(new): int(was) for new, was in zip(previous.order, previous.previous, strict=True) if was >= 0}
        labels = {new: old.labels[was] for new, was in sorted(before.items()) if was in old.labels}
        named = replace(files, labels={**labels, **files.labels})
        if files.taxonomy is not None or old.taxonomy is None:
            return named
        folded = carried(old.taxonomy, named, before)
        return replace(named, taxonomy=folded.as_dict() if folded else None)

    def write_rest(self, staging: Staging, files: TopicModelFiles) -> str | None:
        """Put the file of labels aside if the new model does not have them all; the name that it gets."""
        for name, data in self.backups.items():
            staging.write_unlisted(name, data)
        known = set(files.labels.values())
        if self.labels is None or (self.model is not None and set(self.model.labels.values()) <= known):
            return None
        names = [BACKUP, *(f"{BACKUP}{number}" for number in range(2, _MOST_BACKUPS + 1))]
        name = next((name for name in names if name not in self.backups), names[-1])
        staging.write_unlisted(name, self.labels)
        return name


class ModelWriter(DirectoryWriter):
    """``write()`` of a topic model.

    Attributes
    ----------
    put_aside : after a save, the file that keeps labels of the replaced model which no topic continues; else None.
    """

    put_aside: str | None = None

    def __init__(self, files: TopicModelFiles, fill: Callable[[Staging, TopicModelFiles], Any]) -> None:
        super().__init__(MODEL_KIND, MODEL_VERSION, lambda staging: fill(staging, files))
        self._files, self._fill_with = files, fill

    def save(self, path: str) -> None:
        before = EditedFiles.at(path) if self.shouldOverwrite else EditedFiles()
        files = before.continued(self._files)
        with new_directory(path, MODEL_KIND, MODEL_VERSION, overwrite=self.shouldOverwrite) as staging:
            self._fill_with(staging, files)
            self.put_aside = before.write_rest(staging, files)
