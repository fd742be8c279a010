"""Kafka's default partitioner for keyed records: murmur2. Producers that use another one (librdkafka's default is CRC32)
put records on the wrong partition; they are re-published once, and counted.

Source: Apache Kafka `org.apache.kafka.common.utils.Utils.murmur2`.
"""

from __future__ import annotations

_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The 32-bit hash as an unsigned number."""
    length = len(data)
    h = (0x9747B28C ^ length) & _MASK
    whole = length & ~3
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little")
        k = (k * _M) & _MASK
        k ^= k >> 24
        k = (k * _M) & _MASK
        h = ((h * _M) & _MASK) ^ k
    tail = data[whole:]
    if tail:
        h = ((h ^ int.from_bytes(tail, "little")) * _M) & _MASK
    h ^= h >> 13
    h = (h * _M) & _MASK
    return h ^ (h >> 15)


def partition_of(key: bytes, partitions: int) -> int:
    """The partition on which records of this key belong."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
