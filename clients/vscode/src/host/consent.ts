/** Asks once before a conversation is sent to a host that is not this machine. */

import * as vscode from "vscode";
import type { Conversation } from "./conversation";
import type { Daemon } from "./daemon";

const ALLOWED = "branchline.allowedHosts";
const OFFICIAL = "https://api.openai.com/v1";

type Settings = Readonly<Record<string, unknown>>;

/** Whether a host, with or without a port, is this machine. */
export function isThisMachine(host: string): boolean {
  const name = /^\[(.*)\](?::\d+)?$/.exec(host)?.[1] ?? host.replace(/:\d+$/, "");
  return name === "localhost" || name.endsWith(".localhost") || name === "::1" || /^127(?:\.\d+){3}$/.test(name);
}

/** The host that would answer a prompt, by the daemon's rules; null if none is set. */
export function promptHost(
  settings: Settings,
  last: { provider?: unknown; modelId?: unknown } | null,
): string | null {
  const models = group(settings, "models");
  const prompt = group(settings, "prompt");
  const lastKey = last === null ? "" : `${String(last.provider)}/${String(last.modelId)}`;
  const lastUrl = text(group(models, lastKey), "baseUrl");
  if (lastUrl !== null) return hostOf(lastUrl);
  const name = text(prompt, "model");
  if (name === null) return null;
  const key = name in models ? name : Object.keys(models).find((one) => one.slice(one.indexOf("/") + 1) === name);
  return hostOf(text(group(models, key ?? ""), "baseUrl") ?? text(prompt, "baseUrl") ?? OFFICIAL);
}

export class Consent {
  constructor(
    private readonly daemon: Daemon,
    private readonly memory: vscode.Memento,
  ) {}

  /** Whether a summary may be written by whoever writes them. */
  async forSummary(session: string): Promise<boolean> {
    const { kind, host } = await this.daemon.request("session/summarizer", { session });
    return kind !== "openai" || (await this.for(host));
  }

  /** Whether a prompt may be sent to the model that would answer it. */
  async forPrompt(conversation: Conversation): Promise<boolean> {
    const { model } = await this.daemon.request("session/context", {
      session: conversation.path,
      format: "none",
    });
    return this.for(promptHost(conversation.settings, model));
  }

  private async for(host: string | null): Promise<boolean> {
    if (host === null || isThisMachine(host)) return true;
    const allowed = this.memory.get<string[]>(ALLOWED, []);
    if (allowed.includes(host)) return true;
    const { t } = vscode.l10n;
    const send = t("Send");
    const chosen = await vscode.window.showWarningMessage(
      t("This conversation would be sent to {0}, which is not this machine.", host),
      { modal: true, detail: t("You are asked once for each host.") },
      send,
    );
    if (chosen !== send) return false;
    await this.memory.update(ALLOWED, [...allowed, host]);
    return true;
  }
}

function group(settings: Settings, key: string): Settings {
  const value = Object.hasOwn(settings, key) ? settings[key] : undefined;
  return typeof value === "object" && value !== null ? (value as Settings) : {};
}

function text(settings: Settings, key: string): string | null {
  const value = settings[key];
  return typeof value === "string" && value !== "" ? value : null;
}

/** The host of a base URL; of one that is no URL the whole of it, which is not this machine. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
