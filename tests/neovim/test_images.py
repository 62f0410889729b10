"""Images in entries: named in the preview, opened or saved by a command, kept when edited."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.talk import write_session
from tests.model_server import ScriptedServer, model_server, says
from tests.neovim.conftest import StartEditor
from tests.neovim.editor import Editor, entries_of, until
from tests.neovim.test_asking import settings
from tests.unit.session_files import user

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
IMAGE = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(PIXEL).decode()}
NAME = f"image/png, {len(PIXEL)} bytes"


def said(name: str, above: str | None, text: str, *images: dict[str, str]) -> Any:
    """A message of the user's with images."""
    made = user(name, above, text)
    made["message"]["content"] = [{"type": "text", "text": text}, *images]
    return made


@pytest.fixture
def pictures(sessions: Path, project: Path) -> Path:
    """A session with an image, two images, one of a strange type and a damaged one."""
    return write_session(
        sessions,
        user("a", None, "begin"),
        said("b", "a", "look at this", IMAGE),
        said("c", "b", "look at both", IMAGE, {**IMAGE, "mimeType": "image/webp"}),
        said("d", "c", "a strange one", {**IMAGE, "mimeType": "text/html\x1b[2J"}),
        said("e", "d", "a broken one", {**IMAGE, "data": "%%%"}),
        cwd=str(project),
    )


def test_images_are_named_and_opened(
    editor: Editor, pictures: Path, environment: dict[str, str]
) -> None:
    editor.lua("vim.ui.open = function(path) _G.opened = path end")
    editor.tree(str(pictures))
    editor.goto("look at this")
    editor.keys("K")
    editor.sees(f"(an image: {NAME})")
    editor.keys("gx")
    until(lambda: editor.lua("return _G.opened ~= nil"))
    opened = Path(editor.lua("return _G.opened"))
    assert opened.suffix == ".png"
    assert opened.read_bytes() == PIXEL
    assert opened.stat().st_mode & 0o777 == 0o600
    editor.leave()
    until(lambda: not opened.exists(), "the image goes with the editor")


def test_an_image_is_saved_where_nothing_is_yet(
    editor: Editor, pictures: Path, project: Path
) -> None:
    editor.tree(str(pictures))
    editor.goto("look at this")
    editor.keys(":Branchline image out.png<CR>")
    editor.says(f"out.png: {NAME}")
    assert (project / "out.png").read_bytes() == PIXEL
    editor.keys(":Branchline image out.png<CR>")
    editor.says("The image was not saved: EEXIST")
    editor.goto("look at both")
    editor.keys(":Branchline image second.webp<CR>")
    editor.sees("2: image/webp")
    editor.keys("2<CR>")
    until(lambda: (project / "second.webp").exists())
    editor.goto("begin")
    editor.keys("gx")
    editor.says("This entry holds no image")


def test_what_is_no_image_starts_no_program(editor: Editor, pictures: Path) -> None:
    editor.lua("vim.ui.open = function(path) _G.opened = path end")
    editor.tree(str(pictures))
    editor.goto("a strange one")
    editor.keys("K")
    editor.sees("(an image: text/html[2J, ")
    editor.keys("gx")
    editor.says("is opened by no program")
    editor.goto("a broken one")
    editor.keys("gx")
    editor.says("The image is damaged")
    assert editor.lua("return _G.opened") is None


def test_images_stay_with_a_message_that_is_changed(start: StartEditor, pictures: Path) -> None:
    with model_server(says("I see.")) as server:
        sends_with_its_image(start, pictures, server)


def sends_with_its_image(start: StartEditor, pictures: Path, server: ScriptedServer) -> None:
    """Change a message that has an image, send it, and look at the request and the file."""
    editor = start(arguments=settings(server.base_url))
    editor.tree(str(pictures))
    editor.goto("look at this")
    editor.keys("<CR>")
    editor.sees("just go")
    editor.keys("g")
    editor.sees("Your message, to change", "1 image along")
    editor.keys("ccLook closer.<Esc>:w<CR>")
    editor.sees("· I see.", "◀ here")
    stored = [entry for entry in entries_of(pictures) if "Look closer." in json.dumps(entry)]
    assert stored[0]["message"]["content"] == [{"type": "text", "text": "Look closer."}, IMAGE]
    assert IMAGE["data"] in json.dumps(server.requests[0].body)
