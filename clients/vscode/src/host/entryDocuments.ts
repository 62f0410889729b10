/**
 * Entries as read-only documents: `branchline:/<name>.md?<session and entry>`, and their images.
 *
 * A document is made from the session each time it is opened; nothing is written to disk.
 */

import * as vscode from "vscode";
import { entryMarkdown, imageEnding, images } from "../shared/entryMarkdown";
import type { Entry, EntryId } from "../shared/protocol";
import type { Daemon } from "./daemon";

export const ENTRY_SCHEME = "branchline";

interface Address {
  session: string;
  entry: EntryId;
  image?: number;
}

export function entryUri(session: string, entry: EntryId, image?: { at: number; ending: string }): vscode.Uri {
  const safe = entry.replace(/[^A-Za-z0-9._-]/g, "_");
  const name = image === undefined ? `${safe}.md` : `${safe}-image-${image.at + 1}.${image.ending}`;
  const address: Address = { session, entry, ...(image && { image: image.at }) };
  return vscode.Uri.from({ scheme: ENTRY_SCHEME, path: `/${name}`, query: JSON.stringify(address) });
}

function addressOf(uri: vscode.Uri): Address {
  try {
    const { session, entry, image } = JSON.parse(uri.query) as Partial<Address>;
    if (typeof session !== "string" || typeof entry !== "string") throw new Error("no address");
    return { session, entry, ...(typeof image === "number" && { image }) };
  } catch {
    throw vscode.FileSystemError.FileNotFound(uri);
  }
}

const IMAGE_LINE = /^Image (\d+): /gm;

export class EntryDocuments implements vscode.FileSystemProvider, vscode.DocumentLinkProvider {
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
