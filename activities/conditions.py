"""Whether a condition stands now. Law: what cannot be measured is not proven.

Pure. The classes are those that the streams' rules raise; a code counts as standing while the kernel log of this boot
has it since the driver last bound the GPU.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from activities.power import Gpu, Host

_XID = re.compile(r"gpu\.xid\.(\d+)")
_OFF_THE_BUS = 79
_RECOVERY_ACTION = 154


def _gone(gpu: Gpu) -> bool:
    return gpu.state == "lost"


def _asks_for_recovery(gpu: Gpu) -> bool | None:
    if gpu.recovery_action is not None:
        return gpu.recovery_action != 0
    return _code_stands(_RECOVERY_ACTION, gpu)


_MEASURED: dict[str, Callable[[Gpu], bool | None]] = {
    "gpu.missing": _gone,
    "gpu.memory.remap_pending": lambda gpu: gpu.remap_pending,
    "gpu.memory.remap_failed": lambda gpu: gpu.remap_failure,
    "gpu.recovery_action": _asks_for_recovery,
}
"""By class or the beginning of one, whole words."""


def stands(fault_class: str, gpu: Gpu) -> bool | None:
    """Whether this condition stands on this GPU now; None: it cannot be measured."""
    if code := _XID.fullmatch(fault_class):
        return _code_stands(int(code[1]), gpu)
    for name, measure in _MEASURED.items():
        if fault_class == name or fault_class.startswith(f"{name}."):
            return measure(gpu)
    return None


def _code_stands(code: int, gpu: Gpu) -> bool | None:
    if code == _OFF_THE_BUS and _gone(gpu):
        return True
    return None if gpu.xids is None else code in gpu.xids


class Standing:
    """What stands of the conditions asked about, over the GPUs named (all of the host's, where none is named)."""

    def __init__(self, host: Host, gpus: Iterable[str], fault_classes: Iterable[str]) -> None:
        named = set(gpus)
        self.fault_classes = tuple(fault_classes)
        of = [gpu for gpu in host.gpus if not named or gpu.uuid in named]
        self._found = {gpu.uuid: [stands(name, gpu) for name in self.fault_classes] for gpu in of}

    @property
    def any(self) -> bool:
        """Whether at least one condition stands on at least one GPU."""
        return any(answer for answers in self._found.values() for answer in answers)

    @property
    def measured(self) -> bool:
        """Whether every condition was measured on every GPU."""
        return bool(self._found) and all(answer is not None for answers in self._found.values() for answer in answers)

    @property
    def cleared(self) -> tuple[str, ...]:
        """GPUs on which nothing of it stands."""
        return tuple(uuid for uuid, answers in self._found.items() if not any(answers))
