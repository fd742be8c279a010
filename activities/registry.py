"""Every row of `gpuward.contracts.actions` and the function that is it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from temporalio.client import Client

from activities.actors.signal import Actors
from activities.evidence.collect import Evidence
from activities.interlock import Interlock
from activities.ledger.append import Ledger, Producer
from activities.ledger.load import Loading, Reader
from activities.node.acts import Acts
from activities.node.await_session import Sessions
from activities.node.keep_off import KeepOff
from activities.node.recheck import Recheck
from activities.node.validate import Validate
from activities.notify.person import Notify
from activities.powers import Powers
from gpuward.contracts.actions import ACTIONS

Implementation = Callable[[Any], Awaitable[Any]]


def build(
    powers: Powers,
    producer: Producer,
    records: Reader,
    client: Client,
    *,
    evidence_folder: Path,
    interlock: Interlock | None = None,
    poll_s: float = 1.0,
) -> dict[str, Implementation]:
    """Name → activity, for the act workers. `poll_s`: how often effects are looked at."""
    ledger = Ledger(producer)
    keep_off = KeepOff(powers)
    acts = Acts(interlock or Interlock(client, powers), poll_s=poll_s)
    return {
        "node.recheck": Recheck(powers).recheck,
        "node.cordon": keep_off.cordon,
        "node.uncordon": keep_off.uncordon,
        "node.evict": acts.evict,
        "gpu.reset": acts.reset,
        "node.reboot": acts.reboot,
        "node.power_cycle": acts.power_cycle,
        "node.await_session": Sessions(powers, poll_s=poll_s).await_session,
        "node.validate": Validate(powers, poll_s=poll_s).validate,
        "evidence.collect": Evidence(powers, evidence_folder).collect,
        "notify.person": Notify(ledger.put).person,
        "ledger.append": ledger.append,
        "records.load": Loading(records).load,
        "actor.signal_with_start": Actors(client).signal_with_start,
    }


def on_queue(implementations: dict[str, Implementation], queue: str) -> list[Implementation]:
    """Those whose row names this task queue, for one worker."""
    return [implementation for name, implementation in implementations.items() if ACTIONS[name].queue == queue]
