"""The reducer of `detect`: one batch of one node → the node's view and the faults that come of it. Pure.

Law: a batch fed twice gives no new fault; the same observations cut into other batches end in the same faults.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpuward.contracts.faults import Fault
from gpuward.contracts.observations import (
    GpuMapped,
    GpuMissing,
    NodeSample,
    Observation,
    ObservationBatch,
    XidLogged,
)
from streams.rules import levels, silence
from streams.rules.clearing import expire
from streams.rules.context import Context, to_ms
from streams.rules.draft import Draft
from streams.rules.slots import learn
from streams.rules.view import NodeView, Volatile
from streams.rules.xid import xid


def step(
    view: NodeView, volatile: Volatile, batch: ObservationBatch, context: Context
) -> tuple[NodeView, Volatile, list[Fault]]:
    """Works through the batch in event-time order. The very same view comes back where nothing durable changed."""
    draft = Draft(view, context)
    for observation in _in_order(batch.observations):
        boot_id = observation.boot_id or batch.boot_id
        if isinstance(observation, NodeSample):
            volatile = levels.sample(draft, volatile, observation, boot_id)
        elif draft.seen.news(observation, boot_id):
            _discrete(draft, observation, boot_id)
    silence.heard(draft, to_ms(batch.time))
    if draft.open:
        expire(draft, context)
    new_view, faults = draft.finish()
    return new_view, volatile, faults


def _discrete(draft: Draft, observation: Observation, boot_id: str) -> None:
    if isinstance(observation, XidLogged):
        xid(draft, observation, boot_id)
    elif isinstance(observation, GpuMapped):
        if observation.device is not None:
            learn(draft, boot_id, [(observation.device, observation.gpu)])
    elif isinstance(observation, GpuMissing):
        levels.missing(draft, observation, boot_id)


def _in_order(observations: Iterable[Observation]) -> list[Observation]:
    """By time; at one time what was said before what was measured, and lines as the kernel numbered them."""

    def place(one: Observation) -> tuple[object, bool, int]:
        return one.time, isinstance(one, NodeSample), one.sequence[0] if one.sequence else 0

    return sorted(observations, key=place)
