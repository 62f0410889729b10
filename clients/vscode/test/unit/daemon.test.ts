import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { clients, next } from "../fake/languageclient";
import { record, reset } from "../fake/vscode";
import { DaemonClient, DaemonGone, type OwnWriter } from "../../src/host/daemon";

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
let offer: { model: string; maxInputTokens: number } | null;
const writer: OwnWriter = {
  offer: () => Promise.resolve(offer),
  write: () => Promise.resolve({ text: "written" }),
};
let daemon: DaemonClient;

beforeEach(() => {
  reset();
  vi.useFakeTimers();
  clients.length = 0;
  offer = null;
  next.methods = ["session/tree", "session/undo", "session/prompt"];
  next.failure = null;
  next.ends = false;
  record.configuration = { "branchline.command": { globalValue: process.execPath } };
  daemon = new DaemonClient({
    log: log as never,
    privateFolder: "/nowhere",
    settings: () => ({ durability: "flush" }),
    writer,
  });
});
afterEach(() => {
  daemon.dispose();
  vi.useRealTimers();
});

const last = () => {
  const client = clients.at(-1);
  if (client === undefined) throw new Error("nothing was started");
  return client;
};

describe("the connection", () => {
  it("is a program called with connect, and the person's settings", async () => {
    await daemon.start();
    expect(daemon.state).toBe("running");
    expect(record.context.get("branchline.daemon")).toBe("running");
    expect(last().server).toEqual({ command: process.execPath, args: ["connect"] });
    expect(last().options.initializationOptions).toEqual({ durability: "flush" });
  });

  it("sends a request as its method and its params alone", async () => {
    await daemon.start();
    await daemon.request("session/open", { session: "/s" });
    expect(last().sent).toEqual([["session/open", { session: "/s" }]]);
  });

  it("tells what the daemon tells, over any number of connections", async () => {
    const heard: unknown[] = [];
    const listening = daemon.on("session/reset", (params) => heard.push(params));
    await daemon.start();
    last().handlers.get("session/reset")?.({ path: "/a" });
    await daemon.restart();
    last().handlers.get("session/reset")?.({ path: "/b" });
    listening.dispose();
    last().handlers.get("session/reset")?.({ path: "/c" });
    expect(heard).toEqual([{ path: "/a" }, { path: "/b" }]);
  });

  it("offers to write summaries only if there is a model", async () => {
    await daemon.start();
    expect(last().features).toEqual([]);
    offer = { model: "v/m", maxInputTokens: 9 };
    await daemon.restart();
    const capabilities = {};
    (last().features[0] as { fillClientCapabilities(to: object): void }).fillClientCapabilities(capabilities);
    expect(capabilities).toEqual({ experimental: { branchline: { summarize: offer } } });
    expect(await last().handlers.get("session/summarize")?.({})).toEqual({ text: "written" });
  });
});

describe("a daemon", () => {
  it("that is not there is said to be missing", async () => {
    record.configuration = { "branchline.command": { globalValue: "/nowhere/x" } };
    await daemon.start();
    expect(daemon.state).toBe("missing");
    await expect(daemon.request("session/open", { session: "/s" })).rejects.toThrow(DaemonGone);
  });

  it("that lacks a method is too old", async () => {
    next.methods = ["session/tree"];
    await daemon.start();
    expect(daemon.state).toBe("old");
  });

  it("that does not start has failed, with its reason", async () => {
    next.failure = new Error("settings: contextWindow");
    await daemon.start();
    expect([daemon.state, daemon.reason]).toEqual(["failed", "settings: contextWindow"]);
  });

  it("that ends before it answers has failed, and is not too old", async () => {
    next.ends = true;
    await daemon.start();
    expect([daemon.state, daemon.reason]).toEqual(["failed", "the program ended"]);
  });

  it("that is lost is started again, each time later, and requests wait for it", async () => {
    await daemon.start();
    last().options.errorHandler.closed();
    expect(daemon.state).toBe("starting");
    const answer = daemon.request("session/open", { session: "/s" });
    await vi.advanceTimersByTimeAsync(249);
    expect(clients.length).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    await vi.waitFor(() => expect(daemon.state).toBe("running"));
    await answer;
    expect(clients.length).toBe(2);
    last().options.errorHandler.closed();
    await vi.advanceTimersByTimeAsync(250);
    expect(clients.length).toBe(2);
    await vi.advanceTimersByTimeAsync(250);
    await vi.waitFor(() => expect(clients.length).toBe(3));
  });

  it("that does not come back after a loss has failed in the end", async () => {
    await daemon.start();
    next.failure = new Error("no");
    last().options.errorHandler.closed();
    for (const [started, delay] of [250, 500, 1000, 2000, 4000, 8000].entries()) {
      expect([started, daemon.state]).toEqual([started, "starting"]);
      await vi.advanceTimersByTimeAsync(delay);
      await vi.waitFor(() => expect(clients.length).toBe(started + 2));
      // The start that was made is told to have failed before the next delay begins.
      await vi.advanceTimersByTimeAsync(0);
    }
    await vi.waitFor(() => expect(daemon.state).toBe("failed"));
  });

  it("that we left ourselves is not started again", async () => {
    await daemon.start();
    const left = last();
    await daemon.stop();
    left.options.errorHandler.closed();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(clients.length).toBe(1);
  });
});
