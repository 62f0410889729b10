/** Summaries on their way: each is written into a draft, which a person edits before it is stored. */

import * as vscode from "vscode";
import type { EntryId } from "../shared/protocol";
import type { Consent } from "./consent";
import type { Conversation, Conversations } from "./conversation";
import type { Daemon } from "./daemon";
import type { Draft, DraftButtons, Drafts } from "./drafts";
import { kindOf, showError, type Step } from "./errors";
import type { OwnModel } from "./ownModel";

/** Ask what a summary should be about; undefined if the person thought better of it. */
export function askFocus(value = ""): Thenable<string | undefined> {
  const { t } = vscode.l10n;
  return vscode.window.showInputBox({
    title: t("What should the summary be about?"),
    placeHolder: t("for example: why the bindings failed"),
    value,
  });
}

export class Summaries {
  constructor(
    private readonly daemon: Daemon,
    private readonly conversations: Conversations,
    private readonly drafts: Drafts,
    private readonly buttons: DraftButtons,
    private readonly consent: Consent,
    private readonly ownModel: OwnModel,
  ) {}

  /** Write what leaving for an entry would leave behind. */
  async ofBranch(conversation: Conversation, targetId: EntryId | null, focus: string): Promise<void> {
    const { path: session, leafId } = conversation;
    await this.begin(conversation, { kind: "switch", session, leafId, targetId, focus }, focus);
  }

  /** Write what a compaction would cover. */
  async ofPast(conversation: Conversation, focus: string): Promise<void> {
    const { path: session, leafId } = conversation;
    await this.begin(conversation, { kind: "compaction", session, leafId, focus }, focus);
  }

  private async begin(
    conversation: Conversation,
    draft: Draft,
    focus: string,
  ): Promise<void> {
    const document = await this.drafts.create(draft, conversation.title, "");
    // Marked before it is shown, so that nothing can be stored of it yet.
    this.buttons.writing(document.uri, true);
    await this.drafts.show(document);
    await this.write(conversation, document, focus);
  }

  /** Have a draft's summary written into its document, as it comes. */
  private async write(
    conversation: Conversation,
    document: vscode.TextDocument,
    focus: string,
    summarizer?: "offline",
  ): Promise<void> {
    const draft = await this.drafts.of(document.uri);
    if (draft === null || draft.kind === "message") return;
    if (summarizer !== "offline" && !(await this.consent.forSummary(draft.session))) {
      this.buttons.writing(document.uri, false);
      await this.drafts.close(document.uri);
      return;
    }
    this.buttons.writing(document.uri, true);
    let edits = this.drafts.setText(document, "");
    const listening = conversation.onNews((news) => {
      if (news.type !== "summary" || news.part === "turnPrefix") return;
      edits = edits.then(() => this.drafts.append(document, news.delta));
    });
    const chosen = summarizer === undefined ? {} : { summarizer };
    const instructions = focus === "" ? {} : { instructions: focus };
    const common = { session: draft.session, expectedLeafId: draft.leafId, preview: true };
    try {
      const written: Promise<{ summary: string | null; draftId: string | null }> =
        draft.kind === "switch"
          ? this.daemon.request("session/switchLeaf", {
              ...common,
              targetId: draft.targetId,
              summary: { mode: "write", ...chosen, ...instructions },
            })
          : this.daemon.request("session/compact", { ...common, ...chosen, ...instructions });
      const { summary, draftId } = await this.ownModel.during(written);
      listening.dispose();
      await edits;
      await this.drafts.setText(document, summary ?? "");
      await this.drafts.update(document.uri, { draftId, focus });
      await document.save();
      this.buttons.writing(document.uri, false);
    } catch (error) {
      listening.dispose();
      await edits;
      this.buttons.writing(document.uri, false);
      const kind = kindOf(error);
      if (kind !== "summaryFailed") {
        await this.drafts.close(document.uri);
        throw error;
      }
      await this.drafts.setText(document, "");
      const { t } = vscode.l10n;
      const steps: Step[] = [
        {
          title: t("Write It Offline"),
          run: () => this.write(conversation, document, focus, "offline"),
        },
        { title: t("Try Again"), run: () => this.write(conversation, document, focus) },
      ];
      await showError(error, steps);
    }
  }

  /** Write a draft's summary anew, about what the person says now. */
  async rewrite(document: vscode.TextDocument): Promise<void> {
    const draft = await this.drafts.of(document.uri);
    if (draft === null || this.buttons.isBeingWritten(document.uri)) return;
    const focus = await askFocus(draft.focus ?? "");
    if (focus === undefined) return;
    await this.conversations.with(draft.session, (conversation) =>
      this.write(conversation, document, focus),
    );
  }
}
