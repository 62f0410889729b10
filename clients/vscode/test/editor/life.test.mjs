// How sessions begin and end, what other programs do, reloads, and a daemon that is not there.
import assert from "node:assert/strict";
import { appendFileSync, existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { after, before } from "node:test";
import { startEditor, until } from "./lib/editor.mjs";
import { story } from "./lib/steps.mjs";
import { entries, makeWorld } from "./lib/world.mjs";

const world = makeWorld();
let editor;

before(async () => {
  // No setting names the daemon, and it is not on PATH: it has to be installed.
  world.env.PATH = "/usr/local/bin:/usr/bin:/bin";
  editor = await startEditor(world, { name: "life", machine: { "branchline.command": "" } });
});
after(async () => {
  await editor?.stop();
  world.dispose();
});

const step = story("life", () => editor);
const press = (key) => editor.page.keyboard.press(key);
const welcome = (text) => editor.page.locator(".welcome-view-content").filter({ hasText: text }).first();
const sessionFiles = () => {
  const folder = world.path("agent/sessions");
  return readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".jsonl"));
};
let file;

step("a daemon that is missing is installed from the view", async () => {
  await editor.showSessions();
  await welcome("was not found").waitFor();
  await editor.page.locator(".monaco-button").filter({ hasText: "Install It" }).click();
  await until("it runs", () => welcome("no conversations of this workspace").isVisible(), 180_000);
});

step("a new session has a file, a panel and a first message to write", async () => {
  await editor.page.locator(".monaco-button").filter({ hasText: "New Session" }).click();
  await editor.fill("Fresh start");
  await editor.codeLens("Store only").waitFor();
  await until("the panel is there", async () =>
    (await editor.panel.locator(".title").innerText()) === "Fresh start");
  await editor.sessions.filter({ hasText: "Fresh start" }).first().waitFor();
  assert.equal(sessionFiles().length, 1);
  file = world.path("agent/sessions", sessionFiles()[0]);
  assert.equal(entries(file).at(-1).name, "Fresh start");
});

step("a draft survives a reload, and saving it sends nothing", async () => {
  await editor.clickText();
  await editor.page.keyboard.type("First words");
  await press("Control+S");
  await until("it is saved", async () =>
    (await editor.page.locator(".tab.active.dirty").count()) === 0);
  const reloaded = editor.page.waitForEvent("load");
  await editor.command("Developer: Reload Window");
  await reloaded;
  await editor.page.locator(".monaco-workbench .part.activitybar").waitFor();
  await editor.codeLens("Store only").waitFor();
  await until("its text is there", async () =>
    (await editor.page.locator(".monaco-editor .view-lines").last().innerText()).includes("First"));
  await until("the panel is restored", async () =>
    (await editor.panel.locator(".title").innerText()) === "Fresh start");
  assert.equal(entries(file).filter((entry) => entry.type === "message").length, 0);
});

step("Store only keeps the message and asks nobody", async () => {
  await editor.codeLens("Store only").click();
  await until("it is in the file", () =>
    entries(file).some((entry) => entry.message?.content === "First words"));
  await until("and on the screen", async () => (await editor.leaf.innerText()).includes("First words"));
  await editor.codeLens("Store only").waitFor({ state: "detached" });
});

step("a session that another program makes appears in the list", async () => {
  world.session("other", [
    { type: "session", version: 3, id: "5e550000-0000-4000-8000-0000000000cc", timestamp: new Date().toISOString(), cwd: world.project },
    { type: "message", id: "o1", parentId: null, timestamp: new Date().toISOString(), message: { role: "user", content: "from outside", timestamp: Date.now() } },
  ]);
  await editor.sessions.filter({ hasText: "from outside" }).first().waitFor();
});

step("a branch that another program makes is offered: Follow", async () => {
  const time = new Date().toISOString();
  const first = entries(file).find((entry) => entry.message !== undefined);
  const line = (id, parentId, content) =>
    `${JSON.stringify({ type: "message", id, parentId, timestamp: time, message: { role: "user", content, timestamp: Date.now() } })}\n`;
  appendFileSync(file, line("x1", first.id, "went on"));
  await editor.row("went on").waitFor();
  appendFileSync(file, line("x2", first.parentId, "another way"));
  const bar = editor.panel.locator(".bar.notice");
  await bar.filter({ hasText: "Another program" }).waitFor();
  assert.match(await editor.leaf.innerText(), /went on/, "our leaf stayed");
  await bar.locator("button").filter({ hasText: "Follow" }).click();
  await until("the leaf is theirs", async () => (await editor.leaf.innerText()).includes("another way"));
  await bar.waitFor({ state: "detached" });
});

step("a session is renamed from its menu", async () => {
  const input = editor.quick.locator("input.input");
  await editor.sessionMenu("Fresh start", "Rename Session", async () => {
    await input.waitFor({ state: "visible", timeout: 3000 });
    return (await input.inputValue()) === "Fresh start";
  });
  await editor.fill("Second name");
  await editor.sessions.filter({ hasText: "Second name" }).first().waitFor();
  await editor.tabs.filter({ hasText: "Second name" }).first().waitFor();
  assert.equal(entries(file).at(-1).name, "Second name");
});

step("Switch Branch finds a message by its words and goes there", async () => {
  await editor.command("Branchline: Switch Branch");
  const input = editor.quick.locator("input.input");
  await input.waitFor({ state: "visible" });
  await until("points are listed", async () => (await editor.quick.locator(".monaco-list-row").count()) > 2);
  await input.fill("went on");
  await input.press("Enter");
  await editor.pick("Just go");
  await editor.codeLens("Discard").click();
  await until("a move is in the file", () => entries(file).at(-1).type !== "message");
});

step("a session is moved to the trash after a question", async () => {
  const question = editor.page.locator(".monaco-dialog-box").filter({ hasText: "from outside" });
  await editor.sessionMenu("from outside", "Move Session to Trash", async () => {
    await question.waitFor({ timeout: 3000 });
    return true;
  });
  await editor.page.locator(".monaco-dialog-box button, .monaco-dialog-box .monaco-button").filter({ hasText: "Move to Trash" }).click();
  await editor.sessions.filter({ hasText: "from outside" }).first().waitFor({ state: "detached" });
  assert.ok(!existsSync(world.path("agent/sessions/--project--/other.jsonl")));
});

/** Have a program of this text be the daemon's. */
function setProgram(name, source) {
  const program = world.path(name);
  writeFileSync(program, source, { mode: 0o755 });
  setCommand(program);
}
const setCommand = (command) =>
  writeFileSync(world.path("data/Machine/settings.json"), JSON.stringify({ "branchline.command": command }));
/** A daemon of an early version: it answers, and can do nothing that is needed. */
const EARLY = `#!${process.execPath}
process.stdin.on("data", (data) => {
  const { id } = JSON.parse(/\\{.*/s.exec(String(data))[0]);
  const body = JSON.stringify({ jsonrpc: "2.0", id, result: { capabilities: { experimental: { branchline: { protocolVersion: 0, methods: [] } } } } });
  process.stdout.write("Content-Length: " + body.length + "\\r\\n\\r\\n" + body);
});
`;

step("a program that does not start, and one that is too old, are told apart in the view", async () => {
  setProgram("broken", "#!/bin/sh\nexit 1\n");
  await welcome("Branchline did not start").waitFor();
  await editor.page.locator(".welcome-view-content .monaco-button").filter({ hasText: "Start Again" }).waitFor();
  await editor.screenshot("life-failed");
  setProgram("early", EARLY);
  await welcome("too old").waitFor();
  await editor.screenshot("life-old");
  setCommand("");
  await editor.sessions.filter({ hasText: "Second name" }).first().waitFor();
  assert.equal(await editor.notification("couldn't create connection").count(), 0, "it is said once, in our words");
  await until("the panel is back", async () => (await editor.panel.locator(".bar.notice").count()) === 0);
});

step("where nothing was said yet, the view of all folders says so", async () => {
  for (const name of sessionFiles()) rmSync(world.path("agent/sessions", name));
  await editor.command("View: Close All Editors");
  await welcome("no conversations of this workspace").waitFor();
  await editor.page.locator(".welcome-view-content .monaco-button").filter({ hasText: "Show All Folders" }).click();
  await welcome("There are no conversations yet").waitFor();
  await editor.page.locator(".welcome-view-content .monaco-button").filter({ hasText: "Open the Demo" }).click();
  await until("the demo is there", async () => (await editor.leaf.innerText()).includes("Done. The batch"));
});
