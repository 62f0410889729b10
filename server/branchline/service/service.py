"""All that the clients of a daemon share."""

from collections.abc import Mapping
from dataclasses import dataclass

from anyio.abc import TaskGroup

from branchline.catalogue.database import Database
from branchline.catalogue.search import Searcher
from branchline.folders import cache_dir, indexes_dir
from branchline.service.auto_compaction import AutoCompaction
from branchline.service.client import Client
from branchline.service.indexing import Indexing
from branchline.service.jobs import Jobs
from branchline.service.registry import Registry
from branchline.service.summarising import Drafts
from branchline.service.watching import Watcher


@dataclass(frozen=True, slots=True)
class Service:
    """The open sessions, the work under way in them, and what is kept of it."""

    registry: Registry
    jobs: Jobs
    drafts: Drafts
    compactor: AutoCompaction
    watcher: Watcher
    indexing: Indexing
    searcher: Searcher

    @classmethod
    def begin(cls, environment: Mapping[str, str], tasks: TaskGroup) -> "Service":
        """One whose work in the background belongs to ``tasks``."""
        jobs, drafts = Jobs(), Drafts()
        compactor = AutoCompaction(jobs, drafts, tasks)
        registry = Registry(environment, tasks)
        catalogue = Database(cache_dir(environment))

        async def described(paths: list[str]) -> None:
            await watcher.described(paths)

        indexing = Indexing(cache_dir(environment), indexes_dir(environment), described)
        watcher = Watcher(registry, tasks, environment, indexing.notice)
        tasks.start_soon(indexing.run)
        searcher = Searcher(catalogue)
        return cls(registry, jobs, drafts, compactor, watcher, indexing, searcher)

    def leave(self, client: Client) -> None:
        """End what a client has here: it is gone."""
        self.registry.leave(client)
        self.watcher.leave(client)
        self.indexing.clients.discard(client)
