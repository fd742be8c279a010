"""Faust, kept on a short lead: built in a function, never at import, with every setting that matters named here."""

from __future__ import annotations

import ssl
from hashlib import blake2b
from typing import Any

import faust
from faust.types import TP
from mode.supervisors import CrashingSupervisor

from gpuward.contracts.topics import PARTITIONS
from gpuward.runtime.settings import KafkaSettings, Settings
from streams.agents import transport

APP_ID = "gpuward-streams"
COMMIT_EVERY_S = 2.0


def build(settings: Settings) -> faust.App:
    """An application without agents. Nothing is connected yet."""
    transport.register()
    kafka = settings.kafka
    addresses = [address.strip() for address in kafka.bootstrap.split(",")]
    folder = settings.data / "streams"
    folder.mkdir(parents=True, exist_ok=True)
    return faust.App(
        APP_ID,
        autodiscover=False,
        broker=";".join(f"kafka://{address}" for address in addresses),
        broker_consumer=";".join(f"{transport.SCHEME}://{address}" for address in addresses),
        broker_credentials=_credentials(kafka),
        store="rocksdb://",
        datadir=str(folder),
        table_standby_replicas=0,
        topic_partitions=PARTITIONS,
        topic_replication_factor=kafka.replication_factor,
        # Only the tables' own changelogs are ever created here; every other topic comes from the table of topics.
        topic_allow_declare=True,
        topic_disable_leader=True,
        consumer_auto_offset_reset="earliest",
        consumer_group_instance_id=_instance(settings),
        broker_commit_interval=COMMIT_EVERY_S,
        broker_max_poll_records=500,
        broker_max_poll_interval=300.0,
        broker_session_timeout=kafka.session_timeout_ms / 1000,
        broker_heartbeat_interval=3.0,
        broker_request_timeout=max(30.0, kafka.request_timeout_ms / 1000),
        consumer_max_fetch_size=6_000_000,
        producer_acks=-1,
        producer_max_request_size=6_000_000,
        producer_compression_type="lz4",
        processing_guarantee="at_least_once",
        stream_wait_empty=False,
        stream_recovery_delay=0.0,
        agent_supervisor=CrashingSupervisor,
        web_enabled=False,
        logging_config=None,
    )


def table(app: faust.App, name: str) -> Any:
    """A table of raw bytes under raw keys, one RocksDB per partition, with a changelog."""
    raw = faust.Schema(key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")
    return app.Table(name, partitions=PARTITIONS, schema=raw, key_type=bytes, value_type=bytes, options=_SMALL)


def topic(app: faust.App, *names: str) -> Any:
    """Topics of raw bytes; they exist already."""
    return app.topic(*names, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")


class TableStore:
    """A Faust table as the store of views, partition by partition; no event has to be under way."""

    def __init__(self, inner: Any) -> None:
        self._table = inner

    def get(self, partition: int, key: bytes) -> bytes | None:
        found: bytes | None = self._db(partition).get(key)
        return found

    def put(self, partition: int, key: bytes, value: bytes) -> None:
        """Into RocksDB and onto the changelog, which is flushed before an offset is committed."""
        self._db(partition).put(key, value)
        self._table.send_changelog(partition, key, value, key_serializer="raw", value_serializer="raw")

    def _db(self, partition: int) -> Any:
        return self._table.data._db_for_partition(partition)  # noqa: SLF001


_SMALL = {
    "write_buffer_size": 8 * 1024 * 1024,
    "max_write_buffer_number": 2,
    "target_file_size_base": 16 * 1024 * 1024,
    "block_cache_size": 16 * 1024 * 1024,
}
"""Views are small: a gigabyte of caches per partition is not for them."""


def place_of(message: Any) -> TP:
    """Topic and partition of a message."""
    return TP(message.topic, message.partition)


def _instance(settings: Settings) -> str:
    """Static membership: the process that comes back on this host and data directory gets its partitions at once."""
    return f"{settings.host}-{blake2b(str(settings.data.absolute()).encode(), digest_size=4).hexdigest()}"


def _credentials(kafka: KafkaSettings) -> Any:
    if kafka.security_protocol == "PLAINTEXT":
        return None
    context = None
    if kafka.security_protocol.endswith("SSL"):
        context = ssl.create_default_context(cafile=str(kafka.ca_file) if kafka.ca_file else None)
        if kafka.certificate_file:
            context.load_cert_chain(kafka.certificate_file, kafka.key_file)
    if kafka.security_protocol == "SSL":
        return faust.SSLCredentials(context)
    password = kafka.sasl_password
    return faust.SASLCredentials(
        username=kafka.sasl_username,
        password=password.get_secret_value() if password else None,
        mechanism=kafka.sasl_mechanism,
        ssl_context=context,
    )
