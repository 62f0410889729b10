"""``python -m branchline.demo``: a walk through a sample session with the real daemon.

Everything happens in a new folder below the system's temporary one: nothing of the user's is read
or written. The exit code is 0 only if each step gave what the protocol promises.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Final

from branchline import codec
from branchline.demo.client import Client, DaemonError, DaemonGone
from branchline.terminal.rows import draw_rows, plain_text, short_count

KEEP_RECENT_TOKENS: Final = 500
SHOWN_LINES: Final = 12
QUESTION: Final = "We may get a server with 8 GB. Would pandas in chunks be worth it then?"


class Surprise(Exception):
    """The daemon did something else than the protocol says."""


@dataclass(slots=True)
class Walk:
    """One walk: the daemon, the file it works on, and where in the tree we are."""

    client: Client
    path: Path
    project: Path
    leaf_id: str = ""
    branches: list[dict[str, Any]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, method: str, **params: Any) -> Any:
        """Ask about our session."""
        return self.client.request(method, {"session": str(self.path), **params})


def list_sessions(walk: Walk) -> None:
    """Every session whose folder is the project."""
    answer = walk.client.request("session/list", {"scope": "workspace"})
    expect(answer["total"] == 1, f"one session in the list, not {answer['total']}")
    for info in answer["sessions"]:
        expect(Path(info["path"]).samefile(walk.path), f"{walk.path} in the list")
        say(f"{info['name'] or info['firstMessage']} ({info['sizeBytes']:,} bytes)")


def open_session(walk: Walk) -> None:
    """Open it, and draw it as an editor does: the active path straight down, the rest folded."""
    opened = walk.ask("session/open")
    expect(opened["warnings"] == [], f"no warnings, not {opened['warnings']}")
    walk.leaf_id = opened["leafId"]
    draw(walk)


def show_context(walk: Walk) -> None:
    """What a model would be sent from here."""
    context = walk.ask("session/context")
    usage = context["usage"]
    expect(context["leafId"] == walk.leaf_id, "the context of the leaf")
    expect(0 < usage["tokens"] < usage["contextWindow"], "a context that fits")
    model = context["model"]
    say(
        f"{len(context['messages'])} messages from {len(context['path'])} entries on the path, "
        f"{short_count(usage['tokens'])} of {short_count(usage['contextWindow'])} tokens"
    )
    if model:
        name = model.get("modelId") or model.get("model")
        say(f"model {name} ({model['provider']}), thinking {context['thinkingLevel']}")


def show_branches(walk: Walk) -> None:
    """The ends of the conversation, each named by its label or first question."""
    walk.branches = walk.ask("session/branches")["branches"]
    expect(len(walk.branches) == 3, f"three branches, not {len(walk.branches)}")
    for branch in walk.branches:
        here = "  <- here" if branch["active"] else ""
        say(f"{branch['name']}: {branch['messageCount']} messages{here}")


def switch_branch(walk: Walk) -> None:
    """Go to the longest other branch, and take along what was learnt on the one we leave."""
    others = [branch for branch in walk.branches if not branch["active"]]
    target = max(others, key=lambda branch: int(branch["messageCount"]))
    answer = walk.ask(
        "session/switchLeaf",
        targetId=target["tipId"],
        position="at",
        summary={"mode": "write", "summarizer": "offline"},
        expectedLeafId=walk.leaf_id,
    )
    plan = answer["plan"]
    say(f"{plan['messageCount']} messages left behind, {short_count(plan['tokens'])} tokens:")
    show_text(answer["summary"])
    expect(answer["previousLeafId"] == walk.leaf_id, "the old leaf in the answer")
    expect(answer["leafId"] == answer["summaryEntryId"], "the summary as the new leaf")
    walk.leaf_id = answer["leafId"]
    say(f"now on {target['name']}; the way back is a move to {answer['previousLeafId']}")


def append_message(walk: Walk) -> None:
    """Add a user message there, as an agent or an editor would."""
    message = {"role": "user", "content": QUESTION}
    answer = walk.ask("session/append", entries=[{"type": "message", "message": message}])
    (entry,) = answer["entries"]
    expect(entry["parentId"] == walk.leaf_id, "the message below the leaf")
    expect(answer["leafId"] == entry["id"], "the message as the new leaf")
    changed = [params for name, params in walk.client.notifications if name == "session/changed"]
    expect(changed[-1]["leafId"] == entry["id"], "a session/changed before the answer")
    walk.leaf_id = entry["id"]
    say(f"entry {entry['id']}, revision {answer['revision']}")
    draw(walk)


def compact(walk: Walk) -> None:
    """Put a summary in the place of all but the newest messages, without a model."""
    walk.messages = walk.ask("session/context")["messages"]
    answer = walk.ask("session/compact", keepRecentTokens=KEEP_RECENT_TOKENS, summarizer="offline")
    plan = answer["plan"]
    expect(answer["leafId"] == answer["entryId"], "the compaction as the new leaf")
    expect(answer["tokensAfter"] < plan["tokensBefore"], "a smaller context")
    busy = [params["job"] for name, params in walk.client.notifications if name == "session/busy"]
    expect(busy[-1] is None, "an end of the work before the answer")
    say(
        f"{short_count(plan['tokensBefore'])} tokens before, "
        f"{short_count(answer['tokensAfter'])} after: {len(plan['summarized'])} messages "
        f"summarised, {len(plan['kept'])} kept"
    )
    show_text(answer["summary"])
    walk.leaf_id = answer["leafId"]


def undo(walk: Walk) -> None:
    """Take the compaction back: the context is the former one, to the letter."""
    answer = walk.ask("session/undo")
    expect(answer["undoneId"] == walk.leaf_id, "the compaction as what is undone")
    context = walk.ask("session/context")
    expect(context["messages"] == walk.messages, "exactly the former context")
    walk.leaf_id = answer["leafId"]
    say(f"the leaf is {walk.leaf_id} again, and the model sees what it saw before")


def show_text(text: str) -> None:
    """Print the beginning of a summary."""
    lines = [line for line in text.splitlines() if line.strip()]
    for line in lines[:SHOWN_LINES]:
        say(f"| {line if len(line) <= 90 else line[:89] + '…'}")
    say(f"| … {len(lines) - SHOWN_LINES} more lines")


STEPS: Final[tuple[tuple[str, Callable[[Walk], None]], ...]] = (
    ("Which sessions are there?", list_sessions),
    ("The session as a tree", open_session),
    ("What the model sees here", show_context),
    ("The branches", show_branches),
    ("Move to the other branch, with a summary of this one", switch_branch),
    ("Go on there", append_message),
    ("What the model sees now", show_context),
    ("Compact: a summary in the place of the past", compact),
    ("What the model sees after that", show_context),
    ("Take the compaction back", undo),
)


def main() -> int:
    """Take the walk; give the exit code."""
    folder = Path(tempfile.mkdtemp(prefix="branchline-demo-")).resolve()
    project = folder / "importer"
    project.mkdir()
    path = write_session(folder / "sessions", project)
    before = path.read_bytes()
    command = [sys.executable, "-m", "branchline", "serve", "--stdio"]
    log = folder / "daemon.log"
    try:
        with (
            log.open("wb") as log_file,
            Client(command, environment=private_environment(folder), log=log_file) as client,
        ):
            client.initialize(project, {})
            walk = Walk(client, path, project)
            for number, (heading, step) in enumerate(STEPS, 1):
                print(f"\n{number}. {heading}")
                step(walk)
            code = client.close()
            expect(code == 0, f"exit code 0 from the daemon, not {code}")
        expect(path.read_bytes().startswith(before), "a file to which was only added")
    except (Surprise, DaemonError, DaemonGone) as error:
        print(f"\nThe demo failed: {error}\nThe daemon's log is {log}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader (head, a pager) has seen enough; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    say_what_is_next(path, len(before))
    return 0


def write_session(folder: Path, project: Path) -> Path:
    """Copy the sample session there, with the project as its folder."""
    sample = resources.files("branchline.demo").joinpath("session.jsonl").read_bytes()
    first, _, rest = sample.partition(b"\n")
    header = codec.decode(first)
    header["cwd"] = str(project)
    stamp = header["timestamp"].replace(":", "-").replace(".", "-")
    folder.mkdir(mode=0o700)
    path = folder / f"{stamp}_{header['id']}.jsonl"
    path.touch(mode=0o600)
    path.write_bytes(codec.encode_record(header) + b"\n" + rest)
    return path


def private_environment(folder: Path) -> dict[str, str]:
    """Our environment with every folder of the user's replaced, and without keys."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PI_", "XDG_")) and not name.endswith("_API_KEY")
    }
    return kept | {
        "HOME": str(folder / "home"),
        "PI_CODING_AGENT_DIR": str(folder / "agent"),
        "PI_CODING_AGENT_SESSION_DIR": str(folder / "sessions"),
    }


def draw(walk: Walk) -> None:
    """Print the tree, runs of tool calls as one row."""
    answer = walk.ask("session/tree", runs="tools")
    expect(answer["leafRow"] is not None, "a row for the leaf")
    lines = draw_rows(
        answer["rows"],
        header=None,
        width=min(max(shutil.get_terminal_size().columns - 3, 60), 100),
        unicode="utf" in (sys.stdout.encoding or "").lower(),
        color=sys.stdout.isatty() and "NO_COLOR" not in os.environ,
        show_ids=False,
    )
    print("\n".join(f"   {line}" for line in lines))


def expect(fulfilled: bool, what: str) -> None:
    """Stop the walk unless the daemon did what was expected."""
    if not fulfilled:
        raise Surprise(f"expected {what}")


def say(text: str) -> None:
    """Print a line that may hold session text."""
    encoding = sys.stdout.encoding or "ascii"
    print("   " + plain_text(text).encode(encoding, "replace").decode(encoding))


def say_what_is_next(path: Path, size: int) -> None:
    """Print where the file is and what to try on it."""
    installed = Path(sys.executable).with_name("branchline")
    command = os.path.relpath(installed) if installed.exists() else "branchline"
    print(f"\nThe daemon has ended. Of the {size:,} bytes that were in the file none has changed:")
    print("moving and writing only add to it. It stays here for you to look at:")
    print(f"\n   {path}\n\nTry\n")
    for verb in ("tree", "context"):
        print(f"   {command} {verb} {path}")


if __name__ == "__main__":
    sys.exit(main())
