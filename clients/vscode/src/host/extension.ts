/** Where the extension begins: makes the parts and binds them to VS Code. */

import { join } from "node:path";
import * as vscode from "vscode";
import { commandTable, openEntry, openPanel, registerCommands } from "./commands";
import { Consent } from "./consent";
import { Conversations } from "./conversation";
import { DaemonClient } from "./daemon";
import { DraftButtons, Drafts, PROMPT_ENDING, SUMMARY_ENDING } from "./drafts";
import { ENTRY_SCHEME } from "./entryAddress";
import { EntryDocuments } from "./entryDocuments";
import { Messages } from "./messages";
import { Moves } from "./moves";
import { OwnModel } from "./ownModel";
import { PANEL, Panels } from "./panel";
import { SessionSearch } from "./search";
import { SessionsView } from "./sessionsView";
import { daemonSettings } from "./settings";
import { StatusBar } from "./statusBar";
import { Summaries } from "./summaries";

export function activate(context: vscode.ExtensionContext): void {
  const storage = context.globalStorageUri.fsPath;
  const privateFolder = join(storage, "python");
  const log = vscode.window.createOutputChannel("Branchline", { log: true });
  const ownModel = new OwnModel(context.languageModelAccessInformation, log);
  const daemon = new DaemonClient({
    log,
    privateFolder,
    settings: () => daemonSettings(context.extension.packageJSON),
    writer: ownModel,
  });
  const conversations = new Conversations(daemon);
  const panels = new Panels(context, daemon, conversations, log);
  const sessions = new SessionsView(daemon);
  const drafts = new Drafts(join(storage, "drafts"));
  const buttons = new DraftButtons(drafts);
  const consent = new Consent(daemon, context.globalState);
  const summaries = new Summaries(daemon, conversations, drafts, buttons, consent, ownModel);
  const moves = new Moves(daemon, conversations, panels, drafts, buttons, summaries);
  const messages = new Messages(daemon, drafts, buttons, conversations, consent, openPanel);
  const entries = new EntryDocuments(daemon);
  const search = new SessionSearch(daemon, context.workspaceState, (path, id) =>
    openEntry({ conversations, panels }, path, id),
  );
  const parts = {
    context,
    log,
    daemon,
    privateFolder,
    conversations,
    panels,
    sessions,
    moves,
    summaries,
    drafts,
    messages,
    ownModel,
    search,
  };
  context.subscriptions.push(
    log,
    daemon,
    conversations,
    sessions,
    new StatusBar(conversations),
    daemon.onState(() => panels.daemonChanged()),
    vscode.window.registerCustomEditorProvider(PANEL, panels, {
      supportsMultipleEditorsPerDocument: true,
    }),
    vscode.window.createTreeView("branchline.sessions", {
      treeDataProvider: sessions,
      showCollapseAll: true,
    }),
    vscode.workspace.registerFileSystemProvider(ENTRY_SCHEME, entries, {
      isReadonly: true,
      isCaseSensitive: true,
    }),
    vscode.languages.registerDocumentLinkProvider({ scheme: ENTRY_SCHEME }, entries),
    vscode.languages.registerCodeLensProvider({ scheme: ENTRY_SCHEME }, entries),
    vscode.languages.registerCodeLensProvider(
      [PROMPT_ENDING, SUMMARY_ENDING].map((ending) => ({ scheme: "file", pattern: `**/*${ending}` })),
      buttons,
    ),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("branchline.command")) void daemon.restart();
      else if (event.affectsConfiguration("branchline")) void daemon.settingsChanged();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void daemon.settingsChanged()),
    // The daemon hears of the folders by itself; which sessions are the workspace's changes with them.
    vscode.workspace.onDidChangeWorkspaceFolders(() => sessions.refresh()),
    ...registerCommands(commandTable(parts)),
  );
  sessions.setScope(vscode.workspace.workspaceFolders === undefined ? "all" : "workspace");
  // Not waited for: the views say what happens meanwhile.
  void daemon.start();
}
