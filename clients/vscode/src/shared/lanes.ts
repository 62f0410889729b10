/**
 * How rows are drawn: lanes, signs and marks, the same as `branchline tree` draws in a terminal.
 *
 * Pure: rows of the protocol in, plain values out. Colours and HTML are the panel's.
 */

import { plainText } from "./format";
import type { Row } from "./protocol";

/** What the lanes of one row need to know of its neighbours. */
export interface Surroundings {
  /** Whether a branch begins at this row, so that it hangs from its fork. */
  begins: boolean;
  /** Whether the trunk beside it is compacted away; null where no trunk passes. */
  trunkCovered: boolean | null;
}

const MOST_LANES = 8;

/** The surroundings of each row of a window of rows that have no gaps. */
export function surroundings(rows: readonly Row[]): Surroundings[] {
  const depths = new Map<string | null, number>([[null, 0]]);
  const found: Surroundings[] = [];
  let previous: Row | undefined;
  for (const row of rows) {
    // What follows a run hangs from the run's last entry, which has no row of its own.
    if (previous?.type === "run" && !depths.has(row.parentId)) {
      depths.set(row.parentId, previous.depth);
    }
    const parentDepth = depths.get(row.parentId);
    // Where the fork stands above the window, all that is known is that nearly every branch folds.
    const deeper = parentDepth === undefined ? row.foldable : row.depth > parentDepth;
    found.push({
      begins: deeper && row.depth > 0 && !row.guides.includes(row.depth),
      trunkCovered: row.guides.includes(0) ? false : null,
    });
    depths.set(row.id, row.depth);
    previous = row;
  }
  // The trunk beside a branch is drawn as the trunk's next row: what stands above it hangs from it.
  let covered = false;
  for (let at = rows.length - 1; at >= 0; at--) {
    const row = rows[at];
    const around = found[at];
    if (row === undefined || around === undefined) continue;
    if (row.depth === 0) covered = row.context === "covered";
    if (around.trunkCovered !== null) around.trunkCovered = covered;
  }
  return found;
}

/** The lanes at the beginning of a row, as text. */
export function lanes(row: Row, around: Surroundings): string {
  if (row.depth === 0) {
    if (row.isLeaf) return "◉ ";
    if (row.type === "compaction") return "◆ ";
    return row.context === "covered" ? "┆ " : "┃ ";
  }
  const trunk = around.trunkCovered === null ? " " : around.trunkCovered ? "┆" : "┃";
  // Of many lanes only the innermost are drawn: more would leave no room for the text.
  let passing = "";
  for (let lane = Math.max(1, row.depth - MOST_LANES); lane < row.depth; lane++) {
    passing += row.guides.includes(lane) ? "│  " : "   ";
  }
  const own = around.begins
    ? row.last
      ? "└╴"
      : "├╴"
    : row.guides.includes(row.depth)
      ? "│  "
      : "   ";
  return `${trunk} ${passing}${own}`;
}

export type Lane = "trunk" | "covered" | "line" | "branch" | "last" | "leaf" | "compaction" | "none";

const LANES: Record<string, Lane> = {
  "┃": "trunk",
  "┆": "covered",
  "│": "line",
  "├": "branch",
  "└": "last",
  "◉": "leaf",
  "◆": "compaction",
};

/** The lanes at the beginning of a row, one after the other from the left, for who draws them as lines. */
export function laneList(row: Row, around: Surroundings): Lane[] {
  const text = lanes(row, around);
  // The trunk's lane is two characters wide, each other three.
  const starts = [0];
  for (let at = 2; at < text.length; at += 3) starts.push(at);
  return starts.map((at) => LANES[text.charAt(at)] ?? "none");
}

/** The sign of what a row is, with a blank after it; empty where its lane says so already. */
export function sign(row: Row, around: Surroundings): string {
  if (row.type === "run") return "⚙ ";
  if (row.folded) return "⊞ ";
  const inLane = row.type === "compaction" && row.depth === 0 && !row.isLeaf;
  const own = inLane ? "" : `${kindSign(row)} `;
  return row.foldable && around.begins ? `⊟ ${own}` : own;
}

function kindSign(row: Row): string {
  if (row.isLeaf && row.depth > 0) return "◉";
  switch (row.role) {
    case "user":
      return row.onActivePath ? "●" : "○";
    case "assistant":
      return "·";
    case "toolResult":
    case "bashExecution":
      return "⚙";
  }
  if (row.type === "compaction") return "◆";
  return row.type === "branch_summary" ? "⇄" : "◦";
}

/** A row's text in pieces, alternately outside and inside of a match; the cleaned pieces' sum is its text. */
export function pieces(row: Row): { text: string; hit: boolean }[] {
  const found: { text: string; hit: boolean }[] = [];
  let at = 0;
  for (const [start, end] of row.matches) {
    if (start < at || end <= start || start >= row.text.length) continue;
    if (start > at) found.push({ text: plainText(row.text.slice(at, start)), hit: false });
    found.push({ text: plainText(row.text.slice(start, end)), hit: true });
    at = end;
  }
  if (at < row.text.length) found.push({ text: plainText(row.text.slice(at)), hit: false });
  return found;
}
