"""Tells every pool its policy: one `PolicyChanged` per pool on `fleet.policy.v1`."""

from __future__ import annotations

from datetime import datetime

from gpuward.contracts.envelope import Envelope
from gpuward.contracts.identity import Entity
from gpuward.contracts.policy import Policy, PolicyChanged
from gpuward.contracts.topics import POLICY
from gpuward.runtime.kafka import Producer

SOURCE = "gpuward/console"


def changes(policy: Policy, now: datetime) -> list[PolicyChanged]:
    """The records of one apply, in the file's order; the revision is its time in ms."""
    revision = int(now.timestamp() * 1000)
    return [
        PolicyChanged(entity=Entity.pool(pool.name), version=policy.version, revision=revision, pool=pool)
        for pool in policy.pools
    ]


async def tell(producer: Producer, policy: Policy, now: datetime) -> list[PolicyChanged]:
    """Sends them, each acknowledged. Raises Transient while brokers are away."""
    told = changes(policy, now)
    for change in told:
        envelope = Envelope(
            id=f"{change.entity}/{change.revision}", type="gpuward.policy.changed", source=SOURCE, time=now
        )
        key = str(change.entity).encode()
        await producer.send(POLICY, key=key, value=change.to_json(), headers=envelope.to_headers())
    return told
