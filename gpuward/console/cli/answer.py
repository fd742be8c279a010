"""What a command gives back, and the one place that prints it: a screen for people or one JSON document for machines."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ParamSpec

from gpuward.console.cli.exits import Exit, exit_of
from gpuward.console.cli.options import Options
from gpuward.contracts.errors import GpuwardError

if TYPE_CHECKING:
    from rich.console import RenderableType

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Answer:
    """`document` has stable keys (`docs/cli.md`), `screen` is for people, `code` for the shell."""

    document: Mapping[str, Any] = field(default_factory=dict)
    screen: RenderableType | None = None
    code: Exit = Exit.OK


def answered(command: Callable[P, Answer | Awaitable[Answer]]) -> Callable[P, int]:
    """The command as the shell sees it: prints its answer, or its error as one sentence on stderr, and gives the exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        logging.getLogger().addHandler(logging.NullHandler())  # what a client logs is not what a person asked
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
        options = next((value for value in (*args, *kwargs.values()) if isinstance(value, Options)), Options())
        try:
            result = command(*args, **kwargs)
            answer = asyncio.run(_settled(result)) if inspect.isawaitable(result) else result
        except GpuwardError as error:
            print(f"gpuward: {error}", file=sys.stderr)
            return int(exit_of(error))
        except KeyboardInterrupt:
            return int(Exit.INTERRUPTED)
        _show(answer, as_json=options.json)
        return int(answer.code)

    return run


async def _settled(result: Awaitable[Answer]) -> Answer:
    return await result


def _show(answer: Answer, *, as_json: bool) -> None:
    try:
        if as_json:
            print(json.dumps(answer.document, indent=2, ensure_ascii=False, default=str))
        elif answer.screen is not None:
            from rich.console import Console

            Console(highlight=False, soft_wrap=isinstance(answer.screen, str)).print(answer.screen)
        sys.stdout.flush()
    except BrokenPipeError:  # `gpuward … | head`
        sys.stderr.close()
