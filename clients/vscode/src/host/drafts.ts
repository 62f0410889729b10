/**
 * Texts that a person edits before anything happens: messages to send and summaries to store.
 *
 * A draft is a Markdown file in the extension's own folder with a second file that says what it is for,
 * so it survives a reload and a crash. Saving one does nothing else; only a command sends or stores it.
 */

import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as vscode from "vscode";
import { crop } from "../shared/format";
import type { EntryId } from "../shared/protocol";

export const PROMPT_ENDING = ".branchline-message.md";
export const SUMMARY_ENDING = ".branchline-summary.md";

/** What a draft is for. `leafId` is where the conversation was when it began. */
export type Draft = {
  session: string;
  leafId: EntryId | null;
  /** Of the daemon's own draft, once a summary is written. */
  draftId?: string | null;
  focus?: string;
} & (
  | { kind: "message"; images: unknown[] }
  | { kind: "switch"; targetId: EntryId | null }
  | { kind: "compaction" }
);

/** A draft of a summary. */
export type SummaryDraft = Exclude<Draft, { kind: "message" }>;

export class Drafts {
  constructor(private readonly folder: string) {}

  /** Make a draft and show it beside the conversation. */
  async open(draft: Draft, title: string, text: string): Promise<void> {
    await this.show(await this.create(draft, title, text));
  }

  /** Make a draft. */
  async create(draft: Draft, title: string, text: string): Promise<vscode.TextDocument> {
    const ending = draft.kind === "message" ? PROMPT_ENDING : SUMMARY_ENDING;
    const clean = crop(title.replace(/[^\p{L}\p{N} ._-]+/gu, " ").trim(), 40).replace(/^\.+/, "");
    const key = createHash("sha256").update(draft.session).update(randomBytes(8)).digest("hex");
    const folder = join(this.folder, key.slice(0, 12));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `${clean === "" ? "draft" : clean}${ending}`);
    await writeFile(path, text, { mode: 0o600 });
    await this.keep(path, draft);
    return await vscode.workspace.openTextDocument(vscode.Uri.file(path));
  }

  async show(document: vscode.TextDocument): Promise<void> {
    await vscode.window.showTextDocument(document, {
      viewColumn: vscode.ViewColumn.Beside,
      preview: false,
    });
  }

  private async keep(path: string, draft: Draft): Promise<void> {
    const beside = `${path}.json`;
    await writeFile(beside, JSON.stringify(draft), { mode: 0o600 });
    await chmod(beside, 0o600);
  }

  /** What a document is for, or null if it is no draft of ours. */
  async of(uri: vscode.Uri): Promise<Draft | null> {
    if (uri.scheme !== "file" || dirname(dirname(uri.fsPath)) !== this.folder) return null;
    try {
      return JSON.parse(await readFile(`${uri.fsPath}.json`, "utf8")) as Draft;
    } catch {
      return null;
    }
  }

  async update(uri: vscode.Uri, change: { draftId?: string | null; leafId?: EntryId | null; focus?: string }): Promise<void> {
    const draft = await this.of(uri);
    if (draft !== null) await this.keep(uri.fsPath, { ...draft, ...change });
  }

  /** Replace the whole text of a draft's document. */
  async setText(document: vscode.TextDocument, text: string): Promise<void> {
    const edit = new vscode.WorkspaceEdit();
    const all = new vscode.Range(new vscode.Position(0, 0), document.lineAt(document.lineCount - 1).range.end);
    edit.replace(document.uri, all, text);
    await vscode.workspace.applyEdit(edit);
  }

  async append(document: vscode.TextDocument, text: string): Promise<void> {
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, document.lineAt(document.lineCount - 1).range.end, text);
    await vscode.workspace.applyEdit(edit);
  }

  /** Close a draft's document and forget it. */
  async close(uri: vscode.Uri): Promise<void> {
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
    // Saved first: closing a changed document would ask whether to keep it.
    if (document?.isDirty === true) await document.save();
    const tabs = vscode.window.tabGroups.all
      .flatMap((group) => group.tabs)
      .filter(
        (tab) =>
          tab.input instanceof vscode.TabInputText && tab.input.uri.toString() === uri.toString(),
      );
    await vscode.window.tabGroups.close(tabs);
    await rm(dirname(uri.fsPath), { recursive: true, force: true });
  }

  static isPrompt(uri: vscode.Uri): boolean {
    return basename(uri.fsPath).endsWith(PROMPT_ENDING);
  }
}

/** The buttons above a draft's text. */
export class DraftButtons implements vscode.CodeLensProvider {
  private readonly emitter = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.emitter.event;
  private readonly beingWritten = new Set<string>();

  constructor(private readonly drafts: Drafts) {}

  /** Have them drawn again. VS Code forgets what was due when the text lost the focus. */
  refresh(): void {
    this.emitter.fire();
  }

  writing(uri: vscode.Uri, on: boolean): void {
    if (on) this.beingWritten.add(uri.toString());
    else this.beingWritten.delete(uri.toString());
    this.emitter.fire();
  }

  /** Do something with a draft once: while it is being done its buttons do nothing. */
  async during(uri: vscode.Uri, work: () => Promise<void>): Promise<void> {
    if (this.isBeingWritten(uri)) return;
    this.writing(uri, true);
    try {
      await work();
    } finally {
      this.writing(uri, false);
    }
  }

  isBeingWritten(uri: vscode.Uri): boolean {
    return this.beingWritten.has(uri.toString());
  }

  async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const draft = await this.drafts.of(document.uri);
    if (draft === null) return [];
    const { t } = vscode.l10n;
    const top = new vscode.Range(0, 0, 0, 0);
    const lens = (title: string, command: string): vscode.CodeLens =>
      new vscode.CodeLens(top, { title, command, arguments: [document.uri] });
    if (this.beingWritten.has(document.uri.toString())) {
      return [lens(t("$(sync~spin) being written… Cancel"), "branchline.cancel")];
    }
    if (draft.kind === "message") {
      const count = draft.images.length;
      const along = count === 1 ? t("$(file-media) 1 image goes along") : t("$(file-media) {0} images go along", count);
      return [
        lens(t("$(play) Ask"), "branchline.message.ask"),
        lens(t("$(terminal) Run in Pi"), "branchline.message.runInPi"),
        lens(t("$(save) Store only"), "branchline.message.store"),
        lens(t("$(trash) Discard"), "branchline.draft.discard"),
        // Without a command it is a text.
        ...(count === 0 ? [] : [lens(along, "")]),
      ];
    }
    return [
      lens(t("$(check) Store"), "branchline.summary.store"),
      lens(t("$(refresh) Rewrite…"), "branchline.summary.rewrite"),
      lens(t("$(trash) Discard"), "branchline.draft.discard"),
    ];
  }
}
