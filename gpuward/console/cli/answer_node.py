"""`gpuward approve|reject NODE`: the answer to what a node asks, by update. Plan and attempt come from its question."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from gpuward.console.cli.answer import Answer, answered
from gpuward.console.cli.exits import Exit, NoSuch
from gpuward.console.cli.options import PLAIN, Options
from gpuward.console.cli.reach import person, temporal_of
from gpuward.contracts.identity import Entity
from gpuward.contracts.updates import Approve, PendingQuestion, PersonAnswer, Reject

Reason = Annotated[str, Parameter(help="Why, for the ledger.")]


@answered
async def approve(node: str, /, *, reason: Reason = "", options: Options = PLAIN) -> Answer:
    """Say yes to what a node asks: the plan's next rung may be tried."""
    return await _say("approve", Approve, node, reason, options)


@answered
async def reject(node: str, /, *, reason: Reason = "", options: Options = PLAIN) -> Answer:
    """Say no to what a node asks."""
    return await _say("reject", Reject, node, reason, options)


async def _say(verb: str, model: type[Approve | Reject], node: str, reason: str, options: Options) -> Answer:
    from gpuward.console.cli.rpc import asked

    entity = Entity.node(node.removeprefix("node/"))
    client = await temporal_of(options.settings())
    handle = client.get_workflow_handle(str(entity))
    # The node may have nothing to ask: then the query answers null.
    asks: dict[str, Any] | None = await asked(handle.query("question"), entity)
    if asks is None:
        raise NoSuch(f"{entity} asks nothing: there is nothing to {verb}. `gpuward why {entity}` tells what it does.")
    question = PendingQuestion.model_validate(asks)
    said = model(person=person(), plan=question.plan, attempt=question.attempt, reason=reason)
    answer = await asked(handle.execute_update(verb, said, result_type=PersonAnswer), entity)
    document = {
        "schema": "gpuward.answer/1",
        "order": verb,
        "node": entity.name,
        "question": question.model_dump(mode="json"),
        "accepted": answer.accepted,
        "text": answer.text,
    }
    screen = (
        f"{entity} asked: {question.text}\n{verb} was {'accepted' if answer.accepted else 'refused'}. {answer.text}"
    )
    return Answer(document, screen, Exit.OK if answer.accepted else Exit.NO)
