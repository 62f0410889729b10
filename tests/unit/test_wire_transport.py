"""The transport over file descriptors, without a server."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable

from branchline.wire.transport import StdioTransport, StreamTransport

Scene = Callable[[StdioTransport, int, int], Awaitable[None]]


def play(scene: Scene) -> None:
    """Run ``scene(transport, far_input, far_output)`` on two pipes."""

    async def run() -> None:
        near_input, far_output = os.pipe()
        far_input, near_output = os.pipe()
        try:
            await scene(StdioTransport(near_input, near_output), far_input, far_output)
        finally:
            for descriptor in (near_input, far_output, far_input, near_output):
                os.close(descriptor)

    asyncio.run(run())


def test_a_write_never_waits_and_everything_arrives_in_order() -> None:
    async def scene(transport: StdioTransport, far_input: int, _far_output: int) -> None:
        wanted = [bytes([number]) * 300_000 for number in range(10)]
        for data in wanted:
            transport.write(data)
        received = b""
        while len(received) < 3_000_000:
            received += await asyncio.to_thread(os.read, far_input, 1 << 20)
        assert received == b"".join(wanted)

    play(scene)


def test_the_loop_rests_once_everything_is_written() -> None:
    async def scene(transport: StdioTransport, far_input: int, _far_output: int) -> None:
        transport.write(b"x" * 300_000)
        missing = 300_000
        while missing:
            missing -= len(await asyncio.to_thread(os.read, far_input, missing))
        async with asyncio.timeout(0.5):  # less than it waits for a client that does not read
            await transport.close(0)
        assert not asyncio.get_running_loop().remove_writer(transport._output)
        assert not asyncio.get_running_loop().remove_reader(transport._input)

    play(scene)


def test_output_that_nobody_reads_is_given_up_at_close() -> None:
    async def scene(transport: StdioTransport, _far_input: int, _far_output: int) -> None:
        transport.write(b"x" * 300_000)
        async with asyncio.timeout(4):
            await transport.close(0)
        assert transport.is_over
        assert not asyncio.get_running_loop().remove_writer(transport._output)
        assert await transport.read() == b""

    play(scene)


def test_abort_ends_a_read_that_waits() -> None:
    async def scene(transport: StdioTransport, _far_input: int, far_output: int) -> None:
        reading = asyncio.create_task(transport.read())
        os.write(far_output, b"abc")
        assert await reading == b"abc"
        reading = asyncio.create_task(transport.read())
        await asyncio.sleep(0)
        transport.abort()
        assert await reading == b""
        transport.write(b"lost")

    play(scene)


def test_input_that_nobody_asked_for_stays_where_it_is() -> None:
    async def scene(transport: StdioTransport, _far_input: int, far_output: int) -> None:
        os.write(far_output, b"one")
        assert await transport.read() == b"one"
        os.write(far_output, b"two")
        loop = asyncio.get_running_loop()
        while transport._is_watching:  # noqa: ASYNC110 - the loop notices, and says nothing
            await asyncio.sleep(0)
        assert not loop.remove_reader(transport._input)
        assert await transport.read() == b"two"

    play(scene)


def test_others_have_a_turn_between_two_reads_of_what_came_at_once() -> None:
    async def scene() -> None:
        near, far = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=near, limit=1 << 20)
        transport = StreamTransport(reader, writer)
        turns = 0

        async def another() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        with far:
            await asyncio.to_thread(far.sendall, b"x" * 1_000_000)
            beside = asyncio.create_task(another())
            received = 0
            while received < 1_000_000:
                before = turns
                received += len(await transport.read())
                assert turns > before
            beside.cancel()
            await transport.close(0)
        assert turns > 10

    asyncio.run(scene())
