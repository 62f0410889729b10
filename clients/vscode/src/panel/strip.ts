/**
 * The overview beside the tree: leaf, forks, hits and labels of the whole conversation, and what is on screen.
 *
 * Its scale is the conversation without a search, so hits show where they lie. What a mark is, its side
 * says: forks left, hits in the middle, labels right, the leaf across.
 */

import type { Overview } from "../shared/messages";
import type { Span } from "../shared/windowing";
import { element } from "./dom";

/** Marks that would fall on one of so many spots are drawn once. */
const SPOTS = 300;

export class Strip {
  readonly element = element("div", "strip", { "aria-hidden": "true" });
  private readonly marks = element("div", "strip-marks");
  private readonly view = element("div", "mark-view");
  private overview: Overview | null = null;
  private onScreen: Span = { first: 0, end: 0 };

  /** `go` scrolls to a row of the list that is shown, `select` selects one. */
  constructor(
    private readonly go: (row: number) => void,
    private readonly select: (row: number) => void,
  ) {
    this.view.hidden = true; // until it is known where in the whole that is
    this.element.append(this.view, this.marks);
    this.element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.element.setPointerCapture(event.pointerId);
      this.jump(event);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (this.element.hasPointerCapture(event.pointerId)) this.jump(event);
    });
  }

  show(overview: Overview): void {
    this.overview = overview;
    const marks: HTMLElement[] = [];
    const put = (rows: readonly number[], className: string): void => {
      const spots = new Set(rows.map((row) => Math.floor((row * SPOTS) / Math.max(1, overview.total))));
      for (const spot of spots) {
        const mark = element("div", className);
        mark.style.top = `${(100 * spot) / SPOTS}%`;
        marks.push(mark);
      }
    };
    put(overview.forks, "mark-fork");
    put(overview.hits, "mark-hit");
    put(overview.labels, "mark-label");
    put(overview.leafRow === null ? [] : [overview.leafRow], "mark-leaf");
    this.marks.replaceChildren(...marks);
    this.look(this.onScreen);
  }

  /** Mark these rows of the shown list as those on screen. */
  look(onScreen: Span): void {
    this.onScreen = onScreen;
    if (this.overview === null) return;
    const { hits, total } = this.overview;
    let { first, end } = onScreen;
    const all = first === 0 && end >= (hits.length > 0 ? hits.length : total);
    if (hits.length > 0) {
      const seen = hits.slice(first, end);
      first = seen.reduce((least, row) => Math.min(least, row), total);
      end = seen.reduce((most, row) => Math.max(most, row + 1), 0);
    }
    this.view.hidden = all || end <= first;
    this.view.style.top = `${(100 * first) / Math.max(1, total)}%`;
    this.view.style.height = `${(100 * (end - first)) / Math.max(1, total)}%`;
  }

  private jump(event: PointerEvent): void {
    if (this.overview === null) return;
    const { hits, total } = this.overview;
    const box = this.element.getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / Math.max(1, box.height)) * total);
    if (hits.length === 0) {
      this.go(Math.min(total - 1, Math.max(0, row)));
      return;
    }
    let nearest = 0;
    for (const [index, hit] of hits.entries()) {
      if (Math.abs(hit - row) < Math.abs((hits[nearest] ?? 0) - row)) nearest = index;
    }
    this.select(nearest);
  }
}
