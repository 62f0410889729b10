"""The shared daemon's log."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import branchline

PROGRAM = """
import logging, os, sys
from pathlib import Path
from branchline.cli import log_file
log_file._BYTES = 1000
log = log_file.open_log(Path(sys.argv[1]), "info")
if "stdio" in sys.argv:
    log.take_stdio()
for number in range(int(sys.argv[2])):
    logging.info("line %03d \\udcff", number)
logging.debug("not said")
print("printed", flush=True)
os.write(2, b"written to stderr\\n")
os.system("echo from a child")
assert sys.stdin.read() == ""
"""


def run(path: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(branchline.__file__).parents[1])},
        input="" if "stdio" not in arguments else "not to be read",
        capture_output=True,
        text=True,
        check=True,
    )


def test_it_is_the_users_alone_and_says_when(tmp_path: Path) -> None:
    path = tmp_path / "state" / "branchline" / "daemon.log"
    done = run(path, "2")
    assert done.stdout == "printed\nfrom a child\n"
    assert done.stderr == "written to stderr\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    first, second = path.read_text().splitlines()
    assert first[:2] == "20"
    assert first.endswith("INFO root: line 000 \\udcff")
    assert second.endswith("line 001 \\udcff")


def test_it_goes_on_with_the_log_of_before(tmp_path: Path) -> None:
    for _ in range(2):
        run(tmp_path / "log", "1")
    assert (tmp_path / "log").read_text().count("line 000") == 2


def test_its_size_is_limited(tmp_path: Path) -> None:
    run(tmp_path / "log", "200")
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["log", "log.1", "log.2"]
    for file in files:
        assert file.stat().st_size <= 1000
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "line 199" in files[0].read_text()


def test_what_is_printed_goes_into_the_present_file(tmp_path: Path) -> None:
    done = run(tmp_path / "log", "200", "stdio")
    assert (done.stdout, done.stderr) == ("", "")
    end = (tmp_path / "log").read_text()
    assert end.endswith("printed\nwritten to stderr\nfrom a child\n")


def test_a_log_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run(tmp_path / "file" / "log", "1")
    assert "no log in" in done.stderr
    assert done.stdout == "printed\nfrom a child\n"
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
