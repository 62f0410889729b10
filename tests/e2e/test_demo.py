import os
import subprocess
import sys
from pathlib import Path


def test_the_demo_shows_each_step_and_touches_nothing_of_the_user(tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    places = {"HOME": str(home), "TMPDIR": str(temporary), "PYTHONIOENCODING": "utf-8"}
    walk = subprocess.run(
        [sys.executable, "-m", "branchline.demo"],
        env=os.environ | places,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=80,  # four times what it promises
    )
    assert (walk.returncode, walk.stderr) == (0, "")
    for number in range(1, 11):
        assert f"\n{number}. " in walk.stdout
    assert walk.stdout.count("◀ here") == 2
    assert walk.stdout.count("| ## Goal") == 2
    assert " tokens before, " in walk.stdout
    assert "\x1b" not in walk.stdout
    (session,) = temporary.glob("branchline-demo-*/sessions/*.jsonl")
    assert f"tree {session}\n" in walk.stdout
    assert list(home.iterdir()) == []


def test_the_demo_ends_quietly_when_its_reader_has_seen_enough(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "branchline.demo"],
        env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as walk:
        assert walk.stdout is not None
        walk.stdout.readline()
        walk.stdout.close()
        assert walk.stderr is not None
        assert walk.stderr.read() == b""
        assert walk.wait(80) == 1


def test_the_demo_fails_aloud_if_there_is_no_daemon(tmp_path: Path) -> None:
    program = (
        "import sys; from branchline.demo import __main__ as demo; "
        "sys.executable = '/bin/false'; sys.exit(demo.main())"
    )
    walk = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=80,
    )
    assert walk.returncode == 1
    assert "The demo failed: The daemon " in walk.stderr
