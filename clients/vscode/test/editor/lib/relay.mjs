// Stands between the editor and the daemon's program, and writes down when each answer has passed:
// one line each, the method and the time in milliseconds. An answer to a method that a second file names waits
// until it does so no more. Arguments: the program, the first file (the second is `.held` to it), the program's own.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";

/** Put it before the daemon's program in a world: its command, when answers passed, and holding them back. */
export function makeRelay(world, program) {
  const file = world.path("answers.log");
  const command = world.path("branchline");
  writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${import.meta.filename}" "${program}" "${file}" "$@"\n`, { mode: 0o755 });
  const clear = () => writeFileSync(file, "");
  clear();
  return {
    command,
    clear,
    /** The method and the time of each answer that has passed since `clear`. */
    passed: () => readFileSync(file, "utf8").split("\n").slice(0, -1).map((line) => line.split(" ")).map(([method, at]) => [method, Number(at)]),
    /** Hold back the answers to these methods, and let all others go. */
    hold: (...methods) => writeFileSync(`${file}.held`, methods.join("\n")),
  };
}

/** Calls back with each message that a stream of frames holds, and its bytes. */
function frames(told) {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const head = rest.indexOf("\r\n\r\n");
      const length = Number(/Content-Length: (\d+)/i.exec(rest.subarray(0, Math.max(0, head)).toString())?.[1]);
      if (head < 0 || Number.isNaN(length) || rest.length < head + 4 + length) return;
      told(JSON.parse(rest.subarray(head + 4, head + 4 + length).toString()), rest.subarray(0, head + 4 + length));
      rest = rest.subarray(head + 4 + length);
    }
  };
}

function relay([program, file, ...args]) {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const methods = new Map();
  const held = (method) => existsSync(`${file}.held`) && readFileSync(`${file}.held`, "utf8").split("\n").includes(method);
  const pass = (method, bytes) => {
    if (held(method)) {
      setTimeout(() => pass(method, bytes), 20);
      return;
    }
    process.stdout.write(bytes);
    if (method !== undefined) appendFileSync(file, `${method} ${Date.now()}\n`);
  };
  const asked = frames(({ id, method }) => method !== undefined && methods.set(id, method));
  process.stdin.on("data", (chunk) => {
    asked(chunk);
    child.stdin.write(chunk);
  });
  process.stdin.on("end", () => child.stdin.end());
  child.stdout.on("data", frames(({ id, method }, bytes) => pass(method === undefined ? methods.get(id) : undefined, bytes)));
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  child.on("exit", (code) => process.exit(code ?? 1));
}

if (process.argv[1] === import.meta.filename) relay(process.argv.slice(2));
