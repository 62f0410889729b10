/**
 * The connection to the daemon: started, watched, started again with back-off.
 *
 * Everybody else asks by `request` and listens by `on`; both outlive any number of connections.
 */

import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  type StaticFeature,
} from "vscode-languageclient/node";
import {
  PROTOCOL_VERSION,
  type MethodName,
  type NotificationName,
  type Notifications,
  type Params,
  type Result,
  type SummarizeAnswer,
  type SummarizeParams,
} from "../shared/protocol";
import { findCommand } from "./command";

/** `missing`: no program. `old`: it lacks what we need. `failed`: it does not start; see `reason`. */
export type DaemonState = "stopped" | "starting" | "running" | "missing" | "old" | "failed";

export interface Daemon {
  readonly state: DaemonState;
  /** Why it does not run, for a person. */
  readonly reason: string;
  readonly onState: vscode.Event<DaemonState>;
  request<M extends MethodName>(
    method: M,
    params: Params<M>,
    token?: vscode.CancellationToken,
  ): Promise<Result<M>>;
  on<N extends NotificationName>(
    name: N,
    listener: (params: Notifications[N]) => void,
  ): vscode.Disposable;
  restart(): Promise<void>;
}

/** The daemon is not there; `state` says how. */
export class DaemonGone extends Error {
  constructor(
    readonly state: DaemonState,
    reason: string,
  ) {
    super(reason);
  }
}

/** A summary by the editor's own model, if one was chosen. */
export interface OwnWriter {
  offer(): Promise<{ model: string; maxInputTokens: number } | null>;
  write(params: SummarizeParams, token: vscode.CancellationToken): Promise<SummarizeAnswer>;
}

export interface DaemonOptions {
  log: vscode.LogOutputChannel;
  /** The folder of the environment that the extension made, if it made one. */
  privateFolder: string;
  settings: () => Record<string, unknown>;
  writer: OwnWriter;
}

const NEEDED: readonly MethodName[] = ["session/tree", "session/undo", "session/prompt"];
const NOTIFICATION_NAMES: readonly NotificationName[] = [
  "session/changed",
  "session/reset",
  "session/listChanged",
  "session/indexing",
  "session/busy",
  "session/summaryText",
  "session/messageText",
];
const FIRST_DELAY = 250;
const LONGEST_DELAY = 30_000;
/** A connection that held for so long was a good one: the next loss begins at the first delay. */
const GOOD_AFTER = 60_000;
/** After so many losses in a row, a start that fails is the last one. */
const MOST_LOSSES = 6;

/** How long to wait before the next start, in milliseconds, after so many losses in a row. */
export function backOff(losses: number): number {
  return Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** Math.max(0, losses - 1));
}

interface Capabilities {
  protocolVersion?: number;
  methods?: string[];
}

export class DaemonClient implements Daemon, vscode.Disposable {
  state: DaemonState = "stopped";
  reason = "";
  private readonly stateEmitter = new vscode.EventEmitter<DaemonState>();
  readonly onState = this.stateEmitter.event;
  private readonly listeners = new Map<string, Set<(params: never) => void>>();
  private client: LanguageClient | null = null;
  private losses = 0;
  private since = 0;
  private timer: NodeJS.Timeout | undefined;
  private generation = 0;

  constructor(private readonly options: DaemonOptions) {}

  async start(): Promise<void> {
    const generation = ++this.generation;
    this.become("starting");
    const setting = vscode.workspace.getConfiguration("branchline").get<string>("command", "");
    const found = await findCommand(setting, this.options.privateFolder);
    if (generation !== this.generation) return;
    if (found === null) {
      const reason =
        setting === ""
          ? vscode.l10n.t("The program “branchline” was not found.")
          : vscode.l10n.t("The program that branchline.command names was not found: {0}", setting);
      this.become("missing", reason);
      return;
    }
    this.options.log.info(`starting ${found.command} connect (${found.source})`);
    const offered = await this.options.writer.offer();
    if (generation !== this.generation) return;
    const client = this.makeClient(found.command, offered, generation);
    this.client = client;
    try {
      await client.start();
      // Of a program that ends at once it may be said that it has started.
      if (client.initializeResult === undefined) throw new Error("the program ended");
    } catch (error) {
      if (generation !== this.generation) return;
      this.client = null;
      const reason = error instanceof Error ? error.message : String(error);
      this.options.log.error(`the daemon did not start: ${reason}`);
      if (this.losses > 0 && this.losses < MOST_LOSSES) this.startLater();
      else this.become("failed", reason);
      return;
    }
    if (generation !== this.generation) {
      await stop(client);
      return;
    }
    const offeredByDaemon = (
      client.initializeResult.capabilities.experimental as
        | { branchline?: Capabilities }
        | undefined
    )?.branchline;
    const missing = NEEDED.filter((name) => offeredByDaemon?.methods?.includes(name) !== true);
    if ((offeredByDaemon?.protocolVersion ?? 0) < PROTOCOL_VERSION || missing.length > 0) {
      this.client = null;
      this.become("old", vscode.l10n.t("This Branchline is too old for the extension."));
      await stop(client);
      return;
    }
    this.since = Date.now();
    this.become("running");
  }

  private makeClient(
    command: string,
    offered: { model: string; maxInputTokens: number } | null,
    generation: number,
  ): LanguageClient {
    const client = new QuietClient(
      "branchline",
      "Branchline",
      { command, args: ["connect"] },
      {
        outputChannel: this.options.log,
        revealOutputChannelOn: RevealOutputChannelOn.Never,
        initializationOptions: this.options.settings(),
        initializationFailedHandler: () => false,
        errorHandler: {
          error: () => ({ action: ErrorAction.Continue, handled: true }),
          closed: () => {
            this.lost(generation);
            return { action: CloseAction.DoNotRestart, handled: true };
          },
        },
      },
    );
    if (offered !== null) client.registerFeature(offersSummaries(offered));
    client.onRequest("session/summarize", (params: SummarizeParams, token: vscode.CancellationToken) =>
      this.options.writer.write(params, token),
    );
    for (const name of NOTIFICATION_NAMES) {
      client.onNotification(name, (params: unknown) => this.tell(name, params as never));
    }
    return client;
  }

  private lost(generation: number): void {
    if (generation !== this.generation || this.state !== "running") return;
    this.client = null;
    if (Date.now() - this.since > GOOD_AFTER) this.losses = 0;
    this.startLater();
  }

  private startLater(): void {
    const delay = backOff(++this.losses);
    this.options.log.warn(`the daemon is gone; starting again in ${delay} ms`);
    this.become("starting", vscode.l10n.t("The daemon ended; it is being started again."));
    this.timer = setTimeout(() => void this.start(), delay);
  }

  private tell(name: NotificationName, params: never): void {
    for (const listener of this.listeners.get(name) ?? []) listener(params);
  }

  private become(state: DaemonState, reason = ""): void {
    this.state = state;
    this.reason = reason;
    void vscode.commands.executeCommand("setContext", "branchline.daemon", state);
    this.stateEmitter.fire(state);
  }

  /** The connection, once it is there. */
  private async connection(): Promise<LanguageClient> {
    while (this.state === "starting") {
      await new Promise<void>((resolve) => {
        const once = this.onState(() => {
          once.dispose();
          resolve();
        });
      });
    }
    if (this.client === null || this.state !== "running") {
      throw new DaemonGone(this.state, this.reason);
    }
    return this.client;
  }

  async request<M extends MethodName>(
    method: M,
    params: Params<M>,
    token?: vscode.CancellationToken,
  ): Promise<Result<M>> {
    const client = await this.connection();
    // An absent token would count as a second param.
    return token === undefined
      ? client.sendRequest<Result<M>>(method, params)
      : client.sendRequest<Result<M>>(method, params, token);
  }

  on<N extends NotificationName>(
    name: N,
    listener: (params: Notifications[N]) => void,
  ): vscode.Disposable {
    const listeners = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, listeners);
    const known = listener as (params: never) => void;
    listeners.add(known);
    return new vscode.Disposable(() => listeners.delete(known));
  }

  /** Tell the daemon what the settings are now. */
  async settingsChanged(): Promise<void> {
    if (this.client === null || this.state !== "running") return;
    await this.client.sendNotification("workspace/didChangeConfiguration", {
      settings: this.options.settings(),
    });
  }

  async restart(): Promise<void> {
    this.losses = 0;
    await this.stop();
    await this.start();
  }

  async stop(): Promise<void> {
    this.generation++;
    clearTimeout(this.timer);
    const { client } = this;
    this.client = null;
    this.become("stopped");
    if (client !== null) await stop(client);
  }

  dispose(): void {
    void this.stop();
    this.stateEmitter.dispose();
  }
}

/** Its own notifications are only logged: what is wrong and what can be done is said in our words. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

async function stop(client: LanguageClient): Promise<void> {
  if (client.needsStop()) {
    await client.stop().catch(() => {
      // It is being left: that it left first is as good.
    });
  }
}

function offersSummaries(offer: { model: string; maxInputTokens: number }): StaticFeature {
  return {
    fillClientCapabilities(capabilities) {
      capabilities.experimental = { branchline: { summarize: offer } };
    },
    initialize() {
      // Nothing to register: the request is answered from the beginning.
    },
    getState() {
      return { kind: "static" };
    },
    clear() {
      // Nothing was registered.
    },
  };
}
