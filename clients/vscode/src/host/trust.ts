/** What is held back while the workspace is not trusted. */

import * as vscode from "vscode";

/** Say that something waits for trust, and lead to where it is given. */
export async function showInsecure(text: string): Promise<void> {
  const manage = vscode.l10n.t("Manage Trust");
  const chosen = await vscode.window.showWarningMessage(text, manage);
  if (chosen === manage) await vscode.commands.executeCommand("workbench.trust.manage");
}
