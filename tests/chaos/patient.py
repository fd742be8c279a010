"""One node to break: what is broken on it, how far its repair has come, and what must hold whatever was killed meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

from gpuward.contracts.outcomes import Outcome, OutcomeKind
from tests.system.fleet import Fleet

ACTS = {"evict": "node.evict", "reset": "gpu.reset", "reboot": "node.reboot", "power_cycle": "node.power_cycle"}
"""How the world calls an act → its row in `actions.py`."""
HEALED = [("validating", "healthy")]


@dataclass(frozen=True)
class Patient:
    fleet: Fleet
    node: str
    uuid: str

    @classmethod
    async def of(cls, fleet: Fleet, node: str) -> Patient:
        """Waits until everything that watches over it is born."""
        one = cls(fleet, node, await fleet.gpu(node))
        await fleet.born(one.gpu, one.entity, f"rack/{one.rack}", one.pool, timeout=120)
        return one

    @property
    def rack(self) -> str:
        return self.node.partition("-")[0]

    @property
    def gpu(self) -> str:
        return f"gpu/{self.uuid}"

    @property
    def entity(self) -> str:
        return f"node/{self.node}"

    @property
    def pool(self) -> str:
        return f"pool/pool-{self.rack}"

    @property
    def lifecycle(self) -> str:
        edges = self.fleet.ledger.edges(self.entity)
        return edges[-1][1] if edges else "healthy"

    async def falls_off_the_bus(self) -> None:
        await self.fleet.world.inject(node=self.node, gpu=self.uuid, fault="xid", code=79)

    async def reaches(self, *lifecycles: str, within_s: float = 90) -> None:
        """Waits until the node's lifecycle is, or was since its last hand-back, one of these."""

        def seen(_: list[Outcome]) -> bool:
            edges = self.fleet.ledger.edges(self.entity)
            since = max((n for n, (_, after) in enumerate(edges) if after == "healthy"), default=-1)
            return any(after in lifecycles for _, after in edges[since + 1 :])

        await self.fleet.ledger.until(seen, within_s, f"{self.entity} {' or '.join(lifecycles)}")

    async def heals(self, within_s: float = 120) -> None:
        """Waits until GPU and node are healthy again and the node is handed back."""
        ledger = self.fleet.ledger

        def healed(_: list[Outcome]) -> bool:
            back = any(o.name == "handed_back" for o in ledger.of(self.entity))
            return back and ledger.edges(self.gpu)[-1:] == ledger.edges(self.entity)[-1:] == HEALED

        await ledger.until(healed, within_s, f"the repair of {self.node} ({self.gpu})")
        assert not (await self.fleet.world.host(self.node)).cordons

    async def count(self, act: str) -> int:
        """How often this act reached the machine."""
        return (await self.fleet.world.counts()).of(self.node, act)

    def attempts(self, action: str) -> set[tuple[str, int]]:
        """The numbered attempts in which the ledger knows of this act."""
        acts = [o for o in self.fleet.ledger.of(self.entity, what=OutcomeKind.ACT) if o.name == action]
        return {(o.cause.plan, o.cause.attempt) for o in acts if o.cause.plan and o.cause.attempt}

    async def never_twice(self) -> None:
        """Law: an irreversible act happens at most once per numbered attempt."""
        for kind, action in ACTS.items():
            count, attempts = await self.count(kind), self.attempts(action)
            assert count <= len(attempts), f"{count} times {kind} in the attempts {sorted(attempts)}"
