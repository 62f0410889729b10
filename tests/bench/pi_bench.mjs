// Pi's side of what is measured: a program that does one thing with the real Pi and says how long.
//
//   node pi_bench.mjs look PACKAGE FILE                     open, tree, context at the leaf
//   node pi_bench.mjs append PACKAGE FILE COUNT MESSAGE     append a message (JSON), COUNT times
//   node pi_bench.mjs list PACKAGE FOLDER                   list the sessions of a folder, several times
//   node pi_bench.mjs nothing                               only start
//
// One JSON object goes to stdout: times in milliseconds, memory in MB. `our_side.py` is the same
// for Branchline.

import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const AGAIN = 5;
const [what, folder, path, ...rest] = process.argv.slice(2);
const { SessionManager } =
  what === "nothing" ? {} : await import(pathToFileURL(`${folder}/dist/core/session-manager.js`));

/** What `work` takes, and gives. */
function timed(work) {
  const started = performance.now();
  const value = work();
  return [performance.now() - started, value];
}

/** The most memory that this process ever had; null where the system does not tell. */
function peakMemory() {
  if (!existsSync("/proc/self/status")) return null;
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))[1]) / 1000;
}

function look() {
  const [open, session] = timed(() => SessionManager.open(path));
  const peak = peakMemory();
  const [tree] = timed(() => session.getTree());
  const [context, { messages }] = timed(() => session.buildSessionContext());
  const again = Array.from({ length: AGAIN }, () => timed(() => session.buildSessionContext())[0]);
  return {
    open,
    peak,
    tree,
    context,
    contextAgain: Math.min(...again),
    entries: session.getEntryCount(),
    messages: messages.length,
  };
}

function append() {
  const session = SessionManager.open(path);
  const [count, message] = [Number(rest[0]), JSON.parse(rest[1])];
  session.appendMessage(message);
  return {
    flush: Array.from({ length: count }, () => timed(() => session.appendMessage(message))[0]),
  };
}

async function list() {
  const times = [];
  let sessions;
  for (let round = 0; round < 1 + AGAIN; round += 1) {
    const started = performance.now();
    sessions = await SessionManager.listAll(path);
    times.push(performance.now() - started);
  }
  const [first, ...later] = times;
  later.sort((one, other) => one - other);
  return { first, again: later[(AGAIN - 1) / 2], sessions: sessions.length };
}

const found = await { look, append, list, nothing: () => ({ peak: peakMemory() }) }[what]();
process.stdout.write(`${JSON.stringify(found)}\n`);
