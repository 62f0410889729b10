"""The exported page: what stands in it, and that nothing of a session becomes part of it."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchline.entries import Entry
from tests.unit.exports import as_html, exported
from tests.unit.helpers import entry, message
from tests.unit.session_files import assistant, user

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)
VOID = {"meta", "link", "img", "input", "hr", "br"}


class Read(HTMLParser):
    """A page as its elements; fails if they are not properly nested.

    Attributes:
        elements: name and attributes of each, in order.
        texts: the text below each element that has an id.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, str] = {}
        self._open: list[tuple[str, str | None]] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        assert len(found) == len(attrs)
        self.elements.append((tag, found))
        if tag not in VOID:
            self._open.append((tag, found.get("id")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for _, anchor in self._open:
            if anchor:
                self.texts[anchor] = self.texts.get(anchor, "") + data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def text(said: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": said}]


def page(*records: Entry, **options: Any) -> str:
    return exported(list(records), as_html, **options)


def test_the_policy_names_the_script_and_the_style_that_are_in_it() -> None:
    made = page(user("a", None))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', made)
    for name in ("style", "script"):
        (inside,) = re.findall(rf"<{name}>(.*?)</{name}>", made, flags=re.DOTALL)
        digest = b64encode(sha256(inside.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; img-src data:; ")
    assert "unsafe" not in policy
    assert '<meta name="referrer" content="no-referrer">' in made


def test_a_conversation_is_shown() -> None:
    edit = {"oldText": "x = 1", "newText": "x = 2"}
    arguments = {"path": "a.py", "edits": [edit]}
    call = {"type": "toolCall", "id": "c1", "name": "edit", "arguments": arguments}
    made = page(
        user("a", None, "make it fast"),
        assistant("b", "a", [{"type": "thinking", "thinking": "hm"}, *text("**Sure**"), call]),
        message("c", "b", "toolResult", text("done\nwell"), toolCallId="c1", toolName="edit"),
        entry("d", "c", "session_info", name="Parser speed"),
        entry("e", "d", "label", targetId="a", label="start"),
    )
    read = Read(made)
    assert "<title>Parser speed</title>" in made
    assert "make it fast" in read.texts["entry-a"]
    assert "start" in read.texts["entry-a"]
    assert "<strong>Sure</strong>" in made
    assert '<pre class="old" tabindex="0">x = 1</pre>' in made
    assert '<pre class="new" tabindex="0">x = 2</pre>' in made
    assert "edit a.py 2 lines" in read.texts["entry-c"]
    assert "#entry-a" in [one.get("href") for one in read.all("a")]
    assert "10" in read.texts["entries"]  # tokens


def test_without_the_others_only_the_active_branch_is_there() -> None:
    records = [user("a", None, "first"), user("x", "a", "elsewhere"), user("b", "a", "second")]
    assert "elsewhere" not in page(*records)
    every = page(*records, whole=True)
    assert "elsewhere" in every
    assert every.count('<details class="branch">') == 1
    assert "Another branch" in every


def test_runs_of_tools_are_folded_with_all_their_rows() -> None:
    records: list[Entry] = [user("a", None)]
    for number in range(4):
        before = records[-1]["id"]
        records.append(message(f"t{number}", before, "toolResult", text("x"), toolName="read"))
    records.append(user("z", "t3"))
    made = page(*records)
    assert made.count('<details class="run">') == 1
    assert made.count('<a class="row') == 6
    for one in ("a", "t0", "t1", "t2", "t3", "z"):
        assert f'href="#entry-{one}"' in made.partition("</nav>")[0]


@pytest.mark.parametrize(
    ("mime_type", "data", "is_shown"),
    [
        ("image/png", PIXEL, True),
        ("image/webp", PIXEL, True),
        ("image/svg+xml", PIXEL, False),
        ("text/html", PIXEL, False),
        ("image/png", 'x" onerror="mark()', False),
        ('image/png" onerror="mark()', PIXEL, False),
    ],
)
def test_pictures_of_four_types_are_shown(mime_type: str, data: str, is_shown: bool) -> None:
    made = page(
        message("a", None, "user", [{"type": "image", "mimeType": mime_type, "data": data}])
    )
    sources = [one["src"] for one in Read(made).all("img")]
    assert sources == ([f"data:{mime_type};base64,{data}"] if is_shown else [])
    assert is_shown or "Image, not shown" in made


def test_a_command_kept_from_the_model_is_marked_and_failures_are() -> None:
    fields = {"command": "env", "output": "A=1", "exitCode": 2, "excludeFromContext": True}
    made = Read(page(message("a", None, "bashExecution", None, **fields)))
    assert "not sent to the model" in made.texts["entry-a"]
    assert "exit code 2" in made.texts["entry-a"]


def test_a_mask_says_what_it_hid() -> None:
    made = page(user("a", None, "in /home/alice and /home/bob"), mask=True)
    assert "2 home folders hidden" in made
    assert "alice" not in made
    assert "Nothing found" in page(user("a", None, "x"), mask=True)


HOSTILE = [
    "<script>mark()</script>",
    "</script><script>mark()</script>",
    '"><img src=x onerror=mark()>',
    "' onmouseover='mark()",
    "</title></style></textarea><svg onload=mark()>",
    "[go](javascript:mark()) <javascript:mark()> [a](vbscript:x) [b](data:text/html,<b>)",
    "[c](command:workbench.action.x) [d](file:///etc/passwd) [e](//e.test/x)",
    "![p](http://e.test/pixel.png) ![q](data:text/html,x)",
    "<!--here--><!--SCRIPT--><!--POLICY--><!--ABOUT-->",
    "```\n</code></pre><b>\n```",
    "&lt;script&gt; &#60;b&#62; &#0; %3Cb%3E",
    "\u202e\u2066abc\x1b]8;;http://e.test\x07link\x1b]8;;\x07\x00\x9b",
    "a" * 3000,
]


def everywhere(said: str) -> list[Entry]:
    """A session with a text in every place that is shown."""
    call = {
        "type": "toolCall",
        "id": said,
        "name": said,
        "arguments": {said: said, "edits": [said]},
    }
    return [
        user("a1", None, said),
        assistant("b1", "a1", [*text(said), {"type": "thinking", "thinking": said}, call,
                               {"type": said, said: said}], said, errorMessage=said),
        message("b2", "b1", "toolResult", text(said), toolCallId=said, toolName=said),
        message("b3", "b2", "bashExecution", None, command=said, output=said, exitCode=said),
        message("b4", "b3", "system", said, sections={said: said}),
        message("b5", "b4", said, said),
        entry("b6", "b5", "custom_message", customType=said, content=said),
        entry("b7", "b6", "branch_summary", fromId="a1", summary=said),
        entry("b8", "b7", "compaction", summary=said, firstKeptEntryId="b6", tokensBefore=said),
        entry("b9", "b8", "session_info", name=said),
        entry("c1", "b9", "label", targetId="a1", label=said),
        entry("c2", "c1", "model_change", provider=said, modelId=said),
        entry("c3", "c2", said, payload=said),
        entry(f"c4 {said}", "c3", "custom_message", content=said, timestamp=said),
        user("d1", "a1", said),
        user("d2", f"c4 {said}", said),
    ]  # fmt: skip


def structure(made: str) -> list[Any]:
    """The elements of a page but for what a text decides: paragraphs, code, links."""
    skipped = {"p", "br", "code", "pre", "em", "strong", "a", "ul", "li", "h3", "div", "span"}
    return [
        (tag, sorted(attributes)) for tag, attributes in Read(made).elements if tag not in skipped
    ]


ALLOWED = set(
    """
    html head meta link title style body a div button search input output fieldset legend label
    span nav main section h1 h2 h3 h4 h5 h6 dl dt dd p footer dialog kbd form script article header
    time details summary pre code b i img em strong s ul ol li blockquote table thead tbody tr th td
    hr br
    """.split()  # noqa: SIM905
)


def assert_harmless(made: str) -> None:
    read = Read(made)
    assert {tag for tag, _ in read.elements} <= ALLOWED
    assert len(read.all("script")) == len(read.all("style")) == len(read.all("title")) == 1
    for tag, attributes in read.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
        assert "srcset" not in attributes
        if "href" in attributes and tag == "a":
            assert re.match(r"#|https?://|mailto:", attributes["href"]), attributes["href"]
        if "src" in attributes:
            assert re.match(r"data:image/(png|jpeg|gif|webp);base64,", attributes["src"])
    assert not set(made) & {"\x1b", "\x00", "\u202e", "\u2066", "\x9b"}


@pytest.mark.parametrize("said", HOSTILE)
def test_nothing_of_a_session_becomes_part_of_the_page(said: str) -> None:
    records = everywhere(said)
    for whole in (False, True):
        made = page(*records, whole=whole)
        assert_harmless(made)
        assert structure(made) == structure(page(*everywhere("harmless"), whole=whole))


@settings(deadline=None)  # the first example imports
@given(st.lists(st.sampled_from([*"<>&\"'`[]()!*_#|\n\\:-", *HOSTILE[:12], "x"]), max_size=8))
def test_no_mix_of_marks_becomes_part_of_the_page(parts: list[str]) -> None:
    assert_harmless(page(*everywhere("".join(parts) or "x"), whole=True))


def test_a_thousand_branches_in_each_other_stay_shallow() -> None:
    records: list[Entry] = [user("x0", None)]
    records += [user(f"x{number + 1}", f"x{number}") for number in range(300)]
    # The newest is the main way on, so each x is a branch beside a y.
    records += [user(f"y{number}", f"x{number}") for number in reversed(range(300))]
    made = page(*records, user("leaf", None), whole=True)
    depth = most = 0
    for sign in re.findall(r"<(/?)details", made):
        depth += -1 if sign else 1
        most = max(most, depth)
    assert 20 < most < 40
    Read(made)
