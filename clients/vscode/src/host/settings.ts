/** What the daemon is told of the editor's settings: only what a person set, in the daemon's own shape. */

import * as vscode from "vscode";

/** Settings under `branchline` that are the extension's own and not the daemon's. */
export const OWN_SETTINGS: readonly string[] = ["command", "summarizer.editorModel"];

const PROJECT_INSTRUCTIONS = ["prompt", "projectInstructions"];

interface Contribution {
  contributes: { configuration: { properties: Record<string, { scope?: string }> } };
}

/** The daemon's settings as they were set: what nobody set is left to the daemon and its own file. */
export function daemonSettings(packageJson: unknown): Record<string, unknown> {
  const { properties } = (packageJson as Contribution).contributes.configuration;
  const settings: Record<string, unknown> = {};
  const configuration = vscode.workspace.getConfiguration("branchline");
  for (const [name, { scope }] of Object.entries(properties)) {
    const key = name.slice("branchline.".length);
    if (OWN_SETTINGS.includes(key)) continue;
    const set = configuration.inspect<unknown>(key);
    // A machine setting in a workspace's file is not the person's: VS Code leaves it out, and so do we.
    const value =
      scope === "machine"
        ? set?.globalValue
        : (set?.workspaceFolderValue ?? set?.workspaceValue ?? set?.globalValue);
    if (value !== undefined) put(settings, key.split("."), value);
  }
  // What a folder that is not trusted would have a model do is not sent to one.
  if (!vscode.workspace.isTrusted) put(settings, PROJECT_INSTRUCTIONS, false);
  return settings;
}

function put(settings: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let at = settings;
  for (const name of path.slice(0, -1)) {
    const next = at[name];
    const inner = typeof next === "object" && next !== null ? (next as Record<string, unknown>) : {};
    at[name] = inner;
    at = inner;
  }
  const last = path.at(-1);
  if (last !== undefined) at[last] = value;
}
