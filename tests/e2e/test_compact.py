"""``session/compact``: what is planned, written, seen before it is stored, and stored."""

from pathlib import Path
from typing import Any

import pytest

from branchline.summaries.sections import BRIDGE_HEADING, parse
from tests.e2e.conftest import TESTS, StartDaemon
from tests.e2e.editor import (
    CONVERSATION,
    KEEP,
    KEPT,
    LONG,
    SPLIT,
    asked,
    call,
    editor,
    result,
    said,
    session,
    told,
)
from tests.e2e.talk import Talk
from tests.e2e.world import lines_of, user

Json = Any
KEYS = {
    "entryId",
    "leafId",
    "revision",
    "summary",
    "draftId",
    "tokensAfter",
    "summarizer",
    "usage",
    "plan",
}
PLAN = {
    "firstKeptEntryId",
    "isSplitTurn",
    "summarized",
    "turnPrefix",
    "kept",
    "previousCompactionId",
    "tokensBefore",
    "tokensAfter",
    "readFiles",
    "modifiedFiles",
    "summarizer",
    "promptTokens",
}
OFFLINE = {"kind": "offline", "model": None, "host": None}
FILES = "<read-files>\na.py\n</read-files>\n\n<modified-files>\nb.py\n</modified-files>"


@pytest.fixture
def talk(daemon: StartDaemon, agent_dir: Path) -> Talk:
    return Talk(daemon(), session(agent_dir, *CONVERSATION))


def compact(talk: Talk, **params: Json) -> Json:
    return talk.ask("compact", **{"keepRecentTokens": KEEP, **params})


# --- plan ----------------------------------------------------------------------------------------


def test_a_dry_run_plans_and_stores_nothing(talk: Talk) -> None:
    before = talk.path.read_bytes()
    answer = compact(talk, dryRun=True)
    assert answer.keys() == KEYS
    plan = answer["plan"]
    assert plan.keys() == PLAN
    assert (plan["firstKeptEntryId"], plan["isSplitTurn"], plan["turnPrefix"]) == ("u2", False, [])
    assert plan["summarized"] == ["u1", "a1", "r1", "a2", "r2", "a3"]
    assert (plan["kept"], plan["previousCompactionId"]) == (KEPT, None)
    assert (plan["readFiles"], plan["modifiedFiles"]) == (["a.py"], ["b.py"])
    assert plan["tokensBefore"] == talk.opened["usage"]["tokens"] > 1400
    assert 0 < answer["tokensAfter"] == plan["tokensAfter"] < plan["tokensBefore"]
    assert (plan["summarizer"], plan["promptTokens"]) == (OFFLINE, None)
    assert (answer["entryId"], answer["summary"], answer["draftId"], answer["usage"]) == (None,) * 4
    assert (answer["leafId"], answer["revision"]) == ("a4", 0)
    assert (talk.path.read_bytes(), talk.told("session/busy")) == (before, [])


def test_a_plan_may_be_made_of_what_may_not_be_written(daemon: StartDaemon, talk: Talk) -> None:
    reader = Talk(daemon(), talk.path, readOnly=True)
    assert compact(reader, dryRun=True)["plan"]["firstKeptEntryId"] == "u2"
    for params in ({}, {"preview": True}, {"summary": "x"}):
        assert reader.error("compact", keepRecentTokens=KEEP, **params).code == 4006


def test_by_itself_a_plan_keeps_what_the_settings_say(daemon: StartDaemon, talk: Talk) -> None:
    error = talk.error("compact", dryRun=True)
    assert (error.code, error.data["kind"]) == (4009, "nothingToCompact")
    assert (error.data["tokens"], error.data["keepRecentTokens"]) == (
        talk.opened["usage"]["tokens"],
        20_000,
    )
    small = Talk(daemon({"compaction": {"keepRecentTokens": KEEP}}), talk.path)
    assert small.ask("compact", dryRun=True)["plan"]["firstKeptEntryId"] == "u2"


def test_what_was_just_compacted_or_is_empty_cannot_be(
    daemon: StartDaemon, agent_dir: Path
) -> None:
    talk = Talk(daemon(), session(agent_dir, *CONVERSATION))
    compact(talk)
    for params in ({"keepRecentTokens": 0}, {"summary": "my own"}):
        assert talk.error("compact", **params).code == 4009
    talk.ask("switchLeaf", targetId=None)
    assert talk.error("compact", keepRecentTokens=0).code == 4009


# --- stored --------------------------------------------------------------------------------------


def test_an_offline_summary_is_stored_as_pi_stores_one(talk: Talk) -> None:
    answer = compact(talk)
    record = lines_of(talk.path)[-1]
    assert list(record) == [
        "type",
        "id",
        "parentId",
        "timestamp",
        "summary",
        "firstKeptEntryId",
        "tokensBefore",
        "details",
        "systemMessage",
    ]
    assert (record["type"], record["id"], record["parentId"]) == (
        "compaction",
        answer["entryId"],
        "a4",
    )
    assert answer["leafId"] == answer["entryId"]
    assert answer["revision"] == 1
    assert record["summary"] == answer["summary"]
    assert record["summary"].endswith(f"\n\n{FILES}")
    assert record["summary"].count("<read-files>") == 1
    assert parse(record["summary"], "compaction").missing == []
    assert "Make the parser fast." in record["summary"]
    assert record["details"] == {"readFiles": ["a.py"], "modifiedFiles": ["b.py"]}
    assert record["tokensBefore"] == answer["plan"]["tokensBefore"]
    assert (answer["summarizer"], answer["usage"]) == (OFFLINE, None)
    assert talk.told()[-1]["leafId"] == answer["entryId"]


def test_the_context_after_it_is_the_summary_and_what_was_kept(
    talk: Talk, daemon: StartDaemon
) -> None:
    before = talk.ask("context")
    answer = compact(talk)
    after = talk.ask("context")
    assert after["sources"] == [answer["entryId"], *KEPT]
    assert [one["role"] for one in after["messages"]] == [
        "system",
        "compactionSummary",
        "user",
        "assistant",
    ]
    assert after["messages"][0]["content"] == before["messages"][0]["content"] == "You are careful."
    assert (after["tools"], after["model"]) == (before["tools"], before["model"])
    assert [tool["name"] for tool in after["tools"]] == ["read"]
    assert after["usage"]["tokens"] == answer["tokensAfter"] < before["usage"]["tokens"]
    assert talk.reopened(daemon).ask("context") == after


def test_the_system_message_is_folded_into_the_checkpoint(talk: Talk) -> None:
    patch = {"role": "system", "content": "And brief.", "sections": {"a": "A"}}
    talk.append({"type": "message", "message": patch})
    talk.append(user("Go on."))
    compact(talk)
    record = lines_of(talk.path)[-1]
    system = record["systemMessage"]
    assert (system["role"], system["content"]) == ("system", "You are careful.\n\nAnd brief.")
    assert (system["sections"], [one["name"] for one in system["toolsAdded"]]) == (
        {"a": "A"},
        ["read"],
    )
    assert 0 <= system["timestamp"] - 1767323045678 < 10**12
    assert system["timestamp"] > 1767323045678  # the checkpoint's time, as in Pi


def test_going_back_to_where_it_was_undoes_it(talk: Talk) -> None:
    before = talk.ask("context")
    answer = compact(talk)
    back = talk.ask("switchLeaf", targetId="a4", position="at")
    assert (back["leafId"], back["previousLeafId"]) == ("a4", answer["entryId"])
    after = talk.ask("context")
    assert {key: after[key] for key in before} == before
    assert compact(talk)["plan"] == answer["plan"]


def test_file_lists_are_appended_once(talk: Talk) -> None:
    text = f"## Goal\nMine.\n\n{FILES}"
    assert compact(talk, summary=f"{text}\n")["summary"] == text


# --- what a person sees first --------------------------------------------------------------------


def test_a_persons_own_text_is_stored(talk: Talk) -> None:
    answer = compact(talk, summary="What I know.")
    assert answer["summary"] == f"What I know.\n\n{FILES}"
    assert (answer["summarizer"], answer["usage"], answer["plan"]["summarizer"]) == (None,) * 3
    record = lines_of(talk.path)[-1]
    assert (record["summary"], record["firstKeptEntryId"]) == (answer["summary"], "u2")
    assert "fromHook" not in record
    assert talk.told("session/busy") == []


@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_blank_text_is_refused(talk: Talk, blank: str) -> None:
    error = talk.error("compact", keepRecentTokens=KEEP, summary=blank)
    assert (error.code, error.data["field"]) == (4003, "summary")
    draft = compact(talk, preview=True)["draftId"]
    talk.client.notifications.clear()
    assert talk.error("compact", draftId=draft, summary=blank).code == 4003


def test_a_preview_is_written_and_not_stored(talk: Talk) -> None:
    before = talk.path.read_bytes()
    answer = compact(talk, preview=True)
    assert answer.keys() == KEYS
    assert answer["plan"].keys() == PLAN
    assert answer["summary"].endswith(FILES)
    assert answer["draftId"]
    assert (answer["entryId"], answer["leafId"], answer["revision"]) == (None, "a4", 0)
    assert answer["summarizer"] == OFFLINE
    assert (talk.path.read_bytes(), talk.leaf()) == (before, "a4")
    stored = talk.ask("compact", draftId=answer["draftId"])
    assert (stored["summary"], stored["plan"]) == (answer["summary"], answer["plan"])
    assert stored["draftId"] is None
    assert lines_of(talk.path)[-1]["summary"] == answer["summary"]


@pytest.mark.parametrize("only_look", ["dryRun", "preview"])
def test_looking_at_a_draft_or_a_text_again_stores_nothing(talk: Talk, only_look: str) -> None:
    before = talk.path.read_bytes()
    draft = compact(talk, preview=True)["draftId"]
    again = talk.ask("compact", draftId=draft, summary="Edited.", **{only_look: True})
    assert (again["summary"], again["draftId"], again["entryId"]) == ("Edited.", draft, None)
    own = compact(talk, summary="Mine.", **{only_look: True})
    assert (own["summary"], own["entryId"]) == ("Mine.", None)
    assert talk.path.read_bytes() == before
    assert talk.ask("compact", draftId=draft)["entryId"] == talk.leaf()


def test_a_draft_may_be_edited_and_is_used_up(talk: Talk) -> None:
    draft = compact(talk, preview=True)["draftId"]
    answer = talk.ask("compact", draftId=draft, summary="Edited.")
    assert answer["summary"] == f"Edited.\n\n{FILES}"
    assert lines_of(talk.path)[-1]["firstKeptEntryId"] == "u2"
    talk.client.notifications.clear()
    error = talk.error("compact", draftId=draft)
    assert (error.code, error.data["parameter"]) == (-32602, "draftId")


def test_a_draft_is_stored_once(environment: dict[str, str], agent_dir: Path) -> None:
    path = session(agent_dir, *CONVERSATION)
    with editor(environment, path, {}) as ed:
        draft = ed.ask("compact", keepRecentTokens=KEEP, preview=True)["draftId"]
        both = [ed.start("compact", draftId=draft) for _ in range(2)]
        first, second = (ed.wait(one) for one in both)
        assert first["result"]["entryId"] == ed.leaf()
        assert second["error"]["code"] == -32602
    assert [one["type"] for one in lines_of(path)].count("compaction") == 1


def test_a_draft_whose_storing_fails_is_kept(talk: Talk) -> None:
    draft = compact(talk, preview=True)["draftId"]
    talk.client.notifications.clear()
    assert talk.error("compact", draftId=draft, expectedLeafId="u1").code == 4004
    assert talk.ask("compact", draftId=draft)["entryId"] == talk.leaf()


def test_a_draft_is_one_of_its_session_and_its_kind(
    talk: Talk, daemon: StartDaemon, agent_dir: Path
) -> None:
    draft = compact(talk, preview=True)["draftId"]
    target = {"targetId": "u1", "position": "at"}
    talk.client.notifications.clear()
    error = talk.error("switchLeaf", **target, summary={"mode": "text", "draftId": draft})
    assert (error.code, error.data["parameter"]) == (-32602, "summary.draftId")
    other = Talk(talk.client, session(agent_dir / "other", *CONVERSATION))
    for one in (other, Talk(daemon(), talk.path)):
        one.client.notifications.clear()
        assert one.error("compact", draftId=draft).code == -32602
    assert talk.error("compact", draftId="none").code == -32602


def test_a_draft_is_stored_where_the_branch_went_on(talk: Talk) -> None:
    draft = compact(talk, preview=True)["draftId"]
    leaf = talk.append({"type": "message", "message": {"role": "user", "content": "more"}})[
        "leafId"
    ]
    talk.client.notifications.clear()
    error = talk.error("compact", draftId=draft, expectedLeafId="a4")
    assert (error.code, error.data["leafId"]) == (4004, leaf)
    answer = talk.ask("compact", draftId=draft, expectedLeafId=leaf)
    assert talk.entry(answer["entryId"])["parentId"] == leaf
    assert talk.ask("context")["sources"] == [answer["entryId"], *KEPT, leaf]


def test_a_draft_is_refused_where_the_branch_is_another(talk: Talk) -> None:
    draft = compact(talk, preview=True)["draftId"]
    talk.ask("switchLeaf", targetId="a3")
    talk.client.notifications.clear()
    error = talk.error("compact", draftId=draft)
    assert (error.code, error.data["leafId"]) == (4004, "a3")
    talk.ask("switchLeaf", targetId="a4")
    assert talk.ask("compact", draftId=draft)["entryId"] == talk.leaf()


def test_the_leaf_must_be_where_it_is_expected(talk: Talk) -> None:
    for params in ({}, {"dryRun": True}, {"preview": True}, {"summary": "x"}):
        error = talk.error("compact", keepRecentTokens=KEEP, expectedLeafId="a3", **params)
        assert (error.code, error.data["leafId"]) == (4004, "a4")
    assert compact(talk, expectedLeafId="a4")["entryId"]


def test_many_sessions_later_the_draft_is_still_there(
    daemon: StartDaemon, agent_dir: Path, tmp_path: Path
) -> None:
    talk = Talk(daemon(), session(agent_dir, *CONVERSATION))
    draft = compact(talk, preview=True)["draftId"]
    talk.ask("close")
    for number in range(20):
        path = session(tmp_path / str(number), *CONVERSATION)
        talk.client.request("session/context", {"session": str(path)})
    assert talk.ask("compact", draftId=draft)["entryId"] == talk.leaf()


def test_only_the_beginning_of_a_turn_may_be_left_to_cover(
    daemon: StartDaemon, agent_dir: Path
) -> None:
    one_turn = (
        asked("u1", None, "Port it all."),
        told("a1", "u1", *said(f"I begin. {LONG}"), call("c1", "write", path="x.py")),
        result("r1", "a1", "c1", "ok"),
        told("a2", "r1", *said("Done.")),
    )
    talk = Talk(daemon(), session(agent_dir, *one_turn))
    answer = talk.ask("compact", keepRecentTokens=1)
    assert (answer["plan"]["summarized"], answer["plan"]["turnPrefix"]) == ([], ["u1", "a1", "r1"])
    assert answer["summary"].startswith(f"{BRIDGE_HEADING}\n\n## Request\n- Port it all.")
    assert answer["summary"].count("## ") == 4
    # The next one updates it: what it says of the turn is no junk there.
    talk.append(user("And now the rest."))
    second = talk.ask("compact", keepRecentTokens=1)
    assert second["plan"]["previousCompactionId"] == answer["entryId"]
    assert BRIDGE_HEADING not in second["summary"]
    assert "Port it all." in parse(second["summary"], "compaction").sections["Goal"]
    assert "Done So Far" not in second["summary"]
    assert "x.py" in second["plan"]["modifiedFiles"]


CASES = {
    "28-firstkept-missing": ["a0000006"],
    "30-firstkept-self": ["a0000006"],
    "32-two-compactions": ["a0000002", "a0000004", "a0000005"],
}


@pytest.mark.parametrize("name", CASES)
def test_it_starts_at_the_first_entry_that_the_last_one_kept(
    daemon: StartDaemon, agent_dir: Path, name: str
) -> None:
    records = (TESTS / "cases" / f"{name}.jsonl").read_bytes()
    path = session(agent_dir)
    path.write_bytes(records)
    talk = Talk(daemon(), path)
    talk.append(user("Go on."))
    plan = talk.ask("compact", keepRecentTokens=1, dryRun=True)["plan"]
    covered = [*plan["summarized"], *plan["turnPrefix"]]
    assert covered[: len(CASES[name])] == CASES[name]
    assert plan["previousCompactionId"] is not None
    assert plan["kept"] == [talk.leaf()]


def test_a_cut_is_never_made_at_a_tool_result(daemon: StartDaemon, agent_dir: Path) -> None:
    talk = Talk(daemon(), session(agent_dir, *SPLIT))
    for keep in (1, 5, 20, 600, 1000, 1500):
        plan = talk.ask("compact", keepRecentTokens=keep, dryRun=True)["plan"]
        assert plan["firstKeptEntryId"] not in ("r1", "r2", "r3")


def test_a_context_that_was_due_is_so_no_more(daemon: StartDaemon, agent_dir: Path) -> None:
    settings = {
        "contextWindow": 2000,
        "compaction": {"reserveTokens": 1000, "keepRecentTokens": KEEP},
    }
    talk = Talk(daemon(settings), session(agent_dir, *CONVERSATION))
    assert talk.opened["usage"]["due"] is True
    talk.ask("compact")
    assert talk.ask("context")["usage"]["due"] is False
