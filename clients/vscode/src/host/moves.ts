/**
 * Moving the leaf: what leaving would leave behind, one question, the move, and the way back.
 *
 * Plans come from the daemon; nothing is stored before the person has said so.
 */

import * as vscode from "vscode";
import { plainText, shortCount } from "../shared/format";
import type { CompactPlan, EditorContent, EntryId, SwitchPlan, Writer } from "../shared/protocol";
import type { Consent } from "./consent";
import type { Conversation, Conversations } from "./conversation";
import type { Daemon } from "./daemon";
import { kindOf, showError, type Step } from "./errors";
import type { Drafts, DraftButtons } from "./drafts";
import type { Panels } from "./panel";

const TEN_MINUTES = 600_000;

/** Who would write a summary, for a person. */
export function writerName(writer: Writer | null): string {
  const { t } = vscode.l10n;
  if (writer === null) return t("nobody can write it");
  if (writer.kind === "offline") return t("by rules, offline");
  if (writer.kind === "client") return t("by this editor's model");
  return writer.host === null
    ? t("by {0}", writer.model ?? writer.kind)
    : t("by {0} at {1}", writer.model ?? writer.kind, writer.host);
}

/** What a move would cost: messages, tokens, files. */
export function leavingTitle(name: string, plan: SwitchPlan): string {
  const { t } = vscode.l10n;
  const files = plan.modifiedFiles.length;
  const cost = [
    plan.messageCount === 1 ? t("1 message") : t("{0} messages", plan.messageCount),
    t("{0} tokens", shortCount(plan.tokens)),
    ...(files === 0 ? [] : [files === 1 ? t("1 file changed") : t("{0} files changed", files)]),
  ];
  return t("Leave {0}: {1}", name, cost.join(", "));
}

type Choice = vscode.QuickPickItem & { choice: "go" | "summary" | "focus" | "show" | "write" };

export class Moves {
  private asking = false;

  constructor(
    private readonly daemon: Daemon,
    private readonly conversations: Conversations,
    private readonly panels: Panels,
    private readonly drafts: Drafts,
    private readonly buttons: DraftButtons,
    private readonly consent: Consent,
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
              detail: writerName(plan.summarizer),
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
        detail: [...plan.modifiedFiles, ...plan.readFiles].map(plainText).slice(0, 6).join(", "),
      },
    ];
    const chosen = await this.ask(conversation, leavingTitle(name, plan), items, plan.leaving);
    if (chosen === "go") await this.go(conversation, targetId, expectedLeafId);
    else if (chosen === "summary") await this.draftSwitch(conversation, targetId);
    else if (chosen === "focus") {
      const focus = await this.askFocus();
      if (focus !== undefined) await this.draftSwitch(conversation, targetId, focus);
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

  private askFocus(value = ""): Thenable<string | undefined> {
    const { t } = vscode.l10n;
    return vscode.window.showInputBox({
      title: t("What should the summary be about?"),
      placeHolder: t("for example: why the bindings failed"),
      value,
    });
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
    position: "auto" | "at" = "auto",
  ): Promise<void> {
    const result = await conversation.follow(
      this.daemon.request("session/switchLeaf", {
        session: conversation.path,
        targetId,
        position,
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

  // --- summaries as drafts -------------------------------------------------------------------------

  private async draftSwitch(
    conversation: Conversation,
    targetId: EntryId | null,
    focus = "",
  ): Promise<void> {
    const { path: session, leafId, title } = conversation;
    const draft = { kind: "switch" as const, session, leafId, targetId, focus };
    await this.writeNew(conversation, await this.drafts.create(draft, title, ""), focus);
  }

  /** Show what a compaction would cover, then write it as a draft. */
  async compact(conversation: Conversation): Promise<void> {
    const { path: session, leafId, title } = conversation;
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
        detail: writerName(plan.summarizer),
      },
      {
        choice: "focus",
        label: `$(target) ${t("With a focus…")}`,
        detail: t("Say what it should be about."),
      },
      {
        choice: "show",
        label: `$(eye) ${t("Show what is covered")}`,
        detail: [...plan.modifiedFiles, ...plan.readFiles].map(plainText).slice(0, 6).join(", "),
      },
    ];
    const ids = [...plan.summarized, ...plan.turnPrefix];
    const chosen = await this.ask(conversation, compactionTitle(plan), items, ids);
    if (chosen === undefined) return;
    const focus = chosen === "focus" ? await this.askFocus() : "";
    if (focus === undefined) return;
    const draft = { kind: "compaction" as const, session, leafId, focus };
    await this.writeNew(conversation, await this.drafts.create(draft, title, ""), focus);
  }

  private async writeNew(
    conversation: Conversation,
    document: vscode.TextDocument,
    focus: string,
  ): Promise<void> {
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
      const { summary, draftId } =
        draft.kind === "switch"
          ? await this.daemon.request("session/switchLeaf", {
              ...common,
              targetId: draft.targetId,
              summary: { mode: "write", ...chosen, ...instructions },
            })
          : await this.daemon.request("session/compact", { ...common, ...chosen, ...instructions });
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

  async rewrite(document: vscode.TextDocument): Promise<void> {
    const draft = await this.drafts.of(document.uri);
    if (draft === null || this.buttons.isBeingWritten(document.uri)) return;
    const focus = await this.askFocus(draft.focus ?? "");
    if (focus === undefined) return;
    await this.with(draft.session, (conversation) => this.write(conversation, document, focus));
  }

  /** Store a draft's summary as it stands in its document. */
  async store(document: vscode.TextDocument): Promise<void> {
    const draft = await this.drafts.of(document.uri);
    if (draft === null || draft.kind === "message") return;
    if (this.buttons.isBeingWritten(document.uri)) return;
    const text = document.getText().trim();
    if (text === "") {
      void vscode.window.showInformationMessage(vscode.l10n.t("An empty summary is not stored."));
      return;
    }
    await this.with(draft.session, async (conversation) => {
      const { session } = draft;
      const draftId = draft.draftId ?? undefined;
      let content: EditorContent | null = null;
      if (draft.kind === "switch") {
        const known = draftId === undefined ? {} : { draftId };
        const result = await conversation.follow(
          this.daemon.request("session/switchLeaf", {
            session,
            targetId: draft.targetId,
            expectedLeafId: draft.leafId,
            summary: { mode: "text", text, ...known },
          }),
        );
        content = result.editorContent;
      } else {
        const known = draftId === undefined ? {} : { draftId };
        await this.daemon.request("session/compact", { session, summary: text, ...known });
      }
      await this.drafts.close(document.uri);
      await this.arrived(conversation, true, content);
    });
  }

  /** Do something with a session's conversation, looking at it meanwhile. */
  async with<T>(session: string, work: (conversation: Conversation) => Promise<T>): Promise<T> {
    const conversation = await this.conversations.look(session);
    try {
      return await work(conversation);
    } finally {
      this.conversations.leave(conversation);
    }
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

  /** Go where another program went on. */
  async follow(conversation: Conversation): Promise<void> {
    const { elsewhere } = conversation;
    conversation.elsewhere = null;
    if (elsewhere !== null) await this.go(conversation, elsewhere, conversation.leafId, "at");
    conversation.take({ type: "notice" });
  }

  stay(conversation: Conversation): void {
    conversation.elsewhere = null;
    conversation.take({ type: "notice" });
  }
}

export function compactionTitle(plan: CompactPlan): string {
  const { t } = vscode.l10n;
  const covered = plan.summarized.length + plan.turnPrefix.length;
  return t(
    "Compact {0} → about {1} tokens: {2} entries covered, {3} kept",
    shortCount(plan.tokensBefore),
    shortCount(plan.tokensAfter),
    covered,
    plan.kept.length,
  );
}
