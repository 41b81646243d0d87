"""HDFS and YARN on loopback: NameNode, DataNode, ResourceManager and NodeManagers, each a JVM of its own."""

import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import psutil

from spectral_spark.engine.java import use_java
from tests.cluster.standalone import QUICK_JVM
from tests.platforms.store import free_port

HOST = "127.0.0.1"
START_SECONDS = 120
LOST_AFTER_MILLISECONDS = 15_000         # of silence until a NodeManager is given up; usually ten minutes
# What Hadoop's own scripts pass to Java 17.
_OPENED = ("java.base/java.lang", "java.base/java.util", "java.base/java.net", "java.base/java.nio",
           "java.base/java.util.concurrent", "java.base/sun.nio.ch", "java.base/java.lang.reflect", "java.base/java.io")
_DAEMONS = {
    "namenode": "hdfs.server.namenode.NameNode",
    "datanode": "hdfs.server.datanode.DataNode",
    "resourcemanager": "yarn.server.resourcemanager.ResourceManager",
    "nodemanager": "yarn.server.nodemanager.NodeManager",
}


class HadoopCluster:
    """One NameNode, one DataNode, one ResourceManager and some NodeManagers, all bound to the loopback interface.

    Parameters
    ----------
    scratch : a directory for data, logs and configuration.
    jars : of the daemons (``hadoop.pom.xml``).
    nodes : NodeManagers; 0 starts HDFS alone.
    memory, cores : what each NodeManager offers to containers.
    """

    def __init__(self, scratch: Path, jars: Sequence[str], nodes: int = 2, memory: int = 3072, cores: int = 2) -> None:
        self.scratch, self._jars, self._count = scratch, jars, nodes
        self._memory, self._cores = memory, cores
        self.configuration = scratch / "conf"
        self.namenode_port, self.web_port = free_port(), free_port()
        self.nodes: list[subprocess.Popen[bytes]] = []
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def files(self) -> str:
        """The address of the file system."""
        return f"hdfs://{HOST}:{self.namenode_port}"

    def start(self) -> "HadoopCluster":
        try:
            self._write_configuration()
            format_name_node = self._daemon("namenode", "-format", "-nonInteractive", log="format")
            if format_name_node.wait(START_SECONDS):
                raise RuntimeError(f"the NameNode was not formatted: {self.said('format')}")
            self._processes = [self._daemon("namenode"), self._daemon("datanode")]
            if self._count:
                self._processes.append(self._daemon("resourcemanager"))
            for number in range(self._count):
                self.add_node(number)
            self._wait("a DataNode", self._has_data_node)
            if self._count:
                self._wait("NodeManagers", lambda: self.running_nodes() >= self._count)
        except BaseException:
            self.stop()
            raise
        return self

    def add_node(self, number: int) -> None:
        """Start a NodeManager with directories of its own."""
        place = self.scratch / f"node-{number}"
        own = {"yarn.nodemanager.local-dirs": str(place / "local"), "yarn.nodemanager.log-dirs": str(place / "logs")}
        options = [f"-D{key}={value}" for key, value in own.items()]
        self.nodes.append(self._daemon("nodemanager", *options, log=f"nodemanager-{number}"))

    def kill_node(self, node: "subprocess.Popen[bytes]") -> None:
        """What a machine that loses its power does: the NodeManager and all its containers are gone at once."""
        containers = psutil.Process(node.pid).children(recursive=True)
        for process in (psutil.Process(node.pid), *containers):
            try:
                process.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        node.wait()
        self.nodes.remove(node)

    def containers_of(self, node: "subprocess.Popen[bytes]", word: str) -> list[int]:
        """Java processes in the containers of a node whose command line contains a word."""
        found = []
        for process in psutil.Process(node.pid).children(recursive=True):
            try:
                line = process.cmdline()
            except psutil.NoSuchProcess:
                continue
            if line and line[0].endswith("java") and any(word in part for part in line):
                found.append(process.pid)
        return found

    def running_nodes(self) -> int:
        return self._ask(f"http://{HOST}:{self.web_port}/ws/v1/cluster/nodes").count('"state":"RUNNING"')

    def stop(self) -> None:
        running = [*self.nodes, *reversed(self._processes)]
        for process in running:
            process.terminate()
        for process in running:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.nodes, self._processes = [], []

    def said(self, log: str) -> str:
        """The end of a daemon's log."""
        return (self.scratch / f"{log}.log").read_text(errors="replace")[-3000:]

    def _has_data_node(self) -> bool:
        page = f"http://{HOST}:{self._name_page}/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
        said = self._ask(page)
        return '"NumLiveDataNodes" : 1' in said and '"FSState" : "Operational"' in said

    def _ask(self, page: str) -> str:
        try:
            with urllib.request.urlopen(page, timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:
            return ""

    def _wait(self, what: str, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if ready():
                return
            dead = [process for process in (*self._processes, *self.nodes) if process.poll() is not None]
            if dead:
                break
            time.sleep(0.3)
        logs = "\n".join(f"{log.stem}: {self.said(log.stem)}" for log in sorted(self.scratch.glob("*.log")))
        raise RuntimeError(f"{what} did not start in {START_SECONDS} s:\n{logs}")

    def _daemon(self, role: str, *arguments: str, log: str = "") -> "subprocess.Popen[bytes]":
        name = log or role
        opened = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
        command = [
            str(Path(use_java()) / "bin" / "java"), *QUICK_JVM.split(), "-Xmx384m", *opened,
            f"-Dhadoop.log.dir={self.scratch}", f"-Dhadoop.home.dir={self.scratch}",
            "-cp", os.pathsep.join([str(self.configuration), *self._jars]),
            f"org.apache.hadoop.{_DAEMONS[role]}", *arguments,
        ]
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
        with (self.scratch / f"{name}.log").open("wb") as sink:
            return subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                    cwd=self.scratch, env=environment | {"HADOOP_CONF_DIR": str(self.configuration)})

    def _write_configuration(self) -> None:
        self._name_page = free_port()
        for pages in ("hdfs", "datanode", "cluster", "node"):       # of a whole distribution; nobody looks at them here
            (self.configuration / "webapps" / pages).mkdir(parents=True)
        address = {name: f"{HOST}:{free_port()}" for name in ("scheduler", "resource-tracker", "admin", "clients")}
        _write(self.configuration / "core-site.xml", {
            "fs.defaultFS": self.files, "hadoop.tmp.dir": str(self.scratch / "tmp"),
        })
        _write(self.configuration / "hdfs-site.xml", {
            "dfs.replication": "1", "dfs.namenode.http-address": f"{HOST}:{self._name_page}",
            "dfs.namenode.rpc-bind-host": HOST, "dfs.datanode.address": f"{HOST}:0",
            "dfs.datanode.http.address": f"{HOST}:0", "dfs.datanode.ipc.address": f"{HOST}:0",
            "dfs.datanode.hostname": HOST, "dfs.permissions.enabled": "false",
            "dfs.namenode.safemode.extension": "0", "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.client.use.datanode.hostname": "false",
        })
        _write(self.configuration / "yarn-site.xml", {
            "yarn.resourcemanager.hostname": HOST, "yarn.resourcemanager.address": address["clients"],
            "yarn.resourcemanager.scheduler.address": address["scheduler"],
            "yarn.resourcemanager.resource-tracker.address": address["resource-tracker"],
            "yarn.resourcemanager.admin.address": address["admin"],
            "yarn.resourcemanager.webapp.address": f"{HOST}:{self.web_port}",
            "yarn.nodemanager.hostname": HOST, "yarn.nodemanager.address": f"{HOST}:0",
            "yarn.nodemanager.localizer.address": f"{HOST}:0", "yarn.nodemanager.webapp.address": f"{HOST}:0",
            "yarn.nodemanager.collector-service.address": f"{HOST}:0",
            "yarn.nodemanager.resource.memory-mb": str(self._memory),
            "yarn.nodemanager.resource.cpu-vcores": str(self._cores),
            "yarn.nodemanager.vmem-check-enabled": "false", "yarn.nodemanager.pmem-check-enabled": "false",
            "yarn.nodemanager.delete.debug-delay-sec": "600",       # logs and directories are there to be looked at
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
            "yarn.scheduler.minimum-allocation-mb": "128",
            "yarn.scheduler.capacity.maximum-am-resource-percent": "0.9",
            "yarn.nm.liveness-monitor.expiry-interval-ms": str(LOST_AFTER_MILLISECONDS),
            "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "500",
            "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms": "30000",
        })
        _write(self.configuration / "capacity-scheduler.xml", {
            "yarn.scheduler.capacity.root.queues": "default", "yarn.scheduler.capacity.root.default.capacity": "100",
            "yarn.scheduler.capacity.maximum-am-resource-percent": "0.9",
            "yarn.scheduler.capacity.resource-calculator":
                "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator",
        })
        (self.configuration / "log4j.properties").write_text(
            "log4j.rootLogger=INFO,console\nlog4j.appender.console=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.console.layout=org.apache.log4j.PatternLayout\n"
            "log4j.appender.console.layout.ConversionPattern=%d{HH:mm:ss} %p %c{1}: %m%n\n")


def _write(path: Path, values: Mapping[str, str]) -> None:
    lines = (f"<property><name>{key}</name><value>{escape(value)}</value></property>" for key, value in values.items())
    path.write_text(f"<configuration>\n{chr(10).join(lines)}\n</configuration>\n")
