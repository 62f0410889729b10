"""English in lower case with slips, tools like OpenCode's: a checklist of which a part is done."""

from tests.unit.made_talks import Talk
from tests.unit.varied_talks.shape import Varied

FIRST = (
    "port the cli from optparse to argparse. same flags, same exit codes, scripts depend on them. "
    "python 3.8 has to work"
)

TALK = (
    Talk()
    .user(FIRST)
    .call("read", {"filePath": "tool/cli.py"}, "parser = OptionParser()")
    .call("glob", {"pattern": "tests/**/*.py"}, "tests/test_cli.py")
    .call("read", {"filePath": "tests/test_cli.py"}, "def test_help(): ...")
    .call("todowrite", {"todos": []}, "ok")
    .reply(
        "Here's the list:\n\n"
        "- [x] read the parser\n"
        "- [ ] global flags\n"
        "- [ ] subcommand `sync`\n"
        "- [ ] subcommand `prune`\n"
        "- [ ] man page\n\n"
        "I'd use click for the subcommands, it saves a lot of code."
    )
    .user("nope. argparse i said. no click")
    .call("edit", {"filePath": "tool/cli.py", "oldString": "a", "newString": "b"}, "ok",
          text="Sorry, argparse it is.")
    .call("bash", {"command": "python3.8 -m pytest tests -q", "description": "tests"},
          "E   TypeError: 'type' object is not subscriptable\n1 error in 0.2s", error=True)
    .call("edit", {"filePath": "tool/cli.py"}, "ok", text="`list[str]` is 3.9, I use `List`.")
    .call("bash", {"command": "python3.8 -m pytest tests -q"}, "22 passed in 1.0s")
    .reply("Global flags and `sync` are done, 22 tests pass on 3.8.\n\n"
           "- [x] global flags\n- [x] subcommand `sync`\n- [ ] subcommand `prune`\n- [ ] man page")
    .user("dont reformat stuff you dont change, the diff is huge")
    .call("bash", {"command": "git diff --stat"}, " tool/cli.py | 412 +++---")
    .call("edit", {"filePath": "tool/cli.py"}, "ok", text="Right, I undo the formatting.")
    .call("bash", {"command": "git diff --stat"}, " tool/cli.py | 96 +++---")
    .reply("The diff is down to 96 lines.")
    .user("better. btw --verbose printed nothing for me")
    .call("bash", {"command": "python3.8 -m tool --verbose sync --dry-run"}, "")
    .call("edit", {"filePath": "tool/log.py"}, "ok", text="The level was set before parsing.")
    .call("bash", {"command": "python3.8 -m tool --verbose sync --dry-run"}, "DEBUG sync: 0 files")
    .reply("`--verbose` works again: the log level is now set after parsing.")
    .user("yep works. keep going")
    .call("edit", {"filePath": "tool/cli.py"}, "ok", text="Now `prune`.")
    .call("bash", {"command": "python3.8 -m pytest tests -q"},
          "tests/test_prune.py F\nE   SystemExit: 2\nE   error: unrecognized arguments: "
          "--older-than=30d\n1 failed, 22 passed in 1.1s", error=True)
    .reply("`prune` is half done: `--older-than` is not parsed yet, one test fails.")
)  # fmt: skip

TERSE_PYTHON = Varied(
    name="terse-python",
    entries=TALK.entries(),
    first_request=FIRST,
    newest_request="argparse i said",
    constraints=(
        "same flags, same exit codes",
        "python 3.8 has to work",
        "no click",
        "dont reformat stuff you dont change",
    ),
    read=frozenset({"tests/test_cli.py"}),
    modified=frozenset({"tool/cli.py", "tool/log.py"}),
    last_error="unrecognized arguments: --older-than=30d",
    next_steps=("subcommand `prune`", "man page"),
    still_open=("--older-than is not parsed yet",),
    not_open=(
        "object is not subscriptable",
        "global flags",
        "subcommand `sync`",
        "--verbose printed nothing",
        "click",
    ),
    taken_back=("I'd use click",),
)
