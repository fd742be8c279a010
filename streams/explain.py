"""`gpuward explain`: the live rules over a file, without a server. The console joins the faults with the GPU brain."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from gpuward.contracts.faults import Fault
from gpuward.contracts.identity import NodeId
from gpuward.contracts.observations import Observation, ObservationBatch
from gpuward.contracts.policy import Policy
from streams.classify import Classifier
from streams.rules.context import Context
from streams.rules.decoding import MERGE_MS
from streams.rules.step import step
from streams.rules.view import NodeView, Volatile

EXPLAINED_NODE = NodeId("local")


def faults_of(observations: Iterable[Observation], policy: Policy, boot_id: str) -> list[Fault]:
    """What `detect` would tell of these observations, in order: an empty view, now = each observation's time.

    `boot_id` is the hash of the file. A GPU whose UUID no line told is `gpu/<slot>`. The caller advances the actors'
    clock; the faults that still stand at the end are those whose last record is not `cleared`.
    """
    classify = Classifier(policy)
    view, volatile = NodeView(node=EXPLAINED_NODE), Volatile()
    found: list[Fault] = []
    now: datetime | None = None
    for offset, observation in enumerate(observations):
        now = observation.time if now is None else max(now, observation.time)
        batch = ObservationBatch(
            node=EXPLAINED_NODE, boot_id=boot_id, seq=offset, time=observation.time, observations=(observation,)
        )
        context = _context(offset, now, classify)
        view, volatile, faults = step(view, volatile, batch, context)
        found += faults
    return found


def standing(faults: Iterable[Fault]) -> list[Fault]:
    """The newest record of each fault that did not only become part of another, oldest first."""
    newest: dict[str, Fault] = {}
    for fault in faults:
        newest[fault.fault_id] = fault
    return sorted(
        (fault for fault in newest.values() if not fault.cleared_because.startswith("folded")),
        key=lambda fault: (fault.first_seen, fault.fault_class),
    )


def longest_window() -> timedelta:
    """How far now has to be advanced after the last line for every merge to be over."""
    return timedelta(milliseconds=MERGE_MS)


def _context(offset: int, now: datetime, classify: Classifier) -> Context:
    return Context(partition=0, offset=offset, now=now, classify=classify, by_slot=True)
