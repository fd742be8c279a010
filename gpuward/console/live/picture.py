"""The fleet as a picture: racks side by side, a line per node, a coloured cell per GPU. Pure: records in, renderable out."""

from __future__ import annotations

from collections.abc import Sequence

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from gpuward.console.live.paint import cell, legend, look, word
from gpuward.console.live.tree import NOWHERE, Node, Rack, counts, tree
from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.identity import EntityKind


def picture(records: Sequence[EntityRecord]) -> RenderableType:
    """The whole fleet and a legend; one sentence where there is nothing yet."""
    racks = tree(records)
    if not racks:
        return Text("Nothing is known of any node yet: an agent's inventory makes the fleet appear.", style="dim")
    used = {gpu.lifecycle for rack in racks for node in rack.nodes.values() for gpu in node.gpus}
    used |= {node.record.lifecycle for rack in racks for node in rack.nodes.values() if node.record}
    return Group(Columns([_rack(rack) for rack in racks], padding=(0, 1)), legend(used))


def headline(records: Sequence[EntityRecord]) -> Text:
    """One line: how many there are, and how many are not well."""
    line = Text()
    for kind, name in ((EntityKind.RACK, "racks"), (EntityKind.NODE, "nodes"), (EntityKind.GPU, "GPUs")):
        line.append(f"{sum(counts(records, kind).values())} {name}  ", style="bold")
    for lifecycle, number in sorted(counts(records, EntityKind.GPU).items()):
        line.append(f"{number} {lifecycle}  ", style=look(lifecycle).style)
    return line


def _rack(rack: Rack) -> Panel:
    grid = Table.grid(padding=(0, 1))
    for _ in range(3):
        grid.add_column(no_wrap=True)
    for node in rack.nodes.values():
        grid.add_row(_name(node), _cells(node), _state(node))
    style = look(rack.record.lifecycle).style if rack.record and rack.record.lifecycle != "healthy" else "dim"
    title = rack.name if rack.name == NOWHERE else f"rack {rack.name}"
    return Panel(grid, title=title, border_style=style, title_align="left")


def _name(node: Node) -> Text:
    blind = node.record is not None and node.record.blind
    return Text(node.name, style="underline" if blind else "")


def _cells(node: Node) -> Text:
    return Text(" ").join(cell(gpu.lifecycle, blind=gpu.blind) for gpu in node.gpus)


def _state(node: Node) -> Text:
    if node.record is None or node.record.lifecycle == "healthy":
        return Text("")
    return word(node.record.lifecycle)
