/** The page around the tree: takes the host's messages, and brings head, bars, tree and overview together. */

import { plainText } from "../shared/format";
import type { Bar, KeyHelp, PageCommand, PanelAction, ToHost, ToPage, Words } from "../shared/messages";
import type { EntryId, Row, SessionInfo, Usage } from "../shared/protocol";
import { readState } from "../shared/treeState";
import { element, fill, type Api } from "./dom";
import { Head } from "./head";
import { makeHelp } from "./help";
import { Reveal } from "./reveal";
import { Strip } from "./strip";
import { Tree } from "./tree";
import { Writing } from "./writing";

/** How long the place has to stand before it is kept, in milliseconds: not at each step of scrolling. */
const KEEP_AFTER = 200;

/** How many announcements stay in the page. */
const MOST_SAID = 3;
/** The moment after the first rows were painted, among the page's performance marks. */
const FIRST_ROWS = "branchline: first rows";

export class Page {
  private readonly tree: Tree;
  private readonly reveal: Reveal;
  private readonly head: Head;
  private readonly strip: Strip;
  private readonly writing: Writing;
  private readonly help: HTMLDialogElement;
  private readonly empty = element("p", "empty");
  private readonly bars = element("div", "bars");
  private readonly said = element("div", "said", { role: "status", "aria-live": "polite", "aria-atomic": "false" });
  private bar: Bar | null = null;
  private bracketTitle = "";
  private usage: Usage | null = null;
  private warnings: readonly string[] = [];
  private painted = false;
  private overviewAsk = 0;
  private overviewOf = "";
  private keeping: ReturnType<typeof setTimeout> | null = null;

  constructor(
    private readonly root: HTMLElement,
    private readonly api: Api,
    private readonly words: Words,
    keys: readonly KeyHelp[],
    private session: SessionInfo,
  ) {
    this.tree = new Tree(
      {
        askRows: (ask, view, at, limit) => this.post({ type: "rows", ask, view, at, limit }),
        askLocate: (ask, view, from, to) => this.post({ type: "locate", ask, view, from, to }),
        changed: () => this.treeChanged(),
        viewChanged: () => this.viewChanged(),
        selected: (row) => this.selected(row),
        open: (row) => this.enter(row),
      },
      words,
      readState(api.getState()),
    );
    this.reveal = new Reveal(this.tree, (ask, view, at) =>
      this.post({ type: "rows", ask, view, at, limit: 1 }),
    );
    this.head = new Head(words, {
      search: (text) => this.tree.setQuery(text),
      endSearch: () => this.endSearch(),
      filter: (filter) => this.tree.setFilter(filter),
      leaf: () => {
        this.tree.act("leaf");
        this.tree.scroller.focus();
      },
      help: () => this.showHelp(),
      leave: () => this.tree.scroller.focus(),
    });
    this.strip = new Strip(
      (row) => this.tree.scrollTo(row),
      (row) => this.tree.goTo(row, true),
    );
    this.writing = new Writing(words, () => this.command("branchline.cancel", null));
    this.help = makeHelp(keys, words);
    this.help.addEventListener("close", () => this.tree.scroller.focus());
    root.replaceChildren(
      this.head.element,
      element(
        "main",
        "main",
        {},
        this.bars,
        element("div", "body", {}, this.tree.scroller, this.strip.element, this.empty),
        this.writing.element,
      ),
      this.said,
      this.help,
    );
    this.followFocus();
    window.addEventListener("pagehide", () => this.keep());
  }

  /** Something that the host says. */
  take(message: ToPage): void {
    switch (message.type) {
      case "tail":
        this.showSession();
        this.tree.showTail(message.tail);
        this.say(this.words.reading);
        return;
      case "opened":
        this.session = message.opened.session;
        this.usage = message.opened.usage;
        this.warnings = message.opened.warnings;
        this.showSession();
        if (this.tree.loaded) this.tree.refresh(message.opened.leafId);
        else this.tree.start(message.opened.leafId);
        this.overviewOf = "";
        return;
      case "rows":
        if (!this.reveal.rows(message.ask, message.answer)) this.tree.rows(message.ask, message.answer);
        return;
      case "located":
        this.tree.located(message.ask, message.answer);
        return;
      case "failed":
        this.tree.failed(message.ask);
        return;
      case "changed":
        this.usage = message.usage;
        this.session.name = message.name;
        this.head.showSession(this.session, this.usage);
        this.tree.refresh(message.leafId, message.follow);
        this.overviewOf = "";
        if (message.said !== "") this.say(message.said);
        return;
      case "busy":
        this.busy(message.job);
        return;
      case "answer":
        this.writing.add(message.delta);
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
      case "reveal":
        this.leaveSearch();
        this.reveal.start(message.id);
        return;
      case "bracket":
        this.bracketTitle = message.title;
        this.tree.bracket(message.ids);
        this.drawBars();
        return;
      case "overview":
        if (message.ask === this.overviewAsk) this.strip.show(message.overview);
        return;
      case "info":
        this.session = message.session;
        this.head.showSession(this.session, this.usage);
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

  /** Have it read out when what is read now is over. The last few stay, so that none takes another's place. */
  private say(text: string): void {
    this.said.append(element("div", "", {}, text));
    while (this.said.childElementCount > MOST_SAID) this.said.firstElementChild?.remove();
  }

  // --- the tree's news -----------------------------------------------------------------------------

  private treeChanged(): void {
    if (!this.tree.loaded) return;
    if (!this.painted) requestAnimationFrame(() => setTimeout(() => performance.mark(FIRST_ROWS)));
    this.painted = true;
    const { view, total, leafRow, provisional } = this.tree;
    this.head.offer(!provisional);
    this.head.showView(view.filter, view.query, total, this.tree.leafPlace);
    this.empty.hidden = total > 0;
    const narrowed = view.query !== null || view.filter !== "default";
    this.empty.textContent = narrowed ? this.words.nothingFound : this.words.empty;
    const of = JSON.stringify([view, total, leafRow]);
    if (of !== this.overviewOf && !provisional) {
      this.overviewOf = of;
      this.post({ type: "overview", ask: ++this.overviewAsk, view });
    }
    this.strip.look(this.tree.onScreen);
    this.root.dataset["kept"] = "no";
    this.keeping ??= setTimeout(() => this.keep(), KEEP_AFTER);
  }

  private keep(): void {
    if (this.keeping !== null) clearTimeout(this.keeping);
    this.keeping = null;
    if (!this.tree.loaded) return;
    this.api.setState(this.tree.kept);
    this.root.dataset["kept"] = "yes";
  }

  private viewChanged(): void {
    const { view, total } = this.tree;
    const rows = fill(view.query === null ? this.words.rows : this.words.searchResult, total);
    this.say(`${this.words.filters[view.filter]}: ${rows}`);
  }

  private selected(row: Row | null, ask: number | null = null): void {
    this.post({
      type: "selected",
      ask,
      id: row?.type === "branches" ? null : (row?.id ?? null),
      role: row?.role ?? null,
      label: row?.label ?? null,
    });
    this.keep(); // at once: what opens in the panel's place takes the page away before any delay is over
  }

  private enter(row: Row): void {
    if (row.type === "run" || row.type === "branches") this.tree.act("toggle");
    else this.command("branchline.switchHere", row.id);
  }

  private showSession(): void {
    this.head.showSession(this.session, this.usage);
    if (this.tree.provisional) this.tree.withPlaceOnScreen(() => this.drawBars());
    else this.drawBars();
  }

  private drawBars(): void {
    const bars: HTMLElement[] = [];
    const add = (className: string, text: string, actions: Bar["actions"] = []): void => {
      const said = element("span", "bar-text", { dir: "auto" }, text);
      const bar = element("div", `bar ${className}`, { role: "note" }, said);
      for (const { command, title } of actions) {
        const button = element("button", "", { type: "button" }, title);
        button.addEventListener("click", () => this.command(command, null));
        bar.append(button);
      }
      bars.push(bar);
    };
    if (this.session.readOnly) add("read-only", this.words.readOnly);
    for (const warning of this.warnings) add("warning", plainText(warning));
    if (this.bar !== null) add("notice", plainText(this.bar.text), this.bar.actions);
    if (this.bracketTitle !== "") add("bracket", plainText(this.bracketTitle));
    this.bars.replaceChildren(...bars);
  }

  private busy(job: Parameters<Writing["show"]>[0]): void {
    this.root.classList.toggle("busy", job !== null);
    const news = this.writing.show(job);
    if (news !== null) this.say(news);
  }

  // --- keys ----------------------------------------------------------------------------------------

  private act(action: PanelAction): void {
    switch (action) {
      case "search":
        if (!this.tree.provisional) this.head.focusSearch();
        return;
      case "clear":
        if (this.tree.view.query !== null) this.endSearch();
        else this.tree.scroller.focus();
        return;
      case "help":
        this.showHelp();
        return;
      default:
        this.tree.act(action);
    }
  }

  private endSearch(): void {
    this.head.clearSearch();
    this.tree.setQuery("");
    this.tree.scroller.focus();
  }

  /** Whoever types in the search box is done; the focus is taken from no other part of the editor. */
  private leaveSearch(): void {
    if (document.hasFocus()) this.tree.scroller.focus();
    else if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  }

  private showHelp(): void {
    if (!this.help.open) this.help.showModal();
  }

  /** Tell the host where the focus is: its keybindings depend on it. */
  private followFocus(): void {
    const tell = (): void => {
      const at = document.activeElement;
      const typing = at instanceof HTMLInputElement || at instanceof HTMLSelectElement;
      this.post({ type: "focus", panel: document.hasFocus(), input: typing || this.help.open });
    };
    // Only a page that was given the focus passes it to the tree: it takes none from a draft beside it.
    const given = (): void => {
      if (document.hasFocus() && document.activeElement === document.body) this.tree.scroller.focus();
      tell();
    };
    document.addEventListener("focusin", tell);
    window.addEventListener("focus", given);
    window.addEventListener("blur", tell);
    this.tree.scroller.addEventListener("keydown", keepFromBrowser);
    given();
  }
}

/** Keys by which a browser scrolls on its own: the tree scrolls to what they select. */
const SCROLLING = ["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "];

/** Keys that a browser has a use for, and the tree another: the editor hears them all the same. */
function keepFromBrowser(event: KeyboardEvent): void {
  const plain = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
  const letter = plain && ["a", "d", "l", "u"].includes(event.key.toLowerCase());
  if (letter || SCROLLING.includes(event.key)) event.preventDefault();
}
