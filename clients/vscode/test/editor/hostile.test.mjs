// Sessions made to do harm, accessibility, themes, and sizes: the panel as it stands in a real VS Code.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startEditor, until } from "./lib/editor.mjs";
import { manyEntries } from "./lib/many.mjs";
import { REPOSITORY, makeWorld } from "./lib/world.mjs";

const world = makeWorld();
let editor;

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
  "a\u0300\u0301\u0302".repeat(400),
  "x".repeat(1_000_000),
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

before(async () => {
  world.demo();
  world.copy(join(REPOSITORY, "tests/cases/56-markup.jsonl"), "markup");
  world.session("evil", [
    header,
    ...chain(EVIL),
    { type: "session_info", id: "n", parentId: "e9", timestamp: time, name: "<b>evil</b>\u202e$(trash)" },
    { type: "label", id: "l", parentId: "n", timestamp: time, targetId: "e0", label: "<i>\u202elabel" },
  ]);
  world.session("many", [{ ...header, id: "5e550000-0000-4000-8000-0000000000bb" }, ...manyEntries()]);
  editor = await startEditor(world, { name: "hostile" });
  const sessions = await editor.showSessions();
  await sessions.filter({ hasText: "CSV importer" }).first().waitFor();
});
after(async () => {
  await editor?.stop();
  world.dispose();
});

/** Open a session by the daemon's search. */
async function open(words, row) {
  await editor.command("Branchline: Open Session");
  const input = editor.quick.locator("input.input");
  await input.waitFor({ state: "visible" });
  await input.fill(words);
  await until("the session is found", async () => (await editor.quick.locator(".monaco-list-row").count()) === 1);
  await input.press("Enter");
  await editor.row(row).waitFor();
}

const fact = (body) => editor.panel.locator("body").evaluate(body);

/** Nothing of a session ran, was fetched, or broke the layout. */
async function unharmed() {
  const found = await fact((body) => ({
    ran: body.dataset.ran,
    foreign: [...document.querySelectorAll("img, a, iframe, script:not([nonce]), style:not([id])")].filter((one) => document.getElementById("page").contains(one)).length,
    wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    tall: [...document.querySelectorAll(".row")].filter((row) => row.getBoundingClientRect().height > 23).length,
    outside: [...document.querySelectorAll(".row .text, .row .label")].filter(
      (one) => one.getBoundingClientRect().right > document.documentElement.clientWidth).length,
  }));
  assert.deepEqual(found, { ran: undefined, foreign: 0, wide: false, tall: 0, outside: 0 });
  assert.deepEqual(editor.foreign, []);
}

test("a session full of markup is text and nothing else", async () => {
  await open("evil", "<script>");
  await unharmed();
  await editor.screenshot("hostile-evil");
  const text = await editor.row("right to left").innerText();
  assert.doesNotMatch(text, /[\u202a-\u202e\u2066-\u2069]/);
});

test("its entries are documents of text", async () => {
  await editor.focusPanel();
  await editor.page.keyboard.press("Home");
  await editor.page.keyboard.press("o");
  const lines = editor.page.locator(".monaco-editor .view-lines").last();
  await until("the entry is shown", async () => (await lines.innerText()).includes("<script>"));
  await editor.screenshot("hostile-entry");
  assert.deepEqual(editor.foreign, []);
  await editor.command("View: Close Editor");
});

test("so is the case file", async () => {
  await open("script mark", "<img src=q");
  await unharmed();
});

test("a megabyte in one message does not slow the panel down", async () => {
  await open("evil", "xxxxxxxx");
  const length = await editor.row("xxxxxxxx").evaluate((row) => row.textContent.length);
  assert.ok(length < 300, `${length} characters in the page`);
});

test("ten thousand entries are drawn by what is on screen", async () => {
  await open("question 0", "here");
  await until("the leaf is drawn", async () => (await editor.leaf.innerText()).includes("answer 9599"));
  const facts = await fact(() => {
    const leaf = document.querySelector(".row.leaf").getBoundingClientRect();
    return { rows: document.querySelectorAll(".row").length, left: leaf.left, seen: leaf.top < window.innerHeight };
  });
  assert.ok(facts.rows < 80, `${facts.rows} rows in the page`);
  assert.ok(facts.left >= 0 && facts.seen, "the leaf is in sight");
  await editor.screenshot("hostile-many");
});

test("scrolling through them never shows a wrong row, and forgets what is far", async () => {
  const wrong = await fact(async () => {
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
  await editor.focusPanel();
  await editor.page.keyboard.press(".");
  await fact(() => {
    document.querySelector(".tree").scrollTop = 0;
  });
  await editor.panel.locator("#row-0").waitFor();
  const active = await editor.panel.locator(".tree").getAttribute("aria-activedescendant");
  assert.equal(await editor.panel.locator(`#${active}`).count(), 1, "the focused row is still in the page");
  assert.ok(await editor.panel.locator(".here-button").isVisible(), "the way back is offered");
  await editor.panel.locator(".here-button").click();
  await until("the leaf is in sight", async () => !(await editor.panel.locator(".here-button").isVisible()));
});

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const THEMES = ["Default Light Modern", "Default Dark Modern", "Default High Contrast", "Default High Contrast Light"];

for (const theme of THEMES) {
  test(`axe finds nothing in ${theme}`, async () => {
    await editor.command("Preferences: Color Theme");
    await editor.quick.locator("input.input").waitFor({ state: "visible" });
    const name = theme.replace("Default High Contrast", "High Contrast").replace("Default ", "");
    await editor.quick.locator("input.input").fill(name === "High Contrast" ? "Dark High Contrast" : name === "High Contrast Light" ? "Light High Contrast" : name);
    await editor.quick.locator(".monaco-list-row").first().click();
    await editor.quick.waitFor({ state: "hidden" });
    await open("CSV importer", "here");
    await editor.screenshot(`theme-${theme.replace(/ /g, "-")}`);
    await editor.panel.locator("body").evaluate((_body, source) => {
      // The page's policy lets no foreign script in: it is run by the driver, as its own function.
      new Function(source).call(window);
    }, axe).catch(() => undefined);
    const found = await editor.panel.locator("body").evaluate(async () => {
      const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
      return violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map((node) => node.html)]);
    });
    assert.deepEqual(found, []);
  });
}
