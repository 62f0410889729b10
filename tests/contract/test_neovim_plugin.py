"""The Neovim plugin's own copy of the protocol says what the daemon does."""

import re
from pathlib import Path

from branchline.errors import BranchlineError
from branchline.wire import messages  # its errors count too
from branchline.wire.methods import METHODS, NOTIFICATIONS

PLUGIN = Path(__file__).resolve().parents[2] / "clients" / "neovim"
LUA = {path.name: path.read_text(encoding="utf-8") for path in PLUGIN.rglob("*.lua")}
CALLS = re.compile(r"'(session/\w+)'")


def names(block: str) -> set[str]:
    """The names in a list of `methods.lua`."""
    found = re.search(rf"M\.{block} = {{(.*?)}}", LUA["methods.lua"], re.DOTALL)
    assert found is not None
    return set(CALLS.findall(found[1]))


def kinds(cls: type[BranchlineError]) -> set[str]:
    """The kinds of an error and of all below it."""
    own = {cls.kind} if isinstance(getattr(cls, "kind", None), str) else set()
    return own.union(*(kinds(below) for below in cls.__subclasses__()))


def test_the_plugin_knows_what_the_daemon_answers_and_tells() -> None:
    assert names("REQUESTS") <= set(METHODS)
    assert names("NOTIFICATIONS") <= set(NOTIFICATIONS)


def test_the_plugin_asks_nothing_that_it_does_not_list() -> None:
    used = {
        name for file, text in LUA.items() if file != "methods.lua" for name in CALLS.findall(text)
    }
    assert used - names("REQUESTS") - names("NOTIFICATIONS") == {"session/summarize"}
    assert names("REQUESTS") - used == set()


def test_every_kind_of_error_has_its_advice() -> None:
    assert messages.__doc__  # imported for what it defines
    block = LUA["errors.lua"].partition("M.ADVICE = {")[2].partition("\n}\n")[0]
    advised = set(re.findall(r"^  (\w+) = function", block, re.MULTILINE))
    assert advised == kinds(BranchlineError)
