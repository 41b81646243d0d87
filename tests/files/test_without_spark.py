"""Stores that refuse or do not answer, asked by the clients of pyarrow, over real sockets on loopback."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from spectral_spark.errors import StoreError
from spectral_spark.files import without_spark
from spectral_spark.files.without_spark import arrow_file_system


@contextmanager
def answering(status: int) -> Iterator[int]:
    """The port of a store that answers every request with this status, and the code of an expired token."""

    class Answer(BaseHTTPRequestHandler):
        def answer(self) -> None:
            said = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(said)

        do_HEAD = do_GET = do_PUT = answer

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def store() -> Iterator[Callable[[int], int]]:
    with ExitStack() as stack:
        yield lambda status: stack.enter_context(answering(status))


def at(port: int, bucket: str) -> str:
    return f"s3://key:secret@{bucket}/model?region=us-east-1&scheme=http&endpoint_override=127.0.0.1%3A{port}"


def test_nobody_at_the_address() -> None:
    with pytest.raises(StoreError, match=r"cannot reach 's3://.*': it does not answer") as failure:
        arrow_file_system(at(1, "away"))
    assert "\n" not in str(failure.value)
    assert "secret" not in str(failure.value)


def test_a_client_that_would_wait_for_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(without_spark, "SECONDS", 1)
    started = time.monotonic()
    with pytest.raises(StoreError, match="it does not answer"):
        arrow_file_system("gs://anonymous@away/model?scheme=http&endpoint_override=127.0.0.1%3A1")
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(("status", "said"), [(400, "missing, wrong or expired"), (403, "permission denied")])
def test_a_store_that_refuses(store: Callable[[int], int], status: int, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        arrow_file_system(at(store(status), f"refused{status}"))


def test_a_store_that_answers_is_taken(store: Callable[[int], int]) -> None:
    _, inside = arrow_file_system(at(store(200), "there"))
    assert inside == "there/model"
