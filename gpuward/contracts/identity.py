"""Who is meant: identities as types, never bare strings.

Three identities of a GPU are never mixed: the *physical* GPU (`GPU-<uuid>`, what the actor is), its *slot* (node and PCI
bus id, `dddd:bb:dd.f`) and its *index* (display only). An `Entity` is `<kind>/<name>`; it is at once the Kafka key of what
concerns it and the workflow id of its actor, so nothing has to be looked up to address one.

Source for the identifier forms: NVIDIA DCGM `dcgm_fields.h`, go-nvml `nvml.h`, and the driver's kernel log.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

_NAME = r"[A-Za-z0-9][A-Za-z0-9._:\-]{0,199}"


class _Id(str):
    """A string that has been checked once, where it came in."""

    __slots__ = ()
    PATTERN: ClassVar[re.Pattern[str]]

    def __new__(cls, value: str) -> Self:
        """Raises ValueError when `value` does not follow the grammar of this kind of identity."""
        if cls.PATTERN.fullmatch(value) is None:
            raise ValueError(f"{value!r} is not a {cls.__name__}")
        return super().__new__(cls, value)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(
            cls,
            core_schema.str_schema(),
            serialization=core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema()),
        )


class RackId(_Id):
    """A rack's name as the site uses it."""

    __slots__ = ()
    PATTERN = re.compile(_NAME)


class NodeId(_Id):
    """A node's name: what its host calls itself, unique over the installation."""

    __slots__ = ()
    PATTERN = re.compile(_NAME)


class DomainId(_Id):
    """An NVLink domain: one HGX baseboard, or the cluster UUID of an NVL72."""

    __slots__ = ()
    PATTERN = re.compile(_NAME)


class PoolId(_Id):
    """A pool of nodes that shares one budget."""

    __slots__ = ()
    PATTERN = re.compile(_NAME)


class GpuId(_Id):
    """A physical GPU, `GPU-` and 8-4-4-4-12 lower-case hex digits. It moves with the board."""

    __slots__ = ()
    PATTERN = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Slot(_Id):
    """A PCI address in its one normal form, `dddd:bb:dd.f`, lower case."""

    __slots__ = ()
    PATTERN = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Normalises every form seen in the field: `PCI:0000:03:00`, `00000000:65:00.0`, `0000:03:00.0`, `65:00.0`.

        Raises ValueError for anything else.
        """
        match = re.fullmatch(
            r"(?:PCI:)?(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?", text.strip(), re.IGNORECASE
        )
        if match is None:
            raise ValueError(f"{text!r} is not a PCI address")
        domain, bus, device, function = match.groups()
        return cls(f"{int(domain or '0', 16):04x}:{bus.lower()}:{device.lower()}.{function or '0'}")


class EntityKind(StrEnum):
    """What an entity can be."""

    GPU = "gpu"
    NVSWITCH = "nvswitch"
    NODE = "node"
    RACK = "rack"
    DOMAIN = "domain"
    POOL = "pool"
    REMEDIATION = "remediation"


class Entity(_Id):
    """`<kind>/<name>`: the Kafka key of records about it and the workflow id of its actor."""

    __slots__ = ()
    PATTERN = re.compile(r"(?:gpu|nvswitch|node|rack|domain|pool|remediation)/[A-Za-z0-9][A-Za-z0-9._:/\-]{0,400}")

    @property
    def kind(self) -> EntityKind:
        return EntityKind(self.partition("/")[0])

    @property
    def name(self) -> str:
        return self.partition("/")[2]

    @classmethod
    def gpu(cls, uuid: str) -> Self:
        return cls(f"gpu/{uuid}")

    @classmethod
    def node(cls, node: str) -> Self:
        return cls(f"node/{node}")

    @classmethod
    def rack(cls, rack: str) -> Self:
        return cls(f"rack/{rack}")

    @classmethod
    def domain(cls, domain: str) -> Self:
        return cls(f"domain/{domain}")

    @classmethod
    def pool(cls, pool: str) -> Self:
        return cls(f"pool/{pool}")

    @classmethod
    def remediation(cls, node: str, plan: str, attempt: int) -> Self:
        """The child that runs one attempt: `remediation/<node>/<plan>/<attempt>`, started at most once."""
        return cls(f"remediation/{node}/{plan}/{attempt}")


FLEET = Entity.pool("fleet")
"""The guard over all pools: its stop is pushed to every pool guard."""
