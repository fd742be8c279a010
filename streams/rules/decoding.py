"""What a line asks for beyond its code, which code is the root of a burst, and which codes only follow others.

Source: `gpu-health-rules` §2, §3; NVIDIA Xid catalog workbook.
"""

from __future__ import annotations

from gpuward.contracts.catalogue import nvlink5
from gpuward.contracts.catalogue.xids import XidAction
from gpuward.contracts.observations import XidLogged
from gpuward.contracts.remedies import Remedy, Verdict
from streams.rules.view import Strength

OFF_THE_BUS = 79
RECOVERY_CHANGED = 154
NEVER_ROOT = frozenset({45})
"""Xid 45 is printed at every aborted job; its rate alone says nothing and never opens a fault."""
CANCELS = {162: 163}
"""A code that ends another's condition: power smoothing is back."""
STICKY = frozenset({74, 79, 95, 109, 119})
"""Logged again for hours while the same condition lasts."""
MEMORY = frozenset({48, 63, 64, 94, 95, 140, 171, 172})
MERGE_MS = 5_000
QUIET_MS = 180_000
STICKY_QUIET_MS = 3 * 3_600_000
_ROOTS_FIRST = (79, 167, 173, 144, 145, 146, 147, 148, 149, 150, 48, 74, 95, 64, 171, 172, 140, 94, 63, 13, 43)
_CONTAINMENT = frozenset({94, 95})


def action_of(observation: XidLogged) -> XidAction | None:
    """Xid 144-150: by the registers; 94 and 95: the reset flags beat the table; else None, the code says it all."""
    if observation.code in nvlink5.XIDS:
        return nvlink5.decode(observation.code, observation.registers, unit=observation.unit).action
    if observation.code in _CONTAINMENT and observation.reset_required is not None:
        reset = observation.reset_required or bool(observation.drain_reset_required)
        return XidAction.RESET_GPU if reset else XidAction.RESTART_APP
    return None


def strength_of(verdict: Verdict, code: int | None) -> Strength:
    """How strongly this code claims to be the root: by remedy, then severity, then the order of `_ROOTS_FIRST`."""
    if code is None:
        precedence = -10_000
    elif code in _ROOTS_FIRST:
        precedence = len(_ROOTS_FIRST) - _ROOTS_FIRST.index(code)
    else:
        precedence = -code
    return Strength(verdict.remedy.rank, verdict.severity.rank, precedence, verdict.remedy is Remedy.ASK_PERSON)


def quiet_ms(codes: tuple[int, ...]) -> int:
    """How long nothing must be heard before the next occurrence is a new episode."""
    return STICKY_QUIET_MS if STICKY.intersection(codes) else QUIET_MS
