"""`NVRM: Xid (<device>): <code>, [pid=<p>, name=<n>, ]<text>`, every form of it.

Source of the grammar: open kernel modules 595.45.04, and logs in the field for what older drivers print.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from gpuward.contracts.observations import XidLogged
from ingest.kernel.message import SLOT, Message, slot_of, trusted

_HEAD = re.compile(
    rf"(?:NVRM: )?Xid \((?:PCI:)?({SLOT})(?: GPU-I:(\d{{1,4}}))?(?: GPU-CI:(\d{{1,4}}))?\): (\d{{1,6}}), *",
    re.ASCII,
)
_PID = re.compile(r"pid=(?:'?<unknown>'?|'?(\d{1,10})'?)(?:, *|$)", re.ASCII)
_TEXT_BEGINS = re.compile(
    r"(?:Ch(?:annel)? |channel |Graphics |GPU |MMU |NVLink|Timeout|DBE|Row |Uncorrect|An uncorrect|Uncontained|Contained"
    r"|Preemptive|Failed |[A-Z]{3,}[A-Z0-9_]*(?: Degraded)?\s+(?:Nonf|Non-f|F)atal\b)"
)
_COMM_LEN = 15
"""The kernel's TASK_COMM_LEN less its end: no process name in a kernel line is longer."""
_UNKNOWN = "<unknown>"
_COMMA = re.compile(", ")

_CAUSED_BY = re.compile(r"caused by previous Xid (\d{1,6})", re.ASCII)
_RESET = re.compile(r"(?<![-\w])RST: ?(Yes|No)\b")
_DRAIN_RESET = re.compile(r"\bD-RST: ?(Yes|No)\b")
_RECOVERY = re.compile(r"changed from 0x([0-9a-fA-F]{1,8})\b.{0,80}? to 0x([0-9a-fA-F]{1,8})\b")
_LINK_WORDS = re.compile(r"\blink (-?\d{1,3}) ?\(([0-9a-fA-FxX, ]*)", re.ASCII)
_UNIT = re.compile(
    r"([A-Z][A-Z0-9_]*(?: Degraded)?)\s+(Fatal|Nonfatal|Non-fatal)\b"
    r"(?:\s+XC\d)?(?:\s+i\d)?(?:\s+Link\s+(-?\d{1,3}))?(?:\s+\(([0-9a-fA-FxX ]*))?",
    re.ASCII,
)
_WORD = re.compile(r"0x([0-9a-fA-F]{1,8})\b")


def read_xid(message: Message) -> XidLogged | None:
    """The observation, None for what is not an Xid line.

    A line cut off before the comma behind its code is not one: half a number would be another code.
    """
    parsed = _parse(message.text)
    return None if parsed is None else trusted(XidLogged, message.seen("xid", parsed))


@lru_cache(maxsize=4096)
def _parse(text: str) -> Mapping[str, Any] | None:
    """What the text says. Cached, since a fault is logged again at each retry and only the prefix differs."""
    head = _HEAD.match(text)
    device = slot_of(head[1]) if head else None
    if head is None or device is None:
        return None
    code = int(head[4])
    fields: dict[str, Any] = {"code": code, "device": device}
    if head[2] is not None:
        fields["mig_gi"] = int(head[2])
    if head[3] is not None:
        fields["mig_ci"] = int(head[3])
    rest = _process(text[head.end() :], fields)
    details = _DETAILS.get(code)
    if details is not None:
        details(rest, fields)
    return fields


def _process(rest: str, fields: dict[str, Any]) -> str:
    """Takes `pid=…, name=…, ` off the front, and returns the driver's text."""
    pid = _PID.match(rest)
    if pid is None:
        return rest
    if pid[1] is not None:
        fields["pid"] = int(pid[1])
    rest = rest[pid.end() :]
    if not rest.startswith("name="):
        return rest
    name, text = _split_name(rest[5:])
    if name and name != _UNKNOWN:
        fields["process"] = name
    return text


def _split_name(rest: str) -> tuple[str, str]:
    """A process name may hold commas and spaces: it ends where a text of the driver begins, else at the first comma
    that leaves the name short enough and a capital behind it, else at the first comma.
    """
    if rest[:1] in {"'", '"'}:
        quoted, found, text = rest[1:].partition(rest[0])
        if found:
            return quoted, text.removeprefix(",").lstrip()
    first = rest.find(", ")
    if first < 0:
        return rest.rstrip(", "), ""
    if _TEXT_BEGINS.match(rest, first + 2):
        return rest[:first], rest[first + 2 :]
    cuts = [match.start() for match in _COMMA.finditer(rest, 0, _COMM_LEN + 2)] or [first]
    known = [cut for cut in cuts if _TEXT_BEGINS.match(rest, cut + 2)]
    capital = [cut for cut in cuts if rest[cut + 2 : cut + 3].isupper()]
    cut = (known or capital or cuts)[0]
    return rest[:cut], rest[cut + 2 :].lstrip()


def _sympathy(text: str, fields: dict[str, Any]) -> None:
    if match := _CAUSED_BY.search(text):
        fields["caused_by"] = int(match[1])


def _containment(text: str, fields: dict[str, Any]) -> None:
    if match := _RESET.search(text):
        fields["reset_required"] = match[1] == "Yes"
    if match := _DRAIN_RESET.search(text):
        fields["drain_reset_required"] = match[1] == "Yes"


def _recovery(text: str, fields: dict[str, Any]) -> None:
    if match := _RECOVERY.search(text):
        fields["recovery_from"], fields["recovery_to"] = int(match[1], 16), int(match[2], 16)


def _nvlink4(text: str, fields: dict[str, Any]) -> None:
    if match := _LINK_WORDS.search(text):
        fields["link"], fields["registers"] = int(match[1]), _words(match[2])


def _nvlink5(text: str, fields: dict[str, Any]) -> None:
    if match := _UNIT.search(text):
        fields["unit"], fields["fatal"] = match[1], match[2] == "Fatal"
        if match[3] is not None:
            fields["link"] = int(match[3])
        fields["registers"] = _words(match[4] or "")


def _words(text: str) -> tuple[int, ...]:
    return tuple(int(word, 16) for word in _WORD.findall(text))


_DETAILS: dict[int, Callable[[str, dict[str, Any]], None]] = {
    45: _sympathy,
    74: _nvlink4,
    94: _containment,
    95: _containment,
    154: _recovery,
    **dict.fromkeys(range(144, 151), _nvlink5),
}
