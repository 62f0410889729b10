"""``session/fork``: a new file with one branch of another."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import CASES, StartDaemon
from tests.e2e.talk import SAMPLE, Talk, said
from tests.e2e.world import lines_of
from tests.unit.session_files import text_line


def forked(talk: Talk, **params: Any) -> tuple[dict[str, Any], list[bytes]]:
    """The answer, and the lines of the new file; the old one must not change."""
    before = talk.path.read_bytes()
    answer = talk.ask("fork", **params)
    assert talk.path.read_bytes() == before
    path = Path(answer["session"]["path"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return answer, path.read_bytes().splitlines()


def ids(lines: list[bytes]) -> list[str]:
    return [json.loads(line)["id"] for line in lines[1:]]


def test_without_an_entry_the_active_branch_is_copied_byte_for_byte(talk: Talk) -> None:
    answer, lines = forked(talk)
    assert answer.keys() == {"session", "leafId", "revision", "editorContent"}
    assert (answer["leafId"], answer["revision"], answer["editorContent"]) == ("d", 0, None)
    assert lines[1:] == [text_line(one) for one in SAMPLE if one["id"] in "abcd"]
    head = json.loads(lines[0])
    assert (head["version"], head["cwd"]) == (3, str(talk.path.parent))
    assert head["parentSession"] == answer["session"]["parentSession"] == str(talk.path)
    assert head["id"] == answer["session"]["id"] != "s-1"


def test_a_spelling_of_ones_own_is_copied_too(talk: Talk) -> None:
    odd = b'{ "id":"odd", "type":"x" ,"parentId":"d", "n":1.50, "big":12345678901234567890123 }'
    with talk.path.open("ab") as file:
        file.write(odd + b"\n")
    _, lines = forked(talk)
    assert lines[-1] == odd


def test_at_an_entry_is_up_to_it(talk: Talk) -> None:
    answer, lines = forked(talk, entryId="f", position="at")
    assert (answer["leafId"], ids(lines)) == ("f", ["a", "b", "e", "f"])


def test_before_a_question_is_without_it_and_gives_it_to_edit(talk: Talk) -> None:
    answer, lines = forked(talk, entryId="c")
    assert (answer["leafId"], ids(lines)) == ("b", ["a", "b"])
    assert answer["editorContent"]["text"] == "second question"
    assert len(answer["editorContent"]["images"]) == 1


def test_before_the_first_question_is_an_empty_session(talk: Talk, daemon: StartDaemon) -> None:
    answer, lines = forked(talk, entryId="a", position="before")
    assert (answer["leafId"], len(lines)) == (None, 1)
    assert answer["editorContent"]["text"] == "first question"
    new = Talk(daemon(), Path(answer["session"]["path"]))
    assert new.append(said())["entries"][0]["parentId"] is None


def test_before_an_answer_is_refused(talk: Talk) -> None:
    error = talk.error("fork", entryId="b")
    assert (error.code, error.data["parameter"]) == (-32602, "entryId")


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"entryId": "gone"}, 4001),
        ({"entryId": 7}, -32602),
        ({"position": "after"}, -32602),
        ({"cwd": "relative"}, -32602),
    ],
)
def test_a_fork_that_cannot_be_makes_no_file(talk: Talk, params: Any, code: int) -> None:
    assert talk.error("fork", **params).code == code
    assert talk.client.request("session/list", {"scope": "all"})["total"] == 1


def test_labels_of_copied_entries_come_along(talk: Talk) -> None:
    talk.ask("label", targetId="b", label="kept")
    talk.ask("label", targetId="f", label="elsewhere")
    talk.ask("label", targetId="d", label="too late")
    answer, lines = forked(talk, entryId="c", position="at")
    assert ids(lines)[:3] == ["a", "b", "c"]
    (label,) = [json.loads(line) for line in lines[4:]]
    assert (label["type"], label["targetId"], label["label"], label["parentId"]) == (
        "label",
        "b",
        "kept",
        "c",
    )
    assert answer["leafId"] == label["id"]
    found = talk.client.request("session/branches", {"session": answer["session"]["path"]})
    assert [(one["id"], one["label"]) for one in found["labels"]] == [("b", "kept")]


def test_a_label_that_was_cleared_elsewhere_is_cleared_in_the_copy(talk: Talk) -> None:
    inside = talk.ask("label", targetId="b", label="old")["leafId"]
    talk.ask("label", targetId="b", label=None)
    answer, _ = forked(talk, entryId=inside, position="at")
    found = talk.client.request("session/branches", {"session": answer["session"]["path"]})
    assert found["labels"] == []


def test_a_fork_goes_where_its_folder_belongs(talk: Talk, agent_dir: Path, tmp_path: Path) -> None:
    answer, lines = forked(talk, cwd=str(tmp_path))
    assert json.loads(lines[0])["cwd"] == answer["session"]["cwd"] == str(tmp_path)
    name = "--" + str(tmp_path)[1:].replace("/", "-") + "--"
    assert Path(answer["session"]["path"]).parent == agent_dir / "sessions" / name


def test_the_fork_says_the_same_to_the_model(talk: Talk) -> None:
    answer, _ = forked(talk, entryId="f", position="at")
    copy = talk.client.request("session/context", {"session": answer["session"]["path"]})
    assert copy["messages"] == talk.ask("context", leafId="f")["messages"]
    assert copy["warnings"] == []


def test_the_two_go_on_apart(talk: Talk) -> None:
    answer, _ = forked(talk)
    talk.client.request(
        "session/append", {"session": answer["session"]["path"], "entries": [said("there")]}
    )
    assert talk.leaf() == "d"
    assert talk.told() == []
    assert lines_of(talk.path)[-1]["id"] == "d"


@pytest.mark.parametrize("case", ["19-v1-linear", "20-v2-hookmessage"])
def test_a_fork_of_an_old_version_is_as_upgraded(
    daemon: StartDaemon, copy_session: Any, case: str
) -> None:
    talk = Talk(daemon(), copy_session(case))
    answer, lines = forked(talk)
    assert json.loads(lines[0])["version"] == 3
    copy = talk.client.request("session/context", {"session": answer["session"]["path"]})
    original = talk.ask("context")
    assert (copy["messages"], copy["path"]) == (original["messages"], original["path"])
    assert talk.path.read_bytes() == (CASES / f"{case}.jsonl").read_bytes()


def test_a_session_without_a_file_has_nothing_to_copy(daemon: StartDaemon) -> None:
    client = daemon()
    client.request("session/create", {"id": "new"})
    answer = client.request("session/fork", {"session": "new"})
    assert (answer["leafId"], answer["session"]["entryCount"]) == (None, 0)
