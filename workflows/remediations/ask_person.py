"""Keep new work off the node and tell a person. Nothing is proven first: the cause may be that nothing can be seen.

    step       action               undo             after
    cordon     node.cordon          node.uncordon    -
    tell       notify.person        -                cordon

Nobody reached is no reason to hand the node back: the node's own deadline and default stand.
"""

from __future__ import annotations

from gpuward.contracts.claims import AttemptResult
from gpuward.contracts.remedies import Remedy
from workflows.remediations.steps import Repair, Step

REPAIR = Repair(
    Remedy.ASK_PERSON,
    (
        Step("cordon", "node.cordon", undo="node.uncordon"),
        Step("tell", "notify.person", after=("cordon",), optional=True),
    ),
    ends=AttemptResult.QUARANTINED,
)
