import { describe, expect, it } from "vitest";
import { crop, isRightToLeft, plainText, prettyKey, shortAge, shortCount } from "../../src/shared/format";
import { lanes, pieces, sign, surroundings } from "../../src/shared/lanes";
import { readToHost } from "../../src/shared/messages";
import { PAGE, Pages, scrollTo, shown } from "../../src/shared/windowing";
import type { Row } from "../../src/shared/protocol";
import { row } from "./rows";

describe("texts", () => {
  it.each([
    [0, "0"],
    [999, "999"],
    [1499, "1k"],
    [61_500, "62k"],
    [999_499, "999k"],
    [999_500, "1.0M"],
    [120_000_000, "120M"],
  ])("%d tokens are %s", (count, text) => expect(shortCount(count)).toBe(text));

  const now = Date.parse("2026-01-10T00:00:00Z");
  it.each([
    ["2026-01-09T23:59:30Z", "now"],
    ["2026-01-09T23:15:00Z", "45m"],
    ["2026-01-09T12:00:00Z", "12h"],
    ["2026-01-01T00:00:00Z", "9d"],
    ["2024-01-01T00:00:00Z", "2y"],
    ["no time", ""],
    [null, ""],
  ])("%s is %s ago", (time, text) => expect(shortAge(time, now)).toBe(text));

  it("are without what could reorder or hide others", () => {
    expect(plainText("a\u202eb\u0007c\u200d\u001b[31md\ne\u2028f")).toBe("abc\u200d[31md e f");
    expect(plainText("lone \ud800 end")).toBe("lone \ufffd end");
  });

  it.each([
    ["latin, then \u05d0", false],
    ["12. \u0633\u0624\u0627\u0644 latin", true],
    ["\u05ea\u05e9", true],
    ["\u65e5\u672c", false],
    ["12", false],
    ["", false],
  ])("%s is from right to left: %s", (text, rtl) => expect(isRightToLeft(text)).toBe(rtl));

  it.each([
    ["ctrl+left", "Ctrl+←"],
    ["shift+/", "?"],
    ["shift+l", "Shift+L"],
    ["pagedown", "Page Down"],
    ["'", "'"],
  ])("%s is the key %s", (key, text) => expect(prettyKey(key)).toBe(text));

  it("are never cut inside a surrogate pair", () => {
    expect(crop("abcdef", 4)).toBe("abc…");
    expect(crop("ab😀cdef", 4)).toBe("ab…");
    expect(crop("abc", 4)).toBe("abc");
  });
});

/** The picture of rows, without their texts. */
function picture(rows: Row[]): string[] {
  const around = surroundings(rows);
  return rows.map((one, at) => {
    const place = around[at] ?? { begins: false, trunkCovered: null };
    return lanes(one, place) + sign(one, place) + one.text;
  });
}

describe("lanes", () => {
  it("draw the pinned layout as the terminal does", () => {
    const rows = [
      row("ask", { role: "user", context: "covered" }),
      row("one", { parentId: "ask", depth: 1, foldable: true, folded: true, onActivePath: false }),
      row("two", { parentId: "ask", depth: 1, guides: [0], last: true, foldable: true, onActivePath: false }),
      row("deep", { parentId: "two", depth: 1, guides: [0], role: "user", onActivePath: false }),
      row("short", { parentId: "ask", type: "compaction", role: null }),
      row("steps", { parentId: "short", type: "run", role: "toolResult" }),
      row("back", { parentId: "steps", type: "branch_summary", role: null }),
      row("end", { parentId: "back", isLeaf: true }),
    ];
    expect(picture(rows)).toEqual([
      "┆ ● ask",
      "┃ ├╴⊞ one",
      "┃ └╴⊟ · two",
      "┃    ○ deep",
      "◆ short",
      "┃ ⚙ steps",
      "┃ ⇄ back",
      "◉ · end",
    ]);
  });

  it("of a covered trunk beside a branch are dotted", () => {
    const rows = [
      row("a", { context: "covered" }),
      row("b", { parentId: "a", depth: 1, foldable: true, folded: true }),
      row("c", { parentId: "a", context: "covered" }),
    ];
    expect(picture(rows)[1]).toBe("┆ ├╴⊞ b");
  });

  it("are the same for a window as for the whole, but for what stands above", () => {
    const rows = [
      row("a"),
      row("b", { parentId: "a", depth: 1, foldable: true, folded: true, last: true }),
      row("c", { parentId: "a" }),
    ];
    expect(picture(rows.slice(1))).toEqual(picture(rows).slice(1));
  });

  it("leave room for the text however deep", () => {
    const deep = row("x", { depth: 5000, guides: [0] });
    expect(lanes(deep, { begins: false, trunkCovered: false }).length).toBeLessThan(40);
  });

  it("mark hits, and pass over hits that make no sense", () => {
    const found = row("x", { text: "scan by scan", matches: [[0, 4], [8, 12], [9, 10], [50, 60]] });
    expect(pieces(found)).toEqual([
      { text: "scan", hit: true },
      { text: " by ", hit: false },
      { text: "scan", hit: true },
    ]);
  });
});

describe("windows", () => {
  it("hold what is on screen and a little more", () => {
    expect(shown(0, 220, 22, 1000)).toEqual({ first: 0, end: 18 });
    expect(shown(2200, 220, 22, 1000)).toEqual({ first: 92, end: 118 });
    expect(shown(21_900, 220, 22, 1000)).toEqual({ first: 987, end: 1000 });
    expect(shown(5000, 220, 22, 3)).toEqual({ first: 3, end: 3 });
  });

  it("are scrolled no further than needed", () => {
    expect(scrollTo(5, 0, 220, 22)).toBe(0);
    expect(scrollTo(20, 0, 220, 22)).toBe(242);
    expect(scrollTo(2, 220, 220, 22)).toBe(44);
    expect(scrollTo(50, 0, 220, 22, true)).toBe(1001);
  });

  const many = Array.from({ length: 1000 }, (_none, at) => row(`e${at}`));

  it("keep whole pages, wherever an answer begins", () => {
    const pages = new Pages();
    pages.add(350, many.slice(350, 950), 1000);
    expect(pages.at(399)).toBeUndefined();
    expect(pages.at(400)?.id).toBe("e400");
    expect(pages.at(799)?.id).toBe("e799");
    expect(pages.at(800)).toBeUndefined();
    expect(pages.missing({ first: 390, end: 810 })).toEqual([1, 4]);
    expect(pages.indexOf("e500")).toBe(500);
    expect(pages.indexOf("e1")).toBeNull();
  });

  it("keep a short last page", () => {
    const pages = new Pages();
    pages.add(0, many.slice(0, 250), 250);
    expect(pages.at(249)?.id).toBe("e249");
    expect(pages.missing({ first: 0, end: 250 })).toEqual([]);
  });

  it("forget pages, so that memory does not grow", () => {
    const pages = new Pages();
    for (let page = 0; page < 100; page++) pages.add(page * PAGE, many.slice(0, PAGE), 100 * PAGE);
    expect(pages.missing({ first: 0, end: 100 * PAGE }).length).toBe(88);
    expect(pages.at(99 * PAGE)).toBeDefined();
  });

  it("give rows without gaps", () => {
    const pages = new Pages();
    pages.add(400, many.slice(400, 600), 1000);
    const { first, rows } = pages.around({ first: 450, end: 700 });
    expect([first, rows.length]).toEqual([400, 200]);
  });
});

describe("what a page may say", () => {
  const view = { filter: "default", query: null, folded: [], expanded: [] };
  it.each([
    { type: "ready" },
    { type: "rows", ask: 1, view, at: 0, limit: 10 },
    { type: "rows", ask: 1, view, at: { around: "x" }, limit: 10 },
    { type: "locate", ask: 1, view, from: "x", to: "leaf" },
    { type: "overview", ask: 1, view },
    { type: "focus", panel: true, input: false },
    { type: "selected", id: null, role: null, label: null, ask: null },
    { type: "command", command: "branchline.switchHere", id: "x" },
  ])("$type", (message) => expect(readToHost(message)).toEqual(message));

  it.each([
    null,
    "ready",
    { type: "other" },
    { type: "command", command: "workbench.action.terminal.new", id: null },
    { type: "command", command: "branchline.deleteSession", id: null },
    { type: "rows", ask: 1, view: { ...view, filter: "x" }, at: 0, limit: 10 },
    { type: "rows", ask: 1, view, at: "0", limit: 10 },
    { type: "rows", ask: 1, view: { ...view, folded: [1] }, at: 0, limit: 10 },
    { type: "locate", ask: 1, view, from: "x", to: "anywhere" },
    { type: "overview", ask: 1, view: null },
    { type: "overview", view },
    { type: "selected", id: 5, role: null, label: null, ask: null },
  ])("and what not: %j", (message) => expect(readToHost(message)).toBeNull());
});
