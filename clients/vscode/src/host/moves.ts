/**
 * Moving the leaf: what leaving would leave behind, one question, the move, and the way back.
 *
 * Plans come from the daemon; nothing is stored before the person has said so.
 */

import * as vscode from "vscode";
import { plainText } from "../shared/format";
import type { EditorContent, EntryId } from "../shared/protocol";
import type { Conversation, Conversations } from "./conversation";
import type { Daemon } from "./daemon";
import type { DraftButtons, Drafts, SummaryDraft } from "./drafts";
import type { Panels } from "./panel";
import { compactionTitle, filesOf, leavingTitle, writerFacts } from "./plans";
import { askFocus, type Summaries } from "./summaries";

const TEN_MINUTES = 600_000;

type Choice = vscode.QuickPickItem & { choice: "go" | "summary" | "focus" | "show" | "write" };

export class Moves {
  private asking = false;

  constructor(
    private readonly daemon: Daemon,
    private readonly conversations: Conversations,
    private readonly panels: Panels,
    private readonly drafts: Drafts,
    private readonly buttons: DraftButtons,
    private readonly summaries: Summaries,
  ) {}

  /** Go to an entry: at once where nothing is left behind, else after one question. */
  async switchTo(conversation: Conversation, targetId: EntryId | null): Promise<void> {
    const session = conversation.path;
    const expectedLeafId = conversation.leafId;
    const { plan } = await this.daemon.request("session/switchLeaf", {
      session,
      targetId,
      expectedLeafId,
      dryRun: true,
    });
    const skip = (conversation.settings["branchSummary"] as { skipPrompt?: boolean } | undefined)
      ?.skipPrompt;
    if (plan.messageCount === 0 || skip === true) {
      await this.go(conversation, targetId, expectedLeafId);
      return;
    }
    const { t } = vscode.l10n;
    const name = await this.branchName(conversation);
    const items: Choice[] = [
      { choice: "go", label: `$(arrow-right) ${t("Just go")}`, detail: t("What is left stays in the tree.") },
      ...(plan.summarized.length === 0
        ? []
        : [
            {
              choice: "summary" as const,
              label: `$(git-pull-request-go-to-changes) ${t("Take a summary along")}`,
              detail: writerFacts(plan),
            },
            {
              choice: "focus" as const,
              label: `$(target) ${t("Take a summary with a focus…")}`,
              detail: t("Say what it should be about."),
            },
          ]),
      {
        choice: "show",
        label: `$(eye) ${t("Show what is left")}`,
        detail: filesOf(plan),
      },
    ];
    const chosen = await this.ask(conversation, leavingTitle(name, plan), items, plan.leaving);
    if (chosen === "go") await this.go(conversation, targetId, expectedLeafId);
    else if (chosen === "summary") await this.summaries.ofBranch(conversation, targetId, "");
    else if (chosen === "focus") {
      const focus = await askFocus();
      if (focus !== undefined) await this.summaries.ofBranch(conversation, targetId, focus);
    }
  }

  /** One question, while what it is about stands in brackets in the panel. "Show" leaves it open. */
  private async ask(
    conversation: Conversation,
    title: string,
    items: Choice[],
    ids: readonly EntryId[],
  ): Promise<Choice["choice"] | undefined> {
    // A key that was pressed twice asks once.
    if (this.asking) return undefined;
    this.asking = true;
    const pick = vscode.window.createQuickPick<Choice>();
    pick.title = title;
    pick.items = items;
    this.panels.postTo(conversation, { type: "bracket", ids: [...ids], title });
    try {
      return await new Promise((resolve) => {
        pick.onDidAccept(() => {
          const [item] = pick.selectedItems;
          if (item?.choice !== "show") {
            resolve(item?.choice);
            return;
          }
          pick.ignoreFocusOut = true;
          const [first] = ids;
          if (first !== undefined) this.panels.postTo(conversation, { type: "show", id: first });
          pick.activeItems = items.slice(0, 1);
        });
        pick.onDidHide(() => resolve(undefined));
        pick.show();
      });
    } finally {
      this.asking = false;
      pick.dispose();
      this.panels.postTo(conversation, { type: "bracket", ids: [], title: "" });
    }
  }

  private async branchName(conversation: Conversation): Promise<string> {
    const { branches } = await this.daemon.request("session/branches", {
      session: conversation.path,
    });
    const name = plainText(branches.find((branch) => branch.active)?.name ?? "");
    return name === "" ? vscode.l10n.t("this branch") : `“${name.slice(0, 60)}”`;
  }

  private async go(
    conversation: Conversation,
    targetId: EntryId | null,
    expectedLeafId: EntryId | null,
  ): Promise<void> {
    const result = await conversation.follow(
      this.daemon.request("session/switchLeaf", {
        session: conversation.path,
        targetId,
        expectedLeafId,
      }),
    );
    await this.arrived(conversation, result.previousLeafId !== result.leafId, result.editorContent);
  }

  /** After a move: it can be undone, and the message that was chosen opens for editing. */
  private async arrived(
    conversation: Conversation,
    moved: boolean,
    content: EditorContent | null,
  ): Promise<void> {
    if (moved) this.conversations.moved(conversation, true);
    if (content !== null) await this.openMessage(conversation, content);
    const { externalAt } = conversation;
    if (moved && externalAt !== null && Date.now() - externalAt < TEN_MINUTES) {
      void vscode.window.showInformationMessage(
        vscode.l10n.t("A Pi that has this session open sees this only after reopening it."),
      );
    }
  }

  async openMessage(conversation: Conversation, content: EditorContent): Promise<void> {
    const { path: session, leafId, title } = conversation;
    const draft = { kind: "message" as const, session, leafId, images: content.images };
    await this.drafts.open(draft, title, content.text);
  }

  /** Show what a compaction would cover, then write it as a draft. */
  async compact(conversation: Conversation): Promise<void> {
    const { path: session, leafId } = conversation;
    const { plan } = await this.daemon.request("session/compact", {
      session,
      expectedLeafId: leafId,
      dryRun: true,
    });
    const { t } = vscode.l10n;
    const items: Choice[] = [
      {
        choice: "write",
        label: `$(edit) ${t("Write it, and show it before it is stored")}`,
        detail: writerFacts(plan),
      },
      {
        choice: "focus",
        label: `$(target) ${t("With a focus…")}`,
        detail: t("Say what it should be about."),
      },
      {
        choice: "show",
        label: `$(eye) ${t("Show what is covered")}`,
        detail: filesOf(plan),
      },
    ];
    const ids = [...plan.summarized, ...plan.turnPrefix];
    const chosen = await this.ask(conversation, compactionTitle(plan), items, ids);
    if (chosen === undefined) return;
    const focus = chosen === "focus" ? await askFocus() : "";
    if (focus === undefined) return;
    await this.summaries.ofPast(conversation, focus);
  }

  /** Store a draft's summary as it stands in its document. */
  store(document: vscode.TextDocument): Promise<void> {
    return this.buttons.during(document.uri, async () => {
      const draft = await this.drafts.of(document.uri);
      if (draft === null || draft.kind === "message") return;
      const text = document.getText().trim();
      if (text === "") {
        void vscode.window.showInformationMessage(vscode.l10n.t("An empty summary is not stored."));
        return;
      }
      await this.conversations.with(draft.session, async (conversation) => {
        const content = await this.storeText(conversation, draft, text);
        await this.drafts.close(document.uri);
        await this.arrived(conversation, true, content);
      });
    });
  }

  private async storeText(
    conversation: Conversation,
    draft: SummaryDraft,
    text: string,
  ): Promise<EditorContent | null> {
    const { session, draftId } = draft;
    const known = typeof draftId === "string" ? { draftId } : {};
    if (draft.kind === "compaction") {
      await this.daemon.request("session/compact", { session, summary: text, ...known });
      return null;
    }
    const { editorContent } = await conversation.follow(
      this.daemon.request("session/switchLeaf", {
        session,
        targetId: draft.targetId,
        expectedLeafId: draft.leafId,
        summary: { mode: "text", text, ...known },
      }),
    );
    return editorContent;
  }

  // --- the way back, and other programs ------------------------------------------------------------

  async undo(conversation: Conversation): Promise<void> {
    await conversation.follow(
      this.daemon.request("session/undo", {
        session: conversation.path,
        expectedLeafId: conversation.leafId,
      }),
    );
    this.conversations.moved(conversation, false);
    const { t } = vscode.l10n;
    const again = t("Redo");
    const chosen = await vscode.window.showInformationMessage(t("The last move was undone."), again);
    if (chosen === again) {
      await this.daemon.request("session/undo", { session: conversation.path });
      this.conversations.moved(conversation, true);
    }
  }

  /**
   * Go where another program went on.
   *
   * By the file the conversation was there already, so there is no move that could be undone: the way
   * back is offered here.
   */
  async follow(conversation: Conversation): Promise<void> {
    const { elsewhere, leafId } = conversation;
    this.stay(conversation);
    if (elsewhere === null) return;
    await this.goTo(conversation, elsewhere);
    const { t } = vscode.l10n;
    const back = t("Go Back");
    const text = t("You are where the other program went on.");
    const chosen = await vscode.window.showInformationMessage(text, back);
    if (chosen === back) await this.goTo(conversation, leafId);
  }

  /** Move to an entry itself, whatever it is. */
  private async goTo(conversation: Conversation, targetId: EntryId | null): Promise<void> {
    const { path: session, leafId } = conversation;
    await conversation.follow(
      this.daemon.request("session/switchLeaf", {
        session,
        targetId,
        position: "at",
        expectedLeafId: leafId,
      }),
    );
  }

  stay(conversation: Conversation): void {
    conversation.elsewhere = null;
    conversation.take({ type: "notice" });
  }
}
