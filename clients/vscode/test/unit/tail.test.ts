// @vitest-environment happy-dom
// The first screen of a large session: rows that are there before the session is opened, and what takes their place.
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Conversations } from "../../src/host/conversation";
import type { Daemon } from "../../src/host/daemon";
import { words } from "../../src/host/words";
import { Page } from "../../src/panel/page";
import { PANEL_ACTIONS, type TailAnswer, type ToHost, type TreeAnswer } from "../../src/shared/messages";
import type { Row } from "../../src/shared/protocol";
import { beginsAmong, FIRST_STATE } from "../../src/shared/treeState";
import { PAGE, ROW_HEIGHT, tailStart } from "../../src/shared/windowing";
import { row, session } from "./rows";

/** The rows of a whole session: `e0` to `e999`, the last one its leaf. */
const ALL = Array.from({ length: 1000 }, (_none, at) =>
  row(`e${at}`, { isLeaf: at === 999, position: at + 1, siblings: 1000 }));
const HEIGHT = 20 * ROW_HEIGHT;

function tail(count: number, change: Partial<TailAnswer> = {}): TailAnswer {
  const rows = ALL.slice(ALL.length - count).map((one): Row => ({ ...one, context: null, position: 1, siblings: 1 }));
  return { session: session("/s"), rows, leafId: "e999", leafRow: count - 1, whole: false, ...change };
}

/** What `session/tree` answers to a page's question. */
function answer(question: ToHost | undefined, rows = ALL): TreeAnswer {
  if (question?.type !== "rows") throw new Error("no question for rows");
  const { at, limit } = question;
  const middle = typeof at === "number" ? at : rows.findIndex(({ id }) => id === at.around) - limit / 2;
  const offset = Math.max(0, Math.min(middle, rows.length - limit));
  const leafRow = rows.findIndex(({ isLeaf }) => isLeaf);
  return {
    rows: rows.slice(offset, offset + limit),
    offset,
    total: rows.length,
    leafRow,
    leafId: rows[leafRow]?.id ?? null,
    revision: 1,
  };
}

describe("the first screen", () => {
  let posted: ToHost[];
  let root: HTMLElement;
  let page: Page;
  let tree: HTMLElement;
  const usage = { tokens: 1, contextWindow: 2, reserveTokens: 0, due: false };

  beforeEach(() => {
    posted = [];
    root = document.createElement("div");
    document.body.replaceChildren(root);
    Object.defineProperty(HTMLElement.prototype, "clientHeight", { configurable: true, get: () => HEIGHT });
    const api = { postMessage: (message: ToHost) => posted.push(message), getState: () => null, setState: () => undefined };
    page = new Page(root, api, words(), [], session("/s"));
    tree = root.querySelector<HTMLElement>(".tree") ?? root;
  });

  const asked = (): (ToHost & { type: "rows" })[] => posted.filter((message) => message.type === "rows");
  const open = (leafId = "e999"): void =>
    page.take({ type: "opened", opened: { session: session("/s"), leafId, revision: 1, usage, warnings: [] }, words: words(), keys: [] });
  const reply = (rows = ALL): void => {
    const question = asked().at(-1);
    page.take({ type: "rows", ask: question?.ask ?? 0, answer: answer(question, rows) });
  };
  const focused = (): string | undefined => root.querySelector(".row.focused .text")?.textContent;
  const selected = (): string | null | undefined => posted.filter((message) => message.type === "selected").at(-1)?.id;
  /** Where on screen a row is drawn. */
  const place = (text: string): number => {
    const found = [...root.querySelectorAll<HTMLElement>(".row")].find((one) => one.querySelector(".text")?.textContent === text);
    return parseFloat(found?.style.top ?? "NaN") - tree.scrollTop;
  };

  it("is rows as any others, with their end in sight, and asks for nothing", () => {
    page.take({ type: "tail", tail: tail(200), words: words(), keys: [] });
    expect(focused()).toBe("e999");
    expect(selected()).toBe("e999");
    expect(root.querySelector(".row.leaf .here")).not.toBeNull();
    expect(root.querySelector(".meter-text")?.textContent).toBe("Reading the rest…");
    expect(posted.filter(({ type }) => type !== "selected" && type !== "focus")).toEqual([]);
  });

  it("does not number rows among siblings that are not known", () => {
    page.take({ type: "tail", tail: tail(200), words: words(), keys: [] });
    const numbers = (): (string | null)[] =>
      ["aria-setsize", "aria-posinset"].map((name) => root.querySelector(".row.leaf")?.getAttribute(name) ?? null);
    expect(numbers()).toEqual(["-1", null]);
    open();
    expect(numbers()).toEqual(["-1", null]);
    reply();
    expect(numbers()).toEqual(["1000", "1000"]);
  });

  it("gives way to all rows, each where it was", () => {
    page.take({ type: "tail", tail: tail(200), words: words(), keys: [] });
    const before = place("e999");
    open();
    expect(root.querySelector(".meter-text")?.textContent).toBe("1/2");
    expect(asked().length).toBe(1);
    reply();
    expect(place("e999")).toBe(before);
    expect(focused()).toBe("e999");
    expect(root.querySelector(".row.leaf")?.id).toBe("row-999");
    expect(posted.filter(({ type }) => type === "overview").length).toBe(1);
  });

  it("that does not fill the view stands where all rows will end", () => {
    page.take({ type: "tail", tail: tail(5), words: words(), keys: [] });
    expect(root.querySelectorAll(".row").length).toBe(5);
    const before = place("e995");
    expect(before).toBeGreaterThan(HEIGHT / 4);
    expect(asked()).toEqual([]);
    open();
    reply();
    expect(place("e995")).toBe(before);
  });

  it("keeps what was selected and scrolled to until the last moment", () => {
    page.take({ type: "tail", tail: tail(200), words: words(), keys: [] });
    for (let at = 0; at < 3; at++) page.take({ type: "act", action: "up" });
    expect(focused()).toBe("e996");
    open();
    page.take({ type: "act", action: "first" });
    expect(focused()).toBe("e800");
    reply();
    expect(asked().length).toBe(1);
    expect(focused()).toBe("e800");
    expect(selected()).toBe("e800");
    expect(place("e800")).toBe(0);
  });

  it("has no rows above its first one to go to", () => {
    page.take({ type: "tail", tail: tail(5), words: words(), keys: [] });
    page.take({ type: "act", action: "first" });
    expect(focused()).toBe("e995");
    page.take({ type: "act", action: "up" });
    expect(focused()).toBe("e995");
  });

  it("does nothing that needs the session, and all of that once it is there", () => {
    page.take({ type: "tail", tail: tail(200), words: words(), keys: [] });
    page.take({ type: "act", action: "up" });
    const boxes = (): boolean[] => [...root.querySelectorAll<HTMLInputElement>(".search, .filter")].map((box) => box.disabled);
    expect(boxes()).toEqual([true, true]);
    const others = PANEL_ACTIONS.filter((action) => !["down", "up", "pageDown", "pageUp", "first", "last", "leaf", "help"].includes(action));
    for (const action of others) page.take({ type: "act", action });
    expect(posted.filter(({ type }) => type !== "selected" && type !== "focus")).toEqual([]);
    expect(focused()).toBe("e998");
    open();
    reply();
    expect(boxes()).toEqual([false, false]);
    page.take({ type: "act", action: "filterAll" });
    expect(asked().at(-1)?.view.filter).toBe("all");
  });

  it("goes with the leaf if that moved meanwhile, unless something else is selected", () => {
    page.take({ type: "tail", tail: tail(200), words: words(), keys: [] });
    const moved = ALL.map((one): Row => ({ ...one, isLeaf: one.id === "e100" }));
    open("e100");
    reply(moved);
    expect(focused()).toBe("e100");
  });

  it("stays at what is selected if the leaf moved far away", () => {
    page.take({ type: "tail", tail: tail(200), words: words(), keys: [] });
    page.take({ type: "act", action: "up" });
    const moved = ALL.map((one): Row => ({ ...one, isLeaf: one.id === "e100" }));
    open("e100");
    reply(moved);
    reply(moved);
    expect(focused()).toBe("e998");
    expect(asked().length).toBe(2);
  });

  it("is left for an entry that is to be shown", () => {
    page.take({ type: "tail", tail: tail(200), words: words(), keys: [] });
    open();
    page.take({ type: "show", id: "e300" });
    reply();
    expect(focused()).toBe("e300");
  });
});

it("rows that do not fill the view leave room for a page above them, unless they are all", () => {
  expect(tailStart(5, HEIGHT, ROW_HEIGHT, false)).toBe(PAGE);
  expect(tailStart(5, HEIGHT, ROW_HEIGHT, true)).toBe(0);
  expect(tailStart(20, HEIGHT, ROW_HEIGHT, false)).toBe(0);
});

it("the first rows are for a page that begins among them, seen as at first", () => {
  const rows = ALL.slice(-200);
  const begins = (change: object): boolean => beginsAmong({ ...FIRST_STATE, ...change }, rows);
  expect(beginsAmong(null, rows)).toBe(true);
  expect(begins({ focusedId: "e900", top: { id: "e890", at: -3 } })).toBe(true);
  expect(begins({ focusedId: "e7" })).toBe(false);
  expect(begins({ top: { id: "e7", at: 0 } })).toBe(false);
  for (const view of [{ filter: "all" }, { query: "x" }, { folded: ["e9"] }, { expanded: ["e9"] }]) {
    expect(begins({ view: { ...FIRST_STATE.view, ...view } })).toBe(false);
  }
});

describe("a session's first rows", () => {
  let folder: string;
  let path: string;
  let asked: [string, unknown][];
  let answers: Record<string, unknown>;
  const opened = { session: session("/s"), leafId: "e999", revision: 1, usage: null, warnings: [], settings: {} };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "branchline-unit-"));
    path = join(folder, "session.jsonl");
    writeFileSync(path, "");
    truncateSync(path, 16 * 1024 * 1024 + 1);
    asked = [];
    answers = { "session/tail": tail(3), "session/open": opened };
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Look as two panels do at once; what the first was told before it had the conversation. */
  async function look(): Promise<unknown[]> {
    const daemon = {
      on: () => undefined,
      onState: () => undefined,
      request: (method: string, params: unknown) => {
        asked.push([method, params]);
        const said = answers[method];
        return said instanceof Error ? Promise.reject(said) : Promise.resolve(said);
      },
    };
    const conversations = new Conversations(daemon as unknown as Daemon);
    const told: unknown[] = [];
    const looks = [conversations.look(path, (first) => told.push(first, asked.length)), conversations.look(path)];
    const [one, two] = await Promise.all(looks);
    expect(one).toBe(two);
    return told;
  }

  it("are told before it is opened, if it is large", async () => {
    expect(await look()).toEqual([answers["session/tail"], 1]);
    expect(asked).toEqual([
      ["session/tail", { session: path, filter: "default", folded: [], expanded: [], layout: "pinned", runs: "tools", limit: 200 }],
      ["session/open", { session: path }],
    ]);
  });

  it("are not asked for if it is not", async () => {
    truncateSync(path, 16 * 1024 * 1024);
    expect(await look()).toEqual([]);
    expect(asked.map(([method]) => method)).toEqual(["session/open"]);
  });

  it("are nothing if there are none, or if the daemon does not know the method", async () => {
    answers["session/tail"] = tail(0);
    expect(await look()).toEqual([]);
    answers["session/tail"] = Object.assign(new Error("no such method"), { code: -32601 });
    expect(await look()).toEqual([]);
    expect(asked.map(([method]) => method)).toEqual(["session/tail", "session/open", "session/tail", "session/open"]);
  });

  it("have no error of their own: it is that of opening", async () => {
    answers = { "session/tail": new Error("of the tail"), "session/open": new Error("of opening") };
    await expect(look()).rejects.toThrow("of opening");
  });
});
