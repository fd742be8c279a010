"""Move the work off the node and measure it; the act is the eviction itself.

step       action               undo             after
recheck    node.recheck         -                -
cordon     node.cordon          node.uncordon    recheck
evict      node.evict           -                cordon
validate   node.validate        -                evict
"""

from __future__ import annotations

from gpuward.contracts.remedies import Remedy
from workflows.remediations.steps import Repair, Step

REPAIR = Repair(
    Remedy.DRAIN,
    (
        Step("recheck", "node.recheck"),
        Step("cordon", "node.cordon", undo="node.uncordon", after=("recheck",)),
        Step("evict", "node.evict", after=("cordon",), act=True, report="acting"),
        Step("validate", "node.validate", after=("evict",), report="validating"),
    ),
)
