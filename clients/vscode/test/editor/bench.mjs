// Measures the panel in a real VS Code: drawing, scrolling and searching ten thousand entries, and opening
// 300 MB. Prints a table; asserts nothing, for times are the machine's. Run it with `npm run bench:editor`.
import { startEditor, until } from "./lib/editor.mjs";
import { manyEntries } from "./lib/many.mjs";
import { makeWorld } from "./lib/world.mjs";

const world = makeWorld();
const header = (id, more) => ({ type: "session", version: 3, id, timestamp: "2026-02-03T10:00:00.000Z", cwd: world.project, ...more });
const named = (name) => ({ type: "session_info", id: "n", parentId: "m9599", timestamp: "2026-02-03T10:00:00.000Z", name });
world.session("many", [header("5e550000-0000-4000-8000-0000000000b1"), ...manyEntries(), named("thousands")]);
world.session("huge", [
  header("5e550000-0000-4000-8000-0000000000b2"),
  ...manyEntries(` ${"word ".repeat(6000)}`),
  named("enormous"),
]);
const editor = await startEditor(world, { name: "bench" });
const rows = [];
const report = (what, value, unit) => rows.push([what, `${Math.round(value)} ${unit}`]);

async function open(words, row) {
  await editor.command("Branchline: Open Session");
  await editor.quick.locator("input.input").fill(words);
  await until("it is found", async () => (await editor.quick.locator(".monaco-list-row").count()) === 1);
  const begin = Date.now();
  await editor.page.keyboard.press("Enter");
  await until("the leaf is drawn", async () => (await editor.leaf.innerText()).includes(row), 120_000);
  return Date.now() - begin;
}

/** Do something in the page; the longest task, and how many were over 50 ms. */
async function tasks(body) {
  return editor.panel.locator("body").evaluate(async (_body, source) => {
    const found = [];
    const observer = new PerformanceObserver((list) => found.push(...list.getEntries().map((entry) => entry.duration)));
    observer.observe({ entryTypes: ["longtask"] });
    const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
    await new Function("frame", `return (async () => { ${source} })()`)(frame);
    for (let at = 0; at < 10; at++) await frame();
    observer.disconnect();
    return { count: found.length, longest: Math.max(0, ...found) };
  }, body);
}

const heap = () => editor.panel.locator("body").evaluate(() => performance.memory.usedJSHeapSize / 1e6);

try {
  await editor.showSessions();
  await editor.sessions.first().waitFor();
  report("10,000 entries: from Enter to the leaf on screen, the panel's start included", await open("thousands", "answer 9599"), "ms");
  const before = await heap();
  const scrolled = await tasks(`
    const tree = document.querySelector(".tree");
    for (let at = 0; at <= 600; at++) { tree.scrollTop = (at / 600) * tree.scrollHeight; await frame(); }`);
  report("scrolling through all of it: longest task", scrolled.longest, "ms (0: none over 50)");
  const searched = await tasks(`
    const search = document.querySelector(".search");
    for (const text of ["a", "an", "ans", "answ", "answer 9", "answer 95"]) {
      search.value = text;
      search.dispatchEvent(new Event("input"));
      for (let at = 0; at < 20; at++) await frame();
    }
    search.value = "";
    search.dispatchEvent(new Event("input"));
    for (let at = 0; at < 20; at++) await frame();`);
  report("searching by six keys: longest task", searched.longest, "ms (0: none over 50)");
  report("heap of the page before", before, "MB");
  report("heap of the page after", await heap(), "MB");
  report("300 MB: from Enter to the leaf on screen", await open("enormous", "answer 9599"), "ms");
} finally {
  await editor.screenshot("bench");
  await editor.stop();
  world.dispose();
}
for (const [what, value] of rows) console.log(`${what}: ${value}`);
process.exit(0);
