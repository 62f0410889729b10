/** The addresses of what is shown of an entry: its text, its images, the sides of its changes. */

import * as vscode from "vscode";
import type { EntryId } from "../shared/protocol";

export const ENTRY_SCHEME = "branchline";

export interface Address {
  session: string;
  entry: EntryId;
  image?: number;
  change?: Side;
}

/** Which of an entry's changes, and which side of it. */
interface Side {
  at: number;
  side: "before" | "after";
}

export function entryUri(session: string, entry: EntryId, image?: { at: number; ending: string }): vscode.Uri {
  const safe = entry.replace(/[^A-Za-z0-9._-]/g, "_");
  const name = image === undefined ? `${safe}.md` : `${safe}-image-${image.at + 1}.${image.ending}`;
  const address: Address = { session, entry, ...(image && { image: image.at }) };
  return vscode.Uri.from({ scheme: ENTRY_SCHEME, path: `/${name}`, query: JSON.stringify(address) });
}

/** The last part of a path that a session names, as a name that is safe to show and to put into an address. */
export function fileName(path: string): string {
  const name = path.split(/[\\/]/).at(-1) ?? "";
  return name.replace(/[^\p{L}\p{N}._ -]/gu, "_").slice(-80) || "file";
}

export function changeUri(session: string, entry: EntryId, path: string, change: Side): vscode.Uri {
  const address: Address = { session, entry, change };
  return vscode.Uri.from({
    scheme: ENTRY_SCHEME,
    path: `/${change.side}/${fileName(path)}`,
    query: JSON.stringify(address),
  });
}

export function addressOf(uri: vscode.Uri): Address {
  try {
    const { session, entry, image, change } = JSON.parse(uri.query) as Partial<Address>;
    if (typeof session !== "string" || typeof entry !== "string") throw new Error("no address");
    return {
      session,
      entry,
      ...(typeof image === "number" && { image }),
      ...(typeof change === "object" && { change }),
    };
  } catch {
    throw vscode.FileSystemError.FileNotFound(uri);
  }
}
