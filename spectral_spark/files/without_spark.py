"""Remote files where no Spark session is running: through the clients of pyarrow, with their own configuration.

These clients try again, some for a quarter of an hour, where nobody answers. So the first request to a store is made
here, with a short limit, and what is wrong is said together with what to do. A store that has answered is not asked
again.
"""

import re
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from spectral_spark.errors import StoreError

SECONDS = 10                         # that the first request may take, where a client lets us say so
_SCHEMES = {"s3a": "s3", "s3n": "s3"}
_REMEDIES = (
    (r"libjvm|libhdfs|CLASSPATH",
     "without a Spark session, HDFS needs Java and Hadoop's libhdfs (JAVA_HOME, ARROW_LIBHDFS_DIR and CLASSPATH): set "
     "them, or copy it to another place"),
    (r"NETWORK_CONNECTION|CURL error|curlCode|Could(?:n't| not) (?:connect|resolve)|[Tt]imed? ?out",
     "it does not answer: check the address and the network, and that credentials are set"),
    (r"ExpiredToken|InvalidAccessKeyId|INVALID_ACCESS_KEY_ID|SignatureDoesNotMatch|INVALID_SIGNATURE|InvalidToken|"
     r"[Cc]redentials|OAuth2|UNAUTHENTICATED|HTTP status 40[01]",
     "the credentials are missing, wrong or expired: renew them"),
    (r"ACCESS_DENIED|AccessDenied|PERMISSION_DENIED|HTTP status 403|Forbidden",
     "permission denied: ask for the right to use it, or renew expired credentials"),
    (r"NO_SUCH_BUCKET|NoSuchBucket|bucket does not exist", "there is no such bucket: make it, or correct the name"),
)
_answered: set[tuple[str, str]] = set()


def arrow_file_system(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of a URI and the path inside it; a store that refuses or does not answer is named."""
    scheme, _, rest = uri.partition(":")
    known = f"{_SCHEMES.get(scheme, scheme)}:{rest}"
    try:
        filesystem, inside = fs.FileSystem.from_uri(known)
        _ask_once(known, filesystem, inside)
    except (pa.ArrowException, OSError) as error:
        shown = re.sub(r"://[^/@]*@", "://", uri)           # without the keys that a URI may carry
        raise StoreError(f"cannot reach '{shown}': {_said(str(error))}") from None
    return filesystem, inside


def _ask_once(uri: str, filesystem: fs.FileSystem, inside: str) -> None:
    parts = urlsplit(uri)
    store = parts.scheme, parts.netloc
    if store in _answered:
        return
    if parts.scheme in ("gs", "gcs"):                       # a client that waits for 15 minutes if we let it
        limit = f"{'&' if parts.query else '?'}retry_limit_seconds={SECONDS}"
        filesystem, inside = fs.FileSystem.from_uri(uri + limit)
    filesystem.get_file_info(inside)
    _answered.add(store)


def _said(error: str) -> str:
    """The remedy for a failure, and its first line."""
    first = error.strip().partition("\n")[0]
    shown = first if len(first) <= 160 else f"{first[:160]}…"
    remedy = next((said for pattern, said in _REMEDIES if re.search(pattern, error)), "")
    return f"{remedy} ({shown})" if remedy else shown
