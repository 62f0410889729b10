"""How a command ended: by its status and its verdict, whatever a noisy log says."""

import pytest

from branchline.summaries.offline.commands import (
    count_of,
    error_of,
    has_failed,
    only_found_nothing,
    runs_in,
)

NOISE = "\n".join(
    [
        "Compiling error-chain v0.12",
        "[ERROR app] error: injected fault handled",
        "connection FAILED, will retry",
        "error: this one is expected by the test",
        "Traceback (most recent call last):",
        "test gives_up_after_3_failures ... ok",
        "2 errors so far",
        *(f"line {number}" for number in range(20)),
        "",
    ]
)


def failed(command: str, output: str, said_so: bool = False) -> bool:
    return has_failed(list(runs_in(command)), output, said_so)


PASSED = [
    ("cargo test", NOISE + "test result: ok. 48 passed; 0 failed; 0 ignored"),
    ("pytest -q", NOISE + "48 passed, 2 warnings in 1.2s"),
    ("npm test", NOISE + "Tests:       12 passed, 12 total"),
    ("npm run build", NOISE + "✓ 1312 modules transformed, 0 errors\n✓ built in 9.41s"),
    ("npm run build", NOISE + "Done."),
    ("make", NOISE),
    ("make -j4 2>&1 | tail -40", NOISE + "\n".join(f"ok {number}" for number in range(30))),
    ("bundle exec rspec", NOISE + "15 examples, 0 failures"),
    ("mvn -q verify", NOISE + "Tests run: 40, Failures: 0, Errors: 0, Skipped: 1"),
    ("python train.py", "epoch 1: 3 errors\n2 failed"),
    ("pytest -q", "9 passed\n\nExit code: 0"),
]
FAILED = [
    ("pytest -q", "1 failed, 2 passed"),
    ("pytest -q | tail -3", "FAILED tests/a.py::b - KeyError\n1 failed, 2 passed in 0.1s"),
    ("npm test", NOISE + "Tests:       1 failed, 11 passed, 12 total"),
    ("npx playwright test", "  1 failed\n    [chromium] › a.spec.ts:3:1\n  2 passed (33.0s)"),
    ("npx eslint src; echo done", "✖ 1 problem (1 error, 0 warnings)\ndone"),
    ("tsc --noEmit || true", "src/a.ts(3,1): error TS2322: Type 'x'\nsrc/b.ts: fine"),
    ("mypy app | head -5", "app/m.py:4: error: None\nFound 1 error in 1 file"),
    ("cargo test 2>&1 | tail -5", "test result: FAILED. 48 passed; 1 failed; 0 ignored"),
    ("go test ./... 2>&1 | head", "FAIL\tshop/order [build failed]"),
    ("python -m unittest", "Ran 3 tests in 0.1s\n\nFAILED (failures=1)"),
    ("bundle exec rspec", "15 examples, 2 failures"),
    ("./deploy.sh", "boom\n\nCommand exited with code 2"),
    ("./deploy.sh", "Exit code: 1\nWall time: 0.3 seconds\nOutput:\nboom"),
    ("./deploy.sh", "Command: ./deploy.sh\nStdout: boom\nExit Code: 3"),
    ("./deploy.sh", '{"output":"boom","metadata":{"exit_code":1,"duration_seconds":0.1}}'),
    ("./deploy.sh", "Process exited with code 127\nOutput:"),
]


@pytest.mark.parametrize(("command", "output"), PASSED)
def test_a_noisy_log_is_no_failure(command: str, output: str) -> None:
    assert not failed(command, output)
    assert failed(command, output, said_so=True)


@pytest.mark.parametrize(("command", "output"), FAILED)
def test_a_verdict_or_a_status_is(command: str, output: str) -> None:
    assert failed(command, output)


def test_the_count_of_the_failed_ones_is_named_with_the_error() -> None:
    output = "Error: Timed out 30000ms\n\n  1 failed\n  2 passed (33.0s)"
    assert count_of(output) == "`1 failed`"
    assert error_of(output) == "`Error: Timed out 30000ms` (`1 failed`)"


def test_a_log_level_is_no_name_of_an_error() -> None:
    assert error_of("KeyError: 'a'\n[ERROR] giving up") == "`KeyError: 'a'`"


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("cd app && bundle exec rspec spec/a.rb", ["cd", "rspec"]),
        ("FOO=1 timeout 60 python3.8 -m pytest tests -q;", ["pytest"]),
        ("npm run lint 2>&1 | tail -3", ["npm run lint", "tail"]),
        ("sudo git reset --hard HEAD", ["git reset --hard"]),
        ("echo 'a; b && c' > x", ["echo"]),
    ],
)
def test_a_command_line_is_taken_apart(command: str, programs: list[str]) -> None:
    assert [run.program for run in runs_in(command)] == programs


def test_a_search_that_finds_nothing_is_no_failure() -> None:
    runs = list(runs_in("grep -rn foo src | head"))
    assert only_found_nothing(runs, "Command exited with code 1")
    assert not only_found_nothing(runs, "grep: src: No such file")
