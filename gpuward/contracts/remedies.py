"""What can be done about a fault, ordered by how much it disturbs, and the words of a verdict."""

from __future__ import annotations

from enum import StrEnum

from gpuward.contracts.model import Contract


class Remedy(StrEnum):
    """Ordered: a later member disturbs more. `ASK_PERSON` stands beside the order: cordon, tell a person, deadline, default."""

    OBSERVE = "observe"
    RESTART_APP = "restart_app"
    RESTART_SERVICE = "restart_service"
    APPLY_CONFIG = "apply_config"
    DRAIN = "drain"
    RESET_GPU = "reset_gpu"
    REBOOT_NODE = "reboot_node"
    POWER_CYCLE_NODE = "power_cycle_node"
    REIMAGE_NODE = "reimage_node"
    REPLACE_NODE = "replace_node"
    RETURN_GPU = "return_gpu"
    DRAIN_DOMAIN = "drain_domain"
    RESET_FABRIC = "reset_fabric"
    POWER_CYCLE_RACK = "power_cycle_rack"
    ASK_PERSON = "ask_person"

    @property
    def rank(self) -> int:
        """Position in the order; `ASK_PERSON` ranks with `DRAIN`, since its cordon takes the node out of service."""
        order = list(Remedy)
        return order.index(Remedy.DRAIN if self is Remedy.ASK_PERSON else self)

    @property
    def disturbs(self) -> bool:
        """Whether it needs a plan, a slot of the budget and a token. The mild ones are only recorded."""
        return self.rank >= Remedy.DRAIN.rank


def more_disturbing(first: Remedy, second: Remedy) -> Remedy:
    """The one that disturbs more. `ASK_PERSON` wins over every automatic remedy: where one cause needs a person, nothing
    irreversible is done to the node for another.
    """
    if Remedy.ASK_PERSON in (first, second):
        return Remedy.ASK_PERSON
    return first if first.rank >= second.rank else second


class Severity(StrEnum):
    """How bad: `info` is recorded, `warning` watched, `degraded` repaired when convenient, `critical` now."""

    INFO = "info"
    WARNING = "warning"
    DEGRADED = "degraded"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        return list(Severity).index(self)


class HoldClass(StrEnum):
    """Whether a plan waits at the rack for an explanation before it goes on to the pool guard."""

    NONE = "none"
    RACK = "rack"


class Verdict(Contract):
    """What policy says of a fault, decided once in the streams and carried with its policy version.

    `ladder` is the list of rungs that the class climbs when a rung did not help, `start` the index where it begins,
    `attempts` the most attempts that one incident is granted over all rungs.
    """

    severity: Severity
    ladder: tuple[Remedy, ...] = (Remedy.OBSERVE,)
    start: int = 0
    hold: HoldClass = HoldClass.NONE
    hold_s: float = 45
    """How long the rack may hold it: the pool's `hold_s`, set where the verdict is given."""
    attempts: int = 3
    because: str = ""
    """One sentence for people."""
    policy: str = ""
    """Version of the policy that gave this verdict."""

    @property
    def remedy(self) -> Remedy:
        return self.ladder[min(self.start, len(self.ladder) - 1)]
