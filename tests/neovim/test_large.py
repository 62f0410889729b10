"""A session of 10,000 entries: everything is in the buffer, and nothing waits for it."""

from pathlib import Path

from tests.bench.neovim_speed import OPEN_MS, STEP_MS, measure, warm, write_large_session
from tests.e2e.shared import SharedDaemon
from tests.e2e.talk import write_session
from tests.neovim.editor import Editor, until
from tests.unit.session_files import user

SLACK = 4.0
"""How much longer a promised time may take on a busy machine."""
COUNT = """
_G.trees = 0
for _, connection in pairs(require('branchline.client').connections) do
  local client = connection.client
  local request = client.request
  client.request = function(self, method, ...)
    _G.trees = _G.trees + (method == 'session/tree' and 1 or 0)
    return request(self, method, ...)
  end
end"""


def test_ten_thousand_entries(
    editor: Editor, sessions: Path, project: Path, daemon: SharedDaemon
) -> None:
    path = write_large_session(sessions, project)
    warm(daemon, path)
    speed = measure(editor, path)
    assert speed.first < OPEN_MS * SLACK
    assert speed.own < STEP_MS
    assert speed.own_longest < STEP_MS * SLACK
    assert len(editor.buffer()) == 9_997
    editor.sees("200 branches")
    editor.keys("gg/word8999<CR>")
    until(lambda: "turn 8999 says word8999" in editor.line(), lambda: editor.line())
    assert editor.call("line", ".") > 9_000
    editor.keys("/aside 4600 step 2<CR>")
    until(lambda: "aside 4600 step 2" in editor.line(), lambda: editor.line())
    assert editor.call("foldclosed", ".") == -1
    editor.lua(COUNT)
    other = daemon.connect()
    said = {"type": "message", "message": {"role": "user", "content": "one more"}}
    other.request("session/append", {"session": str(path), "entries": [said]})
    until(lambda: editor.buffer()[-1] == "● one more")
    assert "aside 4600 step 2" in editor.line()
    editor.is_complete()
    assert editor.lua("return _G.trees") == 1, "what goes on from the leaf is asked for alone"


def test_more_rows_than_a_buffer_holds(editor: Editor, sessions: Path, project: Path) -> None:
    said = [user(f"m{n}", f"m{n - 1}" if n else None, f"message {n}, n{n}n") for n in range(20_600)]
    path = write_session(sessions, *said, cwd=str(project))
    editor.tree(str(path))
    editor.sees("600 rows left out")
    editor.sees("● message 20599,", "◀ here")
    assert len(editor.buffer()) == 20_000
    editor.keys("/n77n<CR>")
    editor.is_complete()
    editor.sees("● message 77,")
    editor.keys("fd")
    editor.is_complete()
    assert len(editor.buffer()) == 20_000
