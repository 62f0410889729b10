/** The Sessions view: conversations by day, forks under their parent. */

import * as vscode from "vscode";
import { crop, plainText } from "../shared/format";
import type { SessionInfo } from "../shared/protocol";
import type { Daemon } from "./daemon";
import { showError } from "./errors";

export type Scope = "workspace" | "all";
const FIRST = 200;
const MOST = 20_000;

export type Node =
  | { kind: "day"; title: string; sessions: Node[] }
  | { kind: "session"; info: SessionInfo; forks: Node[] }
  | { kind: "more"; left: number };

/** The name a person knows a session by. */
export function sessionTitle(info: SessionInfo): string {
  const title = plainText(info.name ?? info.firstMessage ?? "").trim();
  return title === "" ? info.id : crop(title, 120);
}

/** Midnight before a time, in the person's own time zone. */
function dayOf(time: number): number {
  return new Date(time).setHours(0, 0, 0, 0);
}

export function dayTitle(time: number, now: number): string {
  const day = dayOf(time);
  if (day === dayOf(now)) return vscode.l10n.t("Today");
  const yesterday = new Date(dayOf(now));
  yesterday.setDate(yesterday.getDate() - 1);
  if (day === yesterday.getTime()) return vscode.l10n.t("Yesterday");
  return new Intl.DateTimeFormat(vscode.env.language, { dateStyle: "full" }).format(time);
}

/** Sessions, newest first, as a tree: days, below them sessions, below those their forks. */
export function arrange(sessions: readonly SessionInfo[], total: number, now: number): Node[] {
  const nodes = new Map<string, Node & { kind: "session" }>();
  for (const info of sessions) nodes.set(info.path, { kind: "session", info, forks: [] });
  const days = new Map<string, Node & { kind: "day" }>();
  for (const node of nodes.values()) {
    const parent = parentOf(node, nodes);
    if (parent !== null) {
      parent.forks.push(node);
      continue;
    }
    const time = Date.parse(node.info.modifiedAt ?? node.info.createdAt ?? "");
    const title = Number.isNaN(time) ? vscode.l10n.t("Without a date") : dayTitle(time, now);
    const day = days.get(title) ?? { kind: "day" as const, title, sessions: [] };
    day.sessions.push(node);
    days.set(title, day);
  }
  const left = total - sessions.length;
  return [...days.values(), ...(left > 0 ? [{ kind: "more" as const, left }] : [])];
}

/** The session that this one is a fork of, unless its ancestors lead back to it. */
function parentOf(
  node: Node & { kind: "session" },
  nodes: ReadonlyMap<string, Node & { kind: "session" }>,
): (Node & { kind: "session" }) | null {
  const first = nodes.get(node.info.parentSession ?? "");
  const seen = new Set([node.info.path]);
  for (let at = first; at !== undefined; at = nodes.get(at.info.parentSession ?? "")) {
    if (seen.has(at.info.path)) return null;
    seen.add(at.info.path);
  }
  return first ?? null;
}

export class SessionsView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly subscriptions: vscode.Disposable[];
  private scope: Scope = "workspace";
  private limit = FIRST;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly daemon: Daemon,
    private readonly now: () => number = Date.now,
  ) {
    this.subscriptions = [
      daemon.on("session/listChanged", () => this.refreshSoon()),
      daemon.onState(() => this.refresh()),
    ];
  }

  setScope(scope: Scope): void {
    this.scope = scope;
    this.limit = FIRST;
    void vscode.commands.executeCommand("setContext", "branchline.scope", scope);
    this.refresh();
  }

  more(): void {
    this.limit = Math.min(MOST, this.limit + FIRST);
    this.refresh();
  }

  refresh(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.changed.fire();
  }

  /** Several changes in a row are one. */
  private refreshSoon(): void {
    this.timer ??= setTimeout(() => this.refresh(), 100);
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node?.kind === "day") return node.sessions;
    if (node?.kind === "session") return node.forks;
    if (node !== undefined || this.daemon.state !== "running") return [];
    try {
      const params = { scope: this.scope, limit: this.limit } as const;
      const { sessions, total } = await this.daemon.request("session/list", params);
      return arrange(sessions, total, this.now());
    } catch (error) {
      void showError(error);
      return [];
    }
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const { t } = vscode.l10n;
    switch (node.kind) {
      case "day": {
        const item = new vscode.TreeItem(node.title, vscode.TreeItemCollapsibleState.Expanded);
        item.id = `day ${node.title}`;
        item.contextValue = "day";
        return item;
      }
      case "more": {
        const item = new vscode.TreeItem(t("{0} more…", node.left));
        item.command = { command: "branchline.moreSessions", title: t("More") };
        item.iconPath = new vscode.ThemeIcon("ellipsis");
        item.contextValue = "more";
        return item;
      }
      case "session":
        return this.sessionItem(node);
    }
  }

  private sessionItem({ info, forks }: Node & { kind: "session" }): vscode.TreeItem {
    const { t } = vscode.l10n;
    const { None, Collapsed } = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(sessionTitle(info), forks.length > 0 ? Collapsed : None);
    item.id = info.path;
    item.iconPath = new vscode.ThemeIcon(
      !info.readable ? "error" : info.readOnly ? "lock" : info.parentSession ? "repo-forked" : "comment-discussion",
    );
    item.contextValue = info.readOnly ? "session readOnly" : "session";
    item.command = {
      command: "branchline.open",
      title: t("Open"),
      arguments: [info.path],
    };
    item.description = describeSession(info);
    item.tooltip = [sessionTitle(info), item.description, info.cwd ?? "", info.path]
      .filter((line) => line !== "")
      .join("\n");
    return item;
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) subscription.dispose();
    this.changed.dispose();
  }
}

/** Time, messages and branches of a session, as far as they are known. */
export function describeSession(info: SessionInfo): string {
  const { t } = vscode.l10n;
  if (!info.readable) return t("cannot be read");
  const facts: string[] = [];
  const time = Date.parse(info.modifiedAt ?? "");
  if (!Number.isNaN(time)) {
    facts.push(new Intl.DateTimeFormat(vscode.env.language, { timeStyle: "short" }).format(time));
  }
  if (info.messageCount !== null) facts.push(t("{0} messages", info.messageCount));
  if (info.branchCount !== null && info.branchCount > 1) {
    facts.push(t("{0} branches", info.branchCount));
  }
  return facts.join(" · ");
}
