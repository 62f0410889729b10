/**
 * The protocol as this client sees it: a mirror of the daemon's protocol reference, with the same names.
 *
 * A test reads the interfaces `Requests` and `Notifications` and the table `ERROR_KINDS` and compares
 * them with the reference: an optional param is one with a default there. Nothing here runs.
 */

import type {
  Branch,
  CompactPlan,
  Direction,
  EditorContent,
  Entry,
  EntryId,
  Filter,
  IndexState,
  Job,
  Position,
  Row,
  SearchHit,
  SessionInfo,
  SwitchPlan,
  SwitchSummary,
  Totals,
  Usage,
  View,
  Warning,
  Writer,
  WriterChoice,
} from "./protocolTypes";

export type * from "./protocolTypes";

export const PROTOCOL_VERSION = 1;

interface SessionParam {
  session: string;
}

interface Moves extends SessionParam {
  expectedLeafId?: EntryId | null;
}

export interface Requests {
  "session/list": {
    params: {
      scope: "workspace" | "all";
      query?: string | null;
      named?: boolean;
      order?: "recent" | "threaded";
      cursor?: string | null;
      limit?: number;
    };
    result: { sessions: SessionInfo[]; total: number; nextCursor: string | null };
  };
  "session/search": {
    params: {
      query: string;
      scope: "workspace" | "all";
      cursor?: string | null;
      limit?: number;
      perSession?: number | null;
      wait?: boolean;
    };
    result: { hits: SearchHit[]; nextCursor: string | null; indexing: IndexState | null };
  };
  "session/create": {
    params: {
      cwd?: string | null;
      id?: string | null;
      name?: string | null;
      parentSession?: string | null;
    };
    result: Position & { session: SessionInfo };
  };
  "session/open": {
    params: SessionParam & { readOnly?: boolean };
    result: Position & {
      session: SessionInfo;
      usage: Usage;
      warnings: Warning[];
      settings: Record<string, unknown>;
    };
  };
  "session/close": { params: SessionParam; result: object };
  "session/append": {
    params: Moves & {
      entries: Record<string, unknown>[];
      parentId?: EntryId | null;
      moveLeaf?: boolean;
    };
    result: Position & {
      entries: { id: EntryId; parentId: EntryId | null; timestamp: string }[];
    };
  };
  "session/tree": {
    params: SessionParam & View & { offset?: number; around?: EntryId | null; limit?: number };
    result: Position & { rows: Row[]; offset: number; total: number; leafRow: number | null };
  };
  "session/tail": {
    params: SessionParam & Omit<View, "query"> & { limit?: number };
    result: {
      session: SessionInfo;
      rows: Row[];
      leafRow: number | null;
      leafId: EntryId | null;
      whole: boolean;
    };
  };
  "session/locate": {
    params: SessionParam & View & { from: EntryId; to: Direction };
    result: { id: EntryId; offset: number } | null;
  };
  "session/find": {
    params: SessionParam & {
      query: string;
      from?: EntryId | null;
      backwards?: boolean;
      filter?: Filter;
    };
    result: { id: EntryId; number: number; total: number; wrapped: boolean } | null;
  };
  "session/overview": {
    params: SessionParam & View;
    result: {
      total: number;
      leafRow: number | null;
      labels: number[];
      forks: number[];
      hits: number[];
    };
  };
  "session/branches": {
    params: SessionParam;
    result: {
      branches: Branch[];
      labels: { id: EntryId; label: string; timestamp: string | null }[];
    };
  };
  "session/entries": { params: SessionParam & { ids: EntryId[] }; result: { entries: Entry[] } };
  "session/context": {
    params: SessionParam & {
      leafId?: EntryId | null;
      format?: "messages" | "openai" | "none";
    };
    result: {
      leafId: EntryId | null;
      path: EntryId[];
      sources: EntryId[];
      messages: Record<string, unknown>[] | null;
      tools: unknown[];
      model: { provider: string; modelId: string } | null;
      thinkingLevel: string;
      activeTools: string[] | null;
      usage: Usage;
      warnings: Warning[];
    };
  };
  "session/switchLeaf": {
    params: Moves & {
      targetId: EntryId | null;
      position?: "auto" | "at";
      summary?: SwitchSummary;
      label?: string | null;
      dryRun?: boolean;
      preview?: boolean;
      workDoneToken?: string | number | null;
    };
    result: Position & {
      previousLeafId: EntryId | null;
      summaryEntryId: EntryId | null;
      summary: string | null;
      draftId: string | null;
      editorContent: EditorContent | null;
      plan: SwitchPlan;
    };
  };
  "session/undo": { params: Moves; result: Position & { undoneId: EntryId } };
  "session/compact": {
    params: Moves & {
      instructions?: string | null;
      keepRecentTokens?: number | null;
      summarizer?: WriterChoice | null;
      summary?: string | null;
      draftId?: string | null;
      dryRun?: boolean;
      preview?: boolean;
      workDoneToken?: string | number | null;
    };
    result: Position & {
      entryId: EntryId | null;
      summary: string | null;
      draftId: string | null;
      tokensAfter: number;
      summarizer: Writer | null;
      usage: Record<string, unknown> | null;
      plan: CompactPlan;
    };
  };
  "session/prompt": {
    params: Moves & {
      content: string | Record<string, unknown>[];
      model?: string | null;
      workDoneToken?: string | number | null;
    };
    result: Position & {
      userEntryId: EntryId;
      assistantEntryId: EntryId;
      stopReason: "stop" | "length";
      usage: Record<string, unknown>;
    };
  };
  "session/summarizer": {
    params: { session?: string | null; test?: boolean };
    result: Writer & {
      use: string;
      available: (Writer & { reason: string | null })[];
      test: Record<string, unknown> | null;
    };
  };
  "session/cancel": { params: SessionParam; result: { cancelled: boolean } };
  "session/label": {
    params: SessionParam & { targetId: EntryId; label: string | null };
    result: Position;
  };
  "session/rename": { params: SessionParam & { name: string }; result: Position };
  "session/edit": {
    params: SessionParam & { targetId: EntryId; replacement: { content: unknown } | null };
    result: Position & { entryId: EntryId };
  };
  "session/fork": {
    params: SessionParam & {
      entryId?: EntryId | null;
      position?: "before" | "at";
      cwd?: string | null;
    };
    result: Position & { session: SessionInfo; editorContent: EditorContent | null };
  };
  "session/check": {
    params: SessionParam;
    result: { warnings: Warning[]; summary: string; repairable: boolean };
  };
  "session/repair": { params: SessionParam; result: { backup: string; warnings: Warning[] } };
  "session/delete": { params: SessionParam; result: { trashed: string | null } };
  "session/stats": { params: SessionParam; result: { active: Totals; whole: Totals } };
  "session/export": {
    params: SessionParam & {
      format: "html" | "markdown" | "jsonl";
      branches?: "active" | "all";
      mask?: boolean;
      path?: string | null;
    };
    result: {
      path?: string;
      content?: string;
      masked: { kind: "key" | "homePath" | "email"; count: number }[];
    };
  };
}

export interface Notifications {
  "session/changed": Position & {
    session: string;
    path: string;
    previousRevision: number;
    previousLeafId: EntryId | null;
    appended: {
      id: EntryId;
      parentId: EntryId | null;
      type: string;
      role: string | null;
      text: string;
    }[];
    labels: Record<EntryId, string | null>;
    name: string | null;
    usage: Usage;
    warnings?: Warning[];
    origin: "client" | "external";
    externalBranch: { forkId: EntryId | null; tipId: EntryId } | null;
  };
  "session/reset": { session: string; path: string; reason: string };
  "session/listChanged": { created: SessionInfo[]; changed: SessionInfo[]; deleted: string[] };
  "session/indexing": IndexState;
  "session/busy": { session: string; job: Job | null };
  "session/summaryText": {
    session: string;
    jobId: string;
    part: "history" | "turnPrefix" | "branch";
    delta: string;
  };
  "session/messageText": { session: string; jobId: string; delta: string };
}

/** What `session/summarize`, the one request to a client, brings; its answer is text, cancel or null. */
export interface SummarizeParams {
  kind: "compaction" | "turnPrefix" | "branch";
  system: string;
  prompt: string;
  maxTokens: number;
  plan: Record<string, unknown>;
}

export type SummarizeAnswer = { text: string; model?: string } | { cancel: true } | null;

export type MethodName = keyof Requests;
export type Params<M extends MethodName> = Requests[M]["params"];
export type Result<M extends MethodName> = Requests[M]["result"];
export type NotificationName = keyof Notifications;

/** The errors of the daemon: code by kind. */
export const ERROR_KINDS = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  notInitialized: -32002,
  cancelled: -32800,
  notFound: 4001,
  invalidSession: 4002,
  invalidEntry: 4003,
  leafChanged: 4004,
  fileChanged: 4005,
  readOnly: 4006,
  busy: 4007,
  storage: 4008,
  nothingToCompact: 4009,
  summaryFailed: 4010,
  cancelledByClient: 4011,
  promptFailed: 4012,
  nothingToUndo: 4013,
} as const;

export type ErrorKind = keyof typeof ERROR_KINDS;
