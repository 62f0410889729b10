// Sessions made to do harm, and very large ones: the panel as it stands in a real VS Code.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startEditor, until } from "./lib/editor.mjs";
import { manyEntries } from "./lib/many.mjs";
import { assertLaidOut, fact, openSession, run, search } from "./lib/panel.mjs";
import { REPOSITORY, makeWorld } from "./lib/world.mjs";

const world = makeWorld();
let editor;
/** What the browser asked the network for, and windows and questions that opened. */
const requested = [];
const opened = [];

const time = "2026-02-03T10:00:00.000Z";
const header = { type: "session", version: 3, id: "5e550000-0000-4000-8000-0000000000aa", timestamp: time, cwd: world.project };
const EVIL = [
  "<script>document.body.dataset.ran = 'yes'</script>",
  '<img src="https://evil.test/x.png" onerror="document.body.dataset.ran = 1">',
  "[go](javascript:document.body.dataset.ran=1) [run](command:workbench.action.quit)",
  "![remote](https://evil.test/y.png)",
  "W".repeat(5000),
  "\u202e\u2066right to left \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
  "\u001b[31mred\u001b]8;;http://evil.test\u0007link\u001b]8;;\u0007",
  `zalgo a${"\u0300\u0301\u0302\u0489".repeat(2500)}`,
  "x".repeat(1_000_000),
  "<svg onload=\"document.body.dataset.ran = 2\"><a href=\"command:workbench.action.closeWindow\">close</a></svg>",
  "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 ".repeat(60),
  "one\ntwo\r\nthree\u2028four\tfive",
  "\"><style>*{display:none}</style>",
];

function chain(texts) {
  return texts.map((text, at) => ({
    type: "message",
    id: `e${at}`,
    parentId: at === 0 ? null : `e${at - 1}`,
    timestamp: time,
    message: { role: "user", content: text, timestamp: 1 },
  }));
}

const tip = `e${EVIL.length - 1}`;
/** A tool whose name and output are as bad. */
const tool = {
  type: "message",
  id: "t",
  parentId: "l3",
  timestamp: time,
  message: { role: "toolResult", toolCallId: "c", toolName: "<script>document.body.dataset.ran = 3</script>", content: [{ type: "text", text: EVIL[1] }], isError: true, timestamp: 1 },
};

before(async () => {
  world.copy(join(REPOSITORY, "tests/cases/56-markup.jsonl"), "markup");
  world.session("evil", [
    header,
    ...chain(EVIL),
    { type: "session_info", id: "n", parentId: tip, timestamp: time, name: "<b>evil</b>\u202e$(trash)" },
    { type: "label", id: "l", parentId: "n", timestamp: time, targetId: "e0", label: "<i>\u202elabel\nof\r\n\u001b[31mtwo lines" },
    { type: "label", id: "l2", parentId: "l", timestamp: time, targetId: "e4", label: "L".repeat(3000) },
    { type: "label", id: "l3", parentId: "l2", timestamp: time, targetId: "e7", label: `a${"\u0300".repeat(5000)}` },
    tool,
  ]);
  world.session("many", [{ ...header, id: "5e550000-0000-4000-8000-0000000000bb" }, ...manyEntries()]);
  editor = await startEditor(world, { name: "hostile" });
  const network = await editor.page.context().newCDPSession(editor.page);
  await network.send("Network.enable");
  network.on("Network.requestWillBeSent", ({ request }) => requested.push(request.url));
  editor.page.on("dialog", (dialog) => opened.push(dialog.message()));
  editor.page.context().on("page", (page) => opened.push(page.url()));
  await editor.showSessions();
  await editor.sessions.first().waitFor();
});
after(async () => {
  await editor?.stop();
  world.dispose();
});

/** Nothing of a session ran, was fetched, or broke the layout. */
async function unharmed() {
  const found = await fact(editor, (body) => ({
    ran: body.dataset.ran,
    foreign: [...document.getElementById("page").querySelectorAll("img, a, iframe, svg, script, style, object, form")].length,
    handlers: [...document.getElementById("page").querySelectorAll("*")].filter((one) =>
      [...one.attributes].some(({ name, value }) => name.startsWith("on") || /^(javascript|command):/.test(value))).length,
  }));
  assert.deepEqual(found, { ran: undefined, foreign: 0, handlers: 0 });
  assert.deepEqual(editor.foreign, []);
  assert.deepEqual(requested.filter((url) => url.includes("evil") || url.includes("e.test")), []);
  assert.deepEqual(opened, []);
  await assertLaidOut(editor);
}

test("a session full of markup is text and nothing else", async () => {
  await openSession(editor, "evil", "<script>");
  await unharmed();
  await editor.screenshot("hostile-evil");
  const text = await editor.row("right to left").innerText();
  assert.doesNotMatch(text, /[\u202a-\u202e\u2066-\u2069]/);
});

test("nor is it more in a narrow panel, searched through, or under a menu", async () => {
  await run(editor, "View: Toggle Primary Side Bar Visibility");
  await editor.page.setViewportSize({ width: 320, height: 640 });
  await until("the panel is narrow", () => fact(editor, () => window.innerWidth < 300 && window.innerWidth > 200));
  await unharmed();
  await editor.screenshot("hostile-narrow");
  await editor.page.setViewportSize({ width: 1280, height: 800 });
  await search(editor, "evil.test");
  await until("hits are marked", async () => (await editor.panel.locator("mark").count()) > 1);
  for (const mark of await editor.panel.locator("mark").all()) assert.equal(await mark.innerText(), "evil.test");
  await unharmed();
  await editor.screenshot("hostile-search");
  await search(editor, null);
  const row = editor.row("<script>");
  await row.hover();
  await until("it is there in full", async () => ((await row.getAttribute("title")) ?? "").includes("<script>"));
  await row.click({ button: "right" });
  const items = editor.page.locator(".monaco-menu .action-label");
  await items.first().waitFor();
  assert.doesNotMatch((await items.allInnerTexts()).join(), /script|evil|label\nof/);
  await editor.screenshot("hostile-menu");
  await unharmed();
  await editor.page.keyboard.press("Escape");
  await items.first().waitFor({ state: "detached" });
});

test("a label of several lines is one line, in the row and where it is edited", async () => {
  assert.match(await editor.row("<script>").locator(".label").innerText(), /^⚑<i>label of +two lines$|^⚑<i>label of +\[31mtwo lines$/);
  await editor.row("<script>").locator(".text").click();
  await editor.focusPanel();
  await editor.page.keyboard.press("Shift+L");
  const input = editor.quick.locator("input.input");
  await until("the label is there to edit", async () => (await input.inputValue()).startsWith("<i>label"));
  const value = await input.inputValue();
  assert.deepEqual(["\n", "\r", "\u001b"].filter((one) => value.includes(one)), []);
  await editor.page.keyboard.press("Escape");
  await editor.quick.waitFor({ state: "hidden" });
});

test("its entries are documents of text", async () => {
  await editor.focusPanel();
  await editor.page.keyboard.press("Home");
  await editor.page.keyboard.press("o");
  const lines = editor.page.locator(".monaco-editor .view-lines").last();
  await until("the entry is shown", async () => (await lines.innerText()).includes("<script>"));
  await editor.screenshot("hostile-entry");
  assert.deepEqual(editor.foreign, []);
  await run(editor, "View: Close Editor");
});

test("so is the case file", async () => {
  await openSession(editor, "script mark", "<img src=q");
  await unharmed();
});

test("a megabyte in one message does not slow the panel down", async () => {
  await openSession(editor, "evil", "xxxxxxxx");
  const length = await editor.row("xxxxxxxx").evaluate((row) => row.textContent.length);
  assert.ok(length < 300, `${length} characters in the page`);
});

test("ten thousand entries are drawn by what is on screen", async () => {
  await openSession(editor, "question 0", "here");
  await until("the leaf is drawn", async () => (await editor.leaf.innerText()).includes("answer 9599"));
  const facts = await fact(editor, () => {
    const leaf = document.querySelector(".row.leaf").getBoundingClientRect();
    return { rows: document.querySelectorAll(".row").length, left: leaf.left, seen: leaf.top < window.innerHeight };
  });
  assert.ok(facts.rows < 80, `${facts.rows} rows in the page`);
  assert.ok(facts.left >= 0 && facts.seen, "the leaf is in sight");
  await editor.screenshot("hostile-many");
});

test("scrolling through them never shows a wrong row, and forgets what is far", async () => {
  const wrong = await fact(editor, async () => {
    const tree = document.querySelector(".tree");
    const bad = [];
    for (const part of [0, 0.25, 0.5, 0.75, 1]) {
      tree.scrollTop = part * (tree.scrollHeight - tree.clientHeight);
      const expected = Math.floor(tree.scrollTop / 22) + 1;
      const end = performance.now() + 5000;
      while (document.getElementById(`row-${expected}`) === null && performance.now() < end) {
        await new Promise((frame) => requestAnimationFrame(frame));
      }
      const row = document.getElementById(`row-${expected}`);
      const top = row?.getBoundingClientRect().top - tree.getBoundingClientRect().top;
      if (row === null || top < -1 || top > 45) bad.push([part, expected, top]);
    }
    return bad;
  });
  assert.deepEqual(wrong, []);
});

test("the focus survives scrolling away and back", async () => {
  await fact(editor, () => {
    document.querySelector(".tree").scrollTop = 0;
  });
  await editor.panel.locator("#row-0").waitFor();
  const active = await editor.panel.locator(".tree").getAttribute("aria-activedescendant");
  assert.equal(await editor.panel.locator(`#${active}`).count(), 1, "the focused row is still in the page");
  assert.ok(await editor.panel.locator(".here-button").isVisible(), "the way back is offered");
  await editor.panel.locator(".here-button").click();
  await until("the leaf is in sight", async () => !(await editor.panel.locator(".here-button").isVisible()));
});
