"""Reboot the node through its host or controller: for what a reset cannot clear (a GPU off the bus).

step       action               undo             after
recheck    node.recheck         -                -
cordon     node.cordon          node.uncordon    recheck
evict      node.evict           -                cordon
evidence   evidence.collect     -                cordon
act        node.reboot          -                evict, evidence
session    node.await_session   -                act
validate   node.validate        -                session
"""

from __future__ import annotations

from gpuward.contracts.remedies import Remedy
from workflows.remediations.steps import Repair, Step

REPAIR = Repair(
    Remedy.REBOOT_NODE,
    (
        Step("recheck", "node.recheck"),
        Step("cordon", "node.cordon", undo="node.uncordon", after=("recheck",)),
        Step("evict", "node.evict", after=("cordon",)),
        Step("evidence", "evidence.collect", after=("cordon",), optional=True),
        Step("act", "node.reboot", after=("evict", "evidence"), act=True, observed_by="session", report="acting"),
        Step("session", "node.await_session", after=("act",), want="boot"),
        Step("validate", "node.validate", after=("session",), report="validating"),
    ),
)
