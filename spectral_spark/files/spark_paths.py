"""Where a corpus is put together: a hidden directory beside its final place, seen the same by Spark and by Arrow."""

import os
import re

from pyarrow import fs

from spectral_spark.files.directories import resolve


def spark_location(path: str) -> str:
    """The path as Spark must be told it: local ones with their scheme, whatever the cluster's default file system."""
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:/", path) and not path.startswith("file:"):
        return path
    return "file://" + resolve(path)[1]


def spark_readable(path: str) -> str:
    """The same for reading, where Spark would take brackets, braces and stars for a pattern."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", spark_location(path))


class Workplace:
    """Names of the parts of a corpus under construction.

    Parameters
    ----------
    path : the staging directory, as the user spells such paths (scheme included).
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.filesystem: fs.FileSystem
        self.filesystem, self.inside = resolve(path)

    def part(self, name: str) -> str:
        """Where Spark writes a part."""
        return f"{spark_location(self.path)}/{name}"

    def readable(self, name: str) -> str:
        """Where Spark reads it again."""
        return f"{spark_readable(self.path)}/{name}"

    def create(self, name: str) -> str:
        """A new directory for a part that the driver writes; the path inside the file system."""
        inside = f"{self.inside}/{name}"
        self.filesystem.create_dir(inside, recursive=True)
        return inside

    def delete(self, name: str) -> None:
        inside = f"{self.inside}/{name}"
        if self.filesystem.get_file_info(inside).type == fs.FileType.Directory:
            self.filesystem.delete_dir(inside)


def file_name(path: str) -> str:
    """Last component of a path, for messages."""
    return os.path.basename(path.rstrip("/")) or path
