/**
 * The protocol as this client sees it: a mirror of the daemon's protocol reference, with the same names.
 *
 * A test reads the interfaces `Requests` and `Notifications` and the table `ERROR_KINDS` and compares
 * them with the reference: an optional param is one with a default there. Nothing here runs.
 */

export const PROTOCOL_VERSION = 1;

export type EntryId = string;

export interface Position {
  leafId: EntryId | null;
  revision: number;
}

export interface SessionInfo {
  id: string;
  path: string;
  cwd: string | null;
  name: string | null;
  version: number | null;
  createdAt: string | null;
  modifiedAt: string | null;
  entryCount: number | null;
  messageCount: number | null;
  branchCount: number | null;
  firstMessage: string | null;
  parentSession: string | null;
  sizeBytes: number | null;
  readOnly: boolean;
  readable: boolean;
}

export interface Usage {
  tokens: number;
  contextWindow: number;
  reserveTokens: number;
  due: boolean;
}

export interface Warning {
  code: string;
  message: string;
  line: number | null;
  offset: number | null;
  length: number | null;
  entryId: EntryId | null;
}

export interface Row {
  id: EntryId;
  parentId: EntryId | null;
  type: string;
  role: string | null;
  text: string;
  label: string | null;
  labelTimestamp: string | null;
  timestamp: string | null;
  depth: number;
  guides: number[];
  last: boolean;
  onActivePath: boolean;
  isLeaf: boolean;
  childCount: number;
  foldable: boolean;
  folded: boolean;
  context: "in" | "covered" | "omitted" | "replaced" | null;
  tokens: number;
  error: boolean;
  tool: { name: string; argument: string | null } | null;
  hidden: {
    entries: number;
    messages: number;
    tokens: number;
    branches: number;
    lastTimestamp: string | null;
  } | null;
  matches: [number, number][];
}

/** An entry as it stands in the file; only `type` and `id` are certain. */
export type Entry = { type: string; id: EntryId } & Record<string, unknown>;

export type Filter = "default" | "noTools" | "userOnly" | "labeledOnly" | "all";

export type Direction =
  | "parent"
  | "fork"
  | "nextSibling"
  | "previousSibling"
  | "nextUser"
  | "previousUser"
  | "nextLabel"
  | "previousLabel"
  | "nextHit"
  | "previousHit"
  | "leaf";

/** What is drawn: the params that `session/tree` and `session/locate` share. */
export interface View {
  filter?: Filter;
  query?: string | null;
  layout?: "pinned" | "pi";
  runs?: "none" | "tools";
  folded?: EntryId[];
  expanded?: EntryId[];
}

export interface Writer {
  kind: string;
  model: string | null;
  host: string | null;
}

export type WriterChoice = "auto" | "client" | "openai" | "offline";

export interface SwitchPlan {
  commonAncestorId: EntryId | null;
  leaving: EntryId[];
  summarized: EntryId[];
  messageCount: number;
  tokens: number;
  readFiles: string[];
  modifiedFiles: string[];
  targetUsage: Usage;
  summarizer: Writer | null;
  promptTokens: number | null;
}

export interface CompactPlan {
  firstKeptEntryId: EntryId;
  isSplitTurn: boolean;
  summarized: EntryId[];
  turnPrefix: EntryId[];
  kept: EntryId[];
  previousCompactionId: EntryId | null;
  tokensBefore: number;
  tokensAfter: number;
  readFiles: string[];
  modifiedFiles: string[];
  summarizer: Writer | null;
  promptTokens: number | null;
}

export interface SwitchSummary {
  mode: "none" | "write" | "text";
  text?: string;
  draftId?: string;
  instructions?: string;
  replaceInstructions?: boolean;
  summarizer?: WriterChoice;
}

export interface EditorContent {
  text: string;
  images: unknown[];
}

export interface Branch {
  tipId: EntryId;
  forkId: EntryId | null;
  name: string;
  messageCount: number;
  tokens: number;
  lastTimestamp: string | null;
  active: boolean;
}

export interface Job {
  id: string;
  kind: "compaction" | "branch" | "prompt";
  startedBy: string | null;
  percent: number | null;
}

interface SessionParam {
  session: string;
}

interface Moves extends SessionParam {
  expectedLeafId?: EntryId | null;
}

export interface Totals {
  entries: number;
  messages: Record<string, number>;
  toolCalls: Record<string, number>;
  tokens: Record<string, number>;
  cost: number;
  models: unknown[];
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
  "session/locate": {
    params: SessionParam & View & { from: EntryId; to: Direction };
    result: { id: EntryId; offset: number } | null;
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
