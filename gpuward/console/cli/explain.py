"""`gpuward explain FILE|-`: a kernel log in, what each fault means and what gpuward would do out. Needs no server."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gpuward.console.cli.answer import Answer, answered
from gpuward.console.cli.exits import Misused
from gpuward.console.cli.options import PLAIN, Options
from gpuward.console.explain import Explanation, Incident, Seen
from gpuward.console.explain import explain as explanation_of
from gpuward.contracts.catalogue.sxids import sxid
from gpuward.contracts.catalogue.xids import xid
from gpuward.contracts.observations import KernelFaultLogged, SxidLogged, XidLogged
from gpuward.contracts.remedies import Severity
from gpuward.runtime import policy as policy_of

_COLOURS = {Severity.CRITICAL: "bold red", Severity.DEGRADED: "bold dark_orange", Severity.WARNING: "yellow"}


@answered
def explain(
    file: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    policy: Annotated[Path | None, Parameter(help="A policy file in place of the one that is shipped.")] = None,
    options: Options = PLAIN,
) -> Answer:
    """Read a kernel log and say what each fault means and what gpuward would do. Needs no server.

    Parameters
    ----------
    file
        A file with kernel lines (`dmesg > FILE`), or `-` for standard input.

    """
    del options
    lines, written = _read(file)
    found = explanation_of(lines, policy_of.load(policy), written)
    return Answer(as_document(found), screen(found))


def _read(file: Path) -> tuple[list[str], datetime]:
    """The lines, and when they were written. Raises Misused when there is no such file."""
    if str(file) == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace").splitlines(), datetime.now(UTC)
    try:
        written = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        return file.read_bytes().decode("utf-8", "replace").splitlines(), written
    except OSError as error:
        how = "Write the log with `dmesg > FILE`, or pipe it to `-`."
        raise Misused(f"{file} cannot be read: {error.strerror}. {how}") from error


def as_document(found: Explanation) -> dict[str, Any]:
    """What `explain --json` prints; its keys are stable."""
    return {
        "schema": "gpuward.explain/1",
        "lines": found.lines,
        "observations": [_observation(seen) for seen in found.seen],
        "incidents": [
            {
                "entity": incident.entity,
                "fault_class": incident.root,
                "codes": list(incident.codes),
                "root": incident.root,
                "severity": str(incident.severity),
                "remedy": str(incident.remedy),
                "because": incident.because,
            }
            for incident in found.incidents
        ],
    }


def _observation(seen: Seen) -> dict[str, Any]:
    observation = seen.observation
    return {
        "line": seen.line,
        "kind": observation.kind,
        "code": getattr(observation, "code", None),
        "device": getattr(observation, "device", None),
        "pid": getattr(observation, "pid", None),
        "process": getattr(observation, "process", None),
        "fault_class": seen.fault_class,
        "text": getattr(observation, "text", ""),
    }


def screen(found: Explanation) -> RenderableType:
    """For people: per incident the remedy and why, and under it each code, its meaning and its part in it."""
    blocks: list[RenderableType] = []
    told: set[int] = set()
    for incident in found.incidents:
        own = [seen for seen in found.seen if _belongs(seen, incident)]
        told.update(id(seen) for seen in own)
        blocks.append(_block(incident, own))
    rest = [seen for seen in found.seen if id(seen) not in told and seen.fault_class]
    if rest:
        blocks.append(
            Group(Text("Seen, and nothing is to be done about it by itself:", style="dim"), _codes(rest, None))
        )
    if not blocks:
        return Text(f"{found.lines} lines, and no fault of a GPU, an NVSwitch or the node among them.")
    count = len(found.incidents)
    closing = f"{found.lines} lines, {len(found.seen)} observations, {count} incident{'' if count == 1 else 's'}."
    return Group(*blocks, Text(closing, style="dim"))


def _block(incident: Incident, own: list[Seen]) -> RenderableType:
    head = Text.assemble(
        (incident.entity, "bold"),
        "  ",
        (str(incident.severity), _COLOURS.get(incident.severity, "")),
        "  ",
        incident.root,
        "  →  ",
        (str(incident.remedy), "bold cyan"),
    )
    return Group(head, Padding(Text(incident.because, style="dim"), (0, 0, 0, 2)), _codes(own, incident.root), Text())


def _belongs(seen: Seen, incident: Incident) -> bool:
    observation = seen.observation
    return (
        isinstance(observation, XidLogged)
        and incident.entity == f"gpu/{observation.device}"
        and (observation.code in incident.codes or seen.fault_class == incident.root)
    )


def _codes(seen: list[Seen], root: str | None) -> Table:
    """One row per code and device: its part in the incident, its meaning, how often and first where."""
    groups: dict[tuple[str | None, str | None], list[Seen]] = {}
    for item in seen:
        groups.setdefault((item.fault_class, getattr(item.observation, "device", None)), []).append(item)
    table = Table.grid(padding=(0, 2))
    for (name, device), items in groups.items():
        part = (device or "") if root is None else "root" if name == root else "sympathetic"
        often = f"line {items[0].line}" + (f" and {len(items) - 1} more" if len(items) > 1 else "")
        table.add_row("", Text(part, style="dim"), _title(items[0]), meaning(items[0]), Text(often, style="dim"))
    return table


def _title(seen: Seen) -> str:
    match seen.observation:
        case XidLogged(code=code):
            return f"Xid {code}"
        case SxidLogged(code=code):
            return f"SXid {code}"
        case _:
            return seen.fault_class or seen.observation.kind


def meaning(seen: Seen) -> str:
    """What the catalogue says of it, else the line itself."""
    match seen.observation:
        case XidLogged(code=code):
            row = xid(code)
            return row.description if row.known else "not in the catalogue"
        case SxidLogged(code=code):
            switch = sxid(code)
            return switch.description if switch else "not in the catalogue"
        case KernelFaultLogged(text=text):
            return text[:100]
        case _:
            return ""
