"""Reset the GPUs named: for what a reset clears (a pending row remap, a contained or uncontained memory error).

step       action               undo             after
recheck    node.recheck         -                -
cordon     node.cordon          node.uncordon    recheck
evict      node.evict           -                cordon
evidence   evidence.collect     -                cordon
act        gpu.reset            -                evict, evidence
session    node.await_session   -                act
validate   node.validate        -                session
"""

from __future__ import annotations

from gpuward.contracts.remedies import Remedy
from workflows.remediations.steps import Repair, Step

REPAIR = Repair(
    Remedy.RESET_GPU,
    (
        Step("recheck", "node.recheck"),
        Step("cordon", "node.cordon", undo="node.uncordon", after=("recheck",)),
        Step("evict", "node.evict", after=("cordon",)),
        Step("evidence", "evidence.collect", after=("cordon",), optional=True),
        Step("act", "gpu.reset", after=("evict", "evidence"), act=True, observed_by="session", report="acting"),
        Step("session", "node.await_session", after=("act",), want="session"),
        Step("validate", "node.validate", after=("session",), report="validating"),
    ),
)
