"""One open session: the queue of its changes, and who is told of them.

Changes happen one after the other, in the order they were asked for; what reads the index takes
its turn too, so it never sees half a change. Every write goes through `change`, and everything
that others wrote comes in through `_ingest`; both end in one ``session/changed`` to every
subscriber.

The index grows on the event loop only. Disk work runs in worker threads.
"""

import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
from anyio import to_thread

from branchline.absent import ABSENT, Absent
from branchline.entries import STRUCTURAL, Entry, Kind, facts_of, flags_of, kind_of
from branchline.errors import FileChanged, LeafChanged, ReadOnly, StorageFailure
from branchline.log.format import Header, record_line
from branchline.log.locations import create_session_file
from branchline.log.rewrite import MENDED, rewrite
from branchline.log.scan import VERIFIED_BYTES
from branchline.log.session_file import Batch, Durability, SessionFile
from branchline.service.client import Client
from branchline.service.foreign import ExternalBranch, branch_beside_leaf, goes_on_from_leaf
from branchline.service.new_entries import Addition
from branchline.service.news import Origin, change_of
from branchline.service.session_view import SessionView
from branchline.tree.index import NONE, Columns, Tree
from branchline.tree.tokens import entry_tokens

_PAUSE_SECONDS: Final = 0.005

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Written:
    """What a change did: the records added (in file order), and where that leaves the session."""

    entries: list[Entry]
    leaf_id: str | None
    revision: int


class Session(SessionView):
    """An open session. Made by the registry.

    Attributes (beside those of the view):
        subscribers: the clients that are told of changes.
        gone: whether the session was let go and must not be used any more.
        at_work: whether a summary of it is being written.
    """

    def __init__(
        self,
        path: Path,
        header: Header,
        file: SessionFile | None,
        locks: Path,
        lost: Callable[["Session", str], None],
        prelude: Iterable[Entry] = (),
    ) -> None:
        """An open session of a scanned file, or of none yet.

        ``lost`` is told when the file turns out to be gone or another, and in which way.
        ``prelude``: entries that are to be written before the first that is appended.
        """
        super().__init__(path, header, file)
        self.subscribers: set[Client] = set()
        self.gone = False
        self.at_work = False
        self._locks = locks
        self._lost = lost
        self._queue = anyio.Lock()
        self._verifying = anyio.Lock()
        self._prelude = list(prelude)
        self._told = self.warnings(at_leaf=False)

    def close(self) -> None:
        """Let the file go, at the end of the turn if somebody has one.

        The session must not be used afterwards.
        """
        self.gone = True
        if not self.busy:
            self._close_if_gone()

    def _close_if_gone(self) -> None:
        if self.gone and self.file is not None:
            self.file.close()
            self.file = None

    @property
    def busy(self) -> bool:
        """Whether a change, a reading or a summary is under way."""
        return self.at_work or self._queue.locked()

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """One's turn in the queue. Raises `FileChanged` if the session was let go meanwhile."""
        async with self._queue:
            if self.gone:
                raise FileChanged(self.path, "closed")
            try:
                yield
            except FileChanged as error:
                self._lost(self, error.what)
                raise
            finally:
                self._close_if_gone()  # let go meanwhile, while a thread was reading

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

    # --- what others wrote -------------------------------------------------------------------

    async def _ingest(self, batch: Batch | None) -> None:
        """Take a batch of foreign entries into the index and tell everybody.

        If they go on from our leaf, the leaf follows; a branch that they made is only reported.
        """
        if batch is None:
            return
        tree, ids = self.tree, batch.columns.ids
        known = len(set(ids)) != len(ids) or any(tree.find(one) is not None for one in ids)
        # A placeholder stands behind its children, and an index that grows takes parents first.
        if known or Kind.PLACEHOLDER in batch.columns.kinds:
            await self._scan_again()
            return
        previous_leaf_id = self.leaf_id
        added = [tree.append_found(batch.columns, at) for at in range(len(ids))]
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
        """Parse every line of a large file and take over what that shows.

        ``pause_seconds``: rest after each megabyte, so that requests go first.
        """
        async with self._verifying:
            while self.file is not None and not self.file.verified:
                await self._verify(self.file, pause_seconds)

    async def _verify(self, file: SessionFile, pause_seconds: float) -> None:
        def pause() -> None:
            if self.gone:
                raise FileChanged(self.path, "closed")
            time.sleep(pause_seconds)

        try:
            scanner = await to_thread.run_sync(file.verify, pause, abandon_on_cancel=True)
        except StorageFailure:
            if self.file is not file and not self.gone:
                return  # it was read anew and closed meanwhile
            raise
        async with self._turn():
            if self.file is not file:
                return
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

    # --- writing -----------------------------------------------------------------------------

    def require_writable(self, client: Client) -> None:
        """Raise `ReadOnly` if this client may not write to this session."""
        if self.path in client.read_only:
            raise ReadOnly(self.path, "it was opened so")
        if self.read_only_because is not None:
            raise ReadOnly(self.path, self.read_only_because)

    async def change(
        self,
        client: Client,
        prepare: Callable[[Tree], Addition | None],
        *,
        expected_leaf_id: str | Absent | None = ABSENT,
    ) -> Written:
        """Make one write: the only way by which entries get into a file.

        ``prepare`` says what to add, seeing the index as it is when the write's turn has come; it
        runs in a worker thread, may read bodies, raises what the client is to be told, and gives
        None if there is nothing to do. A write that has begun is not cancelled.

        Raises `LeafChanged`, `ReadOnly`, `FileChanged`, `StorageFailure`, and what ``prepare``
        raises; then nothing was written.
        """
        self.require_writable(client)
        async with self._turn():
            with anyio.CancelScope(shield=True):
                written = await self._change(client, prepare, expected_leaf_id)
        return written

    async def _change(
        self,
        client: Client,
        prepare: Callable[[Tree], Addition | None],
        expected: str | Absent | None,
    ) -> Written:
        if self.file is None:
            return await self._create(client, prepare, expected)
        if self.file.needs_upgrade:
            await self._upgrade(prepare, expected)
        file = await self._locked_file()
        durability = client.settings.durability
        write = partial(self._write, file, prepare, expected, durability)
        addition, placed = await to_thread.run_sync(write)
        if addition is None:
            return Written([], self.leaf_id, self.revision)
        if not placed:
            await self._ingest(await to_thread.run_sync(file.read_tail))
        return self._finish(addition, indexed=not placed)

    async def _locked_file(self) -> SessionFile:
        """The file with its lock taken and all that others appended read; there must be a file."""
        while True:
            file = self.file
            assert file is not None
            batch = await to_thread.run_sync(file.begin_append)
            try:
                await self._ingest(batch)
                if self.file is file:
                    return file
            except BaseException:
                await to_thread.run_sync(file.abandon_append)
                raise
            # It was read anew just now and is closed: what took its place is to be locked.
            await to_thread.run_sync(file.abandon_append)

    def _write(
        self,
        file: SessionFile,
        prepare: Callable[[Tree], Addition | None],
        expected: str | Absent | None,
        durability: Durability,
    ) -> tuple[Addition | None, bool]:
        """In a worker thread: what to add, and the write. The lock is held, and given back."""
        try:
            self.expect_leaf(expected)
            addition = prepare(self.tree)
            lines = [record_line(entry) for entry in addition.entries] if addition else []
        except BaseException:
            file.abandon_append()
            raise
        if not lines:
            file.abandon_append()
            return None, True
        return addition, file.finish_append(lines, durability)

    async def _create(
        self,
        client: Client,
        prepare: Callable[[Tree], Addition | None],
        expected: str | Absent | None,
    ) -> Written:
        """Make the file of a new session with its first entries."""
        self.expect_leaf(expected)
        before = Tree(Columns())
        for entry in self._prelude:
            kind = kind_of(entry)
            before.append(entry["id"], NONE, kind, flags_of(entry, kind), 0, facts_of(entry, kind))
            before.leaf = len(before) - 1
        addition = prepare(before)
        if addition is None or not addition.entries:
            return Written([], self.leaf_id, self.revision)
        records = [*self._prelude, *addition.entries]
        content = self.header.line() + b"".join(map(record_line, records))
        await to_thread.run_sync(create_session_file, self.path, content)
        file = await to_thread.run_sync(SessionFile, self.path, self._locks)
        self._look_at(file)
        self.tree.leaf = NONE  # where it was for everybody until now
        self.path = file.path
        self._prelude = []
        return self._finish(addition, indexed=True)

    async def _upgrade(
        self, prepare: Callable[[Tree], Addition | None], expected: str | Absent | None
    ) -> None:
        """Rewrite an old version before it grows; not if nothing would be written after all."""
        self.expect_leaf(expected)
        if await to_thread.run_sync(prepare, self.tree) is not None:
            await self._replace_file()

    async def repair(self, client: Client) -> Path | None:
        """Replace a damaged file by a clean one; give where the old one is kept.

        Gives None, and touches nothing, if nothing is wrong that this could mend. Raises
        `ReadOnly`.
        """
        self.require_writable(client)
        await self.verify(pause_seconds=0)
        async with self._turn():
            with anyio.CancelScope(shield=True):
                if self.file is None:
                    raise ReadOnly(self.path, "it has no file yet")
                await self._ingest(await to_thread.run_sync(self.file.read_tail))
                found = {one.code for one in self.warnings(at_leaf=False)}
                backup = await self._replace_file() if found & MENDED else None
        return backup

    async def _replace_file(self) -> Path:
        old = await self._locked_file()
        previous_leaf_id = self.leaf_id
        try:
            backup = await to_thread.run_sync(rewrite, old, self.tree)
        finally:
            await to_thread.run_sync(old.abandon_append)
        self._swap(await to_thread.run_sync(SessionFile, self.path, self._locks))
        self._tell(previous_leaf_id, [], "client", new=True)
        return backup

    def expect_leaf(self, expected: str | Absent | None) -> None:
        """Raise `LeafChanged` if the leaf is not where somebody expects it."""
        if not isinstance(expected, Absent) and expected != self.leaf_id:
            raise LeafChanged(expected, self.leaf_id)

    def _finish(self, addition: Addition, *, indexed: bool) -> Written:
        """Take what was written into the index, move the leaf, and tell everybody.

        ``indexed``: the index has it already.
        """
        tree, previous_leaf_id = self.tree, self.leaf_id
        added: list[int] = []
        for entry in addition.entries:
            if indexed:
                added.append(self.ordinal(entry["id"]))
                continue
            kind = kind_of(entry)
            added.append(
                tree.append(
                    entry["id"],
                    NONE if entry["parentId"] is None else self.ordinal(entry["parentId"]),
                    kind,
                    flags_of(entry, kind),
                    entry_tokens(entry, kind),
                    facts_of(entry, kind) if kind in STRUCTURAL else None,
                )
            )
        tree.leaf = NONE if addition.leaf_id is None else self.ordinal(addition.leaf_id)
        self._tell(previous_leaf_id, added, "client", new=True)
        return Written(addition.entries, self.leaf_id, self.revision)

    # --- telling -----------------------------------------------------------------------------

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
