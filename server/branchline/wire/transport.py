"""Carries bytes between one client and the loop. Knows nothing of frames or messages.

A `Transport` reads in large chunks and writes through a queue, so that a write never waits for the
client. The queue has a limit: a client that does not read is dropped (see `MAX_PENDING_BYTES`).

Two kinds: `StdioTransport` over the process's own stdin and stdout, whatever they are, and
`StreamTransport` over a connected socket.
"""

import asyncio
import fcntl
import logging
import os
import queue
import threading
from typing import Protocol

MAX_PENDING_BYTES = 256 * 1024 * 1024
"""With more unwritten output than this, the next message drops the client instead of waiting."""

_READ_BYTES = 256 * 1024
_FLUSH_SECONDS = 1.0

_logger = logging.getLogger(__name__)


class Transport(Protocol):
    """One client's connection."""

    @property
    def is_over(self) -> bool:
        """Whether nothing written can reach the client any more."""
        ...

    async def read(self) -> bytes:
        """The next bytes, at least one; empty once the connection is over, in either direction."""
        ...

    def write(self, data: bytes) -> None:
        """Queue bytes. Returns at once; after the end of the connection it does nothing."""
        ...

    def abort(self) -> None:
        """End the connection now; what is still queued is lost."""
        ...

    async def close(self) -> None:
        """End the connection, after at most a second for what is still queued."""
        ...


class StdioTransport:
    """Reads one file descriptor and writes another: pipe, socket, terminal, file or null device.

    Their flags are left alone, because other processes may share them. So a thread does the
    writing, which may block there, and reading waits until the descriptor is ready.
    """

    def __init__(self, input_fd: int, output_fd: int) -> None:
        """Take over both descriptors. Needs a running loop."""
        self._loop = asyncio.get_running_loop()
        self._input = input_fd
        self._output = output_fd
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        # Two counters with one writer each, the loop and the thread, so neither needs a lock.
        self._queued_bytes = 0
        self._written_bytes = 0
        self._over = asyncio.Event()
        self._flushed = asyncio.Event()
        self._readable: asyncio.Future[None] | None = None
        # A daemon thread: a client that reads nothing may hold it in a write for ever.
        threading.Thread(target=self._write_queued, name="stdout", daemon=True).start()

    @property
    def is_over(self) -> bool:
        """See `Transport`."""
        return self._over.is_set()

    async def read(self) -> bytes:
        """See `Transport`."""
        await self._wait_readable()
        if self.is_over:
            return b""
        try:
            return os.read(self._input, _READ_BYTES)
        except OSError as error:  # a terminal that hung up, a socket that was reset
            _logger.info("Reading from the client failed: %s", error.strerror)
            return b""

    def write(self, data: bytes) -> None:
        """See `Transport`."""
        if self.is_over:
            return
        pending = self._queued_bytes - self._written_bytes
        if pending > MAX_PENDING_BYTES:
            _logger.error("The client does not read: dropped with %d bytes waiting", pending)
            self.abort()
            return
        self._queued_bytes += len(data)
        self._queue.put(data)

    def abort(self) -> None:
        """See `Transport`."""
        self._over.set()
        self._queue.put(None)
        if self._readable is not None:
            _wake(self._readable)

    async def close(self) -> None:
        """See `Transport`. The descriptors stay open: the process is about to end."""
        if self.is_over:
            return
        self._queue.put(None)
        try:
            async with asyncio.timeout(_FLUSH_SECONDS):
                await self._flushed.wait()
        except TimeoutError:
            _logger.info("The client left output unread")
        self.abort()

    async def _wait_readable(self) -> None:
        if self.is_over:
            return
        self._readable = readable = self._loop.create_future()
        try:
            self._loop.add_reader(self._input, _wake, readable)
        except PermissionError:
            # epoll takes no regular files and no null device; those never make a reader wait.
            await asyncio.sleep(0)
            return
        try:
            await readable
        finally:
            self._loop.remove_reader(self._input)

    def _write_queued(self) -> None:
        """The thread: write until told to stop or the client is gone."""
        broken = False
        while not broken and (data := self._queue.get()) is not None:
            broken = not self._write_all(data)
        try:
            self._loop.call_soon_threadsafe(self._end_output, broken)
        except RuntimeError:
            _logger.debug("The loop was closed before the output was")

    def _write_all(self, data: bytes) -> bool:
        """Write to the client; False if it is gone, or given up."""
        rest = memoryview(data)
        while rest:
            if self.is_over:
                return False
            try:
                written = os.write(self._output, rest)
            except OSError as error:
                _logger.info("Writing to the client failed: %s", error.strerror)
                return False
            self._written_bytes += written
            rest = rest[written:]
        return True

    def _end_output(self, broken: bool) -> None:
        self._flushed.set()
        if broken:
            self.abort()


def _wake(waiting: "asyncio.Future[None]") -> None:
    if not waiting.done():
        waiting.set_result(None)


class StreamTransport:
    """A connected socket, by the stream pair that asyncio made for it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def is_over(self) -> bool:
        """See `Transport`."""
        return self._writer.is_closing()

    async def read(self) -> bytes:
        """See `Transport`."""
        try:
            return await self._reader.read(_READ_BYTES)
        except OSError as error:
            _logger.info("Reading from the client failed: %s", error.strerror)
            return b""

    def write(self, data: bytes) -> None:
        """See `Transport`."""
        if self.is_over:
            return
        pending = self._writer.transport.get_write_buffer_size()
        if pending > MAX_PENDING_BYTES:
            _logger.error("The client does not read: dropped with %d bytes waiting", pending)
            self.abort()
            return
        self._writer.write(data)

    def abort(self) -> None:
        """See `Transport`."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """See `Transport`."""
        self._writer.close()
        try:
            async with asyncio.timeout(_FLUSH_SECONDS):
                await self._writer.wait_closed()
        except (TimeoutError, OSError):
            self.abort()


def open_stdio() -> StdioTransport:
    """Take stdin and stdout for the transport, and keep everybody else away from them.

    From then on fd 1 is stderr and fd 0 is the null device: what ``print``, a warning, C code or a
    child process writes to stdout cannot reach the client, and none of them eats its input.

    Raises `OSError` if the process was started without stdin or stdout.
    """
    # Not below 3, so that the copies never land on a standard descriptor that happens to be
    # closed; close-on-exec, so that children get neither.
    private_input = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    private_output = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no stderr
        os.dup2(null, 1)
    if null > 2:
        os.close(null)
    return StdioTransport(private_input, private_output)
