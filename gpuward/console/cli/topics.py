"""`gpuward topics [list|apply]`."""

from __future__ import annotations

from rich.table import Table

from gpuward.console.cli.answer import Answer, answered
from gpuward.console.cli.exits import Unreachable
from gpuward.console.cli.options import PLAIN, Options
from gpuward.console.cli.reach import advice
from gpuward.contracts.errors import Transient
from gpuward.contracts.topics import TOPICS, Topic


@answered
def topics(*, options: Options = PLAIN) -> Answer:
    """The topics, what they hold and who writes them. Asks no server."""
    del options
    table = Table("topic", "key", "partitions", "kept", "written by", "holds", box=None, header_style="dim")
    for row in TOPICS.values():
        table.add_row(row.name, row.key, str(row.partitions), _kept(row), row.owner, row.meaning)
    listed = [
        {
            "topic": row.name,
            "key": row.key,
            "partitions": row.partitions,
            "compacted": row.compacted,
            "retention_ms": None if row.compacted else row.retention_ms,
            "owner": row.owner,
            "meaning": row.meaning,
        }
        for row in TOPICS.values()
    ]
    return Answer({"schema": "gpuward.topics/1", "topics": listed}, table)


@answered
async def apply(*, options: Options = PLAIN) -> Answer:
    """Create the topics that are missing."""
    from gpuward.runtime.kafka import apply_topics

    settings = options.settings()
    try:
        done = await apply_topics(settings)
    except Transient as error:
        raise Unreachable(f"{error}. {advice(settings)}") from error
    created = [name for name, what in done.items() if what == "created"]
    text = f"Created {', '.join(created)}." if created else "Every topic exists already."
    return Answer({"schema": "gpuward.topics-applied/1", "topics": done}, text)


def _kept(row: Topic) -> str:
    return "newest per key" if row.compacted else f"{row.retention_ms // 86_400_000} days"
