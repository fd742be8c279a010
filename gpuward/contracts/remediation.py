"""What a remediation child is started with, and what its steps are called."""

from __future__ import annotations

from datetime import datetime

from gpuward.contracts.claims import Limits, Token
from gpuward.contracts.identity import Entity, NodeId
from gpuward.contracts.model import Contract
from gpuward.contracts.remedies import Remedy
from gpuward.contracts.seat import Seat


class RemediationInput(Contract):
    """One attempt of one rung. Everything it may know of policy is in `limits`."""

    node: NodeId
    seat: Seat
    plan: str
    attempt: int
    remedy: Remedy
    boot_id: str
    gpus: tuple[str, ...] = ()
    """UUIDs that the remedy is for; empty: the whole node."""
    concerned: tuple[str, ...] = ()
    """UUIDs of the GPUs whose claims stand behind it, also where the remedy is of the whole node: what to re-prove."""
    token: Token
    not_after: datetime
    guard: Entity
    limits: Limits = Limits()
    fault_ids: tuple[str, ...] = ()
    fault_classes: tuple[str, ...] = ()
    because: str = ""
    ordered_by: str = ""
    """The person who ordered it, where no fault did: a drain by directive."""

    @property
    def entity(self) -> Entity:
        return Entity.remediation(self.node, self.plan, self.attempt)
