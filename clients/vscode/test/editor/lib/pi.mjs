// The real Pi, as the interop tests install it from npm: its program on PATH, and its session code.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NODE } from "./editor.mjs";
import { REPOSITORY } from "./world.mjs";

const PACKAGE = join(REPOSITORY, ".cache/pi/node_modules/pi-1.6.0");

/** Why the real Pi cannot be run here, or null. */
export const missingPi = () =>
  existsSync(join(PACKAGE, "package.json")) ? null : "the real Pi (make interop-deps)";

/** Put `pi` on the world's PATH: the real one, its model the scripted server; what it was called with is kept. */
export function installPi(world, model) {
  const bin = world.path("bin");
  const calls = world.path("pi-calls");
  mkdirSync(bin, { recursive: true });
  writeFileSync(calls, "");
  writeFileSync(
    world.path("agent/models.json"),
    JSON.stringify({
      providers: {
        scripted: { baseUrl: model.baseUrl, api: "openai-completions", apiKey: "none", models: [{ id: "scripted" }] },
      },
    }),
  );
  const cli = join(PACKAGE, "dist/bundle/cli.js");
  writeFileSync(
    join(bin, "pi"),
    `#!/bin/sh
{ printf '%s\\037' "$PWD" "$@"; echo; } >>'${calls}'
exec '${NODE}' '${cli}' --offline --no-mcp --no-extensions --no-skills --no-tools --tui-mode regular \\
  --provider scripted --model scripted "$@"
`,
    { mode: 0o755 },
  );
  // VS Code takes the environment of extensions and terminals from the login shell.
  writeFileSync(world.path("home/.profile"), `export PATH='${bin}':"$PATH"\n`);
  return {
    /** The folder and the arguments of each start. */
    calls: () =>
      readFileSync(calls, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => line.split("\u001f").slice(0, -1))
        .map(([cwd, ...args]) => ({ cwd, args })),
  };
}

/** Have Pi's own code append a message to a session file, at its leaf or after another entry. */
export function appendAsPi(file, text, after) {
  const script = `
    import { SessionManager } from ${JSON.stringify(join(PACKAGE, "dist/core/session-manager.js"))};
    const [file, text, after] = process.argv.slice(1);
    const session = SessionManager.open(file);
    if (after !== undefined) session.branch(after);
    console.log(session.appendMessage({ role: "user", content: text, timestamp: Date.now() }));
  `;
  const args = ["--input-type=module", "-e", script, file, text, ...(after === undefined ? [] : [after])];
  return execFileSync(NODE, args, { encoding: "utf8" }).trim();
}
