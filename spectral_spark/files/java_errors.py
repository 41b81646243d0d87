"""Exceptions of Hadoop as errors that say what to do, so that nobody has to read a Java stack trace."""

import re

from spectral_spark.errors import StoreError

# Causes of failures that people meet when a store is set up, and what to do about them.
_REMEDIES = (
    (r"ClassNotFoundException|No FileSystem for scheme|UnsupportedFileSystemException|NoClassDefFoundError",
     "Spark has no connector for it: put the connector's jars (for s3a: hadoop-aws in the version of Spark's Hadoop, "
     "and the AWS SDK) on spark.jars"),
    (r"ExpiredToken|token (?:included in the request )?(?:is|has) expired|InvalidAccessKeyId|SignatureDoesNotMatch|"
     r"InvalidToken|NoAuthWithAWSException|Unable to load credentials|No AWS Credentials|Status Code: 401",
     "the credentials are missing, wrong or expired: renew them"),
    (r"AccessDenied|AccessControlException|Status Code: 403|Forbidden|Permission denied",
     "permission denied: ask for the right to use it, or renew expired credentials"),
    (r"UnknownHost|ConnectException|Connection refused|NoRouteToHost|UnresolvedAddress|SocketTimeout|ConnectTimeout|"
     r"Unable to execute HTTP request|Network is unreachable",
     "it does not answer: check the address and the network"),
    (r"RPC response has a length|InvalidProtocolBuffer|RPC response exceeds|end-group tag",
     "something else than a NameNode answers there: check the port (8020 by default; 9870 is that of its web page)"),
    (r"NoSuchBucket|bucket does not exist|UnknownStoreException",
     "there is no such bucket: make it, or correct the name"),
)


class java_errors:
    """A block in which exceptions of Java become those that Python has for files."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        origin = getattr(error, "_origin", None)            # of those that Spark has put a class of its own around
        java = getattr(error, "java_exception", None) or getattr(origin, "java_exception", None)
        if java is None:
            return
        text = str(java.toString())
        name = text.partition(":")[0].rpartition(".")[2]
        if name in ("FileNotFoundException", "NoSuchFileException"):
            raise FileNotFoundError(2, "there is no such file", self._path) from None
        if name == "FileAlreadyExistsException":
            raise FileExistsError(17, "it is there already", self._path) from None
        whole = f"{text}\n{error}\n{origin or ''}"
        remedy = next((said for pattern, said in _REMEDIES if re.search(pattern, whole)), "")
        if remedy:
            raise StoreError(f"'{self._path}': {remedy} ({_first(text)})") from None
        raise OSError(f"{_first(text)} ('{self._path}')") from None


def _first(text: str) -> str:
    return text.splitlines()[0][:200]
