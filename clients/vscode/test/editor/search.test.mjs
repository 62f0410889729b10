// Searching all sessions and handing one on, in a real VS Code with the real daemon: what is found is gone
// to in the tree, and what is exported is looked at in its file.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { startEditor, until } from "./lib/editor.mjs";
import { openSession, run } from "./lib/panel.mjs";
import { story } from "./lib/steps.mjs";
import { makeWorld } from "./lib/world.mjs";

const world = makeWorld();
/** What looks like a key, put together here: it is none. */
const KEY = ["sk", "proj", "Zq7Lw2Xk9Vb4Nm6Tc8Rd1Fg3Hj5Ps0Ya"].join("-");
const timestamp = "2026-02-03T10:00:00.000Z";
const time = Date.parse(timestamp);
const header = (id, cwd) => ({ type: "session", version: 3, id, timestamp, cwd });

function said(id, parentId, role, text) {
  const content = role === "user" ? text : [{ type: "text", text }];
  return { type: "message", id, parentId, timestamp, message: { role, content, timestamp: time } };
}

/** A branch in a branch that was left, and behind both a long way that was gone on. */
function deepSession() {
  const lines = [
    header("deep", world.project),
    said("d1", null, "user", "How do we keep animals?"),
    said("d2", "d1", "assistant", "In an enclosure."),
    said("d3", "d2", "user", "Tell me of marsupials"),
    said("d4", "d3", "assistant", "There are many of them."),
    said("d5", "d4", "user", "Which one smiles?"),
    said("d6", "d5", "assistant", "The quokka $(trash) smiles, and the sign reads " + KEY),
    said("d7", "d4", "user", "Which one digs?"),
    said("d8", "d7", "assistant", "The wombat digs."),
  ];
  let tip = "d2";
  for (let at = 0; at < 150; at++) {
    lines.push(said(`m${at}`, tip, at % 2 === 0 ? "user" : "assistant", `about fences ${at}`));
    tip = `m${at}`;
  }
  return lines;
}

/** So many sessions that the index is seen being made. */
function makeCrowd() {
  const filling = "grass and hay ".repeat(150);
  for (let at = 0; at < 5000; at++) {
    const tip = `c${at}`;
    world.session(`crowd-${at}`, [
      { ...header(`crowd-${at}`, world.project), timestamp: "2025-01-01T00:00:00.000Z" },
      ...[said("c1", null, "user", `gnu number ${at}`), said(tip, "c1", "assistant", filling)].map((entry) => ({
        ...entry,
        timestamp: "2025-01-01T00:00:00.000Z",
        message: { ...entry.message, timestamp: Date.parse("2025-01-01T00:00:00.000Z") },
      })),
    ]);
  }
}

let editor;
const exported = world.path("exported");

before(async () => {
  world.demo();
  makeCrowd();
  world.session("deep", deepSession());
  world.session("elsewhere", [
    header("elsewhere", "/somewhere/else"),
    said("e1", null, "user", "An axolotl in another folder"),
    said("e2", "e1", "assistant", "Yes."),
  ]);
  mkdirSync(exported);
  mkdirSync(join(world.project, "importer"));
  writeFileSync(join(world.project, "importer/bulk.py"), "# here\n");
  editor = await startEditor(world, { name: "search" });
});
after(async () => {
  await editor?.stop();
  world.dispose();
});

const step = story("search", () => editor);
const input = () => editor.quick.locator("input.input");
const items = () => editor.quick.locator(".monaco-list-row");
const item = (text) => items().filter({ hasText: text }).first();

/** Open the search; with a text, type that. A panel that comes late may take the focus: then once more. */
async function searchFor(text, found) {
  const box = editor.quick.locator('input[placeholder^="Words, "]');
  await until(`${found} is found`, async () => {
    if (!(await box.isVisible())) await run(editor, "Branchline: Search All Sessions");
    if (text !== undefined) await box.fill(text, { timeout: 3000 });
    await item(found).waitFor({ timeout: 8000 });
    return true;
  }, 60_000);
}

/** The row that has the focus is this one, and it can be seen. */
async function shownRow(text) {
  await until(`the row of ${text} is focused`, async () => (await editor.focusedRow.innerText()).includes(text));
  const inside = await editor.focusedRow.evaluate((row) => {
    const { top, bottom } = row.getBoundingClientRect();
    const tree = row.closest(".tree").getBoundingClientRect();
    return top >= tree.top && bottom <= tree.bottom;
  });
  assert.ok(inside, "it is in sight");
}

step("while the index is made its progress is told, and hits come by themselves", async () => {
  const title = editor.quick.locator(".quick-input-title");
  const told = until("progress is told", async () => /· Indexing [\d,]+ of 5,003 sessions…$/.test(await title.innerText()), 60_000);
  await Promise.all([told, searchFor("gnu", "")]);
  await until("it is over", async () => (await title.innerText()) === "Sessions of this workspace");
  await item("«gnu» number").waitFor();
  await editor.page.keyboard.press("Escape");
});

step("what is typed is found, by session, and marked", async () => {
  await openSession(editor, "nightly import", "Done. The batch");
  await searchFor("quokka smi", "«quokka»");
  const text = (await editor.quick.innerText()).replaceAll("\u00a0", " ");
  assert.match(text, /«quokka» \$\(trash\) «smi/, "no icon out of what was said");
  assert.match(text, /Model · \d+d/);
  assert.match(text, /How do we keep animals\? · /, "the session's separator");
  assert.equal(await editor.quick.locator(".quick-input-title").innerText(), "Sessions of this workspace");
});

step("a hit in another session leads to its entry in a folded branch of a folded branch", async () => {
  await item("«quokka»").click();
  await editor.row("The quokka").waitFor();
  await shownRow("The quokka");
  assert.equal(await editor.tabs.count(), 2);
});

step("the last search is there again, and a hit of a call shows what is hidden else", async () => {
  await searchFor(undefined, "«quokka»");
  assert.equal(await input().inputValue(), "quokka smi");
  await until("it can be typed over", () => input().evaluate((one) => one.selectionEnd - one.selectionStart === one.value.length));
  await editor.screenshot("search-again");
  await searchFor("tool:bash pandas role:assistant", "«pandas»");
  await item("«pandas»").click();
  await until("the other tab is in front", async () => (await editor.panel.locator(".title").innerText()).includes("CSV importer"));
  await shownRow("(1 tool call: bash)");
  assert.equal(await editor.panel.locator("select.filter").inputValue(), "all");
});

step("a query that is none is answered in the list", async () => {
  await searchFor("role:nobody x", "This cannot be searched for.");
  assert.match(await item("This cannot be searched for.").innerText(), /unknown role/);
  assert.equal(await editor.page.locator(".notification-list-item").count(), 0);
});

step("other folders are a button away, and several hits of a session stay together", async () => {
  await searchFor("axolotl ", "Nothing was found.");
  // What the pointer rests on is explained, over the button.
  await editor.page.mouse.move(640, 790);
  await editor.quick.locator('.action-label[aria-label="Search the sessions of all folders"]').click();
  await item("«axolotl»").waitFor();
  assert.equal(await editor.quick.locator(".quick-input-title").innerText(), "Sessions of all folders");
  await searchFor("fences ", "«fences»");
  await until("three of the session", async () => (await items().filter({ hasText: "«fences»" }).count()) === 3);
});

step("the button of a hit opens the entry, and the search stays", async () => {
  await searchFor("wombat ", "«wombat»");
  await item("«wombat»").hover();
  await item("«wombat»").locator('.action-label[aria-label*="Open Entry"]').click();
  await until("the entry's text is there", async () => (await editor.text()).includes("The wombat digs."));
  assert.ok(await editor.quick.isVisible(), "the search is still open");
  await editor.page.keyboard.press("Escape");
  await editor.quick.waitFor({ state: "hidden" });
});

step("the menu of a file finds the sessions that touched it", async () => {
  await run(editor, "View: Show Explorer");
  const files = editor.page.locator(".explorer-folders-view .monaco-list-row");
  await until("the file is listed", async () => {
    if ((await files.filter({ hasText: "bulk.py" }).count()) > 0) return true;
    await files.filter({ hasText: "importer" }).first().click({ timeout: 2000 });
    return false;
  });
  await until("the search is open", async () => {
    await files.filter({ hasText: "bulk.py" }).first().click({ button: "right", timeout: 2000 });
    const entry = editor.page.locator(".monaco-menu .action-item").filter({ hasText: "Search Sessions That Touched" }).first();
    await entry.hover({ timeout: 2000 });
    await until("the menu takes the click", async () => {
      if (!(await entry.isVisible())) return true;
      await entry.click({ timeout: 1000 });
      return false;
    }, 5000);
    return editor.quick.isVisible();
  });
  assert.equal(await input().inputValue(), "file:importer/bulk.py ");
  await until("it is found", async () => /CSV importer/.test(await editor.quick.innerText()));
  assert.ok((await items().filter({ hasText: "bulk" }).count()) > 0);
  await editor.page.keyboard.press("Escape");
});

/** Answer the questions of an export, up to the dialog for the file, which proposes this one. */
async function answerExport(proposed, ...answers) {
  for (const [at, answer] of answers.entries()) {
    await until(`question ${at + 1}`, async () => (await editor.quick.locator(".quick-input-title").innerText()).includes(`(${at + 1}/3)`));
    await editor.screenshot(`search-question-${at + 1}`);
    await item(answer).click();
  }
  await until(`${proposed} is proposed`, async () => (await input().inputValue()) === proposed);
}

/** Give the dialog a path. It may still be reading the folder: what is on screen decides. */
async function saveAs(path, holds) {
  await until(`${path} is saved`, async () => {
    if (await input().isVisible()) {
      await input().fill(path, { timeout: 2000 });
      await input().press("Enter", { timeout: 2000 });
    }
    return until("it did", holds, 3000);
  });
}

step("an export in Markdown is private, and what looks like a key is hidden", async () => {
  const path = join(exported, "handed-on.md");
  await openSession(editor, "keep animals", "How do we keep");
  await run(editor, "Branchline: Export Conversation");
  await answerExport(join(world.project, "How-do-we-keep-animals.md"), "Markdown", "All branches", "Hide keys");
  await saveAs(path, () => editor.notification("“handed-on.md” was written.").isVisible());
  assert.match(await editor.notification("was written").innerText(), /Hidden: 1 key\./);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const text = readFileSync(path, "utf8");
  assert.match(text, /The quokka .* smiles, and the sign reads \[key 1\]/);
  assert.ok(!text.includes(KEY));
  assert.match(text, /about fences 149/);
  await editor.answer("was written", "Open");
  await until("it is open", async () => (await editor.text()).includes("How do we keep animals?"));
});

step("a file that is there is not replaced, and another name is asked for", async () => {
  const taken = join(exported, "taken.jsonl");
  writeFileSync(taken, "mine\n");
  await editor.clearNotifications();
  await editor.showSessions();
  await editor.sessionMenu("How do we keep animals?", "Export Conversation", () =>
    until("it asks", async () => (await editor.quick.locator(".quick-input-title").innerText()).includes("(1/3)"), 5000));
  const proposed = join(exported, "How-do-we-keep-animals.jsonl");
  await answerExport(proposed, "JSONL", "The active branch", "Hide nothing");
  const refused = editor.page.locator(".monaco-dialog-box").filter({ hasText: "Branchline replaces no file" });
  await saveAs(taken, () => refused.isVisible());
  await editor.screenshot("search-refused");
  await editor.dialog("Branchline replaces no file", "Another Name");
  await until("it is asked for again", async () => (await input().inputValue()) === proposed);
  const path = join(exported, "records.jsonl");
  await saveAs(path, () => editor.notification("“records.jsonl” was written.").isVisible());
  assert.equal(readFileSync(taken, "utf8"), "mine\n");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const records = readFileSync(path, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.equal(records[0].type, "session");
  assert.equal(records.at(-1).id, "m149");
  assert.ok(!records.some(({ id }) => id === "d6"), "what was left is not in it");
  assert.deepEqual(readdirSync(exported).sort(), ["handed-on.md", "records.jsonl", "taken.jsonl"]);
});

step("a page is written from the title's menu of the panel", async () => {
  await editor.clearNotifications();
  await openSession(editor, "keep animals", "How do we keep");
  await until("it asks", async () => {
    await editor.page.keyboard.press("Escape");
    await editor.page.locator(".editor-actions .codicon-toolbar-more").last().click({ timeout: 2000 });
    const entry = editor.page.locator(".monaco-menu .action-item").filter({ hasText: "Export Conversation" }).first();
    await entry.hover({ timeout: 2000 });
    await until("the menu takes the click", async () => {
      if (!(await entry.isVisible())) return true;
      await entry.click({ timeout: 1000 });
      return false;
    }, 5000);
    return until("asked", async () => (await editor.quick.locator(".quick-input-title").innerText()).includes("(1/3)"), 3000);
  });
  await answerExport(join(exported, "How-do-we-keep-animals.html"), "HTML page", "All branches", "Hide keys");
  const path = join(exported, "page.html");
  await saveAs(path, () => editor.notification("“page.html” was written.").isVisible());
  const text = readFileSync(path, "utf8");
  assert.match(text, /^<!doctype html>/i);
  assert.ok(text.includes("[key 1]") && !text.includes(KEY));
});
