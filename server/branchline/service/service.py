"""All that the clients of a daemon share."""

from collections.abc import Mapping
from dataclasses import dataclass

from anyio.abc import TaskGroup

from branchline.service.auto_compaction import AutoCompaction
from branchline.service.jobs import Jobs
from branchline.service.registry import Registry
from branchline.service.summarising import Drafts


@dataclass(frozen=True, slots=True)
class Service:
    """The open sessions, the work under way in them, and what is kept of it."""

    registry: Registry
    jobs: Jobs
    drafts: Drafts
    compactor: AutoCompaction

    @classmethod
    def begin(cls, environment: Mapping[str, str], tasks: TaskGroup) -> "Service":
        """One whose work in the background belongs to ``tasks``."""
        jobs, drafts = Jobs(), Drafts()
        compactor = AutoCompaction(jobs, drafts, tasks)
        return cls(Registry(environment, tasks), jobs, drafts, compactor)
