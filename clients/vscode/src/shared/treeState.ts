/** How a person looks at the tree, and where: what outlives a reload of the page. Pure. */

import { FILTERS } from "./messages";
import type { EntryId, Filter, Row, View } from "./protocol";

/** A row and where it stands, in pixels from the top of the view. */
export interface Place {
  id: EntryId;
  at: number;
}

/** Where a row is to stand after a drawing anew; in the middle, if `at` is null. */
export interface Anchor {
  id: EntryId;
  at: number | null;
  focus: boolean;
}

export type Looking = Required<Pick<View, "filter" | "folded" | "expanded">> & { query: string | null };

export interface TreeState {
  view: Looking;
  focusedId: EntryId | null;
  /** The first row on screen. */
  top: Place | null;
  /** Whether labels say when they were set. */
  labelTimes: boolean;
}

export const FIRST_STATE: TreeState = {
  view: { filter: "default", query: null, folded: [], expanded: [] },
  focusedId: null,
  top: null,
  labelTimes: false,
};

/** How every session is drawn, whatever a person looks at. */
export const DRAWING = { layout: "pinned", runs: "tools" } as const;

/** Whether a page that was left in this state shows some of these rows first, of a session seen as at first. */
export function beginsAmong(state: TreeState | null, rows: readonly Row[]): boolean {
  if (state === null) return true;
  const { filter, query, folded, expanded } = state.view;
  const asAtFirst = filter === FIRST_STATE.view.filter && query === null && folded.length + expanded.length === 0;
  const wanted = [state.focusedId, state.top?.id ?? null].filter((id) => id !== null);
  return asAtFirst && wanted.every((id) => rows.some((row) => row.id === id));
}

/** What was kept, if it is of this shape. */
export function readState(state: unknown): TreeState | null {
  if (typeof state !== "object" || state === null) return null;
  const { view, focusedId, top, labelTimes } = state as Partial<TreeState>;
  const ids = (list: unknown): boolean =>
    Array.isArray(list) && list.every((id) => typeof id === "string");
  if (typeof view !== "object" || !ids(view.folded) || !ids(view.expanded)) return null;
  if (!FILTERS.includes(view.filter)) return null;
  if (view.query !== null && typeof view.query !== "string") return null;
  const { filter, query, folded, expanded } = view;
  const placed = typeof top === "object" && top !== null && typeof top.id === "string";
  return {
    view: { filter, query, folded, expanded },
    focusedId: typeof focusedId === "string" ? focusedId : null,
    top: placed && Number.isFinite(top.at) ? { id: top.id, at: top.at } : null,
    labelTimes: labelTimes === true,
  };
}

/** Where a page begins: at the kept place, or at its leaf; null for the top. */
export function firstAnchor({ top, focusedId }: TreeState, leafId: EntryId | null): Anchor | null {
  if (top !== null) return { ...top, focus: false };
  const id = focusedId ?? leafId;
  return id === null ? null : { id, at: null, focus: true };
}

/** The filter after another, around. */
export function nextFilter(filter: Filter): Filter {
  return FILTERS[(FILTERS.indexOf(filter) + 1) % FILTERS.length] ?? "default";
}

/** What opening a folded row changes in the view. */
export function unfolding(view: Looking, row: Row): Partial<Looking> {
  const id = row.type === "branches" ? (row.parentId ?? "root") : row.id;
  const { folded, expanded } = view;
  if (folded.includes(id)) return { folded: folded.filter((one) => one !== id) };
  return { expanded: [...expanded, id] };
}

/**
 * What to change in the view so that an entry gets a row of its own, one step at a time.
 *
 * @param row the row that it stands in now, if any.
 * @returns null if it has a row of its own, or nothing more can be done.
 */
export function revealing(view: Looking, row: Row | undefined, id: EntryId): Partial<Looking> | null {
  const group = row?.type === "run" || row?.type === "branches";
  if (row?.id === id && !group) return null;
  if (view.query !== null) return { query: null };
  if (row?.folded === true) {
    const change = unfolding(view, row);
    const opens = change.expanded?.at(-1);
    if (opens === undefined || !view.expanded.includes(opens)) return change;
  }
  if (view.filter === "all") return null;
  return { filter: view.filter === "default" ? "all" : "default" };
}

/** What folding a row, or the group it was opened from, changes in the view; null if nothing folds. */
export function folding(view: Looking, row: Row): Partial<Looking> | null {
  const { folded, expanded } = view;
  const opened = [row.id, row.parentId ?? "root"].find((id) => expanded.includes(id));
  if (expanded.includes(row.id) || (opened !== undefined && !row.foldable)) {
    return { expanded: expanded.filter((id) => id !== opened) };
  }
  return row.foldable && !row.folded ? { folded: [...folded, row.id] } : null;
}
