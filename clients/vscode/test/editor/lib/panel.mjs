// What the tests of the panel share: opening a session, themes, what is wrong with a drawn page.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { until } from "./editor.mjs";

/** How the themes are listed, and how a page is told of their kind. */
const KINDS = {
  "Dark Modern": "vscode-dark",
  "Light Modern": "vscode-light",
  "Dark High Contrast": "vscode-high-contrast",
  "Light High Contrast": "vscode-high-contrast-light",
};
export const THEMES = Object.keys(KINDS);

/** Run a command by its name. The palette may close under a key that comes too early: then once more. */
export async function run(editor, name) {
  const input = editor.quick.locator("input.input");
  await until(`${name} is run`, async () => {
    if (await editor.quick.isVisible()) await editor.page.keyboard.press("Escape");
    await editor.quick.waitFor({ state: "hidden", timeout: 2000 });
    await editor.page.keyboard.press("F1");
    await input.fill(`>${name}`, { timeout: 2000 });
    await editor.quick.locator(".monaco-list-row").filter({ hasText: name }).first().click({ timeout: 3000 });
    return true;
  }, 30_000);
}

/** Open a session by the daemon's search, and wait for a row of it. Begins anew if the workbench loses a key. */
export async function openSession(editor, words, row) {
  const input = editor.quick.locator('input[placeholder^="Words of its name"]');
  await until(`the session with ${words} is open`, async () => {
    await run(editor, "Branchline: Open Session");
    await input.waitFor({ state: "visible", timeout: 5000 });
    await input.fill(words, { timeout: 3000 });
    await until("it is found", async () => (await editor.quick.locator(".monaco-list-row").count()) === 1, 8000);
    await input.press("Enter");
    await editor.row(row).waitFor({ timeout: 15_000 });
    return true;
  }, 60_000);
}

/** Search in the panel; a null text ends the search. */
export async function search(editor, text) {
  const box = editor.panel.locator(".search");
  const focused = () => box.evaluate((one) => one === document.activeElement);
  await until("the search has the focus", async () => {
    if (await focused()) return true;
    await editor.focusPanel();
    await editor.page.keyboard.press("/");
    return until("the key arrives", focused, 3000);
  });
  if (text === null) {
    await editor.page.keyboard.press("Escape");
    await until("all is shown again", async () => (await editor.panel.locator("mark").count()) === 0);
    return;
  }
  await editor.page.keyboard.type(text);
  await until("hits are counted", async () => /\d/.test(await editor.panel.locator(".result").innerText()));
}

export async function setTheme(editor, theme) {
  const themed = editor.panel.locator(`body[data-vscode-theme-kind="${KINDS[theme]}"]`);
  const input = editor.quick.locator("input.input");
  await until(`the theme is ${theme}`, async () => {
    if ((await themed.count()) === 1) return true;
    await run(editor, "Preferences: Color Theme");
    await until("themes are listed", async () => !(await input.inputValue()).startsWith(">"), 3000);
    await input.fill(theme, { timeout: 3000 });
    await editor.quick.locator(".monaco-list-row").filter({ hasText: theme }).first().click({ timeout: 3000 });
    await themed.waitFor({ timeout: 5000 });
    return true;
  }, 40_000);
}

/** Something that the page knows. */
export const fact = (editor, body, argument) =>
  editor.panel.locator("body").evaluate(body, argument);

/** Nothing sticks out, overlaps or has another height than it should. */
export async function assertLaidOut(editor) {
  const wrong = await fact(editor, () => {
    const found = [];
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > width) found.push("the page is wider than its window");
    for (const row of document.querySelectorAll(".row")) {
      const name = row.id;
      const box = row.getBoundingClientRect();
      if (box.height !== 22) found.push(`${name} is ${box.height} high`);
      let end = -Infinity;
      for (const part of row.children) {
        const { left, right, width: wide, height } = part.getBoundingClientRect();
        if (wide === 0 || part.className === "unseen") continue;
        if (left < end - 1) found.push(`${name}: ${part.className} overlaps what stands before it`);
        if (right > box.right + 1) found.push(`${name}: ${part.className} sticks out`);
        if (height > 22) found.push(`${name}: ${part.className} is ${height} high`);
        end = right;
      }
    }
    for (const group of document.querySelectorAll(".head, .find, .said-of, .bar, .writing-head, .help-head")) {
      const box = group.getBoundingClientRect();
      for (const part of group.children) {
        const { right, bottom, width: wide } = part.getBoundingClientRect();
        if (wide > 0 && (right > box.right + 1 || bottom > box.bottom + 1)) found.push(`${part.className} sticks out of ${group.className}`);
      }
    }
    const rightEdges = (name) => new Set([...document.querySelectorAll(`.row .${name}`)].map((one) => Math.round(one.getBoundingClientRect().right)));
    for (const name of ["tokens", "age"]) if (rightEdges(name).size > 1) found.push(`${name} are not in one column`);
    return found;
  });
  assert.deepEqual(wrong, []);
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds in the page as it stands. The page's policy lets no foreign script in: the driver runs it. */
export async function assertAccessible(editor) {
  const found = await fact(editor, async (_body, source) => {
    if (window.axe === undefined) new Function(source).call(window);
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map((node) => node.html)]);
  }, axe);
  assert.deepEqual(found, []);
}
