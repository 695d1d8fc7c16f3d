"""Forwards TCP connections of nodes and pods to the API server, which listens on loopback only.

It listens on the machine's address in the sandbox's network, to which other machines have no route. The API
server authenticates every connection.
"""

import asyncio
import sys

CHUNK_BYTES = 64 * 1024


async def forward(address: str, port: int, api_port: int) -> None:
    """Forwards `address`:`port` to `api_port` of 127.0.0.1 until it is cancelled."""

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", api_port)
        except OSError:  # the API server is restarting
            writer.close()
            return
        await asyncio.gather(copy(reader, upstream_writer), copy(upstream_reader, writer))

    server = await asyncio.start_server(connect, address, port)
    await server.serve_forever()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copies until either side ends, and closes the writer."""
    try:
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


if __name__ == "__main__":
    asyncio.run(forward(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
