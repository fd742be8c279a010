"""The kernel log in the driver's real grammar. Source: domain gpu-health-rules §2 (driver 595.45.04)."""

from __future__ import annotations

from enum import IntEnum

from gpuward.simulator.state import GpuState


class Xid(IntEnum):
    """The codes that do something to a GPU here beyond being printed."""

    DOUBLE_BIT = 48
    ROW_REMAP = 63
    REMAP_FAILURE = 64
    OFF_BUS = 79
    RECOVERY_ACTION = 154


_DRIVER = "595.45.04"

RECOVERY = {0: "None", 1: "GPU Reset Required", 2: "Node Reboot Required", 3: "Drain P2P", 4: "Drain and Reset"}

TEXTS = {
    13: "Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0): Out Of Range Address",
    31: "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_3 faulted @ 0x7f2c_9a600000. "
    "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
    43: "Ch 00000008, engmask 00000101, intr 00000000",
    45: "Ch 00000008",
    48: "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 3, subpartition 1.",
    63: "Row Remapper: New row (0x0000000000a3f1c0) marked for remapping, reset gpu to activate.",
    64: "Row Remapper: Error recording row 0x0000000000a3f1c0 for remapping",
    74: "NVLink: fatal error detected on link 4(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)",
    79: "GPU has fallen off the bus.",
    94: "Contained: SM (0x1). RST: No, D-RST: No",
    95: "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No",
    119: "Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20802a02 0x8).",
    120: "GSP task exception: load access fault (cause:0x5)",
}
"""What the driver says after code and process, by code."""

_WITHOUT_PROCESS = frozenset({63, 64, 74, 154})


def pci(gpu: GpuState) -> str:
    """`PCI:dddd:bb:dd`: no function digit."""
    return f"PCI:{gpu.slot.rpartition('.')[0]}"


def xid(gpu: GpuState, code: int, text: str | None = None, *, pid: int = 41235, process: str = "python3") -> str:
    """`NVRM: Xid (PCI:0000:1b:00): 79, pid=…, name=…, GPU has fallen off the bus.`"""
    who = "" if code in _WITHOUT_PROCESS else f"pid={pid}, name={process}, "
    return f"NVRM: Xid ({pci(gpu)}): {code}, {who}{text if text is not None else TEXTS.get(code, 'Unknown error')}"


def recovery(gpu: GpuState, before: int, after: int) -> str:
    """Xid 154. The words are for people; the number is what counts."""
    words = (RECOVERY.get(before, "Unknown"), RECOVERY.get(after, "Unknown"))
    return xid(gpu, 154, f"GPU recovery action changed from {before:#x} ({words[0]}) to {after:#x} ({words[1]})")


def fallen_off(gpu: GpuState) -> str:
    """The line without a code that stands beside a 79."""
    return f"NVRM: GPU {gpu.slot}: GPU has fallen off the bus."


def absent_at_probe(gpu: GpuState) -> list[str]:
    """Three lines at boot for a GPU that does not answer the probe."""
    return [
        f"NVRM: The NVIDIA GPU {gpu.slot}",
        "NVRM: (PCI ID: 10de:2330) installed in this system has",
        "NVRM: fallen off the bus and is not responding to commands.",
    ]


def mapped(gpu: GpuState) -> list[str]:
    """Which GPU sits where, and its board's serial number."""
    return [f"NVRM: GPU at {pci(gpu)}: {gpu.uuid}", f"NVRM: GPU Board Serial Number: {gpu.serial}"]


def boot(gpus: list[GpuState]) -> list[str]:
    """What a healthy host prints until the driver has bound its GPUs."""
    lines = [
        "Linux version 6.8.0-52-generic (buildd@lcy02) (gcc 13.3.0) #53-Ubuntu SMP PREEMPT_DYNAMIC",
        "DMI: NVIDIA HGX/HGX H100 8-GPU, BIOS 1.4 08/12/2025",
        f"NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {_DRIVER}  Release Build",
    ]
    for gpu in gpus:
        lines += absent_at_probe(gpu) if gpu.lost else mapped(gpu)
    return lines


def bound_again(gpu: GpuState) -> list[str]:
    """What a reset prints when the driver binds the GPU anew."""
    return [f"nvidia {gpu.slot}: enabling device (0000 -> 0002)", *mapped(gpu)]
