"""`run.json` in the data directory: every address of a running stack, for each other command to find it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError

from gpuward.contracts.errors import Permanent
from gpuward.contracts.model import Contract
from gpuward.local.liveness import started_at

NAME = "run.json"


class RunFile(Contract):
    """Where the stack of one data directory listens, and who runs it."""

    kafka: str
    """Bootstrap address, host:port."""
    temporal: str
    """Front-end address, host:port, of namespace `default`."""
    temporal_ui: str
    """URL of the Temporal web page."""
    owner_pid: int
    """The process that runs the stack; when it ends, so do the servers."""
    owner_started: int
    """Its start in clock ticks since boot: guards against a pid given out again."""
    pids: dict[str, int] = Field(default_factory=dict)
    """Server name -> process id."""
    ports: dict[str, int] = Field(default_factory=dict)
    """Port name -> number; the next run takes the same where it can."""
    extra: dict[str, str] = Field(default_factory=dict)
    """Whatever else the stack's owner wants found: the simulated world, health pages."""

    @classmethod
    def load(cls, data_dir: Path) -> Self:
        """The file of the stack that runs on `data_dir`. Raises `Permanent` when none does."""
        found = cls.last(data_dir)
        start = f"start one with gpuward up --data {data_dir}."
        if found is None:
            raise Permanent(f"No stack has run in {data_dir} (there is no readable {NAME}): {start}")
        if started_at(found.owner_pid) != found.owner_started:
            raise Permanent(f"The stack in {data_dir} is not running (process {found.owner_pid} has ended): {start}")
        return found

    @classmethod
    def last(cls, data_dir: Path) -> Self | None:
        """The file that the last stack left, running or not; None if there is none that can be read."""
        try:
            return cls.model_validate_json((data_dir / NAME).read_bytes())
        except (OSError, ValidationError):
            return None

    def save(self, data_dir: Path) -> None:
        """Replace the file at once: a reader sees the old one or the new one, whole."""
        handle, name = tempfile.mkstemp(dir=data_dir, prefix=f".{NAME}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(self.to_json())
            Path(name).replace(data_dir / NAME)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
