"""What stands before a kernel message: `dmesg`, syslog, `/dev/kmsg`, Talos, or nothing.

Forms: `[secs.usec]`, `[secs.usec][ Tnnn]`, `[Mon Jan  2 15:04:05 2006]`, `<4>` before any of these, syslog or ISO time
with host and `kernel:`, `kernel:` alone, Talos `kern: warning: [ISO]:`, `/dev/kmsg` `6,seq,usec,-;`, ftrace. A line
that another process wrote keeps its prefix, and so matches no grammar that begins at the message.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NamedTuple

_KERNEL_FACILITY_BELOW = 8
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MAX_FUTURE = timedelta(days=2)

_ISO = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_LEVEL = re.compile(r"<(\d{1,4})>", re.ASCII)
_TICKS = re.compile(r"\[ *(\d{1,12})\.(\d{1,9})\](?: ?\[ *[TC]\d{1,10}\])? *", re.ASCII)
_CTIME = re.compile(r"\[[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\] *", re.ASCII)
_KMSG = re.compile(r"(\d{1,6}),(\d{1,19}),(\d{1,18}),[^;]{0,200};", re.ASCII)
_WALL = re.compile(rf"({_ISO}) +", re.ASCII)
_SYSLOG = re.compile(r"([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.\d{1,9})? +", re.ASCII)
_TAG = re.compile(r"(?:\S{1,255} +)?kernel: ?")
_TALOS = re.compile(rf"(?:\S{{1,255}}: +)?kern: +\w+: +\[({_ISO})\]: ?", re.ASCII)
_FTRACE = re.compile(
    r" *\S{1,64}-\d{1,10} +(?:\([^)]*\) +)?\[\d{1,5}\] \S+ +(\d{1,12})\.(\d{1,9}): nvidia_dev_xid: ", re.ASCII
)


class Stripped(NamedTuple):
    """The message, and its time where the prefix told it."""

    text: str
    time: datetime


def strip(line: str, default_time: datetime, boot_time: datetime | None = None) -> Stripped | None:
    """The message without its prefix; None for a record that user space wrote to the kernel log.

    `default_time` stands in where the prefix has no wall time (its zone and year also complete a syslog time); a
    monotonic prefix counts from `boot_time` where that is known.
    """
    if line.startswith("<"):
        level = _LEVEL.match(line)
        if level is not None:
            if int(level[1]) >= _KERNEL_FACILITY_BELOW:
                return None
            line = line[level.end() :]
    if line.startswith("["):
        ticks = _TICKS.match(line)
        if ticks is not None:
            return _after_time(line, ticks.end(), _ticks(ticks, boot_time), default_time, boot_time)
    record = _KMSG.match(line) if line[:1].isdigit() else None
    if record is None:
        return _text_form(line, default_time, boot_time)
    if int(record[1]) >= _KERNEL_FACILITY_BELOW:
        return None
    time = _since(boot_time, 0, int(record[3])) or default_time
    return Stripped(line[record.end() :].replace("\\x0a", "\n"), time)


def _text_form(line: str, default_time: datetime, boot_time: datetime | None) -> Stripped:
    first = line[:1]
    if first.isdigit() and (match := _WALL.match(line)):
        time = _iso(match[1], default_time)
    elif first == "[" and (match := _CTIME.match(line)):
        time = _wall(match[6], match[1], match.group(2, 3, 4, 5), default_time)
    elif first.isupper() and (match := _SYSLOG.match(line)):
        time = _syslog(match[1], match.group(2, 3, 4, 5), default_time)
    elif match := _TALOS.match(line):
        time = _iso(match[1], default_time)
    elif match := _FTRACE.match(line):
        return Stripped(line[match.end() :], _ticks(match, boot_time) or default_time)
    else:
        return _after_time(line, 0, None, default_time, boot_time)
    return _after_time(line, match.end(), time, default_time, boot_time)


def _after_time(
    line: str, end: int, time: datetime | None, default_time: datetime, boot_time: datetime | None
) -> Stripped:
    """The `kernel:` tag, with a host before it or not, and the ticks behind it."""
    tag = None if line.startswith("NVRM", end) else _TAG.match(line, end)
    if tag is not None:
        end = tag.end()
    ticks = _TICKS.match(line, end) if line.startswith("[", end) else None
    if ticks is not None:
        end = ticks.end()
        time = time or _ticks(ticks, boot_time)
    return Stripped(line[end:], time or default_time)


def _ticks(match: re.Match[str], boot_time: datetime | None) -> datetime | None:
    if boot_time is None:
        return None
    seconds, fraction = match.groups()
    return _since(boot_time, int(seconds), int(fraction.ljust(6, "0")[:6]))


def _since(boot_time: datetime | None, seconds: int, microseconds: int) -> datetime | None:
    try:
        return None if boot_time is None else boot_time + timedelta(0, seconds, microseconds)
    except OverflowError:
        return None


def _iso(text: str, default_time: datetime) -> datetime | None:
    try:
        time = datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=default_time.tzinfo)


def _wall(year: str, month: str, rest: tuple[str, ...], default_time: datetime) -> datetime | None:
    day, hour, minute, second = map(int, rest)
    try:
        return datetime(int(year), _MONTHS.index(month) + 1, day, hour, minute, second, tzinfo=default_time.tzinfo)
    except ValueError:
        return None


def _syslog(month: str, rest: tuple[str, ...], default_time: datetime) -> datetime | None:
    """A syslog time has no year: the newest that is not in the future."""
    time = _wall(str(default_time.year), month, rest, default_time)
    if time is not None and time - default_time > _MAX_FUTURE:
        return _wall(str(default_time.year - 1), month, rest, default_time)
    return time
