"""What is tested inside the editor, and what the editor itself says of the plugin."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.neovim.conftest import StartEditor
from tests.neovim.editor import DEADLINE, HERE, PLUGIN, ROOT, Editor, until

README = (ROOT / "README.md").read_text()


def run(binary: Path, environment: dict[str, str], *arguments: str) -> str:
    """Run the editor without a screen to its end; give what it said."""
    done = subprocess.run(
        [str(binary), "--headless", "-u", "NONE", "-i", "NONE", "-n", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE * 3,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_pure_parts(binary: Path, environment: dict[str, str]) -> None:
    assert "tests passed" in run(binary, environment, "-l", str(HERE / "unit.lua"), str(PLUGIN))


def test_help_has_tags(binary: Path, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "doc").mkdir()
    text = (PLUGIN / "doc" / "branchline.txt").read_text()
    (tmp_path / "doc" / "branchline.txt").write_text(text)
    run(binary, environment, "-c", f"helptags {tmp_path}/doc", "-c", "qall")
    tags = (tmp_path / "doc" / "tags").read_text()
    assert "branchline-summarize" in tags
    assert ":Branchline" in tags


def test_nothing_is_loaded_before_it_is_used(editor: Editor) -> None:
    loaded = editor.lua(
        """return vim.tbl_filter(function(name)
          return vim.startswith(name, 'branchline')
        end, vim.tbl_keys(package.loaded))"""
    )
    assert loaded == []
    assert editor.call("exists", ":Branchline") == 2


def test_health(editor: Editor, demo: Path) -> None:
    editor.tree()
    editor.command("checkhealth branchline")
    report = "\n".join(editor.buffer())
    assert "OK branchline is " in report
    assert ": ready" in report
    assert "ERROR" not in report
    editor.command("checkhealth vim.deprecated")
    report = "\n".join(editor.buffer())
    assert "branchline" not in report, report


def test_health_names_what_is_wrong(start: StartEditor, environment: dict[str, str]) -> None:
    environment["PATH"] = "/usr/bin:/bin"
    editor = start(arguments=("--cmd", "lua vim.g.branchline = { icons = 'emoji' }"))
    editor.command("checkhealth branchline")
    report = "\n".join(editor.buffer())
    assert "icons must be one of unicode, ascii" in report
    assert "branchline cannot be run" in report


def test_a_package_folder_is_all_it_takes(
    binary: Path, environment: dict[str, str], demo: Path, tmp_path: Path, project: Path
) -> None:
    """The way of the README: a link below packpath, and one command."""
    packages = Path(environment["XDG_DATA_HOME"]) / "nvim/site/pack/branchline/start"
    packages.mkdir(parents=True)
    (packages / "branchline").symlink_to(PLUGIN)
    shows_the_tree(binary, environment, project, tmp_path)


def test_vim_pack_fetches_it(
    binary: Path, environment: dict[str, str], demo: Path, tmp_path: Path, project: Path
) -> None:
    """The way of the README with ``vim.pack``, from a repository on this machine."""
    if "0.11" in binary.name:
        return  # it has no vim.pack
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed: vim.pack fetches with it")
    repository = tmp_path / "repository"
    shutil.copytree(PLUGIN, repository / "clients" / "neovim")
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "all"]):
        author = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
        subprocess.run([git, *author, *arguments], cwd=repository, env=environment, check=True)
    lines = re.findall(
        r"^(?:vim\.pack|vim\.opt\.runtimepath).*stdpath.*|^vim\.pack.*", README, re.M
    )
    assert len(lines) == 2
    init = Path(environment["XDG_CONFIG_HOME"]) / "nvim" / "init.lua"
    init.parent.mkdir(parents=True)
    added = lines[0].replace("URL", f"file://{repository}").replace("})", "}, { confirm = false })")
    init.write_text(added + "\n" + lines[1] + "\n")
    shows_the_tree(binary, environment, project, tmp_path)


def shows_the_tree(
    binary: Path, environment: dict[str, str], project: Path, tmp_path: Path
) -> None:
    """Start the editor as a user does, say one command, and look for the tree."""
    script = tmp_path / "script.lua"
    script.write_text(
        """vim.cmd('Branchline')
        assert(vim.wait(15000, function()
          for _, tree in pairs(require('branchline.tree').trees) do
            return tree.complete
          end
        end))
        assert(vim.api.nvim_buf_line_count(0) == 44)
        print('the tree is there')
        vim.cmd('qall!')"""
    )
    done = subprocess.run(
        [str(binary), "--headless", "-i", "NONE", "-n", "-c", f"luafile {script}"],
        env=environment,
        cwd=project,
        capture_output=True,
        text=True,
        timeout=DEADLINE * 3,
        check=False,
    )
    assert "the tree is there" in done.stdout + done.stderr


def test_the_command_says_what_it_does_not_know(editor: Editor) -> None:
    editor.command("Branchline dance")
    editor.says('"dance" is no subcommand. There are: ask, ')
    editor.command("Branchline filter red")
    editor.says('"red" is no filter. There are: default')
    completed = editor.call("getcompletion", "Branchline se", "cmdline")
    assert completed == ["search", "sessions"]


def test_a_folder_without_conversations_says_how_to_begin(editor: Editor) -> None:
    editor.command("Branchline")
    editor.says("No conversation of this folder yet. :Branchline new begins one")
    until(lambda: editor.buffer() == [""])
