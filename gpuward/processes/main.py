"""The `gpuward` command: the console's commands, and one command per process."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Protocol, cast

from cyclopts import App, Parameter

from gpuward.contracts.errors import GpuwardError
from gpuward.runtime import settings as settings_of
from gpuward.runtime.process import Body
from gpuward.runtime.process import run as run_process

PROCESSES = {
    "agent": "Collects what can be seen on this node, or on all nodes of a simulated world, and publishes it.",
    "streams": "Turns observations into faults (Faust: detect and roll_up).",
    "bridge": "Brings faults, directives and changes from Kafka to their actors.",
    "decide": "Runs the actors, guards and remediations (Temporal workflows).",
    "act": "Runs the activities: acts behind the interlock, the ledger, the records.",
    "projector": "Folds outcomes and inventory into the records.",
    "world": "A simulated world of racks, nodes and GPUs that breaks and obeys.",
}
"""Process → what it does. Each is the module `gpuward.processes.<name>` with a coroutine `body`."""

Data = Annotated[Path | None, Parameter("--data", env_var="GPUWARD_DATA")]


class _Module(Protocol):
    body: Body


def start(name: str, data: Path | None) -> int:
    """Runs one process until it is asked to stop; returns its exit status."""
    settings = settings_of.load(data)
    module = cast("_Module", import_module(f"gpuward.processes.{name}"))
    return run_process(name, settings, module.body)


def build() -> App:
    """The whole command line."""
    from gpuward.console.cli import app

    for name, meaning in PROCESSES.items():
        if name == "agent":
            continue
        _mount(app, name, meaning)
    app.command(_agent, name="agent", group="Processes")
    return app


def _mount(app: App, name: str, meaning: str) -> None:
    def command(*, data: Data = None) -> int:
        return start(name, data)

    command.__doc__ = meaning
    app.command(command, name=name, group="Processes")


def _agent(*, kernel_log: Path | None = None, node: str | None = None, data: Data = None) -> int:
    """Collects what can be seen on this node, or on all nodes of a simulated world, and publishes it.

    Parameters
    ----------
    kernel_log
        Read kernel lines from this file or pipe in place of `/dev/kmsg`.
    node
        Name of this node; the host's own name where it is not given.
    data
        Data directory of an embedded stack.

    """
    from gpuward.processes import agent

    settings = settings_of.load(data)
    return run_process("agent", settings, agent.with_kernel_log(kernel_log, node))


def run() -> None:
    """Entry point. Every error is a sentence on stderr; exit 3 where something cannot be reached or is set up wrongly."""
    arguments = sys.argv[1:]
    try:
        if arguments and arguments[0] in PROCESSES and "--help" not in arguments and "--kernel-log" not in arguments:
            # A process is started often and by machines: it loads nothing of the console.
            bare = App(name="gpuward", result_action="return_value")
            _mount(bare, arguments[0], PROCESSES[arguments[0]])
            sys.exit(bare(arguments))
        _leave(build()(arguments) or 0)
    except GpuwardError as error:
        print(f"gpuward: {error}", file=sys.stderr)
        _leave(3)


def _leave(status: int) -> None:
    """Ends the command. Where a Temporal client was used its native threads may still run, and taking the interpreter
    down under them ends it with SIGABRT instead of the status.
    """
    if "temporalio" in sys.modules:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
