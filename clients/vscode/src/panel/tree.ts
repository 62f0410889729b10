/**
 * The tree in the page: asks the host for the rows on screen, draws them, keeps place and focus.
 *
 * Only the rows on screen, and the focused one, are elements. Focus is on the tree as a whole and names
 * its row by `aria-activedescendant`, so it survives scrolling.
 */

import type { LocateAnswer, PanelAction, TreeAnswer, Words } from "../shared/messages";
import type { Direction, EntryId, Filter, Row, View } from "../shared/protocol";
import { surroundings, type Surroundings } from "../shared/lanes";
import { PAGE, Pages, scrollTo, shown } from "../shared/windowing";
import { element } from "./dom";
import { drawRow, rowId } from "./row";

export const ROW_HEIGHT = 22;
const FILTER_ORDER: readonly Filter[] = ["default", "noTools", "userOnly", "labeledOnly", "all"];

const LOCATED: Partial<Record<PanelAction, Direction>> = {
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

/** What of the tree outlives a reload of the page. */
export interface TreeState {
  view: Required<Pick<View, "filter" | "folded" | "expanded">> & { query: string | null };
  focusedId: EntryId | null;
}

export const FIRST_STATE: TreeState = {
  view: { filter: "default", query: null, folded: [], expanded: [] },
  focusedId: null,
};

/** What the tree needs of the page around it. */
export interface TreeHost {
  askRows(ask: number, view: View, at: number | { around: EntryId }, limit: number): void;
  askLocate(ask: number, view: View, from: EntryId, to: Direction): void;
  /** Something else is selected, drawn or scrolled to. */
  changed(): void;
  selected(row: Row | null): void;
  open(row: Row): void;
}

const NO_SURROUNDINGS: Surroundings = { begins: false, trunkCovered: null };

interface Anchor {
  id: EntryId;
  /** Where the row is to stand, in pixels from the top of the view; null is the middle. */
  at: number | null;
  focus: boolean;
}

export class Tree {
  readonly scroller: HTMLElement;
  private readonly canvas: HTMLElement;
  private pages = new Pages();
  private state: TreeState;
  private focusedIndex: number | null = null;
  private asks = 0;
  private readonly pending = new Map<number, { reload: Anchor | null } | { page: number } | "locate">();
  private drawScheduled = false;
  /** The rows that are elements now, with what they were drawn from: what has not changed is kept. */
  private drawn = new Map<number, { row: Row; how: string; made: HTMLElement }>();
  private bracketed: ReadonlySet<EntryId> = new Set();
  private leafId: EntryId | null = null;
  leafRow: number | null = null;
  loaded = false;

  constructor(
    private readonly host: TreeHost,
    private readonly words: Words,
    state: TreeState | null,
    private readonly now: () => number = Date.now,
  ) {
    this.state = state ?? FIRST_STATE;
    this.canvas = element("div", "canvas", { role: "presentation" });
    this.scroller = element(
      "div",
      "tree",
      { role: "tree", tabindex: "0", "aria-label": words.tree },
      this.canvas,
    );
    this.scroller.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.scroller.addEventListener("mousedown", (event) => this.pressed(event));
    this.scroller.addEventListener("contextmenu", (event) => this.pressed(event));
    this.scroller.addEventListener("dblclick", (event) => {
      const row = this.rowOf(event);
      if (row !== null) this.host.open(row);
    });
  }

  get view(): TreeState["view"] & { layout: "pinned"; runs: "tools" } {
    return { ...this.state.view, layout: "pinned", runs: "tools" };
  }

  get kept(): TreeState {
    return this.state;
  }

  get total(): number {
    return this.pages.total;
  }

  get focused(): Row | null {
    return this.focusedIndex === null ? null : (this.pages.at(this.focusedIndex) ?? null);
  }

  /** Whether the leaf's row is on screen. */
  get leafPlace(): "above" | "below" | "shown" {
    if (this.leafRow === null) return "shown";
    const top = this.leafRow * ROW_HEIGHT;
    const { scrollTop, clientHeight } = this.scroller;
    if (top + ROW_HEIGHT <= scrollTop) return "above";
    return top >= scrollTop + clientHeight ? "below" : "shown";
  }

  // --- loading -------------------------------------------------------------------------------------

  /** Show the session from the kept place, or from its leaf. */
  start(leafId: EntryId | null): void {
    this.leafId = leafId;
    const id = this.state.focusedId ?? leafId;
    if (id === null) this.load(null);
    else this.load({ id, at: null, focus: true });
  }

  /**
   * The session changed: draw it anew in the same place. Focus on the leaf goes with the leaf, and so it
   * does with `follow`.
   */
  refresh(leafId: EntryId | null, follow = false): void {
    const wasLeaf = this.focused === null || (this.focused.isLeaf && this.leafPlace === "shown");
    const goes = follow || (this.leafId !== leafId && wasLeaf);
    this.leafId = leafId;
    this.load((goes ? null : this.anchor()) ?? this.leafAnchor());
  }

  /** Scroll to an entry and select it. */
  show(id: EntryId): void {
    const loading = [...this.pending.values()].some((what) => typeof what === "object" && "reload" in what);
    const known = loading ? null : this.pages.indexOf(id);
    if (known === null) this.load({ id, at: null, focus: true });
    else this.focus(known, true);
  }

  bracket(ids: readonly EntryId[]): void {
    this.bracketed = new Set(ids);
    this.schedule();
  }

  setFilter(filter: Filter): void {
    this.setView({ filter });
  }

  setQuery(query: string): void {
    const wanted = query.trim() === "" ? null : query;
    if (wanted !== this.state.view.query) this.setView({ query: wanted });
  }

  private setView(change: Partial<TreeState["view"]>): void {
    this.state = { ...this.state, view: { ...this.state.view, ...change } };
    const searching = change.query !== undefined && change.query !== null;
    this.load(searching ? null : (this.anchor() ?? this.leafAnchor()));
  }

  private leafAnchor(): Anchor | null {
    return this.leafId === null ? null : { id: this.leafId, at: null, focus: true };
  }

  /** The row whose place on screen is to stay: the focused one if it is in sight, else the first. */
  private anchor(): Anchor | null {
    const { scrollTop, clientHeight } = this.scroller;
    const index = this.focusedIndex;
    const top = index === null ? -1 : index * ROW_HEIGHT - scrollTop;
    const row = this.focused;
    if (row !== null && top > -ROW_HEIGHT && top < clientHeight) {
      return { id: row.id, at: top, focus: true };
    }
    const first = Math.ceil(scrollTop / ROW_HEIGHT);
    const seen = this.pages.at(first);
    if (seen !== undefined) {
      return { id: seen.id, at: first * ROW_HEIGHT - scrollTop, focus: false };
    }
    return this.state.focusedId === null
      ? null
      : { id: this.state.focusedId, at: null, focus: true };
  }

  private load(anchor: Anchor | null): void {
    this.pending.clear();
    const ask = ++this.asks;
    this.pending.set(ask, { reload: anchor });
    this.host.askRows(ask, this.view, anchor === null ? 0 : { around: anchor.id }, 3 * PAGE);
  }

  /** An answer to a question for rows; one that was overtaken is passed over. */
  rows(ask: number, answer: TreeAnswer): void {
    const what = this.pending.get(ask);
    if (what === undefined || what === "locate") return;
    this.pending.delete(ask);
    if ("page" in what) {
      this.pages.add(answer.offset, answer.rows, answer.total);
      this.schedule();
      return;
    }
    this.pages = new Pages();
    this.pages.add(answer.offset, answer.rows, answer.total);
    this.leafRow = answer.leafRow;
    this.leafId = answer.leafId;
    this.loaded = true;
    this.canvas.style.height = `${answer.total * ROW_HEIGHT}px`;
    this.place(answer, what.reload);
    this.draw();
    this.host.changed();
  }

  private place(answer: TreeAnswer, anchor: Anchor | null): void {
    if (anchor === null) {
      this.scroller.scrollTop = 0;
      this.select(answer.total > 0 ? 0 : null);
      return;
    }
    let index = this.pages.indexOf(anchor.id);
    if (index === null && answer.total > 0) {
      // Its nearest shown ancestor is in the middle of the answer, or as near as the ends allow.
      const middle = answer.offset + Math.floor(answer.rows.length / 2);
      index = anchor.id === this.leafId && answer.leafRow !== null ? answer.leafRow : middle;
    }
    if (index === null) {
      this.select(null);
      return;
    }
    this.scroller.scrollTop =
      anchor.at === null
        ? scrollTo(index, 0, this.scroller.clientHeight, ROW_HEIGHT, true)
        : index * ROW_HEIGHT - anchor.at;
    if (anchor.focus) this.select(index);
    else this.select(this.state.focusedId === null ? null : this.pages.indexOf(this.state.focusedId));
  }

  failed(ask: number): void {
    this.pending.delete(ask);
  }

  located(ask: number, answer: LocateAnswer): void {
    if (this.pending.get(ask) !== "locate") return;
    this.pending.delete(ask);
    if (answer === null) return;
    if (this.pages.at(answer.offset)?.id === answer.id) this.focus(answer.offset, false);
    else this.load({ id: answer.id, at: null, focus: true });
  }

  // --- moving --------------------------------------------------------------------------------------

  /** Do what a key asks for; false if it is not the tree's. */
  act(action: PanelAction): boolean {
    const index = this.focusedIndex ?? this.leafRow ?? 0;
    const step = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_HEIGHT) - 1);
    switch (action) {
      case "down":
        this.focus(index + 1, false);
        return true;
      case "up":
        this.focus(index - 1, false);
        return true;
      case "pageDown":
        this.focus(index + step, false);
        return true;
      case "pageUp":
        this.focus(index - step, false);
        return true;
      case "first":
        this.focus(0, false);
        return true;
      case "last":
        this.focus(this.total - 1, false);
        return true;
      case "leaf":
        if (this.leafRow !== null) this.focus(this.leafRow, true);
        return true;
      case "unfold":
        if (this.focused?.folded === true) this.unfold(this.focused);
        else this.focus(index + 1, false);
        return true;
      case "fold":
        this.fold();
        return true;
      case "toggle":
        if (this.focused?.folded === true) this.unfold(this.focused);
        else this.fold();
        return true;
      case "filter": {
        const at = FILTER_ORDER.indexOf(this.state.view.filter);
        this.setFilter(FILTER_ORDER[(at + 1) % FILTER_ORDER.length] ?? "default");
        return true;
      }
      default: {
        const to = LOCATED[action];
        const from = this.focused?.id ?? this.leafId;
        if (to === undefined || from === null) return false;
        this.locate(from, to);
        return true;
      }
    }
  }

  private locate(from: EntryId, to: Direction): void {
    const ask = ++this.asks;
    this.pending.set(ask, "locate");
    this.host.askLocate(ask, this.view, from, to);
  }

  private unfold(row: Row): void {
    const id = row.type === "branches" ? (row.parentId ?? "root") : row.id;
    const { folded, expanded } = this.state.view;
    if (folded.includes(id)) this.setView({ folded: folded.filter((one) => one !== id) });
    else this.setView({ expanded: [...expanded, id] });
  }

  private fold(): void {
    const row = this.focused;
    if (row === null) return;
    const { folded, expanded } = this.state.view;
    const opened = [row.id, row.parentId ?? "root"].find((id) => expanded.includes(id));
    if (expanded.includes(row.id) || (opened !== undefined && !row.foldable)) {
      this.setView({ expanded: expanded.filter((id) => id !== opened) });
    } else if (row.foldable && !row.folded) {
      this.setView({ folded: [...folded, row.id] });
    } else {
      this.locate(row.id, "parent");
    }
  }

  private focus(index: number, centre: boolean): void {
    if (this.total === 0) return;
    const wanted = Math.min(this.total - 1, Math.max(0, index));
    this.select(wanted);
    this.scroller.scrollTop = scrollTo(
      wanted,
      this.scroller.scrollTop,
      this.scroller.clientHeight,
      ROW_HEIGHT,
      centre,
    );
    this.draw();
    this.host.changed();
  }

  private select(index: number | null): void {
    this.focusedIndex = index;
    const row = this.focused;
    if (row !== null) this.state = { ...this.state, focusedId: row.id };
    this.host.selected(row);
  }

  private rowOf(event: Event): Row | null {
    const target = event.target instanceof Element ? event.target.closest(".row") : null;
    const index = target === null ? NaN : Number(target.id.slice(rowId(0).length - 1));
    return this.pages.at(index) ?? null;
  }

  private pressed(event: MouseEvent): void {
    const row = this.rowOf(event);
    const index = row === null ? null : this.pages.indexOf(row.id);
    if (index === null) return;
    this.focus(index, false);
    const onFold = event.target instanceof Element && event.target.closest(".fold") !== null;
    if (event.type === "mousedown" && event.button === 0 && onFold) this.act("toggle");
  }

  // --- drawing -------------------------------------------------------------------------------------

  /** Make the canvas hold the drawn rows, in order; elements that are there already stay untouched. */
  private arrange(): void {
    const wanted = new Set([...this.drawn.values()].map(({ made }) => made));
    for (const child of [...this.canvas.children]) {
      if (!wanted.has(child as HTMLElement)) child.remove();
    }
    let next = this.canvas.firstElementChild;
    for (const made of wanted) {
      if (made === next) next = next.nextElementSibling;
      else this.canvas.insertBefore(made, next);
    }
  }

  private schedule(): void {
    if (this.drawScheduled) return;
    this.drawScheduled = true;
    requestAnimationFrame(() => {
      this.drawScheduled = false;
      this.draw();
      this.host.changed();
    });
  }

  private draw(): void {
    const { scrollTop, clientHeight } = this.scroller;
    const span = shown(scrollTop, clientHeight, ROW_HEIGHT, this.total);
    const drawn: typeof this.drawn = new Map();
    const { first, rows } = this.pages.around(span);
    const around = surroundings(rows);
    const now = this.now();
    const minute = Math.floor(now / 60_000);
    const put = (index: number): void => {
      const row = this.pages.at(index);
      if (row === undefined) return;
      const place = around[index - first] ?? surroundings([row])[0] ?? NO_SURROUNDINGS;
      const focused = index === this.focusedIndex;
      const bracketed = this.bracketed.has(row.id);
      const how = `${place.begins} ${place.trunkCovered} ${focused} ${bracketed} ${this.total} ${minute}`;
      const before = this.drawn.get(index);
      if (before?.row === row && before.how === how) {
        drawn.set(index, before);
        return;
      }
      const facts = { index, total: this.total, around: place, focused, bracketed, now };
      const made = drawRow(row, facts, this.words);
      made.style.transform = `translateY(${index * ROW_HEIGHT}px)`;
      drawn.set(index, { row, how, made });
    };
    const focused = this.focusedIndex;
    if (focused !== null && focused < span.first) put(focused);
    for (let index = span.first; index < span.end; index++) put(index);
    if (focused !== null && focused >= span.end) put(focused);
    this.drawn = drawn;
    this.arrange();
    if (focused !== null && this.pages.at(focused) !== undefined) {
      this.scroller.setAttribute("aria-activedescendant", rowId(focused));
    } else {
      this.scroller.removeAttribute("aria-activedescendant");
    }
    const asked = new Set<number>();
    for (const what of this.pending.values()) if (typeof what === "object" && "page" in what) asked.add(what.page);
    for (const page of this.pages.missing(span)) {
      if (asked.has(page)) continue;
      const ask = ++this.asks;
      this.pending.set(ask, { page });
      this.host.askRows(ask, this.view, page * PAGE, PAGE);
    }
  }
}
