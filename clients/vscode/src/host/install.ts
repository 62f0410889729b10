/** Installs the daemon that comes with the extension into an environment of its own. */

import { execFile } from "node:child_process";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";
import { onPath } from "./command";

const PYTHONS = ["python3", "python3.14", "python3.13", "python3.12", "python3.11"];
const NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 11))";

function run(
  command: string,
  args: readonly string[],
  token: vscode.CancellationToken,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      command,
      args,
      { maxBuffer: 16 << 20 },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(stderr.trim().split("\n").at(-1) ?? error.message));
      },
    );
    token.onCancellationRequested(() => child.kill());
  });
}

/** The first Python that is new enough, or null. */
async function findPython(token: vscode.CancellationToken): Promise<string | null> {
  for (const name of PYTHONS) {
    const python = await onPath(name, process.env["PATH"] ?? "");
    if (python === null) continue;
    const fits = await run(python, ["-c", NEW_ENOUGH], token).then(
      () => true,
      () => false,
    );
    if (fits) return python;
  }
  return null;
}

/** The wheel of the daemon that the extension brings along. */
async function findWheel(extensionPath: string): Promise<string> {
  const folder = join(extensionPath, "dist");
  const wheel = (await readdir(folder)).find((name) => name.endsWith(".whl"));
  if (wheel === undefined) throw new Error(vscode.l10n.t("This extension was built without the daemon."));
  return join(folder, wheel);
}

/**
 * Make the environment and install the daemon's wheel, with progress.
 *
 * @returns whether it is there now. What went wrong has been shown.
 */
export async function install(
  extensionPath: string,
  privateFolder: string,
  log: vscode.LogOutputChannel,
): Promise<boolean> {
  const { t } = vscode.l10n;
  const progress = {
    location: vscode.ProgressLocation.Notification,
    title: t("Installing Branchline"),
    cancellable: true,
  };
  return vscode.window.withProgress(progress, async (report, token) => {
    try {
      const wheel = await findWheel(extensionPath);
      const python = await findPython(token);
      if (python === null) throw new Error(t("Python 3.11 or newer is needed, and none was found on PATH."));
      report.report({ message: t("making an environment") });
      await rm(privateFolder, { recursive: true, force: true });
      await mkdir(privateFolder, { recursive: true });
      await run(python, ["-m", "venv", privateFolder], token);
      report.report({ message: t("installing with pip") });
      const own = join(privateFolder, "bin", "python");
      log.info(await run(own, ["-m", "pip", "install", "--no-input", wheel], token));
      return true;
    } catch (error) {
      await rm(privateFolder, { recursive: true, force: true });
      if (token.isCancellationRequested) return false;
      const reason = error instanceof Error ? error.message : String(error);
      log.error(`installing failed: ${reason}`);
      const show = t("Show Log");
      const chosen = await vscode.window.showErrorMessage(
        t("Branchline could not be installed: {0}", reason),
        show,
      );
      if (chosen === show) log.show();
      return false;
    }
  });
}
