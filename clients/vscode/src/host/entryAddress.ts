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

/** The parts of a path that a session names, safe to show and to put into an address; at least one. */
function parts(path: string): [string, ...string[]] {
  const [last = "file", ...before] = path
    .split(/[\\/]/)
    .filter((part) => !/^\.*$/.test(part))
    .map((part) => part.replace(/[^\p{L}\p{N}._ -]/gu, "_").slice(-80))
    .reverse();
  return [last, ...before];
}

/** The last part of a path that a session names, as it is shown. */
export const fileName = (path: string): string => parts(path)[0];

export function changeUri(session: string, entry: EntryId, path: string, change: Side): vscode.Uri {
  const address: Address = { session, entry, change };
  // Both sides have one path: for VS Code two would be a file that was renamed.
  const shown = `/${parts(path).reverse().join("/")}`;
  return vscode.Uri.from({ scheme: ENTRY_SCHEME, path: shown, query: JSON.stringify(address) });
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
