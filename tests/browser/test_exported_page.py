"""The exported page in a real browser: what a person does with it, on a screen and on paper."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchline.entries import Entry
from tests.browser.chromium import Page
from tests.browser.conftest import MakePage
from tests.browser.server import Server
from tests.unit.helpers import entry, message
from tests.unit.session_files import assistant, user

DEMO = Path(__file__).resolve().parents[2] / "server" / "branchline" / "demo" / "session.jsonl"
OpenPage = Callable[..., Page]

CURRENT = "document.activeElement.id"
SHOWN = "[...document.querySelectorAll('main .entry')].filter((one) => one.checkVisibility())"


@pytest.fixture(scope="module")
def path(make_page: MakePage) -> Path:
    """The sample session with all branches."""
    return make_page(DEMO, branches="all")


@pytest.fixture
def page(open_page: OpenPage, path: Path) -> Page:
    opened: Page = open_page(path)
    return opened


def ids_shown(page: Page) -> list[str]:
    found: list[str] = page.ask(f"{SHOWN}.map((one) => one.id)")
    return found


def test_the_page_fetches_and_logs_nothing(page: Page) -> None:
    fetched = [one["request"]["url"] for one in page.events("Network.requestWillBeSent")]
    assert [url for url in fetched if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in fetched if url.startswith("file:")]) == 1
    assert page.events("Log.entryAdded") == []
    assert page.events("Runtime.exceptionThrown") == []
    assert page.ask("document.documentElement.className") == "scripted"


def test_a_link_to_an_entry_works_also_after_reloading(open_page: OpenPage, path: Path) -> None:
    page = open_page(path)
    last = ids_shown(page)[-1]
    page = open_page(path, f"#{last}")
    for _ in range(2):
        top = page.ask(f"document.getElementById({last!r}).getBoundingClientRect().top")
        assert 0 <= top < 800
        assert page.ask("document.querySelector('[aria-current]').hash") == f"#{last}"
        page.reload()


def test_an_id_may_hold_anything(open_page: OpenPage, make_page: MakePage) -> None:
    names = ['"><img src=x onerror=mark()>', "a b/c#d%20", "ключ", "%", "constructor"]
    records = [user(name, before, f"said {at}") for at, (name, before) in enumerate(
        zip(names, [None, *names[:-1]], strict=True))]  # fmt: skip
    page = open_page(make_page(records))
    for at in range(len(names)):
        hash_of = f"document.querySelectorAll('main .link')[{at}].hash"
        page.ask(f"location.hash = {hash_of}")
        page.settle()
        assert f"said {at}" in page.ask("document.querySelector(':target').textContent")
        assert page.ask(f"document.querySelector('[aria-current]').hash === {hash_of}")


def test_the_link_of_an_entry_is_copied(page: Page) -> None:
    page.ask("navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }")
    page.click("main .entry.user .link")
    place = page.ask("document.querySelector('main .entry.user').id")
    assert page.ask("copied").endswith(f".html#{place}")
    assert page.ask("location.hash") == f"#{place}"
    assert page.ask("document.getElementById('told').textContent") == "Link copied"


def test_filters_show_what_they_say(page: Page) -> None:
    everything = ids_shown(page)
    counts = {}
    for what in ("no-tools", "user", "labelled", "all"):
        page.click(f"#filters [value={what}] + span")
        counts[what] = len(ids_shown(page))
        selector = {"no-tools": ".entry:not(.tool)", "user": ".entry.user",
                    "labelled": ".entry.labelled", "all": ".entry"}[what]  # fmt: skip
        assert counts[what] == page.ask(f"document.querySelectorAll('main {selector}').length")
        rows = page.ask(
            "[...document.querySelectorAll('nav .row')]"
            ".filter((one) => one.checkVisibility()).map((one) => one.className)"
        )
        assert rows
        if what in ("user", "labelled"):
            assert all(what in one.split() for one in rows)
    assert 0 < counts["labelled"] < counts["user"] < counts["no-tools"] < counts["all"]
    assert ids_shown(page) == everything


def test_searching_counts_marks_and_goes_to_the_hits(page: Page) -> None:
    page.press("/")
    for key in "sqlite3":
        page.press(key)
    page.press("Enter")
    said = page.ask("document.getElementById('hits').textContent")
    assert said.startswith("1 of ")
    total = int(said.removeprefix("1 of "))
    text = "document.querySelector('main').textContent.toLowerCase()"
    assert total == page.ask(f"{text}.split('sqlite3').length - 1") > 3
    assert page.ask("CSS.highlights.get('hits').size") == total
    inside = "[...CSS.highlights.get('hit')][0]"
    assert page.ask(f"{inside}.toString()").lower() == "sqlite3"
    page.press("Enter", "Enter")
    assert page.ask("document.getElementById('hits').textContent") == f"3 of {total}"
    page.ask("document.activeElement.blur()")
    page.press("n")
    assert page.ask("document.getElementById('hits').textContent") == f"4 of {total}"
    page.press("N", "N")
    assert page.ask("document.getElementById('hits').textContent") == f"2 of {total}"
    for _ in range(total):  # each can be seen, what was folded around it is open
        page.press("n")
        assert page.ask(f"{inside}.startContainer.parentElement.checkVisibility()")
        assert 0 < page.ask(f"{inside}.getBoundingClientRect().top") < 900
    page.ask("document.getElementById('find').focus()")
    page.press("Escape")
    assert page.ask("CSS.highlights.get('hits').size") == 0


def test_a_word_may_reach_over_marks_and_hold_signs(
    open_page: OpenPage, make_page: MakePage
) -> None:
    said = [{"type": "text", "text": "so **bold**er a.b*c (x) İstanbul"}]
    page = open_page(make_page([user("a", None), assistant("b", "a", said)]))
    for wanted, found in (("bolder", 1), ("a.b*c", 1), ("(x)", 1), ("axb", 0), ("stanbul", 1)):
        page.ask(f"document.getElementById('find').value = {wanted!r}")
        page.ask("document.getElementById('find').focus()")
        page.press("Enter")
        assert page.ask("CSS.highlights.get('hits').size") == found, wanted


def test_keys_go_from_entry_to_entry(page: Page) -> None:
    shown = ids_shown(page)
    focusable = [
        one for one in shown if page.ask(f"document.getElementById({one!r}).tabIndex === -1")
    ]
    page.press("g", "j", "j", "k")
    assert page.ask(CURRENT) in focusable
    page.press("G")
    assert page.ask(CURRENT) == shown[-1]
    page.press("k")
    assert page.ask(CURRENT) == focusable[-2]
    # Each has its row in the tree, or the row before it has.
    assert page.ask("document.querySelector('[aria-current]').checkVisibility()")
    page.press("?")
    assert page.ask("document.getElementById('help').open")
    page.press("j")
    assert page.ask("document.getElementById('help').open")


def test_branches_and_runs_fold_and_open(page: Page) -> None:
    assert page.ask("document.querySelectorAll('nav details.branch').length") == 2
    assert page.ask("[...document.querySelectorAll('nav details')].every((one) => !one.open)")
    signs = (
        "[...document.querySelectorAll('nav details.branch > summary i.sign')]"
        ".map((one) => getComputedStyle(one, '::before').content)"
    )
    assert page.ask(signs) == ['"⊞"', '"⊞"']
    page.click("nav details.branch > summary i.sign")
    assert page.ask("document.querySelector('nav details.branch').open")
    page.click("nav details.run > summary")
    assert page.ask("document.querySelector('nav details.run').open")
    page.click("nav details.run > a.row")
    assert page.ask("location.hash === document.querySelector('nav details.run > a.row').hash")
    assert page.ask("document.querySelector(':target details').open")


def test_everything_can_be_read_without_a_script(open_page: OpenPage, path: Path) -> None:
    page = open_page()
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    page.call("Page.navigate", url=path.as_uri())
    page._browser.wait_for("Page.loadEventFired")
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    bar = page.call("DOM.querySelector", nodeId=root, selector="#bar")["nodeId"]
    with pytest.raises(Exception, match="box model"):
        page.call("DOM.getBoxModel", nodeId=bar)
    rows = page.call("DOM.querySelectorAll", nodeId=root, selector="nav a.row")["nodeIds"]
    assert len(rows) > 30
    box = page.call("DOM.getBoxModel", nodeId=rows[0])["model"]
    assert box["height"] > 10


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_colour_schemes(page: Page, scheme: str) -> None:
    page.emulate(scheme=scheme)
    page.click("#details")
    low = page.ask(CONTRAST)
    assert low == []


CONTRAST = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d");
  const parse = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((one) => one / 255)
      .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
  };
  const low = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    if (!own || !element.checkVisibility()) continue;
    if (element.closest(":disabled, .link, .told, script, style, .skip")) continue;
    const over = light(parse(getComputedStyle(element).color));
    const under = light(behind(element));
    const ratio = (Math.max(over, under) + 0.05) / (Math.min(over, under) + 0.05);
    if (ratio < 4.5) low.add(`${element.localName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return [...low];
})()
"""


@pytest.mark.parametrize("width", [320, 700, 1300, 2400])
def test_nothing_sticks_out_at_any_width(page: Page, width: int) -> None:
    page.resize(width, 900)
    page.click("#details") if width > 820 else None
    page.settle()
    assert page.ask("document.documentElement.scrollWidth") <= width
    inner = page.ask("document.getElementById('entries').scrollWidth")
    assert inner <= page.ask("document.getElementById('entries').clientWidth")


def test_on_a_narrow_screen_the_tree_opens_on_demand(open_page: OpenPage, path: Path) -> None:
    page = open_page(path, width=420)
    is_shown = "getComputedStyle(document.getElementById('tree')).visibility"
    assert page.ask(is_shown) == "hidden"
    page.click("#show-tree")
    assert page.ask(is_shown) == "visible"
    page.ask("document.querySelectorAll('nav > a.row')[3].click()")
    page.settle()
    assert page.ask(is_shown) == "hidden"
    assert page.ask("document.querySelector(':target') !== null")


def test_on_paper_the_tree_is_left_out_and_all_output_is_there(page: Page) -> None:
    page.emulate("print")
    assert not page.ask("document.getElementById('tree').checkVisibility()")
    assert not page.ask("document.getElementById('bar').checkVisibility()")
    hidden = (
        "[...document.querySelectorAll('main pre, main .plain')]"
        ".filter((one) => !one.checkVisibility()).length"
    )
    assert page.ask(hidden) == 0
    assert page.printed().startswith(b"%PDF")


def test_what_the_page_is_made_of_has_names(page: Page) -> None:
    assert page.ask("document.querySelectorAll('main').length") == 1
    assert page.ask("document.querySelector('nav').ariaLabel") == "Tree of the conversation"
    assert page.ask("document.querySelectorAll('h1').length") == 1
    articles = "[...document.querySelectorAll('article[tabindex]')]"
    assert page.ask(f"{articles}.every((one) => one.querySelector('h2'))")
    for control in ("button", "input"):
        named = (
            "(one.ariaLabel ?? '') + one.textContent + (one.closest('label')?.textContent ?? '')"
        )
        controls = f"[...document.querySelectorAll('{control}')]"
        assert page.ask(f"{controls}.every((one) => ({named}).trim() !== '')")
    ids = "[...document.querySelectorAll('[id]')].map((one) => one.id)"
    assert page.ask(f"new Set({ids}).size") == page.ask(f"{ids}.length")


# --- what is hostile -------------------------------------------------------------------------


def hostile(said: str) -> list[Entry]:
    """A session with a text wherever one is shown."""
    call: Any = {"type": "toolCall", "id": said, "name": said, "arguments": {said: said}}
    text: Any = {"type": "text", "text": said}
    picture: Any = {"type": "image", "mimeType": said, "data": said}
    return [
        user("a1", None, said),
        assistant("b1", "a1", [text, {"type": "thinking", "thinking": said}, call, picture], said,
                  errorMessage=said),
        message("b2", "b1", "toolResult", [text, picture], toolCallId=said, toolName=said),
        message("b3", "b2", "bashExecution", None, command=said, output=said),
        message("b4", "b3", "system", said, sections={said: said}),
        message("b5", "b4", said, said),
        entry("b6", "b5", "branch_summary", fromId="a1", summary=said),
        entry("b7", "b6", "compaction", summary=said, firstKeptEntryId="b6"),
        entry("b8", "b7", "session_info", name=said),
        entry("b9", "b8", "label", targetId="a1", label=said),
        entry("c1", "b9", "model_change", provider=said, modelId=said),
        entry("c2", "c1", said, payload=said),
        entry(said, "c2", "custom_message", content=said, timestamp=said),
        user("d1", "a1", said),
        user("d2", said, said),
    ]  # fmt: skip


ATTACKS = """
<script>mark()</script> </script><script>mark()</script><!--<script>mark()
<img src=x onerror=mark()><svg onload=mark()><body onload=mark()>
<iframe srcdoc="<script>mark()</script>"></iframe>
"><img src=x onerror=mark()>' onfocus='mark()' autofocus tabindex=0 x='
<a href="javascript:mark()">x</a> [x](javascript:mark()) [x](JaVaScRiPt&colon;mark())
<javascript:mark()>
[x](java&#10;script:mark()) [x](data:text/html,<script>mark()</script>) [x](vbscript:mark())
[x](command:evil) [x](file:///etc/passwd) [x](//HOST/x) ![x](http://HOST/pixel.png)
![x](data:image/svg+xml,<svg onload=mark()>) <link rel=stylesheet href=http://HOST/x.css>
<style>@import url(http://HOST/x.css); * { background: url(http://HOST/bg.png) }</style>
<meta http-equiv=refresh content="0;url=http://HOST/gone"> <base href="http://HOST/">
<form action=http://HOST/><button id=find>x</button></form> <object data=http://HOST/o></object>
{"a": "</script><script>mark()</script>"} ${mark()} {{mark()}} `${mark()}` <!--here--><!--SCRIPT-->
[ref]: http://HOST/ref "onmouseover=mark()"

[ref] http://HOST/auto <http://HOST/angle>
"""


def test_nothing_runs_and_nothing_is_fetched(open_page: OpenPage, make_page: MakePage) -> None:
    with Server() as server:
        records = hostile(ATTACKS.replace("HOST", f"127.0.0.1:{server.port}"))
        script = (
            "globalThis.marks = 0; globalThis.mark = () => { marks += 1; };"
            "globalThis.alert = globalThis.confirm = globalThis.prompt = mark;"
        )
        page = open_page(script=script)
        file = make_page(records, branches="all")
        page.load(file)
        page.click("#details")
        page.ask("document.querySelectorAll('main *').forEach((one) => {"
                 " for (const name of ['mouseover', 'focus', 'error', 'load', 'toggle'])"
                 " one.dispatchEvent(new Event(name)); })")  # fmt: skip
        for theme in ("light", "dark"):
            page.emulate(scheme=theme)
            page.settle()
        page.emulate("print")
        page.printed()
        assert page.ask("marks") == 0
        assert page.ask("location.href") == file.as_uri()
        fetched = [one["request"]["url"] for one in page.events("Network.requestWillBeSent")]
        assert [url for url in fetched if not url.startswith(("file:", "data:"))] == []
        assert page.events("Log.entryAdded") == []
        assert server.requests == []
        links = page.ask("[...document.links].map((one) => one.protocol)")
        assert set(links) <= {"file:", "http:", "https:", "mailto:"}
        assert page.ask("[...document.querySelectorAll('main a[href^=\"file:\"]')].length") == 0
        attributes = "[...document.querySelectorAll('*')].flatMap((one) => [...one.attributes])"
        assert page.ask(f"{attributes}.filter((one) => one.name.startsWith('on')).length") == 0
        assert page.ask("document.scripts.length") == 1
        foreign = "iframe, object, embed, svg, base, form:not([method=dialog])"
        assert page.ask(f"document.querySelectorAll('{foreign}').length") == 0


def test_the_policy_would_stop_what_got_through(open_page: OpenPage, make_page: MakePage) -> None:
    with Server() as server:
        page = open_page(script="globalThis.marks = 0; globalThis.mark = () => { marks += 1; };")
        page.load(make_page([user("a", None)]))
        host = f"http://127.0.0.1:{server.port}"
        page.ask(
            f"document.getElementById('entries').insertAdjacentHTML('beforeend', `"
            f"<img src='{host}/x.png' onerror='mark()'><a id=bad href='javascript:mark()'>x</a>"
            f"<link rel=stylesheet href='{host}/x.css'><iframe src='{host}/f'></iframe>`);"
            "const made = document.createElement('script'); made.textContent = 'mark()';"
            "document.body.append(made); document.getElementById('bad').click();"
            f"fetch('{host}/fetch').catch(() => 0)"
        )
        page.settle()
        assert page.ask("marks") == 0
        assert server.requests == []
        assert len(page.events("Log.entryAdded")) >= 3


def test_the_case_of_markup(open_page: OpenPage, make_page: MakePage) -> None:
    case = Path(__file__).resolve().parents[1] / "cases" / "56-markup.jsonl"
    page = open_page(make_page(case, branches="all"))
    assert page.ask("document.title") == "<script>mark()</script> line two"
    assert "<img src=q" in page.ask("document.getElementById('entry-a0000001').textContent")
    assert page.ask("document.querySelector('main .flag').textContent") == '"><i>x'
    assert page.ask("document.querySelectorAll('main img, main i').length") == 0


@pytest.mark.parametrize(
    "said", ["W" * 20_000, "W" * 3_000, "word " * 200_000, "\u202e\u2067evil" * 300, "日" * 9000]
)
def test_large_and_odd_texts_keep_the_layout(
    open_page: OpenPage, make_page: MakePage, said: str
) -> None:
    page = open_page(make_page(hostile(said), branches="all"))
    page.click("#details")
    for width in (360, 1300):
        page.resize(width, 900)
        page.settle()
        assert page.ask("document.documentElement.scrollWidth") <= width
        texts = "[...document.querySelectorAll('main .plain, main .rich')]"
        assert page.ask(f"{texts}.filter((one) => one.scrollWidth > one.clientWidth).length") == 0
    assert page.ask("document.getElementById('entry-d1').getBoundingClientRect().height") < 3000
    assert "\u202e" not in page.ask("document.body.textContent")


# --- what is large ---------------------------------------------------------------------------


def test_ten_thousand_entries_stay_usable(open_page: OpenPage, make_page: MakePage) -> None:
    records: list[Entry] = []
    before: str | None = None
    for number in range(10_000):
        name = f"m{number}"
        text: Any = [{"type": "text", "text": f"entry number {number} " + "some words " * 20}]
        records.append(
            user(name, before, text[0]["text"]) if number % 2 else assistant(name, before, text)
        )
        before = name
    page = open_page()
    page.load(make_page(records), "#entry-m7000")
    top = page.ask("document.getElementById('entry-m7000').getBoundingClientRect().top")
    assert 0 <= top < 900
    steps = page.ask(
        """(async () => {
          const timed = async (step) => {
            const start = performance.now();
            await step();
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            return performance.now() - start;
          };
          const press = (key) => dispatchEvent(new KeyboardEvent("keydown", { key }));
          const find = document.getElementById("find");
          return {
            next: await timed(() => press("j")),
            last: await timed(() => press("G")),
            user: await timed(() => document.querySelector("[value=user]").click()),
            all: await timed(() => document.querySelector("[value=all]").click()),
            search: await timed(() => {
              find.value = "number 99";
              find.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
            }),
          };
        })()"""
    )
    assert page.ask("document.getElementById('hits').textContent").endswith(" of 111")
    assert max(steps.values()) < 4 * 5_000, steps  # five seconds each, on the slowest machine
