/** The tree's questions that are not answered yet. */

import type { Anchor } from "../shared/treeState";

/**
 * What an answer is waited for: all rows anew, a page of them, the focused row, another place.
 *
 * `inPlace`: they take the place of the first ones, around the leaf, wherever the person is by then.
 */
export type Question = { reload: Anchor | null; told: boolean; inPlace: boolean } | { page: number } | "focus" | "locate";

export class Questions {
  private asked = 0;
  private readonly pending = new Map<number, Question>();

  /** The number of a new question. */
  ask(what: Question): number {
    this.pending.set(++this.asked, what);
    return this.asked;
  }

  /** What was asked, once; undefined if that was overtaken. */
  take(ask: number): Question | undefined {
    const what = this.pending.get(ask);
    this.pending.delete(ask);
    return what;
  }

  /** Answers to all that was asked so far come too late. */
  overtake(): void {
    this.pending.clear();
  }

  /** Whether all rows are asked for anew. */
  get reload(): boolean {
    return [...this.pending.values()].some((what) => typeof what === "object" && "reload" in what);
  }

  /** Which pages are asked for. */
  get pages(): Set<number> {
    const found = new Set<number>();
    for (const what of this.pending.values()) if (typeof what === "object" && "page" in what) found.add(what.page);
    return found;
  }
}
