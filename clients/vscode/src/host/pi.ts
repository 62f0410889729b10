/** Going on with a session in Pi, in a terminal. */

import { existsSync } from "node:fs";
import * as vscode from "vscode";
import { onPath } from "./command";
import type { Conversation } from "./conversation";
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
export function startPi(pi: string, session: string, cwd: string | null, text?: string): vscode.Terminal {
  const terminal = vscode.window.createTerminal({
    name: "Pi",
    iconPath: new vscode.ThemeIcon("comment-discussion"),
    shellPath: pi,
    shellArgs: ["--session", session, ...(text === undefined ? [] : [piArgument(text)])],
    ...(cwd !== null && existsSync(cwd) && { cwd }),
  });
  terminal.show();
  return terminal;
}

/** Have the panels go to what is said first in a terminal: it takes room, so that the leaf may be off screen. */
export function showFirst(conversation: Conversation, terminal: vscode.Terminal): void {
  const first = new Promise<void>((done) => {
    const subscriptions = [
      conversation.onNews(({ type }) => {
        if (type === "changed") end();
      }),
      vscode.window.onDidCloseTerminal((closed) => {
        if (closed === terminal) end();
      }),
    ];
    const end = (): void => {
      for (const subscription of subscriptions) subscription.dispose();
      done();
    };
  });
  void conversation.follow(first);
}
