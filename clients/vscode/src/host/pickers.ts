/** Quick picks: any session, and any branch, label or message of one. */

import * as vscode from "vscode";
import { plainText, shortAge, shortCount } from "../shared/format";
import { lanes, sign, surroundings } from "../shared/lanes";
import type { EntryId, Requests, SessionInfo } from "../shared/protocol";
import type { Conversation } from "./conversation";
import type { Daemon } from "./daemon";
import { showError } from "./errors";
import { describeSession, sessionTitle } from "./sessionsView";

const MOST_SHOWN = 500;

interface SessionItem extends vscode.QuickPickItem {
  path: string;
}

function sessionItem(info: SessionInfo): SessionItem {
  return {
    label: sessionTitle(info),
    description: describeSession(info),
    detail: plainText(info.cwd ?? info.path),
    path: info.path,
    alwaysShow: true,
  };
}

/** Let the person find a session among all; the daemon searches. */
export function pickSession(daemon: Daemon): Promise<string | undefined> {
  const pick = vscode.window.createQuickPick<SessionItem>();
  pick.placeholder = vscode.l10n.t("Words of its name, first message or folder");
  let asked = 0;
  const search = async (): Promise<void> => {
    const ask = ++asked;
    pick.busy = true;
    try {
      const query = pick.value.trim();
      const { sessions } = await daemon.request("session/list", {
        scope: "all",
        query: query === "" ? null : query,
        limit: 100,
      });
      if (ask === asked) pick.items = sessions.map(sessionItem);
    } catch (error) {
      pick.hide();
      await showError(error);
    } finally {
      if (ask === asked) pick.busy = false;
    }
  };
  pick.onDidChangeValue(() => void search());
  void search();
  pick.show();
  return new Promise((resolve) => {
    pick.onDidAccept(() => {
      resolve(pick.selectedItems[0]?.path);
      pick.hide();
    });
    pick.onDidHide(() => {
      resolve(undefined);
      asked++;
      pick.dispose();
    });
  });
}

export interface PointItem extends vscode.QuickPickItem {
  id?: EntryId;
  /** The lanes that stand before the text while nothing is searched. */
  lane: string;
  text: string;
}

/** Branches, labels and the person's messages as items; lanes only while nothing is searched. */
export function pointItems(
  branches: Requests["session/branches"]["result"],
  tree: Requests["session/tree"]["result"],
  now: number,
): PointItem[] {
  const { t } = vscode.l10n;
  const separator = (label: string): PointItem => ({
    label,
    kind: vscode.QuickPickItemKind.Separator,
    lane: "",
    text: "",
  });
  const around = surroundings(tree.rows);
  const points: PointItem[] = tree.rows.map((row, at) => {
    const place = around[at] ?? { begins: false, trunkCovered: null };
    const lane = lanes(row, place) + sign(row, place);
    const text = plainText(row.text);
    const facts = [
      row.isLeaf ? `◀ ${t("here")}` : "",
      row.label === null ? "" : `⚑${plainText(row.label)}`,
      shortAge(row.timestamp, now),
    ];
    return {
      id: row.id,
      lane,
      text,
      label: lane + text,
      description: facts.filter((fact) => fact !== "").join(" · "),
    };
  });
  const others: PointItem[] = branches.branches
    .filter((branch) => !branch.active)
    .map((branch) => ({
      id: branch.tipId,
      lane: "⊞ ",
      text: plainText(branch.name) || branch.tipId,
      label: `⊞ ${plainText(branch.name) || branch.tipId}`,
      description: [
        t("{0} messages", branch.messageCount),
        shortCount(branch.tokens),
        shortAge(branch.lastTimestamp, now),
      ].join(" · "),
    }));
  const labels: PointItem[] = branches.labels.map(({ id, label, timestamp }) => ({
    id,
    lane: "⚑ ",
    text: plainText(label),
    label: `⚑ ${plainText(label)}`,
    description: shortAge(timestamp, now),
  }));
  const room = MOST_SHOWN - points.length;
  return [
    ...(points.length > 0 ? [separator(t("Your messages")), ...points] : []),
    ...(others.length > 0 && room > 0 ? [separator(t("Other branches")), ...others.slice(0, room)] : []),
    ...(labels.length > 0 && room > others.length
      ? [separator(t("Labels")), ...labels.slice(0, room - others.length)]
      : []),
  ];
}

/** Let the person choose where to go. */
export async function pickPoint(
  daemon: Daemon,
  conversation: Conversation,
): Promise<EntryId | undefined> {
  const session = conversation.path;
  const [branches, tree] = await Promise.all([
    daemon.request("session/branches", { session }),
    daemon.request("session/tree", {
      session,
      filter: "userOnly",
      layout: "pi",
      limit: MOST_SHOWN,
      around: conversation.leafId,
    }),
  ]);
  const items = pointItems(branches, tree, Date.now());
  const pick = vscode.window.createQuickPick<PointItem>();
  pick.title = plainText(conversation.title);
  pick.placeholder = vscode.l10n.t("Where to go: a message of yours, a branch or a label");
  pick.matchOnDescription = true;
  pick.items = items;
  const leaf = tree.leafRow === null ? undefined : tree.rows[tree.leafRow - tree.offset]?.id;
  pick.activeItems = items.filter((item) => item.id !== undefined && item.id === leaf).slice(0, 1);
  let withLanes = true;
  pick.onDidChangeValue((value) => {
    if ((value === "") === withLanes) return;
    withLanes = value === "";
    pick.items = items.map((item) =>
      item.kind === vscode.QuickPickItemKind.Separator || withLanes
        ? item
        : { ...item, label: item.text },
    );
  });
  pick.show();
  return new Promise((resolve) => {
    pick.onDidAccept(() => {
      resolve(pick.selectedItems[0]?.id);
      pick.hide();
    });
    pick.onDidHide(() => {
      resolve(undefined);
      pick.dispose();
    });
  });
}
