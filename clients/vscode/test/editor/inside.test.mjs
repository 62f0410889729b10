// From inside of VS Code's extension host, and with a language model of the editor's own.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startEditor, until, VERSION } from "./lib/editor.mjs";
import { story } from "./lib/steps.mjs";
import { EXTENSION, entries, makeWorld } from "./lib/world.mjs";

const world = makeWorld();
const step = story("inside", () => editor);
const press = (key) => editor.page.keyboard.press(key);
const found = world.path("inside");
let editor;
let demo;

before(async () => {
  mkdirSync(found);
  mkdirSync(world.path("project/.vscode"));
  writeFileSync(
    world.path("project/.vscode/settings.json"),
    JSON.stringify({
      "branchline.command": "/workspace/evil",
      "branchline.summarizer.baseUrl": "http://evil.test",
      "branchline.contextWindow": 20_000,
      "branchline.compaction.auto": true,
    }),
  );
  const time = new Date().toISOString();
  const message = (id, parentId, role, content, more = {}) => ({
    type: "message", id, parentId, timestamp: time, message: { role, content, timestamp: Date.now(), ...more },
  });
  const edit = { type: "toolCall", id: "c1", name: "edit", arguments: { path: "src/a.py", oldText: "old", newText: "new" } };
  const session = world.session("inside", [
    { type: "session", version: 3, id: "5e550000-0000-4000-8000-0000000000e1", timestamp: time, cwd: world.project },
    message("i1", null, "user", "inside"),
    message("i2", "i1", "assistant", [{ type: "text", text: "look at this" }, edit], { provider: "p", model: "m", stopReason: "toolUse" }),
    message("i3", "i2", "toolResult", [{ type: "text", text: "done" }], { toolCallId: "c1", toolName: "edit", isError: false }),
  ]);
  demo = world.demo();
  Object.assign(world.env, { BRANCHLINE_INSIDE: found, BRANCHLINE_INSIDE_SESSION: session });
  const beside = world.path("inside.vsix");
  const vsce = join(EXTENSION, "node_modules/@vscode/vsce/vsce");
  const pack = [vsce, "package", "--no-dependencies", "--allow-missing-repository", "--skip-license", "--out", beside];
  execFileSync(process.execPath, pack, { cwd: join(import.meta.dirname, "inside"), stdio: ["ignore", "ignore", "inherit"] });
  editor = await startEditor(world, {
    name: "inside",
    extensions: [beside],
    settings: { "branchline.compaction.keepRecentTokens": 500 },
    machine: { "branchline.summarizer.editorModel": "scripted/tiny" },
  });
});
after(async () => {
  await editor?.stop();
  world.dispose();
});

test("inside of the extension host", async (context) => {
  const file = join(found, "results.json");
  await until("the tests inside are over", () => existsSync(file), 120_000);
  const results = JSON.parse(readFileSync(file, "utf8"));
  assert.ok(results.length > 8);
  for (const { name, error } of results) {
    await context.test(name, () => {
      if (error !== null) throw new Error(error);
    });
  }
});

const asked = () => (existsSync(join(found, "asked")) ? readFileSync(join(found, "asked"), "utf8").trim().split("\n") : []);
const compactions = () => entries(demo).filter(({ type }) => type === "compaction");

async function compact() {
  await editor.focusPanel();
  await press("c");
  const row = editor.quick.locator(".monaco-list-row").filter({ hasText: "Write it" });
  await row.waitFor();
  const writer = await row.innerText();
  await row.click();
  await editor.codeLens("Store").waitFor();
  return writer;
}

if (VERSION.startsWith("4.100.")) {
  test("LEFT OUT: the editor's own models: extensions cannot bring any in this old VS Code", { skip: true });
} else {
  step("a compaction that comes by itself asks no model and no person: the next writer does it", async () => {
    await editor.showSessions();
    await editor.sessions.filter({ hasText: "CSV importer" }).first().click();
    await editor.leaf.waitFor();
    await editor.focusPanel();
    await press("i");
    await editor.codeLens("Store only").waitFor();
    await editor.clickText();
    await editor.page.keyboard.type("This is too long by now");
    await editor.clickLens("Store only", () => compactions().length === 1);
    assert.match(compactions()[0].summary, /Streaming it is/);
    await until("it is on the screen", async () => (await editor.panel.locator(".row.covered").count()) > 5);
    assert.deepEqual(asked(), []);
    assert.equal(await editor.page.locator(".monaco-dialog-box").count(), 0);
    await editor.focusPanel();
    await press("u");
    await until("it is undone", async () => (await editor.panel.locator(".row.covered").count()) === 0);
  });

  step("choosing it asks the person for leave", async () => {
    await editor.command("Branchline: Choose a Model of the Editor");
    await editor.pick("Tiny");
    await editor.screenshot("inside-leave");
    await editor.dialog("Branchline", "Allow");
    await until("it was asked something tiny", () => asked().length === 1);
    assert.match(asked()[0], /ready/);
  });

  step("then it writes the summary, which is stored", async () => {
    assert.match(await compact(), /by this editor's model; about \dk tokens are sent/);
    await until("its text is there", async () => (await editor.text()).includes("Written inside of the editor."));
    assert.match(asked().at(-1), /CSV|import/, "the conversation was sent");
    await editor.clickLens("Store", () => compactions().length === 2);
    assert.match(compactions()[1].summary, /Written inside of the editor\./);
    await until("it is on the screen", async () => (await editor.panel.locator(".row.covered").count()) > 5);
  });
}
