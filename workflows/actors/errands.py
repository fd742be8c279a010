"""What an actor's own shell does for its brain: recall, perform, start a remediation, look at one. Answers are events."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ActivityError, FailureError, WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from gpuward.contracts.actions import ACTIONS, Effect
    from gpuward.contracts.actors import DECIDE_QUEUE, REMEDIATION_WORKFLOW
    from gpuward.contracts.acts import LoadRequest
    from gpuward.contracts.entities import Loaded
    from gpuward.contracts.identity import Entity
    from gpuward.contracts.model import Contract
    from gpuward.contracts.remediation import RemediationInput
    from gpuward.runtime import failpoints
    from workflows.actors.carried import Carried, OpenPerform
    from workflows.background import Background
    from workflows.decide.events import Event, Looked, Performed, Recalled
    from workflows.perform import perform, why
    from workflows.post import PING, Post

KNOWN = 20
RECALL_BACKOFF_S = (1, 2, 4, 8, 16, 30)


class Errands:
    """Queues of what was asked; an entry leaves its queue when its answer is there, so the rest can be carried."""

    post: Post

    def __init__(self, entity: Entity, background: Background, tell: Callable[[Event], None], carried: Carried) -> None:
        self.amnesiac = carried.amnesiac
        self.performs: list[OpenPerform] = list(carried.performs)
        self.starts: list[RemediationInput] = list(carried.starts)
        self.looks: list[Entity] = list(carried.looks)
        self.known: list[Entity] = list(carried.known)
        self.paused = False
        self.asking = 0
        """Child starts that the server has not answered yet."""
        self._running: list[object] = []
        self._loading = False
        self._entity = entity
        self._background = background
        self._tell = tell

    @property
    def quiet(self) -> bool:
        """Nothing is on its way."""
        return not self._running and not self._loading

    def perform(self, action: str, request: Contract, tag: str) -> None:
        """Queues an action. Raises ValueError for an irreversible one: an actor may run an errand twice."""
        if ACTIONS[action].effect is Effect.IRREVERSIBLE:
            raise ValueError(f"{self._entity} asked for {action}, which only a remediation may do")
        self.performs.append(OpenPerform(action=action, request=request.model_dump(mode="json"), tag=tag))

    def start(self, request: RemediationInput) -> None:
        """Queues the start of a remediation."""
        self.starts.append(request)

    def look(self, remediation: Entity) -> None:
        """Queues a look."""
        self.looks.append(remediation)

    def dispatch(self) -> None:
        """Starts everything that is not under way, together."""
        if self.paused:
            return
        if self.amnesiac and not self._loading:
            self._loading = True
            self._background.start(self._recall())
        for errand in (*self.performs, *self.starts, *self.looks):
            if not any(errand is running for running in self._running):
                self._running.append(errand)
                self._background.start(self._run(errand))

    async def _run(self, errand: object) -> None:
        try:
            if isinstance(errand, OpenPerform):
                self._tell(await _performed(errand))
                _remove(self.performs, errand)
            elif isinstance(errand, RemediationInput):
                await self._start(errand)
                _remove(self.starts, errand)
            elif isinstance(errand, Entity):
                await self._look(errand)
                _remove(self.looks, errand)
        finally:
            _remove(self._running, errand)

    async def _recall(self) -> None:
        """Law: until the records have answered, the actor is amnesiac."""
        failures = 0
        try:
            while not self.paused:
                loaded = await _load(self._entity)
                if loaded is not None and loaded.status != "unavailable":
                    self.amnesiac = False
                    self._tell(Recalled(loaded=loaded))
                    return
                await workflow.sleep(timedelta(seconds=RECALL_BACKOFF_S[min(failures, len(RECALL_BACKOFF_S) - 1)]))
                failures += 1
        finally:
            self._loading = False

    async def _start(self, request: RemediationInput) -> None:
        """Law: a remediation is abandoned, started at most once, and never timed out by the server."""
        entity = request.entity
        self.asking += 1
        try:
            child = await workflow.start_child_workflow(
                REMEDIATION_WORKFLOW,
                request,
                id=str(entity),
                task_queue=DECIDE_QUEUE,
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
            )
        except WorkflowAlreadyStartedError:
            self._know(entity)
            await self._look(entity)
            return
        finally:
            self.asking -= 1
        self._know(entity)
        self._background.start(self._watch(entity, child))

    async def _watch(self, entity: Entity, child: workflow.ChildWorkflowHandle[Any, Any]) -> None:
        """A child that ended well has reported. One that was terminated has not: then the brain is told at once."""
        try:
            await child
        except FailureError:
            self._tell(Looked(remediation=entity, status="closed"))
        if not workflow.unsafe.is_replaying():
            failpoints.hit("child completed")

    async def _look(self, remediation: Entity) -> None:
        """`closed`: it was certainly started and does not run. `missing`: it does not run, and starting it is safe, since
        a second start of the same id is refused (and then looked at again).
        """
        if await self.post.signal(remediation, [PING]):
            self._tell(Looked(remediation=remediation, status="running"))
        else:
            self.gone(remediation)

    def gone(self, remediation: Entity) -> None:
        """Tells the brain that it does not run."""
        self._tell(Looked(remediation=remediation, status="closed" if remediation in self.known else "missing"))

    def _know(self, remediation: Entity) -> None:
        self.known = [*(other for other in self.known if other != remediation), remediation][-KNOWN:]


def _remove(entries: list[Any], entry: object) -> None:
    entries[:] = [other for other in entries if other is not entry]


async def _performed(errand: OpenPerform) -> Performed:
    request = ACTIONS[errand.action].request.model_validate(errand.request)
    try:
        answer = await perform(errand.action, request)
    except ActivityError as error:
        return Performed(tag=errand.tag, ok=False, reason=why(error))
    return Performed(tag=errand.tag, ok=True, result=answer.model_dump(mode="json"))


async def _load(entity: Entity) -> Loaded | None:
    try:
        answer = await perform("records.load", LoadRequest(entity=entity))
    except ActivityError:
        return None
    return answer if isinstance(answer, Loaded) else None
