"""How long Neovim takes with a session of 10,000 entries and 200 forks; part of the bench.

Times are taken inside the editor, with the daemon running: until the first rows are on the screen,
until all are in the buffer, the longest turn that the editor waits for meanwhile, for a step of the
cursor with its redraw, and of that for what the plugin computes. ``python -m
tests.bench.neovim_speed`` prints them alone.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from tests.bench.figures import amount, digits, table
from tests.e2e.conftest import isolated
from tests.e2e.shared import SharedDaemon, place_for_daemon
from tests.e2e.talk import write_session
from tests.neovim.editor import INSTALLED, Editor, editors, missing, until, variables
from tests.unit.session_files import assistant, user

ENTRIES: Final = 10_000
FORKS: Final = 200
OPEN_MS: Final = 300.0
"""What opening may take once the daemon is warm."""
STEP_MS: Final = 16.0
"""What the plugin may compute for a step of the cursor."""
_BRANCH: Final = 4

_OPEN = """
_G.began = vim.uv.hrtime()
local tree = require('branchline.tree')
require('branchline').open(..., function(problem, session)
  assert(not problem)
  local shown = tree.show(session)
  _G.shown = shown
  local timer = assert(vim.uv.new_timer())
  local before
  _G.turn = 0
  timer:start(0, 1, vim.schedule_wrap(function()
    local now = vim.uv.hrtime()
    _G.turn = math.max(_G.turn, before and (now - before) / 1e6 or 0)
    before = now
    if not _G.first and #shown.items > 0 then
      vim.cmd.redraw()
      _G.first = (vim.uv.hrtime() - _G.began) / 1e6
    end
    if not _G.all and shown.complete then
      _G.all = (vim.uv.hrtime() - _G.began) / 1e6
      timer:close()
    end
  end))
end)"""

_STEPS = """
local tree = require('branchline.tree')
local own = 0
for _, name in ipairs({ 'foldexpr', 'foldtext', 'winbar' }) do
  local inner = tree[name]
  tree[name] = function()
    local began = vim.uv.hrtime()
    local answer = inner()
    own = own + vim.uv.hrtime() - began
    return answer
  end
end
local steps, owns = {}, {}
vim.cmd.normal({ args = { 'gg' }, bang = true })
for step = 1, 400 do
  own = 0
  local began = vim.uv.hrtime()
  vim.cmd.normal({ args = { step % 10 == 0 and vim.keycode('<C-d>') or 'j' }, bang = true })
  vim.cmd.redraw({ bang = true })
  steps[step], owns[step] = (vim.uv.hrtime() - began) / 1e6, own / 1e6
end
table.sort(steps)
table.sort(owns)
return {
  median = steps[200],
  longest = steps[400],
  own_median = owns[200],
  own_longest = owns[400],
}"""


class Speed(NamedTuple):
    """Milliseconds."""

    first: float
    all: float
    turn: float
    step: float
    step_longest: float
    own: float
    own_longest: float


def write_large_session(folder: Path, cwd: Path) -> Path:
    """A conversation of 10,000 entries; at 200 of them a short branch was left."""
    records: list[Any] = []
    above: str | None = None
    every = ENTRIES // FORKS
    for number in range(ENTRIES - FORKS * _BRANCH):
        name = f"e{number}"
        text = f"turn {number} says word{number}"
        made = user(name, above, text)
        if number % 2:
            made = assistant(name, above, [{"type": "text", "text": text}])
        records.append(made)
        if number % (every - _BRANCH) == 0 and number:
            at = name
            for step in range(_BRANCH):
                branch = f"b{number}-{step}"
                records.append(user(branch, at, f"aside {number} step {step}"))
                at = branch
        above = name
    records.append(user("last", above, "the end"))
    return write_session(folder, *records, name="large.jsonl", id="large", cwd=str(cwd))


def measure(editor: Editor, path: Path) -> Speed:
    """Open a session in an editor whose daemon is warm, and step through it."""
    editor.lua(_OPEN, str(path))
    until(lambda: editor.lua("return _G.all ~= nil"), "all rows")
    first, whole, turn = editor.lua("return { _G.first, _G.all, _G.turn }")
    found = editor.lua(_STEPS)
    return Speed(
        first,
        whole,
        turn,
        found["median"],
        found["longest"],
        found["own_median"],
        found["own_longest"],
    )


def warm(daemon: SharedDaemon, path: Path) -> None:
    """Have the daemon run, with the session read once."""
    client = daemon.connect()
    client.request("session/open", {"session": str(path)})
    client.request("session/tree", {"session": str(path), "limit": 1})


def speeds(rounds: int) -> dict[str, list[Speed]]:
    """A new editor and a new daemon each round; by the name of the editor."""
    sys.path.append(str(INSTALLED / "site"))
    found: dict[str, list[Speed]] = {}
    for _ in range(rounds):
        for binary in editors():
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                (folder / "agent").mkdir(mode=0o700)
                path = write_large_session(folder / "agent" / "sessions", folder)
                with place_for_daemon(isolated(folder)) as daemon:
                    warm(daemon, path)
                    with Editor(binary, variables(daemon.environment, folder), folder) as editor:
                        found.setdefault(binary.name, []).append(measure(editor, path))
    return found


def shown(found: Mapping[str, Sequence[Speed]]) -> str:
    """The table, a column for each editor; or why there is none."""
    if not found:
        return f"Not measured: {missing() or 'no editor is installed'}."
    rows = []
    for what, field, goal in _SHOWN:
        samples = [[getattr(one, field) for one in each] for each in found.values()]
        verdict = ""
        if goal is not None:
            kept = all(median(each) <= goal for each in samples)
            verdict = f"≤ {digits(goal)} ms {'reached' if kept else '**missed**'}"
        rows.append([what, *(amount(each, "ms") for each in samples), verdict])
    names = [name.replace("nvim-", "Neovim ") for name in found]
    return table(["work", *names, "goal"], rows)


_SHOWN: Final[tuple[tuple[str, str, float | None], ...]] = (
    ("open, to the first rows on the screen", "first", OPEN_MS),
    ("open, until all rows are in the buffer", "all", None),
    ("longest turn meanwhile", "turn", None),
    ("a step of the cursor with its redraw, median", "step", None),
    ("the same, longest of 400", "step_longest", None),
    ("of it what the plugin computes, median", "own", None),
    ("the same, longest of 400", "own_longest", STEP_MS),
)


def main() -> None:
    """Measure in every editor that is installed, and print what was found."""
    reason = missing()
    if reason is not None:
        sys.exit(reason)
    print(f"{ENTRIES:,} entries, {FORKS} forks\n")
    print(shown(speeds(5)))


if __name__ == "__main__":
    main()
