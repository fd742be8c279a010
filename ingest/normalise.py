"""Kernel lines become observations. Pure: the same lines give the same observations, ids included."""

from __future__ import annotations

from datetime import datetime, timedelta

from gpuward.contracts.identity import Slot
from gpuward.contracts.observations import KernelFaultLogged, Observation
from ingest.collapse import collapse
from ingest.kernel.faults import FALLEN_OFF_BUS, FaultReader
from ingest.kernel.mapped import read_mapping
from ingest.kernel.message import Message
from ingest.kernel.prefixes import strip
from ingest.kernel.sxid import SxidReader
from ingest.kernel.xid import read_xid

__all__ = ["KernelLogReader", "collapse"]

OFF_THE_BUS = 79
SUPPRESSED_BY_79 = timedelta(minutes=5)
"""A fallen-off-bus line says nothing new that long after an Xid 79 of the same device."""


class KernelLogReader:
    """Reads the kernel log of one boot, line by line, in order.

    It has state only for messages of several lines and for what an Xid 79 makes redundant; both are bounded. Reading
    the log again from its beginning gives the same observations.
    """

    def __init__(self, boot_id: str, *, boot_time: datetime | None = None) -> None:
        """`boot_time` is what a monotonic prefix counts from; without it such lines get the caller's default time."""
        self.boot_id = boot_id
        self._boot_time = boot_time
        self._sxids = SxidReader()
        self._faults = FaultReader()
        self._off_the_bus: dict[Slot | None, datetime] = {}

    def feed(self, line: str, *, sequence: int, default_time: datetime) -> list[Observation]:
        """What this line says: nothing, or as a rule one observation.

        `sequence` must be unique within the boot and rise with the lines; `default_time` (aware) stands in where the
        line has no time of its own. Never raises, whatever the text.
        """
        # Most lines are none of ours: a few substring searches cost a tenth of a regular expression.
        if (
            "NVRM" not in line
            and "Xid (" not in line
            and "ut of mem" not in line
            and "Kernel pan" not in line
            and "nfoROM" not in line
            and ("rror" not in line or ("Hardware E" not in line and "Bus E" not in line and "AER:" not in line))
        ):
            return []
        stripped = strip(line, default_time, self._boot_time)
        if stripped is None:
            return []
        if "\n" not in stripped.text:
            return self._read(Message(stripped.text, stripped.time, self.boot_id, sequence))
        return [
            observation
            for part, text in enumerate(stripped.text.split("\n"))
            for observation in self._read(Message(text, stripped.time, self.boot_id, sequence, part))
        ]

    def flush(self) -> list[Observation]:
        """Forgets half-read messages, at the end of a log or of a boot.

        What they amount to has been told already: every form counts at the first line that is proof enough.
        """
        self._sxids.clear()
        self._faults.clear()
        self._off_the_bus.clear()
        return []

    def _read(self, message: Message) -> list[Observation]:
        text = message.text
        if "Xid (" in text:
            if xid := read_xid(message):
                if xid.code == OFF_THE_BUS:
                    self._off_the_bus[xid.device] = message.time
                return [xid]
            sxid = self._sxids.read(message)
            return [] if sxid is None else [sxid]
        if mapped := read_mapping(message) if "GPU-" in text else None:
            return [mapped]
        fault = self._faults.read(message)
        return [] if fault is None or self._is_redundant(fault) else [fault]

    def _is_redundant(self, fault: KernelFaultLogged) -> bool:
        if fault.code != FALLEN_OFF_BUS or fault.device is None:
            return False
        told = self._off_the_bus.get(fault.device)
        return told is not None and abs(fault.time - told) <= SUPPRESSED_BY_79
