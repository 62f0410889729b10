"""``python -m tests.bench.neovim_speed``: how long Neovim takes with a session of 10,000 entries.

The session has 200 forks. Times are taken inside the editor, with the daemon running: until the
first rows are on the screen, until all are in the buffer, for a step of the cursor with its redraw,
and of that for what the plugin computes.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple

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
  timer:start(0, 1, vim.schedule_wrap(function()
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
    first, whole = editor.lua("return { _G.first, _G.all }")
    found = editor.lua(_STEPS)
    return Speed(
        first,
        whole,
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


def main() -> None:
    """Measure in every editor that is installed, and print what was found."""
    reason = missing()
    if reason is not None:
        sys.exit(reason)
    sys.path.append(str(INSTALLED / "site"))
    for binary in editors():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "agent").mkdir(mode=0o700)
            path = write_large_session(folder / "agent" / "sessions", folder)
            with place_for_daemon(isolated(folder)) as daemon:
                warm(daemon, path)
                with Editor(binary, variables(daemon.environment, folder), folder) as editor:
                    speed = measure(editor, path)
        print(f"{binary.name}: {ENTRIES} entries, {FORKS} forks")
        for what, milliseconds in speed._asdict().items():
            print(f"  {what.replace('_', ', '):16} {milliseconds:8.2f} ms")


if __name__ == "__main__":
    main()
