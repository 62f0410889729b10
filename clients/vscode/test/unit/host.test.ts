import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { record, reset, workspace } from "../fake/vscode";
import packageJson from "../../package.json";
import { findCommand } from "../../src/host/command";
import { Conversations } from "../../src/host/conversation";
import { backOff, DaemonGone, type Daemon } from "../../src/host/daemon";
import { changeUri, fileName } from "../../src/host/entryAddress";
import { explain, kindOf, ReadOnly, showError } from "../../src/host/errors";
import { piArgument } from "../../src/host/pi";
import { compactionTitle, filesOf, leavingTitle, writerFacts, writerName } from "../../src/host/plans";
import { escapeHtml } from "../../src/host/panelHtml";
import { pointItems } from "../../src/host/pickers";
import { arrange, describeSession, sessionTitle, type Node } from "../../src/host/sessionsView";
import { daemonSettings } from "../../src/host/settings";
import { row, session } from "./rows";

beforeEach(reset);

describe("the daemon's program", () => {
  let folder: string;
  const program = (name: string, mode = 0o755): string => {
    const path = join(folder, name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, "#!/bin/sh\n");
    chmodSync(path, mode);
    return path;
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "branchline-unit-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("is the one that the person set", async () => {
    const path = program("elsewhere/mine");
    expect(await findCommand(path, folder, "")).toEqual({ command: path, source: "setting" });
    expect(await findCommand("mine", folder, join(folder, "elsewhere"))).toEqual({ command: path, source: "setting" });
  });

  it("is else the one on PATH, then the private one", async () => {
    const own = program("private/bin/branchline");
    const onPath = program("bin/branchline");
    const path = `/nowhere:${join(folder, "bin")}`;
    expect(await findCommand("", join(folder, "private"), path)).toEqual({ command: onPath, source: "path" });
    expect(await findCommand("", join(folder, "private"), "")).toEqual({ command: own, source: "private" });
  });

  it("is never a relative one, nor one that cannot run", async () => {
    program("other/branchline", 0o644);
    expect(await findCommand("", folder, join(folder, "other"))).toBeNull();
    program("bin/branchline");
    expect(await findCommand("", join(folder, "none"), relative(process.cwd(), join(folder, "bin")))).toBeNull();
    expect(await findCommand("./bin/branchline", folder, "")).toBeNull();
    expect(await findCommand("bin/branchline", folder, folder)).toBeNull();
  });

  it("that is set and not there is not replaced by another", async () => {
    program("bin/branchline");
    expect(await findCommand("/nowhere/branchline", folder, join(folder, "bin"))).toBeNull();
  });
});

it("starts are further and further apart", () => {
  expect([1, 2, 3, 4].map(backOff)).toEqual([250, 500, 1000, 2000]);
  expect(backOff(50)).toBe(30_000);
});

describe("the daemon's settings", () => {
  it("send no project's instructions while the workspace is not trusted", () => {
    record.configuration = { "branchline.prompt.projectInstructions": { globalValue: true } };
    workspace.isTrusted = false;
    expect(daemonSettings(packageJson)).toEqual({ prompt: { projectInstructions: false } });
    workspace.isTrusted = true;
    expect(daemonSettings(packageJson)).toEqual({ prompt: { projectInstructions: true } });
  });

  it("are only those that somebody set, in the daemon's shape", () => {
    record.configuration = {
      "branchline.compaction.auto": { globalValue: true },
      "branchline.compaction.keepRecentTokens": { globalValue: 1, workspaceValue: 500 },
      "branchline.summarizer.editorModel": { globalValue: "x/y" },
      "branchline.command": { globalValue: "/bin/x" },
    };
    expect(daemonSettings(packageJson)).toEqual({ compaction: { auto: true, keepRecentTokens: 500 } });
  });

  it("that choose servers are never the workspace's", () => {
    record.configuration = {
      "branchline.summarizer.baseUrl": { workspaceValue: "http://evil" },
      "branchline.prompt.baseUrl": { workspaceValue: "http://evil", globalValue: "http://mine" },
      "branchline.models": { workspaceValue: { "a/b": { baseUrl: "http://evil" } } },
      "branchline.sessionsDir": { workspaceValue: "/evil" },
    };
    expect(daemonSettings(packageJson)).toEqual({ prompt: { baseUrl: "http://mine" } });
  });
});

const failure = (kind: string, facts: object = {}): Error =>
  Object.assign(new Error(`${kind} happened`), { code: 1, data: { kind, ...facts } });

describe("an error", () => {
  it("that a person asked for is not shown", async () => {
    await showError(failure("cancelled"));
    expect(record.messages).toEqual([]);
  });

  it("is one sentence with its next steps", () => {
    expect(explain(failure("busy"))?.steps.map(({ title }) => title)).toEqual(["Cancel It"]);
    expect(explain(failure("fileChanged"))?.steps.map(({ title }) => title)).toEqual(["Reload"]);
    expect(explain(failure("promptFailed", { largest: [] }))?.steps[0]?.title).toBe("Compact…");
    expect(explain(failure("nothingToUndo"))?.level).toBe("info");
    const refused = Object.assign(new Error("The prompt failed: h refused"), { data: { kind: "promptFailed" } });
    expect(explain(refused)?.text).toBe("The model did not answer: h refused");
    expect(explain(new Error("odd"))?.text).toBe("odd");
  });

  it("of a missing daemon offers to install it", () => {
    const gone = new DaemonGone("missing", "not there");
    expect(explain(gone)?.steps[0]?.title).toBe("Install Branchline");
    expect(explain(new DaemonGone("failed", ""))?.text).toBe("Branchline is not running.");
  });

  it("does the step that was chosen", async () => {
    record.choose = "Cancel It";
    await showError(failure("busy"));
    expect(record.executed).toContainEqual(["branchline.cancel"]);
  });

  it("has a kind only if it is one of the protocol's", () => {
    expect(kindOf(failure("busy"))).toBe("busy");
    expect(kindOf(failure("toString"))).toBeNull();
    expect(kindOf("text")).toBeNull();
    expect(kindOf(new ReadOnly())).toBe("readOnly");
  });
});

/** The titles of a tree of sessions. */
const outline = (nodes: readonly Node[], depth = 0): string[] =>
  nodes.flatMap((node) => {
    const pad = "  ".repeat(depth);
    if (node.kind === "more") return [`${pad}${node.left} more`];
    if (node.kind === "day") return [`${pad}${node.title}`, ...outline(node.sessions, depth + 1)];
    return [`${pad}${node.info.path}`, ...outline(node.forks, depth + 1)];
  });

describe("the list of sessions", () => {
  const now = new Date(2026, 0, 10, 12).getTime();
  const at = (day: number): { modifiedAt: string } => ({ modifiedAt: new Date(2026, 0, day, 9).toISOString() });

  it("is by day, with forks under their parent", () => {
    const sessions = [
      session("new", at(10)),
      session("fork", { ...at(10), parentSession: "old" }),
      session("forkOfFork", { ...at(9), parentSession: "fork" }),
      session("old", at(9)),
      session("alone", { ...at(1), parentSession: "not listed" }),
    ];
    expect(outline(arrange(sessions, 7, now))).toEqual([
      "Today", "  new", "Yesterday", "  old", "    fork", "      forkOfFork", "Thursday, January 1, 2026", "  alone", "2 more",
    ]);
  });

  it("shows sessions that claim to be each other's forks", () => {
    const sessions = [session("a", { ...at(10), parentSession: "b" }), session("b", { ...at(10), parentSession: "a" }), session("c", { ...at(10), parentSession: "c" })];
    expect(outline(arrange(sessions, 3, now)).slice(1).map((line) => line.trim()).sort()).toEqual(["a", "b", "c"]);
  });

  it("names a session by its name, else its first message, else its id, without tricks", () => {
    expect(sessionTitle(session("x", { name: "a\u202eb\u001b" }))).toBe("ab");
    expect(sessionTitle(session("x", { name: null }))).toBe("hello");
    expect(sessionTitle(session("x", { name: " ", firstMessage: null }))).toBe("x");
  });

  it("says of a session what is known of it", () => {
    const known = describeSession(session("x", { branchCount: 3 }));
    expect(known).toMatch(/ · 2 messages · 3 branches$/);
    expect(describeSession(session("x", { messageCount: null, branchCount: null, modifiedAt: null }))).toBe("");
    expect(describeSession(session("x", { readable: false }))).toBe("cannot be read");
  });
});

describe("plans", () => {
  const plan = {
    commonAncestorId: null,
    leaving: ["a"],
    summarized: ["a"],
    messageCount: 12,
    tokens: 9100,
    readFiles: [],
    modifiedFiles: ["a", "b", "c"],
    targetUsage: { tokens: 1, contextWindow: 2, reserveTokens: 0, due: false },
    summarizer: null,
    promptTokens: null,
  };
  it("name the cost of leaving", () => {
    expect(leavingTitle("“use ICU”", plan)).toBe("Leave “use ICU”: 12 messages, 9k tokens, 3 files changed");
    expect(leavingTitle("x", { ...plan, messageCount: 1, modifiedFiles: [] })).toBe("Leave x: 1 message, 9k tokens");
  });

  it("name the first files, changed ones first", () => {
    expect(filesOf({ modifiedFiles: ["b"], readFiles: ["a"] })).toBe("b, a");
    expect(filesOf({ modifiedFiles: ["b", "c", "d", "e", "f", "g", "h"], readFiles: [] })).toBe("b, c, d, e, f, g, …");
  });

  it("name what a compaction covers", () => {
    const compaction = {
      ...plan,
      firstKeptEntryId: "k",
      isSplitTurn: true,
      turnPrefix: ["t"],
      kept: ["k"],
      previousCompactionId: null,
      tokensBefore: 88_000,
      tokensAfter: 9000,
    };
    expect(compactionTitle(compaction)).toBe("Compact 88k → about 9k tokens: 2 entries covered, 1 kept");
  });

  it("name the writer and where the text goes", () => {
    expect(writerName({ kind: "openai", model: "m", host: "h" })).toBe("by m at h");
    expect(writerName({ kind: "offline", model: null, host: null })).toBe("by rules, offline");
    expect(writerName(null)).toBe("nobody can write it");
    expect(writerFacts(plan)).toBe("nobody can write it");
    const writer = { kind: "client", model: "m", host: null };
    expect(writerFacts({ summarizer: writer, promptTokens: 1840 })).toBe("by this editor's model; about 2k tokens are sent");
  });
});

it("a path of a session becomes a harmless address", () => {
  const path = (of: string): string => changeUri("/s", "e", of, { at: 0, side: "before" }).path;
  expect(["/home/me/a b.py", "C:\\x\\y.ts", "../../etc/passwd", "", "a/\u202egpj.exe?x#y"].map(path)).toEqual([
    "/home/me/a b.py", "/C_/x/y.ts", "/etc/passwd", "/file", "/a/_gpj.exe_x_y",
  ]);
  expect(fileName("src/one.py")).toBe("one.py");
});

it("an error's text is no HTML", () => {
  expect(escapeHtml(`<a href="x">&'`)).toBe("&#60;a href=&#34;x&#34;&#62;&#38;&#39;");
});

it("a message to Pi is never read as an option or a file", () => {
  expect(["-x", "@secret", "/quit", "!ls", "hello"].map(piArgument)).toEqual([" -x", " @secret", " /quit", " !ls", "hello"]);
});

it("points to go to are drawn with lanes, and searched without", () => {
  const tree = {
    rows: [row("ask", { role: "user", label: "start", isLeaf: true })],
    offset: 0,
    total: 1,
    leafRow: 0,
    leafId: "ask",
    revision: 0,
  };
  const branch = { tipId: "t", forkId: null, name: "other", messageCount: 2, tokens: 5, lastTimestamp: null, active: false };
  const items = pointItems({ branches: [branch, { ...branch, active: true }], labels: [{ id: "ask", label: "start", timestamp: null }] }, tree, 0);
  expect(items.map(({ label, text }) => [label, text])).toEqual([
    ["Your messages", ""],
    ["◉ ● ask", "ask"],
    ["Other branches", ""],
    ["⊞ other", "other"],
    ["Labels", ""],
    ["⚑ start", "start"],
  ]);
});

/** A daemon that answers what it is told to, and can be lost. */
class FakeDaemon {
  state = "running";
  reason = "";
  asked: string[] = [];
  readonly listeners = new Map<string, ((params: unknown) => void)[]>();
  private readonly stateListeners: ((state: string) => void)[] = [];
  onState = (listener: (state: string) => void): { dispose(): void } => {
    this.stateListeners.push(listener);
    return { dispose: () => undefined };
  };
  become(state: string): void {
    this.state = state;
    for (const listener of this.stateListeners) listener(state);
  }
  request(method: string): Promise<unknown> {
    this.asked.push(method);
    return Promise.resolve({
      session: session("/s"),
      leafId: "leaf",
      revision: this.asked.length,
      usage: { tokens: 1, contextWindow: 2, reserveTokens: 0, due: false },
      warnings: [],
      settings: {},
    });
  }
  on(name: string, listener: (params: unknown) => void): { dispose(): void } {
    this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
    return { dispose: () => undefined };
  }
  tell(name: string, params: object): void {
    for (const listener of this.listeners.get(name) ?? []) listener({ session: "/s", path: "/s", ...params });
  }
}

describe("conversations", () => {
  const change = {
    revision: 5,
    previousRevision: 4,
    leafId: "new",
    previousLeafId: "leaf",
    appended: [],
    labels: {},
    name: "named",
    usage: { tokens: 9, contextWindow: 10, reserveTokens: 0, due: true },
    origin: "external",
    externalBranch: null,
  };

  it("are opened once for all who look, and closed by the last", async () => {
    const daemon = new FakeDaemon();
    const conversations = new Conversations(daemon as unknown as Daemon);
    const [one, two] = await Promise.all([conversations.look("/s"), conversations.look("/s")]);
    expect(one).toBe(two);
    conversations.leave(one);
    expect(daemon.asked).toEqual(["session/open"]);
    conversations.leave(two);
    expect(daemon.asked).toEqual(["session/open", "session/close"]);
  });

  it("follow what the daemon tells", async () => {
    const daemon = new FakeDaemon();
    const conversations = new Conversations(daemon as unknown as Daemon);
    const conversation = await conversations.look("/s");
    const news: string[] = [];
    conversation.onNews(({ type }) => news.push(type));
    daemon.tell("session/changed", change);
    expect([conversation.leafId, conversation.title, conversation.usage.due]).toEqual(["new", "named", true]);
    daemon.tell("session/changed", { ...change, externalBranch: { forkId: "f", tipId: "tip" } });
    expect(conversation.elsewhere).toBe("tip");
    daemon.tell("session/busy", { job: { id: "j", kind: "prompt", startedBy: null, percent: null } });
    expect(conversation.job?.id).toBe("j");
    daemon.tell("session/changed", { ...change, path: "/other" });
    expect(news).toEqual(["changed", "changed", "busy"]);
  });

  it("cannot undo a move any more once something was said", async () => {
    const daemon = new FakeDaemon();
    const conversations = new Conversations(daemon as unknown as Daemon);
    const conversation = await conversations.look("/s");
    conversations.moved(conversation, true);
    daemon.tell("session/changed", { ...change, appended: [{ type: "label" }] });
    expect(conversation.canUndo).toBe(true);
    daemon.tell("session/changed", { ...change, appended: [{ type: "message" }] });
    expect(conversation.canUndo).toBe(false);
  });

  it("are opened again after the daemon was lost", async () => {
    const daemon = new FakeDaemon();
    const conversations = new Conversations(daemon as unknown as Daemon);
    const conversation = await conversations.look("/s");
    const news: string[] = [];
    const opened = new Promise<void>((done) => {
      conversation.onNews(({ type }) => {
        news.push(type);
        done();
      });
    });
    daemon.become("starting");
    daemon.become("running");
    await opened;
    expect(news).toEqual(["opened"]);
    expect(daemon.asked).toEqual(["session/open", "session/open"]);
  });
});
