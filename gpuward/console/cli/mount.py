"""TABLE of commands: what a person can say, and where it is written. A command's file is imported when it is run, so that
`gpuward --help` costs nothing of what the commands need.
"""

from __future__ import annotations

from typing import NamedTuple

from cyclopts import App, Group

from gpuward import __version__

_HERE = "gpuward.console.cli"


class Row(NamedTuple):
    """One command: its words, the function behind it, and its line in `--help`."""

    words: str
    function: str
    meaning: str


GROUPS: dict[str, tuple[Row, ...]] = {
    "Start here": (
        Row("up", "up:up", "Run everything here: Kafka, Temporal, a simulated world, all processes; show the fleet."),
        Row("inject xid", "inject:xid", "Break a GPU of the simulated world with an Xid."),
        Row(
            "explain",
            "explain:explain",
            "Read a kernel log: what each fault means, what gpuward would do. No server.",
        ),
    ),
    "Look": (
        Row("fleet", "fleet:fleet", "The whole fleet: racks, nodes, GPUs and how they are."),
        Row("get gpu", "get:gpu", "One GPU: where it stands, how it is, what it waits for."),
        Row("get node", "get:node", "One node."),
        Row("get rack", "get:rack", "One rack."),
        Row("get pool", "get:pool", "One pool and its guard."),
        Row("why", "why:why", "The story of an entity from the ledger, with the Kafka offsets of the evidence."),
        Row("doctor", "doctor:doctor", "Check every part and say what is wrong and what to do about it."),
    ),
    "Decide": (
        Row("cordon", "direct:cordon", "Keep work off a node or a GPU's node."),
        Row("release", "direct:release", "Give back what was cordoned, quarantined or retired."),
        Row("drain", "direct:drain", "Take the work off a node."),
        Row("retire", "direct:retire", "Take a GPU out of the fleet for good, in the seat where it stands now."),
        Row(
            "stop", "pool:stop", "Stop a pool (or `fleet`): no irreversible act begins any more. Works with Kafka away."
        ),
        Row("resume", "pool:resume", "Lift a stop."),
        Row("approve", "answer_node:approve", "Say yes to what a node asks."),
        Row("reject", "answer_node:reject", "Say no to what a node asks."),
    ),
    "Set up": (
        Row("topics list", "topics:topics", "The topics, what they hold and who writes them."),
        Row("topics apply", "topics:apply", "Create the topics that are missing."),
        Row("policy check", "policy:check", "Read a policy file and say whether it is one."),
        Row("policy apply", "policy:apply", "Tell every pool its policy."),
        Row("dlq list", "letters:letters", "What could not be read, where it lay and why."),
        Row("bench chain", "bench:chain", "Fault to first activity, beside an empty chain, on a stack of its own."),
    ),
}
_NOUNS = {
    "inject": "Break something in the simulated world.",
    "get": "One entity in full.",
    "topics": "The topics on Kafka.",
    "policy": "The policy file.",
    "dlq": "The dead letters.",
    "bench": "Measure gpuward beside a floor in the same run.",
}


def _build() -> App:
    whole = App(
        name="gpuward",
        version=__version__,
        help="Keeps a fleet of GPUs running: telemetry on Kafka, one Temporal actor per GPU, node and rack, guarded repairs.",
        help_format="plaintext",
    )
    nouns: dict[str, App] = {}
    for position, (title, rows) in enumerate(GROUPS.items()):
        group = Group(title, sort_key=position)
        for row in rows:
            noun, _, verb = row.words.rpartition(" ")
            if noun and noun not in nouns:
                nouns[noun] = App(name=noun, help=_NOUNS[noun], group=group, help_format="plaintext")
                whole.command(nouns[noun])
            path = f"{_HERE}.{row.function}"
            if noun:
                nouns[noun].command(path, name=verb, help=row.meaning)
            else:
                whole.command(path, name=verb, help=row.meaning, group=group)
    nouns["topics"].default(_topics)
    return whole


def _topics() -> int:
    from gpuward.console.cli.topics import topics

    return topics()


app = _build()
