"""TABLE of activities: name, request, result, queue, timeouts, retry, undo, blast radius, and whether it can be undone.

Laws, each held by a test over this table: every row has exactly one implementation with those types; every irreversible
row has one attempt and goes through the interlock; every reversible row names its undo.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpuward.contracts import acts
from gpuward.contracts.entities import Loaded
from gpuward.contracts.model import Contract

ACT_QUEUE = "gpuward-act"
LEDGER_QUEUE = "gpuward-ledger"


class Effect(StrEnum):
    """`READ` changes nothing; `MESSAGE` tells somebody, and telling twice is harmless; `REVERSIBLE` has an undo;
    `IRREVERSIBLE` has none, one attempt, and the interlock before it.
    """

    READ = "read"
    MESSAGE = "message"
    REVERSIBLE = "reversible"
    IRREVERSIBLE = "irreversible"


@dataclass(frozen=True, slots=True)
class Action:
    """One row. Timeouts in seconds; `attempts` 0 means without limit. `radius` is what one call can disturb at most."""

    name: str
    request: type[Contract]
    result: type[Contract]
    effect: Effect
    radius: str
    meaning: str
    queue: str = ACT_QUEUE
    start_to_close_s: float = 60
    schedule_to_start_s: float | None = None
    heartbeat_s: float | None = None
    attempts: int = 0
    undo: str | None = None
    priority: int = 3


_A, _E = acts, Effect

ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (
        Action(
            "node.recheck",
            _A.NodeAct,
            _A.Proof,
            _E.READ,
            "none",
            "re-prove condition, identity and boot",
            attempts=20,
            start_to_close_s=20,
        ),
        Action(
            "node.cordon",
            _A.NodeAct,
            _A.CordonResult,
            _E.REVERSIBLE,
            "node",
            "take ownership and keep new work off the node",
            undo="node.uncordon",
            attempts=20,
            priority=2,
        ),
        Action(
            "node.uncordon",
            _A.NodeAct,
            _A.CordonResult,
            _E.REVERSIBLE,
            "node",
            "give back our own cordon and lease, never another's",
            undo="node.cordon",
            attempts=0,
        ),
        Action(
            "node.evict",
            _A.NodeAct,
            _A.ActResult,
            _E.IRREVERSIBLE,
            "node",
            "end or move the work on the node, as the drain mode says",
            start_to_close_s=3600,
            schedule_to_start_s=120,
            heartbeat_s=30,
            attempts=1,
        ),
        Action(
            "evidence.collect",
            _A.NodeAct,
            _A.EvidenceBundle,
            _E.READ,
            "none",
            "logs and dumps before the act",
            attempts=3,
            start_to_close_s=120,
        ),
        Action(
            "gpu.reset",
            _A.NodeAct,
            _A.ActResult,
            _E.IRREVERSIBLE,
            "gpu",
            "reset the GPUs named",
            start_to_close_s=300,
            schedule_to_start_s=120,
            heartbeat_s=30,
            attempts=1,
        ),
        Action(
            "node.reboot",
            _A.NodeAct,
            _A.ActResult,
            _E.IRREVERSIBLE,
            "node",
            "reboot through the host or its controller",
            start_to_close_s=120,
            schedule_to_start_s=120,
            heartbeat_s=30,
            attempts=1,
        ),
        Action(
            "node.power_cycle",
            _A.NodeAct,
            _A.ActResult,
            _E.IRREVERSIBLE,
            "node",
            "cut and restore power through the BMC",
            start_to_close_s=120,
            schedule_to_start_s=120,
            heartbeat_s=30,
            attempts=1,
        ),
        Action(
            "node.await_session",
            _A.AwaitSession,
            _A.SessionSeen,
            _E.READ,
            "none",
            "look for the act's effect until a deadline",
            start_to_close_s=7200,
            heartbeat_s=30,
            attempts=0,
        ),
        Action(
            "node.validate",
            _A.NodeAct,
            _A.Validation,
            _E.READ,
            "none",
            "measure that the node is well under this boot",
            start_to_close_s=3600,
            heartbeat_s=60,
            attempts=5,
        ),
        Action(
            "notify.person",
            _A.PersonAsked,
            _A.Nothing,
            _E.MESSAGE,
            "none",
            "tell a person, with deadline and default",
            attempts=10,
        ),
        Action(
            "ledger.append",
            _A.Append,
            _A.Nothing,
            _E.MESSAGE,
            "none",
            "append outcomes to the ledger",
            queue=LEDGER_QUEUE,
            start_to_close_s=10,
            attempts=1,
        ),
        Action(
            "records.load",
            _A.LoadRequest,
            Loaded,
            _E.READ,
            "none",
            "load an actor's record",
            queue=LEDGER_QUEUE,
            start_to_close_s=10,
            attempts=1,
        ),
        Action(
            "actor.signal_with_start",
            _A.SignalRequest,
            _A.Nothing,
            _E.MESSAGE,
            "none",
            "deliver to an actor that may not exist yet",
            queue=LEDGER_QUEUE,
            start_to_close_s=10,
            attempts=0,
        ),
    )
}
