"""What stands where at the beginning. The same seed gives the same UUIDs, serials and names."""

from __future__ import annotations

import uuid
from hashlib import blake2b

from pydantic import BaseModel, ConfigDict, Field

from gpuward.simulator.durations import Durations
from gpuward.simulator.state import GpuState, NodeState, WorldState

_HGX_BUSES = (0x1B, 0x43, 0x52, 0x61, 0x9D, 0xC3, 0xD1, 0xDF)
"""PCI buses of the eight GPUs of an HGX H100 baseboard as commonly seen."""


class Layout(BaseModel):
    """Racks of HGX nodes; each node's baseboard is one NVLink domain (domain topology, "Hierarchy")."""

    model_config = ConfigDict(frozen=True)

    racks: int = Field(default=2, ge=1)
    nodes_per_rack: int = Field(default=4, ge=1)
    gpus_per_node: int = Field(default=8, ge=1, le=16)
    seed: int = 1
    labels: dict[str, str] = Field(default_factory=lambda: {"platform": "hgx-h100", "site": "simulated"})


def deterministic_uuid(seed: int, *parts: object) -> str:
    """A version-4-shaped UUID that depends on nothing but its arguments."""
    text = "/".join(str(part) for part in (seed, *parts))
    return str(uuid.UUID(bytes=blake2b(text.encode(), digest_size=16).digest(), version=4))


def slot(index: int) -> str:
    """PCI address of the GPU in this position; past the eighth they are on the second PCI domain."""
    domain, position = divmod(index, len(_HGX_BUSES))
    return f"{domain:04x}:{_HGX_BUSES[position]:02x}:00.0"


def build(layout: Layout, durations: Durations | None = None) -> WorldState:
    """A world in which nothing has been booted yet; `world.begin` does that."""
    state = WorldState(seed=layout.seed, durations=durations or Durations())
    for rack in range(1, layout.racks + 1):
        for number in range(1, layout.nodes_per_rack + 1):
            node = _node(layout, f"r{rack:02d}", f"r{rack:02d}-n{number:02d}")
            state.nodes[node.name] = node
    return state


def _node(layout: Layout, rack: str, name: str) -> NodeState:
    seed = layout.seed
    gpus = [
        GpuState(uuid=f"GPU-{deterministic_uuid(seed, name, 'gpu', i)}", serial=_serial(seed, name, i), slot=slot(i))
        for i in range(layout.gpus_per_node)
    ]
    return NodeState(
        name=name,
        rack=rack,
        domain=f"{name}-hgx",
        bmc=f"bmc-{name}",
        smbios_uuid=deterministic_uuid(seed, name, "smbios"),
        labels=dict(layout.labels),
        gpus=gpus,
    )


def _serial(seed: int, name: str, index: int) -> str:
    """13 digits, as on the board."""
    digest = blake2b(f"{seed}/{name}/serial/{index}".encode(), digest_size=8).digest()
    return f"165{int.from_bytes(digest, 'big') % 10**10:010d}"
