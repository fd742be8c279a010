"""Which rung an incident needs next. Source: `domain/gpu-health-rules.md` §3.

Law: failed repairs climb the ladder, at most the attempts that policy grants, and then quarantine. Never a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from gpuward.contracts.remedies import Remedy, Verdict, more_disturbing


def first_rung(verdicts: Sequence[Verdict]) -> Remedy:
    """What all of them together ask for: where sources disagree the more disturbing answer wins (79 then 154 "reset" is a
    reboot: a device off the bus cannot be reset), and one that needs a person wins over every automatic one.
    """
    return reduce(more_disturbing, (verdict.remedy for verdict in verdicts))


def leading(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict whose first rung leads: it says how many attempts are granted."""
    first = first_rung(verdicts)
    return next(verdict for verdict in verdicts if verdict.remedy is first)


def next_rung(verdicts: Sequence[Verdict], tried: Remedy | None, *, asked: bool) -> Remedy | None:
    """The mildest automatic rung of all the ladders that is not below their first rung and above `tried`, which did not
    help. A person is the last rung where a ladder names one and was not `asked` yet. None: the ladders are used up.
    """
    if first_rung(verdicts) is Remedy.ASK_PERSON and not asked:
        return Remedy.ASK_PERSON
    automatic = automatic_rungs(verdicts, tried)
    if automatic:
        return automatic[0]
    asks = any(Remedy.ASK_PERSON in verdict.ladder for verdict in verdicts)
    return Remedy.ASK_PERSON if asks and not asked else None


def automatic_rungs(verdicts: Sequence[Verdict], tried: Remedy | None) -> list[Remedy]:
    """Rungs that need no person, mildest first: not below the automatic first rungs, and above what was tried."""
    floor = max((v.remedy.rank for v in verdicts if v.remedy is not Remedy.ASK_PERSON), default=0)
    rungs = {
        rung
        for verdict in verdicts
        for rung in verdict.ladder[min(verdict.start, len(verdict.ladder) - 1) :]
        if rung is not Remedy.ASK_PERSON and rung.disturbs and rung.rank >= floor
    }
    return sorted((rung for rung in rungs if tried is None or rung.rank > tried.rank), key=lambda rung: rung.rank)
