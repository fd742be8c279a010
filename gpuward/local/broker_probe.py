"""Ask a Kafka broker whether it serves: two requests of its protocol over a bare socket.

ApiVersions v0 is answered by every broker there ever was. Metadata v1 with no topics lists the brokers that the
controller counts as alive: a broker that has only bound its port, or is still fenced, is not among them.
"""

from __future__ import annotations

import asyncio
import struct

_API_VERSIONS, _METADATA = 18, 3
_ANSWER_S = 5.0
_CLIENT = b"gpuward-probe"


async def broker_serves(host: str, port: int) -> bool:
    """Whether the broker at `host:port` is registered, unfenced and answering. OSError if nobody listens."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        async with asyncio.timeout(_ANSWER_S):
            versions = await _ask(reader, writer, _API_VERSIONS, version=0, body=b"")
            if struct.unpack_from(">h", versions)[0] != 0:
                return False
            metadata = await _ask(reader, writer, _METADATA, version=1, body=struct.pack(">i", 0))
            return int(struct.unpack_from(">i", metadata)[0]) > 0  # the count of brokers that are alive
    except (TimeoutError, asyncio.IncompleteReadError, struct.error):
        return False
    finally:
        writer.close()


async def _ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: int, *, version: int, body: bytes
) -> bytes:
    request = struct.pack(f">hhih{len(_CLIENT)}s", key, version, key, len(_CLIENT), _CLIENT) + body
    writer.write(struct.pack(">i", len(request)) + request)
    await writer.drain()
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return (await reader.readexactly(size))[4:]  # past the correlation id: there is one request at a time
