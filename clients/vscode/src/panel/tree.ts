/**
 * The tree in the page: asks the host for the rows on screen, keeps place and focus.
 *
 * Focus is on the tree as a whole and names its row by `aria-activedescendant`, so it survives scrolling.
 */

import type { LocateAnswer, PanelAction, TailAnswer, TreeAnswer, Words } from "../shared/messages";
import type { Direction, EntryId, Filter, Row, View } from "../shared/protocol";
import { DRAWING, FIRST_STATE, firstAnchor, folding, nextFilter, unfolding, type Anchor, type Looking, type TreeState } from "../shared/treeState";
import { PAGE, Pages, ROW_HEIGHT, scrollTo, shown, tailStart, type Span } from "../shared/windowing";
import { FILTERING, LOCATED, stepped } from "./actions";
import { Canvas } from "./canvas";
import { element } from "./dom";
import { Questions } from "./questions";
import { rowId } from "./row";

/** What the tree needs of the page around it. */
export interface TreeHost {
  askRows(ask: number, view: View, at: number | { around: EntryId }, limit: number): void;
  askLocate(ask: number, view: View, from: EntryId, to: Direction): void;
  /** Something else is selected, drawn or scrolled to. */
  changed(): void;
  /** What the person asked to see otherwise is drawn. */
  viewChanged(): void;
  selected(row: Row | null): void;
  open(row: Row): void;
}

/** Rows that follow one another, and where among all they are. */
type Window = Pick<TreeAnswer, "rows" | "offset" | "total" | "leafRow">;

export class Tree {
  readonly scroller: HTMLElement;
  private readonly canvas: Canvas;
  private pages = new Pages();
  private state: TreeState;
  /** The focused row; its index, where the row itself is not known yet. */
  private focus: { index: number; row: Row | null } | null = null;
  private readonly questions = new Questions();
  private drawScheduled = false;
  private bracketed: ReadonlySet<EntryId> = new Set();
  private leafId: EntryId | null = null;
  /** Of the scroller. Kept, for asking the page lays it out each time. */
  private height = 0;
  private top = 0;
  leafRow: number | null = null;
  loaded = false;
  /** The index of the first known row, while those around the leaf are all that is known. */
  private tailStart: number | null = null;

  constructor(
    private readonly host: TreeHost,
    words: Words,
    state: TreeState | null,
    private readonly now: () => number = Date.now,
  ) {
    this.state = state ?? FIRST_STATE;
    this.canvas = new Canvas(words);
    this.scroller = element(
      "div",
      "tree",
      { role: "tree", tabindex: "0", "aria-label": words.tree },
      this.canvas.element,
    );
    this.scroller.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.scroller.addEventListener("mousedown", (event) => this.pressed(event));
    this.scroller.addEventListener("contextmenu", (event) => this.pressed(event));
    this.scroller.addEventListener("dblclick", (event) => {
      const row = this.rowOf(event);
      if (row !== null) this.host.open(row);
    });
    new ResizeObserver(() => this.resized()).observe(this.scroller);
  }

  get view(): Looking & typeof DRAWING {
    return { ...this.state.view, ...DRAWING };
  }

  /** What is to be kept over a reload of the page. */
  get kept(): TreeState {
    const first = Math.floor(this.top / ROW_HEIGHT);
    const row = this.pages.at(first);
    const at = first * ROW_HEIGHT - this.top;
    return row === undefined ? this.state : { ...this.state, top: { id: row.id, at } };
  }

  /** Whether the rows are the first ones, before the session is opened: their indexes will be others. */
  get provisional(): boolean {
    return this.tailStart !== null;
  }

  get total(): number {
    return this.pages.total;
  }

  get focused(): Row | null {
    return this.focus?.row ?? null;
  }

  /** The rows on screen. */
  get onScreen(): Span {
    const end = Math.min(this.total, Math.ceil((this.top + this.height) / ROW_HEIGHT));
    return { first: Math.min(end, Math.floor(this.top / ROW_HEIGHT)), end };
  }

  /** Whether the leaf's row is on screen. */
  get leafPlace(): "above" | "below" | "shown" {
    if (this.leafRow === null) return "shown";
    const { first, end } = this.onScreen;
    if (this.leafRow < first) return "above";
    return this.leafRow >= end ? "below" : "shown";
  }

  // --- loading -------------------------------------------------------------------------------------

  /** Show the session from the kept place, or from its leaf. */
  start(leafId: EntryId | null): void {
    this.leafId = leafId;
    this.height = this.scroller.clientHeight;
    this.load(firstAnchor(this.state, leafId));
  }

  /** Show the rows around the leaf, which are all that is known until `refresh` brings the others. */
  showTail({ rows, leafId, leafRow, whole }: TailAnswer): void {
    this.leafId = leafId;
    this.height = this.scroller.clientHeight;
    const offset = tailStart(rows.length, this.height, ROW_HEIGHT, whole);
    this.tailStart = offset;
    const at = leafRow === null ? null : offset + leafRow;
    this.drawAnew({ rows, offset, total: offset + rows.length, leafRow: at }, firstAnchor(this.state, leafId));
  }

  /** Have something above the tree take other room: the rows stay where they are on screen. */
  withPlaceOnScreen(change: () => void): void {
    const before = this.scroller.getBoundingClientRect().top;
    change();
    this.scroller.scrollTop += this.scroller.getBoundingClientRect().top - before;
    this.top = this.scroller.scrollTop;
  }

  /**
   * The session changed: draw it anew in the same place. Focus on the leaf goes with the leaf, and so it
   * does with `follow`.
   */
  refresh(leafId: EntryId | null, follow = false): void {
    const wasLeaf = this.focused === null || (this.focused.isLeaf && this.leafPlace === "shown");
    const goes = follow || (this.leafId !== leafId && wasLeaf);
    this.leafId = leafId;
    const anchor = (goes ? null : this.anchor()) ?? this.leafAnchor();
    this.load(anchor, { inPlace: this.provisional && !goes });
  }

  /** Scroll to an entry and select it, looking at the tree as before or otherwise. */
  show(id: EntryId, view: Looking = this.state.view): void {
    const known = this.questions.reload || view !== this.state.view ? null : this.pages.indexOf(id);
    this.state = { ...this.state, view };
    if (known === null) this.load({ id, at: null, focus: true });
    else this.goTo(known, true);
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

  private setView(change: Partial<Looking>): void {
    this.state = { ...this.state, view: { ...this.state.view, ...change } };
    const searching = change.query !== undefined && change.query !== null;
    this.load(searching ? null : (this.anchor() ?? this.leafAnchor()), { told: true });
  }

  private leafAnchor(): Anchor | null {
    return this.leafId === null ? null : { id: this.leafId, at: null, focus: true };
  }

  /** The row whose place on screen is to stay: the focused one if it is in sight, else the first. */
  private anchor(): Anchor | null {
    const top = this.focus === null ? -1 : this.focus.index * ROW_HEIGHT - this.top;
    const row = this.focused;
    if (row !== null && top > -ROW_HEIGHT && top < this.height) {
      return { id: row.id, at: top, focus: true };
    }
    const first = Math.ceil(this.top / ROW_HEIGHT);
    const seen = this.pages.at(first);
    if (seen !== undefined) return { id: seen.id, at: first * ROW_HEIGHT - this.top, focus: false };
    return this.state.focusedId === null
      ? null
      : { id: this.state.focusedId, at: null, focus: true };
  }

  private load(anchor: Anchor | null, { told = false, inPlace = false } = {}): void {
    this.questions.overtake();
    // Three pages around the leaf have all of the first rows in them, so whichever is to stay is known.
    const id = (inPlace ? this.leafId : null) ?? anchor?.id ?? null;
    const at = id === null ? 0 : { around: id };
    this.host.askRows(this.questions.ask({ reload: anchor, told, inPlace }), this.view, at, 3 * PAGE);
  }

  /** An answer to a question for rows; one that was overtaken is passed over. */
  rows(ask: number, answer: TreeAnswer): void {
    const what = this.questions.take(ask);
    if (what === undefined || what === "locate") return;
    if (what === "focus") {
      const [row] = answer.rows;
      if (row !== undefined) this.select({ index: answer.offset, row });
      this.schedule();
    } else if ("page" in what) {
      this.pages.add(answer.offset, answer.rows, answer.total);
      // It may have been gone to before it was known.
      if (this.focus?.row === null) this.select(this.at(this.focus.index));
      this.schedule();
    } else {
      const anchor = (what.inPlace ? this.anchor() : null) ?? what.reload;
      if (what.inPlace && anchor !== null && !answer.rows.some(({ id }) => id === anchor.id)) {
        this.load(anchor); // the leaf went elsewhere meanwhile
        return;
      }
      this.tailStart = null;
      this.leafId = answer.leafId;
      this.drawAnew(answer, anchor);
      if (what.told) this.host.viewChanged();
    }
  }

  private drawAnew(window: Window, anchor: Anchor | null): void {
    this.pages = new Pages();
    this.pages.add(window.offset, window.rows, window.total);
    this.leafRow = window.leafRow;
    this.loaded = true;
    this.canvas.setTotal(window.total);
    this.place(window, anchor);
    this.draw();
    this.host.changed();
  }

  private place(answer: Window, anchor: Anchor | null): void {
    if (anchor === null) {
      this.scroller.scrollTop = 0;
      this.select(answer.total > 0 ? this.at(0) : null);
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
        ? scrollTo(index, 0, this.height, ROW_HEIGHT, true)
        : index * ROW_HEIGHT - anchor.at;
    if (anchor.focus) this.select(this.at(index));
    else this.keepFocus();
  }

  /** After a drawing anew: the focus is on the entry that had it, wherever that is now. */
  private keepFocus(): void {
    const { focusedId } = this.state;
    const known = focusedId === null ? null : this.pages.indexOf(focusedId);
    if (known !== null || focusedId === null) {
      this.select(known === null ? null : this.at(known));
    } else {
      this.host.askRows(this.questions.ask("focus"), this.view, { around: focusedId }, 1);
    }
  }

  failed(ask: number): void {
    const what = this.questions.take(ask);
    if (typeof what !== "object" || !("reload" in what) || what.reload === null) return;
    // The entry is not there any more: from the leaf, or else from the top.
    this.load(what.reload.id === this.leafId ? null : this.leafAnchor());
  }

  located(ask: number, answer: LocateAnswer): void {
    if (this.questions.take(ask) !== "locate" || answer === null) return;
    if (this.pages.at(answer.offset)?.id === answer.id) this.goTo(answer.offset, false);
    else this.load({ id: answer.id, at: null, focus: true });
  }

  // --- moving --------------------------------------------------------------------------------------

  /** Do what a key asks for. */
  act(action: PanelAction): void {
    const index = this.focus?.index ?? this.leafRow ?? 0;
    const next = stepped(action, index, Math.floor(this.height / ROW_HEIGHT), this.total);
    if (next !== null) this.goTo(next, false);
    // All else needs the session.
    if (this.provisional && action !== "leaf") return;
    switch (action) {
      case "leaf":
        if (this.leafRow !== null) this.goTo(this.leafRow, true);
        return;
      case "unfold":
        if (this.focused?.folded === true) this.setView(unfolding(this.state.view, this.focused));
        else this.goTo(index + 1, false);
        return;
      case "toggle":
        if (this.focused?.folded === true) this.setView(unfolding(this.state.view, this.focused));
        else this.fold();
        return;
      case "fold":
        this.fold();
        return;
      case "filter":
        this.setFilter(nextFilter(this.state.view.filter));
        return;
      case "labelTimes":
        this.state = { ...this.state, labelTimes: !this.state.labelTimes };
        this.schedule();
        return;
      default: {
        const filter = FILTERING[action];
        // As in Pi, the key of the filter that is on goes back to the usual one.
        if (filter !== undefined) this.setFilter(filter === this.state.view.filter ? "default" : filter);
        const to = LOCATED[action];
        const from = this.focused?.id ?? this.leafId;
        if (to !== undefined && from !== null) this.locate(from, to);
      }
    }
  }

  private locate(from: EntryId, to: Direction): void {
    this.host.askLocate(this.questions.ask("locate"), this.view, from, to);
  }

  private fold(): void {
    const row = this.focused;
    if (row === null) return;
    const change = folding(this.state.view, row);
    if (change === null) this.locate(row.id, "parent");
    else this.setView(change);
  }

  /** Select a row and bring it into sight. */
  goTo(index: number, centre: boolean): void {
    if (this.total === 0) return;
    const wanted = Math.min(this.total - 1, Math.max(this.tailStart ?? 0, index));
    this.select(this.at(wanted));
    this.scroller.scrollTop = scrollTo(wanted, this.scroller.scrollTop, this.height, ROW_HEIGHT, centre);
    this.draw();
    this.host.changed();
  }

  /** Scroll so that a row is in the middle. */
  scrollTo(index: number): void {
    this.scroller.scrollTop = scrollTo(index, 0, this.height, ROW_HEIGHT, true);
  }

  private at(index: number): { index: number; row: Row | null } {
    return { index, row: this.pages.at(index) ?? null };
  }

  private select(focus: { index: number; row: Row | null } | null): void {
    this.focus = focus;
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
    this.goTo(index, false);
    const onFold = event.target instanceof Element && event.target.closest(".fold") !== null;
    if (event.type === "mousedown" && event.button === 0 && onFold) this.act("toggle");
  }

  // --- drawing -------------------------------------------------------------------------------------

  private schedule(): void {
    if (this.drawScheduled) return;
    this.drawScheduled = true;
    requestAnimationFrame(() => {
      this.drawScheduled = false;
      this.draw();
      this.host.changed();
    });
  }

  /** What is focused and in sight stays so when something takes room from the tree. */
  private resized(): void {
    const { first, end } = this.onScreen;
    const index = this.focus?.index ?? -1;
    this.height = this.scroller.clientHeight;
    if (index >= first && index < end) {
      this.scroller.scrollTop = scrollTo(index, this.top, this.height, ROW_HEIGHT);
    }
    this.schedule();
  }

  private draw(): void {
    this.top = this.scroller.scrollTop;
    const span = shown(this.top, this.height, ROW_HEIGHT, this.total);
    const { focus, bracketed, provisional } = this;
    const { labelTimes } = this.state;
    this.canvas.draw(this.pages, span, { focus, bracketed, labelTimes, now: this.now(), provisional });
    if (focus === null || focus.row === null) this.scroller.removeAttribute("aria-activedescendant");
    else this.scroller.setAttribute("aria-activedescendant", rowId(focus.index));
    if (provisional) return;
    const asked = this.questions.pages;
    for (const page of this.pages.missing(span)) {
      if (!asked.has(page)) this.host.askRows(this.questions.ask({ page }), this.view, page * PAGE, PAGE);
    }
  }
}
