"""The records: entity records and outcomes, in SQLite or PostgreSQL through SQLAlchemy Core. The projector alone writes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.errors import Transient
from gpuward.contracts.identity import Entity
from gpuward.contracts.outcomes import Outcome

_META = sa.MetaData()
ENTITIES = sa.Table(
    "entities",
    _META,
    sa.Column("entity", sa.String(512), primary_key=True),
    sa.Column("kind", sa.String(32), nullable=False, index=True),
    sa.Column("lifecycle", sa.String(32), nullable=False),
    sa.Column("record", sa.Text, nullable=False),
)
OUTCOMES = sa.Table(
    "outcomes",
    _META,
    sa.Column("id", sa.String(512), primary_key=True),
    sa.Column("entity", sa.String(512), nullable=False, index=True),
    sa.Column("time_ms", sa.BigInteger, nullable=False, index=True),
    sa.Column("what", sa.String(32), nullable=False),
    sa.Column("node", sa.String(256), index=True),
    sa.Column("plan", sa.String(128), index=True),
    sa.Column("partition", sa.Integer, nullable=False),
    sa.Column("offset", sa.BigInteger, nullable=False),
    sa.Column("record", sa.Text, nullable=False),
)
OFFSETS = sa.Table(
    "offsets",
    _META,
    sa.Column("topic", sa.String(256), primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True),
    sa.Column("next", sa.BigInteger, nullable=False),
)


class Records:
    """Reads and writes block; the coroutines run them on a thread. Raises Transient when the database does not answer."""

    def __init__(self, url: str) -> None:
        self._engine = sa.create_engine(url, pool_pre_ping=True)
        if self._engine.dialect.name == "sqlite":
            sa.event.listen(self._engine, "connect", _pragmas)

    def create(self) -> None:
        """Makes the tables that are missing."""
        _META.create_all(self._engine)

    def close(self) -> None:
        self._engine.dispose()

    # -- reading ----------------------------------------------------------------------------------------------------

    async def entity(self, entity: Entity) -> EntityRecord | None:
        """The newest record of one entity, or None where there is none."""
        return await asyncio.to_thread(self._entity, entity)

    async def entities(self, kind: str | None = None) -> list[EntityRecord]:
        """All records, or those of one kind, by name."""
        query = sa.select(ENTITIES.c.record).order_by(ENTITIES.c.entity)
        if kind:
            query = query.where(ENTITIES.c.kind == kind)
        return [EntityRecord.model_validate_json(row.record) for row in await asyncio.to_thread(self._rows, query)]

    async def outcomes(
        self,
        entities: Sequence[str] = (),
        *,
        plans: Sequence[str] = (),
        since_ms: int = 0,
        until_ms: int | None = None,
        limit: int = 1000,
    ) -> list[tuple[Outcome, int, int]]:
        """Outcomes of these entities or plans, oldest first, each with its partition and offset in `fleet.outcomes.v1`."""
        query = sa.select(OUTCOMES).where(OUTCOMES.c.time_ms >= since_ms)
        match = [OUTCOMES.c.entity.in_(entities)] if entities else []
        match += [OUTCOMES.c.plan.in_(plans)] if plans else []
        if match:
            query = query.where(sa.or_(*match))
        if until_ms is not None:
            query = query.where(OUTCOMES.c.time_ms <= until_ms)
        query = query.order_by(OUTCOMES.c.time_ms, OUTCOMES.c.partition, OUTCOMES.c.offset).limit(limit)
        rows = await asyncio.to_thread(self._rows, query)
        return [(Outcome.model_validate_json(row.record), row.partition, row.offset) for row in rows]

    async def positions(self, topic: str) -> dict[int, int]:
        """Partition → the next offset to read, as committed together with what was folded."""
        rows = await asyncio.to_thread(self._rows, sa.select(OFFSETS).where(OFFSETS.c.topic == topic))
        return {row.partition: row.next for row in rows}

    # -- writing: the projector -------------------------------------------------------------------------------------

    async def fold(
        self,
        entities: Iterable[EntityRecord],
        outcomes: Iterable[tuple[Outcome, int, int]],
        positions: dict[tuple[str, int], int],
    ) -> None:
        """Writes records, outcomes and read positions in one transaction; writing an outcome again changes nothing."""
        await asyncio.to_thread(self._fold, list(entities), list(outcomes), positions)

    def _entity(self, entity: Entity) -> EntityRecord | None:
        rows = self._rows(sa.select(ENTITIES.c.record).where(ENTITIES.c.entity == str(entity)))
        return EntityRecord.model_validate_json(rows[0].record) if rows else None

    def _rows(self, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
        try:
            with self._engine.connect() as connection:
                return connection.execute(query).all()
        except SQLAlchemyError as error:
            raise Transient(f"The records do not answer: {error}") from error

    def _fold(
        self,
        entities: list[EntityRecord],
        outcomes: list[tuple[Outcome, int, int]],
        positions: dict[tuple[str, int], int],
    ) -> None:
        try:
            with self._engine.begin() as connection:
                for record in entities:
                    self._upsert(connection, ENTITIES, _entity_row(record), ("entity",))
                for outcome, partition, offset in outcomes:
                    self._upsert(connection, OUTCOMES, _outcome_row(outcome, partition, offset), ("id",), replace=False)
                for (topic, partition), following in positions.items():
                    row = {"topic": topic, "partition": partition, "next": following}
                    self._upsert(connection, OFFSETS, row, ("topic", "partition"))
        except SQLAlchemyError as error:
            raise Transient(f"The records cannot be written: {error}") from error

    def _upsert(
        self,
        connection: sa.Connection,
        table: sa.Table,
        row: dict[str, Any],
        keys: tuple[str, ...],
        *,
        replace: bool = True,
    ) -> None:
        if self._engine.dialect.name == "postgresql":
            from sqlalchemy.dialects.postgresql import insert as pg_insert

            statement: Any = pg_insert(table).values(row)
        else:
            from sqlalchemy.dialects.sqlite import insert as sqlite_insert

            statement = sqlite_insert(table).values(row)
        if replace:
            changed = {name: statement.excluded[name] for name in row if name not in keys}
            connection.execute(statement.on_conflict_do_update(index_elements=list(keys), set_=changed))
        else:
            connection.execute(statement.on_conflict_do_nothing(index_elements=list(keys)))


def _entity_row(record: EntityRecord) -> dict[str, Any]:
    return {
        "entity": str(record.entity),
        "kind": str(record.entity_kind),
        "lifecycle": record.lifecycle,
        "record": record.model_dump_json(),
    }


def _outcome_row(outcome: Outcome, partition: int, offset: int) -> dict[str, Any]:
    node = outcome.seat.get("node")
    if node is None and outcome.entity.kind == "node":
        node = outcome.entity.name
    return {
        "id": outcome.id,
        "entity": str(outcome.entity),
        "time_ms": int(outcome.time.timestamp() * 1000),
        "what": str(outcome.what),
        "node": node,
        "plan": outcome.cause.plan,
        "partition": partition,
        "offset": offset,
        "record": outcome.model_dump_json(exclude={"checkpoint"}),
    }


def _pragmas(connection: Any, _: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA busy_timeout=5000")
    cursor.close()
