// What goes wrong, and what is shown of an entry beyond its text, in a real VS Code.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { after, before } from "node:test";
import { startEditor, until } from "./lib/editor.mjs";
import { modelServer } from "./lib/model.mjs";
import { story } from "./lib/steps.mjs";
import { entries, makeWorld } from "./lib/world.mjs";

const world = makeWorld();
const step = story("trouble", () => editor);
const press = (key) => editor.page.keyboard.press(key);
const time = new Date().toISOString();
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAE0lEQVR4nGP8z4APMOGVHbHSAEEsAROxCnMTAAAAAElFTkSuQmCC";
let editor;
let model;
let demo;
let newer;
let pictures;

const header = (version, number) => ({
  type: "session", version, id: `5e550000-0000-4000-8000-0000000000${number}`, timestamp: time, cwd: world.project,
});
const message = (id, parentId, role, content, more = {}) => ({
  type: "message", id, parentId, timestamp: time, message: { role, content, timestamp: Date.now(), ...more },
});
const edit = (id, path, oldText, newText) => ({ type: "toolCall", id, name: "edit", arguments: { path, oldText, newText } });
const result = (toolCallId) => ({ toolCallId, toolName: "edit", isError: false });

before(async () => {
  writeFileSync(world.path("home/.profile"), `export PATH='${world.path("bin")}':"$PATH"\n`);
  mkdirSync(world.path("bin"));
  writeFileSync(world.path("bin/pi"), "#!/bin/sh\n", { mode: 0o755 });
  demo = world.demo();
  newer = world.session("newer", [header(4, "d1"), message("n1", null, "user", "from the future"), message("n2", "n1", "user", "and on")]);
  pictures = world.session("pictures", [
    header(3, "d2"),
    message("p1", null, "user", "begin"),
    message("p2", "p1", "assistant", [{ type: "text", text: "go on" }], { provider: "p", model: "m", stopReason: "stop" }),
    message("p3", "p2", "user", [{ type: "text", text: "what is this?" }, { type: "image", data: PNG, mimeType: "image/png" }]),
    message("p4", "p3", "assistant", [{ type: "text", text: "two edits" }, edit("c1", "/home/me/src/one.py", "old one", "new one"), edit("c2", "two.py", "old two", "new two")], { provider: "p", model: "m", stopReason: "toolUse" }),
    message("p5", "p4", "toolResult", [{ type: "text", text: "done" }], result("c1")),
    message("p6", "p5", "toolResult", [{ type: "text", text: "done" }], result("c2")),
    message("p7", "p6", "assistant", [{ type: "text", text: "a picture of nothing" }], { provider: "p", model: "m", stopReason: "stop" }),
  ]);
  model = await modelServer();
  const server = { baseUrl: model.baseUrl, model: "scripted", apiKeyEnv: "SCRIPTED_API_KEY", maxRetries: 0 };
  const machine = {};
  for (const [key, value] of Object.entries(server)) {
    machine[`branchline.summarizer.${key}`] = value;
    machine[`branchline.prompt.${key}`] = value;
  }
  editor = await startEditor(world, { name: "trouble", machine, settings: { "branchline.compaction.keepRecentTokens": 500 } });
});
after(async () => {
  await editor?.stop();
  model?.close();
  world.dispose();
});

async function open(session, row) {
  await editor.sessions.filter({ hasText: session }).first().click();
  await editor.row(row).waitFor();
}

step("a session of a newer version is locked: it is shown, and nothing is written to it", async () => {
  const bytes = readFileSync(newer, "utf8");
  await editor.showSessions();
  await editor.sessions.filter({ hasText: "from the future" }).locator(".codicon-lock").waitFor();
  await editor.sessions.filter({ hasText: "from the future" }).click();
  await editor.row("and on").waitFor();
  await editor.panel.locator(".bar, .notices").getByText("read-only").first().waitFor();
  await editor.focusPanel();
  await press("Home");
  await press("Enter");
  await editor.screenshot("trouble-read-only");
  await editor.notification("This session cannot be changed here").waitFor();
  await editor.answer("This session cannot be changed here", "Fork");
  await editor.codeLens("Store only").waitFor();
  assert.match(await editor.text(), /from the future/);
  await editor.codeLens("Discard").click();
  await editor.codeLens("Discard").waitFor({ state: "detached" });
  assert.equal(readFileSync(newer, "utf8"), bytes);
  await editor.clearNotifications();
});

step("a compaction names what would be sent, and where", async () => {
  await open("CSV importer", "Done. The batch");
  await editor.focusPanel();
  await press("c");
  const row = editor.quick.locator(".monaco-list-row").filter({ hasText: "Write it" });
  await row.waitFor();
  assert.match(await row.innerText(), /by scripted at 127\.0\.0\.1:\d+; about \d+k? tokens are sent/);
  await editor.screenshot("trouble-plan");
});

step("a summary that fails is offered offline, and that one is stored", async () => {
  model.refuses(401, "the key is not right");
  await editor.pick("Write it, and show it");
  await editor.notification("No summary was written").waitFor();
  assert.match(await editor.notification("No summary was written").innerText(), /No summary was written: 127\.0\.0\.1:\d+ .*401/);
  assert.ok(!entries(demo).some(({ type }) => type === "compaction"), "nothing is stored");
  const asked = model.requests.length;
  await editor.answer("No summary was written", "Write It Offline");
  await until("the draft has a text", async () => (await editor.text()).includes("Goal"));
  assert.equal(model.requests.length, asked, "the server is not asked again");
  await editor.clickLens("Store", () => entries(demo).some(({ type }) => type === "compaction"));
  await until("and on the screen", async () => (await editor.panel.locator(".row.covered").count()) > 5);
  await editor.codeLens("Store").waitFor({ state: "detached" });
});

step("an answer that is cut off is kept, and said to be", async () => {
  model.runsOut(["Half an "]);
  await editor.focusPanel();
  await press("i");
  await editor.codeLens("Ask").waitFor();
  await editor.clickText();
  await editor.page.keyboard.type("Tell me more");
  await editor.codeLens("Ask").click();
  await editor.notification("the answer is cut off").waitFor();
  await until("it is in the file", () => JSON.stringify(entries(demo).at(-1)).includes("Half an"));
  await editor.row("Half an").waitFor();
  await editor.clearNotifications();
});

step("a model that refuses leaves the message in the file, and the reason on the screen", async () => {
  model.refuses(401, "the key is not right");
  await editor.focusPanel();
  await press("i");
  await editor.codeLens("Ask").waitFor();
  await editor.clickText();
  await editor.page.keyboard.type("Are you there?");
  await editor.codeLens("Ask").click();
  await editor.notification("The model did not answer").waitFor();
  await editor.screenshot("trouble-refused");
  assert.ok(entries(demo).some((entry) => JSON.stringify(entry.message?.content ?? "").includes("Are you there?")));
  await editor.clearNotifications();
});

step("while an answer is written a second message waits: busy, with a way to cancel", async () => {
  model.says(["Never ", "ending."], new Promise(() => undefined));
  await editor.focusPanel();
  await press("i");
  await editor.codeLens("Ask").waitFor();
  await editor.clickText();
  await editor.page.keyboard.type("A long story");
  await editor.codeLens("Ask").click();
  await until("the answer begins", async () => (await editor.panel.locator(".written").innerText()).includes("Never"));
  await editor.statusItem("CSV importer").locator(".codicon-sync").waitFor();
  await editor.codeLens("being written… Cancel").waitFor();
  await editor.focusPanel();
  await press("i");
  await editor.codeLens("Ask").waitFor();
  await editor.clickText();
  await editor.page.keyboard.type("And then?");
  await editor.codeLens("Ask").click();
  await editor.notification("Something is being written").waitFor();
  await editor.screenshot("trouble-busy");
  await editor.answer("Something is being written", "Cancel It");
  await until("it is over", async () => !(await editor.panel.locator(".writing").isVisible()));
  await until("what came is kept as aborted", () => entries(demo).some((entry) => entry.message?.stopReason === "aborted"));
  assert.match(await editor.text(), /And then\?/, "the second message is still there");
  await editor.codeLens("Discard").click();
  await editor.codeLens("Discard").waitFor({ state: "detached" });
  await editor.clearNotifications();
});

step("the edits of a message open as a list of diffs, those of one result as a diff", async () => {
  await open("begin", "a picture of nothing");
  await editor.focusPanel();
  await editor.keysTo("ArrowUp", "two edits");
  await press("d");
  await editor.tabs.filter({ hasText: "What the model changed" }).waitFor();
  await until("both are there", async () => (await editor.page.locator(".monaco-diff-editor:visible").count()) === 2);
  await editor.screenshot("trouble-diffs");
  await editor.command("View: Close Editor");
  await editor.focusPanel();
  await editor.keysTo("ArrowUp", "edit two.py");
  await press("d");
  await editor.tabs.filter({ hasText: "two.py: what the model changed" }).waitFor();
  const side = async (name) => (await editor.page.locator(`.monaco-diff-editor .editor.${name} .view-lines`).innerText()).replaceAll("\u00a0", " ");
  await until("the sides differ", async () => (await side("original")) === "old two" && (await side("modified")) === "new two");
  await editor.screenshot("trouble-diff");
  await editor.command("View: Close Editor");
});

step("the document of such an entry leads to them too, and so does a row's menu", async () => {
  await editor.focusPanel();
  await press("o");
  await editor.codeLens("Show changes").click();
  await editor.tabs.filter({ hasText: "two.py: what the model changed" }).waitFor();
  await editor.command("View: Close All Editors in Group");
  await editor.row("two edits").click({ button: "right" });
  const entry = editor.page.locator(".monaco-menu .action-item").filter({ hasText: "Show Changes" });
  await entry.hover();
  await until("the menu takes the click", async () => {
    if (!(await entry.isVisible())) return true;
    await entry.click({ timeout: 1000 });
    return false;
  }, 5000);
  await editor.tabs.filter({ hasText: "What the model changed" }).waitFor();
  await editor.command("View: Close Editor");
});

step("a message with an image keeps it when it is edited and asked again", async () => {
  await editor.focusPanel();
  await editor.keysTo("ArrowUp", "what is this?");
  await press("Enter");
  await editor.pick("Just go");
  await editor.codeLens("Ask").waitFor();
  await editor.page.locator(".codelens-decoration").filter({ hasText: "1 image goes along" }).first().waitFor();
  await editor.clickText();
  await press("Control+End");
  await editor.page.keyboard.type(" Look closely.");
  await editor.screenshot("trouble-image-draft");
  await editor.codeLens("Run in Pi").click();
  await editor.dialog("not its images", "Cancel");
  assert.equal(await editor.page.locator(".terminal-wrapper").count(), 0, "Pi is not started without a yes");
  await editor.codeLens("Ask").waitFor();
  const before = model.requests.length;
  model.says(["A grey square."]);
  await editor.codeLens("Ask").click();
  await until("the answer is on the screen", async () => (await editor.leaf.innerText()).includes("A grey square."));
  const sent = model.requests[before].messages.at(-1).content;
  assert.ok(JSON.stringify(sent).includes(`data:image/png;base64,${PNG}`), "the image was sent");
  const stored = entries(pictures).findLast((entry) => entry.message?.role === "user").message.content;
  assert.deepEqual(stored, [{ type: "text", text: "what is this? Look closely." }, { type: "image", data: PNG, mimeType: "image/png" }]);
});

step("an image of an entry opens in the editor's own viewer", async () => {
  await editor.focusPanel();
  await editor.keysTo("ArrowUp", "Look closely");
  await press("o");
  await until("its text is there", async () => (await editor.text()).includes("Look closely"));
  await editor.codeLens("Image 1").click();
  await editor.tabs.filter({ hasText: "image-1.png" }).waitFor();
  const image = editor.page.frameLocator("iframe.webview.ready:visible").last().frameLocator("iframe#active-frame").locator("img");
  await until("it is drawn", () => image.evaluate((one) => one.naturalWidth === 10));
  await editor.screenshot("trouble-image");
  await editor.command("View: Close All Editors in Group");
});

step("a file that another program replaces is said to be another, and read again", async () => {
  await open("from the future", "and on");
  const other = `${newer}.new`;
  writeFileSync(other, [header(3, "d9"), message("z1", null, "user", "quite different")].map((line) => `${JSON.stringify(line)}\n`).join(""), { mode: 0o600 });
  renameSync(other, newer);
  const bar = editor.panel.locator(".bar.notice");
  await bar.filter({ hasText: "not what was opened" }).waitFor();
  await editor.screenshot("trouble-replaced");
  await bar.locator("button").filter({ hasText: "Reload" }).click();
  await until("the panel is about the new one", async () =>
    (await editor.panel.locator(".title").innerText()) === "quite different");
  await editor.row("quite different").waitFor();
  await editor.statusItem("quite different").waitFor();
  await bar.waitFor({ state: "detached" });
});
