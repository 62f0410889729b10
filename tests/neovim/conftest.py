"""What the tests of the Neovim plugin share: each editor that is installed, and a daemon for it."""

import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import isolated
from tests.e2e.shared import SharedDaemon, place_for_daemon
from tests.neovim.editor import INSTALLED, ROOT, Editor, Terminal, editors, missing, variables

sys.path.append(str(INSTALLED / "site"))  # msgpack is no part of the project's environment

DEMO = ROOT / "server" / "branchline" / "demo" / "session.jsonl"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that wants an editor in every one that is installed."""
    if "binary" in metafunc.fixturenames:
        found = editors()
        if found:
            metafunc.parametrize(
                "binary", found, ids=[path.name for path in found], scope="session"
            )
        else:
            skipped = pytest.param(Path(), marks=pytest.mark.skip(reason=missing() or "no Neovim"))
            metafunc.parametrize("binary", [skipped], ids=["nvim"], scope="session")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[SharedDaemon]:
    """A place for a daemon, which the first editor starts."""
    (tmp_path / "agent").mkdir(mode=0o700)
    with place_for_daemon(isolated(tmp_path)) as place:
        yield place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder that the editor works in."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def sessions(tmp_path: Path, daemon: SharedDaemon) -> Path:
    """The folder of the session files."""
    folder = tmp_path / "agent" / "sessions" / "project"
    folder.mkdir(mode=0o700, parents=True)
    return folder


@pytest.fixture
def demo(sessions: Path, project: Path) -> Path:
    """The sample session, as a conversation of the project."""
    path = sessions / "demo.jsonl"
    path.write_bytes(DEMO.read_bytes().replace(b"/home/dev/importer", str(project).encode(), 1))
    path.chmod(0o600)
    return path


@pytest.fixture
def environment(daemon: SharedDaemon, tmp_path: Path) -> dict[str, str]:
    """The variables of an editor."""
    return variables(daemon.environment, tmp_path)


@pytest.fixture
def plan(environment: dict[str, str], tmp_path: Path) -> Path:
    """What the go-between changes; the daemon of the editor's PATH is behind one."""
    told = tmp_path / "plan.json"
    command = Path(environment["PATH"].split(":")[0]) / "branchline"
    root = shlex.quote(str(ROOT))
    arguments = f"{shlex.quote(sys.executable)} -m tests.neovim.go_between {shlex.quote(str(told))}"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={root}:$PYTHONPATH exec {arguments} "$@"\n')
    return told


StartEditor = Callable[..., Editor]


@pytest.fixture
def start(binary: Path, environment: dict[str, str], project: Path) -> Iterator[StartEditor]:
    """Starts embedded editors; all of them are gone at the end."""
    with ExitStack() as running:

        def start_editor(**options: Any) -> Editor:
            folder = options.pop("folder", project)
            return running.enter_context(Editor(binary, environment, folder, **options))

        yield start_editor


@pytest.fixture
def editor(start: StartEditor) -> Editor:
    """One embedded editor."""
    return start()


@pytest.fixture
def terminal(
    binary: Path, environment: dict[str, str], project: Path, daemon: SharedDaemon
) -> Iterator[Terminal]:
    """Neovim in a terminal."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed: Neovim in a terminal")
    with Terminal(
        binary, environment, project, Path(daemon.environment["XDG_RUNTIME_DIR"])
    ) as shown:
        yield shown
