/**
 * Entries as read-only documents, their images, and the two sides of what they change in files.
 *
 * A document is made from the session each time it is opened; nothing is written to disk.
 */

import * as vscode from "vscode";
import { entryMarkdown, fileChanges, imageEnding, images } from "../shared/entryMarkdown";
import type { Entry } from "../shared/protocol";
import { changesOf } from "./changes";
import type { Daemon } from "./daemon";
import { addressOf, entryUri, type Address } from "./entryAddress";

const IMAGE_LINE = /^Image (\d+): /gm;

export class EntryDocuments
  implements vscode.FileSystemProvider, vscode.DocumentLinkProvider, vscode.CodeLensProvider
{
  private readonly emitter = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.emitter.event;

  constructor(private readonly daemon: Daemon) {}

  private async entry({ session, entry }: Address): Promise<Entry> {
    const { entries } = await this.daemon.request("session/entries", { session, ids: [entry] });
    const found = entries[0];
    if (found === undefined) throw vscode.FileSystemError.FileNotFound(entry);
    return found;
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const address = addressOf(uri);
    const entry = await this.entry(address);
    if (address.change !== undefined) {
      const change = fileChanges(entry)[address.change.at];
      if (change === undefined) throw vscode.FileSystemError.FileNotFound(uri);
      return new TextEncoder().encode(address.change.side === "before" ? change.before : change.after);
    }
    if (address.image === undefined) return new TextEncoder().encode(entryMarkdown(entry));
    const image = images(entry)[address.image];
    if (image === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return Buffer.from(image.data, "base64");
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const { byteLength: size } = await this.readFile(uri);
    // An entry never changes: one time for all keeps VS Code from reading it again.
    return { type: vscode.FileType.File, ctime: 0, mtime: 0, size };
  }

  /** The lines that name an image lead to it. */
  async provideDocumentLinks(document: vscode.TextDocument): Promise<vscode.DocumentLink[]> {
    const address = addressOf(document.uri);
    const found = images(await this.entry(address));
    return [...document.getText().matchAll(IMAGE_LINE)].flatMap((match) => {
      const at = Number(match[1]) - 1;
      const image = found[at];
      if (image === undefined) return [];
      const range = new vscode.Range(
        document.positionAt(match.index),
        document.positionAt(match.index + match[0].length - 2),
      );
      const uri = entryUri(address.session, address.entry, { at, ending: imageEnding(image) });
      return [new vscode.DocumentLink(range, uri)];
    });
  }

  /** Above the text: what the entry has that is better seen elsewhere. */
  async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const address = addressOf(document.uri);
    if (address.change !== undefined || address.image !== undefined) return [];
    const { t } = vscode.l10n;
    const top = new vscode.Range(0, 0, 0, 0);
    const entry = await this.entry(address);
    const lenses = images(entry).map((image, at) => {
      const uri = entryUri(address.session, address.entry, { at, ending: imageEnding(image) });
      const title = t("$(file-media) Image {0}", at + 1);
      return new vscode.CodeLens(top, { title, command: "vscode.open", arguments: [uri] });
    });
    const { changes } = await changesOf(this.daemon, address.session, entry.id);
    if (changes.length > 0) {
      const { session: branchlineSession, entry: branchlineEntry } = address;
      lenses.unshift(
        new vscode.CodeLens(top, {
          title: t("$(diff) Show changes"),
          command: "branchline.showChanges",
          arguments: [{ branchlineSession, branchlineEntry }],
        }),
      );
    }
    return lenses;
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  private readonly readOnly = (): never => {
    throw vscode.FileSystemError.NoPermissions(vscode.l10n.t("Entries are never changed."));
  };
  createDirectory = this.readOnly;
  writeFile = this.readOnly;
  delete = this.readOnly;
  rename = this.readOnly;
}
