"""The one place that touches aiokafka: producer, consumers, admin. Everyone else is handed these.

The producer is idempotent with `acks=all`; every `send` returns only once Kafka has acknowledged, and goes to the
partition that the topic's row says (murmur2 over the placing part of the key).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import (
    BrokerResponseError,
    IllegalStateError,
    KafkaError,
    MessageSizeTooLargeError,
    ProducerFenced,
    RecordTooLargeError,
    TopicAlreadyExistsError,
    for_code,
)

from gpuward.contracts.errors import Permanent, Transient
from gpuward.contracts.topics import CHANGELOGS, TOPICS, Topic
from gpuward.runtime.settings import Settings

__all__ = [
    "ConsumerRebalanceListener",
    "Headers",
    "IllegalStateError",
    "KafkaError",
    "Outgoing",
    "Producer",
    "TopicPartition",
    "apply_topics",
    "consumer",
    "security",
]

Headers = Sequence[tuple[str, bytes]]


class Outgoing(NamedTuple):
    """A record to send."""

    topic: str
    key: bytes
    value: bytes | None
    headers: Headers = ()


def security(settings: Settings) -> dict[str, Any]:
    """Keyword arguments of every client: addresses, TLS, SASL."""
    kafka = settings.kafka
    arguments: dict[str, Any] = {
        "bootstrap_servers": kafka.bootstrap,
        "security_protocol": kafka.security_protocol,
        "request_timeout_ms": kafka.request_timeout_ms,
    }
    if kafka.security_protocol.endswith("SSL"):
        context = ssl.create_default_context(cafile=str(kafka.ca_file) if kafka.ca_file else None)
        if kafka.certificate_file:
            context.load_cert_chain(kafka.certificate_file, kafka.key_file)
        arguments["ssl_context"] = context
    if kafka.security_protocol.startswith("SASL"):
        password = kafka.sasl_password
        arguments |= {
            "sasl_mechanism": kafka.sasl_mechanism,
            "sasl_plain_username": kafka.sasl_username,
            "sasl_plain_password": password.get_secret_value() if password else None,
        }
    return arguments


class Producer:
    """An idempotent producer. Sends for one key keep their order when they are awaited in order.

    aiokafka counts a record that the broker has refused as sent, and the partition then takes nothing more from that
    producer (OutOfOrderSequenceNumber). So after a refusal another one takes its place.
    """

    def __init__(self, settings: Settings, client_id: str) -> None:
        self._new = partial(
            AIOKafkaProducer,
            client_id=client_id,
            acks="all",
            enable_idempotence=True,
            compression_type="lz4",
            linger_ms=5,
            max_request_size=6_000_000,
            **security(settings),
        )
        self._inner = self._new()
        self._renewal = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Raises Transient when no broker answers."""
        try:
            await self._inner.start()
        except (KafkaError, OSError) as error:
            raise Transient(f"Kafka cannot be reached: {error}") from error

    async def stop(self) -> None:
        """Sends what is left and closes."""
        await asyncio.gather(self._inner.stop(), *self._closing)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def send(
        self,
        topic: str,
        *,
        key: bytes,
        value: bytes | None,
        headers: Headers = (),
        partition: int | None = None,
    ) -> tuple[int, int]:
        """Partition and offset, once Kafka has acknowledged. Raises Transient while brokers are away, Permanent when the
        record can never be taken (too large).
        """
        row = TOPICS.get(topic)
        if partition is None and row is not None:
            partition = row.partition(key)
        for last in (False, True):
            inner = self._inner
            try:
                metadata = await inner.send_and_wait(
                    topic, value=value, key=key, headers=list(headers), partition=partition
                )
            except (MessageSizeTooLargeError, RecordTooLargeError) as error:
                await self._renew(inner)
                raise Permanent(f"{topic}: a record of {len(value or b'')} bytes is over the limit") from error
            except (KafkaError, OSError) as error:
                if last or not await self._renewed(inner, error):
                    raise Transient(f"{topic}: not acknowledged: {error!r}") from error
            else:
                return metadata.partition, metadata.offset
        raise AssertionError("unreachable")

    async def send_all(self, records: Sequence[Outgoing]) -> list[tuple[int, int]]:
        """Partition and offset of each, once Kafka has acknowledged all; those of one key lie in their order.

        Raises Transient and Permanent as `send` does; some may have been taken then, so the caller repeats all of them.
        """
        inner, waits = self._inner, []
        try:
            for record in records:
                row = TOPICS.get(record.topic)
                waits.append(
                    await inner.send(
                        record.topic,
                        value=record.value,
                        key=record.key,
                        headers=list(record.headers),
                        partition=None if row is None else row.partition(record.key),
                    )
                )
            kept = await asyncio.gather(*waits)
        except (MessageSizeTooLargeError, RecordTooLargeError) as error:
            await asyncio.gather(*waits, return_exceptions=True)
            await self._renew(inner)
            raise Permanent(f"a record of {len(records)} is over the limit of its topic") from error
        except (KafkaError, OSError) as error:
            await asyncio.gather(*waits, return_exceptions=True)
            await self._renewed(inner, error)
            raise Transient(f"{len(records)} records: not acknowledged: {error!r}") from error
        return [(metadata.partition, metadata.offset) for metadata in kept]

    async def _renewed(self, inner: AIOKafkaProducer, error: Exception) -> bool:
        """Whether trying again can help because another producer took the place of one that the broker has refused."""
        refused = isinstance(error, (BrokerResponseError, ProducerFenced)) and not error.retriable
        if refused:
            await self._renew(inner)
        return self._inner is not inner

    async def _renew(self, inner: AIOKafkaProducer) -> None:
        """Puts another in the place of `inner`, unless that was done; what `inner` still holds it sends before it closes."""
        async with self._renewal:
            if self._inner is not inner:
                return
            fresh = self._new()
            try:
                await fresh.start()
            except (KafkaError, OSError) as error:
                await fresh.stop()
                raise Transient(f"Kafka cannot be reached: {error}") from error
            self._inner = fresh
        closing = asyncio.create_task(inner.stop())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)


def consumer(
    settings: Settings, client_id: str, *topics: str, group: str | None = None, **more: Any
) -> AIOKafkaConsumer:
    """A consumer that commits only when told to, with the range assignor: topics with equal partition counts meet."""
    arguments: dict[str, Any] = {
        "client_id": client_id,
        "group_id": group,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "partition_assignment_strategy": (RangePartitionAssignor,),
        "session_timeout_ms": settings.kafka.session_timeout_ms,
        "heartbeat_interval_ms": 3000,
        "max_partition_fetch_bytes": 6_000_000,
    }
    return AIOKafkaConsumer(*topics, **(security(settings) | arguments | more))


async def apply_topics(
    settings: Settings,
    rows: Iterable[Topic] = (*TOPICS.values(), *CHANGELOGS),
    *,
    overrides: dict[str, dict[str, str]] | None = None,
) -> dict[str, str]:
    """Creates what is missing; the only place that creates topics. Returns name → `created` or `exists`.

    Raises Permanent when an existing topic has another partition count, Transient when no broker answers.
    """
    admin = AIOKafkaAdminClient(client_id="gpuward-topics", **security(settings))
    try:
        await admin.start()
    except (KafkaError, OSError) as error:
        raise Transient(f"Kafka cannot be reached at {settings.kafka.bootstrap}: {error}") from error
    try:
        existing = set(await admin.list_topics())
        wanted = list(rows)
        missing = [row for row in wanted if row.name not in existing]
        if missing:
            await _create(admin, settings, missing, overrides or {})
        present = [row.name for row in wanted if row.name in existing]
        counts = {row.name: row.partitions for row in wanted}
        for description in await admin.describe_topics(present) if present else []:
            _check_count(description, counts[description["topic"]])
    finally:
        await admin.close()
    return {row.name: "exists" if row.name in existing else "created" for row in wanted}


def _check_count(description: dict[str, Any], wanted: int) -> None:
    count = len(description["partitions"])
    if count != wanted:
        raise Permanent(
            f"{description['topic']} has {count} partitions and must have {wanted}: the actors' topics share one count. "
            "Delete the topic, or create it anew under another cluster."
        )


async def _create(
    admin: AIOKafkaAdminClient, settings: Settings, rows: list[Topic], overrides: dict[str, dict[str, str]]
) -> None:
    topics = [
        NewTopic(
            row.name,
            row.partitions,
            settings.kafka.replication_factor,
            topic_configs={
                "cleanup.policy": "compact" if row.compacted else "delete",
                "max.message.bytes": str(row.max_message_bytes),
                "min.insync.replicas": str(min(2, settings.kafka.replication_factor)),
                **({} if row.compacted else {"retention.ms": str(row.retention_ms)}),
                **overrides.get(row.name, {}),
            },
        )
        for row in rows
    ]
    response = await admin.create_topics(topics)
    for name, code, *_ in response.topic_errors:
        error = for_code(code)
        if code and error is not TopicAlreadyExistsError:
            raise Permanent(f"{name} cannot be created: {error.__name__}")
