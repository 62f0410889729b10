// The search through all sessions, and what an export is called and says.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { record, reset, Uri, type QuickPick } from "../fake/vscode";
import type { Daemon } from "../../src/host/daemon";
import { exportName, freePath, maskedText } from "../../src/host/export";
import { asTyped, fileQuery, hitItems, indexingText, marked, SessionSearch } from "../../src/host/search";
import { Reveal } from "../../src/panel/reveal";
import type { Row, SearchHit, View } from "../../src/shared/protocol";
import { FIRST_STATE, revealing, type Looking } from "../../src/shared/treeState";
import { row, session } from "./rows";

const hit = (path: string, entryId: string, change: Partial<SearchHit> = {}): SearchHit => ({
  session: session(path, { modifiedAt: null }),
  entryId,
  role: "user",
  snippet: `text ${entryId}`,
  matches: [],
  timestamp: null,
  ...change,
});

describe("the query", () => {
  it("has a last word that is the beginning of one, while it is typed", () => {
    expect(asTyped("nightly imp")).toBe("nightly imp*");
    expect(asTyped("file:src/par")).toBe("file:src/par*");
  });

  it("is left alone where the last word is complete or no word", () => {
    for (const text of ["", "nightly ", "nightly*", '"a phrase', '"a phrase"', "role:us", "before:2026", "x -no"]) {
      expect(asTyped(text)).toBe(text);
    }
  });

  it("for a file ends with its path", () => {
    expect(asTyped(fileQuery("src/a.py"))).toBe("file:src/a.py ");
    expect(asTyped(fileQuery('my "own" dir/a.py'))).toBe('file:"my  own  dir/a.py" ');
  });
});

describe("the hits", () => {
  it("stand under their sessions in the order of the best", () => {
    const items = hitItems([hit("/a", "1"), hit("/b", "2"), hit("/a", "3")], 0);
    expect(items.map(({ label }) => label)).toEqual(["/a", "text 1", "text 3", "/b", "text 2"]);
    expect(items.map(({ kind }) => kind)).toEqual([-1, undefined, undefined, -1, undefined]);
  });

  it("say whose they are and how old", () => {
    const [, item] = hitItems([hit("/a", "1", { role: "toolResult", timestamp: "2026-01-10T10:00:00.000Z" })], Date.parse("2026-01-12T10:00:00.000Z"));
    expect(item?.detail).toBe("Tool · 2d");
  });

  it("are marked where the words stand, and draw no icons and no control characters", () => {
    expect(marked({ snippet: "the nightly import", matches: [[4, 11], [12, 18]] })).toBe("the «nightly» «import»");
    expect(marked({ snippet: "run $(trash) \u202enow", matches: [] })).toBe("run \\$(trash) now");
  });
});

it("the index's progress is told until it is complete", () => {
  expect(indexingText({ sessions: 120, ofSessions: 5000, bytes: 0, ofBytes: 0 })).toBe("Indexing 120 of 5,000 sessions…");
  expect(indexingText({ sessions: 9, ofSessions: 9, bytes: 0, ofBytes: 0 })).toBe("");
  expect(indexingText(null)).toBe("");
});

/** A daemon whose answers the test gives when it likes. */
class SearchDaemon {
  readonly asked: { params: Record<string, unknown>; token: { isCancellationRequested: boolean }; answer: (value: object) => void; fail: (error: Error) => void }[] = [];
  private listener: (state: object) => void = () => undefined;
  request(_method: string, params: Record<string, unknown>, token: { isCancellationRequested: boolean }): Promise<unknown> {
    return new Promise((answer, fail) => this.asked.push({ params, token, answer, fail }));
  }
  on(_name: string, listener: (state: object) => void): { dispose(): void } {
    this.listener = listener;
    return { dispose: () => (this.listener = () => undefined) };
  }
  indexed(sessions: number, ofSessions: number): void {
    this.listener({ sessions, ofSessions, bytes: 0, ofBytes: 0 });
  }
  get last() {
    const last = this.asked.at(-1);
    if (last === undefined) throw new Error("nothing was asked");
    return last;
  }
  async answers(hits: SearchHit[], more: object = {}): Promise<void> {
    this.last.answer({ hits, nextCursor: null, indexing: null, ...more });
    await vi.advanceTimersByTimeAsync(0);
  }
}

describe("the search", () => {
  let daemon: SearchDaemon;
  let kept: unknown;
  let gone: unknown[][];
  const memory = { get: () => kept, update: (_key: string, value: unknown) => Promise.resolve((kept = value)) };
  const search = (): SessionSearch =>
    new SessionSearch(daemon as unknown as Daemon, memory as never, (...where) => {
      gone.push(where);
      return Promise.resolve();
    });
  const pick = (): QuickPick => {
    const shown = record.picks.at(-1);
    if (shown === undefined) throw new Error("nothing is shown");
    return shown;
  };
  const labels = (): string[] => pick().items.map(({ label }) => label);
  beforeEach(() => {
    reset();
    vi.useFakeTimers();
    daemon = new SearchDaemon();
    kept = undefined;
    gone = [];
  });
  afterEach(() => vi.useRealTimers());

  it("asks when nothing was typed for a moment, and takes back what was asked before", async () => {
    search().show();
    expect(daemon.asked).toEqual([]);
    pick().type("nig");
    await vi.advanceTimersByTimeAsync(100);
    pick().type("nigh");
    await vi.advanceTimersByTimeAsync(149);
    expect(daemon.asked).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(daemon.last.params).toMatchObject({ query: "nigh*", scope: "workspace", perSession: 3 });
    const [first] = daemon.asked;
    pick().type("night ");
    await vi.advanceTimersByTimeAsync(150);
    expect(first?.token.isCancellationRequested).toBe(true);
    await daemon.answers([hit("/a", "new")]);
    first?.answer({ hits: [hit("/a", "old")], nextCursor: null, indexing: null });
    await vi.advanceTimersByTimeAsync(0);
    expect(labels()).toEqual(["/a", "text new"]);
    expect(pick().busy).toBe(false);
  });

  it("goes on with the next page below what is there", async () => {
    search().show("x ");
    await daemon.answers([hit("/a", "1")], { nextCursor: "next" });
    pick().choose("more…");
    expect(daemon.last.params).toMatchObject({ query: "x ", cursor: "next" });
    await daemon.answers([hit("/a", "2")]);
    expect(labels()).toEqual(["/a", "text 1", "/a", "text 2"]);
    expect(pick().activeItems.map(({ label }) => label)).toEqual(["text 2"]);
  });

  it("says what cannot be searched for as an item", async () => {
    search().show("before:x");
    daemon.last.fail(Object.assign(new Error("Parameter 'query' has a wrong date"), { data: { kind: "invalidParams" } }));
    await vi.advanceTimersByTimeAsync(0);
    expect(pick().items).toMatchObject([{ label: "This cannot be searched for.", detail: "has a wrong date" }]);
    expect(record.messages).toEqual([]);
  });

  it("ends with a message where the daemon fails", async () => {
    search().show("x");
    daemon.last.fail(new Error("broken"));
    await vi.advanceTimersByTimeAsync(0);
    expect(record.messages.map(({ text }) => text)).toEqual(["broken"]);
  });

  it("asks again as the index goes on, and keeps what is chosen", async () => {
    search().show("x");
    await daemon.answers([hit("/a", "1")], { indexing: { sessions: 1, ofSessions: 3, bytes: 0, ofBytes: 0 } });
    expect(pick().title).toBe("Sessions of this workspace · Indexing 1 of 3 sessions…");
    expect(pick().busy).toBe(true);
    pick().activeItems = pick().items.slice(1);
    daemon.indexed(2, 3);
    daemon.indexed(3, 3);
    expect(daemon.asked.length).toBe(2);
    await daemon.answers([hit("/b", "2"), hit("/a", "1")], { indexing: { sessions: 2, ofSessions: 3, bytes: 0, ofBytes: 0 } });
    expect(pick().activeItems.map(({ label }) => label)).toEqual(["text 1"]);
    // It went on while the answer was waited for.
    expect(daemon.asked.length).toBe(3);
    await daemon.answers([hit("/b", "2"), hit("/a", "1")]);
    expect(pick().title).toBe("Sessions of this workspace");
    daemon.indexed(4, 4);
    expect(daemon.asked.length).toBe(3);
  });

  it("does not say that there is nothing while the index lacks something", async () => {
    search().show("x");
    await daemon.answers([], { indexing: { sessions: 1, ofSessions: 3, bytes: 0, ofBytes: 0 } });
    expect(labels()).toEqual(["Nothing was found yet."]);
  });

  it("offers all folders where the workspace has nothing", async () => {
    search().show("x");
    await daemon.answers([]);
    pick().choose("Search the sessions of all folders");
    expect(daemon.last.params).toMatchObject({ scope: "all", query: "x*" });
    pick().button.fire(undefined);
    expect(daemon.last.params).toMatchObject({ scope: "workspace" });
  });

  it("leads to the entry, or for a name to the session, and is there again the next time", async () => {
    const search_ = search();
    search_.show();
    pick().type("x y");
    await vi.advanceTimersByTimeAsync(150);
    await daemon.answers([hit("/a", "1"), hit("/b", "2", { role: "name" })]);
    pick().choose("text 1");
    expect(gone).toEqual([["/a", "1"]]);
    search_.show();
    expect(pick().value).toBe("x y");
    await daemon.answers([hit("/b", "2", { role: "name" })]);
    pick().choose("text 2");
    expect(gone.at(-1)).toEqual(["/b", null]);
  });

  it("for a file asks by its path in the workspace", () => {
    search().showFile(Uri.file("/project/src/a.py"));
    expect(daemon.last.params).toMatchObject({ query: "file:src/a.py " });
  });
});

describe("an entry gets a row of its own", () => {
  const view = (change: Partial<Looking> = {}): Looking => ({ ...FIRST_STATE.view, ...change });

  it("step by step: the search ends, folded rows open, the filter widens", () => {
    expect(revealing(view(), row("x", { folded: true }), "x")).toBeNull();
    expect(revealing(view({ query: "q" }), row("up"), "x")).toEqual({ query: null });
    expect(revealing(view(), row("up", { folded: true }), "x")).toEqual({ expanded: ["up"] });
    expect(revealing(view(), row("x", { type: "run", folded: true }), "x")).toEqual({ expanded: ["x"] });
    expect(revealing(view({ folded: ["up"] }), row("up", { folded: true }), "x")).toEqual({ folded: [] });
    expect(revealing(view({ filter: "userOnly" }), row("up"), "x")).toEqual({ filter: "default" });
    expect(revealing(view(), row("up"), "x")).toEqual({ filter: "all" });
    expect(revealing(view(), undefined, "x")).toEqual({ filter: "all" });
  });

  it("or the nearest, where nothing more can be done", () => {
    expect(revealing(view({ filter: "all" }), row("up"), "x")).toBeNull();
    expect(revealing(view({ filter: "all", expanded: ["up"] }), row("up", { folded: true }), "x")).toBeNull();
  });

  it("and is gone to once", () => {
    const asked: [number, View][] = [];
    const shown: unknown[][] = [];
    const tree = { view: { ...view(), layout: "pinned", runs: "tools" } as const, show: (...what: unknown[]) => shown.push(what) };
    const reveal = new Reveal(tree, (ask, seen) => asked.push([ask, seen]));
    const answer = (ask: number | undefined, ...rows: Row[]): boolean =>
      reveal.rows(ask ?? 0, { rows, offset: 0, total: 1, leafRow: null, leafId: null, revision: 1 });
    reveal.start("old");
    reveal.start("x");
    expect(answer(asked[0]?.[0], row("old"))).toBe(true);
    expect(shown).toEqual([]);
    answer(asked[1]?.[0], row("up", { folded: true }));
    expect(asked[2]?.[1].expanded).toEqual(["up"]);
    answer(asked[2]?.[0], row("x"));
    expect(shown).toMatchObject([["x", { expanded: ["up"] }]]);
    expect(answer(7, row("x"))).toBe(false);
  });
});

describe("an export", () => {
  it("has a name that every file system takes", () => {
    expect(exportName("CSV importer: fast & robust")).toBe("CSV-importer-fast-robust");
    expect(exportName("../../etc/passwd")).toBe("etc-passwd");
    expect(exportName("夜间导入")).toBe("夜间导入");
    expect(exportName("//")).toBe("conversation");
  });

  it("is offered a path that is free", async () => {
    const folder = mkdtempSync(join(tmpdir(), "branchline-unit-"));
    try {
      expect(await freePath(folder, "a", "md")).toBe(join(folder, "a.md"));
      writeFileSync(join(folder, "a.md"), "");
      writeFileSync(join(folder, "a-2.md"), "");
      expect(await freePath(folder, "a", "md")).toBe(join(folder, "a-3.md"));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("says what was hidden", () => {
    expect(maskedText([{ kind: "key", count: 1 }, { kind: "homePath", count: 2 }, { kind: "email", count: 3 }])).toBe(
      "Hidden: 1 key, 2 home folders, 3 e-mail addresses.",
    );
    expect(maskedText([])).toBe("Nothing had to be hidden.");
  });
});
