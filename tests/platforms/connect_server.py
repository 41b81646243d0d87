"""A Spark Connect server on loopback, and before it, on request, a gate that allows what a serverless platform does."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from spectral_spark.engine.java import use_java
from tests.platforms.store import free_port

_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_STREAMS = {                                                # (does the client stream, does the server)
    "ExecutePlan": (False, True), "ReattachExecute": (False, True), "AddArtifacts": (True, False),
    "AnalyzePlan": (False, False), "Config": (False, False), "ArtifactStatus": (False, False),
    "Interrupt": (False, False), "ReleaseExecute": (False, False), "ReleaseSession": (False, False),
    "FetchErrorDetails": (False, False), "CloneSession": (False, False), "GetStatus": (False, False),
}
_MOST_BYTES = 128 << 20
START_SECONDS = 600


@contextmanager
def connect_server(scratch: Path, root: Path) -> Iterator[str]:
    """The address of a server whose workers find the package in ``root``."""
    pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
    import pyspark

    use_java()
    port, log = free_port(), scratch / "server.log"
    settings = {
        "spark.connect.grpc.binding.port": str(port), "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"), "spark.local.dir": str(scratch / "local"),
    }
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    environment |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1",
                    "OPENBLAS_NUM_THREADS": "1"}
    with log.open("wb") as sink:
        server = subprocess.Popen([str(submit), "--master", "local[2]", "--class", _SERVER, *words, "spark-internal"],
                                  stdout=sink, stderr=sink, env=environment, cwd=scratch)
    try:
        _wait_for(port, server, log)
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


def _wait_for(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(5 * START_SECONDS):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if server.poll() is not None:
            break
        time.sleep(0.2)
    raise RuntimeError(f"the Connect server did not start: {log.read_text(errors='replace')[-2000:]}")


@dataclass
class Gate:
    """What passed between a client and its server.

    Attributes
    ----------
    address : where clients connect to.
    refused : what was refused, in order.
    largest_plan, largest_answer : bytes of the largest message in each direction.
    uploaded : bytes of all files.
    """

    address: str = ""
    refused: list[str] = field(default_factory=list)
    largest_plan: int = 0
    largest_answer: int = 0
    uploaded: int = 0


@contextmanager
def serverless_gate(upstream: str, most_plan_bytes: int) -> Iterator[Gate]:
    """A proxy that refuses caches, checkpoints, settings, and plans of more than so many bytes."""
    import grpc

    gate, channel = Gate(), grpc.insecure_channel(upstream, options=_options())
    server = grpc.server(ThreadPoolExecutor(16), options=_options())
    server.add_generic_rpc_handlers((_handler(gate, channel, most_plan_bytes),))
    gate.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield gate
    finally:
        server.stop(2)
        channel.close()


def _options() -> list[tuple[str, int]]:
    return [("grpc.max_receive_message_length", _MOST_BYTES), ("grpc.max_send_message_length", _MOST_BYTES)]


def _refusal(method: str, message: bytes, most_plan_bytes: int) -> str:
    """Why a serverless platform would not do this; "" if it would."""
    from pyspark.sql.connect import proto

    if method == "ExecutePlan":
        plan = proto.ExecutePlanRequest.FromString(message).plan
        if len(message) > most_plan_bytes:
            return f"[CONNECT_PLAN_TOO_LARGE] a plan of {len(message)} bytes"
        if plan.command.HasField("checkpoint_command"):
            return "[NOT_SUPPORTED_WITH_SERVERLESS] CHECKPOINT is not supported on serverless compute."
    if method == "AnalyzePlan" and proto.AnalyzePlanRequest.FromString(message).HasField("persist"):
        return "[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE is not supported on serverless compute. SQLSTATE: 0A000"
    if method == "Config" and proto.ConfigRequest.FromString(message).operation.HasField("set"):
        return "[CONFIG_NOT_AVAILABLE] Configuration is not available. SQLSTATE: 42K0I"
    return ""


def _handler(gate: Gate, channel: Any, most_plan_bytes: int) -> Any:
    import grpc

    class Forward(grpc.GenericRpcHandler):
        def service(self, call: Any) -> Any:
            many, answers = _STREAMS[call.method.rpartition("/")[2]]
            if many:
                return grpc.stream_unary_rpc_method_handler(self.uploading(call.method))
            if answers:
                return grpc.unary_stream_rpc_method_handler(self.streaming(call.method))
            return grpc.unary_unary_rpc_method_handler(self.asking(call.method))

        def uploading(self, method: str) -> Any:
            def run(messages: Any, context: Any) -> bytes:
                def counted() -> Iterator[bytes]:
                    for message in messages:
                        gate.uploaded += len(message)
                        yield message

                return _answer(context, lambda: channel.stream_unary(method)(counted()))

            return run

        def asking(self, method: str) -> Any:
            def run(message: bytes, context: Any) -> bytes:
                self.check(method, message, context)
                return _answer(context, lambda: channel.unary_unary(method)(message))

            return run

        def streaming(self, method: str) -> Any:
            def run(message: bytes, context: Any) -> Iterator[bytes]:
                self.check(method, message, context)
                try:
                    for answer in channel.unary_stream(method)(message):
                        gate.largest_answer = max(gate.largest_answer, len(answer))
                        yield answer
                except grpc.RpcError as error:
                    _pass_on(context, error)

            return run

        def check(self, method: str, message: bytes, context: Any) -> None:
            name = method.rpartition("/")[2]
            if name == "ExecutePlan":
                gate.largest_plan = max(gate.largest_plan, len(message))
            if why := _refusal(name, message, most_plan_bytes):
                gate.refused.append(why)
                context.abort(grpc.StatusCode.INTERNAL, why)

    return Forward()


def _answer(context: Any, ask: Any) -> bytes:
    import grpc

    try:
        answer: bytes = ask()
        return answer
    except grpc.RpcError as error:
        _pass_on(context, error)
        raise


def _pass_on(context: Any, error: Any) -> None:
    """The server's error, with the details that the client makes an exception of."""
    context.set_trailing_metadata(error.trailing_metadata() or ())
    context.abort(error.code(), error.details())
