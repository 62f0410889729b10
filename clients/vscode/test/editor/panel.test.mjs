// The panel at work in a real VS Code: overview, accessibility, Pi's keys, and what outlives a reload.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { startEditor, until } from "./lib/editor.mjs";
import { manyEntries } from "./lib/many.mjs";
import { assertAccessible, assertLaidOut, fact, openSession, run, search } from "./lib/panel.mjs";
import { story } from "./lib/steps.mjs";
import { entries, makeWorld } from "./lib/world.mjs";

const world = makeWorld();
let editor;

const time = "2026-02-03T10:00:00.000Z";
const header = (id) => ({ type: "session", version: 3, id: `5e550000-0000-4000-8000-0000000000${id}`, timestamp: time, cwd: world.project });
const press = (key) => editor.page.keyboard.press(key);
const filter = () => editor.panel.locator(".filter").inputValue();
const spoken = () => editor.panel.locator(".said").textContent();
const marks = (kind) => editor.panel.locator(`.mark-${kind}`).count();

before(async () => {
  world.demo();
  world.session("many", [
    header("b1"),
    ...manyEntries(),
    { type: "label", id: "l1", parentId: "m9599", timestamp: time, targetId: "m4000", label: "halfway" },
    { type: "session_info", id: "n", parentId: "l1", timestamp: time, name: "thousands" },
  ]);
  const message = (at) => ({
    type: "message",
    id: `e${at}`,
    parentId: at === 0 ? null : `e${at - 1}`,
    timestamp: time,
    message: { role: "user", content: at % 9000 === 0 ? `landmark ${at}` : `step ${at}`, timestamp: 1 },
  });
  world.session("more", [
    header("b2"),
    ...Array.from({ length: 30_000 }, (_none, at) => message(at)),
    { type: "label", id: "l1", parentId: "e29999", timestamp: time, targetId: "e15000", label: "middle" },
    { type: "session_info", id: "n", parentId: "l1", timestamp: time, name: "the longest" },
  ]);
  editor = await startEditor(world, { name: "panel" });
  await editor.showSessions();
  await editor.sessions.first().waitFor();
});
after(async () => {
  await editor?.stop();
  world.dispose();
});

const step = story("panel", () => editor);

/** Where marks of a kind stand on the strip, as parts of its height. */
const places = (kind) =>
  fact(editor, (_body, wanted) => {
    const strip = document.querySelector(".strip-marks").getBoundingClientRect();
    return [...document.querySelectorAll(`.mark-${wanted}`)].map((mark) => (mark.getBoundingClientRect().top - strip.top) / strip.height);
  }, kind);
const near = (place, wanted) => assert.ok(Math.abs(place - wanted) < 0.02, `${place} is not ${wanted}`);

step("the overview shows leaf, forks and labels of ten thousand entries", async () => {
  await openSession(editor, "thousands", "here");
  await until("forks are marked", async () => (await marks("fork")) > 100);
  const [label] = await places("label");
  near(label, 4000 / 9600);
  const [leaf] = await places("leaf");
  near(leaf, 1);
  assert.equal(await marks("hit"), 0);
});

step("a search marks its hits where they lie in the whole, and a click goes there", async () => {
  await search(editor, "question 480");
  const hits = [...Array(9600).keys()].filter((at) => at % 4 === 0 && String(at).includes("480"));
  await until("the hits are marked", async () => (await marks("hit")) > 5);
  const marked = await places("hit");
  for (const place of marked) near(place, hits.map((at) => at / 9600).find((at) => Math.abs(at - place) < 0.02));
  for (const at of hits) assert.ok(marked.some((place) => Math.abs(place - at / 9600) < 0.02), `${at} is marked`);
  assert.ok((await marks("fork")) > 100, "what else is there stays marked");
  const strip = await editor.panel.locator(".strip").boundingBox();
  await editor.page.mouse.click(strip.x + 7, strip.y + strip.height * 0.501);
  await until("a hit of the middle is selected", async () => /question 480\d/.test(await editor.focusedRow.innerText()));
  await search(editor, null);
  assert.match(await editor.focusedRow.innerText(), /question 480\d/, "the place stays when the search ends");
  await until("no hit is marked", async () => (await marks("hit")) === 0);
});

step("a press on the overview scrolls there, and a drag goes on", async () => {
  const strip = await editor.panel.locator(".strip").boundingBox();
  const top = () => editor.panel.locator(".tree").evaluate((tree) => tree.scrollTop / tree.scrollHeight);
  await editor.page.mouse.move(strip.x + 7, strip.y + strip.height * 0.25);
  await editor.page.mouse.down();
  await until("a quarter is scrolled", async () => Math.abs((await top()) - 0.25) < 0.02);
  await editor.page.mouse.move(strip.x + 7, strip.y + strip.height * 0.75, { steps: 3 });
  await editor.page.mouse.up();
  await until("three quarters are scrolled", async () => Math.abs((await top()) - 0.75) < 0.02);
});

step("focus survives scrolling through everything", async () => {
  await editor.focusPanel();
  await press(".");
  await until("the leaf is focused", async () => (await editor.focusedRow.innerText()).includes("answer 9599"));
  const id = await editor.focusedRow.getAttribute("id");
  await fact(editor, async () => {
    const tree = document.querySelector(".tree");
    for (let at = 40; at >= 0; at--) {
      tree.scrollTop = (at / 40) * tree.scrollHeight;
      const row = `row-${Math.floor(tree.scrollTop / 22) + 2}`;
      const end = performance.now() + 5000;
      while (document.getElementById(row) === null && performance.now() < end) {
        await new Promise((frame) => requestAnimationFrame(frame));
      }
    }
  });
  assert.equal(await editor.panel.locator(".tree").getAttribute("aria-activedescendant"), id);
  assert.match(await editor.panel.locator(`#${id}`).innerText(), /answer 9599/);
  assert.ok((await editor.rows.count()) < 80, "and nothing else that is off screen is in the page");
  await press("ArrowUp");
  await until("one row up from there", async () => (await editor.focusedRow.innerText()).includes("answer 9598"));
});

step("rows are numbered among their siblings", async () => {
  await press("Home");
  await until("the first row is focused", async () => (await editor.focusedRow.getAttribute("id")) === "row-0");
  const before = await fact(editor, () => [...document.querySelectorAll(".row")].slice(0, 3).map((row) => row.ariaLevel + row.ariaPosInSet + "/" + row.ariaSetSize));
  assert.deepEqual(before, ["11/9600", "21/1", "12/9600"]);
  await editor.panel.locator("#row-1 .fold").click();
  await until("the branch is open", async () => (await editor.panel.locator('.row[aria-level="2"][aria-setsize="2"]').count()) === 2);
  const opened = await fact(editor, () => [...document.querySelectorAll(".row")].slice(0, 4).map((row) => row.ariaLevel + row.ariaPosInSet + "/" + row.ariaSetSize));
  assert.deepEqual(opened, ["11/9600", "21/2", "22/2", "12/9600"]);
  assert.match(await spoken(), /Conversation: \d+ rows/);
  await editor.panel.locator("#row-1 .fold").click();
});

step("above twenty thousand rows the overview is there as well", async () => {
  await openSession(editor, "the longest", "here");
  await until("the label is marked", async () => (await marks("label")) === 1);
  near((await places("label"))[0], 0.5);
  await search(editor, "landmark");
  await until("the hits are marked", async () => (await marks("hit")) === 4);
  for (const [at, place] of (await places("hit")).entries()) near(place, at * 0.3);
  await search(editor, null);
});

step("Pi's keys choose the filter, and choose it off again", async () => {
  await openSession(editor, "CSV importer", "here");
  await editor.focusPanel();
  for (const [key, chosen] of [["Control+U", "userOnly"], ["Control+U", "default"], ["Control+L", "labeledOnly"],
    ["Control+D", "default"], ["Control+A", "all"], ["Control+A", "default"], ["2", "noTools"], ["3", "userOnly"], ["1", "default"], ["t", "noTools"], ["Control+D", "default"]]) {
    await press(key);
    await until(`${key} shows ${chosen}`, async () => (await filter()) === chosen, 5000);
    assert.ok(await editor.page.evaluate(() => document.hasFocus()));
  }
  assert.equal(await fact(editor, () => window.getSelection().toString()), "", "nothing was selected as text");
  assert.match(await spoken(), /Conversation: \d+ rows/);
});

step("Ctrl and arrows fold and unfold, Shift+T shows when labels were set", async () => {
  await editor.focusPanel();
  await press("Home");
  await press("'");
  await until("the labelled branch is focused", async () => (await editor.focusedRow.innerText()).includes("pandas"));
  assert.equal(await editor.focusedRow.getAttribute("aria-expanded"), "false");
  await press("Control+ArrowRight");
  await until("it is open", async () => (await editor.focusedRow.getAttribute("aria-expanded")) === "true");
  await press("Control+ArrowLeft");
  await until("it is folded", async () => (await editor.focusedRow.getAttribute("aria-expanded")) === "false");
  const label = editor.focusedRow.locator(".label");
  assert.equal(await label.innerText(), "⚑pandas");
  await press("Shift+T");
  await until("its age is shown", async () => /⚑pandas \d+[dy]/.test(await label.innerText()));
  await press("Shift+T");
  await until("and not any more", async () => (await label.innerText()) === "⚑pandas");
});

step("the page of keys has them all, scrolls by keys and closes by them", async () => {
  await press("Shift+Slash");
  const dialog = editor.panel.locator("dialog[open]");
  await dialog.waitFor();
  const listed = await dialog.innerText();
  for (const text of ["Ctrl+U", "Ctrl+←", "Shift+T", "Show your messages only", "Next branch"]) assert.ok(listed.includes(text), `${text} in ${listed}`);
  await assertAccessible(editor);
  await editor.panel.locator(".keys").focus();
  const row = await editor.focusedRow.getAttribute("id");
  await press("End");
  await until("the list has scrolled", () => editor.panel.locator(".keys").evaluate((list) => list.scrollTop + list.clientHeight >= list.scrollHeight - 2));
  await dialog.waitFor();
  await press("Shift+Slash");
  await dialog.waitFor({ state: "detached" });
  await until("the tree has the focus", () => editor.panel.locator(".tree").evaluate((tree) => tree === document.activeElement));
  assert.equal(await editor.focusedRow.getAttribute("id"), row, "the keys were the list's, and not the tree's");
});

step("axe finds nothing with the search box in use and a menu open", async () => {
  await search(editor, "importer");
  await editor.panel.locator("mark").first().waitFor();
  await assertAccessible(editor);
  await search(editor, null);
  await editor.focusedRow.click({ button: "right" });
  await editor.page.locator(".monaco-menu .action-item").first().waitFor();
  await assertAccessible(editor);
  await press("Escape");
  await editor.page.locator(".monaco-menu .action-item").first().waitFor({ state: "detached" });
});

/** How the panel in front is looked at. */
const looking = async () => ({
  filter: await filter(),
  top: await fact(editor, () => document.querySelector(".tree").scrollTop),
  open: await editor.panel.locator('.row[aria-expanded="true"]').count(),
  focused: await editor.focusedRow.getAttribute("id"),
});

step("a reload of the window keeps filter, folds, scroll place and focus", async () => {
  await editor.page.setViewportSize({ width: 1000, height: 420 });
  await editor.focusPanel();
  await press("2");
  await until("the filter is on", async () => (await filter()) === "noTools");
  await press("Home");
  await press("'");
  await until("the labelled branch is focused", async () => (await editor.focusedRow.innerText()).includes("pandas"));
  await press("l");
  await until("it is open", async () => (await editor.focusedRow.getAttribute("aria-expanded")) === "true");
  await fact(editor, () => {
    document.querySelector(".tree").scrollTop = 137;
  });
  await until("it has scrolled", async () => (await looking()).top === 137);
  const before = await looking();
  await kept();
  await reload();
  await until("all is as it was", async () => {
    assert.deepEqual(await looking(), before);
    return true;
  });
});

/** The page has told the editor of its place: it does once that has stood for a moment. */
const kept = () => editor.panel.locator('#page[data-kept="yes"]').waitFor();

async function reload() {
  const reloaded = editor.page.waitForEvent("load");
  await run(editor, "Developer: Reload Window");
  await reloaded;
  await editor.page.locator(".monaco-workbench .part.activitybar").waitFor();
  await editor.rows.first().waitFor();
}

step("and a search", async () => {
  await search(editor, "importer");
  await until("hits are marked", async () => (await editor.panel.locator("mark").count()) > 0);
  await press("Enter");
  const { focused } = await looking();
  const found = await editor.panel.locator(".result").innerText();
  assert.match(found, /\d/);
  await kept();
  await reload();
  await until("the hits are back", async () => {
    assert.equal(await editor.panel.locator(".search").inputValue(), "importer");
    assert.equal(await editor.panel.locator(".result").innerText(), found);
    assert.equal((await looking()).focused, focused);
    return (await editor.panel.locator("mark").count()) > 0;
  });
  await search(editor, null);
  await editor.focusPanel();
  await press("1");
  await until("the filter is off", async () => (await filter()) === "default");
  await editor.page.setViewportSize({ width: 1280, height: 800 });
});

step("reopened with the text editor and back", async () => {
  await run(editor, "View: Reopen Editor With...");
  await editor.pick("Text Editor");
  const text = editor.page.locator(".monaco-editor .view-lines").last();
  await until("the file is there as text", async () => (await text.innerText()).includes("session"));
  await run(editor, "View: Reopen Editor With...");
  await editor.pick("Branchline Conversation");
  await editor.leaf.waitFor();
  assert.match(await editor.leaf.innerText(), /here/);
  await assertLaidOut(editor);
});

step("two panels on one session have views of their own and hear the same news", async () => {
  await run(editor, "View: Split Editor Right");
  const frames = editor.page.locator("iframe.webview.ready:visible");
  await until("two panels are there", async () => (await frames.count()) === 2);
  const panel = (at) => frames.nth(at).contentFrame().locator("iframe#active-frame").contentFrame();
  for (const at of [0, 1]) await panel(at).locator(".row.leaf").waitFor();
  await editor.focusPanel();
  await press("3");
  const filters = async () => [await panel(0).locator(".filter").inputValue(), await panel(1).locator(".filter").inputValue()];
  await until("one of them is filtered", async () => (await filters()).sort().join() === "default,userOnly");
  const file = world.path("agent/sessions/--project--/demo.jsonl");
  world.branchline("label", file, entries(file).find((entry) => entry.message?.role === "user").id, "news of both");
  for (const at of [0, 1]) {
    await panel(at).locator(".row").filter({ hasText: "news of both" }).first().waitFor();
  }
});
