"""Bring the jars of the embedded Kafka: resolved by jgo, pinned and checked by `kafka.lock.toml`."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from gpuward.contracts.errors import Permanent
from gpuward.local.extra import missing

LOCK = Path(__file__).with_name("kafka.lock.toml")
_AT_ONCE = 8


def kafka_jars(cache: Path | None = None, say: Callable[[str], None] = lambda _: None) -> list[Path]:
    """The class path: one jar per line of the lock, each with the hash that the lock says. Blocks while it downloads.

    Law: a jar whose sha256 differs from the lock never reaches a class path.
    Only the jars are fetched, none of the POMs that led to them, and jgo asks for no Java on the way.
    Raises `Permanent` when a jar can't be had or is not what was locked.
    """
    locked: dict[str, str] = tomllib.loads(LOCK.read_text(encoding="utf-8"))["sha256"]
    cache = cache or default_cache()
    context = _maven(cache)
    with _alone(cache):
        if not all(_is_here(context, coordinate) for coordinate in locked):
            say(f"Fetching Apache Kafka, {len(locked)} jars into {cache}: once.")
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="jars") as pool:
            return list(pool.map(partial(_bring, context), locked, locked.values()))


def default_cache() -> Path:
    """A Maven repository of our own under the user's cache folder: what is wrong in it may be deleted."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpuward" / "maven"


def _maven(cache: Path) -> Any:
    try:  # an optional extra; the addresses that it fetches from are its own, none stands here
        from jgo.config import GlobalSettings
        from jgo.constants import default_maven_repo
        from jgo.maven import MavenContext
        from jgo.maven._core import DEFAULT_REMOTE_REPOS
    except ImportError as absent:
        raise missing("jgo", "fetches Apache Kafka") from absent
    # A mirror from the user's jgo configuration goes first; what Maven itself has already fetched is used as it is.
    remote = {**GlobalSettings.load().repositories, **DEFAULT_REMOTE_REPOS}
    return MavenContext(repo_cache=cache, local_repos=[default_maven_repo()], remote_repos=remote, timeout=30)


def _artifact(context: Any, coordinate: str) -> Any:
    group, name, version = coordinate.split(":")
    return context.project(group, name).at_version(version).artifact()


def _is_here(context: Any, coordinate: str) -> bool:
    artifact = _artifact(context, coordinate)
    within = artifact.component.path_prefix / artifact.filename
    return any((repository / within).exists() for repository in (context.repo_cache, *context.local_repos))


def _bring(context: Any, coordinate: str, sha256: str) -> Path:
    artifact = _artifact(context, coordinate)
    cached: Path = artifact.cached_path
    if cached.exists() and _sha256(cached) != sha256:
        cached.unlink()  # a download that was cut short: jgo writes in place
    try:
        jar: Path = artifact.resolve()
        if jar != cached and _sha256(jar) != sha256:
            jar = context.resolver.download(artifact)  # the user's own Maven repository holds another: leave it alone
    except (OSError, RuntimeError) as failure:  # requests' errors are OSErrors, jgo's own are RuntimeErrors
        raise Permanent(
            f"Could not fetch {coordinate} for the embedded Kafka ({_first_line(failure)}):"
            " connect this machine once, or name a mirror under [repositories] in ~/.config/jgo.conf.",
        ) from failure
    if _sha256(jar) != sha256:
        raise Permanent(f"{jar} is not the {coordinate} that was locked (its sha256 differs): delete it and try again.")
    return jar


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _first_line(failure: BaseException) -> str:
    return f"{type(failure).__name__}: {str(failure).partition(chr(10))[0][:200]}"


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """Two processes that fetch into one cache would read each other's half-written jars."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
