"""`node.cordon` and `node.uncordon`: our own cordon and lease, beside everybody else's."""

from __future__ import annotations

from temporalio import activity

from activities.power import OWNER, Declined
from activities.powers import Powers, permitted, power_of
from gpuward.contracts.acts import CordonResult, NodeAct
from gpuward.contracts.errors import Refused


class KeepOff:
    """Both may be repeated. Law: gpuward never undoes a cordon that it did not make."""

    def __init__(self, powers: Powers) -> None:
        self._powers = powers

    @activity.defn(name="node.cordon")
    async def cordon(self, act: NodeAct) -> CordonResult:
        """`already` names who else keeps work off. Refused where another controller owns the node, or nothing may be
        touched; raises Transient where it can be tried again.
        """
        try:
            power = power_of(self._powers, act)
            if not act.ordered_by:
                permitted(act)
            cordons = await power.cordon(act.node, OWNER, _reason(act))
        except Refused as refused:
            return CordonResult(result="refused", reason=refused.reason)
        except Declined as declined:
            return CordonResult(result="refused", reason=f"owner: {declined}")
        return CordonResult(result="done", already=", ".join(sorted(cordons.others)))

    @activity.defn(name="node.uncordon")
    async def uncordon(self, act: NodeAct) -> CordonResult:
        """`already` names who still keeps work off."""
        try:
            cordons = await power_of(self._powers, act).uncordon(act.node, OWNER)
        except Refused as refused:
            return CordonResult(result="refused", reason=refused.reason)
        except Declined as declined:
            return CordonResult(result="refused", reason=str(declined))
        return CordonResult(result="done", already=", ".join(sorted(cordons.others)))


def _reason(act: NodeAct) -> str:
    if act.ordered_by:
        return f"gpuward: ordered by {act.ordered_by}"
    return f"gpuward plan {act.plan} attempt {act.attempt}: {', '.join(act.fault_classes) or 'asked'}"
