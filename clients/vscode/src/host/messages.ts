/** Sending a message draft: to the model, to Pi, or only into the file. Nothing else ever sends one. */

import * as vscode from "vscode";
import type { Consent } from "./consent";
import type { Conversation, Conversations } from "./conversation";
import type { Daemon } from "./daemon";
import type { Draft, DraftButtons, Drafts } from "./drafts";
import { factsOf, kindOf, showError } from "./errors";
import { findPi, showFirst, startPi } from "./pi";

type Message = Draft & { kind: "message" };

export class Messages {
  constructor(
    private readonly daemon: Daemon,
    private readonly drafts: Drafts,
    private readonly buttons: DraftButtons,
    private readonly conversations: Conversations,
    private readonly consent: Consent,
    private readonly reveal: (path: string) => Promise<void>,
  ) {}

  private async message(document: vscode.TextDocument): Promise<{ draft: Message; text: string } | null> {
    const draft = await this.drafts.of(document.uri);
    if (draft?.kind !== "message") return null;
    const text = document.getText().trim();
    if (text === "" && draft.images.length === 0) {
      void vscode.window.showInformationMessage(vscode.l10n.t("Write something first."));
      return null;
    }
    return { draft, text };
  }

  private content(draft: Message, text: string): string | Record<string, unknown>[] {
    if (draft.images.length === 0) return text;
    const blocks = text === "" ? [] : [{ type: "text", text }];
    return [...blocks, ...(draft.images as Record<string, unknown>[])];
  }

  /** Go back to where the draft began, if the conversation went on and the person wants that. */
  private async atItsPlace(conversation: Conversation, draft: Message): Promise<boolean> {
    if (conversation.leafId === draft.leafId) return true;
    const { t } = vscode.l10n;
    const there = t("From Where It Began");
    const here = t("From Here");
    const chosen = await vscode.window.showWarningMessage(
      t("The conversation has moved since this message was begun."),
      { modal: true },
      there,
      here,
    );
    if (chosen === there) {
      await this.daemon.request("session/switchLeaf", {
        session: draft.session,
        targetId: draft.leafId,
        position: "at",
        expectedLeafId: conversation.leafId,
      });
      return true;
    }
    return chosen === here;
  }

  /** Do something with the message of a draft in its conversation, once. */
  private send(
    document: vscode.TextDocument,
    how: (conversation: Conversation, draft: Message, text: string) => Promise<void>,
  ): Promise<void> {
    return this.buttons.during(document.uri, async () => {
      const what = await this.message(document);
      if (what === null) return;
      await this.conversations.with(what.draft.session, (conversation) =>
        how(conversation, what.draft, what.text),
      );
    });
  }

  /** Send the message and have the model answer; the panel shows the answer as it comes. */
  async ask(document: vscode.TextDocument): Promise<void> {
    await this.send(document, async (conversation, draft, text) => {
      if (!(await this.consent.forPrompt(conversation))) return;
      if (!(await this.atItsPlace(conversation, draft))) return;
      await this.reveal(draft.session);
      const listening = conversation.onNews(({ type }) => {
        if (type === "busy") this.buttons.refresh();
      });
      const answer = conversation.follow(
        this.daemon.request("session/prompt", {
          session: draft.session,
          content: this.content(draft, text),
          expectedLeafId: conversation.leafId,
        }),
      );
      try {
        const { stopReason } = await answer;
        await this.drafts.close(document.uri);
        if (stopReason === "length") {
          void vscode.window.showWarningMessage(
            vscode.l10n.t("The model ran into its limit: the answer is cut off."),
          );
        }
      } catch (error) {
        // With a user entry the message is in the file, answered or not: the draft has done its work.
        if (typeof factsOf(error)["userEntryId"] === "string") await this.drafts.close(document.uri);
        // Not waited for: the draft's buttons come back at once.
        if (kindOf(error) !== "cancelled") void showError(error);
      } finally {
        listening.dispose();
      }
    });
  }

  /** Store the message without asking anybody. */
  async store(document: vscode.TextDocument): Promise<void> {
    await this.send(document, async (conversation, draft, text) => {
      if (!(await this.atItsPlace(conversation, draft))) return;
      await this.daemon.request("session/append", {
        session: draft.session,
        expectedLeafId: conversation.leafId,
        entries: [
          { type: "message", message: { role: "user", content: this.content(draft, text) } },
        ],
      });
      await this.drafts.close(document.uri);
      await this.reveal(draft.session);
    });
  }

  /** Pi takes a text to begin with: whether it may go without its images. */
  private async asText(draft: Message, text: string): Promise<boolean> {
    if (draft.images.length === 0) return true;
    const { t } = vscode.l10n;
    if (text === "") {
      void vscode.window.showInformationMessage(t("Write something first."));
      return false;
    }
    const send = t("Send Only the Text");
    const chosen = await vscode.window.showWarningMessage(
      t("Pi takes only the text of this message, not its images."),
      { modal: true },
      send,
    );
    return chosen === send;
  }

  /** Start Pi on the session with this message. */
  async runInPi(document: vscode.TextDocument): Promise<void> {
    await this.send(document, async (conversation, draft, text) => {
      const pi = await findPi();
      if (pi === null || !(await this.asText(draft, text))) return;
      if (!(await this.atItsPlace(conversation, draft))) return;
      showFirst(conversation, startPi(pi, draft.session, conversation.info.cwd, text));
      await this.drafts.close(document.uri);
    });
  }
}
