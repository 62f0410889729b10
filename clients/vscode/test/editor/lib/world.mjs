// A world of its own for one run: a home folder, Pi's sessions, a project, the daemon's program.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export const EXTENSION = resolve(import.meta.dirname, "../../..");
export const REPOSITORY = resolve(EXTENSION, "../..");
export const PROGRAM = process.env.BRANCHLINE_COMMAND ?? join(REPOSITORY, ".venv/bin/branchline");

/** Sockets live below it: the path has to be short. */
export function makeWorld() {
  const root = mkdtempSync(join(tmpdir(), "bl-"));
  const path = (...parts) => join(root, ...parts);
  for (const folder of ["home", "run", "agent/sessions/--project--", "project"]) {
    mkdirSync(path(folder), { recursive: true, mode: 0o700 });
  }
  const env = {
    ...process.env,
    HOME: path("home"),
    TMPDIR: root,
    XDG_RUNTIME_DIR: path("run"),
    XDG_CONFIG_HOME: path("home/.config"),
    XDG_DATA_HOME: path("home/.local/share"),
    XDG_STATE_HOME: path("home/.local/state"),
    PI_CODING_AGENT_DIR: path("agent"),
    BRANCHLINE_IDLE_SECONDS: "5",
    EXTENSIONS_GALLERY: '{"serviceUrl":""}',
  };
  for (const name of ["NODE_OPTIONS", "VSCODE_IPC_HOOK_CLI", "PI_CODING_AGENT_SESSION_DIR"]) delete env[name];
  return {
    root,
    path,
    env,
    project: path("project"),
    /** Put a session into the project: its lines, or a copy of a file with the project as its folder. */
    session(name, lines) {
      const file = path("agent/sessions/--project--", `${name}.jsonl`);
      writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""), { mode: 0o600 });
      return file;
    },
    demo(name = "demo") {
      const lines = entries(join(REPOSITORY, "server/branchline/demo/session.jsonl"));
      lines[0].cwd = path("project");
      return this.session(name, lines);
    },
    branchline(...args) {
      return execFileSync(PROGRAM, args, { env, encoding: "utf8", cwd: path("project") });
    },
    dispose() {
      try {
        execFileSync(PROGRAM, ["stop"], { env, stdio: "ignore" });
      } catch {
        // It has left already.
      }
      if (process.env.KEEP === undefined) rmSync(root, { recursive: true, force: true });
    },
    copy(from, name) {
      const file = path("agent/sessions/--project--", `${name}.jsonl`);
      cpSync(from, file);
      return file;
    },
  };
}

/** The records of a session file. */
export function entries(file) {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
