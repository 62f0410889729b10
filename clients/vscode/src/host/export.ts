/** A conversation written as something to hand on: asked how and where, written by the daemon, shown. */

import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import * as vscode from "vscode";
import { plainText } from "../shared/format";
import type { Params, Result } from "../shared/protocol";
import type { Daemon } from "./daemon";
import { factsOf, showError } from "./errors";

type Format = Params<"session/export">["format"];
type Masked = Result<"session/export">["masked"];

export interface Exported {
  path: string;
  title: string;
}

const ENDINGS: Readonly<Record<Format, string>> = { html: "html", markdown: "md", jsonl: "jsonl" };

/** Whether the person sits at this machine: else its file manager and browser are not theirs. */
const isHere = (): boolean =>
  vscode.env.remoteName === undefined && vscode.env.uiKind === vscode.UIKind.Desktop;

/** Show a file where it lies. */
export async function revealFile(path: string): Promise<void> {
  const uri = vscode.Uri.file(path);
  const inWorkspace = vscode.workspace.getWorkspaceFolder(uri) !== undefined;
  const command = isHere() ? "revealFileInOS" : inWorkspace ? "revealInExplorer" : "vscode.open";
  await vscode.commands.executeCommand(command, uri);
}

/** The name of a file for a conversation, without its ending: what every file system takes. */
export function exportName(title: string): string {
  const name = plainText(title)
    .replace(/[^\p{L}\p{N}._]+/gu, "-")
    .slice(0, 60)
    .replace(/^[-.]+|[-.]+$/g, "");
  return name === "" ? "conversation" : name;
}

/** The first of `name.md`, `name-2.md`, … that is not there yet. */
export async function freePath(folder: string, name: string, ending: string): Promise<string> {
  for (let number = 1; ; number++) {
    const path = join(folder, `${name}${number === 1 ? "" : `-${number}`}.${ending}`);
    const taken = await access(path).then(
      () => true,
      () => false,
    );
    if (!taken) return path;
  }
}

/** What was hidden, in words. */
export function maskedText(masked: Masked): string {
  const { t } = vscode.l10n;
  const words = masked.map(({ kind, count }) => {
    switch (kind) {
      case "key":
        return count === 1 ? t("1 key") : t("{0} keys", count);
      case "homePath":
        return count === 1 ? t("1 home folder") : t("{0} home folders", count);
      case "email":
        return count === 1 ? t("1 e-mail address") : t("{0} e-mail addresses", count);
    }
  });
  return words.length === 0 ? t("Nothing had to be hidden.") : t("Hidden: {0}.", words.join(", "));
}

interface How {
  format: Format;
  branches: "active" | "all";
  mask: boolean;
}

/** Ask for the format, the branches and the masks; undefined if the person thought better of it. */
async function askHow(title: string): Promise<How | undefined> {
  const { t } = vscode.l10n;
  const ask = async <T>(
    step: number,
    placeHolder: string,
    items: (vscode.QuickPickItem & { value: T })[],
  ): Promise<T | undefined> => {
    const options = { title: `${title} (${step}/3)`, placeHolder };
    return (await vscode.window.showQuickPick(items, options))?.value;
  };
  const format = await ask<Format>(1, t("What is it to be?"), [
    { value: "html", label: t("HTML page"), detail: t("To read in a browser; needs nothing else.") },
    { value: "markdown", label: t("Markdown"), detail: t("To read and to edit as text.") },
    { value: "jsonl", label: t("JSONL"), detail: t("The records themselves: opens as a session.") },
  ]);
  if (format === undefined) return undefined;
  const branches = await ask<How["branches"]>(2, t("How much of it?"), [
    { value: "active", label: t("The active branch"), detail: t("From the beginning to where you are.") },
    { value: "all", label: t("All branches"), detail: t("Also what was left.") },
  ]);
  if (branches === undefined) return undefined;
  const masks = [
    {
      value: true,
      label: t("Hide keys, home folders and e-mail addresses"),
      detail: t("It goes by looks: read before you share."),
    },
    { value: false, label: t("Hide nothing"), detail: t("Everything as it stands in the session.") },
  ];
  const mask = await ask(3, t("What is not for others?"), format === "jsonl" ? masks.reverse() : masks);
  return mask === undefined ? undefined : { format, branches, mask };
}

/** Where the person exported to last. */
let lastFolder: string | null = null;

function askWhere(title: string, format: Format, path: string): Thenable<vscode.Uri | undefined> {
  const { t } = vscode.l10n;
  const names: Record<Format, string> = { html: t("HTML page"), markdown: t("Markdown"), jsonl: t("JSONL") };
  return vscode.window.showSaveDialog({
    title,
    saveLabel: t("Export"),
    defaultUri: vscode.Uri.file(path),
    filters: { [names[format]]: [ENDINGS[format]] },
  });
}

/** Export a conversation: each question can be left, and no file that is there is touched. */
export async function exportConversation(daemon: Daemon, { path: session, title }: Exported): Promise<void> {
  const { t } = vscode.l10n;
  const heading = t("Export “{0}”", plainText(title).slice(0, 60));
  const how = await askHow(heading);
  if (how === undefined) return;
  const ending = ENDINGS[how.format];
  let folder = lastFolder ?? vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? homedir();
  for (;;) {
    const target = await askWhere(heading, how.format, await freePath(folder, exportName(title), ending));
    if (target === undefined) return;
    const path = target.fsPath;
    folder = dirname(path);
    try {
      const { masked } = await write(daemon, { session, ...how, path });
      lastFolder = folder;
      void shown(path, how, masked).catch((error: unknown) => showError(error));
      return;
    } catch (error) {
      if (factsOf(error)["errno"] !== "EEXIST") throw error;
    }
    const another = t("Another Name…");
    const chosen = await vscode.window.showWarningMessage(
      t("“{0}” is there already. Branchline replaces no file: choose another name, or delete it first.", basename(path)),
      { modal: true },
      another,
    );
    if (chosen !== another) return;
  }
}

function write(
  daemon: Daemon,
  params: Params<"session/export">,
): Thenable<Result<"session/export">> {
  const options = {
    location: vscode.ProgressLocation.Notification,
    title: vscode.l10n.t("Exporting…"),
    cancellable: true,
  };
  return vscode.window.withProgress(options, (_progress, token) =>
    daemon.request("session/export", params, token),
  );
}

/** Say what was written, and open or show it if the person wants to. */
async function shown(path: string, { format, mask }: How, masked: Masked): Promise<void> {
  const { t } = vscode.l10n;
  const said = [t("“{0}” was written.", basename(path)), ...(mask ? [maskedText(masked)] : [])].join(" ");
  const [open, reveal] = [t("Open"), t("Reveal")];
  const chosen = await vscode.window.showInformationMessage(said, open, reveal);
  if (chosen === reveal) await revealFile(path);
  if (chosen !== open) return;
  const uri = vscode.Uri.file(path);
  if (format === "html" && isHere()) await vscode.env.openExternal(uri);
  else await vscode.commands.executeCommand("vscode.open", uri);
}
