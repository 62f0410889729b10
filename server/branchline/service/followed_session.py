"""A session kept in step with its file: one's turn, what others wrote, and who is told.

Changes happen one after the other, in the order they were asked for; what reads the index takes
its turn too, so it never sees half a change. Everything that others wrote comes in through
`_ingest`, which ends, as every write of ours does, in one ``session/changed`` to every subscriber.

The index grows on the event loop only. Disk work runs in worker threads. Nothing is written here.
"""

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
from anyio import to_thread

from branchline.errors import BranchlineError, FileChanged, StorageFailure
from branchline.log.format import Header
from branchline.log.saved_index import Reading
from branchline.log.scan import VERIFIED_BYTES
from branchline.log.session_file import SessionFile
from branchline.log.session_reader import Batch
from branchline.service.client import Client
from branchline.service.foreign import ExternalBranch, branch_beside_leaf, goes_on_from_leaf
from branchline.service.news import Origin, change_of
from branchline.service.session_view import SessionView
from branchline.tree.index import NONE

_PAUSE_SECONDS: Final = 0.005

Result = TypeVar("Result")
Lost = Callable[["FollowedSession", str], None]


class FollowedSession(SessionView):
    """An open session as others may change it. `Session` is the one that writes, too.

    Attributes (beside those of the view):
        subscribers: the clients that are told of changes.
        gone: whether the session was let go and must not be used any more.
        end_work: ends the summary of it that is being written, if one is.
        unsaved: what a verification read, until an index of it is saved.
    """

    def __init__(
        self, path: Path, header: Header, file: SessionFile | None, locks: Path, lost: Lost
    ) -> None:
        """An open session of a scanned file, or of none yet.

        ``lost`` is told when the file turns out to be gone or another, and in which way.
        """
        super().__init__(path, header, file)
        self.subscribers: set[Client] = set()
        self.gone = False
        self.end_work: Callable[[], object] | None = None
        self.unsaved: Reading | None = None
        self._locks = locks
        self._lost = lost
        self._queue = anyio.Lock()
        self._verifying = anyio.Lock()
        self._told = self.warnings(at_leaf=False)

    def close(self) -> None:
        """Let the file go, at the end of the turn if somebody has one.

        The session must not be used afterwards. A summary under way has lost what it was for.
        """
        self.gone = True
        self.unsaved = None
        if self.end_work is not None:
            self.end_work()
        if not self._queue.locked():
            self._close_if_gone()

    def _close_if_gone(self) -> None:
        if self.gone and self.file is not None:
            self.file.close()
            self._look_at(None)  # whatever still knows of the session does not keep its index

    @property
    def busy(self) -> bool:
        """Whether a change, a reading or a summary is under way."""
        return self.end_work is not None or self._queue.locked()

    def is_current(self) -> bool:
        """Whether the path leads to what was opened: the file, or nothing that holds anything."""
        if self.file is not None:
            return self.file.is_still_there()
        try:
            return os.stat(self.path).st_size == 0
        except OSError:
            return True  # an append will say what is wrong with it

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """One's turn in the queue. Raises `FileChanged` if the session was let go meanwhile."""
        async with self._queue:
            try:
                if self.gone:
                    raise FileChanged(self.path, "closed")
                if self.file is None and not self.is_current():
                    raise FileChanged(self.path, "written by another program")
                yield
            except FileChanged as error:
                self._lost(self, error.what)
                raise
            finally:
                self._close_if_gone()  # let go meanwhile: whoever has the last turn closes it

    async def read(self, look: Callable[[], Result]) -> Result:
        """What ``look`` gives of the session as it is now; it runs in a worker thread.

        What others appended is taken in first, and no change happens meanwhile. Raises
        `FileChanged` if it is not the same file any more, `StorageFailure`.
        """
        async with self._turn():
            if self.file is not None and self.file.has_changed():
                with anyio.CancelScope(shield=True):
                    await self._ingest(await to_thread.run_sync(self.file.read_tail))
            return await to_thread.run_sync(look)

    async def take_in(self) -> None:
        """Take in what others appended, if they did. Raises what `read` raises."""
        file = self.file

        def has_changed() -> bool:
            return not self.is_current() if file is None else file.has_changed()

        if await to_thread.run_sync(has_changed):
            await self.read(lambda: None)

    # --- what others wrote -------------------------------------------------------------------

    async def _ingest(self, batch: Batch | None) -> None:
        """Take a batch of foreign entries into the index and tell everybody.

        If they go on from our leaf, the leaf follows; a branch that they made is only reported.
        """
        if batch is None:
            return
        tree, columns = self.tree, batch.columns
        if not tree.grows_by(columns):
            try:
                await self._scan_again()
            except BranchlineError as error:
                # The file counts entries that the index lacks: they are of no use together.
                what = "changed by another program, and cannot be read anew,"
                raise FileChanged(self.path, what) from error
            return
        previous_leaf_id = self.leaf_id
        added = [tree.append_found(columns, at) for at in range(len(columns))]
        for ordinal in added:
            if goes_on_from_leaf(tree, ordinal):
                tree.leaf = ordinal
        external = branch_beside_leaf(tree, added) if added else None
        self._tell(previous_leaf_id, added, "external", new=bool(added), external=external)

    async def _scan_again(self, *, verify_up_to: int = VERIFIED_BYTES) -> None:
        """Read the whole file anew, where the index cannot simply grow. The leaf stays."""
        opened = partial(SessionFile, self.path, self._locks, verify_up_to=verify_up_to)
        previous_leaf_id = self.leaf_id
        self._swap(await to_thread.run_sync(opened))
        self._tell(previous_leaf_id, [], "external", new=True)

    def _swap(self, file: SessionFile) -> None:
        """Go on with a file that was just scanned in place of the present one."""
        leaf_id, old = self.leaf_id, self.file
        self.header = file.header
        self._look_at(file)
        if old is not None:
            old.close()
        kept = NONE if leaf_id is None else self.tree.find(leaf_id)
        if kept is not None:
            self.tree.leaf = kept

    async def verify(self, *, pause_seconds: float = _PAUSE_SECONDS) -> None:
        """Parse every line of a large file, and take over what that shows.

        ``pause_seconds``: rest after each megabyte, so that requests go first.
        """
        async with self._verifying:
            while self.file is not None and not self.file.verified:
                reading = await self._read_again(self.file, pause_seconds)
                if reading is not None:
                    await self._take_over(self.file, reading)
                    self.unsaved = reading

    async def read_again(self) -> None:
        """Read all of the file once more, for an index of it."""
        if self.file is not None:
            self.unsaved = await self._read_again(self.file, _PAUSE_SECONDS)

    async def _read_again(self, file: SessionFile, pause_seconds: float) -> Reading | None:
        """The file read from its beginning; None if it was read anew by somebody else meanwhile."""

        def pause() -> None:
            if self.gone:
                raise FileChanged(self.path, "closed")
            time.sleep(pause_seconds)

        try:
            return await to_thread.run_sync(file.verify, pause, abandon_on_cancel=True)
        except StorageFailure:
            if self.file is not file and not self.gone:
                return None
            raise

    async def _take_over(self, file: SessionFile, reading: Reading) -> None:
        async with self._turn():
            if self.file is not file:
                return
            scanner = reading.scanner
            columns = scanner.columns
            count = len(columns)
            same = (
                columns.ids == self.tree.ids[:count]
                and columns.kinds == self.tree.kinds[:count]
                and not scanner.warnings
            )
            if same:
                self.tree.flags[:count] = columns.flags
                self.tree.tokens[:count] = columns.tokens
                self.tree.version += 1
                file.verified = True
                return
            await self._scan_again(verify_up_to=file.size)

    # --- telling -----------------------------------------------------------------------------

    def tell_all(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell everybody who has the session open the same."""
        for client in list(self.subscribers):
            client.notify(method, params)

    def _tell(
        self,
        previous_leaf_id: str | None,
        added: list[int],
        origin: Origin,
        *,
        new: bool,
        external: ExternalBranch | None = None,
    ) -> None:
        """Send one ``session/changed`` to every subscriber.

        ``new``: this is a new revision; otherwise only warnings may have come or gone.
        """
        previous_revision = self.revision
        self.revision += new
        warnings = self.warnings(at_leaf=False)
        news: dict[str, Any] = {}
        if warnings != self._told:
            news["warnings"] = [one.as_json() for one in warnings]
        self._told = warnings
        if not self.subscribers or not (new or news):
            return
        news |= change_of(self, previous_leaf_id, added, origin, external)
        news["previousRevision"] = previous_revision
        for client in list(self.subscribers):
            client.notify("session/changed", {**news, "usage": self.usage(client)})
