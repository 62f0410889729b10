"""``branchline status`` and ``branchline stop``: the shared daemon, seen from outside."""

import os
import sys
import time
from typing import Any, Final

import click

from branchline.cli.output import print_json, say, show
from branchline.cli.shared import as_json_option
from branchline.wire.daemon_socket import (
    POLL_SECONDS,
    DaemonPlace,
    UnsafePlace,
    daemon_place,
    make_folder,
    take_lock,
)
from branchline.wire.hello import NoDaemon, call

_STOP_SECONDS: Final = 15.0
_NONE_RUNS: Final = 3


@click.command()
@as_json_option
def status(as_json: bool) -> None:
    """Show the shared daemon: its clients, open sessions, memory and log."""
    place = daemon_place(os.environ)
    found = _call(place, "status")
    if as_json:
        print_json({"running": found is not None, "socket": str(place.socket), **(found or {})})
    elif found is None:
        show(f"No daemon runs (none listens at {place.socket})")
    else:
        show("\n".join(_table(found)))
    if found is None:
        sys.exit(_NONE_RUNS)


@click.command()
def stop() -> None:
    """End the shared daemon, in good order. Editors that are open start a new one."""
    place = daemon_place(os.environ)
    found = _call(place, "stop")
    if found is None:
        show("No daemon runs")
        return
    deadline = time.monotonic() + _STOP_SECONDS
    while _is_there(place, found["pid"]):
        if time.monotonic() > deadline:
            say(f"branchline: Process {found['pid']} has not ended in {_STOP_SECONDS:.0f} seconds")
            sys.exit(1)
        time.sleep(POLL_SECONDS)
    show(f"Stopped process {found['pid']}")


def _call(place: DaemonPlace, role: str) -> dict[str, Any] | None:
    """What the daemon says; None if there is none. Ends this program if it cannot be asked."""
    try:
        make_folder(place.folder)
        called = call(place, role, os.environ)
    except (NoDaemon, UnsafePlace) as error:
        say(f"branchline: {error}")
        sys.exit(1)
    if called is None:
        return None
    connection, answer = called
    connection.close()
    return answer


def _is_there(place: DaemonPlace, pid: int) -> bool:
    """Whether a daemon that was told to leave still owns its place."""
    owner_lock = take_lock(place.owner_lock)
    if owner_lock is not None:
        os.close(owner_lock)
        return False
    other = _call(place, "status")
    return other is None or other["pid"] == pid


def _table(found: dict[str, Any]) -> list[str]:
    clients, sessions = found["clients"], found["sessions"]
    return [
        f"process   {found['pid']}",
        f"version   {found['version']}",
        f"socket    {found['socket']}",
        f"log       {found['log']}",
        f"uptime    {_duration(found['uptimeSeconds'])}",
        f"memory    {found['memoryBytes'] / 1e6:.0f} MB",
        f"clients   {len(clients)}",
        *(f"  {one['pid']}  {one['name'] or 'unnamed'}  in {one['cwd']}" for one in clients),
        f"sessions  {len(sessions)}",
        *(f"  {one['path']}  {_watched(one['clients'])}" for one in sessions),
    ]


def _duration(seconds: int) -> str:
    for name, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {name}"
    return f"{seconds} s"


def _watched(clients: int) -> str:
    return "open in 1 client" if clients == 1 else f"open in {clients} clients"


COMMANDS: Final = (status, stop)
