/** One row as an element. Knows nothing of scrolling or of the host. */

import { plainText, shortAge, shortCount } from "../shared/format";
import { lanes, pieces, sign, type Surroundings } from "../shared/lanes";
import type { Words } from "../shared/messages";
import type { Row } from "../shared/protocol";
import { element, fill } from "./dom";

export interface RowFacts {
  index: number;
  total: number;
  around: Surroundings;
  focused: boolean;
  bracketed: boolean;
  now: number;
}

export const rowId = (index: number): string => `row-${index}`;

/** What a row, or what it stands for, is said to hold, after its text. */
function ending(row: Row, words: Words): string {
  if (row.type === "run") return "";
  if (row.hidden !== null) {
    const count = row.hidden.messages;
    return ` · ${count === 1 ? words.message : fill(words.messages, count)}`;
  }
  const changed =
    row.context === "omitted"
      ? ` (${words.omitted})`
      : row.context === "replaced"
        ? ` (${words.replaced})`
        : "";
  return row.error ? `${changed} ✗` : changed;
}

/** What only those need who hear the row: others see it by signs and lines. */
function unseen(text: string): HTMLElement {
  return element("span", "unseen", {}, text);
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

export function drawRow(row: Row, facts: RowFacts, words: Words): HTMLElement {
  const classes = ["row"];
  if (row.onActivePath) classes.push("active");
  if (row.isLeaf) classes.push("leaf");
  if (row.role === "user") classes.push("user");
  if (row.role === "toolResult" || row.type === "run") classes.push("tool");
  if (row.context === "covered") classes.push("covered");
  if (row.context === "omitted") classes.push("omitted");
  if (row.error) classes.push("error");
  if (row.type === "compaction" || row.type === "branch_summary") classes.push("summary");
  if (facts.focused) classes.push("focused");
  if (facts.bracketed) classes.push("bracketed");

  const text = element("span", "text");
  for (const piece of pieces(row)) {
    text.append(piece.hit ? element("mark", "", {}, piece.text) : piece.text);
  }
  const own = sign(row, facts.around);
  const folds = row.foldable || row.folded;
  const made = element(
    "div",
    classes.join(" "),
    {
      id: rowId(facts.index),
      role: "treeitem",
      "aria-level": String(row.depth + 1),
      "aria-setsize": String(facts.total),
      "aria-posinset": String(facts.index + 1),
      "aria-selected": String(facts.focused),
      "data-vscode-context": JSON.stringify({
        webviewSection: "row",
        branchlineEntry: row.id,
        branchlineKind: row.type === "branches" ? "group" : (row.role ?? row.type),
        branchlineLabelled: row.label !== null,
        preventDefaultContextMenuItems: true,
      }),
    },
    element("span", "lanes", { "aria-hidden": "true" }, lanes(row, facts.around)),
    own === "" ? null : element("span", folds ? "sign fold" : "sign", { "aria-hidden": "true" }, own),
    unseen(speaker(row, words)),
    text,
    element("span", "ending", {}, ending(row, words)),
    unseen(state(row, words)),
    row.label === null ? null : element("span", "label", {}, `⚑${plainText(row.label)}`),
    row.isLeaf ? element("span", "here", {}, `◀ ${words.here}`) : null,
    element("span", "tokens", {}, shortCount(row.hidden?.tokens ?? row.tokens)),
    element("span", "age", {}, shortAge(row.hidden?.lastTimestamp ?? row.timestamp, facts.now)),
  );
  if (folds) made.setAttribute("aria-expanded", String(!row.folded));
  return made;
}
