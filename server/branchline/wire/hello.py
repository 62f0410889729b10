"""What is said on the daemon's socket before the first frame and after the last.

    caller   {"role": "client", "version": …, "cwd": …, "pid": …, "environment": {…}}\\n
    daemon   {"pid": …, "version": …}\\n          or {"refused": "a reason"}\\n
    …        frames, both ways
    daemon   NUL, the exit code as a digit, and a reason if there is one

Other roles are ``status`` (the daemon's line tells all it knows) and ``stop``; no frames follow. No
frame holds a NUL byte: JSON escapes it. So a forwarder passes bytes on without understanding them,
and yet knows a daemon that ended the connection from one that died.

Imports the standard library only, and little of it: the forwarder starts with every editor.
"""

import json
import os
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from branchline import __version__
from branchline.folders import agent_dir
from branchline.wire.daemon_socket import DaemonPlace, dial

ROLES = ("client", "status", "stop")
MAX_HELLO_BYTES = 1 << 20
GOODBYE = b"\0"

_ANSWER_SECONDS = 10.0
"""How long a daemon may take for its line; it takes milliseconds."""
_TRAVEL_BY_NAME = ("HOME", "XDG_CONFIG_HOME")
_TRAVEL_BY_PREFIX = ("PI_", "BRANCHLINE_")
_KEY_SUFFIX = "_API_KEY"


class NoDaemon(Exception):
    """The daemon does not serve us. The message, for a person, says why."""


class UnknownCaller(Exception):
    """A first line that we do not serve. The message repeats nothing of it: it may hold keys."""


class Hello:
    """Who calls.

    Attributes:
        role: one of `ROLES`.
        cwd: the absolute path of its current folder.
        pid: its process.
        environment: those of its variables that settings and keys are read from.
    """

    def __init__(self, role: str, cwd: str, pid: int, environment: Mapping[str, str]) -> None:
        self.role = role
        self.cwd = cwd
        self.pid = pid
        self.environment = environment


def travels(variable: str) -> bool:
    """Whether a variable goes to the daemon with each connection: settings may depend on it."""
    return (
        variable in _TRAVEL_BY_NAME
        or variable.startswith(_TRAVEL_BY_PREFIX)
        or variable.endswith(_KEY_SUFFIX)
    )


def without_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables for a daemon's own process, which gets keys from its clients only.

    The agent dir is made absolute: a daemon lives in another folder.
    """
    kept = {name: value for name, value in environment.items() if not name.endswith(_KEY_SUFFIX)}
    return {**kept, "PI_CODING_AGENT_DIR": str(agent_dir(environment))}


def hello_line(role: str, environment: Mapping[str, str]) -> bytes:
    """Our first line."""
    carried: dict[str, str] = {}
    if role == "client":
        carried = {name: value for name, value in environment.items() if travels(name)}
        carried["PI_CODING_AGENT_DIR"] = str(agent_dir(environment))
    try:
        cwd = os.getcwd()
    except FileNotFoundError:  # it was removed
        cwd = "/"
    hello = {
        "role": role,
        "version": __version__,
        "cwd": cwd,
        "pid": os.getpid(),
        "environment": carried,
    }
    return json.dumps(hello).encode() + b"\n"


def read_hello(line: bytes) -> Hello:
    """The caller behind its first line. Raises `UnknownCaller`."""
    match _object(line):
        case {"version": str(version)} if version != __version__:
            raise UnknownCaller(f"this daemon is version {__version__}")
        case {
            "version": str(),
            "role": str(role),
            "cwd": str(cwd),
            "pid": int(pid),
            "environment": dict(environment),
        } if role in ROLES and all(isinstance(value, str) for value in environment.values()):
            return Hello(role, cwd, pid, environment)
    raise UnknownCaller("the first line is no greeting")


def call(
    place: DaemonPlace, role: str, environment: Mapping[str, str]
) -> tuple[socket.socket, dict[str, Any]] | None:
    """Greet the daemon; give the connection and the daemon's line. None: there is none, or it goes.

    Raises `NoDaemon` if it refuses or does not answer.
    """
    try:
        connection = dial(place)
        if connection is None:
            return None
        with ExitStack() as closing:
            closing.callback(connection.close)
            answer = _exchange(connection, hello_line(role, environment))
            if answer is None:
                return None
            if "refused" in answer:
                raise NoDaemon(f"The daemon refused: {answer['refused']}")
            closing.pop_all()
            return connection, answer
    except (BrokenPipeError, ConnectionResetError):
        return None
    except TimeoutError:
        raise NoDaemon(f"The daemon at {place.socket} does not answer") from None
    except OSError as error:
        raise NoDaemon(f"{place.socket} cannot be reached: {error.strerror}") from error


def _exchange(connection: socket.socket, hello: bytes) -> dict[str, Any] | None:
    """Send our line; give the daemon's, or None if it hangs up. Nothing follows before a frame."""
    connection.settimeout(_ANSWER_SECONDS)
    connection.sendall(hello)
    line = b""
    while b"\n" not in line:
        data = connection.recv(65536)
        if not data:
            return None
        line += data
    connection.settimeout(None)
    return _object(line.partition(b"\n")[0])


def _object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line; empty if it is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
