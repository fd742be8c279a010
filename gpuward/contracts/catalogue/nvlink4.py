"""Xid 74 (NVLink on A100 and H100): what the seven register words of the line say, bit by bit.

Words 1, 3, 4 and 5 matter, counted from one. A bit that the table does not list is for the vendor.
Source: NVIDIA Xid catalog workbook, WORKFLOW_NVLINK_ERR.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache
from types import MappingProxyType

from gpuward.contracts.catalogue.rows import rows_of

WORDS = (1, 3, 4, 5)


class Nvlink4Rule(StrEnum):
    """What to do about one bit, ordered from mild to grave."""

    IGNORE = "IGNORE"
    SYMPATHETIC = "SYMPATHETIC"
    """Follow the other errors; alone it is for the vendor."""
    RESET_FABRIC_IF_ALONE = "RESET_FABRIC_IF_ALONE"
    MARGINAL = "MARGINAL"
    """Signal is marginal: other errors first, else reseat and run the field diagnostic."""
    RESEAT = "RESEAT"
    DIAG_IF_REPEATED = "DIAG_IF_REPEATED"
    VENDOR_IF_REPEATED = "VENDOR_IF_REPEATED"
    VENDOR_IF_MORE_THAN_2 = "VENDOR_IF_MORE_THAN_2"
    """More than two on one link."""
    VENDOR = "VENDOR"


@cache
def bit_rules() -> Mapping[tuple[int, int], Nvlink4Rule]:
    """(word, bit) -> rule, for the bits that are listed."""
    return MappingProxyType(
        {
            (int(row["word"]), int(bit)): Nvlink4Rule(row["rule"])
            for row in rows_of("nvlink4.csv")
            for bit in row["bits"].split(";")
        }
    )


def decode_words(registers: Sequence[int]) -> tuple[Nvlink4Rule, ...]:
    """The distinct rules of the bits that are set, gravest first; empty for no bits.

    Missing words (a truncated line) say nothing.
    """
    order = list(Nvlink4Rule)
    found = {
        bit_rules().get((word, bit), Nvlink4Rule.VENDOR)
        for word in WORDS
        if word <= len(registers)
        for bit in range(registers[word - 1].bit_length())
        if registers[word - 1] >> bit & 1
    }
    return tuple(sorted(found, key=order.index, reverse=True))
