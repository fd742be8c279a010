"""`gpuward inject xid CODE`: breaks a GPU of the simulated world, as its driver would tell it."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from gpuward.console.cli.answer import Answer, answered
from gpuward.console.cli.exits import Misused, NoSuch, Unreachable
from gpuward.console.cli.options import PLAIN, Options
from gpuward.console.cli.reach import advice
from gpuward.console.world import address
from gpuward.contracts.errors import Transient
from gpuward.simulator.client import WorldClient

_XID_154 = 154


@answered
async def xid(
    code: int,
    /,
    *,
    gpu: Annotated[str | None, Parameter(help="UUID or a unique beginning of it, or `node:index`.")] = None,
    node: Annotated[str | None, Parameter(help="A node: its first GPU.")] = None,
    rack: Annotated[str | None, Parameter(help="A rack: all its GPUs in turn.")] = None,
    count: Annotated[int, Parameter(help="How many lines are printed.")] = 1,
    to: Annotated[int | None, Parameter(help="Xid 154: the new recovery action.")] = None,
    options: Options = PLAIN,
) -> Answer:
    """Break a GPU of the simulated world with an Xid.

    Parameters
    ----------
    code
        The Xid, 79 for instance: the GPU falls off the bus.

    """
    if sum(place is not None for place in (gpu, node, rack)) != 1:
        raise Misused("Say where: one of --gpu, --node or --rack.")
    settings = options.settings()
    url = address(settings)
    if url is None:
        raise Unreachable(f"There is no simulated world to break here. {advice(settings)}")
    what: dict[str, Any] = {"fault": "xid", "code": code, "count": count}
    if to is not None:
        what["to"] = to
    try:
        async with WorldClient(url) as world:
            place = await _gpu(world, gpu) if gpu is not None else {"node": node} if node else {"rack": rack}
            hit = await world.inject(**what, **place)
    except Transient as error:
        raise Unreachable(f"The simulated world does not answer at {url}. {advice(settings)}") from error
    document = {"schema": "gpuward.inject/1", "fault": "xid", "code": code, "count": count, "gpus": hit}
    where = hit[0] if len(hit) == 1 else f"{len(hit)} GPUs"
    return Answer(document, f"Xid {code} on {where}. `gpuward why {hit[0]}` tells what becomes of it.")


async def _gpu(world: WorldClient, text: str) -> dict[str, Any]:
    """The GPU that a person means, as an injection names it."""
    node, colon, index = text.rpartition(":")
    if colon and index.isdigit():
        return {"node": node, "gpu": int(index)}
    wanted = text.lower().removeprefix("gpu/").removeprefix("gpu-")
    found = []
    for listed in await world.nodes():
        if listed["up"]:
            host = await world.host(listed["node"])
            found += [gpu.uuid for gpu in host.gpus if gpu.uuid.lower().removeprefix("gpu-").startswith(wanted)]
    if not found or not wanted:
        raise NoSuch(f"No GPU of the simulated world is called {text!r}: `gpuward fleet` lists them.")
    if len(found) > 1:
        raise Misused(f"{text!r} can mean {', '.join(sorted(found)[:8])}: write more of the one you mean.")
    return {"gpu": found[0]}
