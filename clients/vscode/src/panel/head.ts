/** The line above the tree: what the conversation is called, what it costs, search and filter. */

import { plainText, shortCount } from "../shared/format";
import { FILTERS, type Words } from "../shared/messages";
import type { Filter, SessionInfo, Usage } from "../shared/protocol";
import { element, fill } from "./dom";

/** What a person does in it. */
export interface HeadHost {
  search(text: string): void;
  endSearch(): void;
  filter(filter: Filter): void;
  leaf(): void;
  help(): void;
  /** Back to the tree. */
  leave(): void;
}

export class Head {
  readonly element: HTMLElement;
  private readonly title = element("h1", "title", { dir: "auto" });
  private readonly facts = element("span", "facts");
  private readonly meter = element("div", "meter", { role: "meter", "aria-valuemin": "0" });
  private readonly meterFill = element("div", "fill");
  private readonly meterText = element("span", "meter-text");
  private readonly filter: HTMLSelectElement;
  private readonly search: HTMLInputElement;
  private readonly result = element("span", "result");
  private readonly here = element("button", "here-button", { type: "button" });

  constructor(
    private readonly words: Words,
    private readonly host: HeadHost,
  ) {
    this.filter = element("select", "filter", { "aria-label": words.filter });
    for (const name of FILTERS) {
      this.filter.append(element("option", "", { value: name }, words.filters[name]));
    }
    this.filter.addEventListener("change", () => {
      host.filter(this.filter.value as Filter);
      host.leave();
    });
    this.search = element("input", "search", {
      type: "search",
      placeholder: words.search,
      "aria-label": words.search,
      spellcheck: "false",
    });
    this.search.addEventListener("input", () => host.search(this.search.value));
    this.search.addEventListener("keydown", (event) => this.searchKey(event));
    this.here.addEventListener("click", () => host.leaf());
    const question = element("button", "help-button", { type: "button", "aria-label": words.keys }, "?");
    question.addEventListener("click", () => host.help());
    this.meter.append(this.meterFill);
    const said = element("div", "said-of", {}, this.title, this.facts, this.meter, this.meterText);
    const found = element("div", "find", {}, this.here, this.result, this.search, this.filter, question);
    this.element = element("header", "head", {}, said, found);
  }

  /** `usage` is null while the session is being read. */
  showSession(session: SessionInfo, usage: Usage | null): void {
    this.title.textContent = plainText(session.name ?? session.firstMessage ?? session.id);
    const branches = session.branchCount ?? 0;
    this.facts.textContent = branches < 2 ? "" : fill(this.words.branches, branches);
    this.meter.hidden = usage === null;
    if (usage === null) {
      this.meterText.textContent = this.words.reading;
      return;
    }
    const { tokens, contextWindow, due } = usage;
    const text = `${shortCount(tokens)}/${shortCount(contextWindow)}`;
    this.meterText.textContent = due ? `⚠ ${text}` : text;
    this.meterFill.style.width = `${Math.min(100, (100 * tokens) / Math.max(1, contextWindow))}%`;
    this.meter.classList.toggle("due", due);
    this.meter.setAttribute("aria-valuemax", String(contextWindow));
    this.meter.setAttribute("aria-valuenow", String(Math.min(tokens, contextWindow)));
    this.meter.setAttribute("aria-label", fill(this.words.tokensOf, tokens, contextWindow));
  }

  /** How one looks at the tree, and where the leaf is. */
  showView(filter: Filter, query: string | null, total: number, leaf: "above" | "below" | "shown"): void {
    this.filter.value = filter;
    if (document.activeElement !== this.search) this.search.value = query ?? "";
    this.result.textContent = query === null ? "" : fill(this.words.searchResult, total);
    this.here.hidden = leaf === "shown";
    this.here.textContent = leaf === "above" ? this.words.hereAbove : this.words.hereBelow;
  }

  /** Whether the session can be searched and filtered. */
  offer(on: boolean): void {
    this.search.disabled = !on;
    this.filter.disabled = !on;
  }

  focusSearch(): void {
    this.search.focus();
    this.search.select();
  }

  clearSearch(): void {
    this.search.value = "";
  }

  private searchKey(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === "Escape") this.host.endSearch();
    else if (event.key === "Enter" || event.key === "ArrowDown") this.host.leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
