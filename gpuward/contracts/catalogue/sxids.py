"""The SXid catalogue: NVSwitch errors.

Law: the severity in the line beats this table. The driver decides at run time whether the port is locked, and numbers
from 28000 up moved between driver branches, so a reader of those also looks at the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from types import MappingProxyType

from gpuward.contracts.catalogue.rows import rows_of
from gpuward.contracts.model import Contract

UNSTABLE_FROM = 28000
"""Numbers from here up are not the same error in every driver branch."""


class SxidSeverity(StrEnum):
    """How bad the static table says it is."""

    FATAL = "fatal"
    NON_FATAL = "non_fatal"
    NON_FATAL_BUT_STALLS = "non_fatal_but_stalls"
    """Printed as Non-fatal, but traffic on the port hangs."""


class Sxid(Contract):
    """One row of the catalogue. Class `always_fatal`: all GPUs and NVSwitches are reset together."""

    code: int
    mnemonic: str
    unit: str
    description: str
    fabric_manager_class: str = ""
    severity: SxidSeverity
    driver_class: str = ""
    bucket: str = ""
    action: str = ""
    source: str

    @property
    def always_fatal(self) -> bool:
        return self.fabric_manager_class == "always_fatal"


@cache
def sxids() -> Mapping[int, Sxid]:
    """The whole catalogue by code."""
    return MappingProxyType({row.code: row for row in map(Sxid.model_validate, rows_of("sxid.csv"))})


def sxid(code: int) -> Sxid | None:
    """The row of this code, None where the catalogue does not list it."""
    return sxids().get(code)


def is_fatal(code: int, line_severity: str | None) -> bool:
    """Whether this occurrence was fatal: what the line says, else the table; an unlisted code without a word is not."""
    if line_severity is not None:
        return line_severity == "fatal"
    row = sxid(code)
    return row is not None and row.severity is SxidSeverity.FATAL
