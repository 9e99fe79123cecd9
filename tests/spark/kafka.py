"""A real Kafka broker in KRaft mode, from Maven Central's artifacts through the caller's own Maven, for the tests."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import PenstockError
from penstock.spark.java import find_java
from penstock.spark.packages import artifact, default_cache, fetched

KAFKA = "org.apache.kafka:kafka_2.13:4.1.2"
PATIENCE_S = 60
unavailable: list[str] = []
"""Why there is no Kafka here, once that was found out."""
_CONFIGURATION = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/logs
num.partitions=2
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=60000
log.cleaner.enable=false
offsets.topic.num.partitions=1
"""


def cache() -> Path:
    """Where fetched packages are kept between runs; `PENSTOCK_TEST_CACHE` names another place."""
    return Path(os.environ.get("PENSTOCK_TEST_CACHE") or default_cache())


@dataclass(frozen=True, slots=True)
class Broker:
    """A running broker and its address."""

    process: subprocess.Popen[bytes]
    address: str

    @classmethod
    def start(cls, folder: Path) -> Broker:
        """Formats a log folder and starts a broker on it; raises PenstockError where it cannot be had or started."""
        jars = ":".join(map(str, fetched([artifact(KAFKA)], cache())))
        java = str(find_java(os.environ, folder).home / "bin" / "java")
        port, controller = _free_port(), _free_port()
        file = folder / "server.properties"
        file.write_text(_CONFIGURATION.format(port=port, controller=controller, folder=folder), encoding="utf-8")
        identity = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[:22]
        command = [
            java,
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:+ExitOnOutOfMemoryError",
            "-cp",
            jars,
        ]
        tool = [*command, "kafka.tools.StorageTool", "format", "-t", identity, "-c", str(file)]
        subprocess.run(tool, check=True, capture_output=True, timeout=PATIENCE_S)
        with open(folder / "output", "wb") as output:
            process = subprocess.Popen([*command, "kafka.Kafka", str(file)], stdout=output, stderr=output)
        _await_port(process, port, folder / "output")
        return cls(process, f"127.0.0.1:{port}")

    def stop(self) -> None:
        """Ends the broker."""
        self.process.kill()
        self.process.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _await_port(process: subprocess.Popen[bytes], port: int, output: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    process.kill()
    raise PenstockError(f"the Kafka broker did not start: {output.read_text(errors='replace')[-2000:]}")
