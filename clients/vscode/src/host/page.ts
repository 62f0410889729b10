/** A conversation panel as the host sees it: what its page is told, and what is selected there. */

import type * as vscode from "vscode";
import type { TailAnswer, ToPage } from "../shared/messages";
import type { EntryId } from "../shared/protocol";
import type { Conversation } from "./conversation";

/** What a page is still told when it comes later. */
const WAITING: readonly ToPage["type"][] = ["show", "reveal", "bracket"];

/** What is selected in a panel. */
export interface Selection {
  id: EntryId | null;
  role: string | null;
  label: string | null;
}

export class Panel {
  selection: Selection = { id: null, role: null, label: null };
  conversation: Conversation | null = null;
  /** While the session is being read: its first rows, and its conversation, or null if there will be none. */
  reading: { tail: TailAnswer; opened: Promise<Conversation | null> } | null = null;
  private ready = false;
  private waiting: ToPage[] = [];
  private asks = 0;
  private readonly asking = new Map<number, () => void>();

  constructor(
    readonly webviewPanel: vscode.WebviewPanel,
    /** Of the session's file. */
    readonly path: string,
  ) {}

  post(message: ToPage): void {
    if (this.ready) void this.webviewPanel.webview.postMessage(message);
    else if (WAITING.includes(message.type)) this.waiting.push(message);
  }

  /** What is selected once all keys so far have done their work: they go to the page and back. */
  async selectionNow(): Promise<Selection> {
    if (!this.ready || !this.webviewPanel.visible) return this.selection;
    const ask = ++this.asks;
    await new Promise<void>((answered) => {
      this.asking.set(ask, answered);
      this.post({ type: "which", ask });
    });
    return this.selection;
  }

  selected(selection: Selection, ask: number | null): void {
    this.selection = selection;
    if (ask !== null) this.answered(ask);
  }

  private answered(ask: number): void {
    this.asking.get(ask)?.();
    this.asking.delete(ask);
  }

  /** The page is gone: nobody waits for its answers any more. */
  end(): void {
    this.ready = false;
    for (const ask of [...this.asking.keys()]) this.answered(ask);
  }

  /** The page is there: it is told of the session, then what had to wait. */
  begin(opened: ToPage): void {
    this.ready = true;
    for (const message of [opened, ...this.waiting]) this.post(message);
    this.waiting = [];
  }
}
