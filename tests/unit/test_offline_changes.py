"""What counts as a rule, and what later words and deeds make of what was said before."""

import pytest

from tests.unit.made_talks import Talk, in_short

# --- what is a rule ----------------------------------------------------------------------------

RULES = """\
It must run on Python 3.9.
Never commit to main directly.
I prefer small functions.
The public API stays as it is.
No new dependencies.
The config format is frozen.
Existing URLs remain valid.
Nothing in vendor/ may be edited.
Generated code is never edited by hand.
Es muss auf Windows laufen.
Die API bleibt unverändert.
Ich bevorzuge kleine Commits.
Lass die Tests in Ruhe.
Kommentare bitte auf Englisch.
必须使用 Python 3.9。
公共 API 保持不变。
我喜欢小的提交。
所有注释用英文写。
必ずテストを書いてください。
設定ファイルの形式は今のままで。
関数は短いほうが好きです。
依存関係を増やしたくない。""".splitlines()
NO_RULES = """\
I must say, nice work.
You must be tired by now.
Never mind.
I have never seen such a clean diff.
As always, thanks a lot!
It always fails on the second run.
Must it be that slow?
That must be the cache.
We must celebrate this!
Add a button to the page.
Ich muss sagen, gute Arbeit.
Wie immer super.
Der Test schlägt immer noch fehl.
Kein Problem.
我必须说，干得漂亮。
你总是这么厉害。
它总是失败。
一定是缓存的问题。
いつもありがとうございます。
必ずしもそうではない。
絶対すごいと思います。
ボタンを追加してください。""".splitlines()


def constraints(sentence: str) -> str:
    talk = Talk().user("Look at the code.").reply("I looked at it.").user(sentence)
    return talk.sections()["Constraints & Preferences"]


@pytest.mark.parametrize("sentence", RULES)
def test_a_demand_or_a_plain_rule_is_a_constraint(sentence: str) -> None:
    assert constraints(sentence) != ""


@pytest.mark.parametrize("sentence", NO_RULES)
def test_small_talk_and_requests_are_none(sentence: str) -> None:
    assert constraints(sentence) == ""


def test_a_rule_behind_small_talk_is_kept_without_it() -> None:
    assert constraints("I must say, nice work, but never touch the config.") == (
        "- never touch the config."
    )


def test_the_assistant_makes_no_rules() -> None:
    talk = Talk().user("Add a flag.").reply("You must never call this twice. Done.")
    assert talk.sections()["Constraints & Preferences"] == ""


def test_a_rule_with_another_number_takes_the_place_of_the_first() -> None:
    talk = Talk().user("The batch size must be 100.").reply("Set.")
    talk.user("The batch size must be 500.")
    assert talk.sections()["Constraints & Preferences"] == "- The batch size must be 500."


def test_a_lifted_rule_is_gone() -> None:
    talk = Talk().user("Never touch the migrations. Keep the logs.").reply("Ok.")
    talk.user("You may now touch the migrations.")
    found = talk.sections()
    assert found["Constraints & Preferences"] == "- Keep the logs."
    assert "You may now touch the migrations." in found["Key Decisions"]


def test_pasted_code_and_quotations_are_no_wish() -> None:
    talk = Talk().user("Why?\n```\nNever delete files.\n```\n> You must obey.\nAdd a log line.")
    found = talk.sections()
    assert found["Constraints & Preferences"] == ""
    assert found["Goal"] == "- Why? `Never delete files.` `You must obey.` Add a log line."


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
