"""What is said on the daemon's socket before the first frame."""

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchline import __version__
from branchline.wire import hello as module
from branchline.wire.daemon_socket import DaemonPlace, DaemonSocket
from branchline.wire.hello import (
    NoDaemon,
    UnknownCaller,
    call,
    hello_line,
    read_hello,
    travels,
    without_keys,
)
from tests.unit.short_folder import short_folder

SETTINGS = {
    "HOME": "/home/me",
    "XDG_CONFIG_HOME": "/config",
    "PI_CODING_AGENT_DIR": "/agent",
    "PI_ANYTHING": "1",
    "BRANCHLINE_ANYTHING": "1",
    "OPENAI_API_KEY": "sk-1",
}
OTHERS = {"PATH": "/bin", "GITHUB_TOKEN": "t", "API_KEY_FILE": "/f", "HTTPS_PROXY": "http://p"}


def test_only_variables_that_settings_and_keys_are_read_from_travel() -> None:
    assert all(map(travels, SETTINGS))
    assert not any(map(travels, OTHERS))
    caller = read_hello(hello_line("client", {**SETTINGS, **OTHERS}))
    assert caller.environment == SETTINGS


def test_who_only_asks_brings_no_variables() -> None:
    for role in ("status", "stop"):
        assert read_hello(hello_line(role, SETTINGS)).environment == {}


def test_a_caller_says_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    caller = read_hello(hello_line("client", {"PI_CODING_AGENT_DIR": "agent", "NAME": "\udcff"}))
    assert (caller.role, caller.cwd, caller.pid) == ("client", str(tmp_path), os.getpid())
    assert caller.environment == {"PI_CODING_AGENT_DIR": str(tmp_path / "agent")}


def test_a_folder_that_was_removed_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert read_hello(hello_line("client", {"HOME": "/home/me"})).cwd == "/"


@given(
    st.dictionaries(
        st.builds("PI_{}".format, st.text(min_size=1)),
        st.text() | st.binary().map(os.fsdecode),
    )
)
def test_variables_arrive_as_they_are(variables: dict[str, str]) -> None:
    given_dir = {"PI_CODING_AGENT_DIR": "/agent"}
    line = hello_line("client", {**variables, **given_dir})
    assert line.count(b"\n") == 1
    assert read_hello(line).environment == {**variables, **given_dir}


WHOLE = {"role": "client", "version": __version__, "cwd": "/", "pid": 1, "environment": {}}
WRONG = st.none() | st.floats() | st.lists(st.none()) | st.just({"A_API_KEY": 7})


@given(st.binary() | st.sampled_from(sorted(WHOLE)).flatmap(
    lambda key: WRONG.map(lambda value: json.dumps({**WHOLE, key: value}).encode())
))  # fmt: skip
def test_anything_else_is_refused_without_repeating_it(line: bytes) -> None:
    with pytest.raises(UnknownCaller) as error:
        read_hello(line)
    assert str(error.value) == "the first line is no greeting"


def test_the_daemons_own_process_gets_no_keys() -> None:
    given_dir = {**SETTINGS, **OTHERS, "PI_CODING_AGENT_DIR": "agent"}
    kept = without_keys(given_dir)
    assert kept.pop("PI_CODING_AGENT_DIR") == str(Path.cwd() / "agent")
    assert set(given_dir) - set(kept) == {"OPENAI_API_KEY", "PI_CODING_AGENT_DIR"}


# --- calling -------------------------------------------------------------------------------------

Answering = Callable[[socket.socket], object]


def called(folder: Path, answer: Answering) -> object:
    """What `call` makes of a daemon that does ``answer`` with its caller."""
    place = DaemonPlace(folder, "s")
    own = DaemonSocket(place)

    def serve() -> None:
        connection, _ = own.listening.accept()
        with connection:
            answer(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        found = call(place, "status", {})
        if found is not None:
            found[0].close()
        return found and found[1]
    finally:
        thread.join()
        own.close()


def after_hello(*pieces: bytes) -> Answering:
    def answer(connection: socket.socket) -> None:
        connection.recv(1000)
        for piece in pieces:
            connection.sendall(piece)

    return answer


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as made:
        yield made


def test_the_daemons_line_may_come_in_pieces_and_with_more(folder: Path) -> None:
    assert called(folder, after_hello(b'{"pid"', b": 1}\n\x001")) == {"pid": 1}


def test_a_daemon_that_leaves_is_as_none(folder: Path) -> None:
    assert call(DaemonPlace(folder, "s"), "client", {}) is None
    assert called(folder, lambda connection: None) is None
    assert called(folder, after_hello(b'{"pid"')) is None


def test_a_refusal_is_told(folder: Path) -> None:
    with pytest.raises(NoDaemon, match="refused: not you"):
        called(folder, after_hello(b'{"refused": "not you"}\n'))


def test_a_daemon_that_hangs_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ANSWER_SECONDS", 0.1)
    place = DaemonPlace(folder, "s")
    own = DaemonSocket(place)
    try:
        with pytest.raises(NoDaemon, match="does not answer"):
            call(place, "client", {})
    finally:
        own.close()
