// Branchline and the real Pi at the same conversation, in a real VS Code.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { after, before, test } from "node:test";
import { startEditor, until } from "./lib/editor.mjs";
import { modelServer } from "./lib/model.mjs";
import { appendAsPi, installPi, missingPi } from "./lib/pi.mjs";
import { story } from "./lib/steps.mjs";
import { entries, makeWorld } from "./lib/world.mjs";

const lacking = missingPi();
if (lacking !== null) {
  test(`LEFT OUT: ${lacking} is not here`, { skip: true });
} else {
  const world = makeWorld();
  const step = story("pi", () => editor);
  const press = (key) => editor.page.keyboard.press(key);
  const said = () => entries(file).filter((entry) => entry.type === "message").map((entry) => JSON.stringify(entry.message.content));
  let editor;
  let file;
  let model;
  let pi;

  before(async () => {
    file = world.demo();
    model = await modelServer();
    pi = installPi(world, model);
    editor = await startEditor(world, { name: "pi" });
  });
  after(async () => {
    await editor?.stop();
    model?.close();
    world.dispose();
  });

  step("what the real Pi appends appears without a reload, and the leaf goes along", async () => {
    const sessions = await editor.showSessions();
    await sessions.filter({ hasText: "CSV importer" }).first().click();
    await editor.leaf.waitFor();
    const id = appendAsPi(file, "Said in a terminal");
    await editor.row("Said in a terminal").waitFor();
    await until("the leaf went along", async () => (await editor.leaf.innerText()).includes("Said in a terminal"));
    assert.equal(entries(file).at(-1).id, id);
  });

  step("where the real Pi goes on elsewhere, a bar offers it: Stay", async () => {
    const before = entries(file).length;
    const first = entries(file).find((entry) => entry.message?.role === "user");
    appendAsPi(file, "Quite another way", first.id);
    const bar = editor.panel.locator(".bar.notice");
    await bar.filter({ hasText: "Another program went on" }).waitFor();
    await editor.screenshot("pi-bar");
    assert.match(await editor.leaf.innerText(), /Said in a terminal/);
    await bar.locator("button").filter({ hasText: "Stay" }).click();
    await bar.waitFor({ state: "detached" });
    assert.match(await editor.leaf.innerText(), /Said in a terminal/);
    assert.equal(entries(file).length, before + 1, "staying writes nothing");
  });

  step("and Follow goes there, with a way back", async () => {
    const first = entries(file).find((entry) => entry.message?.role === "user");
    const id = appendAsPi(file, "A third way", first.id);
    const bar = editor.panel.locator(".bar.notice");
    await bar.locator("button").filter({ hasText: "Follow" }).click();
    await until("the leaf is theirs", async () => (await editor.leaf.innerText()).includes("A third way"));
    const { type, parentId } = entries(file).at(-1);
    assert.deepEqual({ type, parentId }, { type: "custom", parentId: id }, "the move is in the file");
    await bar.waitFor({ state: "detached" });
    await editor.answer("where the other program went on", "Go Back");
    await until("the leaf is back", async () => (await editor.leaf.innerText()).includes("Said in a terminal"));
  });

  step("Continue in Pi starts it on the session, in the session's folder", async () => {
    await editor.command("Branchline: Continue in Pi");
    await until("Pi was started", () => pi.calls().length === 1);
    assert.deepEqual(pi.calls()[0], { cwd: world.project, args: ["--session", file] });
    await until("its screen is there", async () => (await editor.terminal()).includes("scripted"));
  });

  step("what is said in that Pi appears in the panel", async () => {
    model.says(["Pi ", "answers."]);
    await editor.page.locator(".terminal-wrapper.active .xterm-screen").click();
    await editor.page.keyboard.type("And in the terminal?");
    await press("Enter");
    await until("the answer is in the file", () => said().some((text) => text.includes("Pi answers.")));
    await until("and on the screen", async () => (await editor.leaf.innerText()).includes("Pi answers."));
    assert.match(await editor.terminal(), /Pi answers\./);
    assert.ok(said().some((text) => text.includes("And in the terminal?")));
    await editor.command("Terminal: Kill the Active Terminal Instance");
  });

  step("Run in Pi sends an edited message to Pi, and the draft has done its work", async () => {
    model.says(["From ", "a draft."]);
    await editor.focusPanel();
    await editor.keysTo("ArrowUp", "Print a progress line");
    await press("Enter");
    await editor.pick("Just go");
    await editor.codeLens("Run in Pi").waitFor();
    await editor.clickText();
    await press("Control+Home");
    await editor.page.keyboard.type("@all: ");
    await editor.codeLens("Run in Pi").click();
    await editor.codeLens("Run in Pi").waitFor({ state: "detached" });
    await until("Pi was started", () => pi.calls().length === 2);
    const { args } = pi.calls()[1];
    // The blank keeps Pi from reading a file of that name.
    assert.deepEqual(args.slice(0, 2), ["--session", file]);
    assert.match(args[2], /^ @all: Print a progress line/);
    await until("the answer is in the file", () => said().some((text) => text.includes("From a draft.")));
    await until("and on the screen", async () => (await editor.leaf.innerText()).includes("From a draft."));
    const tip = entries(file).findLast((entry) => entry.message?.role === "user");
    assert.match(JSON.stringify(tip.message.content), /@all: Print a progress line/);
    await editor.command("Terminal: Kill the Active Terminal Instance");
  });

  step("without Pi a message is kept, and why is said", async () => {
    rmSync(world.path("bin/pi"));
    await editor.focusPanel();
    await press("i");
    await editor.codeLens("Run in Pi").waitFor();
    await editor.clickText();
    await editor.page.keyboard.type("For later");
    await editor.codeLens("Run in Pi").click();
    await editor.notification("“pi” was not found").waitFor();
    assert.match(await editor.text(), /For later/);
  });
}
