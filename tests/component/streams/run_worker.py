"""The stream worker as a process of its own, as `gpuward streams` runs it: what the kills hit."""

from __future__ import annotations

import sys
from pathlib import Path

from gpuward.runtime.process import run
from gpuward.runtime.settings import load
from streams.agents.worker import body

if __name__ == "__main__":
    sys.exit(run("streams", load(Path(sys.argv[1])), body))
