/** The one table of commands: what each does, and which conversation and entry it is about. */

import { randomUUID } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as vscode from "vscode";
import { messageMarkdown } from "../shared/entryMarkdown";
import { PANEL_ACTIONS } from "../shared/messages";
import type { EntryId } from "../shared/protocol";
import { showChanges } from "./changes";
import type { Conversation, Conversations } from "./conversation";
import type { DaemonClient } from "./daemon";
import type { Drafts } from "./drafts";
import { entryUri } from "./entryAddress";
import { ReadOnly, showError } from "./errors";
import { install } from "./install";
import type { Messages } from "./messages";
import type { Moves } from "./moves";
import type { OwnModel } from "./ownModel";
import { exportConversation, revealFile } from "./export";
import { PANEL, type Panels } from "./panel";
import { findPi, showFirst, startPi } from "./pi";
import { pickPoint, pickSession } from "./pickers";
import { sessionTitle, type Node, type SessionsView } from "./sessionsView";
import type { SessionSearch } from "./search";
import type { Summaries } from "./summaries";

export interface Parts {
  context: vscode.ExtensionContext;
  log: vscode.LogOutputChannel;
  daemon: DaemonClient;
  privateFolder: string;
  conversations: Conversations;
  panels: Panels;
  sessions: SessionsView;
  moves: Moves;
  summaries: Summaries;
  drafts: Drafts;
  messages: Messages;
  ownModel: OwnModel;
  search: SessionSearch;
}

type Handler = (argument?: unknown) => unknown;

/** Show a session's panel: where it is already, else in the group in front. */
export async function openPanel(path: string): Promise<void> {
  const uri = vscode.Uri.file(path);
  const group = vscode.window.tabGroups.all.find(({ tabs }) =>
    tabs.some(
      ({ input }) =>
        input instanceof vscode.TabInputCustom &&
        input.viewType === PANEL &&
        input.uri.toString() === uri.toString(),
    ),
  );
  await vscode.commands.executeCommand("vscode.openWith", uri, PANEL, {
    preview: false,
    ...(group !== undefined && { viewColumn: group.viewColumn }),
  });
}

/** Show an entry of a session, wherever in its tree it lies; null shows the session as it was left. */
export async function openEntry(parts: Pick<Parts, "conversations" | "panels">, path: string, id: EntryId | null): Promise<void> {
  await openPanel(path);
  if (id === null) return;
  await parts.conversations.with(path, (conversation) => {
    parts.panels.postTo(conversation, { type: "reveal", id });
    return Promise.resolve();
  });
}

/** The entry that a row's menu or the page names, else undefined. */
function entryOf(argument: unknown): EntryId | undefined {
  if (typeof argument !== "object" || argument === null) return undefined;
  const { branchlineEntry } = argument as { branchlineEntry?: unknown };
  return typeof branchlineEntry === "string" ? branchlineEntry : undefined;
}

/** The session and the entry that an entry's document names, else undefined. */
function entryDocument(argument: unknown): { session: string; entry: EntryId } | undefined {
  const entry = entryOf(argument);
  const session = (argument as { branchlineSession?: unknown } | undefined)?.branchlineSession;
  return entry === undefined || typeof session !== "string" ? undefined : { session, entry };
}

function sessionNode(argument: unknown): (Node & { kind: "session" }) | undefined {
  if (typeof argument !== "object" || argument === null) return undefined;
  return (argument as Node).kind === "session" ? (argument as Node & { kind: "session" }) : undefined;
}

/** The draft that a button above it or in the title names, else the one in front. */
async function draftDocument(argument: unknown): Promise<vscode.TextDocument | undefined> {
  if (argument instanceof vscode.Uri) return await vscode.workspace.openTextDocument(argument);
  return vscode.window.activeTextEditor?.document;
}

export function commandTable(parts: Parts): Record<string, Handler> {
  const { context, daemon, conversations, panels, sessions, moves, drafts, messages } = parts;
  const { t } = vscode.l10n;

  let waits = false;
  /** The active conversation. One that is being read is waited for, by one command: others get null. */
  const inFront = async (): Promise<Conversation | null> => {
    const reading = panels.active?.reading ?? null;
    if (reading === null) return conversations.active;
    if (waits) return null;
    waits = true;
    const opened = await reading.opened;
    waits = false;
    return opened;
  };

  /** Do something with the active conversation; without one, ask for it. */
  const withActive = async (work: (conversation: Conversation) => unknown): Promise<void> => {
    const reading = panels.active?.reading ?? null;
    const active = await inFront();
    if (active === null && reading !== null) return;
    if (active !== null) {
      await work(active);
      return;
    }
    const path = await pickSession(daemon);
    if (path === undefined) return;
    await openPanel(path);
    await conversations.with(path, (conversation) => Promise.resolve(work(conversation)));
  };

  /** The same with one that can be changed: that it cannot is said before anything is asked. */
  const change = (work: (conversation: Conversation) => unknown): Promise<void> =>
    withActive((conversation) => {
      if (conversation.info.readOnly) throw new ReadOnly();
      return work(conversation);
    });

  /** The same with an entry: the one that is named, else the selected one. */
  const withEntry = async (
    argument: unknown,
    work: (conversation: Conversation, id: EntryId) => unknown,
    start = withActive,
  ): Promise<void> => {
    // What is selected now: it may be another when the conversation is there.
    const selection = await panels.active?.selectionNow();
    await start(async (conversation) => {
      const id = entryOf(argument) ?? selection?.id ?? conversation.leafId;
      if (id !== null) await work(conversation, id);
    });
  };

  /** A session of the list, else the active one. */
  const withSession = async (
    argument: unknown,
    work: (session: { path: string; cwd: string | null; title: string; name: string | null }) => unknown,
  ): Promise<void> => {
    const info = sessionNode(argument)?.info ?? (await inFront())?.info;
    if (info !== undefined) {
      await work({ path: info.path, cwd: info.cwd, title: sessionTitle(info), name: info.name });
    }
  };

  const withDraft =
    (work: (document: vscode.TextDocument) => Promise<void>): Handler =>
    async (argument) => {
      const document = await draftDocument(argument);
      if (document !== undefined) await work(document);
    };

  const label = async (conversation: Conversation, id: EntryId): Promise<void> => {
    const { selection } = panels.active ?? { selection: null };
    const labels = await daemon.request("session/branches", { session: conversation.path });
    const known = labels.labels.find((one) => one.id === id)?.label;
    const value = known ?? (selection?.id === id ? (selection.label ?? "") : "");
    const text = await vscode.window.showInputBox({
      title: t("Label"),
      prompt: t("An empty label takes it away."),
      value,
    });
    if (text === undefined) return;
    await daemon.request("session/label", {
      session: conversation.path,
      targetId: id,
      label: text.trim() === "" ? null : text,
    });
  };

  const fork = async (conversation: Conversation, id: EntryId): Promise<void> => {
    const session = conversation.path;
    const { entries } = await daemon.request("session/entries", { session, ids: [id] });
    const message = entries[0]?.["message"] as { role?: unknown } | undefined;
    const position = message?.role === "user" ? ("before" as const) : ("at" as const);
    const made = await daemon.request("session/fork", { session, entryId: id, position });
    // A fork before the first message has no file yet: the message that is opened makes one.
    const { editorContent } = made;
    if (made.leafId !== null) await openPanel(made.session.path);
    if (editorContent !== null) {
      await conversations.with(made.session.path, (forked) => moves.openMessage(forked, editorContent));
    }
  };

  /** The folder of a new session; with several, the person says which. Null if they thought better of it. */
  const chooseFolder = async (): Promise<string | undefined | null> => {
    const folders = vscode.workspace.workspaceFolders ?? [];
    if (folders.length < 2) return folders[0]?.uri.fsPath;
    const placeHolder = t("The folder that the conversation is about");
    return (await vscode.window.showWorkspaceFolderPick({ placeHolder }))?.uri.fsPath ?? null;
  };

  const newSession = async (): Promise<void> => {
    const cwd = await chooseFolder();
    if (cwd === null) return;
    const name = await vscode.window.showInputBox({
      title: t("New Conversation"),
      prompt: t("Its name"),
      validateInput: (value) => (value.trim() === "" ? t("A name is needed.") : undefined),
    });
    if (name === undefined) return;
    const { session } = await daemon.request("session/create", cwd === undefined ? {} : { cwd });
    // The name is its first entry, and with that the file is there.
    await daemon.request("session/rename", { session: session.path, name: name.trim() });
    await openPanel(session.path);
    await conversations.with(session.path, (conversation) =>
      moves.openMessage(conversation, { text: "", images: [] }),
    );
  };

  const deleteSession = async (path: string, title: string): Promise<void> => {
    const move = t("Move to Trash");
    const chosen = await vscode.window.showWarningMessage(
      t("Move the conversation “{0}” to the trash?", title),
      { modal: true },
      move,
    );
    if (chosen !== move) return;
    await daemon.request("session/delete", { session: path });
    sessions.refresh();
  };

  const rename = async (path: string, old: string | null): Promise<void> => {
    const name = await vscode.window.showInputBox({ title: t("Name"), value: old ?? "" });
    if (name === undefined) return;
    await daemon.request("session/rename", { session: path, name });
    sessions.refresh();
  };

  const copyContext = async (conversation: Conversation, format: "markdown" | "json"): Promise<void> => {
    const { messages: all } = await daemon.request("session/context", {
      session: conversation.path,
      format: format === "json" ? "openai" : "messages",
    });
    const text =
      format === "json"
        ? JSON.stringify(all, null, 2)
        : (all ?? []).map((message) => messageMarkdown(message)).join("\n");
    await vscode.env.clipboard.writeText(text);
    void vscode.window.showInformationMessage(t("{0} messages were copied.", all?.length ?? 0));
  };

  const openDemo = async (): Promise<void> => {
    const source = join(context.extensionPath, "dist", "demo-session.jsonl");
    const target = join(context.globalStorageUri.fsPath, "demo", randomUUID(), "demo-session.jsonl");
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    // Its folder is one that there is: Pi and the panel would complain of another.
    const [header = "", ...entries] = (await readFile(source, "utf8")).split("\n");
    const here = { ...(JSON.parse(header) as object), cwd: dirname(target) };
    await writeFile(target, [JSON.stringify(here), ...entries].join("\n"), { mode: 0o600 });
    await openPanel(target);
  };

  const table: Record<string, Handler> = {
    "branchline.open": (path) => (typeof path === "string" ? openPanel(path) : undefined),
    "branchline.openSession": async () => {
      const path = await pickSession(daemon);
      if (path !== undefined) await openPanel(path);
    },
    "branchline.openDemo": openDemo,
    "branchline.newSession": newSession,
    "branchline.renameSession": (node) =>
      withSession(node, ({ path, name }) => rename(path, name)),
    "branchline.deleteSession": (node) =>
      withSession(node, ({ path, title }) => deleteSession(path, title)),
    "branchline.revealSession": (node) =>
      withSession(node, ({ path }) => revealFile(path)),
    "branchline.export": (node) =>
      withSession(node, (session) => exportConversation(daemon, session)),
    "branchline.search": () => parts.search.show(),
    "branchline.searchFile": (uri) => parts.search.showFile(uri),
    "branchline.continueInPi": (node) =>
      withSession(node, async ({ path, cwd }) => {
        const pi = await findPi();
        if (pi === null) return;
        const terminal = startPi(pi, path, cwd);
        const conversation = conversations.known(path);
        if (conversation !== undefined) showFirst(conversation, terminal);
      }),
    "branchline.refreshSessions": () => sessions.refresh(),
    "branchline.moreSessions": () => sessions.more(),
    "branchline.showAllSessions": () => sessions.setScope("all"),
    "branchline.showWorkspaceSessions": () => sessions.setScope("workspace"),

    "branchline.switchBranch": () =>
      change(async (conversation) => {
        const id = await pickPoint(daemon, conversation);
        if (id !== undefined) await moves.switchTo(conversation, id);
      }),
    "branchline.switchHere": (row) =>
      withEntry(row, (conversation, id) => moves.switchTo(conversation, id), change),
    "branchline.undo": () => change((conversation) => moves.undo(conversation)),
    "branchline.compact": () => change((conversation) => moves.compact(conversation)),
    "branchline.newMessage": () =>
      change((conversation) => moves.openMessage(conversation, { text: "", images: [] })),
    "branchline.label": (row) => withEntry(row, label, change),
    "branchline.fork": (row) => withEntry(row, fork),
    "branchline.openEntry": (row) =>
      withEntry(row, (conversation, id) =>
        vscode.window.showTextDocument(entryUri(conversation.path, id), {
          viewColumn: vscode.ViewColumn.Beside,
          preview: true,
        }),
      ),
    "branchline.showChanges": (row) => {
      const named = entryDocument(row);
      if (named !== undefined) return showChanges(daemon, named.session, named.entry);
      return withEntry(row, (conversation, id) => showChanges(daemon, conversation.path, id));
    },
    "branchline.copyContextMarkdown": () =>
      withActive((conversation) => copyContext(conversation, "markdown")),
    "branchline.copyContextJson": () =>
      withActive((conversation) => copyContext(conversation, "json")),
    "branchline.cancel": () =>
      withActive((conversation) =>
        daemon.request("session/cancel", { session: conversation.path }),
      ),
    "branchline.follow": () => withActive((conversation) => moves.follow(conversation)),
    "branchline.stay": () => withActive((conversation) => moves.stay(conversation)),
    "branchline.reload": () => withActive((conversation) => conversations.reload(conversation)),

    "branchline.message.ask": withDraft((document) => messages.ask(document)),
    "branchline.message.runInPi": withDraft((document) => messages.runInPi(document)),
    "branchline.message.store": withDraft((document) => messages.store(document)),
    "branchline.summary.store": withDraft((document) => moves.store(document)),
    "branchline.summary.rewrite": withDraft((document) => parts.summaries.rewrite(document)),
    "branchline.draft.discard": withDraft(async (document) => {
      if ((await drafts.of(document.uri)) !== null) await drafts.close(document.uri);
    }),

    "branchline.chooseSummaryModel": async () => {
      if (await parts.ownModel.choose()) await daemon.restart();
    },
    "branchline.install": async () => {
      if (await install(context.extensionPath, parts.privateFolder, parts.log)) {
        await daemon.restart();
      }
    },
    "branchline.restart": () => daemon.restart(),
    "branchline.showLog": () => parts.log.show(),
  };
  for (const action of PANEL_ACTIONS) {
    table[`branchline.panel.${action}`] = () => panels.act(action);
  }
  return table;
}

/** Register the table: an error of a command is shown with its next steps. */
export function registerCommands(table: Record<string, Handler>): vscode.Disposable[] {
  return Object.entries(table).map(([name, handler]) =>
    vscode.commands.registerCommand(name, async (argument?: unknown) => {
      try {
        await handler(argument);
      } catch (error) {
        // Not waited for: the message may stay for long, and the command is over.
        void showError(error);
      }
    }),
  );
}
