// What a person does with a conversation, in a real VS Code with the real daemon: each step is looked
// for on the screen and in the file.
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { after, before } from "node:test";
import { startEditor, until } from "./lib/editor.mjs";
import { modelServer } from "./lib/model.mjs";
import { story } from "./lib/steps.mjs";
import { entries, makeWorld } from "./lib/world.mjs";

const world = makeWorld();
let editor;
let file;
let model;

before(async () => {
  file = world.demo();
  model = await modelServer();
  editor = await startEditor(world, {
    name: "flows",
    settings: { "branchline.compaction.keepRecentTokens": 500 },
    machine: {
      "branchline.prompt.baseUrl": model.baseUrl,
      "branchline.prompt.model": "scripted",
      "branchline.prompt.apiKeyEnv": "SCRIPTED_API_KEY",
    },
  });
});
after(async () => {
  await editor?.stop();
  model?.close();
  world.dispose();
});

const step = story("flows", () => editor);
const last = () => entries(file).at(-1);
const ofType = (type) => entries(file).filter((entry) => entry.type === type);
const press = (key) => editor.page.keyboard.press(key);
step("the list shows the session and a click draws it", async () => {
  const sessions = await editor.showSessions();
  await sessions.filter({ hasText: "CSV importer" }).first().click();
  await editor.leaf.waitFor();
  assert.match(await editor.leaf.innerText(), /Done\. The batch size.*here/s);
  assert.match(await editor.statusItem("CSV importer").innerText(), /5k\/128k/);
  await editor.picture("panel");
});

step("keys move and the focused row is announced", async () => {
  await editor.focusPanel();
  await press("Home");
  await until("the first row is focused", async () => (await editor.focusedRow.getAttribute("id")) === "row-0");
  assert.equal(await editor.panel.locator(".tree").getAttribute("aria-activedescendant"), "row-0");
  await press("Shift+J");
  await until("the first message of the person's", async () =>
    (await editor.focusedRow.innerText()).includes("nightly import"));
});

step("a folded branch is picked by keyboard alone and one just goes there", async () => {
  const size = entries(file).length;
  await editor.keysTo("'", "pandas");
  await press("Enter");
  await editor.quick.locator(".monaco-list-row").first().waitFor();
  const title = await editor.quick.locator(".quick-input-title").innerText();
  assert.match(title, /^Leave .*: \d+ messages, .* tokens/);
  assert.ok((await editor.panel.locator(".row.bracketed").count()) > 0, "what is left is bracketed");
  assert.equal(entries(file).length, size, "asking writes nothing");
  await editor.picture("switch");
  await until("the question has the focus", () =>
    editor.quick.locator("input.input").evaluate((input) => input === document.activeElement));
  await press("Enter");
  await until("a move is in the file", () => entries(file).length > size);
  await until("the leaf is elsewhere on screen", async () => !(await editor.leaf.innerText()).includes("Done. The batch"));
});

step("the message that was picked opens for editing and is discarded", async () => {
  await editor.codeLens("Discard").click();
  await editor.codeLens("Discard").waitFor({ state: "detached" });
});

step("one key takes the move back", async () => {
  await editor.focusPanel();
  await press("u");
  await editor.notification("The last move was undone").waitFor();
  await until("the leaf is back", async () => (await editor.leaf.innerText()).includes("Done. The batch"));
  await editor.command("Notifications: Clear All Notifications");
});

step("a switch takes an edited summary along", async () => {
  const before = ofType("branch_summary").length;
  await editor.focusPanel();
  await editor.keysTo("ArrowUp", "Neun Tests");
  await press("Enter");
  await editor.pick("Take a summary along");
  await editor.codeLens("Store").waitFor();
  assert.equal(ofType("branch_summary").length, before, "a draft is not in the file");
  await editor.clickText();
  await press("Control+End");
  await editor.page.keyboard.type(" Seen by a person.");
  await editor.page.locator('.editor-actions a[aria-label^="Store the Summary"]').click();
  await until("the summary is in the file", () => ofType("branch_summary").length === before + 1);
  assert.match(ofType("branch_summary").at(-1).summary, /Seen by a person\./);
  await until("and on the screen", async () => (await editor.leaf.getAttribute("class")).includes("summary"));
  await editor.codeLens("Store").waitFor({ state: "detached" });
});

step("a move with a summary is undone from the status bar", async () => {
  await editor.statusItem("Undo Move").click();
  await until("the leaf is back", async () => (await editor.leaf.innerText()).includes("Done. The batch"));
  await editor.command("Notifications: Clear All Notifications");
});

step("a compaction is looked at, edited and stored", async () => {
  await editor.focusPanel();
  await press("c");
  // The palette that the step before used may still be going away, so it is not the first row that counts.
  await editor.quick.locator(".quick-input-title").filter({ hasText: /^Compact .* entries covered/ }).waitFor();
  await editor.pick("Write it, and show it");
  await editor.codeLens("Store").waitFor();
  assert.match(await editor.text(), /Goal/);
  assert.equal(ofType("compaction").length, 0, "a draft is not in the file");
  await editor.clickText();
  await press("Control+Home");
  await editor.page.keyboard.type("Edited by hand. ");
  await editor.codeLens("Store").click();
  await until("the compaction is in the file", () => ofType("compaction").length === 1);
  assert.match(ofType("compaction")[0].summary, /^Edited by hand\. /);
  await until("what it covers is marked", async () => (await editor.panel.locator(".row.covered").count()) > 5);
});

step("the compaction is undone", async () => {
  await editor.focusPanel();
  await press("u");
  await until("nothing is covered", async () => (await editor.panel.locator(".row.covered").count()) === 0);
  assert.equal(ofType("compaction").length, 1, "the file only grows");
  await editor.command("Notifications: Clear All Notifications");
});

step("a label is set", async () => {
  await editor.focusPanel();
  await editor.keysTo("ArrowUp", "Print a progress line");
  await press("Shift+L");
  await editor.fill("stderr");
  await until("the label is in the file", () => last().type === "label" && last().label === "stderr");
  await editor.row("⚑stderr").waitFor();
});

step("a search marks what it found and ends with Escape", async () => {
  await editor.focusPanel();
  await press("/");
  const search = editor.panel.locator(".search");
  await until("the search has the focus", () => search.evaluate((one) => one === document.activeElement));
  await editor.page.keyboard.type("umlaute");
  await until("hits are marked", async () => (await editor.panel.locator("mark").count()) > 0);
  const count = Number((await editor.panel.locator(".result").innerText()).match(/\d+/)[0]);
  assert.ok(count > 0 && count < 10);
  await press("Escape");
  await until("all is shown again", async () => (await editor.panel.locator("mark").count()) === 0);
  await editor.leaf.waitFor();
});

step("an entry opens as a document that cannot be changed", async () => {
  await editor.focusPanel();
  await editor.keysTo("ArrowUp", "Bitte auch die Umlaute");
  await press("o");
  await until("its text is there", async () => (await editor.text()).includes("Bitte auch die Umlaute"));
  assert.match(await editor.text(), /## You/);
  await editor.command("View: Close Editor");
});

step("a fork is a session of its own", async () => {
  await editor.focusPanel();
  await editor.keysTo("ArrowUp", "Neun Tests");
  await press("f");
  await until("another tab is open", async () =>
    (await editor.page.locator(".tabs-container .tab").count()) === 2);
  await until("the fork ends where it was made", async () => (await editor.leaf.innerText()).includes("Neun Tests"));
  const all = JSON.parse(world.branchline("list", "--json"));
  assert.equal(all.sessions.length, 2);
  await editor.command("View: Close Editor");
  await until("one tab is left", async () => (await editor.page.locator(".tabs-container .tab").count()) === 1);
});

step("an edited message is asked and the answer is seen as it is written", async () => {
  let release;
  model.says(["A short ", "answer."], new Promise((done) => (release = done)));
  await editor.focusPanel();
  await editor.keysTo("ArrowUp", "Print a progress line");
  await press("Enter");
  await editor.pick("Just go");
  await editor.codeLens("Ask").waitFor();
  assert.match(await editor.text(), /Print a progress line/);
  await editor.clickText();
  await press("Control+End");
  await editor.page.keyboard.type(" Flush it.");
  await press("Control+S");
  assert.equal(model.requests.length, 0, "saving sends nothing");
  await editor.codeLens("Ask").click();
  await until("the answer begins", async () =>
    (await editor.panel.locator(".written").innerText()).includes("A short"));
  await editor.screenshot("flows-answer-being-written");
  release();
  await until("the answer is in the file", () => JSON.stringify(last()).includes("A short answer."));
  await until("and on the screen", async () => (await editor.leaf.innerText()).includes("A short answer."));
  assert.match(JSON.stringify(model.requests[0].messages.at(-1)), /Flush it\./);
  await editor.codeLens("Ask").waitFor({ state: "detached" });
});

step("an answer is cancelled in the panel", async () => {
  model.says(["Never ", "finished."], new Promise(() => undefined));
  await editor.focusPanel();
  await press("i");
  await editor.codeLens("Ask").waitFor();
  await editor.clickText();
  await editor.page.keyboard.type("And again?");
  await editor.codeLens("Ask").click();
  await until("the answer begins", async () => (await editor.panel.locator(".written").innerText()).includes("Never"));
  await editor.panel.locator(".writing button").click();
  await until("it is over", async () => !(await editor.panel.locator(".writing").isVisible()));
  await until("what came is kept as aborted", () =>
    entries(file).some((entry) => entry.message?.stopReason === "aborted"));
});

step("what another program appends appears by itself", async () => {
  const tip = last();
  appendFileSync(
    file,
    `${JSON.stringify({
      type: "message",
      id: "from-elsewhere",
      parentId: tip.id,
      timestamp: new Date().toISOString(),
      message: { role: "user", content: "Written by another program", timestamp: Date.now() },
    })}\n`,
  );
  await editor.row("Written by another program").waitFor();
  await until("the leaf went along", async () =>
    (await editor.leaf.innerText()).includes("Written by another program"));
});

step("the daemon is killed and comes back with the place kept", async () => {
  await editor.focusPanel();
  await editor.keysTo("ArrowUp", "Neun Tests");
  const { pid } = JSON.parse(world.branchline("status", "--json"));
  process.kill(pid, "SIGKILL");
  await until("another daemon is there", () => {
    const status = JSON.parse(world.branchline("status", "--json"));
    return status.pid !== undefined && status.pid !== null && status.pid !== pid;
  });
  await until("the panel says nothing any more", async () =>
    (await editor.panel.locator(".bar.notice").count()) === 0);
  assert.match(await editor.focusedRow.innerText(), /Neun Tests/);
  await press("Shift+L");
  await editor.fill("after the crash");
  await until("a label is in the file", () => last().label === "after the crash");
  await editor.row("⚑after the crash").waitFor();
});
