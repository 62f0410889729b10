/** The values that the protocol's messages are made of: part of its mirror, see `protocol.ts`. */

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
  position: number;
  siblings: number;
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

export interface Totals {
  entries: number;
  messages: Record<string, number>;
  toolCalls: Record<string, number>;
  tokens: Record<string, number>;
  cost: number;
  models: unknown[];
}

export interface SearchHit {
  session: SessionInfo;
  entryId: EntryId;
  role: string;
  snippet: string;
  matches: [number, number][];
  timestamp: string | null;
}

/** How much can be searched yet. */
export interface IndexState {
  sessions: number;
  ofSessions: number;
  bytes: number;
  ofBytes: number;
}
