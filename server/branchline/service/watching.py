"""What others do to the files, noticed without anybody asking.

Sessions that somebody has open are looked at when the system hints at a change, and every few
seconds whatever it hints at. For clients that have asked for a list, the session folders are looked
at as well, and told of in ``session/listChanged``.
"""

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from branchline.catalogue.database import Status
from branchline.catalogue.indexing import statuses_in
from branchline.errors import BranchlineError, FileChanged
from branchline.log.hints import hints
from branchline.log.info import SessionInfo
from branchline.log.locations import beginnings
from branchline.service.background import in_background
from branchline.service.client import Client
from branchline.service.registry import Registry
from branchline.service.session import Session
from branchline.settings import SessionsRoot

_PAUSE_SECONDS: Final = 1.0
"""How long a change may go unnoticed where the system gives no hints."""
_LIST_PAUSE_SECONDS: Final = 5.0
"""The same for sessions that nobody has open."""
_LIST_REST_SECONDS: Final = 0.5
"""The least time between two looks at all folders: a session may grow many times a second."""
_logger = logging.getLogger(__name__)

_Statuses = dict[str, Status]


class Watcher:
    """Follows the files of a daemon's clients."""

    def __init__(
        self,
        registry: Registry,
        tasks: TaskGroup,
        environment: Mapping[str, str],
        on_changed: Callable[[list[str]], object],
    ) -> None:
        """Nothing is looked at before `run`. ``on_changed`` is told of files in session folders."""
        self._registry = registry
        self._tasks = tasks
        self._environment = environment
        self._looking: set[Session] = set()
        self._unreadable: WeakSet[Session] = WeakSet()
        self._lists = _Lists(registry, on_changed)
        self._folders: set[Path] = set()
        self._round = anyio.CancelScope()

    async def followed(self) -> None:
        """A client has opened a session: make sure that its folder is watched."""
        if await self._wanted_folders() != self._folders:
            self._round.cancel()

    async def tell_of_lists(self, client: Client) -> None:
        """From now on the client is told what changes in its session folders."""
        await self._lists.tell(client)
        await self.followed()

    def leave(self, client: Client) -> None:
        """The client is gone."""
        self._lists.clients.discard(client)

    async def described(self, paths: list[str]) -> None:
        """More is known of these files: tell who was told less."""
        await self._lists.described(paths)

    async def run(self) -> None:
        """Look, until cancelled."""
        while True:
            if not await in_background(self._watch):
                await anyio.sleep(_PAUSE_SECONDS)

    async def _watch(self) -> None:
        """Look until other folders are wanted."""
        self._folders = folders = await self._wanted_folders()
        with anyio.CancelScope() as self._round:
            async with aclosing(hints(folders, _PAUSE_SECONDS, self._environment)) as found:
                async for paths in found:
                    self._look(paths)
                    if await self._wanted_folders() != folders:
                        break

    async def _wanted_folders(self) -> set[Path]:
        named = {session.path.parent for session in self._registry.followed()}
        named |= {root.path for root in self._lists.roots()}
        return await to_thread.run_sync(_present, named)

    def _look(self, paths: set[Path]) -> None:
        """Look at what is hinted at; at everything if nothing is."""
        for session in self._registry.followed():
            if (not paths or session.path in paths) and session not in self._looking:
                self._looking.add(session)
                self._tasks.start_soon(in_background, self._take_in, session)
        if self._lists.is_time(hinted=bool(paths)):
            self._tasks.start_soon(in_background, self._lists.look)

    async def _take_in(self, session: Session) -> None:
        try:
            await session.take_in()
        except FileChanged as error:
            self._registry.forget(session, error.what)
        except BranchlineError as error:
            if session not in self._unreadable:
                _logger.warning("Session %s cannot be followed: %s", session.header.id, error.kind)
            self._unreadable.add(session)
        else:
            self._unreadable.discard(session)
        finally:
            self._looking.discard(session)


class _Lists:
    """The session folders as they were at the last look.

    Attributes:
        clients: those that are told of changes.
    """

    def __init__(self, registry: Registry, on_changed: Callable[[list[str]], object]) -> None:
        self.clients: set[Client] = set()
        self._on_changed = on_changed
        self._registry = registry
        self._known: dict[SessionsRoot, _Statuses] = {}
        self._looked = 0.0
        self._busy = False
        self._hinted = False

    async def tell(self, client: Client) -> None:
        """Tell a client, too, of what is another than it is now."""
        self.clients.add(client)
        for root in client.roots():
            if root not in self._known:
                self._known[root] = await to_thread.run_sync(statuses_in, [root])

    def roots(self) -> set[SessionsRoot]:
        """Where the sessions of all those clients are."""
        return {root for client in self.clients for root in client.roots()}

    def is_time(self, *, hinted: bool) -> bool:
        """Whether to look now."""
        self._hinted |= hinted
        rest = _LIST_REST_SECONDS if self._hinted else _LIST_PAUSE_SECONDS
        return bool(self.clients) and not self._busy and time.monotonic() - self._looked >= rest

    async def look(self) -> None:
        """Compare the folders with what they were, and tell."""
        self._busy, self._hinted = True, False
        try:
            await self._look()
        finally:
            self._busy, self._looked = False, time.monotonic()

    async def described(self, paths: list[str]) -> None:
        """Tell the clients what is known now of files, if it is more than they were told."""
        infos = await to_thread.run_sync(self._registry.listing.take_over, paths)
        for client in list(self.clients):
            folders = beginnings(client.roots())
            shown = [info for info in infos if info["path"].startswith(folders)]
            if shown:
                client.notify(
                    "session/listChanged", {"created": [], "changed": shown, "deleted": []}
                )

    async def _look(self) -> None:
        roots = self.roots()
        self._known = {root: known for root, known in self._known.items() if root in roots}
        news: dict[SessionsRoot, dict[str, list[Any]]] = {}
        for root in roots:
            states = await to_thread.run_sync(statuses_in, [root])
            before = self._known.get(root)
            self._known[root] = states
            if before is not None and before != states:
                changed = before.items() ^ states.items()
                self._on_changed(sorted({path for path, _ in changed}))
                news[root] = await self._news(before, states)
        for client in list(self.clients):
            told: dict[str, list[Any]] = {"created": [], "changed": [], "deleted": []}
            for root in client.roots():
                for kind, found in news.get(root, {}).items():
                    told[kind] += found
            if any(told.values()):
                client.notify("session/listChanged", told)

    async def _news(self, before: _Statuses, now: _Statuses) -> dict[str, list[Any]]:
        created = await self._infos(path for path in now if path not in before)
        changed = await self._infos(
            path for path, state in now.items() if before.get(path, state) != state
        )
        deleted = [path for path in before if path not in now]
        return {"created": created, "changed": changed, "deleted": deleted}

    async def _infos(self, paths: Iterable[str]) -> list[SessionInfo]:
        found = [await self._registry.info(path) for path in sorted(paths)]
        return [info for info in found if info is not None]


def _present(folders: Iterable[Path]) -> set[Path]:
    """The real paths of those that are there and can be entered."""
    return {Path(os.path.realpath(folder)) for folder in folders if os.path.isdir(folder)}
