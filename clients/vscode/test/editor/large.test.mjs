// Large sessions in a real VS Code: the first rows are there before the daemon has read the rest.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { startEditor, until } from "./lib/editor.mjs";
import { manyEntries } from "./lib/many.mjs";
import { assertAccessible, assertLaidOut, fact, run, setTheme } from "./lib/panel.mjs";
import { makeRelay } from "./lib/relay.mjs";
import { story } from "./lib/steps.mjs";
import { PROGRAM, makeWorld } from "./lib/world.mjs";

const world = makeWorld();
const relay = makeRelay(world, PROGRAM);
let editor;

const time = "2026-02-03T10:00:00.000Z";
const header = (id) => ({ type: "session", version: 3, id: `5e550000-0000-4000-8000-0000000000${id}`, timestamp: time, cwd: world.project });
const message = (id, parentId, role, content) => ({ type: "message", id, parentId, timestamp: time, message: { role, content, timestamp: 1 } });
const named = (id, parentId, name) => ({ type: "session_info", id, parentId, timestamp: time, name });
const press = (key) => editor.page.keyboard.press(key);
const reading = () => editor.panel.locator(".meter-text").filter({ hasText: "Reading the rest…" });

before(async () => {
  world.demo();
  // More than 16 MB, in many entries and in few.
  world.session("large", [header("c1"), ...manyEntries(` ${"word ".repeat(400)}`), named("n", "m9599", "enormous")]);
  const wide = Array.from({ length: 40 }, (_none, at) =>
    message(`w${at}`, at === 0 ? null : `w${at - 1}`, at % 2 === 0 ? "user" : "assistant", `wide ${at} ${"word ".repeat(200_000)}`));
  // Its second entry has a parent that is not there: that is warned of once all is read.
  wide.splice(1, 0, message("lost", "nowhere", "user", "of nobody"));
  world.session("wide", [header("c2"), ...wide, named("n", "w39", "broad")]);
  editor = await startEditor(world, { name: "large", machine: { "branchline.command": relay.command } });
  await editor.showSessions();
  await editor.sessions.first().waitFor();
});
after(async () => {
  await editor?.stop();
  world.dispose();
});

const step = story("large", () => editor);

/** Choose a session from the list of all; its panel is in front when its title is there. */
async function choose(name) {
  const input = editor.quick.locator('input[placeholder^="Words of its name"]');
  await until(`${name} is in front`, async () => {
    await run(editor, "Branchline: Open Session");
    await input.fill(name, { timeout: 3000 });
    await until("it is found", async () => (await editor.quick.locator(".monaco-list-row").count()) === 1, 8000);
    await input.press("Enter");
    await editor.panel.locator(".title").filter({ hasText: name }).waitFor({ timeout: 8000 });
    return true;
  }, 40_000);
}

/** Where rows are on screen, by their words, and which is selected. */
const places = () =>
  fact(editor, () => ({
    rows: Object.fromEntries([...document.querySelectorAll(".row")].map((row) => [
      row.querySelector(".text").textContent.slice(0, 12), Math.round(row.getBoundingClientRect().top)])),
    focused: document.querySelector(".row.focused .text").textContent.slice(0, 12),
  }));

/** The answers come, and all rows take their place. */
async function release() {
  relay.hold();
  await until("all rows are there", async () => !(await editor.panel.locator(".search").isDisabled()));
  assert.equal(await reading().count(), 0);
}

/** What was on screen before is where it was. */
function assertStayed(before, after) {
  const both = Object.keys(before.rows).filter((words) => words in after.rows);
  assert.ok(both.length > 5, `${both.length} rows in common`);
  for (const words of both) assert.ok(Math.abs(before.rows[words] - after.rows[words]) <= 1, `${words} went from ${before.rows[words]} to ${after.rows[words]}`);
  assert.equal(after.focused, before.focused);
}

step("the rows around the leaf are on screen while the session is being read", async () => {
  await choose("CSV importer");
  await editor.panel.locator(".mark-leaf").waitFor();
  relay.clear();
  relay.hold("session/open");
  await choose("enormous");
  await editor.leaf.waitFor();
  assert.match(await editor.leaf.innerText(), /answer 9599/);
  await reading().waitFor();
  assert.deepEqual(relay.passed().map(([method]) => method).filter((method) => /session\/(open|tail|tree|overview)$/.test(method)), ["session/tail"]);
  assert.equal(await editor.leaf.getAttribute("aria-setsize"), "-1");
  assert.equal(await editor.leaf.getAttribute("aria-posinset"), null);
  const { leaf, end } = await fact(editor, () => ({
    leaf: document.querySelector(".row.leaf").getBoundingClientRect().bottom,
    end: document.querySelector(".tree").getBoundingClientRect().bottom,
  }));
  assert.ok(Math.abs(end - leaf) < 1, "the leaf is at the bottom");
  await assertLaidOut(editor);
});

step("it looks as it should in the dark, too", async () => {
  for (const theme of ["Dark Modern", "Light Modern"]) {
    await setTheme(editor, theme);
    await assertAccessible(editor);
    await editor.screenshot(`large-reading-${theme.replace(" ", "-")}`);
  }
});

step("one moves in them, and what needs the session is not done", async () => {
  await editor.focusPanel();
  const leafTop = () => editor.leaf.evaluate((row) => row.getBoundingClientRect().top);
  const before = await leafTop();
  for (const at of [9598, 9597, 9596]) {
    await press("ArrowUp");
    await until("the focus moves", async () => (await editor.focusedRow.innerText()).includes(` ${at}`));
  }
  for (const key of ["2", "/", "n"]) await press(key);
  assert.equal(await editor.panel.locator(".filter").inputValue(), "default");
  assert.ok(await editor.panel.locator(".search").isDisabled());
  assert.equal(await leafTop(), before, "what is in sight is not scrolled");
});

step("all rows take their place where they were, and what was selected stays so", async () => {
  const before = await places();
  await release();
  assertStayed(before, await places());
  await until("overview marks are there", async () => (await editor.panel.locator(".mark-fork").count()) > 100);
  assert.ok(Number(await editor.leaf.getAttribute("aria-setsize")) > 0);
  assert.ok(Number(await editor.leaf.getAttribute("aria-posinset")) > 0);
});

step("all of it can be gone through", async () => {
  await editor.focusPanel();
  await press("Home");
  await until("the first row is selected", async () => (await editor.focusedRow.innerText()).includes("question 0"));
});

step("a panel that was left elsewhere shows nothing else first", async () => {
  await editor.panel.locator('#page[data-kept="yes"]').waitFor();
  relay.clear();
  relay.hold("session/open");
  const reloaded = editor.page.waitForEvent("load");
  await run(editor, "Developer: Reload Window");
  await reloaded;
  await until("its first rows were asked for", () => relay.passed().some(([method]) => method === "session/tail"));
  await until("the page is there", () => fact(editor, (body) => body.querySelector("#page") !== null));
  assert.equal(await editor.rows.count(), 0);
  relay.hold();
  await until("it is where it was", async () => (await editor.focusedRow.innerText()).includes("question 0"));
  assert.match(await editor.rows.first().innerText(), /question 0/);
});

step("few rows are at the bottom, and stay there below a warning", async () => {
  relay.hold("session/open");
  await choose("broad");
  await reading().waitFor();
  await editor.leaf.waitFor();
  await editor.screenshot("large-few-reading");
  await editor.focusPanel();
  for (const at of [38, 37, 36, 35]) {
    await press("ArrowUp");
    await until("the focus moves", async () => (await editor.focusedRow.innerText()).includes(`wide ${at}`));
  }
  const before = await places();
  assert.ok(Object.keys(before.rows).length < 20);
  assert.ok(Math.min(...Object.values(before.rows)) > 200, "what is above them is not known");
  assert.equal(await editor.panel.locator(".bar.warning").count(), 0);
  await release();
  await editor.panel.locator(".bar.warning").first().waitFor();
  assertStayed(before, await places());
});

step("a panel that is closed meanwhile leaves nothing behind", async () => {
  await run(editor, "View: Close All Editors");
  await until("all are closed", async () => (await editor.tabs.count()) === 0);
  relay.clear();
  relay.hold("session/open");
  await choose("enormous");
  await reading().waitFor();
  await run(editor, "View: Close All Editors");
  await until("no tab is left", async () => (await editor.tabs.count()) === 0);
  relay.clear();
  relay.hold();
  await until("it is closed", () => relay.passed().some(([method]) => method === "session/close"));
});

step("a switch that is asked for meanwhile waits, is about what was selected, and is asked once", async () => {
  await choose("CSV importer");
  await until("it is open", async () => (await editor.leaf.count()) === 1);
  relay.clear();
  relay.hold("session/open");
  await choose("enormous");
  await reading().waitFor();
  await editor.focusPanel();
  await press("ArrowUp");
  await until("the focus moves", async () => (await editor.focusedRow.innerText()).includes("answer 9598"));
  await press("Enter");
  await press("Enter");
  await press(".");
  await until("the leaf is selected", async () => (await editor.focusedRow.innerText()).includes("answer 9599"));
  assert.equal(await editor.quick.isVisible(), false);
  await release();
  const question = editor.quick.locator(".monaco-list-row").filter({ hasText: "Just go" });
  await question.waitFor();
  assert.match(await editor.panel.locator(".bar.bracket").innerText(), /1 message,/);
  await press("Escape");
  await editor.quick.waitFor({ state: "hidden" });
  await editor.panel.locator(".bar.bracket").waitFor({ state: "detached" });
  assert.equal(relay.passed().filter(([method]) => method === "session/switchLeaf").length, 1);
});
