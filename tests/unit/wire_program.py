"""A small server for the tests of the wire: handlers that echo, wait, fail and flood.

Run as a program it serves stdio. Arguments: ``pollute`` writes to stdout in every way there is.
"""

import asyncio
import logging
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.lowlevel
from lsprotocol import types

from branchline import errors
from branchline.wire.method_params import (
    AppendParams,
    EntriesParams,
    ListParams,
    RenameParams,
    SessionParams,
)
from branchline.wire.server import BranchlineServer, ClientError, Handler, serve_connection
from branchline.wire.transport import Transport, open_stdio


class Owner:
    """Remembers what a connection tells it. ``refusals`` are the errors to answer with first."""

    def __init__(self, *refusals: errors.BranchlineError) -> None:
        self.refusals = list(refusals)
        self.hangs = False
        self.options: object = None
        self.folders: list[str] = []
        self.capabilities: Mapping[str, Any] = {}
        self.settings: object = None
        self.closings = 0

    async def initialize(
        self,
        initialization_options: object,
        folders: list[str],
        capabilities: Mapping[str, Any],
        client_name: str | None,
    ) -> None:
        await asyncio.sleep(0)
        if self.hangs:
            await anyio.sleep_forever()
        if self.refusals:
            raise self.refusals.pop(0)
        self.options = initialization_options
        self.folders = folders
        self.capabilities = capabilities

    def folders_changed(self, folders: list[str]) -> None:
        self.folders = folders

    def configuration_changed(self, settings: object) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        self.settings = settings

    def closed(self) -> None:
        self.closings += 1


class Program:
    """A server with handlers of every temper under the names of real methods."""

    def __init__(self, transport: Transport, owner: Owner, *, watch_parent: bool = False) -> None:
        handlers: dict[str, Handler] = {
            "session/append": self.echo,
            "session/branches": self.give_odd_values,
            "session/check": self.wait,
            "session/close": self.refuse,
            "session/context": self.give_nonsense,
            "session/create": self.ask_client,
            "session/delete": self.begin_progress,
            "session/entries": self.wait_for_ids,
            "session/label": self.ask_in_background,
            "session/list": self.notify_first,
            "session/open": self.fail,
            "session/rename": self.write_slowly,
            "session/repair": self.block_thread,
            "session/stats": self.flood,
        }
        self.server = BranchlineServer(handlers, owner, transport, watch_parent=watch_parent)
        self.begun = 0
        self.asking: asyncio.Task[None] | None = None
        self.unanswered: list[str] = []
        self.ids_arrived = anyio.Event()

    async def echo(self, params: AppendParams) -> object:
        return {"entries": params.entries}

    async def wait(self, _params: SessionParams) -> object:
        self.begun += 1
        self.server.notify("session/changed", {"begun": self.begun})
        await anyio.sleep_forever()
        return None

    async def wait_for_ids(self, params: EntriesParams) -> object:
        """Requests without ids wait until one with ids comes."""
        if params.ids:
            self.ids_arrived.set()
        await self.ids_arrived.wait()
        return {"entries": params.ids}

    async def write_slowly(self, params: RenameParams) -> object:
        """A write that has begun: it is not cancelled."""
        self.server.notify("session/changed", {"name": params.name})
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.1)
        return {"leafId": None, "revision": 1}

    async def refuse(self, params: SessionParams) -> object:
        raise errors.NotFound.session(params.session)

    async def fail(self, _params: SessionParams) -> object:
        raise ValueError("sk-test-0123456789abcdef")

    async def give_nonsense(self, _params: SessionParams) -> object:
        return {"value": object()}

    async def give_odd_values(self, _params: SessionParams) -> object:
        return {"nan": float("nan"), "half": "a\ud800b", "big": 2**70, "text": "é😀"}

    async def notify_first(self, _params: ListParams) -> object:
        for revision in range(3):
            self.server.notify("session/changed", {"revision": revision})
        return {"sessions": []}

    async def ask_client(self, _params: object) -> object:
        item = await self.server.window_show_message_request_async(
            types.ShowMessageRequestParams(types.MessageType.Info, "Which?")
        )
        return {"title": None if item is None else item.title}

    async def ask_in_background(self, _params: object) -> object:
        """Ask, and go on asking whether or not the client is there."""
        self.asking = asyncio.create_task(self._ask_twice())
        return {"leafId": None, "revision": 1}

    async def _ask_twice(self) -> None:
        for _ in range(2):
            try:
                await self.server.ask("session/summarize", {})
            except ClientError as error:
                self.unanswered.append(str(error))

    async def begin_progress(self, params: SessionParams) -> object:
        progress = self.server.work_done_progress
        await progress.create_async(params.session)
        progress.begin(params.session, types.WorkDoneProgressBegin(title="Working"))
        await asyncio.wrap_future(progress.tokens[params.session])
        return None

    async def flood(self, _params: SessionParams) -> object:
        while True:
            self.server.notify("session/changed", {"text": "x" * 65536})
            await anyio.lowlevel.checkpoint()

    async def block_thread(self, _params: SessionParams) -> object:
        """Holds a thread that heeds nothing, for longer than any test waits."""
        self.server.notify("session/changed", {})
        await asyncio.to_thread(time.sleep, 60)
        return None


def pollute() -> None:
    """Write to stdout from Python, from below it, and from a child."""
    print("printed", flush=True)
    warnings.warn("warned", stacklevel=1)
    os.write(1, b"written to the descriptor\n")
    subprocess.run(["echo", "from a child"], check=True)
    read_by_child = subprocess.run(["cat"], check=True, capture_output=True).stdout
    print(f"a child read {len(read_by_child)} bytes", flush=True)


async def main() -> None:
    logging.basicConfig(level=logging.DEBUG)
    print("before the guard")  # still in Python's buffer when the guard is raised
    transport = open_stdio()
    if "pollute" in sys.argv:
        pollute()
    code = await serve_connection(Program(transport, Owner(), watch_parent=True).server)
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    asyncio.run(main())
