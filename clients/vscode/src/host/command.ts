/**
 * Which program is the daemon: the person's own setting, else the one on PATH, else the private one.
 *
 * The setting has scope `machine`: a repository cannot set it. Nothing is looked up in the workspace.
 */

import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";

export const PROGRAM = "branchline";

export interface Found {
  command: string;
  source: "setting" | "path" | "private";
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** The first of a name in the absolute folders of PATH; a relative one would depend on the workspace. */
export async function onPath(name: string, path: string): Promise<string | null> {
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const candidate = join(folder, name);
    if (await isProgram(candidate)) return candidate;
  }
  return null;
}

/**
 * @param setting the setting `branchline.command`: an absolute path, a name to look up on PATH, or "".
 * @param privateFolder where the extension's own environment is, if one was made.
 */
export async function findCommand(
  setting: string,
  privateFolder: string,
  path: string = process.env["PATH"] ?? "",
): Promise<Found | null> {
  const wanted = setting.trim();
  if (wanted !== "") {
    const command = isAbsolute(wanted)
      ? (await isProgram(wanted))
        ? wanted
        : null
      : /[\\/]/.test(wanted)
        ? null
        : await onPath(wanted, path);
    return command === null ? null : { command, source: "setting" };
  }
  const command = await onPath(PROGRAM, path);
  if (command !== null) return { command, source: "path" };
  const own = join(privateFolder, "bin", PROGRAM);
  return (await isProgram(own)) ? { command: own, source: "private" } : null;
}
