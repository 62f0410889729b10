"""``session/check``, ``session/repair``, and the upgrade with the first append."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import CASES, StartDaemon
from tests.e2e.talk import SAMPLE, Talk, said, write_session
from tests.e2e.world import codes, lines_of
from tests.unit.session_files import header, text_line, text_of_file, user

TORN = text_line(SAMPLE[-1])[:80]
DAMAGE: dict[str, bytes] = {
    "torn-tail": text_of_file(*SAMPLE) + TORN,
    "no-final-newline": text_of_file(*SAMPLE)[:-1],
    "nul-bytes": text_of_file(*SAMPLE[:3], b"\0" * 9, *SAMPLE[3:]),
    "invalid-utf8": text_of_file(*SAMPLE).replace(b"another way", b"another \xff way"),
    "bad-line": text_of_file(*SAMPLE[:3], b"oops", *SAMPLE[3:]),
    "placeholder": text_of_file(SAMPLE[0], text_line(SAMPLE[1])[:90], *SAMPLE[2:]),
    "not-an-entry": text_of_file(*SAMPLE[:3], b"[]", *SAMPLE[3:]),
    "duplicate-id": text_of_file(*SAMPLE[:3], user("e", "b", "another way"), *SAMPLE[3:]),
    "orphan": text_of_file(*SAMPLE[:2], user("o", "gone"), *SAMPLE[2:]),
    "cycle": text_of_file(*SAMPLE[:2], user("o", "o"), *SAMPLE[2:]),
    "extra-header": text_of_file(*SAMPLE[:3], header(id="other"), *SAMPLE[3:]),
    "bom": text_of_file(*SAMPLE),
    "header-not-first": text_of_file(*SAMPLE),
}


@pytest.fixture
def damaged(agent_dir: Path) -> Any:
    """Make a session with one kind of damage."""

    def make(code: str) -> Path:
        path = write_session(agent_dir / "sessions" / "--w--")
        before = {"bom": b"\xef\xbb\xbf", "header-not-first": b'{"type":"title"}\n'}
        path.write_bytes(before.get(code, b"") + path.read_bytes() + DAMAGE[code])
        return path

    return make


def test_a_check_of_a_clean_session(talk: Talk) -> None:
    answer = talk.ask("check")
    assert answer["warnings"] == []
    assert isinstance(answer["summary"], str)


@pytest.mark.parametrize("code", DAMAGE)
def test_a_check_names_the_damage_and_its_place(
    daemon: StartDaemon, damaged: Any, code: str
) -> None:
    talk = Talk(daemon(), damaged(code))
    answer = talk.ask("check")
    assert answer["warnings"] == talk.opened["warnings"]
    found = [one for one in answer["warnings"] if one["code"] == code]
    assert len(found) == 1
    assert found[0].keys() == {"code", "message", "line", "offset", "length", "entryId"}
    content = talk.path.read_bytes()
    assert found[0]["offset"] is not None
    if found[0]["line"] is not None:
        assert content[: found[0]["offset"]].count(b"\n") + 1 == found[0]["line"]
    assert str(len(answer["warnings"])) in answer["summary"]


@pytest.mark.parametrize("code", DAMAGE)
def test_repair_mends_it_and_keeps_the_old_file(
    daemon: StartDaemon, damaged: Any, code: str
) -> None:
    path = damaged(code)
    content = path.read_bytes()
    talk = Talk(daemon(), path)
    before = talk.ask("context")
    answer = talk.ask("repair")
    assert answer == {"backup": f"{path}.bak", "warnings": []}
    assert Path(answer["backup"]).read_bytes() == content
    lines_of(path)
    assert talk.ask("check")["warnings"] == []
    after = talk.ask("context")
    for key in ("leafId", "path", "sources", "messages"):
        assert after[key] == before[key]
    again = talk.reopened(daemon)
    assert (again.opened["warnings"], again.opened["leafId"]) == ([], before["leafId"])
    kept = path.read_bytes().splitlines()
    for record in SAMPLE:
        line = text_line(record)
        assert line in kept or line not in content.splitlines()


@pytest.mark.parametrize("code", ["bad-line", "placeholder"])
def test_a_repair_is_told_and_the_session_goes_on(
    daemon: StartDaemon, damaged: Any, code: str
) -> None:
    talk = Talk(daemon(), damaged(code))
    talk.ask("repair")
    (change,) = talk.told()
    assert (change["revision"], change["appended"], change["warnings"]) == (1, [], [])
    assert change["leafId"] == change["previousLeafId"] == "d"
    assert talk.append(said())["entries"][0]["parentId"] == "d"
    lines_of(talk.path)


def test_repair_of_a_clean_session_changes_nothing(talk: Talk) -> None:
    before = talk.path.stat()
    assert talk.ask("repair") == {"backup": None, "warnings": []}
    after = talk.path.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert [item.name for item in talk.path.parent.iterdir()] == [talk.path.name]
    assert talk.told() == []


def test_a_second_repair_has_nothing_to_do(daemon: StartDaemon, damaged: Any) -> None:
    talk = Talk(daemon(), damaged("bad-line"))
    talk.ask("repair")
    assert talk.ask("repair")["backup"] is None


def test_what_people_said_is_no_damage(daemon: StartDaemon, agent_dir: Path) -> None:
    odd = {"type": "from-the-future", "id": "z", "parentId": "d", "timestamp": "t"}
    talk = Talk(daemon(), write_session(agent_dir / "sessions" / "--w--", *SAMPLE, odd))
    before = talk.path.read_bytes()
    answer = talk.ask("repair")
    assert (answer["backup"], codes(answer["warnings"])) == (None, {"unknown-type"})
    assert talk.path.read_bytes() == before


def test_a_repaired_leaf_that_was_moved_stays_there(daemon: StartDaemon, damaged: Any) -> None:
    talk = Talk(daemon(), damaged("bad-line"))
    talk.ask("switchLeaf", targetId="f")
    talk.ask("repair")
    assert talk.leaf() == talk.reopened(daemon).opened["leafId"] == "f"


# --- upgrade ---------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["19-v1-linear", "20-v2-hookmessage"])
def test_an_old_version_is_rewritten_with_the_first_append(
    daemon: StartDaemon, copy_session: Any, case: str
) -> None:
    path = copy_session(case)
    old = path.read_bytes()
    talk = Talk(daemon(), path)
    before = talk.ask("context")
    assert path.read_bytes() == old
    answer = talk.append(said("goes on", id="new"))
    assert answer["revision"] == 2
    assert Path(f"{path}.bak").read_bytes() == old
    records = lines_of(path)
    assert (records[0]["version"], records[-1]["id"]) == (3, "new")
    assert records[-1]["parentId"] == before["leafId"]
    assert all("id" in one and "parentId" in one for one in records[1:])
    after = talk.ask("context")
    assert after["path"] == [*before["path"], "new"]
    assert after["messages"][:-1] == before["messages"]
    again = talk.reopened(daemon)
    assert not codes(again.opened["warnings"]) & {"migrated-v1", "migrated-v2"}
    assert again.ask("context")["path"] == after["path"]


def test_clients_are_told_of_the_upgrade(daemon: StartDaemon, copy_session: Any) -> None:
    talk = Talk(daemon(), copy_session("19-v1-linear"))
    talk.append(said())
    upgrade, append = talk.told()
    assert (upgrade["revision"], upgrade["previousRevision"], upgrade["appended"]) == (1, 0, [])
    assert "migrated-v1" not in codes(upgrade["warnings"])
    assert (append["revision"], append["previousRevision"], len(append["appended"])) == (2, 1, 1)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("append", {"entries": [{"type": "label", "targetId": "gone"}]}),
        ("append", {"entries": [said()], "expectedLeafId": "gone"}),
        ("append", {"entries": [said()], "parentId": "gone"}),
        ("label", {"targetId": "gone", "label": "x"}),
        ("switchLeaf", {"targetId": "gone"}),
    ],
)
def test_a_refused_change_upgrades_nothing(
    daemon: StartDaemon, copy_session: Any, method: str, params: Any
) -> None:
    talk = Talk(daemon(), copy_session("19-v1-linear"))
    talk.error(method, **params)
    assert [item.name for item in talk.path.parent.iterdir()] == [talk.path.name]


def test_a_move_to_the_leaf_upgrades_nothing(daemon: StartDaemon, copy_session: Any) -> None:
    talk = Talk(daemon(), copy_session("20-v2-hookmessage"))
    talk.ask("switchLeaf", targetId="a0000003")
    assert talk.path.read_bytes() == (CASES / "20-v2-hookmessage.jsonl").read_bytes()


def test_ids_of_version_1_are_the_same_each_time(daemon: StartDaemon, copy_session: Any) -> None:
    path = copy_session("19-v1-linear")
    one, other = Talk(daemon(), path).ask("context"), Talk(daemon(), path).ask("context")
    assert one["path"] == other["path"]


def test_a_version_1_file_that_grew_in_pi_is_upgraded_whole(
    daemon: StartDaemon, copy_session: Any
) -> None:
    path = copy_session("19-v1-linear")
    talk = Talk(daemon(), path)
    old = {"type": "message", "timestamp": "t", "message": {"role": "user", "content": "by pi"}}
    with path.open("ab") as file:
        file.write(json.dumps(old).encode() + b"\n")
    talk.append(said("ours"))
    records = lines_of(path)
    assert [one["message"]["content"] for one in records[-2:]] == ["by pi", "ours"]
    assert records[-1]["parentId"] == records[-2]["id"]
    assert records[-2]["parentId"] == records[-3]["id"]
