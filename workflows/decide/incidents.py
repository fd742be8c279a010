"""Joins faults to the incident of their entity, and takes it through its life: opened, joined, climbed, closed, quarantined.

Every function changes the `Sickness` it is given (a brain's own copy) and appends what is to be noted.
"""

from __future__ import annotations

from datetime import datetime

from gpuward.contracts.claims import AttemptEnded, AttemptResult
from gpuward.contracts.faults import Fault
from gpuward.contracts.outcomes import Cause, OutcomeKind
from gpuward.contracts.remedies import Remedy
from workflows.decide import ladder
from workflows.decide.boots import Boots
from workflows.decide.decisions import Decision, Note
from workflows.decide.sickness import (
    MAX_ANSWERED,
    MAX_FAULTS,
    MAX_OFFENCES,
    MAX_SEEN,
    Incident,
    Offence,
    OpenFault,
    Sickness,
)

MAX_REFUSALS = 3
"""Attempts that sent nothing do not count against the ladder; after this many in a row a person is asked. Never a loop."""


def take(sick: Sickness, fault: Fault, *, stale: bool, now: datetime, out: list[Decision]) -> None:
    """Takes in one fault message. `stale`: of an earlier boot or seat, so that it is only recorded.

    Law: a revision that is not newer than the newest of its class is ignored.
    """
    last = sick.seen.get(fault.fault_class)
    if last is not None and fault.revision <= last:
        return
    sick.seen[fault.fault_class] = fault.revision
    known = sick.faults.get(fault.fault_id)
    for other in [f.fault_id for f in sick.faults.values() if f.fault_class == fault.fault_class]:
        del sick.faults[other]
    if fault.phase != "cleared":
        _take_open(sick, fault, known, stale=stale, now=now, out=out)
    _prune(sick)


def settle(sick: Sickness, out: list[Decision]) -> None:
    """Closes the incident when nothing of it is left and nothing was done about it.

    Law: what was acted on ends with a validation or a person, not because the fault went quiet.
    """
    incident = sick.incident
    if incident is None or sick.acting():
        return
    if not incident.acted:
        _close(sick, "cleared", out)
    elif not incident.quarantined:
        incident.quarantined = "the fault went away after a repair that was not validated"


def attempt_ended(sick: Sickness, ended: AttemptEnded, out: list[Decision]) -> bool:
    """Takes in how an attempt ended. False: it was taken in before, nothing has changed."""
    key = (ended.plan, ended.attempt)
    if key in sick.answered:
        return False
    sick.answered = [*sick.answered, key][-MAX_ANSWERED:]
    incident = sick.incident
    if incident is None:
        return True
    offence = Offence(fault_class=incident.root, remedy=ended.remedy, result=ended.result, ended=ended.ended)
    sick.offences = [*sick.offences, offence][-MAX_OFFENCES:]
    if ended.result is AttemptResult.REPAIRED:
        _repaired(sick, incident, ended, out)
    elif ended.result in (AttemptResult.REFUSED, AttemptResult.REVOKED):
        _nothing_sent(incident, ended)
        settle(sick, out)
    else:
        _not_repaired(sick, incident, ended)
    return True


def approve(sick: Sickness, person: str, now: datetime, out: list[Decision]) -> None:
    """A person said yes: the next automatic rung may be tried; where none is left, the entity is accepted as it is."""
    incident = sick.incident
    if incident is None or not incident.quarantined:
        return
    if not sick.beyond():
        accept(sick, person, now, out)
        return
    incident.quarantined, incident.asked, incident.refusals = "", True, 0
    if sick.attempts_left() == 0:
        incident.extra = 1 + incident.attempts - ladder.leading([f.verdict for f in sick.acting()]).attempts


def accept(sick: Sickness, person: str, now: datetime, out: list[Decision]) -> None:
    """A person takes the entity as it is. Seen again later, each fault opens an incident of its own."""
    if sick.incident is None:
        return
    for fault in sick.acting():
        fault.repaired = now
    sick.incident.tried, sick.incident.attempts, sick.incident.asked, sick.incident.quarantined = None, 0, False, ""
    sick.incident.acted = False
    _close(sick, "accepted", out, text=f"accepted by {person}")


def forget_earlier_boots(sick: Sickness, boots: Boots, out: list[Decision]) -> None:
    """The node has booted anew by itself: what was seen under an earlier boot is recorded and no longer acted on."""
    for fault in sick.acting():
        if not boots.is_current(fault.boot_id):
            fault.stale = True
    settle(sick, out)


def _take_open(
    sick: Sickness, fault: Fault, known: OpenFault | None, *, stale: bool, now: datetime, out: list[Decision]
) -> None:
    taken = OpenFault.of(fault, stale=stale)
    was_acting = known is not None and known.acts
    if known is not None and known.repaired is not None and fault.last_seen <= known.repaired:
        taken.repaired = known.repaired
    sick.faults[fault.fault_id] = taken
    if taken.acts:
        if not was_acting:
            _join(sick, taken, reopened=known is not None and known.repaired is not None, now=now, out=out)
        elif sick.incident is not None:
            sick.incident.root = _root(sick)
    elif known is None or (known.verdict != taken.verdict and taken.repaired is None):
        name = "earlier_boot" if stale else "observed"
        out.append(_note(OutcomeKind.RECORDED, name, taken))


def _join(sick: Sickness, fault: OpenFault, *, reopened: bool, now: datetime, out: list[Decision]) -> None:
    if sick.incident is not None:
        sick.incident.root = _root(sick)
        sick.incident.fault_ids = (*sick.incident.fault_ids, fault.fault_id)[-MAX_FAULTS:]
        out.append(_note(OutcomeKind.DECISION, "joined", fault, incident=sick.incident.id))
        return
    incident_id = f"{fault.fault_id}-{int(now.timestamp())}"
    if reopened and sick.closed is not None:
        sick.incident = sick.closed.model_copy(update={"id": incident_id, "opened": now, "root": fault.fault_class})
        sick.closed = None
        _quarantine_if_used_up(sick, sick.incident, "the repair did not hold")
    else:
        sick.incident = Incident(id=incident_id, opened=now, root=fault.fault_class, fault_ids=(fault.fault_id,))
    out.append(_note(OutcomeKind.INCIDENT_OPENED, "reopened" if reopened else "opened", fault, incident=incident_id))


def _repaired(sick: Sickness, incident: Incident, ended: AttemptEnded, out: list[Decision]) -> None:
    for fault in sick.acting():
        if fault.last_seen <= ended.ended:
            fault.repaired = ended.ended
        elif ended.boot_id:
            fault.boot_id = ended.boot_id
    _climbed(incident, ended)
    incident.refusals = 0
    if not sick.acting():
        _close(sick, "repaired", out)
    else:
        _quarantine_if_used_up(sick, incident, "it failed again at once")


def _nothing_sent(incident: Incident, ended: AttemptEnded) -> None:
    """Law: refused and revoked mean that nothing was sent, so the same rung may be tried again and does not count."""
    incident.refusals += 1
    if incident.refusals >= MAX_REFUSALS:
        times = f"{incident.refusals} times in a row"
        incident.quarantined = f"{ended.remedy} was {ended.result} {times}: {ended.why or 'no reason given'}"


def _not_repaired(sick: Sickness, incident: Incident, ended: AttemptEnded) -> None:
    """Failed climbs, unknown stays on its rung, "accepted, no effect" stops. What was seen then holds under the boot of then."""
    incident.refusals = 0
    for fault in sick.acting():
        fault.boot_id = ended.boot_id or fault.boot_id
    if ended.remedy is Remedy.ASK_PERSON:
        incident.asked = True
        incident.quarantined = _person_needed(sick, incident)
        return
    incident.acted = True
    if ended.result is AttemptResult.UNKNOWN:
        incident.attempts += 1
    else:
        _climbed(incident, ended)
    if ended.result is AttemptResult.NO_EFFECT:
        incident.quarantined = f"{ended.remedy} was accepted and changed nothing"
    elif ended.result is AttemptResult.QUARANTINED:
        incident.quarantined = ended.why or f"{ended.remedy} ended in quarantine"
    else:
        _quarantine_if_used_up(sick, incident, f"{ended.remedy}: {ended.result}")


def _person_needed(sick: Sickness, incident: Incident) -> str:
    verdicts = [fault.verdict for fault in sick.acting()]
    because = ladder.leading(verdicts).because if verdicts else ""
    return f"{incident.root} needs a person" + (f": {because}" if because else "")


def _climbed(incident: Incident, ended: AttemptEnded) -> None:
    incident.attempts += 1
    if incident.tried is None or ended.remedy.rank > incident.tried.rank:
        incident.tried = ended.remedy


def _quarantine_if_used_up(sick: Sickness, incident: Incident, last: str) -> None:
    if sick.attempts_left() == 0:
        incident.quarantined = f"{incident.attempts} attempts are used up ({last})"
    elif sick.rung() is None:
        incident.quarantined = f"no rung of the ladder is left ({last})"


def _close(sick: Sickness, why: str, out: list[Decision], text: str = "") -> None:
    assert sick.incident is not None
    details = {"incident": sick.incident.id, "fault_class": sick.incident.root}
    out.append(
        Note(OutcomeKind.INCIDENT_CLOSED, name=why, text=text or why, result=why, cause=sick.cause(), details=details)
    )
    sick.closed = sick.incident
    sick.incident = None
    for stale in [fault.fault_id for fault in sick.faults.values() if fault.stale]:
        del sick.faults[stale]


def _root(sick: Sickness) -> str:
    faults = sick.acting()
    lead = ladder.leading([fault.verdict for fault in faults])
    return next(fault.fault_class for fault in faults if fault.verdict is lead)


def _note(what: OutcomeKind, name: str, fault: OpenFault, **details: object) -> Note:
    verdict = fault.verdict
    said = {
        "fault_class": fault.fault_class,
        "codes": list(fault.codes),
        "severity": verdict.severity.value,
        "remedy": verdict.remedy.value,
        "because": verdict.because,
        **details,
    }
    cause = Cause(fault_ids=(fault.fault_id,), evidence=fault.evidence, policy=verdict.policy)
    return Note(what, name=name, text=f"{fault.fault_class}: {verdict.because}", cause=cause, details=said)


def _prune(sick: Sickness) -> None:
    """Keeps the state small. What acts goes last, and never the one that leads."""
    while len(sick.faults) > MAX_FAULTS:
        ranked = sorted(sick.faults.values(), key=lambda f: (f.acts, f.verdict.remedy.rank, f.last_seen))
        del sick.faults[ranked[0].fault_id]
    while len(sick.seen) > MAX_SEEN:
        held = {fault.fault_class for fault in sick.faults.values()}
        del sick.seen[min((name for name in sick.seen if name not in held), key=lambda name: sick.seen[name])]
