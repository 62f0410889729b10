"""One open session, and how entries get into its file.

Every write goes through `Session.change`: one's turn, the lock, what others wrote meanwhile, one
write, the index, and one ``session/changed``. Two operations replace the file by another: an old
version is upgraded before it grows, and a damaged file is repaired when somebody asks for it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from branchline.absent import ABSENT, Absent
from branchline.entries import STRUCTURAL, Entry, facts_of, flags_of, kind_of
from branchline.errors import ReadOnly
from branchline.log.format import Header, record_line
from branchline.log.locations import create_session_file
from branchline.log.rewrite import MENDED, rewrite
from branchline.log.session_file import SessionFile
from branchline.log.session_reader import Batch
from branchline.service.client import Client
from branchline.service.followed_session import FollowedSession, Lost
from branchline.service.new_entries import Addition
from branchline.settings import Durability
from branchline.tree.index import NONE, Columns, Tree
from branchline.tree.tokens import entry_tokens

Outcome = tuple[Addition | None, bool]
"""What a write added, None for nothing; and whether the file knows its place (`finish_append`)."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a change did: the records added (in file order), and where that leaves the session."""

    entries: list[Entry]
    leaf_id: str | None
    revision: int


class Session(FollowedSession):
    """An open session. Made by the registry."""

    def __init__(
        self,
        path: Path,
        header: Header,
        file: SessionFile | None,
        locks: Path,
        lost: Lost,
        prelude: Iterable[Entry] = (),
    ) -> None:
        """See `FollowedSession`. ``prelude``: entries written before the first that is appended."""
        super().__init__(path, header, file, locks, lost)
        self._prelude = list(prelude)

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
        write = partial(self._write, prepare, expected, client.settings.durability)
        file = self.file
        batch, written = await to_thread.run_sync(self._write_if_up_to_date, file, write)
        if written is None:
            file = await self._caught_up(file, batch)
            written = await to_thread.run_sync(write, file)
        addition, placed = written
        if addition is None:
            return Written([], self.leaf_id, self.revision)
        if not placed:
            await self._ingest(await to_thread.run_sync(file.read_tail))
        return self._finish(addition, indexed=not placed)

    async def _locked_file(self) -> SessionFile:
        """The file with its lock taken and all that others appended read; there must be a file."""
        assert self.file is not None
        return await self._caught_up(self.file, await to_thread.run_sync(self.file.begin_append))

    async def _caught_up(self, file: SessionFile, batch: Batch | None) -> SessionFile:
        """The same, of a file that is locked, with the ``batch`` that was found then."""
        while True:
            try:
                await self._ingest(batch)
                if self.file is file:
                    return file
            except BaseException:
                await to_thread.run_sync(file.abandon_append)
                raise
            # It was read anew just now and is closed: what took its place is to be locked.
            await to_thread.run_sync(file.abandon_append)
            assert self.file is not None
            file = self.file
            batch = await to_thread.run_sync(file.begin_append)

    def _write_if_up_to_date(
        self, file: SessionFile, write: Callable[[SessionFile], Outcome]
    ) -> tuple[Batch | None, Outcome | None]:
        """In a worker thread: take the lock, and ``write`` if nobody else wrote.

        Else gives what others wrote, which only the event loop takes in; the lock stays taken.
        """
        batch = file.begin_append()
        return batch, write(file) if batch is None else None

    def _write(
        self,
        prepare: Callable[[Tree], Addition | None],
        expected: str | Absent | None,
        durability: Durability,
        file: SessionFile,
    ) -> Outcome:
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
        written = self._finish(Addition(records, addition.leaf_id), indexed=True)
        return replace(written, entries=addition.entries)

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
                backup = await self._replace_file() if self.is_repairable() else None
        return backup

    def is_repairable(self) -> bool:
        """Whether something is wrong that `repair` would mend."""
        return any(one.code in MENDED for one in self.warnings(at_leaf=False))

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
