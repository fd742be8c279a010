"""`ledger.append`: outcomes go to `fleet.outcomes.v1` in order, each acknowledged before the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from temporalio import activity
from temporalio.exceptions import ApplicationError

from gpuward.contracts.acts import Append, Nothing
from gpuward.contracts.envelope import Envelope
from gpuward.contracts.errors import Permanent, Transient
from gpuward.contracts.outcomes import Outcome
from gpuward.contracts.topics import OUTCOMES

SOURCE = "activities.ledger"


class Producer(Protocol):
    """`gpuward.runtime.kafka.Producer` is one. Returns once acknowledged; raises Transient or Permanent."""

    async def send(
        self,
        topic: str,
        *,
        key: bytes,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes]] = (),
        partition: int | None = None,
    ) -> object: ...


class Ledger:
    """Law: appending again changes nothing, since an outcome's id is its own; so a failure repeats the whole append."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    @activity.defn(name="ledger.append")
    async def append(self, ask: Append) -> Nothing:
        """Raises a retryable `Transient` while Kafka is away, and `Permanent` for a record that it can never take."""
        for outcome in ask.outcomes:
            try:
                await self.put(outcome)
            except (Transient, Permanent) as error:
                raise ApplicationError(
                    f"{outcome.id} of {outcome.entity} was not appended: {error}",
                    type=type(error).__name__,
                    non_retryable=isinstance(error, Permanent),
                ) from error
        return Nothing()

    async def put(self, outcome: Outcome) -> None:
        """One record, keyed by its entity. Raises Transient or Permanent."""
        envelope = Envelope(id=outcome.id, type=outcome.event_type, source=SOURCE, time=outcome.time)
        await self._producer.send(
            OUTCOMES, key=str(outcome.entity).encode(), value=outcome.to_json(), headers=envelope.to_headers()
        )
