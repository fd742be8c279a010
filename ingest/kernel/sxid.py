"""NVSwitch errors: `nvidia-nvswitch<N>: SXid (PCI:<device>): <code>, <text>`.

One error prints a head (`Fatal, Link 28 …`), `Severity <n> Engine instance …` and `Data {…}`, and counts once. A
continuation whose head was lost (rotated, rate-limited) still names switch, code and severity: it counts then.
Source: open kernel modules 595.45.04, `intr_nvswitch.h`.
"""

from __future__ import annotations

import re

from gpuward.contracts.observations import SxidLogged
from ingest.kernel.message import SLOT, Message, slot_of, trusted
from ingest.kernel.pending import Pending

_LINE = re.compile(rf"nvidia-nvswitch\d{{1,4}}: SXid \((?:PCI:)?({SLOT})\): (\d{{1,6}}), *", re.ASCII)
_SEVERITY = re.compile(r"Severity (\d)\b", re.ASCII)
_LINK = re.compile(r"\bLink (\d{1,3})\b", re.ASCII)
_WORDS = {"fatal": "fatal", "non-fatal": "non_fatal", "nonfatal": "non_fatal", "correctable": "correctable"}
_FATAL_LEVEL = "1"


class SxidReader:
    """Remembers the open errors of each switch, so that continuations are not counted again."""

    def __init__(self) -> None:
        self._heads = Pending()
        self._errors = Pending()

    def read(self, message: Message) -> SxidLogged | None:
        """The observation; None for a continuation of one already told, and for what is not an SXid line."""
        line = _LINE.match(message.text)
        device = slot_of(line[1]) if line else None
        if line is None or device is None:
            return None
        code, rest = int(line[2]), message.text[line.end() :]
        key = (device, code)
        severity = _WORDS.get(rest.partition(",")[0].strip().lower())
        if level := _SEVERITY.match(rest):
            if self._heads.take(key, message.sequence):
                return None
            severity = "fatal" if level[1] == _FATAL_LEVEL else "non_fatal"
        elif rest.startswith("Data {"):
            if self._errors.has(key, message.sequence):
                return None
        else:
            self._heads.open(key, message.sequence)
        self._errors.open(key, message.sequence)
        link = _LINK.search(rest)
        fields = message.seen(
            "sxid", {"code": code, "device": device, "severity": severity, "link": int(link[1]) if link else None}
        )
        return trusted(SxidLogged, fields)

    def clear(self) -> None:
        self._heads.clear()
        self._errors.clear()
