/** One open session, whoever looks at it: where its leaf is, what it costs, what is being written. */

import * as vscode from "vscode";
import type { TailAnswer } from "../shared/messages";
import type { EntryId, Job, Notifications, Requests, SessionInfo, Usage } from "../shared/protocol";
import type { Daemon } from "./daemon";
import { firstScreen } from "./firstScreen";

type Changed = Notifications["session/changed"];
type Opened = Requests["session/open"]["result"];

/** What happened to a conversation. */
export type News =
  | { type: "opened" }
  | { type: "changed"; change: Changed }
  | { type: "busy" }
  | { type: "answer"; delta: string }
  | { type: "summary"; part: string; delta: string }
  | { type: "reset"; reason: string }
  | { type: "info" }
  | { type: "notice" };

export class Conversation {
  info: SessionInfo;
  leafId: EntryId | null;
  revision: number;
  usage: Usage;
  settings: Record<string, unknown>;
  warnings: string[];
  job: Job | null = null;
  /** Whether the last thing that we did was a move that can be taken back. */
  canUndo = false;
  /** Where another program made a branch that we did not follow. */
  elsewhere: EntryId | null = null;
  /** What happened to the file, if it is not what was opened any more. */
  lost: string | null = null;
  /** When another program last wrote, in milliseconds, or null. */
  externalAt: number | null = null;
  private follows = 0;
  private readonly emitter = new vscode.EventEmitter<News>();
  readonly onNews = this.emitter.event;

  constructor(
    readonly path: string,
    opened: Opened,
  ) {
    this.info = opened.session;
    this.leafId = opened.leafId;
    this.revision = opened.revision;
    this.usage = opened.usage;
    this.settings = opened.settings;
    this.warnings = opened.warnings.map((warning) => warning.message);
  }

  /** Whether the panels go to the leaf when it moves: while something is done that the person asked for. */
  get following(): boolean {
    return this.follows > 0;
  }

  get title(): string {
    return this.info.name ?? this.info.firstMessage ?? this.info.id;
  }

  reopened(opened: Opened): void {
    this.info = opened.session;
    this.leafId = opened.leafId;
    this.revision = opened.revision;
    this.usage = opened.usage;
    this.settings = opened.settings;
    this.warnings = opened.warnings.map((warning) => warning.message);
    this.lost = null;
    this.emitter.fire({ type: "opened" });
  }

  take(news: News): void {
    if (news.type === "changed") {
      const { change } = news;
      this.leafId = change.leafId;
      this.revision = change.revision;
      this.usage = change.usage;
      this.info.name = change.name;
      if (change.warnings !== undefined) {
        this.warnings = change.warnings.map((warning) => warning.message);
      }
      if (change.origin === "external") this.externalAt = Date.now();
      if (change.externalBranch !== null) this.elsewhere = change.externalBranch.tipId;
      if (this.elsewhere === change.leafId) this.elsewhere = null;
      if (change.appended.some((entry) => entry.type === "message")) this.canUndo = false;
    }
    if (news.type === "reset") this.lost = news.reason;
    this.emitter.fire(news);
  }

  /** Do something, with the panels going where the leaf goes meanwhile. */
  async follow<T>(work: Promise<T>): Promise<T> {
    this.follows++;
    try {
      return await work;
    } finally {
      this.follows--;
    }
  }

  dispose(): void {
    this.emitter.dispose();
  }
}

/** The open conversations, each subscribed to once; the last that looks at one ends its subscription. */
export class Conversations implements vscode.Disposable {
  private readonly open = new Map<string, { conversation: Conversation; users: number }>();
  private readonly opening = new Map<string, Promise<Conversation>>();
  private readonly subscriptions: vscode.Disposable[];
  private readonly activeEmitter = new vscode.EventEmitter<void>();
  /** Something of the active conversation changed, or another became active. */
  readonly onActive = this.activeEmitter.event;
  active: Conversation | null = null;

  constructor(private readonly daemon: Daemon) {
    this.subscriptions = [
      daemon.on("session/changed", (change) =>
        this.pass(change.path, { type: "changed", change }),
      ),
      daemon.on("session/listChanged", ({ changed }) => {
        for (const info of changed) {
          const known = this.open.get(info.path)?.conversation;
          if (known === undefined) continue;
          known.info = { ...info, readOnly: known.info.readOnly };
          known.take({ type: "info" });
        }
      }),
      daemon.on("session/reset", ({ path, reason }) => this.pass(path, { type: "reset", reason })),
      daemon.on("session/busy", ({ session, job }) => {
        for (const { conversation } of this.open.values()) {
          if (conversation.info.id !== session) continue;
          conversation.job = job;
          this.pass(conversation.path, { type: "busy" });
        }
      }),
      daemon.on("session/messageText", ({ session, delta }) =>
        this.passById(session, { type: "answer", delta }),
      ),
      daemon.on("session/summaryText", ({ session, part, delta }) =>
        this.passById(session, { type: "summary", part, delta }),
      ),
      daemon.onState((state) => {
        if (state === "running") void this.openAgain();
      }),
    ];
  }

  private pass(path: string, news: News): void {
    for (const { conversation } of this.open.values()) {
      if (conversation.path !== path && conversation.info.path !== path) continue;
      conversation.take(news);
      if (conversation === this.active) this.activeEmitter.fire();
    }
  }

  private passById(id: string, news: News): void {
    for (const { conversation } of this.open.values()) {
      if (conversation.info.id === id) conversation.take(news);
    }
  }

  /** The conversation of a session that is looked at already. */
  known(path: string): Conversation | undefined {
    return this.open.get(path)?.conversation;
  }

  /**
   * Look at a session; each look is ended by `leave`.
   *
   * @param first is called with the first rows if reading all of the session will take its time.
   */
  async look(path: string, first?: (tail: TailAnswer) => void): Promise<Conversation> {
    const known = this.open.get(path);
    if (known !== undefined) {
      known.users++;
      return known.conversation;
    }
    const under = this.opening.get(path) ?? this.begin(path, first);
    this.opening.set(path, under);
    try {
      const conversation = await under;
      const entry = this.open.get(path) ?? { conversation, users: 0 };
      entry.users++;
      this.open.set(path, entry);
      return entry.conversation;
    } finally {
      this.opening.delete(path);
    }
  }

  private async begin(path: string, first?: (tail: TailAnswer) => void): Promise<Conversation> {
    const tail = first === undefined ? null : await firstScreen(this.daemon, path);
    if (tail !== null) first?.(tail);
    const opened = await this.daemon.request("session/open", { session: path });
    return new Conversation(path, opened);
  }

  leave(conversation: Conversation): void {
    const entry = this.open.get(conversation.path);
    if (entry === undefined || --entry.users > 0) return;
    this.open.delete(conversation.path);
    if (this.active === conversation) this.activate(null);
    conversation.dispose();
    if (this.daemon.state !== "running") return;
    this.daemon.request("session/close", { session: conversation.path }).catch(() => {
      // The subscription ends with the connection at the latest.
    });
  }

  /** Do something with a session's conversation, looking at it meanwhile. */
  async with<T>(path: string, work: (conversation: Conversation) => Promise<T>): Promise<T> {
    const conversation = await this.look(path);
    try {
      return await work(conversation);
    } finally {
      this.leave(conversation);
    }
  }

  /** The conversation that commands are about when they name none. */
  activate(conversation: Conversation | null): void {
    this.active = conversation;
    this.activeEmitter.fire();
  }

  /** Make the move of a conversation one that can be undone, or not. */
  moved(conversation: Conversation, canUndo: boolean): void {
    conversation.canUndo = canUndo;
    this.activeEmitter.fire();
  }

  async reload(conversation: Conversation): Promise<void> {
    const opened = await this.daemon.request("session/open", { session: conversation.path });
    conversation.job = null;
    conversation.elsewhere = null;
    conversation.reopened(opened);
    this.activeEmitter.fire();
  }

  /** After a new connection: subscribe again. Where the panels are stays theirs. */
  private async openAgain(): Promise<void> {
    for (const { conversation } of [...this.open.values()]) {
      try {
        await this.reload(conversation);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        conversation.take({ type: "reset", reason });
      }
    }
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
    for (const { conversation } of this.open.values()) conversation.dispose();
    this.activeEmitter.dispose();
  }
}
