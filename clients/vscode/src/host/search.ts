/** The search through all sessions: asked as one types, its hits by session, each a way into the tree. */

import * as vscode from "vscode";
import { plainText, shortAge } from "../shared/format";
import type { EntryId, IndexState, Result, SearchHit } from "../shared/protocol";
import type { Daemon } from "./daemon";
import { entryUri } from "./entryAddress";
import { kindOf, showError } from "./errors";
import { sessionTitle, type Scope } from "./sessionsView";

type Answer = Result<"session/search">;

/** How long nothing may be typed before it is asked, in milliseconds. */
const PAUSE = 150;
const PER_SESSION = 3;
const MEMORY = "branchline.search";

const ICONS: Readonly<Record<string, string>> = {
  user: "account",
  assistant: "hubot",
  toolResult: "tools",
  bashExecution: "terminal",
  compaction: "fold",
  branchSummary: "git-branch",
  label: "tag",
  name: "comment-discussion",
};

export interface SearchItem extends vscode.QuickPickItem {
  /** What choosing it does; without it, nothing. */
  does?: { hit: SearchHit } | { cursor: string } | { scope: Scope };
}

/** Where a search goes to: a session, and an entry of it. */
export type Go = (session: string, entry: EntryId | null) => Promise<void>;

/** The query for what stands in the box: the last word, still being typed, is the beginning of one. */
export function asTyped(text: string): string {
  const inPhrase = text.split('"').length % 2 === 0;
  const last = /(?:^|\s)(\S+)$/.exec(text)?.[1];
  if (inPhrase || last === undefined) return text;
  return /^-|["*]|^(?:role|before|after|in):/.test(last) ? text : `${text}*`;
}

/** The query for what touched a file; it ends, so that no other path goes on from it. */
export function fileQuery(path: string): string {
  return /[\s"]/.test(path) ? `file:"${path.replaceAll('"', " ")}" ` : `file:${path} `;
}

/** A session's text as a label: VS Code would draw `$(name)` as an icon. */
function asLabel(text: string): string {
  return plainText(text).replace(/\$(?=\([\w~-]+\))/g, "\\$");
}

/** The snippet with what was found in it in marks: labels of quick picks have no other. */
export function marked({ snippet, matches }: Pick<SearchHit, "snippet" | "matches">): string {
  let text = "";
  let at = 0;
  for (const [start, end] of matches) {
    text += `${snippet.slice(at, start)}«${snippet.slice(start, end)}»`;
    at = end;
  }
  return asLabel(text + snippet.slice(at));
}

function roleName(role: string): string {
  const { t } = vscode.l10n;
  const names: Record<string, string> = {
    user: t("You"),
    assistant: t("Model"),
    toolResult: t("Tool"),
    bashExecution: t("Command"),
    compaction: t("Compaction"),
    branchSummary: t("Branch summary"),
    label: t("Label"),
    name: t("Name"),
  };
  return names[role] ?? plainText(role);
}

const facts = (...parts: string[]): string => parts.filter((part) => part !== "").join(" · ");

/** The hits of one page as items: under each session, in the order of its best, what was found in it. */
export function hitItems(hits: readonly SearchHit[], now: number): SearchItem[] {
  const bySession = new Map<string, SearchHit[]>();
  for (const hit of hits) {
    const { path } = hit.session;
    bySession.set(path, [...(bySession.get(path) ?? []), hit]);
  }
  const items: SearchItem[] = [];
  for (const group of bySession.values()) {
    const info = group[0]?.session;
    if (info === undefined) continue;
    const label = facts(asLabel(sessionTitle(info)), shortAge(info.modifiedAt, now));
    items.push({ label, kind: vscode.QuickPickItemKind.Separator });
    for (const hit of group) {
      items.push({
        label: marked(hit),
        // Below it: beside it, a long snippet and the session's name would leave no room.
        detail: facts(roleName(hit.role), shortAge(hit.timestamp, now)),
        iconPath: new vscode.ThemeIcon(ICONS[hit.role] ?? "symbol-misc"),
        buttons: [{ iconPath: new vscode.ThemeIcon("go-to-file"), tooltip: vscode.l10n.t("Open Entry") }],
        alwaysShow: true,
        does: { hit },
      });
    }
  }
  return items;
}

/** How far the index is, for a person; empty if it has everything. */
export function indexingText(indexing: IndexState | null): string {
  if (indexing === null || indexing.sessions >= indexing.ofSessions) return "";
  const number = new Intl.NumberFormat(vscode.env.language);
  const [done, all] = [indexing.sessions, indexing.ofSessions].map((count) => number.format(count));
  return vscode.l10n.t("Indexing {0} of {1} sessions…", done ?? "", all ?? "");
}

const sameHit = (one: SearchItem, other: SearchItem | undefined): boolean =>
  one.does !== undefined &&
  other?.does !== undefined &&
  "hit" in one.does &&
  "hit" in other.does &&
  one.does.hit.session.path === other.does.hit.session.path &&
  one.does.hit.entryId === other.does.hit.entryId &&
  one.does.hit.role === other.does.hit.role;

/** One search, from its box being shown until it is closed. */
class Search {
  private readonly pick = vscode.window.createQuickPick<SearchItem>();
  private readonly subscriptions: { dispose(): unknown }[];
  private found: SearchItem[] = [];
  private indexing: IndexState | null = null;
  private source: vscode.CancellationTokenSource | null = null;
  private timer: NodeJS.Timeout | undefined;
  /** The query of the pages that are shown, and how many they are. */
  private query = "";
  private pages = 0;
  /** The index went on while an answer was waited for. */
  private indexedMore = false;

  constructor(
    private readonly daemon: Daemon,
    private scope: Scope,
    text: string,
    private readonly go: Go,
    ended: (text: string, scope: Scope) => void,
  ) {
    const { pick } = this;
    pick.placeholder = vscode.l10n.t('Words, "a phrase", role:user tool:bash file:src/a.py before:2026-05');
    pick.value = text;
    // Else the separators go as soon as one types. VS Code has it, its types have it as a proposal.
    Object.assign(pick, { sortByLabel: false });
    this.subscriptions = [
      pick,
      pick.onDidChangeValue(() => this.askSoon()),
      pick.onDidTriggerButton(() => this.setScope(this.scope === "all" ? "workspace" : "all")),
      pick.onDidTriggerItemButton(({ item }) => void this.openEntry(item)),
      pick.onDidAccept(() => void this.accept(pick.selectedItems[0])),
      pick.onDidHide(() => {
        ended(pick.value, this.scope);
        this.end();
      }),
      daemon.on("session/indexing", (state) => this.indexed(state)),
    ];
    this.showScope();
    pick.show();
    void this.ask();
  }

  private end(): void {
    clearTimeout(this.timer);
    this.source?.cancel();
    this.source = null;
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private askSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.ask(), PAUSE);
  }

  /** Ask for what stands in the box, or for the next page. What was asked before is taken back. */
  private async ask(cursor: string | null = null, again = false): Promise<void> {
    clearTimeout(this.timer);
    this.source?.cancel();
    this.source = null;
    if (cursor === null) this.query = asTyped(this.pick.value);
    const { query, scope } = this;
    if (query.trim() === "") {
      this.indexing = null;
      this.show([], again);
      return;
    }
    const source = new vscode.CancellationTokenSource();
    this.source = source;
    this.pick.busy = true;
    try {
      const params = { query, scope, cursor, perSession: PER_SESSION };
      const answer = await this.daemon.request("session/search", params, source.token);
      if (this.source === source) this.take(answer, cursor, again);
    } catch (error) {
      if (this.source === source) this.failed(error);
    } finally {
      source.dispose();
    }
  }

  private take(answer: Answer, cursor: string | null, again: boolean): void {
    this.source = null;
    const { t } = vscode.l10n;
    const { indexing, hits, nextCursor } = answer;
    this.indexing = indexing;
    this.pages = cursor === null ? 1 : this.pages + 1;
    const before = cursor === null ? [] : this.found;
    this.found = [...before, ...hitItems(hits, Date.now())];
    const items = [...this.found];
    if (nextCursor !== null) {
      items.push({ label: t("more…"), alwaysShow: true, does: { cursor: nextCursor } });
    } else if (items.length === 0) {
      items.push({ label: indexing === null ? t("Nothing was found.") : t("Nothing was found yet."), alwaysShow: true });
      if (this.scope === "workspace" && indexing === null) {
        items.push({ label: t("Search the sessions of all folders"), alwaysShow: true, does: { scope: "all" } });
      }
    }
    this.show(items, again || cursor !== null, cursor === null ? undefined : items[before.length + 1]);
    if (this.indexedMore && indexing !== null && cursor === null) void this.ask(null, true);
    this.indexedMore = false;
  }

  private failed(error: unknown): void {
    this.source = null;
    this.indexing = null;
    this.found = [];
    if (kindOf(error) === "invalidParams") {
      const label = vscode.l10n.t("This cannot be searched for.");
      const said = error instanceof Error ? error.message : "";
      const detail = plainText(said.replace(/^Parameter '\w+' /, ""));
      const iconPath = new vscode.ThemeIcon("warning");
      this.show([{ label, detail, iconPath, alwaysShow: true }], false);
      return;
    }
    this.pick.hide();
    void showError(error);
  }

  /** Show items; with `stay`, what is in sight and chosen stays, or `next` is chosen. */
  private show(items: readonly SearchItem[], stay: boolean, next?: SearchItem): void {
    const { pick } = this;
    const chosen = pick.activeItems[0];
    pick.keepScrollPosition = stay;
    pick.items = items;
    const active = items.find((item) => sameHit(item, chosen)) ?? next;
    if (stay && active !== undefined) pick.activeItems = [active];
    this.showState();
  }

  private showState(): void {
    const { t } = vscode.l10n;
    const where = this.scope === "all" ? t("Sessions of all folders") : t("Sessions of this workspace");
    const progress = indexingText(this.indexing);
    this.pick.title = facts(where, progress);
    this.pick.busy = this.source !== null || progress !== "";
  }

  /** The index went on: what is shown may not be all any more. */
  private indexed(state: IndexState): void {
    if (this.source !== null) this.indexedMore = true;
    if (this.indexing === null) return;
    this.indexing = state;
    this.showState();
    // Further pages were asked for: they would be gone.
    if (this.source === null && this.pages === 1) void this.ask(null, true);
  }

  private setScope(scope: Scope): void {
    this.scope = scope;
    this.showScope();
    void this.ask();
  }

  private showScope(): void {
    const { t } = vscode.l10n;
    this.pick.buttons = [
      this.scope === "all"
        ? { iconPath: new vscode.ThemeIcon("root-folder"), tooltip: t("Search the sessions of this workspace") }
        : { iconPath: new vscode.ThemeIcon("globe"), tooltip: t("Search the sessions of all folders") },
    ];
    this.showState();
  }

  private async accept(item: SearchItem | undefined): Promise<void> {
    if (item?.does === undefined) return;
    const { does } = item;
    if ("cursor" in does) await this.ask(does.cursor);
    else if ("scope" in does) this.setScope(does.scope);
    else {
      this.pick.hide();
      const { session, entryId, role } = does.hit;
      try {
        // A name is the whole session's.
        await this.go(session.path, role === "name" ? null : entryId);
      } catch (error) {
        void showError(error);
      }
    }
  }

  /** Show an entry beside, with the search left open to look at the next. */
  private async openEntry({ does }: SearchItem): Promise<void> {
    if (does === undefined || !("hit" in does)) return;
    this.pick.ignoreFocusOut = true;
    try {
      await vscode.window.showTextDocument(entryUri(does.hit.session.path, does.hit.entryId), {
        preserveFocus: true,
        preview: true,
      });
    } catch (error) {
      void showError(error);
    }
  }
}

export class SessionSearch {
  constructor(
    private readonly daemon: Daemon,
    private readonly memory: vscode.Memento,
    private readonly go: Go,
  ) {}

  /** Search for a text, or for the last one again. */
  show(text?: string): void {
    const last = this.memory.get<{ text: string; scope: Scope }>(MEMORY);
    const usual = vscode.workspace.workspaceFolders === undefined ? "all" : "workspace";
    new Search(this.daemon, last?.scope ?? usual, text ?? last?.text ?? "", this.go, (ended, scope) =>
      void this.memory.update(MEMORY, { text: ended, scope }),
    );
  }

  /** Which sessions touched a file: the one that is given, else the one in the editor. */
  showFile(uri: unknown): void {
    const file = uri instanceof vscode.Uri ? uri : vscode.window.activeTextEditor?.document.uri;
    if (file !== undefined) this.show(fileQuery(vscode.workspace.asRelativePath(file, false)));
  }
}
