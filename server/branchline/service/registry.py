"""The open sessions of a daemon: found by path or id, opened once, let go when nobody looks.

A session is one file, whichever name leads to it: the resolved path is the key.
"""

import errno
import logging
import os
import stat
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote, urlsplit

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from branchline.catalogue.database import Database
from branchline.catalogue.listing import Listing
from branchline.entries import CURRENT_VERSION, Entry, single_spaced
from branchline.errors import (
    BranchlineError,
    FileChanged,
    InvalidParams,
    InvalidSession,
    NotFound,
    ReadOnly,
    StorageFailure,
)
from branchline.folders import cache_dir, indexes_dir, locks_dir
from branchline.log.format import Header, new_id, now
from branchline.log.info import SessionInfo
from branchline.log.locations import (
    id_in_name,
    lies_in,
    new_session_path,
    same_folder,
    session_files,
)
from branchline.log.saved_index import SavedIndexes
from branchline.log.session_file import SessionFile
from branchline.service.background import in_background
from branchline.service.client import Client
from branchline.service.followed_session import FollowedSession
from branchline.service.session import Session
from branchline.settings import SessionsRoot

_IDLE_KEPT: Final = 16
"""Sessions that nobody subscribes to are kept open up to this many, for the next request."""
_IDLE_BYTES: Final = 64 * 1024 * 1024
"""And up to this much memory."""
_QUIET_SECONDS: Final = 2.0
_logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class Registry:
    """All open sessions. One for a daemon, shared by its clients."""

    def __init__(self, environment: Mapping[str, str], tasks: TaskGroup) -> None:
        self._locks = locks_dir(environment)
        self._indexes = SavedIndexes(indexes_dir(environment))
        self._tasks = tasks
        self._open: dict[Path, Session] = {}
        self.listing = Listing(Database(cache_dir(environment)))
        self._looking_closely = anyio.Lock()

    async def find(self, client: Client, session: str) -> Session:
        """The session that a client names, opened if need be.

        Raises `NotFound`, `InvalidSession`, `StorageFailure`; `InvalidParams` for an id that
        several files have, or a relative path.
        """
        found = await self.look_up(client, session)
        return await self._opened(client, found, session) if isinstance(found, Path) else found

    async def look_up(self, client: Client, session: str) -> Session | Path:
        """The session that a client names, if it is open; else the resolved path of its file.

        Nothing is said of whether there is such a file. Raises `InvalidParams`, and `NotFound` for
        an id that no file has.
        """
        path = _path_named(session)
        if path is None:
            path = await self._path_of_id(client, session)
        known = self._open.get(path)
        if known is None:
            path = Path(await to_thread.run_sync(os.path.realpath, path))
            known = self._open.get(path)
        if known is None:
            return path
        self._open[path] = self._open.pop(path)  # now the one used last
        return known

    async def subscribe(
        self,
        client: Client,
        session: str,
        look: Callable[[Session], Result],
        *,
        read_only: bool = False,
        joined: Callable[[Session], object] = lambda _: None,
    ) -> Result:
        """What ``look`` gives of a session; of what changes after that the client is told.

        ``joined`` is called in the same step as the client is subscribed; nobody is who gets an
        error. Raises what `find` and `FollowedSession.read` raise.
        """
        found = await self.find(client, session)
        if not self.keeps(found):
            found = await self.find(client, session)
        seen = await found.read(partial(look, found))
        if found.gone:
            raise FileChanged(found.path, "closed")
        # The turn ended just now: no change can have come between.
        found.subscribers.add(client)
        joined(found)
        if read_only:
            client.read_only.add(found.path)
        else:
            client.read_only.discard(found.path)
        return seen

    def keeps(self, session: Session) -> bool:
        """Whether a session still is what its path leads to; else it is dropped."""
        if session.is_current():
            return True
        self.forget(session, "replaced or deleted")
        return False

    async def unsubscribe(self, client: Client, session: str) -> None:
        """End a subscription; the session is let go when it was the last."""
        found = await self.find(client, session)
        found.subscribers.discard(client)
        client.read_only.discard(found.path)
        self._let_go_idle()

    def leave(self, client: Client) -> None:
        """End all subscriptions of a client that is gone."""
        for session in self._open.values():
            session.subscribers.discard(client)
        for path in client.created:
            made = self._open.get(path)
            if made is not None and made.file is None and not (made.subscribers or made.busy):
                self.forget(made)  # nothing was ever said in it
        self._let_go_idle()

    @property
    def sessions(self) -> list[Session]:
        """The sessions that are open now."""
        return list(self._open.values())

    def close(self) -> None:
        """Let every session go."""
        for session in self._open.values():
            session.close()
        self._open.clear()

    async def create(
        self,
        client: Client,
        cwd: Path,
        *,
        session_id: str | None = None,
        name: str | None = None,
        parent_session: str | None = None,
    ) -> Session:
        """A new session. Its file appears with the first append.

        Raises `InvalidParams` for an id that a session of this client has already.
        """
        timestamp = now()
        header = Header(
            session_id or str(uuid.uuid4()), CURRENT_VERSION, timestamp, str(cwd), parent_session
        )
        named = new_session_path(client.root_for(cwd), cwd, header.id, timestamp)
        path = Path(await to_thread.run_sync(os.path.realpath, named))
        taken = any(one.header.id == header.id for one in self._open.values())
        if session_id is not None and not taken:
            roots = client.roots()
            taken = bool(await to_thread.run_sync(self._files_with_id, roots, session_id))
        if taken:
            raise InvalidParams("id", f"is taken: there is a session {header.id} already")
        prelude: list[Entry] = []
        if name is not None and name.strip():
            prelude.append(
                {
                    "type": "session_info",
                    "id": new_id(lambda _: None),
                    "parentId": None,
                    "timestamp": timestamp,
                    "name": single_spaced(name),
                }
            )
        session = Session(path, header, None, self._locks, self.forget, prelude)
        if prelude:
            session.tree.name = prelude[0]["name"]
        self._open[path] = session
        client.created.add(path)
        return session

    def forget(self, session: FollowedSession, reason: str | None = None) -> None:
        """Drop a session; with a reason, tell its subscribers that its file is not the same.

        They are told once, whoever finds out again.
        """
        if self._open.get(session.path) is session:
            del self._open[session.path]
        if session.gone:
            return
        session.close()
        if reason is not None:
            self._indexes.discard(session.path)  # it may be what was wrong
            reset = {"session": session.header.id, "path": str(session.path), "reason": reason}
            session.tell_all("session/reset", reset)

    async def trash(self, client: Client, named: str) -> str | None:
        """Move a session's file to the system trash; give its path, or None if it had none yet.

        Raises `ReadOnly`, `StorageFailure`, and what `find` raises: only a session can be deleted.
        """
        session = await self.find(client, named)
        path = session.path
        if path in client.read_only:
            raise ReadOnly(path, "it was opened so")
        has_file = session.file is not None
        if has_file:
            await session.read(lambda: _to_trash(path))
        self.forget(session, "deleted")
        return str(path) if has_file else None

    def followed(self) -> list[Session]:
        """The sessions that somebody has open."""
        return [session for session in self._open.values() if session.subscribers]

    async def info(self, path: str) -> SessionInfo | None:
        """The info of one file; None if it is no session, or gone."""
        session = self._open.get(Path(path))
        if session is not None and session.file is not None and session.is_current():
            return session.info()
        return await to_thread.run_sync(self.listing.info, path)

    async def infos(self, client: Client) -> list[SessionInfo]:
        """The infos of all sessions in the client's session folders."""
        roots = client.roots()
        unsaved = [session for session in self._open.values() if session.file is None]

        def read() -> tuple[list[SessionInfo], list[Session]]:
            folders = [same_folder(str(root.path)) for root in roots]
            own = [one for one in unsaved if lies_in(same_folder(str(one.path.parent)), folders)]
            return self.listing.infos_in(roots), own

        infos, own = await to_thread.run_sync(read)
        listed = {info["path"] for info in infos}
        for session in own:
            if session.file is None and not session.gone and str(session.path) not in listed:
                infos.append(session.info())
        return infos

    # --- inside ------------------------------------------------------------------------------

    async def _opened(self, client: Client, path: Path, named: str) -> Session:
        session = await to_thread.run_sync(self._load, client, path, named)
        other = self._open.get(path)
        if other is not None:  # somebody opened it while we read
            session.close()
            return other
        self._open[path] = session
        self._let_go_idle()
        if session.file is not None and (not session.file.verified or self._wants_index(session)):
            self._tasks.start_soon(in_background, self._look_closely, path)
        return session

    def _load(self, client: Client, path: Path, named: str) -> Session:
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound.session(named) from None
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
                raise NotFound.session(named) from None
            failure = error if isinstance(error, OSError) else OSError(22, "not a path")
            raise StorageFailure(path, "read", failure) from error
        if not stat.S_ISREG(status.st_mode):
            raise InvalidSession(path, "it is no regular file")
        if status.st_size == 0:
            header = Header(id_in_name(path), CURRENT_VERSION, now(), str(client.home), None)
            return Session(path, header, None, self._locks, self.forget)
        file = SessionFile(path, self._locks, indexes=self._indexes)
        return Session(path, file.header, file, self._locks, self.forget)

    async def _look_closely(self, path: Path) -> None:
        """Parse all of a large file once its first requests are answered, and save its index.

        One file after the other: their requests go first, and what is read takes memory.
        """
        await anyio.sleep(_QUIET_SECONDS)
        async with self._looking_closely:
            session = self._open.get(path)  # it may have been let go while we waited
            if session is None:
                return
            try:
                await session.verify()
                if session.unsaved is None and self._wants_index(session):
                    await session.read_again()
            except FileChanged as error:
                self.forget(session, error.what)
            except BranchlineError as error:
                _logger.warning("Verification of %s ended: %s", session.header.id, error.kind)
            reading, session.unsaved = session.unsaved, None
            if reading is not None:
                await to_thread.run_sync(self._indexes.save, reading)

    def _wants_index(self, session: Session) -> bool:
        file = session.file
        return file is not None and self._indexes.wanted(file.header, file.size, file.indexed)

    async def _path_of_id(self, client: Client, session_id: str) -> Path:
        for session in self._open.values():
            if session.header.id == session_id and session.file is None:
                return session.path
        roots = client.roots()
        found = await to_thread.run_sync(self._files_with_id, roots, session_id)
        for path, session in self._open.items():
            if session.header.id == session_id:
                found.add(path)
        if not found:
            raise NotFound.session(session_id)
        if len(found) > 1:
            paths = sorted(map(str, found))
            problem = f"is the id of several files; name one by its path: {', '.join(paths)}"
            raise InvalidParams("session", problem, paths=paths)
        return found.pop()

    def _files_with_id(self, roots: list[SessionsRoot], session_id: str) -> set[Path]:
        return {
            Path(os.path.realpath(path))
            for root in roots
            for path in session_files(root)
            if self.listing.session_id(path) == session_id
        }

    def _let_go_idle(self) -> None:
        idle = [
            session
            for session in self._open.values()
            if not session.subscribers and session.file is not None and not session.busy
        ]
        memory = 0
        for place, session in enumerate(reversed(idle)):
            memory += session.memory_bytes
            # The one used last stays, whatever it takes: somebody has just asked for it.
            if place > 0 and (place >= _IDLE_KEPT or memory > _IDLE_BYTES):
                self.forget(session)


def _to_trash(path: Path) -> None:
    from send2trash import send2trash

    try:
        send2trash(path)
    except OSError as error:
        raise StorageFailure(path, "move to the trash", error) from error


def _path_named(session: str) -> Path | None:
    """The path that a client means, or None if it gave an id."""
    if session.startswith("file:"):
        try:
            parts = urlsplit(session)
        except ValueError:  # such as a bracket that does not close
            raise InvalidParams("session", "must be a file: URI of this machine") from None
        if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
            raise InvalidParams("session", "must be a file: URI of this machine")
        session = unquote(parts.path, errors="surrogateescape")  # a name need not be UTF-8
    if "\x00" in session:
        raise InvalidParams("session", "must not hold a NUL character")
    if session.startswith("/"):
        return Path(session)
    if "/" in session or not session:
        raise InvalidParams("session", "must be an absolute path, a file: URI or a session id")
    return None
