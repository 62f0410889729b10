"""What can be seen of a session: its file, its index, and what is derived from them.

Read-only. `Session` is the one that changes it.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from branchline.absent import ABSENT, Absent
from branchline.entries import CURRENT_VERSION, Entry
from branchline.errors import LeafChanged, NotFound
from branchline.log.format import Header, SessionWarning
from branchline.log.info import SessionInfo, describe
from branchline.log.session_file import SessionFile
from branchline.service.client import Client
from branchline.service.meter import Meter
from branchline.tree.context import build_context
from branchline.tree.context_states import State, context_states
from branchline.tree.drawing import Drawing
from branchline.tree.index import NONE, Columns, Problem, Tree

_STATES_KEPT: Final = 4
"""Context states are kept for this many clients' settings."""
_ENTRY_MEMORY: Final = 400
"""Bytes of memory for each entry, measured after a scan and a drawing; less by a saved index."""


class SessionView:
    """A session as it is now.

    Attributes:
        path: where the file is or will be; resolved.
        header: the session's header.
        file: the file; None until the first append makes it.
        tree: the index.
        drawing: the rows of the tree.
        revision: goes up by one with each write of ours and each batch of another program.
    """

    def __init__(self, path: Path, header: Header, file: SessionFile | None) -> None:
        self.path = path
        self.header = header
        self.revision = 0
        self._look_at(file)

    def _look_at(self, file: SessionFile | None) -> None:
        """Begin anew from a file that was just scanned, or from nothing."""
        self.file = file
        self.tree = file.tree if file else Tree(Columns())
        self.drawing = Drawing(self.tree, self)
        self._meter = Meter(self.tree, self)
        self._states: dict[tuple[int, int, int], Mapping[int, State]] = {}

    @property
    def memory_bytes(self) -> int:
        """About how much memory the index and its drawing take."""
        return _ENTRY_MEMORY * len(self.tree)

    def entry(self, ordinal: int) -> Entry:
        """The decoded entry (this makes a session the `Bodies` of its tree)."""
        if self.file is None:
            raise NotFound.entry(self.tree.ids[ordinal])
        return self.file.entry(ordinal)

    def raw(self, ordinal: int) -> bytes:
        """The record as it stands in the file (versions 1 and 2: as upgraded), without its LF."""
        if self.file is None:
            raise NotFound.entry(self.tree.ids[ordinal])
        return self.file.raw(ordinal)

    def ordinal(self, entry_id: str) -> int:
        """The entry with this id. Raises `NotFound`."""
        ordinal = self.tree.find(entry_id)
        if ordinal is None:
            raise NotFound.entry(entry_id)
        return ordinal

    def place(self, entry_id: str | None) -> int:
        """Like `ordinal`; null is the place before the first entry."""
        return NONE if entry_id is None else self.ordinal(entry_id)

    @property
    def leaf_id(self) -> str | None:
        """The id of the leaf; None before the first entry."""
        return self.tree.id_of(self.tree.leaf)

    def expect_leaf(self, expected: str | Absent | None) -> None:
        """Raise `LeafChanged` if the leaf is not where somebody expects it."""
        if not isinstance(expected, Absent) and expected != self.leaf_id:
            raise LeafChanged(expected, self.leaf_id)

    @property
    def read_only_because(self) -> str | None:
        """Why the session may not be written, or None."""
        if self.header.version > CURRENT_VERSION:
            return f"its version {self.header.version} is newer than {CURRENT_VERSION}"
        return None

    def info(self) -> SessionInfo:
        """What a list says of this session."""
        if self.file is not None:
            return describe(self.file, self.tree, read_only=self.read_only_because is not None)
        return {
            "id": self.header.id,
            "path": str(self.path),
            "cwd": self.header.cwd,
            "name": self.tree.name,
            "version": self.header.version,
            "createdAt": self.header.timestamp,
            "modifiedAt": self.header.timestamp,
            "entryCount": 0,
            "messageCount": 0,
            "branchCount": 0,
            "firstMessage": None,
            "parentSession": self.header.parent_session,
            "sizeBytes": 0,
            "readOnly": False,
            "readable": True,
        }

    def usage(self, client: Client, leaf: int | Absent = ABSENT) -> dict[str, Any]:
        """The context's size at a leaf (else at the present one), by a client's settings."""
        place = self.tree.leaf if isinstance(leaf, Absent) else leaf
        settings = client.settings
        tokens = self._meter.tokens(place, settings.branch_summary.pinned_tokens)
        model = self._meter.model(place)
        window = settings.context_window(model)
        reserve = settings.reserve_tokens(model)
        return {
            "tokens": tokens,
            "contextWindow": window,
            "reserveTokens": reserve,
            "due": tokens > window - reserve,
        }

    def model(self, leaf: int) -> dict[str, Any] | None:
        """The last model on the path to a leaf, ``{provider, modelId}``."""
        return self._meter.model(leaf)

    def context_states(self, client: Client) -> Mapping[int, State]:
        """What the model is sent of each entry on the path to the leaf, by ordinal."""
        pinned = client.settings.branch_summary.pinned_tokens
        key = (self.tree.version, self.tree.leaf, pinned)
        if key not in self._states:
            if len(self._states) >= _STATES_KEPT:
                self._states.clear()
            self._states[key] = context_states(self.tree, self.tree.leaf, pinned, self)
        return self._states[key]

    def warnings(self, *, at_leaf: bool = True) -> list[SessionWarning]:
        """What is wrong with the file and its links; ``at_leaf``: and with the present context.

        The context of a large file is left out until the file was verified.
        """
        if self.file is None:
            return []
        problems = list(self.tree.problems)
        if any(one.code == "orphan" for one in problems):  # an append asks, too
            root = next(iter(self.tree.path(self.tree.leaf)), NONE)
            problems = [
                self._with_reach(one) if (one.code, one.ordinal) == ("orphan", root) else one
                for one in problems
            ]
        if at_leaf and self.file.verified:
            problems += build_context(self.tree, self, self.tree.leaf, 0).problems
        found = [*self.file.warnings, *self.located(problems)]
        if self.file.readable_by_others:
            message = "Other users of this machine can read the file"
            found.append(SessionWarning("readable-by-others", message))
        if self.header.cwd is None or not os.path.isdir(self.header.cwd):
            message = f"The session's folder {self.header.cwd} does not exist here"
            found.append(SessionWarning("cwd-missing", message))
        return found

    def _with_reach(self, problem: Problem) -> Problem:
        """The problem of an orphan above the leaf; it also says what the leaf has lost sight of."""
        older = sum(1 for one in self.tree.entries() if one < problem.ordinal)
        if not older:
            return problem
        verb = "entry is" if older == 1 else "entries are"
        message = f"{problem.message}; {older} older {verb} out of reach from the leaf"
        return replace(problem, message=message)

    def located(self, problems: Iterable[Problem]) -> list[SessionWarning]:
        """Problems of entries as warnings with their places, each once."""
        if self.file is None:
            return []
        places = self.file.places
        found: dict[tuple[str, int], SessionWarning] = {}
        for problem in problems:
            ordinal = problem.ordinal
            found.setdefault(
                (problem.code, ordinal),
                SessionWarning(
                    problem.code,
                    problem.message,
                    None,
                    places.offsets[ordinal],
                    places.lengths[ordinal],
                    self.tree.ids[ordinal],
                ),
            )
        return list(found.values())
