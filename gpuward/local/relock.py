"""`python -m gpuward.local.relock`: resolve the lock's endpoint anew with jgo, and write down what was found."""

from __future__ import annotations

import os
import tomllib

from gpuward.local.extra import missing
from gpuward.local.jars import LOCK
from gpuward.local.java import find_java


def relock() -> int:
    """Rewrite `kafka.lock.toml` from its own endpoint line; returns the count of jars. Edit that line to upgrade."""
    try:
        import jgo
    except ImportError as absent:
        raise missing("jgo", "resolves Apache Kafka") from absent
    # jgo looks for a Java to sort jars into modules, and downloads one if it sees none.
    os.environ.update(find_java().environment(dict(os.environ)))
    text = LOCK.read_text(encoding="utf-8")
    environment = jgo.build(tomllib.loads(text)["endpoint"], update=True)
    rows = sorted(f'"{d.groupId}:{d.artifactId}:{d.version}" = "{d.sha256}"' for d in environment.lockfile.dependencies)
    head, _, _ = text.partition("[sha256]")
    LOCK.write_text("\n".join([head + "[sha256]", *rows, ""]), encoding="utf-8")
    return len(rows)


if __name__ == "__main__":
    print(f"{relock()} jars locked in {LOCK}")  # noqa: T201 - a maintainer's command
