"""The screen of `gpuward up` in a terminal: fleet, journey, ledger, what to try next. Pure: what is known in, picture out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from gpuward.console.live.journey import line as journey_line
from gpuward.console.live.journey import newest
from gpuward.console.live.paint import look
from gpuward.console.live.picture import headline, picture
from gpuward.console.story import Line
from gpuward.contracts.entities import EntityRecord
from gpuward.contracts.outcomes import OutcomeKind

SHOWN = 10


def screen(
    records: Sequence[EntityRecord], story: Sequence[Line], notices: Sequence[str], advice: Sequence[str]
) -> RenderableType:
    """`story` is everything told so far, `notices` what `up` itself has to say, `advice` what to try next."""
    parts: list[RenderableType] = [headline(records), picture(records)]
    journey = newest([told.outcome for told in story])
    if journey is not None:
        title = f"the newest fault, on {journey.entity}"
        parts.append(Panel(journey_line(journey), title=title, title_align="left", border_style="dim"))
    parts.append(Panel(ledger(story[-SHOWN:]), title="ledger", title_align="left", border_style="dim"))
    parts += [Text(notice, style="yellow") for notice in notices[-3:]]
    parts += [Text(hint, style="dim") for hint in advice]
    return Group(*parts)


def ledger(story: Sequence[Line]) -> RenderableType:
    """The lines as a table of fixed columns, so that the eye can run down them."""
    if not story:
        return Text("Nothing has happened yet.", style="dim")
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, max_width=24, min_width=16, overflow="ellipsis")
    table.add_column(no_wrap=True, max_width=28, overflow="ellipsis")
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for told in story:
        outcome = told.outcome
        style = look(outcome.after).style if outcome.what is OutcomeKind.EDGE and outcome.after else ""
        table.add_row(
            Text(clock(outcome.time), style="dim"),
            Text(told.who, style="cyan"),
            Text(told.what, style=style),
            Text(told.text),
        )
    return table


def clock(time: datetime) -> str:
    """The local time of day."""
    return f"{time.astimezone():%H:%M:%S}"


def plain(told: Line) -> str:
    """One line for a log or a pipe."""
    text = f": {told.text}" if told.text else ""
    return f"{clock(told.outcome.time)}  {told.who:<16}  {told.what}{text}"
