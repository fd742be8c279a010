"""`gpuward fleet`: what there is and how it is."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from gpuward.console.cli.answer import Answer, answered
from gpuward.console.cli.options import PLAIN, Options
from gpuward.console.cli.reach import records_of
from gpuward.console.live.picture import headline, picture
from gpuward.console.live.tree import as_document, counts, tree
from gpuward.contracts.identity import EntityKind


@answered
async def fleet(*, options: Options = PLAIN) -> Answer:
    """The whole fleet: racks, nodes, GPUs and how they are."""
    async with records_of(options.settings()) as records:
        found = await records.entities()
    pools = [record for record in found if record.entity_kind is EntityKind.POOL]
    unwell = [
        record for record in found if record.incidents and record.entity_kind in {EntityKind.GPU, EntityKind.NODE}
    ]
    document = {
        "schema": "gpuward.fleet/1",
        "counts": {str(kind): counts(found, kind) for kind in (EntityKind.RACK, EntityKind.NODE, EntityKind.GPU)},
        "pools": [{"pool": pool.entity.name, "lifecycle": pool.lifecycle, "summary": pool.summary} for pool in pools],
        "racks": as_document(tree(found)),
    }
    lines = [Text.assemble((str(record.entity), "bold"), "  ", record.summary) for record in unwell]
    return Answer(document, Group(headline(found), picture(found), *lines))
