"""The command line: one file per noun, each mounted by its path in `mount.py`. `app` is all of it."""

from gpuward.console.cli.mount import app

__all__ = ["app"]
