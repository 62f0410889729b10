"""What the end-to-end tests share: the real daemon on stdio, in a world of its own.

It owns the processes it starts: each is ended, by its id, with the test that asked for it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from branchline.demo.client import Client
from tests.e2e.shared import SharedDaemon, place_for_daemon
from tests.e2e.talk import SAMPLE, Talk, write_session

if TYPE_CHECKING:
    from tests.e2e.compactions import Servers
    from tests.e2e.prompts import Desk

TESTS = Path(__file__).resolve().parents[1]
CASES = TESTS / "cases"
COMMAND = [sys.executable, "-m", "branchline"]
SERVE = [*COMMAND, "serve", "--stdio"]
SECONDS = 60.0
"""How long a test may talk to one daemon before it counts as stuck."""


def isolated(folder: Path) -> dict[str, str]:
    """The variables of a daemon whose agent dir is ``folder/agent`` and whose home is below it.

    Of ours it gets only what a program needs to run.
    """
    home = folder / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "PI_CODING_AGENT_DIR": str(folder / "agent"),
        "PYTHONPATH": str(TESTS.parent / "server"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_RUNTIME_DIR": str(home),
        "XDG_STATE_HOME": str(home / "state"),
    }


class StartDaemon(Protocol):
    """Starts a daemon and introduces a client to it.

    ``settings`` go out as ``initializationOptions``, ``folder`` is the workspace (default: the
    agent dir), ``environment`` adds to `environment`, ``arguments`` to the command line.
    """

    def __call__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        arguments: tuple[str, ...] = (),
        seconds: float = SECONDS,
    ) -> Client: ...


@pytest.fixture
def agent_dir(tmp_path: Path) -> Path:
    """An empty agent dir; the daemon of the test reads nothing of the user's."""
    folder = tmp_path / "agent"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def environment(agent_dir: Path, tmp_path: Path) -> dict[str, str]:
    """The variables of a daemon: those it needs from ours, and folders of its own."""
    return isolated(tmp_path)


@pytest.fixture
def daemon(agent_dir: Path, environment: dict[str, str]) -> Iterator[StartDaemon]:
    """Start daemons, as many as a test needs."""
    with ExitStack() as running:

        def start(
            settings: Mapping[str, Any] | None = None,
            *,
            folder: Path | None = None,
            environment: Mapping[str, str] | None = None,
            arguments: tuple[str, ...] = (),
            seconds: float = SECONDS,
        ) -> Client:
            client = Client(
                [*SERVE, *arguments],
                environment={**variables, **(environment or {})},
                seconds=seconds,
            )
            running.enter_context(client)
            client.initialize(folder or agent_dir, settings or {})
            return client

        variables = environment
        yield start


class Run(Protocol):
    """Runs ``branchline`` in the project's folder; ``wanted`` is the exit code it must have.

    ``variables`` add to `environment`.
    """

    def __call__(
        self,
        *arguments: str,
        wanted: int = 0,
        stdin: str = "",
        variables: Mapping[str, str] | None = None,
    ) -> "subprocess.CompletedProcess[str]": ...


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder that the command line runs in."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def run(environment: dict[str, str], project: Path) -> Run:
    """Run commands as a person or a script does."""

    def run_command(
        *arguments: str,
        wanted: int = 0,
        stdin: str = "",
        variables: Mapping[str, str] | None = None,
    ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [*COMMAND, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env={**environment, "PYTHONIOENCODING": "utf-8", **(variables or {})},
            cwd=project,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == wanted, done.stderr
        return done

    return run_command


@pytest.fixture
def shared(environment: dict[str, str]) -> Iterator[SharedDaemon]:
    """A place for a daemon that several clients share."""
    with place_for_daemon(environment) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def shared_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One daemon for all tests of a file, for those that share nothing else with each other.

    Name files by their paths: its agent dir is not `agent_dir`.
    """
    folder = tmp_path_factory.mktemp("shared")
    with Client(SERVE, environment=isolated(folder), seconds=10 * SECONDS) as client:
        client.initialize(folder, {})
        yield client


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Desk]":
    """One daemon for the tests of a file that ask a model, each in a session of its own."""
    from tests.e2e.prompts import desk_in  # which stands on this module

    with desk_in(tmp_path_factory.mktemp("desk")) as made:
        yield made


@pytest.fixture
def servers() -> "Iterator[Servers]":
    """A model server for prompts and one for summaries."""
    from tests.e2e.compactions import two_servers  # likewise

    with two_servers() as running:
        yield running


@pytest.fixture
def copy_session(agent_dir: Path) -> Callable[..., Path]:
    """Copy a file of ``cases`` (or any other path) to where the daemon finds it; give its path.

    It is named ``name`` if given, and private as the files that we make are.
    """

    def copy(source: str | Path, name: str | None = None) -> Path:
        path = CASES / f"{source}.jsonl" if isinstance(source, str) else source
        folder = agent_dir / "sessions" / "--w-demo--"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = folder / (name or path.name)
        shutil.copyfile(path, target)
        target.chmod(0o600)
        return target

    return copy


@pytest.fixture
def talk(daemon: StartDaemon, agent_dir: Path) -> Talk:
    """The sample session, open in a daemon."""
    return Talk(daemon(), write_session(agent_dir / "sessions" / "--w--", *SAMPLE))
