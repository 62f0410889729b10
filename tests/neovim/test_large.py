"""A session of 10,000 entries: everything is in the buffer, and nothing waits for it."""

from pathlib import Path

from tests.bench.neovim_speed import OPEN_MS, STEP_MS, measure, warm, write_large_session
from tests.e2e.shared import SharedDaemon
from tests.e2e.talk import write_session
from tests.neovim.editor import Editor, until
from tests.unit.session_files import assistant, user

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


def test_an_impatient_user_gets_the_whole_tree_all_the_same(
    editor: Editor, sessions: Path, project: Path, daemon: SharedDaemon
) -> None:
    path = write_large_session(sessions, project)
    warm(daemon, path)
    editor.command(f"Branchline tree {path}")
    until(lambda: len(editor.buffer()) > 1)
    for _ in range(60):
        editor.keys("<C-c>j")
    editor.is_complete()
    assert len(editor.buffer()) == 9_997
    assert "Error" not in editor.messages()
    editor.goes_on()
    editor.sees("200 branches")


def test_search_goes_from_hit_to_hit_through_more_rows_than_a_buffer_holds(
    editor: Editor, sessions: Path, project: Path, daemon: SharedDaemon
) -> None:
    said = [user(f"m{n}", f"m{n - 1}" if n else None, f"message {n}, n{n}n") for n in range(21_600)]
    said.insert(-1, user("aside", "m21000", "a folded branch"))
    said.insert(-1, user("beside", "aside", "and what it hides"))
    path = write_session(sessions, *said, cwd=str(project))
    editor.tree(str(path))
    editor.sees("1601 rows left out")
    assert editor.call("search", "⊞ a folded branch", "nw") > 0
    editor.sees("● message 21599,", "◀ here")
    assert len(editor.buffer()) == 20_000

    def shows(text: str, number: str) -> None:
        editor.sees(number)
        editor.is_on(text)
        editor.sees("● " + text)

    hits = [n for n in range(21_600) if "777" in f"message {n}, n{n}n"]
    editor.keys("/777 message<CR>")
    shows("message 777,", f"/777 message  [1/{len(hits)}]  round the end")
    editor.is_complete()
    assert len(editor.buffer()) == 20_000
    editor.is_on("message 777,")
    editor.keys("n")
    shows("message 1777,", f"[2/{len(hits)}]")
    editor.keys("3n")
    shows(f"message {hits[4]},", f"[5/{len(hits)}]")
    editor.keys("N")
    shows(f"message {hits[3]},", f"[4/{len(hits)}]")
    editor.keys("gg?777 message<CR>")
    shows(f"message {hits[-1]},", f"?777 message  [{len(hits)}/{len(hits)}]  round the end")
    editor.keys("N")
    shows("message 777,", "[1/")
    editor.keys("/nowhere<CR>")
    editor.says('No entry holds "nowhere"')
    editor.keys("gl")
    editor.is_on("message 21599,")
    editor.is_complete()
    daemon.command("append", str(path), "-m", "one more")
    until(lambda: editor.buffer()[-1] == "● one more")
    editor.is_on("message 21599,")
    editor.keys("gl")
    editor.sees("● one more", "◀ here")
    assert editor.call("getreg", "/") == r"\c\Vnowhere"


def test_keys_go_on_beyond_the_rows_that_a_buffer_holds(
    editor: Editor, sessions: Path, project: Path
) -> None:
    said: list[dict[str, object]] = []
    above: str | None = None
    for n in range(21_600):
        text = f"message {n},"
        if n % 700:
            said.append(assistant(f"m{n}", above, [{"type": "text", "text": text}]))
        else:
            said.append(user(f"m{n}", above, text))
        above = f"m{n}"
        if n == 5:
            time = "2026-01-02T03:04:05.678Z"
            label = {"type": "label", "id": "label", "parentId": above, "timestamp": time}
            said.append({**label, "targetId": above, "label": "mark"})
            above = "label"
            for name, parent in (("aside", "m3"), ("beside", "aside")):
                said.append(user(name, parent, f"{name} it"))
    path = write_session(sessions, *said, cwd=str(project))
    editor.tree(str(path))
    editor.sees("message 21599,", "◀ here")

    def goes(keys: str, text: str) -> None:
        editor.keys(keys)
        editor.is_on(text)
        editor.is_complete()
        editor.is_on(text)
        assert len(editor.buffer()) <= 20_000

    goes("gg2[u", "message 700,")
    goes("G]u", "message 20300,")
    goes("gg[l", "message 5,")
    goes("gl", "message 21599,")
    goes("gg]l", "message 1")  # there is none: it stays
    goes("gg[b", "aside it")
    assert editor.messages() == ""


def test_search_opens_the_branches_that_were_left_folded(
    editor: Editor, sessions: Path, project: Path
) -> None:
    said = [user(f"m{n}", f"m{n - 1}" if n else None, f"message {n}") for n in range(12_000)]
    for branch in range(3):
        above = f"m{branch * 10}"
        for n in range(4_000):
            made = user(f"b{branch}-{n}", above, f"aside {branch} step {n}")
            said.append(made)
            above = f"b{branch}-{n}"
    said.append(user("last", "m11999", "the end"))
    path = write_session(sessions, *said, cwd=str(project))
    editor.tree(str(path))
    assert len(editor.buffer()) == 12_004
    editor.keys("gg/aside 1 3999<CR>")
    editor.sees("[1/1]")
    editor.is_on("aside 1 step 3999")
    editor.sees("aside 1 step 3999")
    editor.is_complete()
    assert editor.call("foldclosed", ".") == -1
    assert len(editor.buffer()) == 12_003 + 4_000
    editor.is_on("aside 1 step 3999")
    editor.keys("g?")
    editor.sees("ask the daemon for the next entry with words")
