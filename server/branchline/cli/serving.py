"""``branchline serve`` and ``branchline connect``: the daemon, for one client or for all."""

import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Final, NoReturn

import click

from branchline.cli.output import say
from branchline.folders import agent_dir, state_dir
from branchline.wire.daemon_socket import (
    POLL_SECONDS,
    DaemonPlace,
    DaemonSocket,
    UnsafePlace,
    daemon_place,
    dial,
    make_folder,
    take_lock,
)

_OWNER_SECONDS: Final = 10.0
"""How long a new daemon waits for one that is leaving."""
_FORMAT: Final = "%(levelname)s %(name)s: %(message)s"


@click.command()
@click.option("--stdio", is_flag=True, help="Serve one client on stdin and stdout.")
@click.option("--detach", is_flag=True, help="Go on in the background once clients can come.")
@click.option(
    "--idle-seconds",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    envvar="BRANCHLINE_IDLE_SECONDS",
    show_envvar=True,
    help="How long to stay without clients.",
)
@click.option(
    "--log-level",
    type=click.Choice(("debug", "info", "warning", "error")),
    help="What is logged: methods, ids, sizes and states, never what they say.  "
    "[default: info; with --stdio warning]",
)
def serve(stdio: bool, detach: bool, idle_seconds: float, log_level: str | None) -> None:
    """Serve the session protocol (JSON-RPC in LSP frames) to editors and agents.

    Without --stdio this is the shared daemon of this user, which `branchline connect` starts when
    it is needed. `branchline status` names its log.
    """
    if stdio:
        _serve_stdio(log_level or "warning")
    _serve_shared(detach, idle_seconds, log_level or "info")


@click.command()
@click.option("--no-daemon", is_flag=True, help="Serve this editor alone, without the daemon.")
def connect(no_daemon: bool) -> None:
    """Connect an editor on stdin and stdout to the shared daemon, and start that if need be."""
    if no_daemon:
        _serve_stdio("warning")
    from branchline.wire.forwarder import main

    main()


def _serve_stdio(log_level: str) -> NoReturn:
    import anyio

    async def serve_one() -> int:
        from branchline.wire.transport import open_stdio

        # Before anything else: now nothing but frames can reach stdout.
        transport = open_stdio()
        logging.basicConfig(level=log_level.upper(), stream=sys.stderr, format=_FORMAT)
        from branchline.app import serve_stdio

        return await serve_stdio(transport)

    _end(anyio.run(serve_one))


def _serve_shared(detach: bool, idle_seconds: float, log_level: str) -> NoReturn:
    """Be the shared daemon, unless there is one already."""
    ready = _detach() if detach else None
    os.umask(0o077)
    place = daemon_place(os.environ)
    try:
        make_folder(place.folder)
        if not _own(place):
            say(f"branchline: A daemon serves at {place.socket} already")
            if ready is not None:
                ready()
            _end(1)
        from branchline.app import serve_shared

        own_socket = DaemonSocket(place)
    except UnsafePlace as error:
        say(f"branchline: {error}")
        _end(1)

    import anyio

    from branchline.cli.log_file import open_log

    log = open_log(state_dir(os.environ) / f"daemon-{place.name}.log", log_level)
    os.environ["PI_CODING_AGENT_DIR"] = str(agent_dir(os.environ))  # it may be relative
    os.chdir("/")
    if ready is None:
        say(f"branchline: Serving at {place.socket}, log in {log.baseFilename}")
    else:
        log.take_stdio()
        ready()
    about = {"socket": str(place.socket), "log": log.baseFilename}
    anyio.run(serve_shared, own_socket, idle_seconds, about)
    _end(0)


def _own(place: DaemonPlace) -> bool:
    """Take the owner lock for as long as this process lives; False if another daemon listens.

    Raises `UnsafePlace`.
    """
    deadline = time.monotonic() + _OWNER_SECONDS
    while take_lock(place.owner_lock) is None:
        other = dial(place)
        if other is not None:
            other.close()
            return False
        if time.monotonic() > deadline:
            raise UnsafePlace(f"Another daemon owns {place.socket} and does not listen")
        time.sleep(POLL_SECONDS)
    return True


def _detach() -> Callable[[], None]:
    """Go on as a process that no terminal and no parent knows.

    The process that was started ends with 0 when the result is called, else with 1.
    """
    read_end, write_end = os.pipe()
    if os.fork():
        os.close(write_end)
        os._exit(0 if os.read(read_end, 1) else 1)
    os.close(read_end)
    os.setsid()

    def ready() -> None:
        os.write(write_end, b"1")
        os.close(write_end)

    return ready


def _end(code: int) -> NoReturn:
    sys.stderr.flush()
    os._exit(code)  # not sys.exit: a thread that hangs in a read must not keep us


COMMANDS: Final = (serve, connect)
