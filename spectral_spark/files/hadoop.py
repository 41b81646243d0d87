"""Remote files through Hadoop, in the JVM of the running Spark session: what Spark can reach, the driver can reach too.

No second configuration is needed: credentials, endpoints and connectors are those of the session. Nothing here imports
Spark; where no session runs, there is no JVM to ask, and ``files.paths`` goes to pyarrow instead.
"""

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
from pyarrow import fs

from spectral_spark.errors import InputError, StoreError
from spectral_spark.files.hadoop_streams import HadoopReader, HadoopWriter
from spectral_spark.files.java_errors import java_errors
from spectral_spark.files.reachable import check_reachable

_RENAMING = {"hdfs", "viewfs", "webhdfs", "swebhdfs", "ofs", "maprfs"}         # where a directory is renamed at once
_CONDITIONAL = "fs.option.create.conditional.overwrite"     # a put that fails over an object; since Hadoop 3.4.2


def hadoop_file_system(uri: str) -> tuple[fs.FileSystem, str] | None:
    """The file system of a URI and the path inside it; None where no Spark session with a JVM is running."""
    jvm, configuration = _session()
    if jvm is None:
        return None
    scheme, _, inside = uri.partition(":")
    inside = inside.removeprefix("//") if inside.startswith("//") else inside
    handler = HadoopFiles(scheme, jvm, configuration)
    try:
        check_reachable(scheme, inside, configuration)
        handler.open(inside)
    except StoreError as error:
        why = str(error).removeprefix(f"'{inside}': ")      # which was named already
        hint = "; outside Amazon EMR its scheme is s3a" if scheme == "s3" else ""
        raise StoreError(f"cannot reach '{uri}': {why}{hint}") from None
    except OSError as error:
        raise InputError(f"cannot reach '{uri}': {error}") from None
    return fs.PyFileSystem(handler), inside.rstrip("/") or inside


def hadoop_handler(filesystem: fs.FileSystem) -> "HadoopFiles | None":
    """What stands behind a file system that :func:`hadoop_file_system` gave; None for others."""
    handler = getattr(filesystem, "handler", None)
    return handler if isinstance(handler, HadoopFiles) else None


def renames_directories(filesystem: fs.FileSystem) -> bool:
    """Whether moving a directory there is one step that is done or not done."""
    handler = hadoop_handler(filesystem)
    return handler.renames_directories if handler else filesystem.type_name in ("local", "hdfs", "mock")


def _session() -> tuple[Any, Any]:
    """The JVM of the running session, and Hadoop's configuration there."""
    pyspark: Any = sys.modules.get("pyspark")
    context: Any = getattr(getattr(pyspark, "SparkContext", None), "_active_spark_context", None)
    if context is None or getattr(context, "_jsc", None) is None:
        return None, None
    jvm: Any = context._jvm
    session = getattr(sys.modules.get("pyspark.sql"), "SparkSession", None)
    active: Any = getattr(session, "_instantiatedSession", None)
    if active is not None and getattr(active, "_sc", None) is context:
        with suppress(Exception):                           # the settings of this session, on top of the application's
            return jvm, active._jsparkSession.sessionState().newHadoopConf()
    return jvm, context._jsc.hadoopConfiguration()


class HadoopFiles(fs.FileSystemHandler):
    """The operations of ``pyarrow.fs`` on one scheme, carried out by Hadoop's ``FileSystem``.

    Paths are those of the URI without its scheme: ``bucket/key`` for ``s3a://bucket/key``.
    """

    def __init__(self, scheme: str, jvm: Any, configuration: Any) -> None:
        self.scheme, self._jvm, self._configuration = scheme, jvm, configuration

    @property
    def _gateway(self) -> Any:
        return sys.modules["pyspark"].SparkContext._gateway

    @property
    def renames_directories(self) -> bool:
        """Whether moving a directory is one step that is done or not done."""
        return self.scheme in _RENAMING

    def open(self, path: str) -> tuple[Any, Any]:
        """Hadoop's ``FileSystem`` and ``Path`` of a path."""
        with java_errors(path):
            place = self._jvm.org.apache.hadoop.fs.Path(f"{self.scheme}://{path}")
            return place.getFileSystem(self._configuration), place

    def create(self, path: str, data: bytes) -> bool:
        """Write a file unless one is there, in one step where the store can do that; whether it was written."""
        files, place = self.open(path)
        with java_errors(path):
            if files.exists(place):
                return False
            try:
                builder = files.createFile(place).overwrite(False).recursive().opt(_CONDITIONAL, True)
                stream = builder.build()
            except Exception as error:
                if "FileAlreadyExists" in str(error):
                    return False
                raise
            try:
                stream.write(data)
                stream.close()
            except Exception as error:
                if re.search(r"FileAlreadyExists|PreconditionFailed|Status Code: 412|RemoteFileChanged", str(error)):
                    return False
                raise
        return True

    # What pyarrow asks for, by its names.

    def get_type_name(self) -> str:
        return f"hadoop-{self.scheme}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HadoopFiles) and other.scheme == self.scheme

    def __hash__(self) -> int:
        return hash(self.scheme)

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: Sequence[str]) -> list[fs.FileInfo]:
        return [self._info(path) for path in paths]

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        files, place = self.open(selector.base_dir)
        try:
            with java_errors(selector.base_dir):
                found = [self._status(status) for status in files.listStatus(place)]
        except FileNotFoundError:
            if selector.allow_not_found:
                return []
            raise
        found = [info for info in found if info.path.rstrip("/") != selector.base_dir.rstrip("/")]
        if selector.recursive:
            for info in list(found):
                if info.type == fs.FileType.Directory:
                    inner = fs.FileSelector(info.path, allow_not_found=True, recursive=True)
                    found += self.get_file_info_selector(inner)
        return found

    def create_dir(self, path: str, recursive: bool) -> None:
        files, place = self.open(path)
        with java_errors(path):
            files.mkdirs(place)

    def delete_dir(self, path: str) -> None:
        files, place = self.open(path)
        with java_errors(path):
            if not files.delete(place, True):
                raise FileNotFoundError(f"there is no '{self.scheme}://{path}'")

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        for info in self.get_file_info_selector(fs.FileSelector(path, allow_not_found=missing_dir_ok)):
            (self.delete_dir if info.type == fs.FileType.Directory else self.delete_file)(info.path)

    def delete_root_dir_contents(self) -> None:
        raise OSError("the root of a file system is not deleted")

    def delete_file(self, path: str) -> None:
        self.delete_dir(path)

    def move(self, src: str, dest: str) -> None:
        """Rename a file, replacing another, or a directory, which replaces only an empty one.

        ``FileSystem.rename`` of HDFS would move a directory into another that is in its place.
        """
        files, place = self.open(src)
        target = self.open(dest)[1]
        with java_errors(src):
            if self.renames_directories:
                options = self._jvm.org.apache.hadoop.fs.Options.Rename
                replacing = self._gateway.new_array(options, 1)
                replacing[0] = options.OVERWRITE
                context = self._jvm.org.apache.hadoop.fs.FileContext
                context.getFileContext(place.toUri(), self._configuration).rename(place, target, replacing)
            elif not files.rename(place, target):
                raise OSError(f"'{self.scheme}://{src}' cannot be renamed to '{self.scheme}://{dest}'")

    def close_to_others(self, path: str) -> None:
        """Let only the owner into a directory."""
        files, place = self.open(path)
        with java_errors(path):
            files.setPermission(place, self._jvm.org.apache.hadoop.fs.permission.FsPermission("700"))

    def copy_file(self, src: str, dest: str) -> None:
        with self.open_input_stream(src) as source:
            data = source.read()                            # if that fails, no empty file appears
        with self.open_output_stream(dest, None) as sink:
            sink.write(data)

    def open_input_stream(self, path: str) -> pa.NativeFile:
        return self.open_input_file(path)

    def open_input_file(self, path: str) -> pa.NativeFile:
        files, place = self.open(path)
        with java_errors(path):
            size = files.getFileStatus(place).getLen()
            return pa.PythonFile(HadoopReader(files.open(place), path, size), mode="r")

    def open_output_stream(self, path: str, metadata: Any) -> pa.NativeFile:
        files, place = self.open(path)
        with java_errors(path):
            return pa.PythonFile(HadoopWriter(files.create(place, True), path), mode="w")

    def open_append_stream(self, path: str, metadata: Any) -> pa.NativeFile:
        raise OSError(f"nothing is appended to '{self.scheme}://{path}'; object stores cannot")

    def _info(self, path: str) -> fs.FileInfo:
        files, place = self.open(path)
        try:
            with java_errors(path):
                return self._status(files.getFileStatus(place), path)
        except FileNotFoundError:
            return fs.FileInfo(path, fs.FileType.NotFound)

    def _status(self, status: Any, path: str | None = None) -> fs.FileInfo:
        if path is None:
            path = re.sub(r"^[^:/]+:(//)?", "", status.getPath().toString())
        changed = status.getModificationTime() * 1_000_000
        if status.isDirectory():
            return fs.FileInfo(path, fs.FileType.Directory, mtime_ns=changed)
        return fs.FileInfo(path, fs.FileType.File, size=status.getLen(), mtime_ns=changed)
