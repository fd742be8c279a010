"""Structured logs: one JSON object per line, or a readable line in a terminal. To stderr, always."""

from __future__ import annotations

import logging
import sys

import structlog

from gpuward.runtime.settings import Settings


def configure(settings: Settings, process: str) -> None:
    """Sets up logging for this process; every line says which process and host it comes from."""
    level = logging.getLevelNamesMapping().get(settings.log_level.upper(), logging.INFO)
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if settings.log_format == "console" else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[*shared, structlog.processors.format_exc_info, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                renderer,
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING), force=True)
    structlog.contextvars.bind_contextvars(process=process, host=settings.host)


def get(name: str) -> structlog.typing.FilteringBoundLogger:
    """A logger; `name` is the module's duty."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger(duty=name)
    return logger
