// How the panel looks, in four themes and at several sizes: nothing is broken, axe finds nothing, and each
// state leaves a picture for a person to judge.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { startEditor, until } from "./lib/editor.mjs";
import { modelServer } from "./lib/model.mjs";
import { assertAccessible, assertLaidOut, openSession, run, search, setTheme, THEMES } from "./lib/panel.mjs";
import { story } from "./lib/steps.mjs";
import { entries, makeWorld } from "./lib/world.mjs";

const world = makeWorld();
let editor;
let model;

const SIZES = { wide: { width: 1600, height: 900 }, narrow: { width: 320, height: 640 } };
const press = (key) => editor.page.keyboard.press(key);
const codeLens = (text) => editor.page.locator(".codelens-decoration a").filter({ hasText: text }).first();

/** Texts of several scripts, a failed tool, a compaction and a branch that is folded. */
function mixed() {
  const time = (minutes) => new Date(Date.now() - minutes * 60_000).toISOString();
  const list = [];
  const add = (id, parentId, message, minutes) =>
    list.push({ type: "message", id, parentId, timestamp: time(minutes), message: { timestamp: 1, ...message } });
  const said = (text) => [{ type: "text", text }];
  add("a", null, { role: "user", content: "A first question, and a rather long one, so that it does not fit into a narrow panel at all" }, 9000);
  add("b", "a", { role: "assistant", content: said("An answer") }, 8000);
  add("c", "b", { role: "user", content: "سؤال باللغة العربية عن المستورد الليلي وكل ما يتعلق به من ملفات كبيرة" }, 700);
  add("d", "c", { role: "assistant", content: said("תשובה בעברית, ועוד קצת טקסט כדי שיהיה ארוך") }, 650);
  add("e", "d", { role: "user", content: "日本語の質問です。長い文章でも一行に収まります。" }, 300);
  add("f", "e", { role: "assistant", content: [{ type: "toolCall", id: "t1", name: "bash", arguments: { command: "make test" } }] }, 299);
  add("g", "f", { role: "toolResult", toolCallId: "t1", toolName: "bash", content: said("Error: two tests failed"), isError: true }, 298);
  add("h", "g", { role: "assistant", content: said("Two tests failed; I look at them.") }, 90);
  add("x", "h", { role: "user", content: "Another way, which was given up" }, 80);
  add("y", "x", { role: "assistant", content: said("Fine") }, 79);
  list.push({ type: "compaction", id: "k", parentId: "h", timestamp: time(60), summary: "What was said so far.", firstKeptEntryId: "e", tokensBefore: 90_000 });
  add("z", "k", { role: "user", content: "The last question 🎉" }, 5);
  add("w", "z", { role: "assistant", content: said("The last answer") }, 0);
  list.push({ type: "label", id: "l1", parentId: "w", timestamp: time(1), targetId: "c", label: "نقطة" });
  list.push({ type: "label", id: "l2", parentId: "l1", timestamp: time(1), targetId: "z", label: "a label that is far too long for any row of this panel" });
  list.push({ type: "session_info", id: "n", parentId: "l2", timestamp: time(1), name: "Many scripts, and a name that is rather long for one line" });
  return list;
}

before(async () => {
  world.demo();
  world.session("mixed", [
    { type: "session", version: 3, id: "5e550000-0000-4000-8000-0000000000dd", timestamp: "2026-02-03T10:00:00.000Z", cwd: world.project },
    ...mixed(),
  ]);
  model = await modelServer();
  editor = await startEditor(world, {
    name: "looks",
    settings: { "breadcrumbs.enabled": false, "branchline.compaction.keepRecentTokens": 500 },
    machine: {
      "branchline.prompt.baseUrl": model.baseUrl,
      "branchline.prompt.model": "scripted",
      "branchline.prompt.apiKeyEnv": "SCRIPTED_API_KEY",
    },
  });
  await editor.showSessions();
  await editor.sessions.first().waitFor();
});
after(async () => {
  await editor?.stop();
  model?.close();
  world.dispose();
});

const step = story("looks", () => editor);

async function look(name) {
  for (const [size, viewport] of Object.entries(SIZES)) {
    await editor.page.setViewportSize(viewport);
    await until("the panel has its new size", () =>
      editor.panel.locator("body").evaluate((body, most) => window.innerWidth <= most && body.clientWidth > 0, viewport.width));
    await until("all is in its place", async () => {
      await assertLaidOut(editor);
      return true;
    }, 5000);
    await editor.screenshot(`looks-${name}-${size}`);
  }
  await assertAccessible(editor);
}

for (const theme of THEMES) {
  const short = theme.replace(/ /g, "-").toLowerCase();

  step(`${theme}: a conversation, many scripts and a compaction`, async () => {
    await editor.page.setViewportSize(SIZES.wide);
    if (theme === THEMES[0]) {
      await openSession(editor, "CSV importer", "here");
      await run(editor, "View: Toggle Primary Side Bar Visibility");
    }
    await openSession(editor, "Many scripts", "here");
    await setTheme(editor, theme);
    await until("what is compacted is marked", async () => (await editor.panel.locator(".row.covered").count()) > 2);
    await look(`${short}-scripts`);
  });

  step(`${theme}: a search, a folded branch opened, the page of keys`, async () => {
    await editor.page.setViewportSize(SIZES.wide);
    await openSession(editor, "CSV importer", "here");
    await search(editor, "der");
    await until("hits are marked", async () => (await editor.panel.locator("mark").count()) > 1);
    await editor.panel.locator(".mark-hit").first().waitFor();
    await look(`${short}-search`);
    await search(editor, null);
    await editor.row("Try pandas first").locator(".fold").click();
    await until("the branch is open", async () => (await editor.panel.locator('.row[aria-level="2"]').count()) > 3);
    await look(`${short}-unfolded`);
    await editor.row("Try pandas first").locator(".fold").click();
    await until("the branch is folded", async () => (await editor.panel.locator('.row[aria-level="2"]').count()) < 4);
    await editor.focusPanel();
    await press("Shift+Slash");
    await editor.panel.locator("dialog[open]").waitFor();
    await look(`${short}-keys`);
    await press("Escape");
    await editor.panel.locator("dialog[open]").waitFor({ state: "detached" });
  });

  step(`${theme}: a plan in its bracket`, async () => {
    await editor.page.setViewportSize(SIZES.wide);
    await editor.focusPanel();
    await press("c");
    await editor.quick.locator(".monaco-list-row").first().waitFor();
    await until("it is bracketed", async () => (await editor.panel.locator(".row.bracketed").count()) > 1);
    await look(`${short}-plan`);
    await press("Escape");
    await until("the bracket is gone", async () => (await editor.panel.locator(".row.bracketed").count()) === 0);
  });
}

for (const theme of [THEMES[0], THEMES[3]]) {
  step(`${theme}: an answer being written`, async () => {
    const file = world.path("agent/sessions/--project--/demo.jsonl");
    const before = entries(file).length;
    let release;
    model.says(["An answer that is ", "long enough to wrap. ".repeat(12)], new Promise((done) => (release = done)));
    await editor.page.setViewportSize(SIZES.wide);
    await setTheme(editor, theme);
    await editor.focusPanel();
    await press("i");
    await codeLens("Ask").waitFor();
    await editor.page.locator(".monaco-editor .view-lines").last().click();
    await editor.page.keyboard.type("And again?");
    await codeLens("Ask").click();
    await until("the answer begins", async () => (await editor.panel.locator(".written").innerText()).includes("An answer"));
    await assertLaidOut(editor);
    await assertAccessible(editor);
    await editor.screenshot(`looks-${theme.replace(/ /g, "-").toLowerCase()}-answer`);
    assert.match(await editor.panel.locator(".said").textContent(), /The model is answering/);
    release();
    await until("it is over", async () => !(await editor.panel.locator(".writing").isVisible()));
    assert.match(await editor.panel.locator(".said").textContent(), /Nothing is being written/);
    assert.ok(entries(file).length > before);
    await codeLens("Ask").waitFor({ state: "detached" });
  });
}
