/** The texts of the panel's page and the list of its keys, in the person's language. */

import * as vscode from "vscode";
import type { KeyHelp, Words } from "../shared/messages";

export function words(): Words {
  const { t } = vscode.l10n;
  return {
    search: t("Search"),
    searchResult: t("{0} found", "{0}"),
    rows: t("{0} rows", "{0}"),
    filter: t("What is shown"),
    filters: {
      default: t("Conversation"),
      noTools: t("Without tools"),
      userOnly: t("Your messages"),
      labeledOnly: t("Labelled"),
      all: t("Everything"),
    },
    here: t("here"),
    hereAbove: t("↑ Here"),
    hereBelow: t("↓ Here"),
    branches: t("{0} branches", "{0}"),
    messages: t("{0} messages", "{0}"),
    message: t("1 message"),
    keys: t("Keys"),
    tree: t("Conversation tree"),
    covered: t("compacted away"),
    omitted: t("left out"),
    replaced: t("replaced"),
    failed: t("failed"),
    label: t("label"),
    user: t("You"),
    assistant: t("Model"),
    tool: t("Tool"),
    empty: t("Nothing has been said yet."),
    nothingFound: t("Nothing fits. Another filter or fewer words show more."),
    writing: {
      compaction: t("A compaction is being written…"),
      branch: t("A summary of the branch is being written…"),
      prompt: t("The model is answering…"),
    },
    cancel: t("Cancel"),
    close: t("Close"),
    readOnly: t("This session is read-only here."),
    reading: t("Reading the rest…"),
    tokensOf: t("{0} of {1} tokens", "{0}", "{1}"),
    tokens: t("{0} tokens", "{0}"),
    written: t("Nothing is being written any more."),
  };
}

interface PackageJson {
  contributes: {
    keybindings: { command: string; key: string; when?: string }[];
    commands: { command: string; title: string }[];
  };
}

/** The panel's keys as they are set out of the box, one line for each command. */
export function keyHelp(packageJson: unknown): KeyHelp[] {
  const { keybindings, commands } = (packageJson as PackageJson).contributes;
  const titles = new Map(commands.map(({ command, title }) => [command, title]));
  const keys = new Map<string, string[]>();
  for (const { command, key, when } of keybindings) {
    if (when?.includes("branchline.panelFocus") !== true) continue;
    keys.set(command, [...(keys.get(command) ?? []), key]);
  }
  return [...keys].map(([command, all]) => ({
    keys: all,
    title: titles.get(command) ?? command,
  }));
}
