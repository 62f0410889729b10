"""What exports hide: keys by shape and by name, home folders, addresses; the same everywhere."""

import json
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.entries import Entry
from branchline.export.mask import Finder, Mask, hidden_text
from tests.unit.exports import as_html, as_jsonl, as_markdown, exported
from tests.unit.helpers import entry, message
from tests.unit.session_files import USAGE, assistant, user


def mask_of(*values: Any) -> Mask:
    finder = Finder()
    for value in values:
        finder.look_at(value)
    return finder.mask()


def masked(text: str) -> str:
    return mask_of(text).text(text)


R = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z"
KEYS = [
    f"sk-{R}",
    f"sk-proj-{R}",
    f"sk-ant-api03-{R}",
    f"sk_live_{R}",
    f"ghp_{R}",
    f"gho_{R}",
    f"github_pat_{R}",
    f"glpat-{R}",
    "xoxb-1234567890-abcdefghij",
    "AKIAIOSFODNN7EXAMPLE",
    f"AIza{R}x",
    f"ya29.{R}",
    f"hf_{R}",
    f"gsk_{R}",
    f"npm_{R}00",
    f"pypi-{R}",
    f"SG.{R[:22]}.{R}",
    f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{R}",
    f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{R}".replace("1", "_"),
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("around", ["{}", "use {}.", 'x="{}";', "https://h/?k={}&b=1", "a\\n{}\\n"])
def test_a_key_is_known_by_its_shape(key: str, around: str) -> None:
    text = around.format(key)
    assert masked(text) == around.format("[key 1]")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("PASSWORD=swordfish", "swordfish"),
        ("export DB_PASSWORD='hunter22'", "hunter22"),
        ("password: correct-h0rse", "correct-h0rse"),
        ("password: swordfish\nhost: db", "swordfish"),
        ('{"password": "swordfish"}', "swordfish"),
        (r"{\"api_key\": \"q1w2e3r4\"}", "q1w2e3r4"),
        ("token: abc12345", "abc12345"),
        ("API-Key: q1w2e3r4", "q1w2e3r4"),
        ("client_secret=z9-y8-x7-w6", "z9-y8-x7-w6"),
        ("Authorization: Bearer abcdef123456", "abcdef123456"),
        ("authorization: basic dXNlcjpwYXNz==", "dXNlcjpwYXNz=="),
        ("postgres://bob:pa55word@db/x", "pa55word"),
        ("https://x-access-token-9876543210@github.com/a", "x-access-token-9876543210"),
        (
            "the key is 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        ),
        ("secret 4tG7xQ9zLmN2pR5sV8wY1aB3cD6eF0hJ", "4tG7xQ9zLmN2pR5sV8wY1aB3cD6eF0hJ"),
    ],
)
def test_a_secret_is_known_by_what_stands_before_it(text: str, value: str) -> None:
    assert masked(text) == text.replace(value, "[key 1]")
    mentioned = f"I tried {value} yesterday"
    assert value not in mask_of(mentioned, text).text(mentioned)


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens: 4096, total_tokens=123456",
        "token = next_token()",
        "login(password=password, token=self.token)",
        "password: str\ntoken: string;",
        "password=$PASSWORD token=${TOKEN} key=<key>",
        'api_key = os.environ["OPENAI_API_KEY"]',
        "postgres://postgres:postgres@localhost/db",
        '"password": "password"',
        "tokenizer: cl100k_base",
        "sk-learn and risk-assessment-of-everything-here",
        "the commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "API_KEY=... or API_KEY=xxxxxxxx",
        "bearer of bad news",
        "git@github.com:a/b.git icon@2x.png",
        "/home/user/x and /home/$USER",
        "the home/office pages, /homework/alice",
    ],
)
def test_code_placeholders_and_words_stay(text: str) -> None:
    assert masked(text) == text
    assert mask_of(text).counts == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cd /home/alice/work", "cd ~/work"),
        ("in /home/alice.", "in ~."),
        ("/Users/alice/x /home/alice/y", "~/x ~/y"),
        ("file:///home/alice/x", "file://~/x"),
        (r"C:\Users\Jane Doe\x", r"~\x"),
        (r"C:\\Users\\jane\\x", r"~\\x"),
        ("/mnt/c/Users/jane/x", "~/x"),
        ("~/.pi/sessions/--home-alice-work--/x /home/alice", "~/.pi/sessions/--~-work--/x ~"),
        ("/backup/home/alice/x /home/alice", "/backup~/x ~"),
        ("/home/al /home/alice", "~ ~"),
    ],
)
def test_home_folders_lose_their_names(text: str, shown: str) -> None:
    assert masked(text) == shown


def test_addresses_are_hidden_and_told_apart() -> None:
    assert masked("a@x.org, b@x.org, a@x.org") == "[email 1], [email 2], [email 1]"
    assert masked("postgres://bob:pa55word@db.x.org") == "postgres://bob:[key 1]@db.x.org"


def test_a_private_key_is_hidden_with_every_line() -> None:
    lines = [R + R, R.swapcase() + R]
    pem = "-----BEGIN RSA PRIVATE KEY-----\n{}\n{}\n-----END RSA PRIVATE KEY-----".format(*lines)
    listed = f"  1 {lines[0]}\n  2 {lines[1]}"
    mask = mask_of({"a": f"x\n{pem}\ny", "b": listed})
    assert mask.text(f"x\n{pem}\ny") == "x\n[key 1]\ny"
    assert lines[0] not in mask.text(listed)
    assert lines[1] not in mask.text(listed)
    cut = f"-----BEGIN PRIVATE KEY-----\n{lines[0]}"
    assert lines[0] not in masked(cut)


def test_a_key_that_escapes_split_is_seen() -> None:
    key = KEYS[0]
    assert masked(f"{key[:9]}\x1b[31m{key[9:]}") == "[key 1]"
    assert masked(f"\x1b]0;title {key}\x07{key}") == "[key 1]"


def test_a_lost_escape_hides_no_other_text() -> None:
    assert mask_of(["\x1b]0;", KEYS[0], "\x07"]).counts == [{"kind": "key", "count": 1}]


def test_what_was_found_once_is_replaced_wherever_its_characters_stand() -> None:
    key, word = "hunter22", "swordfish"
    mask = mask_of([f"password={key}", f"PASSWORD={word}"])
    assert mask.text(f"glued{key}glued") == "glued[key 1]glued"
    assert mask.text(f"{word}, {word}es") == f"[key 2], {word}es"  # a word may be part of others


def test_names_and_values_are_seen_together() -> None:
    value = {"env": {"DB_PASSWORD": "hunter22"}, "said": "hunter22 it was"}
    assert mask_of(value).value(value) == {
        "env": {"DB_PASSWORD": "[key 1]"},
        "said": "[key 1] it was",
    }


def test_pictures_stay_as_they_are() -> None:
    picture = {"type": "image", "mimeType": "image/png", "data": "QUtJQUlPU0ZPRE5ON0VYQU1QTEU="}
    value = [picture, f"token: {picture['data']}"]
    assert mask_of(value).value(value)[0] == picture


def test_numbers_and_depth_do_no_harm() -> None:
    deep: Any = KEYS[0]
    for _ in range(5_000):
        deep = [deep]
    mask = mask_of([deep, 12345678901234567890, None, True])
    found = mask.value([deep, 12345678901234567890, None, True])
    assert found[1:] == [12345678901234567890, None, True]
    while isinstance(found, list):
        found = found[0]
    assert found == "[key 1]"


def test_what_was_hidden_is_said() -> None:
    mask = mask_of([*KEYS[:3], "/home/alice /Users/bob", "a@x.org"])
    assert mask.counts == [
        {"kind": "key", "count": 3},
        {"kind": "homePath", "count": 2},
        {"kind": "email", "count": 1},
    ]
    said = hidden_text(mask.counts)
    assert said.startswith("3 keys, 2 home folders and 1 e-mail address hidden")
    assert hidden_text([]).startswith("nothing found")


# --- in whole exports ------------------------------------------------------------------------

SECRETS = st.one_of(
    st.text(string.ascii_letters + string.digits, min_size=20, max_size=40).map(
        lambda text: f"ghp_{text}7"
    ),
    st.text(string.ascii_letters, min_size=6, max_size=12).map(lambda text: f"{text}4!"),
)
NAMES = st.text(string.ascii_lowercase, min_size=5, max_size=9).map(lambda text: f"zq{text}")


def everywhere(secret: str, home: str) -> list[Entry | bytes]:
    """A session that has a text in every place that an export can show."""
    said = f"see {secret}, {home}/x"
    call = {"type": "toolCall", "id": "c1", "name": f"t {secret}", "arguments": {secret: [said]}}
    records: list[Entry | bytes] = [
        user("a1", None, f'PASSWORD="{secret}" in {home}/work'),
        message("b1", "a1", "assistant", [{"type": "thinking", "thinking": said}, call],
                provider=said, model=said, stopReason=said, usage=USAGE),
        message("b2", "b1", "toolResult", [{"type": "text", "text": f"\x1b[1m{said}"}],
                toolCallId="c1", toolName=said, details={"files": {said: said}}),
        message("b3", "b2", "bashExecution", None, command=said, output=said,
                excludeFromContext=True),
        message("b4", "b3", "user", [{"type": "image", "mimeType": said, "data": said}]),
        message("b5", "b4", "system", said, sections={said: said}),
        entry("b6", "b5", "custom_message", customType=said, content=said),
        entry("b7", "b6", "branch_summary", fromId="a1", summary=said),
        entry("b8", "b7", "compaction", summary=said, firstKeptEntryId="b6",
              details={"readFiles": [said]}),
        entry("b9", "b8", "session_info", name=said),
        entry("c1", "b9", "label", targetId="a1", label=said),
        entry("c2", "c1", "model_change", provider=said, modelId=said),
        entry("c3", "c2", "quantum", payload=said),
        entry("c5", "c3", "custom", customType=said, data={said: said}),
        entry(f"id {secret}", "c5", "custom_message", customType=said, content=said),
        assistant("c4", f"id {secret}", [{"type": "text", "text": said}], "error",
                  errorMessage=said),
        user("d1", "a1", f"another way {said}"),
        user("d2", "c4", said),
    ]  # fmt: skip
    return records


@settings(deadline=None)  # the first example imports
@given(SECRETS, NAMES, st.booleans())
def test_no_secret_survives_in_any_format(secret: str, name: str, whole: bool) -> None:
    home = f"/home/{name}"
    records = everywhere(secret, home)
    fields: dict[str, Any] = {
        "cwd": f"{home}/work",
        "parentSession": f"{home}/s/--home-{name}-work--/{secret}",
    }
    for make in (as_html, as_markdown, as_jsonl):
        made: Any = exported(records, make, whole=whole, mask=True, **fields)
        text = made.decode() if isinstance(made, bytes) else made
        assert secret not in text
        assert name not in text
        assert "[key 1]" in text
        plain: Any = exported(records, make, whole=whole, **fields)
        assert name in (plain.decode() if isinstance(plain, bytes) else plain)


@settings(deadline=None)  # the first example imports
@given(SECRETS, NAMES)
def test_masked_records_keep_their_shape(secret: str, name: str) -> None:
    records = everywhere(secret, f"/home/{name}")
    plain = exported(records, as_jsonl, whole=True).splitlines()
    hidden = exported(records, as_jsonl, whole=True, mask=True).splitlines()
    assert len(plain) == len(hidden)
    for one, other in zip(map(json.loads, plain), map(json.loads, hidden), strict=True):
        assert (one["type"], one["timestamp"]) == (other["type"], other["timestamp"])
    ids = [json.loads(line)["id"] for line in hidden]
    parents = {json.loads(line).get("parentId") for line in hidden}
    assert parents - {None} <= set(ids)
