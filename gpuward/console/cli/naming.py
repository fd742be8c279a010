"""Which entity a person means: `gpu/GPU-…`, `GPU-…`, the bare uuid, `node`, `node:slot`, or any unique beginning of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpuward.console.cli.exits import Misused, NoSuch
from gpuward.contracts.entities import EntityRecord

_SHOWN = 8


def choose(records: Sequence[EntityRecord], text: str, kind: str | None = None) -> EntityRecord:
    """The one record that `text` names; an exact name beats a beginning.

    Raises NoSuch when none is called that, Misused with the candidates when several are.
    """
    wanted = text.strip().lower()
    said, slash, rest = wanted.partition("/")
    if slash and said in {"gpu", "node", "rack", "pool", "domain", "nvswitch", "remediation"}:
        kind, wanted = kind or said, rest
    candidates = [record for record in records if kind is None or record.entity_kind == kind]
    exact = [record for record in candidates if wanted in _names(record)]
    found = exact or [record for record in candidates if any(name.startswith(wanted) for name in _names(record))]
    if not found or not wanted:
        raise NoSuch(f"No {kind or 'entity'} is called {text!r}: `gpuward fleet` lists what there is.")
    if len(found) > 1:
        raise Misused(
            f"{text!r} can mean {_list(str(record.entity) for record in found)}: write more of the one you mean."
        )
    return found[0]


def _names(record: EntityRecord) -> tuple[str, ...]:
    name = record.entity.name.lower()
    names = (name, name.removeprefix("gpu-")) if record.entity_kind == "gpu" else (name,)
    return (*names, f"{record.node}:{record.slot}".lower()) if record.node and record.slot else names


def _list(names: Iterable[str]) -> str:
    ordered = sorted(names)
    shown = ", ".join(ordered[:_SHOWN])
    return shown if len(ordered) <= _SHOWN else f"{shown} and {len(ordered) - _SHOWN} more"
