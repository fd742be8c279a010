"""One attempt of the plan: granted, started, followed through its steps, ended, and answered by its claimants."""

from __future__ import annotations

from datetime import datetime, timedelta

from gpuward.contracts.claims import (
    AttemptEnded,
    AttemptResult,
    Claim,
    Granted,
    LifecycleMoved,
    Report,
    TokenRenewed,
)
from gpuward.contracts.identity import Entity, EntityKind, NodeId
from gpuward.contracts.lifecycle import Lifecycle
from gpuward.contracts.outcomes import OutcomeKind
from gpuward.contracts.remediation import RemediationInput
from gpuward.contracts.remedies import Remedy
from workflows.decide import incidents
from workflows.decide.decisions import Decision, LookAtRemediation, Note, StartRemediation, Tell
from workflows.decide.handback import node_act, perform
from workflows.decide.merging import PERSON, joins, merge, open_claims
from workflows.decide.node_state import PATIENCE_S, WAITING, OpenPlan, State, Status
from workflows.decide.watching import child_of

_PHASE = {"acting": Lifecycle.REPAIRING, "validating": Lifecycle.VALIDATING}


def granted(s: State, grant: Granted, now: datetime, out: list[Decision]) -> None:
    """Starts the attempt that the token is for. A grant that comes too late, twice, or for another plan starts nothing;
    of another plan the node looks first whether it runs, since it may have forgotten it, and else disowns it.
    """
    plan = s.plan
    if plan is None or grant.plan != plan.id:
        out.append(LookAtRemediation(Entity.remediation(s.node, grant.plan, grant.attempt)))
        return
    if grant.attempt != plan.attempt:
        return
    if plan.status is Status.RUNNING:
        _renew(s, plan, TokenRenewed(**grant.model_dump(include={"plan", "attempt", "token", "not_after"})), out)
        return
    if plan.status not in WAITING or plan.status is Status.EXPLAINED or grant.not_after <= now or s.cordoned_by:
        return
    s.limits, s.guard, plan.token = grant.limits, grant.guard, grant.token
    _start(s, plan, grant, now, out)


def renewed(s: State, renewal: TokenRenewed, out: list[Decision]) -> None:
    """After a stop was lifted: guard → node → child."""
    plan = s.plan
    if plan is not None and plan.status is Status.RUNNING:
        _renew(s, plan, renewal, out)


def join(s: State, plan: OpenPlan, out: list[Decision]) -> None:
    """A claim that came before the act, and that the running remedy covers, is this attempt's too; others wait."""
    if plan.acted:
        return
    new = [name for name, claim in open_claims(s).items() if name not in plan.claimants and joins(plan, name, claim)]
    if not new:
        return
    plan.claimants = (*plan.claimants, *new)
    text = f"{', '.join(new)} joined the attempt"
    out.append(Note(OutcomeKind.DECISION, name="joined", text=text, cause=s.cause()))
    if plan.phase is not None:
        _tell_phase(plan, new, out)


def reported(s: State, report: Report, now: datetime, out: list[Decision]) -> None:
    """Takes in a step of the running child, or its end."""
    plan = s.plan
    if plan is None or (report.plan, report.attempt) != (plan.id, plan.attempt) or plan.status is not Status.RUNNING:
        return
    s.boots.learn(report.boot_id, now)
    plan.acted = plan.acted or report.acted or report.step in _PHASE
    phase = _PHASE.get(report.step)
    if report.step == "ended":
        plan.acted = report.acted
        end(s, plan, report.result or AttemptResult.UNKNOWN, now, out, boot_id=report.boot_id, why=report.why)
    elif phase is not None and plan.phase is not phase and plan.phase is not Lifecycle.VALIDATING:
        plan.phase = phase
        _tell_phase(plan, plan.claimants, out)
    elif report.step == "waiting_for_token":
        text = "keeps its cordon and waits for the stop to be lifted"
        out.append(Note(OutcomeKind.DECISION, name="waiting_for_token", text=text, cause=s.cause()))


def end(
    s: State,
    plan: OpenPlan,
    result: AttemptResult,
    now: datetime,
    out: list[Decision],
    *,
    boot_id: str = "",
    why: str = "",
) -> None:
    """The attempt is over: its claimants are told, and answer with newer claims. They own the ladder."""
    sent = result not in (AttemptResult.REFUSED, AttemptResult.REVOKED)
    if result is AttemptResult.REPAIRED:
        plan.unproven = False
    elif plan.acted or result in (AttemptResult.UNKNOWN, AttemptResult.NO_EFFECT):
        plan.unproven = True
    plan.cordon_left = sent and (plan.acted or result is not AttemptResult.FAILED)
    plan.status, plan.patience_s = Status.ANSWERS, PATIENCE_S
    plan.ended = AttemptEnded(
        plan=plan.id,
        attempt=plan.attempt,
        remedy=plan.remedy,
        result=result,
        node=NodeId(s.node),
        ended=now,
        boot_id=boot_id or s.boots.current,
        why=why,
    )
    text = f"{plan.remedy}: {result}" + (f" ({why})" if why else "")
    out.append(Note(OutcomeKind.DECISION, name="attempt_ended", text=text, result=result.value, cause=s.cause()))
    if str(s.entity) in plan.claimants:
        incidents.attempt_ended(s.sick, plan.ended, out)
    if PERSON in plan.claimants:
        _keep_drained(s, plan, now, out)
    plan.unanswered = tuple(name for name in plan.claimants if name.startswith("gpu/"))
    _tell_end(plan, now, out)
    strike_off(s, plan)


def tell_again(plan: OpenPlan, now: datetime, out: list[Decision]) -> None:
    """Claimants that have not answered in time are told once more."""
    if plan.wake is not None and now >= plan.wake:
        _tell_end(plan, now, out)


def strike_off(s: State, plan: OpenPlan) -> None:
    """Forgets the claimants that have answered, and those that have left the node."""
    key = (plan.id, plan.attempt)
    plan.unanswered = tuple(
        name
        for name in plan.unanswered
        if (not s.gpus or name.partition("/")[2] in s.gpus) and not _has_answered(s.claims.get(name), key)
    )


def _keep_drained(s: State, plan: OpenPlan, now: datetime, out: list[Decision]) -> None:
    """What a person had drained stays out of service until they release it."""
    s.cordoned_by, s.drain_by = s.drain_by, ""
    s.remind = now + timedelta(days=1)
    if not plan.cordon_left:
        perform(s, "node.cordon", node_act(s, plan), out)


def _has_answered(claim: Claim | None, key: tuple[str, int]) -> bool:
    return claim is not None and claim.answered == key


def _start(s: State, plan: OpenPlan, grant: Granted, now: datetime, out: list[Decision]) -> None:
    need = merge(s)
    if need is None or s.seat is None or s.boots.is_earlier(need.boot_id):
        return
    plan.status, plan.ran, plan.cordon_left = Status.RUNNING, True, True
    plan.claimants, plan.acted, plan.sought, plan.reason = need.claimants, False, False, ""
    plan.remedy, plan.gpus, plan.boot_id = need.remedy, need.gpus, need.boot_id
    plan.fault_ids = need.fault_ids
    plan.wake = now + timedelta(seconds=grant.limits.remediation_deadline_s)
    request = RemediationInput(
        node=s.seat.node,
        seat=s.seat,
        plan=plan.id,
        attempt=plan.attempt,
        remedy=plan.remedy,
        boot_id=plan.boot_id or s.boots.current,
        gpus=plan.gpus,
        concerned=need.concerned,
        token=grant.token,
        not_after=grant.not_after,
        guard=grant.guard,
        limits=grant.limits,
        fault_ids=plan.fault_ids,
        fault_classes=need.fault_classes,
        because=need.because,
        ordered_by="" if need.fault_classes else s.drain_by,
    )
    out.append(StartRemediation(request))
    out.append(
        Note(OutcomeKind.DECISION, name="started", text=f"{plan.remedy}, attempt {plan.attempt}", cause=s.cause())
    )
    if plan.remedy is not Remedy.ASK_PERSON:
        plan.phase = Lifecycle.DRAINING
        _tell_phase(plan, plan.claimants, out)


def _renew(s: State, plan: OpenPlan, renewal: TokenRenewed, out: list[Decision]) -> None:
    if (renewal.plan, renewal.attempt) != (plan.id, plan.attempt):
        return
    if plan.token is not None and renewal.token <= plan.token:
        return
    plan.token = renewal.token
    out.append(Tell(child_of(s, plan), renewal))


def _tell_phase(plan: OpenPlan, names: tuple[str, ...] | list[str], out: list[Decision]) -> None:
    """Tells the GPUs where the attempt has got to. The drain is not worth a message of its own (two workflow tasks for
    each GPU): the GPU walks through it when it hears of the act.
    """
    assert plan.phase is not None
    if plan.phase is Lifecycle.DRAINING:
        return
    moved = LifecycleMoved(phase=plan.phase.value, plan=plan.id, attempt=plan.attempt)
    out.extend(Tell(Entity(name), moved) for name in names if _is_gpu(name))


def _tell_end(plan: OpenPlan, now: datetime, out: list[Decision]) -> None:
    assert plan.ended is not None
    out.extend(Tell(Entity(name), plan.ended) for name in plan.unanswered)
    plan.wait(now)


def _is_gpu(name: str) -> bool:
    return name.startswith(f"{EntityKind.GPU}/")
