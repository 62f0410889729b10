"""``session/export``: a page, Markdown or records, into the answer or into a new file."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from branchline.log.scan import VERIFIED_BYTES
from branchline.service.exporting import MOST_CONTENT_BYTES
from branchline.wire.framing import MAX_MESSAGE_BYTES
from tests.e2e.conftest import CASES, SERVE, StartDaemon
from tests.e2e.talk import SAMPLE, Talk, said, text, write_session
from tests.e2e.world import raw_daemon, strict
from tests.unit.helpers import message
from tests.unit.session_files import text_line
from tests.unit.wire_client import notification, request

FORMATS = ("html", "markdown", "jsonl")
BEGINS = {
    "html": "<!doctype html>\n",
    "markdown": "# first question\n",
    "jsonl": '{"type":"session"',
}


def exported(talk: Talk, form: str = "jsonl", **params: Any) -> Any:
    """The answer; the session must not change, and nobody is told anything."""
    before = talk.path.read_bytes()
    talk.client.notifications.clear()
    answer = talk.ask("export", format=form, **params)
    assert talk.path.read_bytes() == before
    assert talk.client.notifications == []
    return answer


def lines(answer: Any) -> list[bytes]:
    content: str = answer["content"]
    return content.encode().splitlines()


@pytest.mark.parametrize("form", FORMATS)
def test_without_a_path_the_answer_holds_it(talk: Talk, form: str) -> None:
    answer = exported(talk, form)
    assert answer.keys() == {"content", "masked"}
    assert answer["masked"] == []
    assert answer["content"].startswith(BEGINS[form])
    assert "another way" not in answer["content"]
    assert "another way" in exported(talk, form, branches="all")["content"]


@pytest.mark.parametrize("form", FORMATS)
def test_with_a_path_it_goes_into_a_new_private_file(talk: Talk, tmp_path: Path, form: str) -> None:
    path = tmp_path / "out" / f"talk.{form}"
    path.parent.mkdir(mode=0o755)
    answer = exported(talk, form, path=str(path))
    assert answer == {"path": str(path), "masked": []}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_nlink == 1
    assert path.read_text(encoding="utf-8") == exported(talk, form)["content"]
    assert os.listdir(path.parent) == [path.name]


def test_a_file_that_is_there_is_never_touched(talk: Talk, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "folder").mkdir()
    for name in ("mine", "dangling", "folder"):
        error = talk.error("export", format="html", path=str(folder / name))
        assert (error.code, error.data["kind"]) == (4008, "storage")
        assert error.data["errno"] == "EEXIST"
        assert str(folder / name) in error.message
        assert "never overwritten" in error.message
    assert (folder / "mine").read_text() == "mine"
    assert sorted(os.listdir(folder)) == ["dangling", "folder", "mine"]


@pytest.mark.parametrize("path", ["relative.html", "", "/a\x00b", "~/x.html"])
def test_a_path_must_be_absolute(talk: Talk, path: str) -> None:
    error = talk.error("export", format="html", path=path)
    assert (error.code, error.data["parameter"]) == (-32602, "path")


def test_a_folder_that_is_not_there_is_not_made(talk: Talk, tmp_path: Path) -> None:
    error = talk.error("export", format="html", path=str(tmp_path / "gone" / "x.html"))
    assert error.data["errno"] == "ENOENT"
    assert not (tmp_path / "gone").exists()


def test_the_active_branch_is_copied_byte_for_byte(talk: Talk) -> None:
    odd = b'{ "id":"odd", "type":"x" ,"parentId":"d", "n":1.50, "big":12345678901234567890123 }'
    with talk.path.open("ab") as file:
        file.write(odd + b"\n")
    talk.ask("branches")  # takes it in
    head = talk.path.read_bytes().splitlines()[0]
    kept = [text_line(one) for one in SAMPLE if one["id"] in "abcd"]
    assert lines(exported(talk)) == [head, *kept, odd]


def test_all_is_the_whole_file_byte_for_byte(talk: Talk, tmp_path: Path) -> None:
    talk.ask("label", targetId="f", label="there")
    talk.ask("switchLeaf", targetId="b", position="at")
    path = tmp_path / "all.jsonl"
    exported(talk, branches="all", path=str(path))
    assert path.read_bytes() == talk.path.read_bytes()


def test_labels_of_the_branch_come_along_wherever_they_were_set(talk: Talk) -> None:
    talk.ask("switchLeaf", targetId="f", position="at")
    talk.ask("label", targetId="b", label="kept")
    talk.ask("label", targetId="f", label="elsewhere")
    talk.ask("switchLeaf", targetId="d", position="at")
    (label,) = [json.loads(line) for line in lines(exported(talk))[5:]]
    assert (label["type"], label["targetId"], label["label"]) == ("label", "b", "kept")
    assert "elsewhere" not in exported(talk, "html")["content"]
    assert "kept" in exported(talk, "html")["content"]


@pytest.mark.parametrize("branches", ["active", "all"])
@pytest.mark.parametrize("mask", [False, True])
def test_exported_records_open_as_a_session(
    talk: Talk, daemon: StartDaemon, agent_dir: Path, branches: str, mask: bool
) -> None:
    talk.append(said("in /home/alice with password=hunter22"))
    talk.ask("label", targetId="a", label="for /home/alice")
    path = agent_dir / "sessions" / "--w--" / "copy.jsonl"
    exported(talk, branches=branches, mask=mask, path=str(path))
    copy = Talk(daemon(), path)
    assert copy.opened["leafId"] == talk.ask("open")["leafId"]
    assert {one["code"] for one in copy.opened["warnings"]} <= {"cwd-missing"}
    ours, theirs = talk.ask("context")["messages"], copy.ask("context")["messages"]
    if mask:
        assert theirs[-1]["content"] == "in ~ with password=[key 1]"
        ours, theirs = ours[:-1], theirs[:-1]
    assert theirs == ours
    assert copy.append(said("and on"))["entries"]


def test_a_mask_says_what_it_hid(talk: Talk) -> None:
    talk.append(said("password=hunter22, token: q1w2e3r4t5; cd /home/alice"))
    talk.ask("rename", name="alice@example.org")
    for form in FORMATS:
        answer = exported(talk, form, mask=True)
        assert answer["masked"] == [
            {"kind": "key", "count": 2},
            {"kind": "homePath", "count": 1},
            {"kind": "email", "count": 1},
        ]
        for secret in ("hunter22", "q1w2e3r4t5", "alice"):
            assert secret not in answer["content"]


def test_what_is_damaged_is_kept_as_it_is_or_left_out(daemon: StartDaemon, agent_dir: Path) -> None:
    path = write_session(agent_dir / "sessions" / "--w--", *SAMPLE)
    content = path.read_bytes().splitlines(keepends=True)
    lost = (
        b'{"type":"message","id":"c","parentId":"b","timestamp":"x","message":{"password=hunter22\n'
    )
    path.write_bytes(b"".join([*content[:5], lost, content[6]]))
    talk = Talk(daemon(), path)
    assert b"".join(line + b"\n" for line in lines(exported(talk)))[-500:].count(b"hunter22") == 1
    hidden = exported(talk, mask=True)["content"]
    assert "hunter22" not in hidden
    assert [json.loads(line)["id"] for line in hidden.splitlines()][1:] == ["a", "b", "c", "d"]
    assert "damaged" in exported(talk, "html")["content"]


@pytest.mark.parametrize("case", ["19-v1-linear", "20-v2-hookmessage"])
def test_old_versions_are_exported_as_upgraded(
    daemon: StartDaemon, copy_session: Any, case: str
) -> None:
    talk = Talk(daemon(), copy_session(case))
    for branches in ("active", "all"):
        head = json.loads(lines(exported(talk, branches=branches))[0])
        assert head["version"] == 3
    assert talk.path.read_bytes() == (CASES / f"{case}.jsonl").read_bytes()


@pytest.mark.parametrize(
    "case",
    sorted(path.stem for path in CASES.glob("*.jsonl") if not path.stem.startswith("16-header")),
)
def test_every_case_is_exported_in_every_way(shared_daemon: Any, tmp_path: Path, case: str) -> None:
    path = tmp_path / f"{case}.jsonl"
    path.write_bytes((CASES / f"{case}.jsonl").read_bytes())
    for form in FORMATS:
        for branches in ("active", "all"):
            for mask in (False, True):
                params = {"format": form, "branches": branches, "mask": mask}
                answer = shared_daemon.request("session/export", {"session": str(path), **params})
                assert answer["content"]


def test_an_empty_session_is_exported(daemon: StartDaemon) -> None:
    client = daemon()
    client.request("session/create", {"id": "new"})
    for form in FORMATS:
        answer = client.request("session/export", {"session": "new", "format": form, "mask": True})
        assert answer["content"]
        assert answer["masked"] == []


def test_what_is_too_long_for_an_answer_needs_a_path(
    daemon: StartDaemon, agent_dir: Path, tmp_path: Path
) -> None:
    assert 4 * MOST_CONTENT_BYTES <= 3 * MAX_MESSAGE_BYTES
    records, before = [], None
    for number in range(MOST_CONTENT_BYTES // 1_000_000 + 1):
        name = f"m{number}"
        records.append(message(name, before, "user", text("x" * 1_000_000)))
        before = name
    talk = Talk(daemon(), write_session(agent_dir / "sessions" / "--w--", *records))
    for form in FORMATS:
        error = talk.error("export", format=form)
        assert (error.code, error.data["parameter"]) == (-32602, "path")
        assert "48 MiB" in error.message
        path = tmp_path / form
        assert exported(talk, form, path=str(path))["path"] == str(path)
        assert path.stat().st_size > MOST_CONTENT_BYTES


def test_damage_that_only_a_full_look_shows_is_found_first(
    daemon: StartDaemon, agent_dir: Path, tmp_path: Path
) -> None:
    records: list[Any] = []
    before = None
    for number in range(20):
        records.append(message(f"m{number}", before, "user", text("word " * 200_000)))
        before = f"m{number}"
    path = write_session(agent_dir / "sessions" / "--w--", *records)
    content = bytearray(path.read_bytes())
    assert len(content) > VERIFIED_BYTES
    middle = content.index(b'"id":"m7"')
    content[middle + 5_000 : middle + 5_004] = b'",,}'
    path.write_bytes(content)
    page = tmp_path / "page.html"
    Talk(daemon(), path).ask("export", format="html", mask=True, path=str(page))
    assert "The file is damaged here" in page.read_text(encoding="utf-8")


def test_others_append_while_an_export_is_made(
    environment: dict[str, str], agent_dir: Path, tmp_path: Path
) -> None:
    records, before = [], None
    for number in range(3_000):
        said_here = text(f"number {number} " + "word " * 400)
        records.append(message(f"m{number}", before, "user", said_here))
        before = f"m{number}"
    session = {"session": str(write_session(agent_dir / "sessions" / "--w--", *records))}
    folder = tmp_path / "out"
    folder.mkdir()
    path = folder / "page.html"
    params = {**session, "format": "html", "mask": True, "path": str(path)}
    with raw_daemon(SERVE, environment) as daemon:
        daemon.initialize()
        daemon.ask("session/open", session)
        daemon.send(request("session/export", params, "export"))
        while not os.listdir(folder):  # until it is under way
            daemon.ask("session/branches", session)
        for number in range(3):
            entries = {"entries": [said(f"later on {number}")]}
            assert "result" in strict(daemon.ask("session/append", {**session, **entries}))
        label = {"targetId": "m2999", "label": "labelled later"}
        assert "result" in strict(daemon.ask("session/label", {**session, **label}))
        (unfinished,) = folder.iterdir()  # they were answered first
        assert not unfinished.read_bytes().endswith(b"</html>\n")
        while (answer := strict(daemon.receive())).get("id") != "export":
            pass
    assert answer["result"]["path"] == str(path)
    page = path.read_text(encoding="utf-8")
    assert "number 2999" in page
    assert "later on" not in page
    assert "labelled later" not in page


def test_a_cancelled_export_leaves_nothing(
    environment: dict[str, str], agent_dir: Path, tmp_path: Path
) -> None:
    records, before = [], None
    for number in range(3_000):
        records.append(message(f"m{number}", before, "user", text("word " * 1000)))
        before = f"m{number}"
    session = {"session": str(write_session(agent_dir / "sessions" / "--w--", *records))}
    folder = tmp_path / "out"
    folder.mkdir()
    params = {**session, "format": "html", "mask": True, "path": str(folder / "page.html")}
    with raw_daemon(SERVE, environment) as daemon:
        daemon.initialize()
        daemon.ask("session/open", session)
        daemon.send(request("session/export", params, "export"))
        while not os.listdir(folder):  # until it is under way
            daemon.ask("session/branches", session)
        daemon.send(notification("$/cancelRequest", {"id": "export"}))
        while (answer := strict(daemon.receive())).get("id") != "export":
            pass
        assert answer["error"]["data"]["kind"] == "cancelled"
        assert os.listdir(folder) == []
