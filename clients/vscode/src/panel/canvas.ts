/**
 * The rows that are elements: those on screen and the focused one, and no others.
 *
 * What has not changed since the last drawing stays untouched. Reads nothing of the page's layout.
 */

import { surroundings, type Surroundings } from "../shared/lanes";
import type { Words } from "../shared/messages";
import type { EntryId, Row } from "../shared/protocol";
import { ROW_HEIGHT, type Pages, type Span } from "../shared/windowing";
import { element } from "./dom";
import { drawRow, hoverText } from "./row";

/** What of the tree's state shows in its rows. */
export interface Looks {
  focus: { index: number; row: Row | null } | null;
  bracketed: ReadonlySet<EntryId>;
  labelTimes: boolean;
  now: number;
  /** Whether there are rows that are not known yet. */
  provisional: boolean;
}

interface Drawn {
  row: Row;
  /** All else that it was drawn from, as a text to compare. */
  how: string;
  made: HTMLElement;
}

const NO_SURROUNDINGS: Surroundings = { begins: false, trunkCovered: null };

export class Canvas {
  readonly element = element("div", "canvas", { role: "presentation" });
  private drawn = new Map<number, Drawn>();

  constructor(private readonly words: Words) {
    // What is cut off in a row is seen in full by staying on it; made only then, for times are slow to write.
    this.element.addEventListener("mouseover", (event) => {
      const target = event.target instanceof Element ? event.target.closest<HTMLElement>(".row") : null;
      const drawn = [...this.drawn.values()].find(({ made }) => made === target);
      if (drawn !== undefined && drawn.made.title === "") drawn.made.title = hoverText(drawn.row, words);
    });
  }

  /** Make room for this many rows. */
  setTotal(total: number): void {
    this.element.style.height = `${total * ROW_HEIGHT}px`;
  }

  draw(pages: Pages, span: Span, looks: Looks): void {
    const drawn = new Map<number, Drawn>();
    const { first, rows } = pages.around(span);
    const around = surroundings(rows);
    const minute = Math.floor(looks.now / 60_000);
    const { focus, labelTimes } = looks;
    const within = (row: Row | undefined): boolean => row !== undefined && looks.bracketed.has(row.id);
    const bracketOf = (index: number, row: Row): string => {
      if (!within(row)) return "";
      const begins = within(pages.at(index - 1)) ? "" : " bracket-begins";
      return `bracketed${begins}${within(pages.at(index + 1)) ? "" : " bracket-ends"}`;
    };
    const put = (index: number, row: Row | null | undefined): void => {
      if (row === undefined || row === null) return;
      const place = around[index - first] ?? surroundings([row])[0] ?? NO_SURROUNDINGS;
      const facts = {
        index,
        around: place,
        focused: index === focus?.index,
        bracket: bracketOf(index, row),
        labelTime: labelTimes,
        now: looks.now,
        provisional: looks.provisional,
      };
      const how = `${place.begins} ${place.trunkCovered} ${facts.focused} ${facts.bracket} ${labelTimes} ${minute}`;
      const before = this.drawn.get(index);
      if (before?.row === row && before.how === how) drawn.set(index, before);
      else drawn.set(index, { row, how, made: drawRow(row, facts, this.words) });
    };
    const focusIndex = focus?.index ?? span.first;
    // The focused row stays in the page wherever one scrolls: it is what the focus names.
    if (focusIndex < span.first) put(focusIndex, focus?.row);
    for (let index = span.first; index < span.end; index++) put(index, pages.at(index));
    if (focusIndex >= span.end) put(focusIndex, focus?.row);
    this.drawn = drawn;
    this.arrange();
  }

  /** Make the element hold the drawn rows, in order; those that are there already are not moved. */
  private arrange(): void {
    const wanted = new Set<Element>();
    for (const { made } of this.drawn.values()) wanted.add(made);
    for (const child of [...this.element.children]) if (!wanted.has(child)) child.remove();
    let next = this.element.firstElementChild;
    for (const made of wanted) {
      if (made === next) next = next.nextElementSibling;
      else this.element.insertBefore(made, next);
    }
  }
}
