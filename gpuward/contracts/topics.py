"""TABLE of topics. Every topic comes from here and has one owning writer; a law test holds the code to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuward.contracts.directives import Directive
from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.faults import Fault
from gpuward.contracts.inventory import InventoryChanged, NodeInventory
from gpuward.contracts.model import Contract
from gpuward.contracts.observations import ObservationBatch
from gpuward.contracts.outcomes import Outcome
from gpuward.contracts.partition import partition_of
from gpuward.contracts.policy import PolicyChanged

PARTITIONS = 8
"""Topics bound for actors share one partition count, so that an entity's faults and directives meet in one process."""

OBSERVATIONS = "fleet.observations.v1"
FAULTS = "fleet.faults.v1"
FAULTS_BY_RACK = "fleet.faults-by-rack.v1"
OUTCOMES = "fleet.outcomes.v1"
ENTITIES = "fleet.entities.v1"
DIRECTIVES = "fleet.directives.v1"
INVENTORY = "fleet.inventory.v1"
INVENTORY_CHANGES = "fleet.inventory-changes.v1"
POLICY = "fleet.policy.v1"
PARKED = "fleet.parked.v1"
DEAD_LETTERS = "fleet.dead-letters.v1"

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Topic:
    """One row. `rule` says which key places a record: the record's own key, or the part of it before `|`.

    `owner` is the module that alone decides what is written; `republishers` may write a record again, unchanged, under a
    marker header (`envelope.REROUTED`, `envelope.REDRIVEN`).
    """

    name: str
    key: str
    model: type[Contract] | None
    owner: str
    meaning: str
    rule: Literal["key", "key-before-bar"] = "key"
    compacted: bool = False
    partitions: int = PARTITIONS
    retention_ms: int = 7 * DAY_MS
    max_message_bytes: int = 1_048_576
    republishers: tuple[str, ...] = ()
    for_actors: bool = False

    def partition(self, key: bytes) -> int:
        """Where a record with this key belongs."""
        return partition_of(self.placing(key), self.partitions)

    def placing(self, key: bytes) -> bytes:
        """The part of the key that decides the partition."""
        return key.partition(b"|")[0] if self.rule == "key-before-bar" else key


_REDRIVE = ("gpuward.console.cli", "streams.dead_letters")

TOPICS: dict[str, Topic] = {
    topic.name: topic
    for topic in (
        Topic(
            OBSERVATIONS,
            "node",
            ObservationBatch,
            "ingest.publisher",
            "what the collectors saw, one batch per node and tick",
            republishers=("streams.agents.detect", *_REDRIVE),
        ),
        Topic(
            INVENTORY,
            "node|source",
            NodeInventory,
            "ingest.publisher",
            "what stands where, per node and source",
            rule="key-before-bar",
            compacted=True,
            republishers=("streams.agents.detect", *_REDRIVE),
        ),
        Topic(
            FAULTS,
            "entity",
            Fault,
            "streams.agents",
            "raised, updated, cleared; never samples",
            retention_ms=30 * DAY_MS,
            for_actors=True,
            republishers=("streams.bridge", *_REDRIVE),
        ),
        Topic(FAULTS_BY_RACK, "rack", Fault, "streams.agents", "the faults re-keyed by rack, for roll_up"),
        Topic(
            INVENTORY_CHANGES,
            "entity",
            InventoryChanged,
            "streams.agents",
            "where an entity stands now",
            retention_ms=30 * DAY_MS,
            for_actors=True,
            republishers=("streams.bridge", *_REDRIVE),
        ),
        Topic(
            DIRECTIVES,
            "entity",
            Directive,
            "gpuward.console",
            "what a person asked",
            retention_ms=30 * DAY_MS,
            for_actors=True,
            republishers=("streams.bridge", *_REDRIVE),
        ),
        Topic(
            POLICY,
            "entity",
            PolicyChanged,
            "gpuward.console",
            "the policy of each pool",
            compacted=True,
            for_actors=True,
            republishers=("streams.bridge", *_REDRIVE),
        ),
        Topic(
            OUTCOMES,
            "entity",
            Outcome,
            "activities.ledger",
            "the ledger: every decision, step and effect",
            retention_ms=90 * DAY_MS,
        ),
        Topic(
            ENTITIES,
            "entity",
            EntityRecord,
            "gpuward.console.projector",
            "current state, folded from outcomes",
            compacted=True,
        ),
        Topic(
            PARKED,
            "entity",
            None,
            "streams.bridge",
            "what one entity cannot take in now; re-driven in order",
            retention_ms=30 * DAY_MS,
        ),
        Topic(
            DEAD_LETTERS,
            "original key",
            None,
            "streams.dead_letters",
            "what could not be read, with reason, offset and headers",
            retention_ms=30 * DAY_MS,
            republishers=("streams.bridge", "streams.agents", "gpuward.console.projector"),
        ),
    )
}

STREAM_TABLES = ("views", "racks")
"""Tables of the stream processors. Faust names their changelogs; they are created with the topics, before it starts: a
table that Faust meets without its changelog crashes it."""

CHANGELOGS: tuple[Topic, ...] = tuple(
    Topic(
        f"gpuward-streams-{table}-changelog",
        "node or rack",
        None,
        "streams.agents",
        f"changelog of the table {table}",
        compacted=True,
    )
    for table in STREAM_TABLES
)
