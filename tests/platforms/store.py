"""An S3 store on loopback (moto's server), behind a small proxy that fails in the ways that stores fail."""

import http.client
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

FAULTS = {
    "throttle": (503, "SlowDown"), "error": (500, "InternalError"), "expired": (400, "ExpiredToken"),
    "denied": (403, "AccessDenied"),
}


def maven_jars(pom: Path, cache: Path) -> list[str]:
    """The jars of a pom and all they need, fetched by Maven into a folder that is kept; skips where Maven is absent."""
    if shutil.which("mvn") is None:
        pytest.skip("Maven (mvn) is not installed, so the connector's jars cannot be fetched")
    target = cache / pom.name.removesuffix(".pom.xml")
    if not (target / "complete").exists():
        command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime",
                   f"-DoutputDirectory={target}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"Maven could not fetch the jars: {done.stdout.strip().splitlines()[:1]}")
        (target / "complete").touch()
    return sorted(str(jar) for jar in target.glob("*.jar"))


def s3a_settings(store: "Store") -> dict[str, str]:
    """What a session needs to reach the store; the connector gives up sooner than it does by itself."""
    settings = {
        "endpoint": store.address, "endpoint.region": "us-east-1", "path.style.access": "true", "access.key": "key",
        "secret.key": "secret", "retry.limit": "2", "attempts.maximum": "2", "retry.interval": "50ms",
        "retry.throttle.interval": "50ms", "retry.throttle.limit": "2",
    }
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items()}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Store:
    """The address that clients use, and the faults that the next requests meet.

    Attributes
    ----------
    fault : what a request meets ("throttle", "error", "expired", "denied", "truncate"), or None for none.
    requests : "METHOD path" of all requests so far.
    """

    address: str
    fault: Callable[[str, str], str | None] = lambda method, path: None
    requests: list[str] = field(default_factory=list)

    @contextmanager
    def failing(self, fault: str, method: str, part: str, times: int = 1) -> Iterator[None]:
        """So many requests of a method whose path contains ``part`` meet the fault."""
        left = [times]

        def decide(said: str, path: str) -> str | None:
            if said == method and part in path and left[0]:
                left[0] -= 1
                return fault
            return None

        self.fault = decide
        try:
            yield
        finally:
            self.fault = lambda method, path: None


def _proxy(store: Store, port: int) -> type[BaseHTTPRequestHandler]:
    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            store.requests.append(f"{self.command} {self.path}")
            fault = store.fault(self.command, self.path)
            if fault == "truncate":                         # the connection breaks before the store has everything
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            if fault:
                status, code = FAULTS[fault]
                said = f"<Error><Code>{code}</Code><Message>{code} by the test</Message></Error>".encode()
                self.answer(status, [("Content-Type", "application/xml")], said)
                return
            upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            upstream.request(self.command, self.path, body, dict(self.headers))
            response = upstream.getresponse()
            self.answer(response.status, response.getheaders(), response.read())

        def answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            length = {name.lower(): value for name, value in headers}.get("content-length")
            self.send_header("Content-Length", length if self.command == "HEAD" and length else str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = forward

        def log_message(self, *_: object) -> None:
            pass

    return Proxy


@contextmanager
def started_store() -> Iterator[Store]:
    """A store with one bucket, ``data``."""
    port = free_port()
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    store = Store("")
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), _proxy(store, port))
    store.address = f"http://127.0.0.1:{proxy.server_address[1]}"
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        for _ in range(3000):                               # ten minutes: the machine may be busy
            try:
                made = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                made.request("PUT", "/data")
                assert made.getresponse().status == 200
                break
            except OSError:
                time.sleep(0.2)
        else:
            raise RuntimeError("moto's server did not start")
        yield store
    finally:
        proxy.shutdown()
        server.terminate()
        server.wait(20)
