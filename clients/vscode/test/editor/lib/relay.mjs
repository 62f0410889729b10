// Stands between the editor and the daemon's program, and writes down when each answer has passed:
// one line each, the method and the time in milliseconds. Arguments: the program, the file, the program's own.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";

const [program, file, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const methods = new Map();

/** Calls back with each message that a stream of frames holds. */
function frames(told) {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const head = rest.indexOf("\r\n\r\n");
      const length = Number(/Content-Length: (\d+)/i.exec(rest.subarray(0, Math.max(0, head)).toString())?.[1]);
      if (head < 0 || Number.isNaN(length) || rest.length < head + 4 + length) return;
      told(JSON.parse(rest.subarray(head + 4, head + 4 + length).toString()));
      rest = rest.subarray(head + 4 + length);
    }
  };
}

const asked = frames(({ id, method }) => method !== undefined && methods.set(id, method));
const answered = frames(({ id, method }) => {
  if (method === undefined && methods.has(id)) appendFileSync(file, `${methods.get(id)} ${Date.now()}\n`);
});
process.stdin.on("data", (chunk) => {
  child.stdin.write(chunk);
  asked(chunk);
});
process.stdin.on("end", () => child.stdin.end());
child.stdout.on("data", (chunk) => {
  process.stdout.write(chunk);
  answered(chunk);
});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("exit", (code) => process.exit(code ?? 1));
