"""The kernel log of the machine the agent runs on, or any file or pipe that holds one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gpuward.contracts.observations import KernelFaultLogged, Observation, observation_id
from ingest.collectors.kmsg import Kmsg
from ingest.collectors.log_file import LogFile
from ingest.normalise import KernelLogReader

KMSG = Path("/dev/kmsg")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
MOST_BYTES = 8 << 20
"""Read at one poll, so that a poll ends within its limit; the rest comes with the next."""
MOST_RECORDS = 50_000
_GENERATION_BITS = 32


def boot_id_of_host(path: Path = BOOT_ID) -> str:
    """The running kernel's boot id, empty where there is none to read."""
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def boot_time_of_host() -> datetime:
    """What the kernel log's monotonic prefixes count from."""
    return datetime.now(UTC) - timedelta(seconds=time.clock_gettime(time.CLOCK_MONOTONIC))


def _now() -> datetime:
    return datetime.now(UTC)


class KernelLogCollector:
    """Collector over `/dev/kmsg`: the kernel's own sequence numbers under the running boot id."""

    name = "kernel-log"

    def __init__(self, path: Path = KMSG, *, boot_id: str = "", clock: Callable[[], datetime] = _now) -> None:
        self._path = path
        self._kmsg = Kmsg(path)
        self._clock = clock
        self._reader = KernelLogReader(boot_id or boot_id_of_host(), boot_time=boot_time_of_host())

    def supported(self) -> bool:
        return os.access(self._path, os.R_OK)

    def poll(self) -> Iterator[Observation]:
        """What the new records say, and one `kernel_log_gap` where the kernel overwrote records that nobody had read."""
        overruns = self._kmsg.overruns
        now = self._clock()
        for record in self._kmsg.read(MOST_RECORDS):
            if self._kmsg.overruns > overruns:
                overruns = self._kmsg.overruns
                yield self._gap(record.sequence, now)
            yield from self._reader.feed(record.text, sequence=record.sequence, default_time=now)

    def close(self) -> None:
        self._kmsg.close()

    def _gap(self, sequence: int, now: datetime) -> Observation:
        boot_id = self._reader.boot_id
        return KernelFaultLogged(
            id=observation_id(boot_id, sequence, "kernel_log_gap"),
            time=now,
            boot_id=boot_id,
            sequence=(sequence, sequence),
            code="kernel_log_gap",
            text=f"the kernel overwrote records before {sequence} that nobody had read",
        )


class KernelLogFileCollector:
    """Collector over a log file or a pipe. The sequence number is the line's number in the file.

    Without `boot_id` it is derived from the file's first line, as `file-<hash>`: another file is another boot. With it,
    lines of files that followed each other by rotation are told apart in the sequence number's upper bits.
    """

    name = "kernel-log"

    def __init__(
        self,
        path: Path,
        *,
        boot_id: str = "",
        boot_time: datetime | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._file = LogFile(path)
        self._boot_id = boot_id
        self._boot_time = boot_time
        self._clock = clock
        self._identity = ""
        self._reader: KernelLogReader | None = None

    def supported(self) -> bool:
        """Always: a file that is not there yet is an empty one."""
        return True

    def poll(self) -> Iterator[Observation]:
        now = self._clock()
        for line in self._file.read(MOST_BYTES):
            if self._reader is None or line.identity != self._identity:
                self._identity = line.identity
                boot_id = self._boot_id or f"file-{line.identity}"
                self._reader = KernelLogReader(boot_id, boot_time=self._boot_time)
            yield from self._reader.feed(line.text, sequence=self._sequence(line.number), default_time=now)

    def close(self) -> None:
        self._file.close()

    def _sequence(self, number: int) -> int:
        if not self._boot_id:
            return number
        return ((int(self._identity, 16) & 0xFFFFF) << _GENERATION_BITS) + number


def kernel_log(path: Path, *, boot_id: str = "") -> KernelLogCollector | KernelLogFileCollector:
    """The collector for this path: `/dev/kmsg` has records, everything else lines."""
    if path == KMSG:
        return KernelLogCollector(path, boot_id=boot_id)
    return KernelLogFileCollector(path, boot_id=boot_id)
