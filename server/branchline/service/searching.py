"""``session/search``: what is new is indexed first if it is little, then the catalogue is asked."""

from dataclasses import dataclass
from errno import EIO
from functools import partial
from sqlite3 import Error
from threading import Event
from typing import Any, Final

from anyio import to_thread

from branchline.catalogue.database import CatalogueDamaged, Status
from branchline.catalogue.query import Query
from branchline.catalogue.search import HitPage, Searcher
from branchline.errors import StorageFailure
from branchline.log.info import SessionInfo
from branchline.log.locations import beginnings
from branchline.service.client import Client
from branchline.service.indexing import Indexing, State
from branchline.service.listing import InFolders
from branchline.service.service import Service

_WAIT_SECONDS: Final = 1.0
"""How long a search waits for the index of what was written just now."""
_LITTLE: Final = 4 * 1024 * 1024
"""Bytes of changed files up to which it waits at all."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What a client searches for, as its params have it."""

    query: str
    everywhere: bool
    cursor: str | None
    limit: int
    per_session: int | None
    wait: bool


async def search(service: Service, client: Client, request: SearchRequest) -> dict[str, Any]:
    """The result of ``session/search``. Raises `InvalidParams`, `StorageFailure`."""
    query = Query.read(request.query)
    roots = client.roots()
    service.indexing.clients.add(client)
    try:
        service.indexing.want_folders(roots)
        news = await to_thread.run_sync(service.searcher.news, roots)
        indexing = await _take_in(service.indexing, news, wait=request.wait)
        page = await _find(service.searcher, query, request, client)
    except CatalogueDamaged:
        service.indexing.forget_folders()  # it is gone, and empty when next asked
        return await search(service, client, request)
    except (Error, OSError) as error:
        failure = error if isinstance(error, OSError) else OSError(EIO, str(error))
        raise StorageFailure(service.searcher.path, "search", failure) from error
    hits = [hit.as_json() for hit in page.hits]
    return {"hits": hits, "nextCursor": page.next_cursor, "indexing": indexing}


async def _take_in(
    indexing: Indexing, news: dict[str, Status], *, wait: bool
) -> dict[str, int] | None:
    """Have what is new indexed; give how much of it is not yet, or None."""
    if not news:
        return None
    if wait or not indexing.state.busy:
        size = sum(status[2] for status in news.values())
        seconds = _WAIT_SECONDS if size <= _LITTLE else 0
        if await indexing.want_files(news, None if wait else seconds):
            return None
        if not indexing.state.busy:
            return State(0, len(news), 0, size).as_json()
    return indexing.state.as_json()


async def _find(
    searcher: Searcher, query: Query, request: SearchRequest, client: Client
) -> HitPage:
    """The page; whoever takes the request back, as one does who types on, waits no longer."""
    folders = beginnings(client.roots())
    here = None if request.everywhere else InFolders(client.folders)

    def is_wanted(info: SessionInfo) -> bool:
        return info["path"].startswith(folders) and (here is None or here(info))

    ended = Event()
    search = partial(
        searcher.search,
        query,
        is_wanted,
        request.cursor,
        request.limit,
        request.per_session,
        is_ended=ended.is_set,
    )
    try:
        return await to_thread.run_sync(search, abandon_on_cancel=True)
    finally:
        ended.set()
