"""Policy in CEL → the verdict of one fault. Each expression is compiled once.

The first override whose class matches and whose `when` is true decides. Two things are said by the hardware itself and
may ask for more: the registers or flags of a line (`Facts.action`), and the driver's recovery action.

Law: where the code's own remedy and the recovery action disagree, the more disturbing wins. A device off the bus cannot
be reset, whatever the driver says (`gpu-health-rules` §3.4).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cel

from gpuward.contracts.catalogue.xids import XidAction
from gpuward.contracts.errors import Permanent
from gpuward.contracts.policy import Override, Policy
from gpuward.contracts.remedies import Remedy, Severity, Verdict, more_disturbing
from gpuward.contracts.seat import Seat
from streams.rules.context import Facts

RECOVERY_CLASS = "gpu.recovery_action"
_R = Remedy
_RESET = (_R.RESET_GPU, _R.REBOOT_NODE, _R.ASK_PERSON)
_REBOOT = (_R.REBOOT_NODE, _R.POWER_CYCLE_NODE, _R.ASK_PERSON)
_BY_ACTION: dict[XidAction, tuple[Severity, tuple[Remedy, ...], str]] = {
    XidAction.IGNORE: (Severity.INFO, (_R.OBSERVE,), "The line's own fields ask for nothing."),
    XidAction.RESTART_APP: (Severity.WARNING, (_R.RESTART_APP,), "The error was contained; only the application ends."),
    XidAction.XID_154_EVAL: (
        Severity.WARNING,
        (_R.RESTART_APP,),
        "Only the application is to be restarted, unless the driver asks for more.",
    ),
    XidAction.RESET_GPU: (Severity.CRITICAL, _RESET, "The line's own fields ask for a GPU reset."),
    XidAction.RESTART_BM: (Severity.CRITICAL, _REBOOT, "The line's own fields ask for a reboot of the node."),
}
_ASK = (Severity.CRITICAL, (_R.ASK_PERSON,), "The line's own fields fit no row of the decode table; a person decides.")


class Classifier:
    """One policy, compiled. Raises Permanent when an expression is not CEL."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._rows = [(row, _compile(row)) for row in policy.faults]
        self._of_class: dict[str, list[tuple[Override, Any]]] = {}

    def __call__(self, facts: Facts, seat: Seat) -> Verdict:
        """The verdict for these facts on this seat."""
        verdict = self._judged(facts, seat)
        pool = self.policy.pool(seat.pool) if seat.pool else None
        return verdict if pool is None else verdict.model_copy(update={"hold_s": pool.hold_s})

    def _judged(self, facts: Facts, seat: Seat) -> Verdict:
        verdict = self._first(facts, seat)
        if not facts.recovery_action:
            return verdict
        own = self._first(replace(facts, recovery_action=None), seat)
        asked = self._first(replace(facts, fault_class=RECOVERY_CLASS, action=None), seat)
        for other in (own, asked):
            if more_disturbing(verdict.remedy, other.remedy) is not verdict.remedy:
                verdict = other
        return verdict

    def _first(self, facts: Facts, seat: Seat) -> Verdict:
        told: dict[str, Any] | None = None
        for row, program in self._rows_of(facts.fault_class):
            if program is not None:
                told = told or _told(facts, seat)
                if not _is_true(program, told):
                    continue
            return self._by_line(facts, _verdict(row, self.policy.version))
        return Verdict(
            severity=Severity.WARNING, because="No rule of the policy speaks of this.", policy=self.policy.version
        )

    def _rows_of(self, fault_class: str) -> list[tuple[Override, Any]]:
        rows = self._of_class.get(fault_class)
        if rows is None:
            rows = [pair for pair in self._rows if any(_matches(pattern, fault_class) for pattern in pair[0].classes)]
            self._of_class[fault_class] = rows
        return rows

    def _by_line(self, facts: Facts, verdict: Verdict) -> Verdict:
        """What the line itself says beats the row of its code, where the two ask for different things."""
        if facts.action is None or facts.recovery_action:
            return verdict
        severity, ladder, because = _BY_ACTION.get(facts.action, _ASK)
        if ladder[0] is verdict.remedy:
            return verdict
        return verdict.model_copy(update={"severity": severity, "ladder": ladder, "because": because})


def _compile(row: Override) -> Any:
    if row.when is None:
        return None
    try:
        return cel.compile(row.when)
    except ValueError as error:
        raise Permanent(f"The policy's `when: {row.when}` is not CEL: {error}") from error


def _is_true(program: Any, told: dict[str, Any]) -> bool:
    """An expression that cannot be evaluated for these facts does not match."""
    try:
        return program.execute(told) is True
    except (ValueError, TypeError, RuntimeError, KeyError):
        return False


def _told(facts: Facts, seat: Seat) -> dict[str, Any]:
    fault = {
        "fault_class": facts.fault_class,
        "codes": list(facts.codes),
        "count": facts.count,
        "recovery_action": facts.recovery_action or 0,
        "entity": str(facts.entity),
        "action": str(facts.action or ""),
    }
    place = {name: str(getattr(seat, name) or "") for name in ("node", "rack", "pool", "domain", "slot")}
    return {"fault": fault, "seat": place}


def _matches(pattern: str, fault_class: str) -> bool:
    return fault_class.startswith(pattern[:-1]) if pattern.endswith("*") else fault_class == pattern


def _verdict(row: Override, version: str) -> Verdict:
    return Verdict(
        severity=row.severity,
        ladder=row.ladder,
        hold=row.hold,
        attempts=row.attempts,
        because=row.because,
        policy=version,
    )
