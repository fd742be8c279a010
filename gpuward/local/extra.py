"""What to say when a piece of the optional extra `local` is not installed."""

from __future__ import annotations

from gpuward.contracts.errors import Permanent


def missing(package: str, what_for: str) -> Permanent:
    """The one sentence for an absent package: what is missing, what it is for, what to do."""
    return Permanent(f"{package}, which {what_for}, is not installed: run pip install 'gpuward[local]'.")
