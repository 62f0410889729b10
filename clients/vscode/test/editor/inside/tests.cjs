// The tests that run inside of the extension host. The session that they look at is made by the runner.
"use strict";
const assert = require("node:assert/strict");
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const vscode = require("vscode");

const session = process.env["BRANCHLINE_INSIDE_SESSION"];
const extension = () => vscode.extensions.getExtension("branchline.branchline");
const manifest = () => extension().packageJSON.contributes;
const entry = (id, more = {}) =>
  vscode.Uri.from({ scheme: "branchline", path: "/x.md", query: JSON.stringify({ session, entry: id, ...more }) });

/** Wait until something holds; VS Code tells of tabs and documents later than it does them. */
async function until(what, holds) {
  const end = Date.now() + 20_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`never: ${what}`);
    await new Promise((again) => setTimeout(again, 50));
  }
}
const activeTab = () => vscode.window.tabGroups.activeTabGroup.activeTab?.input;

module.exports = {
  async "it is activated and runs where the files are"() {
    await extension().activate();
    assert.ok(extension().isActive);
    assert.equal(extension().extensionKind, vscode.ExtensionKind.Workspace);
    assert.deepEqual(extension().packageJSON.extensionKind, ["workspace"]);
  },

  async "every contributed command is registered"() {
    const registered = new Set(await vscode.commands.getCommands(true));
    const missing = manifest().commands.map(({ command }) => command).filter((command) => !registered.has(command));
    assert.deepEqual(missing, []);
    assert.ok(manifest().commands.length > 50);
  },

  async "a session file opens as text unless it is asked for: the panel takes no file over"() {
    await vscode.commands.executeCommand("vscode.open", vscode.Uri.file(session));
    await until("a text tab", () => activeTab() instanceof vscode.TabInputText);
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
  },

  async "the panel is a custom editor of that file, and one only"() {
    await vscode.commands.executeCommand("branchline.open", session);
    await vscode.commands.executeCommand("branchline.open", session);
    await until("a panel", () => activeTab() instanceof vscode.TabInputCustom);
    assert.equal(activeTab().viewType, "branchline.conversation");
    assert.equal(activeTab().uri.fsPath, session);
    assert.equal(vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs).length, 1);
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
  },

  async "an entry is a Markdown document that nobody can write"() {
    const document = await vscode.workspace.openTextDocument(entry("i2"));
    assert.equal(document.languageId, "markdown");
    assert.match(document.getText(), /## Model[^]*look at this[^]*```diff\n-old\n\+new\n```/);
    assert.equal(vscode.workspace.fs.isWritableFileSystem("branchline"), false);
    await assert.rejects(async () => vscode.workspace.fs.writeFile(entry("i2"), new Uint8Array()));
  },

  async "what is not there, and what is no address, is not found"() {
    const notFound = (uri) => assert.rejects(async () => vscode.workspace.fs.readFile(uri), /EntryNotFound|There is no entry/);
    await notFound(entry("nothing"));
    await notFound(entry("i2", { change: { at: 7, side: "before" } }));
    await notFound(entry("i1", { image: 3 }));
    await notFound(vscode.Uri.from({ scheme: "branchline", path: "/x.md", query: "nonsense" }));
  },

  async "the document of an entry leads to its changes, and both sides can be read"() {
    await vscode.workspace.openTextDocument(entry("i2"));
    const lenses = await vscode.commands.executeCommand("vscode.executeCodeLensProvider", entry("i2"), 10);
    assert.deepEqual(lenses.map(({ command }) => command.command), ["branchline.showChanges"]);
    const side = async (name) =>
      Buffer.from(await vscode.workspace.fs.readFile(entry("i2", { change: { at: 0, side: name } }))).toString();
    assert.deepEqual([await side("before"), await side("after")], ["old", "new"]);
  },

  async "the changes open as a diff of those two"() {
    await vscode.commands.executeCommand("branchline.showChanges", { branchlineSession: session, branchlineEntry: "i3" });
    await until("a diff", () => activeTab() instanceof vscode.TabInputTextDiff);
    assert.equal(activeTab().original.path, "/src/a.py");
    assert.equal(activeTab().modified.path, "/src/a.py");
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
  },

  async "a setting that says where things go or what is started cannot be the workspace's"() {
    const settings = vscode.workspace.getConfiguration("branchline");
    const machine = Object.entries(manifest().configuration.properties).filter(([, { scope }]) => scope === "machine");
    for (const name of ["command", "sessionsDir", "summarizer.baseUrl", "prompt.baseUrl", "models"]) {
      assert.ok(machine.some(([key]) => key === `branchline.${name}`), name);
    }
    for (const [key] of machine) {
      const name = key.slice("branchline.".length);
      await assert.rejects(async () => settings.update(name, undefined, vscode.ConfigurationTarget.Workspace), name);
    }
    // The workspace's file sets it all the same: it does not count.
    assert.notEqual(settings.get("command"), "/workspace/evil");
    assert.equal(settings.inspect("summarizer.baseUrl").workspaceValue, undefined);
    assert.equal(settings.get("summarizer.baseUrl"), null);
    // One of scope window does.
    assert.equal(settings.get("contextWindow"), 20_000);
  },

  "each text has its Chinese one where VS Code looks for it"() {
    const folder = join(extension().extensionPath, extension().packageJSON.l10n);
    const bundle = JSON.parse(readFileSync(join(folder, "bundle.l10n.zh-cn.json"), "utf8"));
    assert.ok(Object.keys(bundle).length > 100);
    // VS Code has put the English titles in place of their names.
    assert.equal(manifest().commands.find(({ command }) => command === "branchline.openDemo").title, "Open the Demo Session");
  },

  async "a draft is a language of its own, with its own look"() {
    const document = await vscode.workspace.openTextDocument({ language: "branchline-draft", content: "x" });
    assert.equal(document.languageId, "branchline-draft");
    const editor = vscode.workspace.getConfiguration("editor", { languageId: "branchline-draft" });
    assert.equal(editor.get("wordWrap"), "on");
  },
};
