"""`evidence.collect`: the kernel log and what the host says, kept in a file before the act wipes them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import orjson
from temporalio import activity

from activities.power import Unreachable
from activities.powers import Powers, power_of
from gpuward.contracts.acts import EvidenceBundle, NodeAct
from gpuward.contracts.errors import Refused

LAST_LINES = 500


class Evidence:
    """Keeps one JSON file per plan and attempt under `folder`. A repair never waits for evidence that cannot be had."""

    def __init__(self, powers: Powers, folder: Path) -> None:
        self._powers = powers
        self._folder = folder

    @activity.defn(name="evidence.collect")
    async def collect(self, act: NodeAct) -> EvidenceBundle:
        """`reference` is the file; empty, with the reason in `text`, where the machine does not answer."""
        try:
            power = power_of(self._powers, act)
            host, lines = await asyncio.gather(power.host(act.node), power.kernel_log(act.node, LAST_LINES))
        except (Refused, Unreachable) as error:
            return EvidenceBundle(text=f"no evidence from {act.node}: {error}")
        kept = {"act": act.model_dump(mode="json"), "host": host.model_dump(mode="json"), "kernel_log": lines}
        path = self._folder / str(act.node) / f"{act.plan}-{act.attempt}.json"
        await asyncio.to_thread(_write, path, orjson.dumps(kept))
        return EvidenceBundle(
            reference=path.as_uri(), text=f"{len(lines)} kernel lines and {len(host.gpus)} GPUs of {act.node}"
        )


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_bytes(content)
    beside.replace(path)
