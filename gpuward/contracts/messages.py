"""Everything that an actor can be told, in one discriminated union, and the one signal that carries it.

Every actor has one signal, `deliver`, with a list of messages. Its handler keeps the raw items and returns; the loop
decodes at most 200 of them per activation.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, TypeAdapter

from gpuward.contracts import claims, directives, faults, inventory, policy
from gpuward.contracts.model import Contract

DELIVER = "deliver"
"""Name of the signal that every actor has."""


class Source(Contract):
    """Where a message came from: a Kafka record, or another actor."""

    topic: str = ""
    partition: int = -1
    offset: int = -1
    workflow: str = ""


class OtherMessage(Contract):
    """A kind that this version does not know: recorded, acted on by nobody."""

    kind: str
    body: dict[str, Any] = Field(default_factory=dict)


_UNION = {
    "fault": faults.Fault,
    "inventory": inventory.InventoryChanged,
    "policy": policy.PolicyChanged,
    "directive": directives.Directive,
    "claim": claims.Claim,
    "plan": claims.Plan,
    "ask": claims.Ask,
    "availability": claims.RackAvailability,
    "held": claims.Held,
    "explained": claims.Explained,
    "granted": claims.Granted,
    "queued": claims.Queued,
    "denied": claims.Denied,
    "attempt_ended": claims.AttemptEnded,
    "approved": claims.Approved,
    "lifecycle": claims.LifecycleMoved,
    "available": claims.Available,
    "released": claims.SlotReleased,
    "report": claims.Report,
    "token_renewed": claims.TokenRenewed,
    "restate": claims.Restate,
    "register": claims.Register,
    "fleet_stop": claims.FleetStop,
    "fleet_stopped": claims.FleetStopped,
}


def _tag(value: Any) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return kind if isinstance(kind, str) and kind in _UNION else "other"


Message = Annotated[
    Annotated[faults.Fault, Tag("fault")]
    | Annotated[inventory.InventoryChanged, Tag("inventory")]
    | Annotated[policy.PolicyChanged, Tag("policy")]
    | Annotated[directives.Directive, Tag("directive")]
    | Annotated[claims.Claim, Tag("claim")]
    | Annotated[claims.Plan, Tag("plan")]
    | Annotated[claims.Ask, Tag("ask")]
    | Annotated[claims.RackAvailability, Tag("availability")]
    | Annotated[claims.Held, Tag("held")]
    | Annotated[claims.Explained, Tag("explained")]
    | Annotated[claims.Granted, Tag("granted")]
    | Annotated[claims.Queued, Tag("queued")]
    | Annotated[claims.Denied, Tag("denied")]
    | Annotated[claims.AttemptEnded, Tag("attempt_ended")]
    | Annotated[claims.Approved, Tag("approved")]
    | Annotated[claims.LifecycleMoved, Tag("lifecycle")]
    | Annotated[claims.Available, Tag("available")]
    | Annotated[claims.SlotReleased, Tag("released")]
    | Annotated[claims.Report, Tag("report")]
    | Annotated[claims.TokenRenewed, Tag("token_renewed")]
    | Annotated[claims.Restate, Tag("restate")]
    | Annotated[claims.Register, Tag("register")]
    | Annotated[claims.FleetStop, Tag("fleet_stop")]
    | Annotated[claims.FleetStopped, Tag("fleet_stopped")]
    | Annotated[OtherMessage, Tag("other")],
    Discriminator(_tag),
]

MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
