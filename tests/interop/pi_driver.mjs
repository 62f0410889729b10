// Runs one version of the real Pi for the interop tests: a request a line on stdin, an answer a
// line on stdout, both JSON. It says what that Pi says and judges nothing.
//
//   node pi_driver.mjs coding-agent|agent-core <package folder>
//
//   {"do": "create", "path", "cwd"}             a new session
//   {"do": "open", "path"}                      the session of a file, as a fresh Pi opens it
//   {"do": "call", "method", "arguments"}       a method of the session; gives its result
//   {"do": "look"}                              all that the Pi says of the session
//   {"do": "path", "leaf"}                      the ids from the root to an entry
//
// Answers are {"value"} or {"error"}.

import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { stripVTControlCharacters } from "node:util";

const [kind, folder] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(`${folder}/${file}`));
console.log = console.error; // stdout is for answers only

/** What a `pi` of the terminal does with a session. */
async function codingAgent() {
  const { SessionManager } = await load("dist/core/session-manager.js");
  const { TreeSelectorComponent } = await load(
    "dist/modes/interactive/components/tree-selector.js",
  );
  (await load("dist/modes/interactive/theme/theme.js")).initTheme();
  const transcript = "node_modules/@earendil-works/pi-ai/dist/utils/transcript.js";
  const foldSystem = existsSync(`${folder}/${transcript}`)
    ? (await load(transcript)).getCurrentSystemMessage
    : () => undefined; // the older version knows no system messages

  /** The rows of `/tree` as it stands when opened: in drawn order, with the parent it is drawn under. */
  function rows(session) {
    const nothing = () => {};
    const selector = new TreeSelectorComponent(
      session.getTree(), session.getLeafId(), 100, nothing, nothing, nothing,
    );
    const list = selector.getTreeList();
    return list.filteredNodes.map(({ node }) => ({
      id: node.entry.id,
      parentId: list.visibleParentMap.get(node.entry.id) ?? null,
      text: stripVTControlCharacters(list.getEntryDisplayText(node, false)),
    }));
  }

  return {
    open: (path) => SessionManager.open(path),
    create: (path, cwd) => SessionManager.open(path, dirname(path), cwd),
    async look(session) {
      const ids = session.getEntries().map((entry) => entry.id);
      const context = session.buildSessionContext();
      return {
        leafId: session.getLeafId(),
        ids,
        labels: await labels(session, ids),
        name: session.getSessionName() ?? null,
        context,
        system: foldSystem(context.messages) ?? null,
        rows: rows(session),
      };
    },
  };
}

/** What a program built on Pi's agent core does with a session. It draws no tree. */
async function agentCore() {
  const { JsonlSessionStorage } = await load("dist/harness/session/jsonl-storage.js");
  const { Session } = await load("dist/harness/session/session.js");
  const { NodeExecutionEnv } = await load("dist/harness/env/nodejs.js");
  const files = new NodeExecutionEnv({ cwd: "/" });
  return {
    open: async (path) => new Session(await JsonlSessionStorage.open(files, path)),
    create: async (path, cwd) =>
      new Session(
        await JsonlSessionStorage.create(files, path, { cwd, sessionId: "made-by-agent-core" }),
      ),
    async look(session) {
      const ids = (await session.getEntries()).map((entry) => entry.id);
      return {
        leafId: await session.getLeafId(),
        ids,
        labels: await labels(session, ids),
        name: (await session.getSessionName()) ?? null,
        context: await session.buildContext(),
        system: null,
        rows: null,
      };
    },
  };
}

async function labels(session, ids) {
  const found = {};
  for (const id of ids) {
    const label = await session.getLabel(id);
    if (label !== undefined) found[id] = label;
  }
  return found;
}

const pi = await { "coding-agent": codingAgent, "agent-core": agentCore }[kind]();
let session;

async function answer(request) {
  switch (request.do) {
    case "create":
      session = await pi.create(request.path, request.cwd);
      return null;
    case "open":
      session = undefined; // no Pi has its file open twice
      session = await pi.open(request.path);
      return null;
    case "call":
      return (await session[request.method](...request.arguments)) ?? null;
    case "look":
      return await pi.look(session);
    case "path":
      return (await session.getBranch(request.leaf)).map((entry) => entry.id);
    default:
      throw new Error(`unknown request ${request.do}`);
  }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  let reply;
  try {
    reply = { value: await answer(JSON.parse(line)) };
  } catch (error) {
    reply = { error: String(error?.message ?? error) };
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
