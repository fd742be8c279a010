"""`node.recheck`: the condition, the identity and the boot are proven again before anything is disturbed."""

from __future__ import annotations

from temporalio import activity

from activities.conditions import Standing
from activities.interlock import host_proven
from activities.powers import Powers, power_of
from gpuward.contracts.acts import NodeAct, Proof
from gpuward.contracts.errors import Refused


class Recheck:
    """Reads only."""

    def __init__(self, powers: Powers) -> None:
        self._powers = powers

    @activity.defn(name="node.recheck")
    async def recheck(self, act: NodeAct) -> Proof:
        """`gone` where a newer boot runs or everything was measured and nothing stands; not proven where in doubt."""
        try:
            host = await host_proven(power_of(self._powers, act), act)
        except Refused as refused:
            return Proof(proven=False, reason=refused.reason)
        known = {"boot_id": host.boot_id, "sessions": host.sessions}
        if host.boot_id != act.boot_id:
            return Proof(proven=False, gone=True, reason=f"{act.node} has booted anew: {host.boot_id}", **known)
        if elsewhere := [uuid for uuid in act.gpus if host.gpu(uuid) is None]:
            return Proof(proven=False, gone=True, reason=f"{', '.join(elsewhere)} left {act.node}", **known)
        standing = Standing(host, act.gpus, act.fault_classes)
        if act.ordered_by or standing.any:
            return Proof(proven=True, **known)
        classes = ", ".join(act.fault_classes) or "no condition"
        if act.fault_classes and standing.measured:
            return Proof(proven=False, gone=True, reason=f"{classes} no longer stands on {act.node}", **known)
        return Proof(proven=False, reason=f"{classes} cannot be measured on {act.node}", **known)
