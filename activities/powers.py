"""Which power a node answers to: the inventory says so, in its address."""

from __future__ import annotations

from collections.abc import Mapping

from activities.power import Power
from gpuward.contracts.acts import NodeAct
from gpuward.contracts.errors import Refused

Powers = Mapping[str, Power]
"""Provider name → the power that reaches it."""


def power_of(powers: Powers, act: NodeAct) -> Power:
    """The power that this node answers to. Raises Refused where there is none: the node is watch-only."""
    provider = act.seat.address.provider
    if act.seat.node != act.node:
        raise Refused(f"identity: the seat is of {act.seat.node}, the act names {act.node}")
    if not provider:
        raise Refused(f"seat: {act.node} has no provider in the inventory, so it is only watched")
    if provider not in powers:
        raise Refused(f"seat: no worker here has the power {provider!r} that {act.node} answers to")
    return powers[provider]


def permitted(act: NodeAct) -> None:
    """Raises Refused where this pool is only watched, or this is a dry run."""
    if act.limits.mode != "act":
        raise Refused(f"mode: the pool {act.seat.pool} is in mode {act.limits.mode!r}; nothing is touched")
    if act.limits.dry_run:
        raise Refused(f"dry-run: {act.node} would have been touched")
