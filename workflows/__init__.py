"""Temporal: pure brains (`decide`), thin shells around them (`actors`, `guards`), and remediations.

`ALL_WORKFLOWS` is what a decide worker registers. It is found on first use, so that the brains can be imported where no
Temporal is installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    ALL_WORKFLOWS: tuple[type, ...]

_PLACES = (
    ("workflows.actors.gpu_actor", "GpuActor"),
    ("workflows.actors.node_actor", "NodeActor"),
    ("workflows.actors.rack_actor", "RackActor"),
    ("workflows.guards.pool", "PoolGuard"),
    ("workflows.remediations.remediation", "Remediation"),
)


def __getattr__(name: str) -> Any:
    if name != "ALL_WORKFLOWS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return tuple(getattr(import_module(module), workflow) for module, workflow in _PLACES)
