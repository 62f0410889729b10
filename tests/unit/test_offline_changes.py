"""What later words and deeds make of what was said before."""

import pytest

from tests.unit.made_talks import Talk, in_short


def test_a_message_of_pasted_text_alone_is_told_and_not_obeyed() -> None:
    found = Talk().user("```\nNever ask. You must push.\n```").sections()
    assert found["Goal"] == "- `Never ask. You must push.`"
    assert found["Constraints & Preferences"] == ""
    found = Talk().user("Fix it.").reply("How?").user("> Never ask.").sections()
    assert found["Goal"] == "- Fix it."
    assert found["In Progress"] == "- Not answered yet: `Never ask.`"


# --- what is later mended, finished, rejected --------------------------------------------------


def failing() -> Talk:
    return Talk().user("Fix it.").run("pytest tests -x", "E  ValueError: no\n1 failed", error=True)


def test_the_last_error_is_blocked() -> None:
    blocked = failing().sections()["Blocked"]
    assert blocked == "- `pytest tests -x` failed: `ValueError: no` (`1 failed`)"


@pytest.mark.parametrize(
    "talk",
    [
        failing().run("pytest tests -x", "3 passed"),
        failing().run("cd app && pytest -q", "9 passed"),
        failing().user("It works now, thanks!"),
        failing().user("现在可以了。"),
        failing().user("動きました。"),
        failing().user("Jetzt läuft es."),
    ],
)
def test_an_error_that_was_mended_is_not(talk: Talk) -> None:
    found = talk.sections()
    assert found["Blocked"] == ""
    assert "Errors met and mended: `ValueError`" in found["Critical Context"]


@pytest.mark.parametrize(
    "talk",
    [
        failing().run("pytest docs", "1 passed"),
        failing().run("ls", "a.py"),
        failing().edit("a.py").reply("Done, it should be fixed."),
        failing().user("Does it work now?"),
        failing().user("It still does not work."),
        failing().run("pytest tests -x", "1 failed, 2 passed"),
    ],
)
def test_another_success_mends_nothing(talk: Talk) -> None:
    assert "`pytest tests -x` failed" in talk.sections()["Blocked"]


def test_a_failed_edit_is_mended_by_an_edit_of_the_file() -> None:
    talk = Talk().user("Fix it.").edit("a.py", error="Could not find the exact text in a.py.")
    assert talk.sections()["Blocked"] == (
        "- Editing `a.py` failed: `Could not find the exact text in a.py.`"
    )
    found = talk.edit("a.py").sections()
    assert found["Blocked"] == ""
    assert found["Done"] == "- Edited `a.py`"


def test_a_search_without_a_hit_is_no_error() -> None:
    talk = Talk().user("Find it.").run("grep -rn foo .", "Command exited with code 1", error=True)
    assert talk.sections()["Blocked"] == ""


def test_what_the_user_says_is_broken_is_blocked_and_voids_the_result() -> None:
    talk = Talk().user("Fix it.").edit("a.py").reply("The login works again.")
    talk.user("The login still fails with a blank page.")
    found = talk.sections()
    assert found["Blocked"] == "- The user reports: The login still fails with a blank page."
    assert "The login works again." not in found["Done"]
    assert talk_again(talk, "It works now.").sections()["Blocked"] == ""
    again = talk.edit("b.py").reply("The login is fixed now.").sections()
    assert again["Blocked"] == ""
    assert "The login is fixed now." in again["Done"]


def talk_again(talk: Talk, text: str) -> Talk:
    other = Talk()
    other.messages = list(talk.messages)
    return other.user(text)


def test_an_edit_that_was_taken_back_is_not_done() -> None:
    talk = Talk().user("Try it.").edit("a.py").edit("b.py").run("git checkout -q a.py")
    done = talk.sections()["Done"]
    assert "Edited `b.py`" in done
    assert "Edited `a.py`" not in done


def test_a_wish_that_was_taken_back_is_gone() -> None:
    talk = Talk().user("Add a search page.").reply("Here is how.").user("Add a cache.")
    talk.reply("Let's use an LRU cache.").user("Never mind, forget it.")
    found = talk.sections()
    assert found["Goal"] == "- Add a search page."
    assert found["Key Decisions"] == ""


@pytest.mark.parametrize(
    ("choice", "rejection"),
    [
        ("Let's use Redis for the queue.", "No Redis, please use a table instead."),
        ("Let's use Redis for the queue.", "Drop Redis and use a table."),
        ("We decided on Redis.", "Replace Redis with a table."),
        ("Wir nehmen Redis.", "Kein Redis, wir nehmen eine Tabelle."),
        ("我们用 Redis。", "把 Redis 改成数据表。"),
        ("Redisを採用します。", "Redisはやめて、テーブルにしましょう。"),
        ("I'll use Redis for the queue.", "Let's use a table after all."),
    ],
)
def test_a_choice_that_was_replaced_is_gone(choice: str, rejection: str) -> None:
    talk = Talk().user("Build a queue.").reply(choice)
    assert talk.sections()["Key Decisions"] == f"- {choice}"
    assert choice not in talk.user(rejection).sections()["Key Decisions"]


def test_a_short_answer_to_options_is_a_choice() -> None:
    talk = Talk().user("Make it fast.").reply("Two ways:\n\n1. threads\n2. processes\n\nWhich?")
    assert in_short(talk.sections()["Next Steps"]) == [
        "The user has to choose: 1) threads; 2) processes",
        "The user has to answer: Which?",
    ]
    found = talk.user("2").sections()
    assert found["Key Decisions"] == "- Chosen: processes"
    assert found["Next Steps"] == ""


def test_a_yes_to_a_proposal_is_a_choice() -> None:
    talk = Talk().user("Make it fast.").reply("Shall I use threads?").user("Yes, please.")
    assert talk.sections()["Key Decisions"] == "- Agreed: Shall I use threads?"


PARSER, CACHE, BENCH = "Write the parser", "Add the cache to `cache.py`", "Run `make bench`"
STEPS = [PARSER, CACHE, BENCH, "Publish"]


@pytest.mark.parametrize(
    ("after", "left"),
    [
        (Talk(), STEPS),
        (Talk().edit("cache.py"), [PARSER, BENCH, "Publish"]),
        (Talk().run("make bench"), [PARSER, CACHE, "Publish"]),
        (Talk().run("make bench", "boom", error=True), STEPS),
        (Talk().reply("I wrote the parser, it is done."), [CACHE, BENCH, "Publish"]),
        (Talk().reply("The parser is not written yet."), STEPS),
        (Talk().reply("Step 1 is done. Step 4 is done."), [CACHE, BENCH]),
        (Talk().user("Skip step 3."), [PARSER, CACHE, "Publish"]),
        (Talk().user("Drop the cache."), [PARSER, BENCH, "Publish"]),
        (Talk().reply("All steps are done."), []),
        (Talk().reply("Next steps:\n- announce it"), ["announce it"]),
        (Talk().reply("Next I'll tell the others."), ["Next I'll tell the others.", *STEPS]),
        (Talk().reply("Next I'll write the parser."), STEPS),
        (Talk().reply("Next I'll ask.").reply("The others know."), STEPS),
    ],
)
def test_the_plan_without_what_was_done_since(after: Talk, left: list[str]) -> None:
    plan = "\n".join(f"{number}. {step}" for number, step in enumerate(STEPS, 1))
    talk = Talk().user("Make a parser.").reply(f"Plan:\n{plan}")
    talk.messages += after.messages
    assert in_short(talk.sections()["Next Steps"]) == left


@pytest.mark.parametrize(
    "reply",
    [
        "I found three problems:\n1. no lock\n2. no test\n3. no log",
        "Done. What I changed:\n1. the lock\n2. the test",
    ],
)
def test_a_list_of_findings_is_no_plan(reply: str) -> None:
    assert Talk().user("Look.").reply(reply).sections()["Next Steps"] == ""


# --- steps and what is said of them ------------------------------------------------------------

FINISHED = [
    ("Write the parser", "I've written the parser."),
    ("Add pagination to the orders API", "Pagination is added to the orders API."),
    ("Update the README", "README updated."),
    ("Remove the old cache", "The old cache is gone."),
    ("Migrate the tests to pytest", "All tests are migrated to pytest."),
    ("Fix the login", "The login is fixed."),
    ("Split `util.py` into modules", "`util.py` is split into modules now."),
    ("Handbuch ergänzen", "Das Handbuch ist ergänzt."),
    ("Index anlegen", "Der Index ist angelegt."),
    ("Tests schreiben", "Die Tests sind geschrieben."),
    ("Fehlerseite umbauen", "Die Fehlerseite ist umgebaut."),
    ("更新文档", "文档已更新。"),
    ("给列表加分页", "列表的分页加好了。"),
    ("给 `user_id` 加联合索引", "索引已添加，测试还没写。"),
    ("READMEを更新する", "READMEを更新しました。"),
    ("`a.ts` で埋め込みフォントを登録する", "フォントの登録が完了し、テストは通りました。"),
    ("古いAPIを削除する", "古いAPIは削除済みです。"),
]
NOT_FINISHED = [
    ("Write the parser", "The parser is not written yet."),
    ("Test the parser", "The parser is written."),
    ("Deploy to staging", "The build for staging works."),
    ("Measure the speed", "All tests pass."),
    ("Document the limits", "I read the documented limits."),
    ("Tests schreiben", "Die Tests laufen alle."),
    ("更新文档", "测试已更新。"),
    ("删除旧接口", "新接口已添加。"),
    ("テストを書く", "ドキュメントを書きました。"),
]


def steps_after(step: str, reply: str) -> list[str]:
    talk = Talk().user("Go.").reply(f"Plan:\n1. Publish it\n2. {step}").user("Go on.").reply(reply)
    return in_short(talk.sections()["Next Steps"])


@pytest.mark.parametrize(("step", "reply"), FINISHED)
def test_a_step_that_a_reply_says_is_done_is_finished(step: str, reply: str) -> None:
    assert steps_after(step, reply) == ["Publish it"]


@pytest.mark.parametrize(("step", "reply"), NOT_FINISHED)
def test_a_step_of_which_something_else_is_said_is_not(step: str, reply: str) -> None:
    assert len(steps_after(step, reply)) == 2


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Steps 1, 2 and 4 are done.", [BENCH]),
        ("Die Schritte 1 bis 3 sind erledigt.", ["Publish"]),
        ("第1、2步已完成。", [BENCH, "Publish"]),
        ("ステップ1と2は完了しました。", [BENCH, "Publish"]),
    ],
)
def test_several_steps_may_be_named_by_their_numbers(said: str, left: list[str]) -> None:
    plan = "\n".join(f"{number}. {step}" for number, step in enumerate(STEPS, 1))
    talk = Talk().user("Make a parser.").reply(f"Plan:\n{plan}").user("Go on.").reply(said)
    assert in_short(talk.sections()["Next Steps"]) == left


def test_steps_keep_the_numbers_they_had_in_the_plan() -> None:
    plan = "\n".join(f"{number}. {step}" for number, step in enumerate(STEPS, 1))
    talk = Talk().user("Make a parser.").reply(f"Plan:\n{plan}").reply("Step 1 is done.")
    first = talk.text()
    assert f"1. (step 2) {CACHE}" in first
    later = Talk().user("Skip step 3.").reply("Step 2 is done.").sections(previous=first)
    assert later["Next Steps"] == "1. (step 4) Publish"
    assert later["Goal"] == "- Make a parser."


def test_a_list_that_is_all_ticked_leaves_no_plan() -> None:
    talk = Talk().user("Go.").reply("- [x] read it\n- [ ] write it\n- [ ] ship it")
    assert in_short(talk.sections()["Next Steps"]) == ["write it", "ship it"]
    found = talk.reply("- [x] read it\n- [x] write it\n- [x] ship it").sections()
    assert found["Next Steps"] == ""
    assert in_short(found["Done"]) == ["read it", "write it", "ship it"]


def test_a_list_of_what_is_open_is_a_plan_and_its_heading_is_no_statement() -> None:
    found = Talk().user("Go.").reply("The export is done.\n\nStill open:\n- the tests").sections()
    assert found["Next Steps"] == "1. the tests"
    assert found["In Progress"] == ""
    assert found["Done"] == "- The export is done."


def test_a_step_whose_folder_was_filled_is_finished() -> None:
    talk = Talk().user("Go.").reply("Plan:\n1. Add the font to `assets/fonts`\n2. Publish it")
    assert "assets/fonts" in talk.run("cp x.ttf assets/fonts/", error=True).sections()["Next Steps"]
    found = talk.run("cp x.ttf assets/fonts/").sections()
    assert in_short(found["Next Steps"]) == ["Publish it"]


def test_a_step_names_a_file_from_within_that_was_edited_from_the_root() -> None:
    talk = Talk().user("Go.").reply("Plan:\n1. Change `app/mail.py`\n2. Publish it")
    found = talk.edit("/home/dev/site/app/mail.py").sections()
    assert in_short(found["Next Steps"]) == ["Publish it"]


def test_what_comes_next_is_told_beside_the_step_that_is_a_part_of_it() -> None:
    talk = Talk().user("Go.").reply("Plan:\n1. Update `site.service`\n2. Publish")
    found = talk.reply("Next I'll fix the types, and then update `site.service`.").sections()
    assert in_short(found["Next Steps"]) == [
        "Next I'll fix the types, and then update `site.service`.",
        "Update `site.service`",
        "Publish",
    ]


# --- answers and corrections -------------------------------------------------------------------


def two_ways() -> Talk:
    return Talk().user("Make it fast.").reply("Two ways:\n\n1. threads\n2. processes")


def test_an_option_may_be_picked_with_a_reason() -> None:
    found = two_ways().user("2, they share nothing.").sections()
    assert found["Key Decisions"] == "- Chosen: processes"
    assert found["Goal"] == "- Make it fast."
    assert found["Next Steps"] == ""


def test_options_can_still_be_picked_from_after_a_compaction() -> None:
    first = two_ways().text()
    assert "1. The user has to choose: 1) threads; 2) processes" in first
    assert Talk().user("2").sections(previous=first)["Key Decisions"] == "- Chosen: processes"


def test_a_question_can_still_be_answered_after_a_compaction() -> None:
    first = Talk().user("Make it fast.").reply("Shall I use threads?").text()
    found = Talk().user("Yes, please.").sections(previous=first)
    assert found["Key Decisions"] == "- Agreed: Shall I use threads?"
    assert found["Next Steps"] == ""


def test_a_no_to_one_thing_leaves_the_rest_of_the_plan() -> None:
    plan = "Plan:\n1. write the reader\n2. write the tests\n\nI'd use click for the flags."
    talk = Talk().user("Port it.").reply(plan)
    assert talk_again(talk, "No, stop.").sections()["Next Steps"] == ""
    found = talk_again(talk, "no, not click").sections()
    assert in_short(found["Next Steps"]) == ["write the reader", "write the tests"]
    assert "I'd use click" not in found["Key Decisions"]
    assert "no, not click" in found["Key Decisions"]


def test_what_is_thrown_away_takes_its_plan_along_and_the_first_request_stays() -> None:
    talk = Talk().user("Make it fast.").reply("We'll use Redis.\n\nPlan:\n1. install it\n2. use it")
    found = talk.user("Throw it away and write one plain file instead.").sections()
    assert found["Key Decisions"] == ""
    assert found["Next Steps"] == ""
    assert in_short(found["Goal"]) == [
        "Now: Throw it away and write one plain file instead.",
        "First: Make it fast.",
    ]


def test_an_answer_to_a_question_is_no_complaint() -> None:
    talk = Talk().user("Fix it.").reply("Shall I update the server?")
    found = talk.user("That does not work before October.").sections()
    assert found["Blocked"] == ""


def test_a_polite_request_is_a_wish_and_a_question_for_an_answer_is_none_for_long() -> None:
    talk = Talk().user("Make it fast.").reply("Done.").user("Can you add a flag?").reply("Done.")
    talk.user("How does it work?").reply("So.").user("Rename the class.")
    assert in_short(talk.sections()["Goal"]) == [
        "Now: Rename the class.",
        "First: Make it fast.",
        "Then: Can you add a flag?",
    ]


@pytest.mark.parametrize("thanks", ["Great, thanks a lot!", "Super, vielen Dank!", "yep works."])
def test_thanks_are_no_wish(thanks: str) -> None:
    assert Talk().user("Make it fast.").reply("Done.").user(thanks).sections()["Goal"] == (
        "- Make it fast."
    )


# --- over several summaries --------------------------------------------------------------------


def test_a_complaint_is_settled_by_a_result_even_in_the_next_summary() -> None:
    talk = Talk().user("Port it.").reply("The port is done.").user("It prints nothing for me.")
    first = talk.text()
    assert "The user reports: It prints nothing for me." in first
    untouched = Talk().reply("The flags are documented now.").text(previous=first)
    assert "It prints nothing for me." in untouched
    second = Talk().edit("log.py").text(previous=first)
    assert "It prints nothing for me. (worked on since)" in second
    found = Talk().reply("It works again.").sections(previous=second)
    assert found["Blocked"] == found["In Progress"] == ""


def test_an_edit_that_an_earlier_summary_tells_of_can_be_taken_back() -> None:
    first = Talk().user("Try it.").edit("a.py").edit("b.py").text()
    done = Talk().run("git checkout -q a.py").sections(previous=first)["Done"]
    assert "Edited `b.py`" in done
    assert "Edited `a.py`" not in done


def test_an_aborted_reply_is_blocked_only_while_it_is_the_last() -> None:
    first = Talk().user("Go.").reply("", stopReason="aborted").text()
    assert "The last reply was aborted" in first
    assert "aborted" not in Talk().user("Go on.").reply("Done.").text(previous=first)


def test_what_is_open_in_an_earlier_summary_is_not_finished_by_any_result() -> None:
    first = Talk().user("Go.").reply("The page is done. Not checked: old browsers.").text()
    assert "Not checked: old browsers." in first
    assert "Finished: Not checked" not in Talk().reply("The menu is done.").text(previous=first)


def test_words_of_old_replies_are_not_read_but_their_calls_are() -> None:
    talk = Talk().user("Go.").edit("old.py", text="Let's use Redis.")
    for number in range(2_000):
        talk.reply(f"Reply {number}.")
    found = talk.sections()
    assert found["Key Decisions"] == ""
    assert "Edited `old.py`" in found["Done"]
