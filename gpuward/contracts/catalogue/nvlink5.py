"""Xid 144-150 (Blackwell NVLink): from the register words of the line to an action.

The first word is IntrInfo, the second ErrorStatus. A row matches where `intrinfo & mask == value` and the status is one
of those listed; where the row's second mask matches instead, its second action holds. There are two sets of masks: v1
for drivers before 575, v2 from 575 on. The word Fatal in the line is not the action: link-down reason 0x26 says Fatal
and needs no reset.

Source: NVIDIA Xid catalog workbook, sheet Xid 144-150 Decode.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from gpuward.contracts.catalogue.rows import rows_of
from gpuward.contracts.catalogue.xids import XidAction
from gpuward.contracts.model import Contract

FIRST_V2_DRIVER = 575
XIDS = range(144, 151)


class Mask(NamedTuple):
    """Which bits of IntrInfo must have which value."""

    mask: int
    value: int

    def matches(self, intrinfo: int) -> bool:
        return intrinfo & self.mask == self.value


class Layout(Contract):
    """One of the two ways in which drivers lay out IntrInfo; `second` selects the row's second action."""

    unit: str
    first: Mask
    second: Mask | None = None

    def matches(self, intrinfo: int) -> bool:
        return self.first.matches(intrinfo) or self.takes_second(intrinfo)

    def takes_second(self, intrinfo: int) -> bool:
        """Whether the row's second action holds."""
        return self.second is not None and self.second.matches(intrinfo)


class DecodeRow(Contract):
    """One row of the sheet. `error_status` None: any status."""

    xid: int
    v1: Layout
    v2: Layout
    error_status: tuple[int, ...] | None
    action: XidAction
    action2: XidAction | None = None
    investigatory_action: str
    severity: str
    cause: str
    link_down_reason: str = ""
    effects: str = ""


class Decoded(NamedTuple):
    """What a line's registers mean: the row, None where none matches, and the action then is to ask a person."""

    action: XidAction
    row: DecodeRow | None

    @property
    def sympathetic(self) -> bool:
        """Whether the cause lies elsewhere: act on the root, report it when it stands alone."""
        return self.row is not None and self.row.investigatory_action.startswith(("SYMPATHETIC", "INVESTIGATE_PEER"))


@cache
def decode_rows() -> tuple[DecodeRow, ...]:
    """Every row of the sheet, in its order."""
    return tuple(_row(cells) for cells in rows_of("nvlink5.csv"))


def decode(xid: int, registers: Sequence[int], *, unit: str | None = None, driver_major: int | None = None) -> Decoded:
    """The action for one line. No row, or no registers (a truncated line): `CONTACT_SUPPORT`.

    With an unknown driver the layout whose unit name equals the text is taken; without a unit, any that matches.
    """
    if not registers:
        return Decoded(XidAction.CONTACT_SUPPORT, None)
    intrinfo, status = registers[0], registers[1] if len(registers) > 1 else None
    matches = [
        (row, layout)
        for row in decode_rows()
        if row.xid == xid and (row.error_status is None or status in row.error_status)
        for layout in _layouts(row, unit, driver_major)
        if layout.matches(intrinfo)
    ]
    if not matches:
        return Decoded(XidAction.CONTACT_SUPPORT, None)
    row, layout = next((match for match in matches if match[1].unit == unit), matches[0])
    return Decoded(row.action2 if row.action2 and layout.takes_second(intrinfo) else row.action, row)


def _layouts(row: DecodeRow, unit: str | None, driver_major: int | None) -> Iterable[Layout]:
    if driver_major is not None:
        return (row.v1 if driver_major < FIRST_V2_DRIVER else row.v2,)
    return tuple(layout for layout in (row.v1, row.v2) if unit is None or layout.unit == unit)


def _row(cells: dict[str, str]) -> DecodeRow:
    status = cells["error_status"]
    return DecodeRow(
        xid=int(cells["xid"]),
        v1=_layout(cells, "v1"),
        v2=_layout(cells, "v2"),
        error_status=None if status == "any" else tuple(int(word, 16) for word in status.split("/")),
        action=XidAction(cells["action"]),
        action2=XidAction(cells["action2"]) if cells["action2"] else None,
        investigatory_action=cells["investigatory_action"],
        severity=cells["severity"],
        cause=cells["cause"],
        link_down_reason=cells["link_down_reason"],
        effects=cells["effects"],
    )


def _layout(cells: dict[str, str], version: str) -> Layout:
    second = cells[f"{version}_mask2"]
    return Layout(
        unit=cells[f"unit_{version}"],
        first=Mask(int(cells[f"{version}_mask"], 16), int(cells[f"{version}_value"], 16)),
        second=Mask(int(second, 16), int(cells[f"{version}_value2"], 16)) if second else None,
    )
