/** What a plan of the daemon's says, for a person: what a move or a compaction costs, and who writes. */

import * as vscode from "vscode";
import { plainText, shortCount } from "../shared/format";
import type { CompactPlan, SwitchPlan, Writer } from "../shared/protocol";

const MOST_FILES = 6;

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

/** What a compaction covers and keeps. */
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

/** Who would write a plan's summary, and how much would be sent for it. */
export function writerFacts({
  summarizer,
  promptTokens,
}: Pick<SwitchPlan, "summarizer" | "promptTokens">): string {
  const writer = writerName(summarizer);
  if (promptTokens === null) return writer;
  return vscode.l10n.t("{0}; about {1} tokens are sent", writer, shortCount(promptTokens));
}

/** The files that a plan is about, changed ones first. */
export function filesOf({
  modifiedFiles,
  readFiles,
}: Pick<SwitchPlan, "modifiedFiles" | "readFiles">): string {
  const files = [...modifiedFiles, ...readFiles].map(plainText);
  return [...files.slice(0, MOST_FILES), ...(files.length > MOST_FILES ? ["…"] : [])].join(", ");
}
