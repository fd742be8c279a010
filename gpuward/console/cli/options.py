"""What every command can be told: where the stack is, and whether a machine reads the answer."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from gpuward.console.cli.exits import Misused
from gpuward.contracts.errors import Permanent

if TYPE_CHECKING:
    from gpuward.runtime.settings import Settings


@Parameter(name="*")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """The options of every command."""

    data: Annotated[
        Path | None,
        Parameter(env_var="GPUWARD_DATA", help="Data directory of the stack: its run.json says every address."),
    ] = None
    json: Annotated[bool, Parameter(negative=(), help="Print one JSON document and nothing else.")] = False

    def settings(self) -> Settings:
        """The settings, with the addresses of the stack in `data`. Raises Misused when a setting is wrong."""
        from gpuward.runtime import settings

        try:
            return settings.load(self.data)
        except Permanent as error:
            raise Misused(str(error)) from error


PLAIN = Options()
"""Nothing was said."""
