/** What an entry's tool calls change in files, in the editor's own diff. */

import * as vscode from "vscode";
import { fileChanges, resultOf, type FileChange } from "../shared/entryMarkdown";
import type { Entry, EntryId } from "../shared/protocol";
import type { Daemon } from "./daemon";
import { changeUri, fileName } from "./entryAddress";

/** Results stand right after their call; further up than this none is looked for. */
const MOST_PARENTS = 100;

async function entryOf(daemon: Daemon, session: string, id: EntryId): Promise<Entry | undefined> {
  const { entries } = await daemon.request("session/entries", { session, ids: [id] });
  return entries[0];
}

/** The entry with the calls, and which of its changes are meant: a result is about its own call only. */
export async function changesOf(
  daemon: Daemon,
  session: string,
  id: EntryId,
): Promise<{ id: EntryId; changes: (FileChange & { at: number })[] }> {
  let entry = await entryOf(daemon, session, id);
  const callId = entry === undefined ? null : resultOf(entry);
  for (let far = 0; entry !== undefined && far < MOST_PARENTS; far++) {
    const changes = fileChanges(entry)
      .map((change, at) => ({ ...change, at }))
      .filter((change) => callId === null || change.callId === callId);
    const parent = entry["parentId"];
    if (changes.length > 0 || resultOf(entry) === null || typeof parent !== "string") {
      return { id: entry.id, changes };
    }
    entry = await entryOf(daemon, session, parent);
  }
  return { id, changes: [] };
}

/** Show what an entry changes: one file as a diff, several as one list of diffs. */
export async function showChanges(daemon: Daemon, session: string, id: EntryId): Promise<void> {
  const { t } = vscode.l10n;
  const found = await changesOf(daemon, session, id);
  const sides = found.changes.map(({ path, at }) => ({
    name: fileName(path),
    before: changeUri(session, found.id, path, { at, side: "before" }),
    after: changeUri(session, found.id, path, { at, side: "after" }),
  }));
  const [first] = sides;
  if (first === undefined) {
    void vscode.window.showInformationMessage(t("This entry edits no file."));
  } else if (sides.length === 1) {
    const title = t("{0}: what the model changed", first.name);
    await vscode.commands.executeCommand("vscode.diff", first.before, first.after, title);
  } else {
    const title = t("What the model changed");
    const list = sides.map(({ before, after }) => [after, before, after]);
    await vscode.commands.executeCommand("vscode.changes", title, list);
  }
}
