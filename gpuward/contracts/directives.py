"""What a person asked, on Kafka. Answers that need no Kafka (stop, resume, approve, reject) are updates, not directives."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from gpuward.contracts.identity import Entity, NodeId
from gpuward.contracts.model import Contract


class Order(StrEnum):
    """Imperative, one per thing a person can ask of an entity."""

    CORDON = "cordon"
    RELEASE = "release"
    DRAIN = "drain"
    RETIRE = "retire"
    ANNOTATE = "annotate"


class Directive(Contract):
    """`retire` of a GPU names the seat and epoch it ends, and is refused for any other."""

    kind: Literal["directive"] = "directive"
    id: str
    order: Order
    entity: Entity
    person: str
    time: datetime
    reason: str = ""
    node: NodeId | None = None
    epoch: int | None = None
