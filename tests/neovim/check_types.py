"""``python tests/neovim/check_types.py SERVER RUNTIME``: checks the plugin's LuaCATS annotations.

SERVER is EmmyLua's language server, which is spoken to as an editor does; RUNTIME is the folder
of Neovim's own Lua files, whose types the plugin uses. Prints what is wrong, and ends with 1 then.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "clients" / "neovim"
WARNING = 2  # 1 is an error; hints have higher numbers
PASSED_OVER = {
    "assign-type-mismatch",  # numbers are integers here where they have no fraction
    "await-in-sync",  # what only waits inside of a coroutine
    "call-non-callable",  # callable tables
    "missing-parameter",  # luv's functions, which take a callback or not
    "need-check-nil",  # each item of a list
    "param-type-mismatch",  # both of these again
    "unnecessary-assert",
    "unnecessary-if",
}
"""What the checker says of code that is right, and why it does."""


def send(stream: IO[bytes], **message: Any) -> None:
    """Write one message."""
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read one message."""
    length = 0
    while head := stream.readline().strip():
        name, _, value = head.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    if not length:
        sys.exit("the language server has ended")
    return json.loads(stream.read(length))


def main() -> None:
    """Ask for the diagnostics of every file."""
    server, runtime = sys.argv[1:]
    settings = {
        "runtime": {"version": "LuaJIT", "requirePattern": ["lua/?.lua", "lua/?/init.lua"]},
        "workspace": {"library": [runtime]},
    }
    with subprocess.Popen(
        [server, "--log-level", "error"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=PLUGIN,
        env={**os.environ, "XDG_DATA_HOME": str(ROOT / ".cache" / "neovim")},  # for its log
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        to, of = process.stdin, process.stdout

        def ask(number: int, method: str, params: Any) -> Any:
            send(to, id=number, method=method, params=params)
            while True:
                told = receive(of)
                if told.get("id") == number and "method" not in told:
                    return told.get("result")
                if "id" in told:  # a request of the server's
                    result: Any = None
                    if told["method"] == "workspace/configuration":
                        result = [settings for _ in told["params"]["items"]]
                    send(to, id=told["id"], result=result)

        folder = {"uri": PLUGIN.as_uri(), "name": "plugin"}
        capabilities = {
            "workspace": {"configuration": True, "workspaceFolders": True},
            "textDocument": {"diagnostic": {"dynamicRegistration": False}},
        }
        ask(
            1,
            "initialize",
            {
                "processId": None,
                "rootUri": PLUGIN.as_uri(),
                "workspaceFolders": [folder],
                "capabilities": capabilities,
                "initializationOptions": {},
            },
        )
        send(to, method="initialized", params={})
        found = 0
        files = sorted(PLUGIN.rglob("*.lua"))
        for number, path in enumerate(files, 2):
            document = {"uri": path.as_uri(), "languageId": "lua", "version": 1}
            opened = {**document, "text": path.read_text(encoding="utf-8")}
            send(to, method="textDocument/didOpen", params={"textDocument": opened})
            asked = {"textDocument": {"uri": path.as_uri()}}
            report = ask(number, "textDocument/diagnostic", asked) or {}
            for one in report.get("items", []):
                if one.get("severity", 1) <= WARNING and one.get("code") not in PASSED_OVER:
                    found += 1
                    place = f"{path.relative_to(ROOT)}:{one['range']['start']['line'] + 1}"
                    print(f"{place}: {one['message']} [{one.get('code')}]")
        ask(0, "shutdown", None)
        send(to, method="exit")
    print(f"{len(files)} files, {found} found")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
