import { beforeEach, describe, expect, it } from "vitest";
import { record, reset } from "../fake/vscode";
import { Consent, isThisMachine, promptHost } from "../../src/host/consent";
import type { Conversation } from "../../src/host/conversation";
import type { Daemon } from "../../src/host/daemon";

beforeEach(reset);

describe("this machine", () => {
  it.each(["localhost", "localhost:11434", "a.localhost", "127.0.0.1:8080", "127.1.2.3", "[::1]:80", "[::1]"])(
    "is %s",
    (host) => expect(isThisMachine(host)).toBe(true),
  );
  it.each(["api.openai.com", "127.0.0.1.example.com", "localhost.example.com", "10.0.0.1:80", "[fe80::1]:80", ""])(
    "is not %s",
    (host) => expect(isThisMachine(host)).toBe(false),
  );
});

describe("the host of a prompt", () => {
  const server = { baseUrl: "https://one.example/v1" };
  const models = { "p/big": server, "p/small": { contextWindow: 8192 } };

  it("is that of the session's model, if the settings say where it is", () => {
    const settings = { models, prompt: { model: "other", baseUrl: "http://localhost:1/v1" } };
    expect(promptHost(settings, { provider: "p", modelId: "big" })).toBe("one.example");
    expect(promptHost(settings, { provider: "p", modelId: "small" })).toBe("localhost:1");
    expect(promptHost(settings, { provider: "__proto__", modelId: "x" })).toBe("localhost:1");
  });

  it("is else that of the model that is set, by its key or its name", () => {
    for (const model of ["p/big", "big"]) expect(promptHost({ models, prompt: { model } }, null)).toBe("one.example");
    expect(promptHost({ models, prompt: { model: "small" } }, null)).toBe("api.openai.com");
    expect(promptHost({ prompt: { model: "m", baseUrl: "no url" } }, null)).toBe("no url");
  });

  it("is none where no model is set", () => {
    expect(promptHost({}, null)).toBeNull();
    expect(promptHost({ prompt: { model: null, baseUrl: "http://x/" } }, null)).toBeNull();
  });
});

describe("consent", () => {
  function consent(writer: { kind: string; host: string | null }): Consent {
    const kept = new Map<string, unknown>();
    const memory = {
      get: (key: string, other: unknown): unknown => kept.get(key) ?? other,
      update: (key: string, value: unknown): Promise<void> => Promise.resolve(void kept.set(key, value)),
    };
    const request = (method: string): Promise<unknown> =>
      Promise.resolve(method === "session/summarizer" ? writer : { model: null });
    return new Consent({ request } as unknown as Daemon, memory as never);
  }

  it("is asked for once for each host", async () => {
    const far = consent({ kind: "openai", host: "far.example" });
    expect(await far.forSummary("/s")).toBe(false);
    expect(record.messages).toHaveLength(1);
    expect(record.messages[0]?.text).toContain("far.example");
    record.choose = "Send";
    expect(await far.forSummary("/s")).toBe(true);
    record.choose = undefined;
    expect(await far.forSummary("/s")).toBe(true);
    expect(record.messages).toHaveLength(2);
  });

  it("is not needed on this machine, nor where nothing is sent", async () => {
    for (const [kind, host] of [["openai", "localhost:1"], ["offline", null], ["client", null]] as const)
      expect(await consent({ kind, host }).forSummary("/s")).toBe(true);
    expect(record.messages).toEqual([]);
  });

  it("is asked for before a prompt, too", async () => {
    const settings = { prompt: { model: "m" } };
    const conversation = { path: "/s", settings } as unknown as Conversation;
    expect(await consent({ kind: "offline", host: null }).forPrompt(conversation)).toBe(false);
    expect(record.messages[0]?.text).toContain("api.openai.com");
  });
});
