"""The scripted fault of the demo: waits for the fleet, breaks one GPU, and judges how it ended."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from gpuward.console.live import demo
from gpuward.console.live.feed import Feed
from gpuward.console.live.run import Running, Wanted
from gpuward.console.live.watch import Watch
from gpuward.contracts.errors import GpuwardError
from gpuward.contracts.identity import Entity, EntityKind
from gpuward.contracts.lifecycle import Lifecycle
from gpuward.simulator.client import WorldClient

_BREATH_S = 3.0
"""Between the announcement and the fault: time to find the GPU on the picture."""
_ACTS = ("reboot", "reset", "power_cycle")


@dataclass
class Drama:
    """One fault from its announcement to its verdict."""

    wanted: Wanted
    running: Running
    watch: Watch
    gpu: Entity | None = None
    broken_at: float = 0.0
    verdict: str | None = None
    acts: dict[str, int] = field(default_factory=dict)
    """Kind → how many acts reached a machine since the fault, as the world counts them."""
    before: int = 0

    async def perform(self, feed: Feed) -> None:
        """Waits until the whole fleet is known and well, then breaks one GPU. Raises GpuwardError when the world refuses."""
        await feed.until(lambda: known(feed, self.wanted))
        well = [
            r.entity.name
            for r in feed.entities
            if r.entity_kind is EntityKind.NODE and r.lifecycle == Lifecycle.HEALTHY
        ]
        node, index = demo.victim(well or [r.entity.name for r in feed.entities if r.entity_kind is EntityKind.NODE])
        self.watch.say(
            f"The fleet is here. In {_BREATH_S:.0f} s GPU {index} of {node} falls off the bus (Xid {demo.CODE})."
        )
        await asyncio.sleep(_BREATH_S)
        async with WorldClient(self.running.settings.world or "") as world:
            self.before = len((await world.counts()).acts)
            hit = await world.inject(fault="xid", code=demo.CODE, node=node, gpu=min(index, self.wanted.gpus - 1))
        self.gpu, self.broken_at = Entity.gpu(hit[0]), time.monotonic()
        self.watch.say(f"Xid {demo.CODE} on {self.gpu} of {node}. Watch it travel.")

    def judge(self, feed: Feed) -> str | None:
        """The verdict as soon as there is one; said once."""
        if self.gpu is None or self.verdict is not None:
            return self.verdict
        outcomes = [outcome for outcome, _, _ in feed.told]
        verdict = demo.verdict(self.gpu, feed.entities, outcomes)
        seconds = time.monotonic() - self.broken_at
        if verdict is None and seconds > demo.REPAIR_S:
            verdict = f"not repaired within {demo.REPAIR_S} s"
        if verdict is not None:
            self.verdict = verdict
            self.watch.say(_closing(self.gpu, verdict, seconds))
        return self.verdict

    async def count(self) -> None:
        """What the world counted meanwhile, for the closing line. Unknown where it does not answer."""
        try:
            async with WorldClient(self.running.settings.world or "") as world:
                for act in (await world.counts()).acts[self.before :]:
                    if act.kind in _ACTS:
                        self.acts[act.kind] = self.acts.get(act.kind, 0) + 1
        except GpuwardError:
            return


def known(feed: Feed, wanted: Wanted) -> bool:
    """Whether every node and GPU of the simulated world is in the records."""
    kinds = [record.entity_kind for record in feed.entities]
    return kinds.count(EntityKind.NODE) >= wanted.total_nodes and kinds.count(EntityKind.GPU) >= wanted.total_gpus


def _closing(gpu: Entity, verdict: str, seconds: float) -> str:
    if verdict == "repaired":
        return f"Repaired and verified in {seconds:.0f} s: {gpu} is healthy and its node is back at work."
    return f"Not repaired: {verdict}. `gpuward why {gpu}` tells what happened."
