/** What the extension host and the panel's page say to each other: two unions, checked on arrival. */

import type {
  Direction,
  EntryId,
  Filter,
  Job,
  Requests,
  SessionInfo,
  Usage,
  View,
} from "./protocol";

/** What the keyboard, the row menus and the mouse can ask the page to do. */
export const PANEL_ACTIONS = [
  "down",
  "up",
  "pageDown",
  "pageUp",
  "first",
  "last",
  "unfold",
  "fold",
  "toggle",
  "leaf",
  "fork",
  "nextSibling",
  "previousSibling",
  "nextUser",
  "previousUser",
  "nextLabel",
  "previousLabel",
  "nextHit",
  "previousHit",
  "search",
  "clear",
  "filter",
  "filterDefault",
  "filterNoTools",
  "filterUserOnly",
  "filterLabeledOnly",
  "filterAll",
  "labelTimes",
  "help",
] as const;
export type PanelAction = (typeof PANEL_ACTIONS)[number];

/** Commands that the page may start, each about one entry or the whole session. */
export const PAGE_COMMANDS = [
  "branchline.switchHere",
  "branchline.openEntry",
  "branchline.switchBranch",
  "branchline.cancel",
  "branchline.follow",
  "branchline.stay",
  "branchline.reload",
  "branchline.restart",
  "branchline.showLog",
  "branchline.compact",
  "branchline.undo",
] as const;
export type PageCommand = (typeof PAGE_COMMANDS)[number];

export type TreeAnswer = Requests["session/tree"]["result"];
export type LocateAnswer = Requests["session/locate"]["result"];
export type TailAnswer = Requests["session/tail"]["result"];
export type Overview = Requests["session/overview"]["result"];

export const FILTERS: readonly Filter[] = ["default", "noTools", "userOnly", "labeledOnly", "all"];

export type ToHost =
  | { type: "ready" }
  | { type: "rows"; ask: number; view: View; at: number | { around: EntryId }; limit: number }
  | { type: "locate"; ask: number; view: View; from: EntryId; to: Direction }
  | { type: "focus"; panel: boolean; input: boolean }
  | {
      type: "selected";
      id: EntryId | null;
      role: string | null;
      label: string | null;
      /** The number of the question that this answers, or null. */
      ask: number | null;
    }
  | { type: "overview"; ask: number; view: View }
  | { type: "command"; command: PageCommand; id: EntryId | null };

export interface BarAction {
  command: PageCommand;
  title: string;
}

export interface Bar {
  text: string;
  actions: BarAction[];
}

/** What some keys do, for the page of keys. */
export interface KeyHelp {
  keys: string[];
  title: string;
}

export interface Opened {
  session: SessionInfo;
  leafId: EntryId | null;
  revision: number;
  usage: Usage;
  warnings: string[];
}

export type ToPage =
  /** The first screen of a session that is not opened yet. */
  | { type: "tail"; tail: TailAnswer; words: Words; keys: KeyHelp[] }
  | { type: "opened"; opened: Opened; words: Words; keys: KeyHelp[] }
  | { type: "rows"; ask: number; answer: TreeAnswer }
  | { type: "located"; ask: number; answer: LocateAnswer }
  | { type: "failed"; ask: number }
  | {
      type: "changed";
      revision: number;
      leafId: EntryId | null;
      usage: Usage;
      name: string | null;
      said: string;
      /** Whether to go to the leaf. */
      follow: boolean;
    }
  | { type: "busy"; job: Job | null }
  | { type: "answer"; delta: string }
  | { type: "act"; action: PanelAction }
  | { type: "which"; ask: number }
  | { type: "show"; id: EntryId }
  | { type: "reveal"; id: EntryId }
  | { type: "bracket"; ids: EntryId[]; title: string }
  | { type: "overview"; ask: number; overview: Overview }
  | { type: "keys"; on: boolean }
  | { type: "info"; session: SessionInfo }
  | { type: "bar"; bar: Bar | null };

/** The texts of the page, in the person's language; `{0}` is filled in. */
export interface Words {
  search: string;
  searchResult: string;
  rows: string;
  filter: string;
  filters: Record<Filter, string>;
  here: string;
  hereAbove: string;
  hereBelow: string;
  branches: string;
  messages: string;
  message: string;
  keys: string;
  tree: string;
  covered: string;
  omitted: string;
  replaced: string;
  failed: string;
  label: string;
  user: string;
  assistant: string;
  tool: string;
  empty: string;
  nothingFound: string;
  writing: Record<Job["kind"], string>;
  cancel: string;
  close: string;
  readOnly: string;
  reading: string;
  tokensOf: string;
  tokens: string;
  written: string;
}

const isText = (value: unknown): value is string => typeof value === "string";
const isId = (value: unknown): value is EntryId | null => value === null || isText(value);

const DIRECTIONS: readonly string[] = [
  "parent",
  "fork",
  "nextSibling",
  "previousSibling",
  "nextUser",
  "previousUser",
  "nextLabel",
  "previousLabel",
  "nextHit",
  "previousHit",
  "leaf",
];

function isView(value: unknown): value is View {
  if (typeof value !== "object" || value === null) return false;
  const view = value as Record<string, unknown>;
  const ids = (list: unknown): boolean => Array.isArray(list) && list.every(isText);
  return (
    (FILTERS as readonly unknown[]).includes(view["filter"]) &&
    isId(view["query"]) &&
    ids(view["folded"]) &&
    ids(view["expanded"])
  );
}

/** The message, or null if the page may not say that: a page that was taken over gets nowhere. */
export function readToHost(value: unknown): ToHost | null {
  if (typeof value !== "object" || value === null) return null;
  const message = value as Record<string, unknown>;
  const ok = ((): boolean => {
    switch (message["type"]) {
      case "ready":
        return true;
      case "overview":
        return Number.isInteger(message["ask"]) && isView(message["view"]);
      case "rows": {
        const at = message["at"];
        const place =
          Number.isInteger(at) ||
          (typeof at === "object" && at !== null && isText((at as { around?: unknown }).around));
        return (
          Number.isInteger(message["ask"]) &&
          isView(message["view"]) &&
          place &&
          Number.isInteger(message["limit"])
        );
      }
      case "locate":
        return (
          Number.isInteger(message["ask"]) &&
          isView(message["view"]) &&
          isText(message["from"]) &&
          isText(message["to"]) &&
          DIRECTIONS.includes(message["to"])
        );
      case "focus":
        return typeof message["panel"] === "boolean" && typeof message["input"] === "boolean";
      case "selected":
        return (
          isId(message["id"]) &&
          isId(message["role"]) &&
          isId(message["label"]) &&
          (message["ask"] === null || Number.isInteger(message["ask"]))
        );
      case "command":
        return (
          isId(message["id"]) &&
          (PAGE_COMMANDS as readonly unknown[]).includes(message["command"])
        );
      default:
        return false;
    }
  })();
  return ok ? (value as ToHost) : null;
}
