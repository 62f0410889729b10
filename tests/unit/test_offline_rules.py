"""What counts as a rule of the user, in several languages, and what only sounds like one."""

import pytest

from tests.unit.made_talks import Talk, in_short

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
依存関係を増やしたくない。
Please stick to Python 3.9 syntax.
We can't use any GPL code.
Keep the bundle under 200 kB.
All new code has to be covered by tests.
Don't you dare touch the prod database.
Avoid global state.
I'd like to keep the old endpoint working.
Whatever you do, the migration needs to be reversible.
No emojis in commit messages.
Stay away from src/legacy.
Make sure it still runs on Windows.
Only the admin may see this.
It's important that the build stays reproducible.
Under no circumstances delete user data.
Use tabs, not spaces.
Please write tests first.
Use as few dependencies as possible.
The function signature can't change.
It has to be backward compatible.
keep it simple, no frameworks
Stay within the standard library.
Nobody but the owner may read these files.
You're not supposed to edit generated files.
Memory usage should not exceed 512 MB.
We need to support Postgres 12.
I want small commits.
one commit per change please
Verwende ausschließlich die Standardbibliothek.
Bitte keine globalen Variablen.
Die Laufzeit sollte unter 2 Sekunden bleiben.
Achte darauf, dass die Logs auf Englisch sind.
Es ist wichtig, dass alte Clients weiter funktionieren.
Finger weg von der Produktionsdatenbank.
Tests bitte zuerst schreiben.
Am Schema wird nichts geändert.
Wir müssen Windows unterstützen.
Halte die Funktionen kurz.
Es soll weiterhin mit Python 3.8 laufen.
Mir sind kleine Commits lieber.
不能影响线上用户。
尽量少改动。
变量名用驼峰。
先写测试再写代码。
不要引入新的依赖。
接口要向后兼容。
内存占用控制在 1GB 以内。
所有提交信息都要写中文。
千万别动生产库。
只改 src 目录。
希望保持现有的目录结构。
既存のAPIは変更しないでください。
本番環境には触らないように。
外部ライブラリはできるだけ使わない方針で。
コメントは英語でお願いします。
メモリは1GB以内に収めてください。
必ずテストも書いてください。
後方互換性を保ってください。
勝手にファイルを消さないで。
コミットは小さめにお願いします。""".splitlines()
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
ボタンを追加してください。
That never happened before.
I always forget the flag name.
It must have been the cache.
Can you keep me posted?
The test only fails on CI.
You should see my desk.
Let's keep going.
I don't know why it fails.
Do you prefer tea or coffee?
Same here!
Add a limit of 10 requests.
Please don't worry about it.
Use the new parser in the importer.
You can do that too.
Make the button blue.
Never seen such a fast build!
We should celebrate.
I can't log in any more.
It can't be the cache.
Ich habe das nie verstanden.
Das muss am Cache liegen.
Darf ich dich was fragen?
Immer das Gleiche mit dem Ding...
Das geht ja immer noch nicht.
Mach den Knopf blau.
Nimm den neuen Parser.
Das läuft bei mir nicht.
我不能登录了。
你一定很累吧。
这个必须点赞！
最好的方案就是这个。
把按钮改成蓝色。
页面打不开了。
やはり動かないですね。
必ず動くとは限らないですね。
絶対に無理だと思った。
ボタンを青にしてください。
いつもエラーになります。
That was never the plan, haha.
I keep forgetting how this works.
Rename the class to Importer.
Why does it always crash here?
Show me the log.
The page must have been cached.
Write a test for the parser.
Now the second one.
We use it every day, nice work.
You're always so fast!
It should be in src/app.py.
Can we use threads here?
Don't know, what do you think?
Zeig mir mal den Log.
Das war noch nie so schnell.
Schreib einen Test für den Parser.
Es muss wohl am Netz gelegen haben.
Kannst du das immer so machen?
写一个解析器的测试。
这个问题总是出现。
看一下日志。
你必须休息一下，哈哈。
ログを見せてください。
パーサーのテストを書いてください。
いつも思うけど、速いね。""".splitlines()


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


LISTS = [
    "Some ground rules:\n- stay under 200 ms\n- imperative commit messages",
    "Build it.\n\nConstraints:\n1. stay under 200 ms\n2. imperative commit messages",
    "Bau das.\n\n## Vorgaben\n- stay under 200 ms\n- imperative commit messages",
    "要求如下：\n- stay under 200 ms\n- imperative commit messages",
    "条件:\n- stay under 200 ms\n- imperative commit messages",
]


@pytest.mark.parametrize("text", LISTS)
def test_the_items_of_a_list_of_rules_are_rules_and_no_plan(text: str) -> None:
    found = Talk().user("Look at it.").reply("I did.").user(text).sections()
    assert in_short(found["Constraints & Preferences"]) == [
        "stay under 200 ms",
        "imperative commit messages",
    ]
    assert found["Next Steps"] == ""


def test_a_list_of_wishes_is_no_list_of_rules() -> None:
    found = Talk().user("Please:\n1. add a flag\n2. rename the class").sections()
    assert found["Constraints & Preferences"] == ""
    assert in_short(found["Next Steps"]) == ["add a flag", "rename the class"]


def test_an_exception_is_kept_beside_the_rule() -> None:
    talk = Talk().user("Only touch src/orders, please.").reply("Ok.")
    talk.user("You can touch src/gateway now too.")
    assert in_short(talk.sections()["Constraints & Preferences"]) == [
        "Only touch src/orders, please.",
        "You can touch src/gateway now too.",
    ]


def test_a_rule_behind_a_but_is_a_rule_of_its_own() -> None:
    talk = Talk().user("Look at it.").reply("I did.")
    found = talk.user("Dann jetzt die Migration, aber lösch bitte nichts.").sections()
    assert found["Constraints & Preferences"] == "- lösch bitte nichts."
    assert in_short(found["Goal"])[0] == "Now: Dann jetzt die Migration"


def test_what_stands_behind_a_smiley_is_a_sentence_of_its_own() -> None:
    talk = Talk().user("Look at it.").reply("I did.")
    found = talk.user("you must have had your coffee :) add the library page").sections()
    assert found["Constraints & Preferences"] == ""
    assert in_short(found["Goal"])[0] == "Now: add the library page"


def test_thirty_rules_are_kept() -> None:
    animals = [f"{first}{second}" for first in "ab" for second in "bcdfghjklmnprst"]
    talk = Talk().user("Build a zoo. " + " ".join(f"Never feed a {one}fant." for one in animals))
    talk.reply("I will.").user("Go on with the cages.")
    found = talk.sections()["Constraints & Preferences"]
    assert [one for one in animals if f"Never feed a {one}fant." not in found] == []
