"""`python -m tests.component.bridge.running_bridge`: the bridge as a process of its own, addresses from the environment."""

from __future__ import annotations

import sys

from gpuward.runtime import process, settings
from streams.bridge.worker import body

if __name__ == "__main__":
    sys.exit(process.run("bridge", settings.load(), body))
