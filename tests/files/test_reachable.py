"""Stores that do not answer are refused soon, and only the address that the connector would use is asked."""

import socket
import time

import pytest

from spectral_spark.errors import StoreError
from spectral_spark.files import reachable
from spectral_spark.files.reachable import check_reachable


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def test_a_wrong_port_is_named(closed_port: int) -> None:
    with pytest.raises(StoreError, match=f"does not answer at 127.0.0.1:{closed_port}"):
        check_reachable("hdfs", f"127.0.0.1:{closed_port}/corpora/mail", {})
    with pytest.raises(StoreError, match=f"does not answer at 127.0.0.1:{closed_port}"):
        check_reachable("s3a", "bucket/mail", {"fs.s3a.endpoint": f"http://127.0.0.1:{closed_port}"})


def test_an_address_that_swallows_everything_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachable, "SECONDS", 0.2)
    with socket.socket() as full:                           # a full backlog: the system leaves further calls unanswered
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        callers = [socket.socket() for _ in range(4)]
        for caller in callers:
            caller.setblocking(False)
            caller.connect_ex(address)
        started = time.monotonic()
        with pytest.raises(StoreError, match="no answer in time"):
            check_reachable("hdfs", f"127.0.0.1:{address[1]}/x", {})
        assert time.monotonic() - started < 5
        for caller in callers:
            caller.close()


def test_who_answers_is_not_asked_again() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        inside = f"hadoop@127.0.0.1:{server.getsockname()[1]}/corpora"
        check_reachable("hdfs", inside, {})
    check_reachable("hdfs", inside, {})


def test_addresses_that_only_the_connector_knows_are_left_to_it(closed_port: int) -> None:
    check_reachable("hdfs", "cluster/corpora", {"dfs.nameservices": "other,cluster"})
    check_reachable("hdfs", "cluster/corpora", {"dfs.nameservices": "other, cluster"})
    check_reachable("hdfs", f"127.0.0.1:{closed_port}/x", {"hadoop.rpc.socket.factory.class.default": "a.SocksFactory"})
    check_reachable("s3a", "bucket/x", {})
    check_reachable("s3a", "bucket/x", {"fs.s3a.endpoint": f"127.0.0.1:{closed_port}", "fs.s3a.proxy.host": "proxy"})
    check_reachable("gs", "bucket/x", {})


@pytest.mark.parametrize("port", ["0", "65536", "99999", "123456789012", "http"])
def test_what_is_no_port_is_refused_before_anybody_is_asked(port: str) -> None:
    with pytest.raises(StoreError, match=f"'?{port}'? is not a port"):
        check_reachable("hdfs", f"127.0.0.1:{port}/corpora", {})
    with pytest.raises(StoreError, match=f"'?{port}'? is not a port"):
        check_reachable("s3a", "bucket/mail", {"fs.s3a.endpoint": f"http://127.0.0.1:{port}"})


@pytest.mark.parametrize("host", ["two..dots", "x" * 64 + ".example"])
def test_what_no_machine_can_be_called_is_refused(host: str) -> None:
    with pytest.raises(StoreError, match=r"cannot be the name of a machine|does not answer at"):
        check_reachable("hdfs", f"{host}:8020/corpora", {})


def test_an_endpoint_that_is_no_address_is_refused() -> None:
    with pytest.raises(StoreError, match="is not an address"):
        check_reachable("s3a", "bucket/mail", {"fs.s3a.endpoint": "http://[::1"})
