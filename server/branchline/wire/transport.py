"""Carries bytes between one client and the loop. Knows nothing of frames or messages.

A `Transport` reads in large chunks and writes through a queue, so that a write never waits for the
client. The queue has a limit: a client that does not read is dropped (see `MAX_PENDING_BYTES`).

Three kinds: `StdioTransport` over the process's own stdin and stdout, whatever they are,
`StreamTransport` over a connected socket, and `ForwardedTransport` over one with a forwarder at its
far end.
"""

import asyncio
import fcntl
import logging
import os
import select
from collections import deque
from typing import Protocol

from branchline.wire.hello import GOODBYE

MAX_PENDING_BYTES = 256 * 1024 * 1024
"""With more unwritten output than this, the next message drops the client instead of waiting."""

_READ_BYTES = 256 * 1024
_STREAM_BYTES = 32 * 1024
"""Less for one client of several: between two reads the others have their turn."""
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

    async def close(self, exit_code: int) -> None:
        """End the connection, after at most a second for what is still queued.

        ``exit_code``: what a process ends with that had only this connection.
        """
        ...


class StdioTransport:
    """Reads one file descriptor and writes another: pipe, socket, terminal, file or null device.

    Other processes may share the descriptors, so their flags are left alone. Neither reading nor
    writing blocks all the same: both wait until the descriptor is ready, and no more than
    `select.PIPE_BUF` bytes are written at a time, which a ready pipe takes without blocking
    (POSIX, ``poll``).
    """

    def __init__(self, input_fd: int, output_fd: int) -> None:
        """Use both descriptors, which stay the caller's to close. Needs a running loop."""
        self._loop = asyncio.get_running_loop()
        self._input = input_fd
        self._output = output_fd
        self._writable = select.poll()
        self._writable.register(output_fd, select.POLLOUT)
        self._pending: deque[memoryview] = deque()
        self._pending_bytes = 0
        self._is_over = False
        self._flushed: asyncio.Future[None] | None = None  # while output waits to be written
        self._reading: asyncio.Future[bytes] | None = None  # what the latest `read` waits for
        self._is_watching = False  # whether the loop tells when there is input

    @property
    def is_over(self) -> bool:
        """See `Transport`."""
        return self._is_over

    async def read(self) -> bytes:
        """See `Transport`."""
        if self._is_over:
            return b""
        self._reading = self._loop.create_future()
        if not self._is_watching:
            try:
                self._loop.add_reader(self._input, self._receive)
                self._is_watching = True
            except PermissionError:
                # epoll takes no regular files and no null device; those never make one wait.
                self._loop.call_soon(self._receive)
        return await self._reading

    def write(self, data: bytes) -> None:
        """See `Transport`."""
        if self._is_over:
            return
        if self._pending_bytes > MAX_PENDING_BYTES:
            _log_drop(self._pending_bytes)
            self.abort()
            return
        self._pending.append(memoryview(data))
        self._pending_bytes += len(data)
        if self._flushed is None:
            self._write_pending()

    def abort(self) -> None:
        """See `Transport`."""
        self._is_over = True
        self._pending.clear()
        self._pending_bytes = 0
        self._end_waiting()
        self._stop_watching()
        if self._reading is not None and not self._reading.done():
            self._reading.set_result(b"")

    async def close(self, exit_code: int) -> None:
        """See `Transport`. Whoever owns the process ends it with the code."""
        if self._flushed is not None:
            try:
                async with asyncio.timeout(_FLUSH_SECONDS):
                    await asyncio.shield(self._flushed)  # `abort` resolves it too
            except TimeoutError:
                _logger.info("The client left %d bytes unread", self._pending_bytes)
        self.abort()

    def _receive(self) -> None:
        """The input is ready: read it, if anybody asked."""
        reading = self._reading
        if reading is None or reading.done():
            self._stop_watching()
            return
        try:
            reading.set_result(os.read(self._input, _READ_BYTES))
        except BlockingIOError:  # somebody else made it non-blocking, and read before us
            return
        except OSError as error:  # a terminal that hung up, a socket that was reset
            _logger.info("Reading from the client failed: %s", error.strerror)
            reading.set_result(b"")

    def _stop_watching(self) -> None:
        if self._is_watching:
            self._loop.remove_reader(self._input)
            self._is_watching = False

    def _write_pending(self) -> None:
        """Write what can be written now; the loop calls again when there is room for the rest."""
        pending = self._pending
        while pending and self._writable.poll(0):
            chunk = pending[0]
            try:
                written = os.write(self._output, chunk[: select.PIPE_BUF])
            except BlockingIOError:  # somebody else made it non-blocking
                break
            except OSError as error:
                _logger.info("Writing to the client failed: %s", error.strerror)
                self.abort()
                return
            self._pending_bytes -= written
            if written == len(chunk):
                pending.popleft()
            else:
                pending[0] = chunk[written:]
        if not pending:
            self._end_waiting()
        elif self._flushed is None:
            self._flushed = self._loop.create_future()
            self._loop.add_writer(self._output, self._write_pending)

    def _end_waiting(self) -> None:
        if self._flushed is not None:
            self._loop.remove_writer(self._output)
            self._flushed.set_result(None)
            self._flushed = None


def _log_drop(pending: int) -> None:
    _logger.error("The client does not read: dropped with %d bytes waiting", pending)


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
        await asyncio.sleep(0)  # where much has come at once, the reader itself would not pause
        try:
            return await self._reader.read(_STREAM_BYTES)
        except OSError as error:
            _logger.info("Reading from the client failed: %s", error.strerror)
            return b""

    def write(self, data: bytes) -> None:
        """See `Transport`."""
        if self.is_over:
            return
        pending = self._writer.transport.get_write_buffer_size()
        if pending > MAX_PENDING_BYTES:
            _log_drop(pending)
            self.abort()
            return
        self._writer.write(data)

    def abort(self) -> None:
        """See `Transport`."""
        self._writer.transport.abort()

    async def close(self, exit_code: int) -> None:
        """See `Transport`. The far end is not told the code."""
        self._writer.close()
        try:
            async with asyncio.timeout(_FLUSH_SECONDS):
                await self._writer.wait_closed()
        except (TimeoutError, OSError):
            self.abort()


class ForwardedTransport(StreamTransport):
    """A socket with a forwarder at its far end, which is told how the connection ended.

    Attributes:
        reason: why we end it, for a person; empty if the client does.
    """

    reason = ""

    async def close(self, exit_code: int) -> None:
        """See `Transport`. The forwarder ends with the code."""
        self.write(GOODBYE + b"%d" % exit_code + self.reason.encode())
        await super().close(exit_code)


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
