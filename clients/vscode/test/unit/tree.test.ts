// How one looks at the tree, what is kept of that, and what keys ask of it: the pure parts.
import { describe, expect, it } from "vitest";
import { FILTERING, LOCATED, stepped } from "../../src/panel/actions";
import { FILTERS, PANEL_ACTIONS } from "../../src/shared/messages";
import { FIRST_STATE, folding, nextFilter, readState, unfolding, type Looking } from "../../src/shared/treeState";
import { row } from "./rows";

const view = (change: Partial<Looking> = {}): Looking => ({ ...FIRST_STATE.view, ...change });

describe("what is kept of the tree", () => {
  const kept = {
    view: view({ filter: "all", query: "words", folded: ["a"], expanded: ["b"] }),
    focusedId: "x",
    top: { id: "y", at: -7 },
    labelTimes: true,
  };

  it("is read as it was written", () => {
    expect(readState(JSON.parse(JSON.stringify(kept)))).toEqual(kept);
    expect(readState(FIRST_STATE)).toEqual(FIRST_STATE);
  });

  it("of an older page has no place and is read all the same", () => {
    expect(readState({ view: kept.view, focusedId: "x" })).toEqual({ ...kept, top: null, labelTimes: false });
  });

  it.each([
    null,
    "text",
    {},
    { ...kept, view: { ...kept.view, filter: "most" } },
    { ...kept, view: { ...kept.view, query: 5 } },
    { ...kept, view: { ...kept.view, folded: [1] } },
    { ...kept, view: { ...kept.view, expanded: null } },
  ])("that is not of this shape is nothing: %j", (state) => expect(readState(state)).toBeNull());

  it.each([{ id: 1, at: 0 }, { id: "y" }, "top"])("without a place, if that is none: %j", (top) =>
    expect(readState({ ...kept, top })?.top).toBeNull());
});

describe("folding", () => {
  it("opens a branch, a group by its fork, and roots", () => {
    expect(unfolding(view(), row("x", { folded: true }))).toEqual({ expanded: ["x"] });
    expect(unfolding(view(), row("x", { type: "branches", parentId: "f" }))).toEqual({ expanded: ["f"] });
    expect(unfolding(view(), row("x", { type: "branches" }))).toEqual({ expanded: ["root"] });
  });

  it("opens what was folded by hand", () => {
    expect(unfolding(view({ folded: ["w", "x"] }), row("x", { folded: true }))).toEqual({ folded: ["w"] });
  });

  it("closes what was opened, from each of its rows", () => {
    const opened = view({ expanded: ["x", "f"] });
    expect(folding(opened, row("x", { foldable: true }))).toEqual({ expanded: ["f"] });
    expect(folding(opened, row("y", { parentId: "f" }))).toEqual({ expanded: ["x"] });
  });

  it("folds what can be folded, and nothing else", () => {
    expect(folding(view(), row("x", { foldable: true }))).toEqual({ folded: ["x"] });
    expect(folding(view(), row("x"))).toBeNull();
    expect(folding(view(), row("x", { foldable: true, folded: true }))).toBeNull();
  });
});

describe("keys", () => {
  it("go through all filters, around", () => {
    let filter = FILTERS[0] ?? "all";
    const seen = FILTERS.map(() => (filter = nextFilter(filter)));
    expect([...seen].sort()).toEqual([...FILTERS].sort());
    expect(filter).toBe("default");
  });

  it("step by rows and by what is on screen", () => {
    const step = (action: (typeof PANEL_ACTIONS)[number]): number | null => stepped(action, 50, 20, 100);
    expect([step("down"), step("up"), step("pageDown"), step("pageUp"), step("first"), step("last")]).toEqual([
      51, 49, 69, 31, 0, 99,
    ]);
    expect(stepped("pageDown", 5, 1, 100)).toBe(6);
    expect(step("leaf")).toBeNull();
  });

  it("have one filter each, and one direction", () => {
    expect(Object.values(FILTERING).sort()).toEqual([...FILTERS].sort());
    expect(Object.keys({ ...FILTERING, ...LOCATED }).filter((name) => !PANEL_ACTIONS.includes(name as never))).toEqual([]);
  });
});
