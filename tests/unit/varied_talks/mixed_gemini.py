"""German, English and Chinese by turns, the tools of Gemini: a rule is changed, a step dropped."""

from tests.unit.made_talks import Talk
from tests.unit.varied_talks.shape import Varied

FIRST = (
    "Please move our feature flags from env variables to a file `config/flags.toml`. Flags that "
    "are missing must default to off. Keep backwards compatibility: the env variables win if "
    "they are set."
)

TALK = (
    Talk()
    .user(FIRST)
    .calls(
        "I'll look at where the flags are read.",
        ("search_file_content", {"pattern": "os.environ"}, "app/flags.py:9\napp/mail.py:31"),
        ("read_many_files", {"paths": ["app/flags.py", "app/mail.py"]}, "--- app/flags.py ---"),
        ("read_file", {"absolute_path": "/home/dev/site/deploy/site.service"}, "[Service]"),
    )
    .reply(
        "Found 14 flags in two modules.\n\nPlan:\n1. `app/flags.py` reads `config/flags.toml`\n"
        "2. `app/mail.py` goes through `app/flags.py`\n3. A command `flags --list`\n"
        "4. Update `deploy/site.service`"
    )
    .user("Schritt 3 brauchen wir nicht, lass den weg. Ansonsten gut, mach das so.")
    .call("replace", {"file_path": "/home/dev/site/app/flags.py", "old_string": "a",
                      "new_string": "b"}, "Successfully modified file")
    .call("write_file", {"file_path": "/home/dev/site/config/flags.toml", "content": "[flags]"},
          "Successfully created and wrote to new file")
    .call("run_shell_command", {"command": "pytest -q", "description": "tests"},
          "Command: pytest -q\nStdout: E  tomllib.TOMLDecodeError: Expected '=' after a key\n"
          "1 failed, 30 passed\nExit Code: 1", text="Jetzt die Tests.")
    .call("replace", {"file_path": "/home/dev/site/config/flags.toml"}, "Successfully modified")
    .call("run_shell_command", {"command": "pytest -q"},
          "Command: pytest -q\nStdout: 31 passed in 2.4s\nExit Code: 0")
    .reply("Die Flags kommen jetzt aus `config/flags.toml`, alle 31 Tests sind grün.")
    .user(
        "Sehr schön. Actually, correction: missing flags must default to on in staging. And never "
        "print flag values to the log, some hold tokens."
    )
    .call("replace", {"file_path": "/home/dev/site/app/flags.py"}, "Successfully modified file",
          text="I add the staging default.")
    .call("run_shell_command", {"command": "pytest -q"}, "33 passed in 2.5s\nExit Code: 0")
    .reply("Missing flags are on in staging and off elsewhere; 33 tests pass.")
    .user("接下来把 app/mail.py 也改了。注意不要动邮件模板。")
    .call("replace", {"file_path": "/home/dev/site/app/mail.py"}, "Successfully modified file")
    .call("run_shell_command", {"command": "pytest -q && mypy app"},
          "33 passed in 2.5s\napp/mail.py:44: error: Item \"None\" of \"Flags | None\" has no "
          "attribute \"mail\"  [union-attr]\nFound 1 error in 1 file\nExit Code: 1")
    .reply(
        "`app/mail.py` 已改成通过 `app/flags.py` 读取，但 mypy 还有一个错误：`Flags | None`。"
        "接下来我先修这个类型错误，然后更新 `deploy/site.service`。"
    )
)  # fmt: skip

MIXED_GEMINI = Varied(
    name="mixed-gemini",
    entries=TALK.entries(),
    first_request=FIRST,
    newest_request="app/mail.py",
    constraints=(
        "missing flags must default to on in staging",
        "Keep backwards compatibility: the env variables win if they are set.",
        "never print flag values to the log",
        "不要动邮件模板",
    ),
    read=frozenset({"/home/dev/site/deploy/site.service", "app/flags.py", "app/mail.py"}),
    modified=frozenset(
        {
            "/home/dev/site/app/flags.py",
            "/home/dev/site/config/flags.toml",
            "/home/dev/site/app/mail.py",
        }
    ),
    last_error='Item "None" of "Flags | None" has no attribute "mail"',
    next_steps=("修这个类型错误", "`deploy/site.service`"),
    not_open=("TOMLDecodeError", "A command `flags --list`", "reads `config/flags.toml`"),
    taken_back=("Flags that are missing must default to off",),
)
