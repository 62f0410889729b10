/** What keys and menus ask of the tree, as tables. Pure. */

import type { PanelAction } from "../shared/messages";
import type { Direction, Filter } from "../shared/protocol";

/** Where the daemon says where to go. */
export const LOCATED: Partial<Record<PanelAction, Direction>> = {
  fork: "fork",
  nextSibling: "nextSibling",
  previousSibling: "previousSibling",
  nextUser: "nextUser",
  previousUser: "previousUser",
  nextLabel: "nextLabel",
  previousLabel: "previousLabel",
  nextHit: "nextHit",
  previousHit: "previousHit",
};

export const FILTERING: Partial<Record<PanelAction, Filter>> = {
  filterDefault: "default",
  filterNoTools: "noTools",
  filterUserOnly: "userOnly",
  filterLabeledOnly: "labeledOnly",
  filterAll: "all",
};

/** The row that a step leads to from one, be it there or not; null for what is no step. */
export function stepped(
  action: PanelAction,
  index: number,
  onScreen: number,
  total: number,
): number | null {
  switch (action) {
    case "down":
      return index + 1;
    case "up":
      return index - 1;
    case "pageDown":
      return index + Math.max(1, onScreen - 1);
    case "pageUp":
      return index - Math.max(1, onScreen - 1);
    case "first":
      return 0;
    case "last":
      return total - 1;
    default:
      return null;
  }
}
