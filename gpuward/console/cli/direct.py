"""`gpuward cordon|release|drain|retire X`: a directive on Kafka, by the same ordered door as every fault."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Annotated

from cyclopts import Parameter

from gpuward.console.cli.answer import Answer, answered
from gpuward.console.cli.exits import Misused, Unreachable
from gpuward.console.cli.naming import choose
from gpuward.console.cli.options import PLAIN, Options
from gpuward.console.cli.reach import person, producer_of, records_of
from gpuward.contracts.directives import Directive, Order
from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.envelope import Envelope
from gpuward.contracts.errors import Transient
from gpuward.contracts.identity import Entity, EntityKind, NodeId
from gpuward.contracts.topics import DIRECTIVES

SOURCE = "gpuward/console"
Reason = Annotated[str, Parameter(help="Why, for the ledger and for whoever comes next.")]

_TAKES: dict[Order, frozenset[EntityKind]] = {
    Order.CORDON: frozenset({EntityKind.NODE}),
    Order.DRAIN: frozenset({EntityKind.NODE}),
    Order.RELEASE: frozenset({EntityKind.NODE, EntityKind.GPU}),
    Order.RETIRE: frozenset({EntityKind.GPU, EntityKind.NODE}),
}


@answered
async def cordon(name: str, /, *, reason: Reason = "", options: Options = PLAIN) -> Answer:
    """Keep work off a node; gpuward will not give it back by itself."""
    return await _direct(Order.CORDON, name, reason, options)


@answered
async def release(name: str, /, *, reason: Reason = "", options: Options = PLAIN) -> Answer:
    """Give back a node or GPU that was cordoned, quarantined or retired."""
    return await _direct(Order.RELEASE, name, reason, options)


@answered
async def drain(name: str, /, *, reason: Reason = "", options: Options = PLAIN) -> Answer:
    """Take the work off a node, as its pool's drain mode says."""
    return await _direct(Order.DRAIN, name, reason, options)


@answered
async def retire(name: str, /, *, reason: Reason = "", options: Options = PLAIN) -> Answer:
    """Take a GPU or node out of the fleet for good, in the seat where it stands now."""
    return await _direct(Order.RETIRE, name, reason, options)


def directive(order: Order, record: EntityRecord, who: str, reason: str, now: datetime) -> Directive:
    """The directive as it goes out. A cordon or drain of a GPU means its node. Raises Misused when it cannot mean anything."""
    entity, kinds = record.entity, _TAKES[order]
    if entity.kind is EntityKind.GPU and EntityKind.GPU not in kinds and record.node:
        entity = Entity.node(record.node)
    if entity.kind not in kinds:
        raise Misused(f"{order} is for a {' or '.join(sorted(kinds))}, and {record.entity} is a {record.entity_kind}.")
    seated = order is Order.RETIRE and entity.kind is EntityKind.GPU
    return Directive(
        id=uuid.uuid4().hex,
        order=order,
        entity=entity,
        person=who,
        time=now,
        reason=reason,
        node=NodeId(record.node) if seated and record.node else None,
        epoch=record.seat_epoch if seated else None,
    )


async def _direct(order: Order, name: str, reason: str, options: Options) -> Answer:
    settings = options.settings()
    async with records_of(settings) as records:
        record = choose(await records.entities(), name)
    said = directive(order, record, person(), reason, datetime.now(UTC))
    async with producer_of(settings) as producer:
        envelope = Envelope(id=said.id, type=f"gpuward.directive.{order}", source=SOURCE, time=said.time)
        try:
            partition, offset = await producer.send(
                DIRECTIVES, key=str(said.entity).encode(), value=said.to_json(), headers=envelope.to_headers()
            )
        except Transient as error:
            raise Unreachable(f"The directive was not acknowledged by Kafka: {error} Say it again.") from error
    document = {
        "schema": "gpuward.directive/1",
        "directive": said.model_dump(mode="json", exclude={"kind"}),
        "topic": DIRECTIVES,
        "partition": partition,
        "offset": offset,
    }
    told = f"{order} {said.entity}: acknowledged as {DIRECTIVES}/{partition}@{offset}."
    return Answer(document, f"{told} `gpuward why {said.entity}` shows what comes of it.")
