"""The demo: a pool in act mode, one scripted fault, and the question whether its repair was verified."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.identity import Entity
from gpuward.contracts.lifecycle import Lifecycle
from gpuward.contracts.outcomes import Outcome, OutcomeKind
from gpuward.contracts.policy import Budget, PoolPolicy
from gpuward.runtime import policy as policy_of

CODE = 79
"""The GPU falls off the bus: no reset helps, the node must be rebooted."""
REPAIR_S = 240
"""A fault that is not repaired by then counts as not repaired."""

POOL = PoolPolicy.model_validate(
    {
        "name": "default",
        "mode": "act",
        "budget": Budget(concurrent=1, per_rack=1, per_domain=1, floor_pct=50),
        "hold_s": 20,
    }
)


def write_policy(data: Path) -> Path:
    """Writes the shipped policy with the demo's pool in place of its own, and returns the file."""
    policy = policy_of.load().model_copy(update={"pools": (POOL,)})
    path = data / "policy.yaml"
    document = policy.model_dump(mode="json", exclude={"version"}, exclude_none=True)
    path.write_text(yaml.safe_dump(document, sort_keys=False, width=200))
    return path


def victim(nodes: Sequence[str]) -> tuple[str, int]:
    """The node and GPU index that the script breaks: neither the first nor the last, so that the eye finds it."""
    return sorted(nodes)[len(nodes) // 2], 3


def verdict(gpu: Entity, records: Sequence[EntityRecord], outcomes: Sequence[Outcome]) -> str | None:
    """How the scripted fault ended: `repaired`, another word for why not, or None while it has not ended.

    Repaired means verified: the incident was closed as repaired, and GPU and node are healthy with no incident open.
    """
    mine = {record.entity: record for record in records}
    record = mine.get(gpu)
    closed = [o for o in outcomes if o.entity == gpu and o.what is OutcomeKind.INCIDENT_CLOSED]
    if record is None:
        return None
    node = mine.get(Entity.node(record.node)) if record.node else None
    if closed and closed[-1].result != "repaired":
        return closed[-1].result or "closed without a repair"
    well = [r for r in (record, node) if r is not None and r.lifecycle == Lifecycle.HEALTHY and not r.incidents]
    if closed and len(well) == 2:  # noqa: PLR2004 - the GPU and its node
        return "repaired"
    stuck = [r for r in (record, node) if r is not None and r.lifecycle in {Lifecycle.QUARANTINED, Lifecycle.RETIRED}]
    return f"{stuck[0].entity} is {stuck[0].lifecycle}" if stuck else None
