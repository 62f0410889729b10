/**
 * Bringing an entry into sight wherever it is: ends what hides it, opens what it is folded in, and goes
 * there.
 *
 * Each question is for the one row that the entry stands in. Its number is negative: those of the tree
 * are not.
 */

import type { TreeAnswer } from "../shared/messages";
import type { EntryId, View } from "../shared/protocol";
import { revealing, type Looking } from "../shared/treeState";
import type { Tree } from "./tree";

export class Reveal {
  private ask = 0;
  private id: EntryId | null = null;
  private view: Looking | null = null;

  constructor(
    private readonly tree: Pick<Tree, "view" | "show">,
    private readonly askRow: (ask: number, view: View, at: { around: EntryId }) => void,
  ) {}

  start(id: EntryId): void {
    this.id = id;
    this.view = null;
    this.askRow(--this.ask, this.tree.view, { around: id });
  }

  /** Take an answer, if it is to a question of ours; one that was overtaken is passed over. */
  rows(ask: number, answer: TreeAnswer): boolean {
    if (ask >= 0) return false;
    const { id } = this;
    if (ask !== this.ask || id === null) return true;
    const view = { ...this.tree.view, ...this.view };
    const row = answer.rows[0];
    const change = revealing(view, row, id);
    if (change === null) {
      this.id = null;
      // Without a row of its own: to the one that is nearest.
      this.tree.show(row?.id ?? id, this.view === null ? undefined : view);
      return true;
    }
    this.view = { ...view, ...change };
    this.askRow(--this.ask, { ...this.tree.view, ...this.view }, { around: id });
    return true;
  }
}
