"""What a remediation is started with, in tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from gpuward.contracts.claims import Limits, Token, TokenRenewed
from gpuward.contracts.identity import FLEET, NodeId
from gpuward.contracts.remediation import RemediationInput
from gpuward.contracts.remedies import Remedy
from gpuward.contracts.seat import Seat

LATER = datetime(2100, 1, 1, tzinfo=UTC)


def attempt(node: str, remedy: Remedy = Remedy.RESET_GPU, number: int = 1, **limits: Any) -> RemediationInput:
    return RemediationInput(
        node=NodeId(node),
        seat=Seat(node=NodeId(node)),
        plan="p1",
        attempt=number,
        remedy=remedy,
        boot_id="b1",
        gpus=("GPU-1",),
        token=Token(1, 1),
        not_after=LATER,
        guard=FLEET,
        limits=Limits(mode="act", **limits),
        fault_ids=("f1",),
        because="Xid 79",
    )


def renewed(n: int, number: int = 1) -> TokenRenewed:
    return TokenRenewed(plan="p1", attempt=number, token=Token(1, n), not_after=LATER + timedelta(days=n))
