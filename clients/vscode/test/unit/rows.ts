import type { Row, SessionInfo } from "../../src/shared/protocol";

/** A row; what is not said is usual. */
export function row(id: string, change: Partial<Row> = {}): Row {
  return {
    id,
    parentId: null,
    type: "message",
    role: "assistant",
    text: id,
    label: null,
    labelTimestamp: null,
    timestamp: "2026-01-01T00:00:00.000Z",
    depth: 0,
    guides: [0],
    last: false,
    position: 1,
    siblings: 1,
    onActivePath: true,
    isLeaf: false,
    childCount: 1,
    foldable: false,
    folded: false,
    context: "in",
    tokens: 10,
    error: false,
    tool: null,
    hidden: null,
    matches: [],
    ...change,
  };
}

export function session(path: string, change: Partial<SessionInfo> = {}): SessionInfo {
  return {
    id: path,
    path,
    cwd: "/project",
    name: path,
    version: 3,
    createdAt: null,
    modifiedAt: "2026-01-10T10:00:00.000Z",
    entryCount: 3,
    messageCount: 2,
    branchCount: 1,
    firstMessage: "hello",
    parentSession: null,
    sizeBytes: 100,
    readOnly: false,
    readable: true,
    ...change,
  };
}
