/** The page around the tree: title, tokens, filter, search, overview, bars, the answer being written, keys. */

import { plainText, shortCount } from "../shared/format";
import type { Bar, KeyHelp, Opened, PageCommand, ToHost, ToPage, Words } from "../shared/messages";
import type { EntryId, Filter, Job, Row, Usage } from "../shared/protocol";
import { element, fill, type Api } from "./dom";
import { Tree, type TreeState } from "./tree";

const FILTERS: readonly Filter[] = ["default", "noTools", "userOnly", "labeledOnly", "all"];
const ROWS_OF_STRIP = 400;

export class Page {
  private readonly tree: Tree;
  private readonly title = element("h1", "title");
  private readonly facts = element("span", "facts");
  private readonly meter = element("div", "meter", { role: "meter", "aria-valuemin": "0" });
  private readonly meterFill = element("div", "fill");
  private readonly meterText = element("span", "meter-text");
  private readonly filter: HTMLSelectElement;
  private readonly search: HTMLInputElement;
  private readonly result = element("span", "result");
  private readonly here = element("button", "here-button", { type: "button" });
  private readonly strip = element("div", "strip");
  private readonly stripMarks = element("div", "strip-marks");
  private readonly empty = element("p", "empty");
  private readonly bars = element("div", "bars");
  private readonly writing = element("section", "writing");
  private readonly help: HTMLDialogElement;
  private readonly said = element("div", "said", { role: "status", "aria-live": "polite" });
  private bar: Bar | null = null;
  private bracketTitle = "";
  private usage: Usage;

  constructor(
    private readonly root: HTMLElement,
    private readonly api: Api,
    private readonly words: Words,
    private readonly keys: readonly KeyHelp[],
    private opened: Opened,
  ) {
    this.usage = opened.usage;
    this.tree = new Tree(
      {
        askRows: (ask, view, at, limit) => this.post({ type: "rows", ask, view, at, limit }),
        askLocate: (ask, view, from, to) => this.post({ type: "locate", ask, view, from, to }),
        changed: () => this.treeChanged(),
        selected: (row) => this.selected(row),
        open: (row) => this.enter(row),
      },
      words,
      readState(api.getState()),
    );
    const view = this.tree.view;
    this.filter = element("select", "filter", { "aria-label": words.filter });
    for (const name of FILTERS) {
      this.filter.append(element("option", "", { value: name }, words.filters[name]));
    }
    this.filter.value = view.filter;
    this.filter.addEventListener("change", () => {
      this.tree.setFilter(this.filter.value as Filter);
      this.tree.scroller.focus();
    });
    this.search = element("input", "search", {
      type: "search",
      placeholder: words.search,
      "aria-label": words.search,
      spellcheck: "false",
    });
    this.search.value = view.query ?? "";
    this.search.addEventListener("input", () => this.tree.setQuery(this.search.value));
    this.search.addEventListener("keydown", (event) => this.searchKey(event));
    this.here.addEventListener("click", () => {
      this.tree.act("leaf");
      this.tree.scroller.focus();
    });
    this.strip.addEventListener("click", (event) => this.jump(event));
    this.strip.setAttribute("aria-hidden", "true");
    this.strip.append(this.stripMarks);
    const question = element("button", "help-button", { type: "button", "aria-label": words.keys }, "?");
    question.addEventListener("click", () => this.showHelp());
    this.meter.append(this.meterFill);
    this.help = this.makeHelp();
    root.replaceChildren(
      element(
        "header",
        "head",
        {},
        this.title,
        this.facts,
        this.meter,
        this.meterText,
        element("span", "space"),
        this.search,
        this.result,
        this.filter,
        this.here,
        question,
      ),
      this.bars,
      element("main", "body", {}, this.tree.scroller, this.strip, this.empty),
      this.writing,
      this.said,
      this.help,
    );
    this.writing.hidden = true;
    this.followFocus();
    new ResizeObserver(() => this.treeChanged()).observe(this.tree.scroller);
    this.head();
    this.drawBars();
    this.tree.start(opened.leafId);
  }

  /** Something that the host says. */
  take(message: ToPage): void {
    switch (message.type) {
      case "opened":
        this.opened = message.opened;
        this.usage = message.opened.usage;
        this.head();
        this.drawBars();
        this.tree.refresh(message.opened.leafId);
        this.askMarks();
        return;
      case "rows":
        this.tree.rows(message.ask, message.answer);
        return;
      case "located":
        this.tree.located(message.ask, message.answer);
        return;
      case "failed":
        this.tree.failed(message.ask);
        return;
      case "changed":
        this.usage = message.usage;
        this.opened.session.name = message.name;
        this.head();
        this.tree.refresh(message.leafId, message.follow);
        if (message.said !== "") this.say(message.said);
        return;
      case "busy":
        this.busy(message.job);
        return;
      case "answer":
        this.answer(message.delta);
        return;
      case "act":
        this.act(message.action);
        return;
      case "which":
        this.selected(this.tree.focused, message.ask);
        return;
      case "show":
        this.tree.show(message.id);
        return;
      case "bracket":
        this.bracketTitle = message.title;
        this.tree.bracket(message.ids);
        this.drawBars();
        return;
      case "marks":
        this.drawMarks(message.total, message.labels, message.forks);
        return;
      case "info":
        this.opened.session = message.session;
        this.head();
        return;
      case "keys":
        // From now on keys reach us: until the host knows of the focus, they are the editor's.
        this.tree.scroller.dataset["keys"] = message.on ? "on" : "off";
        return;
      case "bar":
        this.bar = message.bar;
        this.drawBars();
        return;
    }
  }

  private post(message: ToHost): void {
    this.api.postMessage(message);
  }

  private command(command: PageCommand, id: EntryId | null): void {
    this.post({ type: "command", command, id });
  }

  private say(text: string): void {
    this.said.textContent = text;
  }

  // --- the tree's news -----------------------------------------------------------------------------

  private marksFor = "";

  private treeChanged(): void {
    if (!this.tree.loaded) return;
    const { view } = this.tree;
    this.filter.value = view.filter;
    if (document.activeElement !== this.search) this.search.value = view.query ?? "";
    const searching = view.query !== null;
    this.result.textContent = searching ? fill(this.words.searchResult, this.tree.total) : "";
    const place = this.tree.leafPlace;
    this.here.hidden = place === "shown";
    this.here.textContent = place === "above" ? this.words.hereAbove : this.words.hereBelow;
    this.empty.hidden = this.tree.total > 0;
    this.empty.textContent =
      searching || view.filter !== "default" ? this.words.nothingFound : this.words.empty;
    this.drawStripView();
    const drawn = JSON.stringify([view, this.tree.total, this.tree.leafRow]);
    if (drawn !== this.marksFor) {
      this.marksFor = drawn;
      this.askMarks();
    }
    this.api.setState(this.tree.kept);
  }

  private askMarks(): void {
    this.post({ type: "marks", view: this.tree.view });
  }

  private selected(row: Row | null, ask: number | null = null): void {
    this.post({
      type: "selected",
      ask,
      id: row?.type === "branches" ? null : (row?.id ?? null),
      role: row?.role ?? null,
      label: row?.label ?? null,
    });
  }

  private enter(row: Row): void {
    if (row.type === "run" || row.type === "branches") this.tree.act("toggle");
    else this.command("branchline.switchHere", row.id);
  }

  // --- head ----------------------------------------------------------------------------------------

  private head(): void {
    const { session } = this.opened;
    this.title.textContent = plainText(session.name ?? session.firstMessage ?? session.id);
    const branches = session.branchCount ?? 0;
    this.facts.textContent = branches < 2 ? "" : fill(this.words.branches, branches);
    const { tokens, contextWindow, due } = this.usage;
    const text = `${shortCount(tokens)}/${shortCount(contextWindow)}`;
    this.meterText.textContent = text;
    this.meterFill.style.width = `${Math.min(100, (100 * tokens) / Math.max(1, contextWindow))}%`;
    this.meter.classList.toggle("due", due);
    this.meter.setAttribute("aria-valuemax", String(contextWindow));
    this.meter.setAttribute("aria-valuenow", String(Math.min(tokens, contextWindow)));
    this.meter.setAttribute("aria-label", fill(this.words.tokensOf, tokens, contextWindow));
    this.meterText.textContent = due ? `⚠ ${text}` : text;
  }

  private drawBars(): void {
    const bars: HTMLElement[] = [];
    const add = (className: string, text: string, actions: Bar["actions"] = []): void => {
      const bar = element("div", `bar ${className}`, { role: "note" }, element("span", "", {}, text));
      for (const { command, title } of actions) {
        const button = element("button", "", { type: "button" }, title);
        button.addEventListener("click", () => this.command(command, null));
        bar.append(button);
      }
      bars.push(bar);
    };
    if (this.opened.session.readOnly) add("read-only", this.words.readOnly);
    for (const warning of this.opened.warnings) add("warning", plainText(warning));
    if (this.bar !== null) add("notice", plainText(this.bar.text), this.bar.actions);
    if (this.bracketTitle !== "") add("bracket", this.bracketTitle);
    this.bars.replaceChildren(...bars);
  }

  // --- overview ------------------------------------------------------------------------------------

  private readonly leafMark = element("div", "mark-leaf");
  private readonly viewMark = element("div", "mark-view");

  private drawStripView(): void {
    const rows = Math.max(1, this.tree.total);
    const { scrollTop, clientHeight, scrollHeight } = this.tree.scroller;
    this.viewMark.style.top = `${(100 * scrollTop) / Math.max(1, scrollHeight)}%`;
    this.viewMark.style.height = `${(100 * clientHeight) / Math.max(1, scrollHeight)}%`;
    this.leafMark.hidden = this.tree.leafRow === null;
    this.leafMark.style.top = `${(100 * (this.tree.leafRow ?? 0)) / rows}%`;
    if (this.viewMark.parentElement === null) this.strip.append(this.viewMark, this.leafMark);
  }

  /** Marks of what is far apart; those that would fall on one spot are drawn once. */
  private drawMarks(total: number, labels: readonly number[], forks: readonly number[]): void {
    const marks: HTMLElement[] = [];
    const put = (indexes: readonly number[], className: string): void => {
      const taken = new Set<number>();
      for (const index of indexes) {
        const spot = Math.floor((index * ROWS_OF_STRIP) / Math.max(1, total));
        if (taken.has(spot)) continue;
        taken.add(spot);
        const mark = element("div", className);
        mark.style.top = `${(100 * spot) / ROWS_OF_STRIP}%`;
        marks.push(mark);
      }
    };
    put(forks, "mark-fork");
    put(labels, "mark-label");
    this.stripMarks.replaceChildren(...marks);
    this.strip.classList.toggle("hits", this.tree.view.query !== null);
  }

  private jump(event: MouseEvent): void {
    const box = this.strip.getBoundingClientRect();
    const { scroller } = this.tree;
    const part = (event.clientY - box.top) / Math.max(1, box.height);
    scroller.scrollTop = part * scroller.scrollHeight - scroller.clientHeight / 2;
  }

  // --- keys ----------------------------------------------------------------------------------------

  private act(action: Parameters<Tree["act"]>[0]): void {
    if (this.help.open && action !== "help") {
      this.help.close();
      return;
    }
    switch (action) {
      case "search":
        this.search.focus();
        this.search.select();
        return;
      case "clear":
        if (this.tree.view.query !== null) this.clearSearch();
        else this.tree.scroller.focus();
        return;
      case "help":
        if (this.help.open) this.help.close();
        else this.showHelp();
        return;
      default:
        this.tree.act(action);
    }
  }

  private searchKey(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      this.clearSearch();
    } else if (event.key === "Enter" || event.key === "ArrowDown") {
      this.tree.scroller.focus();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private clearSearch(): void {
    this.search.value = "";
    this.tree.setQuery("");
    this.tree.scroller.focus();
  }

  /** Tell the host where the focus is: its keybindings depend on it. */
  private followFocus(): void {
    const tell = (): void => {
      const input = document.activeElement;
      this.post({
        type: "focus",
        panel: document.hasFocus(),
        input: input instanceof HTMLInputElement || input instanceof HTMLSelectElement,
      });
    };
    // Only a page that was given the focus passes it to the tree: it takes none from a draft beside it.
    const given = (): void => {
      if (document.hasFocus() && document.activeElement === document.body) this.tree.scroller.focus();
      tell();
    };
    document.addEventListener("focusin", tell);
    window.addEventListener("focus", given);
    window.addEventListener("blur", tell);
    given();
  }

  private makeHelp(): HTMLDialogElement {
    const list = element("dl", "");
    for (const { keys, title } of this.keys) {
      list.append(element("dt", "", {}, element("kbd", "", {}, keys)), element("dd", "", {}, title));
    }
    const close = element("button", "", { type: "button" }, this.words.close);
    const dialog = element(
      "dialog",
      "help",
      { "aria-label": this.words.keys },
      element("h2", "", {}, this.words.keys),
      list,
      close,
    );
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => this.tree.scroller.focus());
    return dialog;
  }

  private showHelp(): void {
    this.help.showModal();
  }

  // --- what is being written -----------------------------------------------------------------------

  private readonly written = element("div", "written", { tabindex: "0", role: "log" });

  private busy(job: Job | null): void {
    this.root.classList.toggle("busy", job !== null);
    if (job === null) {
      this.writing.hidden = true;
      this.written.textContent = "";
      this.writing.replaceChildren();
      return;
    }
    const title = this.words.writing[job.kind];
    const percent = job.percent === null || job.kind === "prompt" ? "" : ` ${job.percent}%`;
    const cancel = element("button", "", { type: "button" }, this.words.cancel);
    cancel.addEventListener("click", () => this.command("branchline.cancel", null));
    const line = element("div", "writing-head", {}, element("span", "", {}, `${title}${percent}`), cancel);
    this.written.hidden = this.written.textContent === "";
    this.written.setAttribute("aria-label", title);
    this.writing.replaceChildren(line, this.written);
    this.writing.hidden = false;
  }

  private answer(delta: string): void {
    this.written.append(delta);
    this.written.hidden = false;
    this.written.scrollTop = this.written.scrollHeight;
  }
}

/** What was kept of the tree, if it is of this shape. */
export function readState(state: unknown): TreeState | null {
  if (typeof state !== "object" || state === null) return null;
  const { view, focusedId } = state as Partial<TreeState>;
  const ids = (list: unknown): boolean =>
    Array.isArray(list) && list.every((id) => typeof id === "string");
  if (typeof view !== "object" || !ids(view.folded) || !ids(view.expanded)) return null;
  if (!FILTERS.includes(view.filter)) return null;
  if (view.query !== null && typeof view.query !== "string") return null;
  return { view, focusedId: typeof focusedId === "string" ? focusedId : null };
}
