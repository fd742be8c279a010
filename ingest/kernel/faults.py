"""Kernel lines that name a fault without an Xid: driver, PCIe, machine checks, memory, panic.

Sources: open kernel modules 595.45.04 (`osinit.c`, `nv-pci.c`, `kernel_gsp.c`); Linux `drivers/pci/pcie/aer.c`,
`arch/x86/kernel/cpu/mce/core.c`, `drivers/firmware/efi/cper.c`, `mm/oom_kill.c`, `kernel/panic.c`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gpuward.contracts.identity import Slot
from gpuward.contracts.observations import KernelFaultLogged
from ingest.kernel.message import SLOT, Message, slot_of, trusted
from ingest.kernel.pending import Pending

FALLEN_OFF_BUS = "gpu_fallen_off_bus"

_SEVERITY = r"(?P<severity>Correct\w+|Uncorrect\w+(?: \([\w-]+\))?)"


class _Rule(NamedTuple):
    """A line that is one fault. `opens` and `closes` name the forms that print two lines: the second is not counted
    again when the first was seen.
    """

    code: str
    needle: str
    pattern: re.Pattern[str]
    opens: str = ""
    closes: str = ""


def _rule(code: str, needle: str, pattern: str, *, opens: str = "", closes: str = "") -> _Rule:
    return _Rule(code, needle, re.compile(pattern.replace("SLOT", f"(?P<device>{SLOT})"), re.ASCII), opens, closes)


_RULES = (
    _rule(FALLEN_OFF_BUS, "has fallen off", r"NVRM: GPU (?:at )?(?:PCI:)?SLOT: GPU has fallen off the bus"),
    _rule("rm_init_failed", "RmInitAdapter", r"NVRM: GPU (?:at )?(?:PCI:)?SLOT: RmInitAdapter failed", opens="init"),
    _rule("rm_init_failed", "rm_init_adapter", r"NVRM: GPU (?:PCI:)?SLOT: rm_init_adapter failed", closes="init"),
    _rule(
        "gsp_rate_limited",
        "ate limiting GSP",
        r"NVRM: (?:\w{1,64}: )?Rate limiting GSP RPC error prints for GPU(?: at)? (?:PCI:)?SLOT",
    ),
    _rule("wpr2_already_up", "WPR2 already up", r"NVRM: (?:GPU\d+ )?(?:\w{1,64}: )?unexpected WPR2 already up"),
    _rule(
        "inforom_corrupted",
        "nfoROM is corrupted",
        r"(?:NVRM: )?(?:GPU [\w:.]{5,24}: )?(?:WARNING: )?[iI]nfoROM is corrupted(?: at (?:gpu|GPU) (?:PCI:)?SLOT)?",
    ),
    _rule(
        "pcie_aer",
        "AER: ",
        rf"[\w-]{{1,64}} [\da-f:.]{{7,16}}: AER: (?:Multiple )?{_SEVERITY} error (?:message )?received(?: from|:)? SLOT",
        opens="aer",
    ),
    _rule(
        "pcie_aer",
        "PCIe Bus Error",
        rf"[\w-]{{1,64}} SLOT: (?:AER: )?PCIe Bus Error: severity={_SEVERITY}",
        closes="aer",
    ),
    _rule(
        "machine_check",
        "Machine Check",
        r"(?:mce: )?\[Hardware Error\]: CPU \d+: Machine Check(?: Exception)?:",
        opens="mce",
    ),
    _rule(
        "machine_check",
        "Machine check events",
        r"(?:mce: )?\[Hardware Error\]: Machine check events logged",
        closes="mce",
    ),
    _rule("hardware_error", "from APEI", r"\{\d+\}\[Hardware Error\]: Hardware error from APEI"),
    _rule(
        "oom_kill", "ut of memory", r"(?:Memory cgroup out|Out) of memory(?: \([^)]{1,64}\))?: Kill(?:ed)? process \d"
    ),
    _rule("kernel_panic", "Kernel panic", r"Kernel panic - not syncing"),
)

_PROBE_HEAD = re.compile(rf"NVRM: The NVIDIA GPU ({SLOT})", re.ASCII)
_PROBE_TAIL = re.compile(
    rf"NVRM: (?:The NVIDIA GPU ({SLOT}) )?(?:\(PCI ID: [\w:]+\) )?(?:installed in this system has )?"
    r"fallen off the bus and is not responding",
    re.ASCII,
)
_PROBE_WINDOW = "probe"


class FaultReader:
    """Remembers what the forms of several lines have opened."""

    def __init__(self) -> None:
        self._pending = Pending()
        self._probed: Slot | None = None

    def read(self, message: Message) -> KernelFaultLogged | None:
        """The observation; None for a further line of one already told, and for what names no fault."""
        for rule in _RULES:
            if rule.needle in message.text:
                match = rule.pattern.match(message.text)
                if match is not None:
                    return self._told(rule, match, message)
        return self._probe(message)

    def clear(self) -> None:
        self._pending.clear()
        self._probed = None

    def _told(self, rule: _Rule, match: re.Match[str], message: Message) -> KernelFaultLogged | None:
        groups = match.groupdict()
        device = slot_of(groups.get("device"))
        form = (rule.opens or rule.closes, device)
        if rule.opens:
            self._pending.open(form, message.sequence)
        elif rule.closes and self._pending.take(form, message.sequence):
            return None
        severity = _severity(groups.get("severity"))
        return trusted(
            KernelFaultLogged, message.seen("kernel", {"code": rule.code, "device": device, "severity": severity})
        )

    def _probe(self, message: Message) -> KernelFaultLogged | None:
        """Three lines at probe: `The NVIDIA GPU <device>`, `(PCI ID: …) installed in this system has`, `fallen off …`.

        It counts at its last line, with the device of its first where that was seen.
        """
        tail = _PROBE_TAIL.match(message.text)
        if tail is not None:
            open_ = self._pending.take(_PROBE_WINDOW, message.sequence)
            device = slot_of(tail[1]) or (self._probed if open_ else None)
            return trusted(KernelFaultLogged, message.seen("kernel", {"code": FALLEN_OFF_BUS, "device": device}))
        head = _PROBE_HEAD.match(message.text)
        if head is not None:
            self._probed = slot_of(head[1])
            self._pending.open(_PROBE_WINDOW, message.sequence)
        return None


def _severity(words: str | None) -> str | None:
    """`corrected`, `nonfatal` or `fatal`; uncorrectable without a word more is fatal."""
    if words is None:
        return None
    if words.startswith("Correct"):
        return "corrected"
    return "nonfatal" if "on-" in words or "onfatal" in words.lower() else "fatal"
