/** One row as an element. Knows nothing of scrolling or of the host. */

import { isRightToLeft, plainText, shortAge, shortCount } from "../shared/format";
import { laneList, pieces, sign, type Surroundings } from "../shared/lanes";
import type { Words } from "../shared/messages";
import type { Row } from "../shared/protocol";
import { ROW_HEIGHT } from "../shared/windowing";
import { element, fill } from "./dom";

export interface RowFacts {
  index: number;
  around: Surroundings;
  focused: boolean;
  /** Where the row is in what a plan is about; empty outside. */
  bracket: string;
  /** Whether a label says when it was set. */
  labelTime: boolean;
  now: number;
  /** Whether rows beside it may not be known yet. */
  provisional: boolean;
}

export const rowId = (index: number): string => `row-${index}`;

function messages(count: number, words: Words): string {
  return count === 1 ? words.message : fill(words.messages, count);
}

/** What a row stands for, or what became of it, after its text. */
function ending(row: Row, words: Words): string {
  if (row.type === "run") return row.error ? " ✗" : "";
  if (row.hidden !== null) return ` · ${messages(row.hidden.messages, words)}`;
  const changed = row.context === "omitted" || row.context === "replaced" ? ` (${words[row.context]})` : "";
  return row.error ? `${changed} ✗` : changed;
}

function classes(row: Row, facts: RowFacts): string {
  const found = ["row"];
  if (row.onActivePath) found.push("active");
  if (row.isLeaf) found.push("leaf");
  if (row.role === "user") found.push("user");
  if (row.role === "toolResult" || row.type === "run") found.push("tool");
  if (row.context === "covered" || row.context === "omitted") found.push(row.context);
  if (row.error) found.push("error");
  if (row.type === "compaction" || row.type === "branch_summary") found.push("summary");
  if (row.type === "branches") found.push("group");
  if (facts.focused) found.push("focused");
  if (facts.bracket !== "") found.push(facts.bracket);
  return found.join(" ");
}

/** What only those need who hear the row, others see it by signs and lines; nothing for nothing. */
function unseen(text: string): HTMLElement | null {
  return text === "" ? null : element("span", "unseen", {}, text);
}

/** Who speaks, before the row's text. */
function speaker(row: Row, words: Words): string {
  if (row.role === "user") return `${words.user}: `;
  if (row.role === "assistant") return `${words.assistant}: `;
  return row.role === "toolResult" || row.type === "run" ? `${words.tool}: ` : "";
}

/** What the row's lines say of it, after its text. */
function state(row: Row, words: Words): string {
  const facts = [
    row.error ? words.failed : "",
    row.context === "covered" ? words.covered : "",
    row.label === null ? "" : words.label,
  ];
  return facts.map((fact) => (fact === "" ? "" : `, ${fact}`)).join("");
}

/** A row in full, on several lines. */
export function hoverText(row: Row, words: Words): string {
  const time = Date.parse(row.hidden?.lastTimestamp ?? row.timestamp ?? "");
  const when = Number.isNaN(time) ? "" : new Date(time).toLocaleString();
  const label = row.label === null ? "" : `⚑ ${plainText(row.label)}`;
  const tokens = fill(words.tokens, row.hidden?.tokens ?? row.tokens);
  return [plainText(row.text), label, tokens, when].filter((line) => line !== "").join("\n");
}

const direction = (text: string): Record<string, string> => (isRightToLeft(text) ? { dir: "rtl" } : {});

export function drawRow(row: Row, facts: RowFacts, words: Words): HTMLElement {
  const text = element("span", "text", direction(row.text));
  for (const piece of pieces(row)) {
    text.append(piece.hit ? element("mark", "", {}, piece.text) : piece.text);
  }
  // Where the lane says it already the sign's place stays empty: texts begin in one line.
  const signs = (sign(row, facts.around) || " ").split(" ").slice(0, -1);
  const folds = row.foldable || row.folded;
  const said = ending(row, words);
  const labelAge = facts.labelTime ? ` ${shortAge(row.labelTimestamp, facts.now)}` : "";
  const tokens = row.hidden?.tokens ?? row.tokens;
  const age = shortAge(row.hidden?.lastTimestamp ?? row.timestamp, facts.now);
  const made = element(
    "div",
    classes(row, facts),
    {
      id: rowId(facts.index),
      role: "treeitem",
      "aria-level": String(row.depth + 1),
      // -1 says that it is not known.
      "aria-setsize": facts.provisional ? "-1" : String(row.siblings),
      ...(!facts.provisional && { "aria-posinset": String(row.position) }),
      "aria-selected": String(facts.focused),
      "data-vscode-context": JSON.stringify({
        webviewSection: "row",
        branchlineEntry: row.id,
        branchlineKind: row.type === "branches" ? "group" : (row.role ?? row.type),
        branchlineLabelled: row.label !== null,
        preventDefaultContextMenuItems: true,
      }),
    },
    ...laneList(row, facts.around).map((lane) => element("span", `lane ${lane}`)),
    ...signs.map((one, at) =>
      element("span", folds && at === 0 ? "sign fold" : "sign", { "aria-hidden": "true" }, one),
    ),
    unseen(speaker(row, words)),
    text,
    said === "" ? null : element("span", "ending", {}, said),
    unseen(state(row, words)),
    row.label === null ? null : element("span", "label", direction(row.label), `⚑${plainText(row.label)}${labelAge}`),
    row.isLeaf ? element("span", "here", {}, `◀ ${words.here}`) : null,
    element("span", "tokens", {}, shortCount(tokens)),
    element("span", "age", {}, age),
  );
  if (folds) made.setAttribute("aria-expanded", String(!row.folded));
  made.style.top = `${facts.index * ROW_HEIGHT}px`;
  return made;
}
