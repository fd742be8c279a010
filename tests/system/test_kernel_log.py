"""One committed kernel log gives the same facts through the live agent and through `explain`, which needs no server."""

import asyncio
import json
import shutil
import sys
from pathlib import Path

import orjson

from gpuward.contracts import topics
from gpuward.local.children import Child
from gpuward.runtime import kafka

LOG = Path(__file__).parent.parent / "golden" / "kernel_log" / "kernel.log"


def _facts(observations):
    """What both say of a line: kind, code, device, pid and process; periodic samples left out."""
    said = [(o["kind"], o.get("code"), o.get("device"), o.get("pid"), o.get("process")) for o in observations]
    return sorted(map(str, said))


async def test_a_kernel_log_says_the_same_live_and_explained(fleet, tmp_path):
    log = tmp_path / "kernel.log"
    shutil.copy(LOG, log)
    _, out, _ = await fleet.command("explain", str(log), "--json")
    explained = json.loads(out)
    assert explained["schema"] == "gpuward.explain/1"
    assert len(explained["observations"]) >= 40

    command = [
        sys.executable,
        "-m",
        "gpuward",
        "agent",
        "--kernel-log",
        str(log),
        "--node",
        "golden-n01",
        "--data",
        str(fleet.data),
    ]
    agent = Child.start("agent-golden", command, log=fleet.data / "logs" / "agent-golden.log", env=fleet.env)
    try:
        live = await _observed(fleet, "golden-n01", len(explained["observations"]))
    finally:
        await agent.stop()
    assert _facts(live) == _facts(explained["observations"])


async def _observed(fleet, node, at_least):
    consumer = kafka.consumer(fleet.settings, "golden-reader", topics.OBSERVATIONS)
    await consumer.start()
    found = []
    try:
        async with asyncio.timeout(60):
            async for record in consumer:
                if record.key == node.encode():
                    for seen in orjson.loads(record.value)["observations"]:
                        found += [seen] * seen.get("count", 1) if seen["kind"] != "sample" else []
                    if len(found) >= at_least:
                        return found
    finally:
        await consumer.stop()
