"""The Xid catalogue: what each code means and what NVIDIA recommends, or what gpuward does where NVIDIA is silent."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from types import MappingProxyType

from gpuward.contracts.catalogue.rows import rows_of
from gpuward.contracts.model import Contract


class XidAction(StrEnum):
    """The catalogue's resolution buckets, in NVIDIA's words, and those that gpuward adds for codes without one."""

    IGNORE = "IGNORE"
    RESTART_APP = "RESTART_APP"
    RESET_GPU = "RESET_GPU"
    RESTART_BM = "RESTART_BM"
    """Reboot the machine."""
    RESTART_VM = "RESTART_VM"
    RESTART_VM_OR_BM = "RESTART_VM_OR_BM"
    CONTACT_SUPPORT = "CONTACT_SUPPORT"
    """Keep work off it and ask a person; never an automatic reset."""
    CHECK_MECHANICALS = "CHECK_MECHANICALS"
    CHECK_UVM = "CHECK_UVM"
    """Reset where UVM or vGPU is in use, else ignore."""
    UPDATE_SWFW = "UPDATE_SWFW"
    PLAN_REPLACE = "PLAN_REPLACE"
    DRAIN_AND_RESET_WHEN_IDLE = "DRAIN_AND_RESET_WHEN_IDLE"
    FOLLOW_XID_48 = "FOLLOW_XID_48"
    WORKFLOW_XID_45 = "WORKFLOW_XID_45"
    WORKFLOW_XID_48 = "WORKFLOW_XID_48"
    WORKFLOW_NVLINK_ERR = "WORKFLOW_NVLINK_ERR"
    """Xid 74: decode the registers with `nvlink4`."""
    WORKFLOW_NVLINK5_ERR = "WORKFLOW_NVLINK5_ERR"
    """Xid 144-150: decode the registers with `nvlink5`."""
    XID_154 = "XID_154"
    """The line itself carries the driver's own recovery action."""
    XID_154_EVAL = "XID_154_EVAL"
    """Take the action of an Xid 154 that arrives with it, else restart the application."""


class XidSeverity(StrEnum):
    """The catalogue's own scale. `decode`: the sub-code or the recovery action says how bad."""

    INFO = "info"
    WARN = "warn"
    DEGRADED = "degraded"
    CRITICAL = "critical"
    FATAL = "fatal"
    DECODE = "decode"


class Xid(Contract):
    """One row of the catalogue."""

    code: int
    mnemonic: str
    description: str
    likely_cause: str
    immediate_action: XidAction | None = None
    """What NVIDIA publishes; None where the workbook's cell is empty (162-176)."""
    default_action: XidAction | None = None
    """What gpuward does where NVIDIA publishes nothing."""
    investigatory_action: str = ""
    severity: XidSeverity
    generations: tuple[str, ...] = ()
    """GPU generations that log it; empty: legacy or unlisted."""
    xid154_since: str = ""
    """Driver branch from which an Xid 154 accompanies it."""
    notes: str = ""
    source: str

    @property
    def action(self) -> XidAction:
        """NVIDIA's action, else the default, else `CONTACT_SUPPORT`: an unknown code is never reset automatically."""
        return self.immediate_action or self.default_action or XidAction.CONTACT_SUPPORT

    @property
    def known(self) -> bool:
        """Whether the catalogue lists it."""
        return bool(self.source)


@cache
def xids() -> Mapping[int, Xid]:
    """The whole catalogue by code."""
    found = (
        Xid.model_validate({k: v for k, v in _typed(row).items() if v not in (None, "")}) for row in rows_of("xid.csv")
    )
    return MappingProxyType({row.code: row for row in found})


def xid(code: int) -> Xid:
    """The row of this code; for a code that the catalogue does not list, a row that asks a person."""
    return xids().get(code) or Xid(
        code=code,
        mnemonic="UNKNOWN",
        description="not in the catalogue",
        likely_cause="unknown",
        severity=XidSeverity.CRITICAL,
        source="",
    )


def _typed(row: dict[str, str]) -> dict[str, object]:
    return {**row, "generations": _generations(row["generations"])}


def _generations(cell: str) -> tuple[str, ...]:
    return (cell,) if "driver" in cell else tuple(cell.split())
