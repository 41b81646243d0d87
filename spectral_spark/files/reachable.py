"""Whether somebody answers at the address of a store, asked once and with a short limit.

Hadoop's clients try again for a quarter of an hour when an address swallows what is sent to it. They are right to wait
for a store that has answered before; one that never has is more likely misspelt.
"""

import re
import socket
from typing import Any
from urllib.parse import urlsplit

from spectral_spark.errors import StoreError

SECONDS = 10.0
_NAME_NODE_PORT = 8020
_LARGEST_PORT = 65_535
_PLAIN_SOCKETS = ("", "org.apache.hadoop.net.StandardSocketFactory")
_answered: set[tuple[str, int]] = set()


def check_reachable(scheme: str, inside: str, configuration: Any) -> None:
    """Refuse a store at whose address nobody answers; addresses that only the connector knows are not looked at.

    Parameters
    ----------
    inside : the URI without its scheme, such as ``namenode:8020/corpora``.
    configuration : Hadoop's.
    """
    address = {"hdfs": _name_node, "s3a": _endpoint}.get(scheme, lambda *_: None)(inside, configuration)
    if address is None or address in _answered:
        return
    if not 0 < address[1] <= _LARGEST_PORT:
        raise StoreError(f"{address[1]} is not a port: ports are between 1 and {_LARGEST_PORT:,}; correct the address")
    try:
        socket.create_connection(address, timeout=SECONDS).close()
    except UnicodeError:
        raise StoreError(f"'{address[0]}' cannot be the name of a machine: correct the address") from None
    except OSError as error:
        why = "no answer in time" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise StoreError(f"it does not answer at {address[0]}:{address[1]} ({why}): check the address, the port and "
                         "the network") from None
    _answered.add(address)


def _name_node(inside: str, configuration: Any) -> tuple[str, int] | None:
    """The NameNode of a path; None for the name of several ones, for none, and behind a SOCKS proxy."""
    found = re.match(r"(?:[^/@]*@)?([^/:@]+)(?::([^/]*))?(?:/|$)", inside)
    if found is None or (configuration.get("hadoop.rpc.socket.factory.class.default") or "") not in _PLAIN_SOCKETS:
        return None
    services = (configuration.get("dfs.nameservices") or "").split(",")
    if found[1] in (name.strip() for name in services):
        return None
    return found[1], _port(found[2] or str(_NAME_NODE_PORT))


def _endpoint(inside: str, configuration: Any) -> tuple[str, int] | None:
    """The endpoint of a bucket where one is set; None for that of AWS, and behind a proxy."""
    bucket = inside.partition("/")[0]
    said = configuration.get(f"fs.s3a.bucket.{bucket}.endpoint") or configuration.get("fs.s3a.endpoint") or ""
    if not said or configuration.get("fs.s3a.proxy.host"):
        return None
    plain = (configuration.get("fs.s3a.connection.ssl.enabled") or "").strip().lower() == "false"
    try:
        parts = urlsplit(said if "://" in said else f"{'http' if plain else 'https'}://{said}")
    except ValueError as error:
        raise StoreError(f"fs.s3a.endpoint '{said}' is not an address ({error}): correct it") from None
    if not parts.hostname:
        return None
    _, colon, port = parts.netloc.rpartition("@")[2].rpartition(":")
    if port and colon and not port.endswith("]"):           # the end of an IPv6 address without a port
        return parts.hostname, _port(port)
    return parts.hostname, 80 if parts.scheme == "http" else 443


def _port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise StoreError(f"'{text}' is not a port: ports are numbers between 1 and {_LARGEST_PORT:,}; correct "
                         "the address")
    return int(text)
