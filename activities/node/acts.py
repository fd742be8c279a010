"""The irreversible acts on a node. Law: each goes through the interlock, is sent once, and ends done, refused or unknown."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from temporalio import activity

from activities.interlock import Interlock
from activities.power import Power, Unanswered, Unreachable
from gpuward.contracts.acts import ActResult, NodeAct


class Acts:
    """`poll_s`: how often an eviction is looked at until the work is gone; `margin_s`: how long past its deadline."""

    def __init__(self, interlock: Interlock, *, poll_s: float = 1.0, margin_s: float = 60.0) -> None:
        self._interlock = interlock
        self._poll_s = poll_s
        self._margin_s = margin_s

    @activity.defn(name="gpu.reset")
    async def reset(self, act: NodeAct) -> ActResult:
        """Resets the GPUs named; with none named it is refused by the machine."""
        return await self._interlock.act("gpu.reset", act, lambda power: power.reset_gpus(act.node, act.gpus))

    @activity.defn(name="node.reboot")
    async def reboot(self, act: NodeAct) -> ActResult:
        """Reboots through the host."""
        return await self._interlock.act("node.reboot", act, lambda power: power.reboot(act.node))

    @activity.defn(name="node.power_cycle")
    async def power_cycle(self, act: NodeAct) -> ActResult:
        """Cuts and restores power through the BMC."""
        return await self._interlock.act("node.power_cycle", act, lambda power: power.power_cycle(act.seat.address.bmc))

    @activity.defn(name="node.evict")
    async def evict(self, act: NodeAct) -> ActResult:
        """Asks the work to go, as the drain mode says, and waits until it has; unknown where it stays."""
        return await self._interlock.act("node.evict", act, lambda power: self._evict(power, act))

    async def _evict(self, power: Power, act: NodeAct) -> dict[str, Any]:
        limits = act.limits
        told = await power.evict(act.node, limits.drain_mode, limits.evict_deadline_s)
        until = time.monotonic() + limits.evict_deadline_s + self._margin_s
        while time.monotonic() < until:
            if await _drained(power, act):
                return told
            await asyncio.sleep(self._poll_s)
        raise Unanswered(f"the eviction of {act.node} was accepted, and work is still there past its deadline")


async def _drained(power: Power, act: NodeAct) -> bool:
    try:
        return not (await power.host(act.node)).workload
    except Unreachable:
        return False
