/** Going on with a session in Pi, in a terminal. */

import { existsSync } from "node:fs";
import * as vscode from "vscode";
import { onPath } from "./command";
import { showInsecure } from "./trust";

/** A text that Pi reads as a message: an argument that begins with one of these would be something else. */
export function piArgument(text: string): string {
  return /^[-@/!]/.test(text) ? ` ${text}` : text;
}

/** Pi's program, or null; why there is none, or why it may not run here, has been said. */
export async function findPi(): Promise<string | null> {
  const { t } = vscode.l10n;
  if (!vscode.workspace.isTrusted) {
    await showInsecure(t("Pi runs commands in this folder. It is started once you trust the workspace."));
    return null;
  }
  const pi = await onPath("pi", process.env["PATH"] ?? "");
  if (pi === null) {
    void vscode.window.showErrorMessage(t("The program “pi” was not found on PATH."));
  }
  return pi;
}

/** Start Pi on a session, in the session's folder where that is there; a text is its first message. */
export function startPi(pi: string, session: string, cwd: string | null, text?: string): void {
  const terminal = vscode.window.createTerminal({
    name: "Pi",
    iconPath: new vscode.ThemeIcon("comment-discussion"),
    shellPath: pi,
    shellArgs: ["--session", session, ...(text === undefined ? [] : [piArgument(text)])],
    ...(cwd !== null && existsSync(cwd) && { cwd }),
  });
  terminal.show();
}
