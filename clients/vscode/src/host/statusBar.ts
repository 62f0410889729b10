/** The status bar: which conversation, how full the model's window is, and the way back. */

import * as vscode from "vscode";
import { crop, plainText, shortCount } from "../shared/format";
import type { Conversations } from "./conversation";

export class StatusBar implements vscode.Disposable {
  private readonly session = vscode.window.createStatusBarItem(
    "branchline.session",
    vscode.StatusBarAlignment.Left,
    10,
  );
  private readonly undo = vscode.window.createStatusBarItem(
    "branchline.undo",
    vscode.StatusBarAlignment.Left,
    9,
  );
  private readonly listening: vscode.Disposable;

  constructor(private readonly conversations: Conversations) {
    const { t } = vscode.l10n;
    this.session.name = t("Branchline: conversation");
    this.session.command = "branchline.switchBranch";
    this.undo.name = t("Branchline: undo");
    this.undo.command = "branchline.undo";
    this.undo.text = `$(discard) ${t("Undo Move")}`;
    this.listening = conversations.onActive(() => this.draw());
    this.draw();
  }

  private draw(): void {
    const { t } = vscode.l10n;
    const conversation = this.conversations.active;
    const set = (key: string, value: boolean): void => {
      void vscode.commands.executeCommand("setContext", `branchline.${key}`, value);
    };
    set("hasConversation", conversation !== null);
    set("canUndo", conversation?.canUndo === true);
    set("busy", conversation !== null && conversation.job !== null);
    if (conversation === null) {
      this.session.hide();
      this.undo.hide();
      return;
    }
    const { tokens, contextWindow, due } = conversation.usage;
    // A `$(…)` in a name would be drawn as an icon.
    const name = crop(plainText(conversation.title), 30).replaceAll("$(", "$ (");
    const icon = conversation.job === null ? "git-branch" : "sync~spin";
    this.session.text = `$(${icon}) ${name} ${shortCount(tokens)}/${shortCount(contextWindow)}`;
    this.session.tooltip = due
      ? t("The conversation is nearly too long for the model: compact it. Click to switch branch.")
      : t("{0} of {1} tokens. Click to switch branch.", tokens, contextWindow);
    this.session.backgroundColor = due
      ? new vscode.ThemeColor("statusBarItem.warningBackground")
      : undefined;
    this.session.show();
    if (conversation.canUndo) this.undo.show();
    else this.undo.hide();
  }

  dispose(): void {
    this.session.dispose();
    this.undo.dispose();
    this.listening.dispose();
  }
}
