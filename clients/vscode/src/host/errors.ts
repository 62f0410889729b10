/** Errors as a person reads them: one sentence, and the next steps as buttons. */

import * as vscode from "vscode";
import { ERROR_KINDS, type ErrorKind } from "../shared/protocol";
import { DaemonGone } from "./daemon";

export interface Step {
  title: string;
  run: () => unknown;
}

/** The kind of an error that the daemon answered, else null. */
export function kindOf(error: unknown): ErrorKind | null {
  const kind = factsOf(error)["kind"];
  return typeof kind === "string" && Object.hasOwn(ERROR_KINDS, kind) ? (kind as ErrorKind) : null;
}

/** The facts that came with an error. */
export function factsOf(error: unknown): Record<string, unknown> {
  const data = typeof error === "object" && error !== null ? (error as { data?: unknown }).data : null;
  return typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {};
}

/** A session that cannot be changed, found out before the daemon had to say so. */
export class ReadOnly extends Error {
  readonly data = { kind: "readOnly" };
}

const command = (title: string, name: string, ...args: unknown[]): Step => ({
  title,
  run: () => vscode.commands.executeCommand(name, ...args),
});

/** What to say of an error, and what can be done; null if the person asked for it themselves. */
export function explain(
  error: unknown,
): { text: string; steps: Step[]; level: "info" | "error" } | null {
  const { t } = vscode.l10n;
  const log = command(t("Show Log"), "branchline.showLog");
  const settings = command(
    t("Open Settings"),
    "workbench.action.openSettings",
    "@ext:branchline.branchline",
  );
  if (error instanceof DaemonGone) {
    const text = error.message === "" ? t("Branchline is not running.") : error.message;
    const steps = [command(t("Start Again"), "branchline.restart"), log];
    if (error.state === "missing" || error.state === "old") {
      steps.unshift(command(t("Install Branchline"), "branchline.install"));
    }
    return { text, steps, level: "error" };
  }
  const said = error instanceof Error ? error.message : String(error);
  /** What the daemon says without its own "The prompt failed": the sentence around it is ours. */
  const because = said.replace(/^The (?:prompt|summary) failed: /, "");
  switch (kindOf(error)) {
    case "cancelled":
    case "cancelledByClient":
      return null;
    case "busy":
      return {
        text: t("Something is being written in this conversation. Wait, or cancel it."),
        steps: [command(t("Cancel It"), "branchline.cancel")],
        level: "info",
      };
    case "leafChanged":
      return {
        text: t("The conversation has moved on meanwhile. Look at it, and try again."),
        steps: [],
        level: "error",
      };
    case "fileChanged":
      return {
        text: t("The session's file was replaced or taken away by another program."),
        steps: [command(t("Reload"), "branchline.reload")],
        level: "error",
      };
    case "readOnly":
      return {
        text: t("This session cannot be changed here. A fork of it can."),
        steps: [command(t("Fork"), "branchline.fork")],
        level: "error",
      };
    case "nothingToCompact":
      return { text: t("There is nothing to compact yet."), steps: [], level: "info" };
    case "nothingToUndo":
      return { text: t("There is no move to undo."), steps: [], level: "info" };
    case "summaryFailed":
      return {
        text: t("No summary was written: {0}", because),
        steps: [settings, log],
        level: "error",
      };
    case "promptFailed": {
      const steps = [settings, log];
      if (Array.isArray(factsOf(error)["largest"])) {
        steps.unshift(command(t("Compact…"), "branchline.compact"));
      }
      return { text: t("The model did not answer: {0}", because), steps, level: "error" };
    }
    default:
      return { text: said, steps: [log], level: "error" };
  }
}

/** Show an error with its next steps, and do the one that is chosen. `first` are steps of the caller's. */
export async function showError(error: unknown, first: Step[] = []): Promise<void> {
  const what = explain(error);
  if (what === null) return;
  const steps = [...first, ...what.steps];
  const titles = steps.map((step) => step.title);
  const chosen =
    what.level === "info"
      ? await vscode.window.showInformationMessage(what.text, ...titles)
      : await vscode.window.showErrorMessage(what.text, ...titles);
  await steps.find((step) => step.title === chosen)?.run();
}
