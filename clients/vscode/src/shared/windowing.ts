/**
 * Which rows are on screen, and which of them are known: the arithmetic of virtual scrolling.
 *
 * Rows all have one height. They are kept in pages; a page that is far from the screen is forgotten,
 * so that memory does not grow with the session.
 */

import type { Row } from "./protocol";

/** The height of a row, in pixels; the style sheet has it too. */
export const ROW_HEIGHT = 22;
/** Rows are asked for and kept by this many. */
export const PAGE = 200;
/** How many pages are kept: the screen, what lies around it, and where one was before. */
const MOST_PAGES = 12;

export interface Span {
  /** Index of the first row. */
  first: number;
  /** Index after the last row. */
  end: number;
}

/** The rows that a view of this height shows, with some above and below. */
export function shown(scrollTop: number, height: number, rowHeight: number, total: number): Span {
  const extra = 8;
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - extra);
  const end = Math.min(total, Math.ceil((scrollTop + height) / rowHeight) + extra);
  return { first: Math.min(first, end), end };
}

/** The scroll position that brings a row into sight with the least movement, or in the middle. */
export function scrollTo(
  index: number,
  scrollTop: number,
  height: number,
  rowHeight: number,
  centre = false,
): number {
  const top = index * rowHeight;
  if (centre) return Math.max(0, top - (height - rowHeight) / 2);
  if (top < scrollTop) return top;
  return top + rowHeight > scrollTop + height ? top + rowHeight - height : scrollTop;
}

/**
 * The index of the first of the rows around the leaf, while no others are known.
 *
 * Rows that do not fill the view stand at its bottom, as they will when the others are there: above them
 * is room for a page that is not known.
 */
export function tailStart(count: number, height: number, rowHeight: number, whole: boolean): number {
  return whole || count * rowHeight >= height ? 0 : PAGE;
}

/** The rows that are known, of one drawing at one revision. */
export class Pages {
  private readonly pages = new Map<number, Row[]>();
  total = 0;

  at(index: number): Row | undefined {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** The page numbers that a span needs and that are not known. */
  missing(span: Span): number[] {
    const wanted: number[] = [];
    for (let page = Math.floor(span.first / PAGE); page * PAGE < span.end; page++) {
      if (!this.pages.has(page)) wanted.push(page);
    }
    return wanted;
  }

  /** Take in an answer. `offset` need not be a page's beginning: only whole pages, and the last, are kept. */
  add(offset: number, rows: readonly Row[], total: number): void {
    this.total = total;
    for (let page = Math.ceil(offset / PAGE); page * PAGE < offset + rows.length; page++) {
      const part = rows.slice(page * PAGE - offset, (page + 1) * PAGE - offset);
      if (part.length === PAGE || page * PAGE + part.length === total) this.put(page, part);
    }
  }

  private put(page: number, rows: Row[]): void {
    this.pages.delete(page);
    this.pages.set(page, rows);
    for (const old of this.pages.keys()) {
      if (this.pages.size <= MOST_PAGES) break;
      this.pages.delete(old);
    }
  }

  /** The known rows of a span with some before it, in order, up to the first gap. */
  around(span: Span): { first: number; rows: Row[] } {
    let first = span.first;
    while (first > 0 && span.first - first < PAGE && this.at(first - 1) !== undefined) first--;
    const rows: Row[] = [];
    for (let index = first; index < span.end + PAGE; index++) {
      const row = this.at(index);
      if (row === undefined) break;
      rows.push(row);
    }
    return { first, rows };
  }

  /** The index of an entry's row among the known ones. */
  indexOf(id: string): number | null {
    for (const [page, rows] of this.pages) {
      const at = rows.findIndex((row) => row.id === id);
      if (at >= 0) return page * PAGE + at;
    }
    return null;
  }
}
