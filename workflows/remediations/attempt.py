"""What one attempt knows, and the requests that its steps make of it. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from gpuward.contracts import acts
from gpuward.contracts.claims import TokenRenewed
from gpuward.contracts.identity import Entity
from gpuward.contracts.model import Contract
from gpuward.contracts.outcomes import Cause
from gpuward.contracts.remediation import RemediationInput
from workflows.remediations.steps import Ended, Step


class Attempt:
    """Its token may be renewed; what `recheck` and `session` found is kept for the steps after them."""

    def __init__(self, start: RemediationInput) -> None:
        self.start = start
        self.token = start.token
        self.not_after = start.not_after
        self.boot_id = start.boot_id
        """The boot that the node runs under now, as far as it was seen."""
        self._sessions: dict[str, str] = {}

    def renew(self, renewed: TokenRenewed) -> bool:
        """Takes a token for this very attempt; False: it is for another, or no newer."""
        mine = (renewed.plan, renewed.attempt) == (self.start.plan, self.start.attempt)
        if not mine or tuple(renewed.token) <= tuple(self.token):
            return False
        self.token, self.not_after = renewed.token, renewed.not_after
        return True

    def learn(self, ended: Ended) -> None:
        """Keeps what later steps need."""
        match ended.answer:
            case acts.Proof(proven=True) as proof:
                self._sessions = dict(proof.sessions)
            case acts.SessionSeen(seen=True) as session:
                self.boot_id = session.boot_id or self.boot_id

    def request(self, step: Step, now: datetime) -> Contract:
        """What the step's action is asked. Law: the act names the boot that the condition was proven under."""
        if step.action == "notify.person":
            return self._question(now)
        if step.want is not None:
            return acts.AwaitSession(
                act=self._act(self.start.boot_id),
                want=step.want,
                before_boot_id=self.start.boot_id,
                before_sessions=self._sessions,
                deadline=now + timedelta(seconds=self.start.limits.observe_s),
            )
        return self._act(self.boot_id)

    def cause(self) -> Cause:
        """Why, for the ledger."""
        start = self.start
        return Cause(fault_ids=start.fault_ids, plan=start.plan, attempt=start.attempt, token=tuple(self.token))

    def _act(self, boot_id: str) -> acts.NodeAct:
        """A remedy of the whole node names the GPUs that it is for too: the condition is proven again on these."""
        start = self.start
        return acts.NodeAct(
            node=start.node,
            seat=start.seat,
            plan=start.plan,
            attempt=start.attempt,
            boot_id=boot_id,
            gpus=start.gpus or start.concerned,
            token=self.token,
            not_after=self.not_after,
            guard=start.guard,
            limits=start.limits,
            fault_classes=start.fault_classes,
            ordered_by=start.ordered_by,
            whole_node=not start.gpus,
        )

    def _question(self, now: datetime) -> acts.PersonAsked:
        start = self.start
        return acts.PersonAsked(
            entity=Entity.node(start.node),
            plan=start.plan,
            attempt=start.attempt,
            text=start.because or f"{start.node} needs a person: {', '.join(start.fault_classes) or 'no class given'}",
            deadline=now + timedelta(seconds=start.limits.person_deadline_s),
            default="the node stays out of service",
        )
