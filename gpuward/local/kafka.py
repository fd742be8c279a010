"""The embedded Apache Kafka: one KRaft broker that is its own controller, on loopback only."""

from __future__ import annotations

import base64
import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from gpuward.contracts.errors import Permanent
from gpuward.local.broker_probe import broker_serves
from gpuward.local.children import Child
from gpuward.local.java import Java
from gpuward.local.ports import LOOPBACK
from gpuward.local.server import Recipe

PORTS = ("kafka", "kafka-controller")

_MEMORY = ["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError"]
_LOGGING = [
    f"-Dorg.slf4j.simpleLogger.{name}"
    for name in (
        "defaultLogLevel=warn",
        "log.kafka=info",
        "showDateTime=true",
        "dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ",
    )
]


def server_properties(data_dir: Path, ports: Mapping[str, int]) -> dict[str, str]:
    """What the broker is told. All that is kept lies in `data_dir`/log."""
    clients, controller = ports["kafka"], ports["kafka-controller"]
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"CLIENTS://{LOOPBACK}:{clients},CONTROLLER://{LOOPBACK}:{controller}",
        "advertised.listeners": f"CLIENTS://{LOOPBACK}:{clients}",
        "listener.security.protocol.map": "CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "CLIENTS",
        "log.dirs": str(data_dir / "log"),
        # One broker: every internal topic has one replica, and few partitions to recover after a crash.
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "4",
        "group.initial.rebalance.delay.ms": "0",
        # A broker that was killed may register again only when the controller has given up its old session: with the
        # default of 9 s it is back after 13 s, with this one after 7.
        "broker.session.timeout.ms": "4000",
        "broker.heartbeat.interval.ms": "500",
        # Topics come from gpuward's table and from nowhere else.
        "auto.create.topics.enable": "false",
        # `message.max.bytes` stays as it is, 1 MiB, for a topic's own `max.message.bytes` overrides it; these let it.
        "socket.request.max.bytes": "104857600",
        "replica.fetch.max.bytes": "33554432",
        "log.cleaner.dedupe.buffer.size": "16777216",
    }


async def prepare_kafka(
    data_dir: Path,
    ports: Mapping[str, int],
    *,
    java: Java,
    jars: Sequence[Path],
    log: Path,
    pass_fds: Sequence[int] = (),
) -> Recipe:
    """Write the configuration, format the storage if it never was, and say how the broker is run."""
    temporary = data_dir / "tmp"  # native libraries are unpacked here; a broker that was killed leaves them behind
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    properties = data_dir / "server.properties"
    lines = (f"{key}={value}\n" for key, value in server_properties(data_dir, ports).items())
    properties.write_text("".join(lines), encoding="utf-8")

    env = java.environment(dict(os.environ))
    class_path = os.pathsep.join(map(str, jars))
    run = [str(java.executable), *_MEMORY, *_LOGGING, f"-Djava.io.tmpdir={temporary}", "-cp", class_path]
    await _format(data_dir, [*run, "kafka.tools.StorageTool"], properties, env=env, log=log, pass_fds=pass_fds)
    return Recipe(
        name="kafka",
        address=f"{LOOPBACK}:{ports['kafka']}",
        command=[*run, "kafka.Kafka", str(properties)],
        directory=data_dir,
        log=log,
        env=env,
        ready=partial(broker_serves, LOOPBACK, ports["kafka"]),
    )


async def _format(
    data_dir: Path,
    storage_tool: Sequence[str],
    properties: Path,
    *,
    env: Mapping[str, str],
    log: Path,
    pass_fds: Sequence[int],
) -> None:
    """Once for a data directory. The mark is written last, so a format that was cut short is done again."""
    mark = data_dir / "formatted"
    if mark.exists():
        return
    # Nothing of worth can be here yet: without the mark no broker ever ran on it.
    shutil.rmtree(data_dir / "log", ignore_errors=True)
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    command = [*storage_tool, "format", f"--cluster-id={cluster}", "-c", str(properties)]
    child = Child.start("kafka-format", command, log=log, env=env, cwd=data_dir, pass_fds=pass_fds)
    try:
        status = await child.wait()
    finally:
        await child.kill()
    if status != 0:
        raise Permanent(
            f"Kafka's storage in {data_dir} could not be formatted. The end of {log}:\n{child.last_lines()}"
        )
    mark.write_text(cluster + "\n", encoding="utf-8")
