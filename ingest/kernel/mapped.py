"""`NVRM: GPU at PCI:<device>: GPU-<uuid>`: which GPU sits in which slot.

The driver prints it once, before the first Xid after load.
"""

from __future__ import annotations

import re

from gpuward.contracts.identity import GpuId
from gpuward.contracts.observations import GpuMapped
from ingest.kernel.message import SLOT, Message, slot_of, trusted

_LINE = re.compile(rf"NVRM: GPU at (?:PCI:)?({SLOT}): (GPU-[0-9a-fA-F-]{{36}})\b", re.ASCII)


def read_mapping(message: Message) -> GpuMapped | None:
    """The observation, None for any other line (one cut off within the UUID too)."""
    line = _LINE.match(message.text)
    device = slot_of(line[1]) if line else None
    if line is None or device is None:
        return None
    try:
        gpu = GpuId(f"GPU-{line[2][4:].lower()}")
    except ValueError:
        return None
    return trusted(GpuMapped, message.seen("gpu_mapped", {"device": device, "gpu": gpu}))
