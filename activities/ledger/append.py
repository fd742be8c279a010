"""`ledger.append`: outcomes go to `fleet.outcomes.v1` in order, sent together, in order, and all acknowledged."""

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
from gpuward.runtime.kafka import Outgoing

SOURCE = "activities.ledger"


class Producer(Protocol):
    """`gpuward.runtime.kafka.Producer` is one. Returns once all are acknowledged; raises Transient or Permanent."""

    async def send_all(self, records: Sequence[Outgoing]) -> object: ...


class Ledger:
    """Law: appending again changes nothing, since an outcome's id is its own; so a failure repeats the whole append."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    @activity.defn(name="ledger.append")
    async def append(self, ask: Append) -> Nothing:
        """Raises a retryable `Transient` while Kafka is away, and `Permanent` for a record that it can never take."""
        try:
            await self._producer.send_all([_record(outcome) for outcome in ask.outcomes])
        except (Transient, Permanent) as error:
            first = ask.outcomes[0]
            raise ApplicationError(
                f"{len(ask.outcomes)} outcomes of {first.entity} from {first.id} on were not appended: {error}",
                type=type(error).__name__,
                non_retryable=isinstance(error, Permanent),
            ) from error
        return Nothing()

    async def put(self, outcome: Outcome) -> None:
        """One record. Raises Transient or Permanent."""
        await self._producer.send_all([_record(outcome)])


def _record(outcome: Outcome) -> Outgoing:
    """Keyed by its entity, so that the records of one entity keep their order."""
    envelope = Envelope(id=outcome.id, type=outcome.event_type, source=SOURCE, time=outcome.time)
    return Outgoing(OUTCOMES, str(outcome.entity).encode(), outcome.to_json(), envelope.to_headers())
