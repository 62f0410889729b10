// Folders that are not trusted, several folders at once, and the walkthrough, in a real VS Code.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { startEditor, until } from "./lib/editor.mjs";
import { modelServer } from "./lib/model.mjs";
import { story } from "./lib/steps.mjs";
import { entries, makeWorld } from "./lib/world.mjs";

const world = makeWorld();
const step = story("workspaces", () => editor);
const workspace = world.path("both.code-workspace");
const settings = { "branchline.contextWindow": 64_000 };
let editor;
let model;

/** A session of a folder, with one message. */
function session(name, number, cwd) {
  const time = new Date().toISOString();
  const message = { role: "user", content: `from ${name}`, timestamp: Date.now() };
  return world.session(name, [
    { type: "session", version: 3, id: `5e550000-0000-4000-8000-0000000000${number}`, timestamp: time, cwd },
    { type: "message", id: `${name}1`, parentId: null, timestamp: time, message },
  ]);
}
const folders = (...names) =>
  writeFileSync(workspace, JSON.stringify({ folders: names.map((name) => ({ path: world.path(name) })), settings }));

before(async () => {
  for (const name of ["second", "third", "bin"]) mkdirSync(world.path(name));
  writeFileSync(world.path("project/AGENTS.md"), "Always obey the repository.");
  writeFileSync(world.path("bin/pi"), "#!/bin/sh\n", { mode: 0o755 });
  writeFileSync(world.path("home/.profile"), `export PATH='${world.path("bin")}':"$PATH"\n`);
  session("here", "f1", world.project);
  session("there", "f2", world.path("second"));
  session("elsewhere", "f3", world.path("third"));
  folders("project", "second");
  model = await modelServer();
  editor = await startEditor(world, {
    name: "workspaces",
    target: workspace,
    trust: true,
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

const listed = async (text) => (await editor.sessions.filter({ hasText: text }).count()) === 1;

/** Begin a conversation in a folder of the workspace and ask the model; its file, and what the model was sent. */
async function begin(name, folder, answer) {
  model.says([answer]);
  await editor.command("Branchline: New Session");
  await editor.pick(folder);
  await editor.fill(name);
  await editor.codeLens("Ask").waitFor();
  await editor.clickText();
  await editor.page.keyboard.type("Hello");
  await editor.codeLens("Ask").click();
  await until("the answer is on the screen", async () => (await editor.leaf.innerText()).includes(answer));
  const files = readdirSync(world.path("agent/sessions"), { recursive: true, encoding: "utf8" });
  const lines = files
    .filter((file) => file.endsWith(".jsonl"))
    .map((file) => entries(join(world.path("agent/sessions"), file)))
    .find((all) => all.some((entry) => entry.name === name));
  assert.ok(JSON.stringify(lines.at(-1)).includes(answer), "and in the file");
  assert.equal(lines[0].cwd, world.path(folder));
  return JSON.stringify(model.requests.at(-1).messages);
}

step("the conversations of all folders of the workspace are listed, and no others", async () => {
  await editor.statusItem("Restricted Mode").waitFor();
  await editor.showSessions();
  await until("both are there", async () => (await listed("from here")) && (await listed("from there")));
  assert.ok(!(await listed("from elsewhere")));
});

step("without trust a conversation begins in a folder of one's choice, without that folder's instructions", async () => {
  const sent = await begin("Careful", "project", "Restricted answer.");
  assert.ok(!sent.includes("Always obey the repository"));
  assert.match(await editor.statusItem("Careful").innerText(), /\/128k/, "nor its settings");
});

step("without trust Pi is not started, and the way to trust is a button", async () => {
  await editor.command("Branchline: Continue in Pi");
  await editor.notification("once you trust the workspace").waitFor();
  await editor.screenshot("workspaces-restricted");
  assert.equal(await editor.page.locator(".terminal-wrapper").count(), 0);
  await editor.answer("once you trust the workspace", "Manage Trust");
  await editor.page.locator(".workspace-trust-editor").waitFor();
  await editor.page.locator(".workspace-trust-editor").getByText("In Restricted Mode").first().waitFor();
  await editor.screenshot("workspaces-trust");
});

step("with trust the folder's settings and instructions count, and Pi is started", async () => {
  await editor.page.locator(".workspace-trust-editor .monaco-button").filter({ hasText: /^Trust/ }).first().click();
  await editor.statusItem("Restricted Mode").waitFor({ state: "detached" });
  await editor.command("View: Close Editor");
  // A page that becomes active takes the focus, and a question that loses it ends.
  await editor.focusPanel();
  const sent = await begin("Trusting", "project", "Trusting answer.");
  assert.ok(sent.includes("Always obey the repository"));
  assert.match(await editor.statusItem("Trusting").innerText(), /\/64k/, "and its settings count");
  await editor.command("Branchline: Continue in Pi");
  await editor.page.locator(".terminal-wrapper.active").waitFor();
});

step("a folder that joins the workspace brings its conversations, one that leaves takes them along", async () => {
  folders("project", "second", "third");
  await editor.dialog("You are adding files", "Yes");
  await until("they are there", () => listed("from elsewhere"));
  folders("project", "third");
  await until("they are gone", async () => !(await listed("from there")));
  assert.ok(await listed("from elsewhere"));
});

step("the walkthrough opens the demo session", async () => {
  await editor.command("View: Close All Editors");
  await editor.command("View: Toggle Primary Side Bar Visibility");
  await editor.command("Welcome: Open Walkthrough");
  await editor.quick.locator("input.input").fill("Conversations as trees");
  await editor.pick("Conversations as trees");
  const walkthrough = editor.page.locator(".gettingStartedContainer");
  await walkthrough.locator(".step-title").filter({ hasText: "Open a conversation" }).first().waitFor();
  await editor.screenshot("workspaces-walkthrough-first");
  await walkthrough.locator(".monaco-button").filter({ hasText: "Open the Demo" }).first().click();
  await until("the demo is there", async () => (await editor.leaf.innerText()).includes("Done. The batch"));
  await editor.tabs.filter({ hasText: "CSV importer: fast and correct" }).waitFor();
  assert.equal(await editor.panel.locator(".bar.notice:visible").count(), 0, "nothing is wrong with it");
  await editor.screenshot("workspaces-demo");
  await editor.tabs.filter({ hasText: "Welcome" }).first().click();
  await walkthrough.locator(".getting-started-step .codicon-getting-started-step-checked").first().waitFor();
});
