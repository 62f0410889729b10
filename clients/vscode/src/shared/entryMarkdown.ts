/**
 * Entries as Markdown to read. Pure.
 *
 * What a session says stands in fences that it cannot close, so that no heading, link, image or HTML of
 * its own takes effect. Images are named here and shown elsewhere.
 */

import { plainText } from "./format";
import type { Entry } from "./protocol";

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** The text in a fence that is longer than any in it. Control characters but tab and newline are shown. */
export function fenced(content: string, language = ""): string {
  const shownText = content
    .replace(/\r\n?/g, "\n")
    .replace(/[\0-\b\v-\x1f\x7f-\x9f]/g, (character) => `\\x${hex(character, 2)}`)
    .replace(/(?![\u200c\u200d])\p{Cf}/gu, (character) => `\\u{${hex(character, 4)}}`);
  const longest = Math.max(0, ...[...shownText.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  return `${fence}${language}\n${shownText}\n${fence}\n`;
}

const hex = (character: string, digits: number): string =>
  (character.codePointAt(0) ?? 0).toString(16).padStart(digits, "0");

/** A text as inline code, on one line. */
export function inline(content: string): string {
  const plain = plainText(content).replaceAll("`", "'");
  return plain === "" ? "" : `\`${plain}\``;
}

export interface Image {
  mimeType: string;
  /** Base64. */
  data: string;
}

const IMAGE_TYPES: Record<string, string> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
};

const isShown = (block: Json): boolean => Object.hasOwn(IMAGE_TYPES, text(block["mimeType"]));

/** The images of an entry, in order. Only kinds of pixels: an SVG could hold more than a picture. */
export function images(entry: Entry): Image[] {
  const message = isObject(entry["message"]) ? entry["message"] : entry;
  const content = message["content"];
  if (!Array.isArray(content)) return [];
  return content
    .filter(isObject)
    .filter((block) => block["type"] === "image" && isShown(block))
    .map((block) => ({ mimeType: text(block["mimeType"]), data: text(block["data"]) }));
}

/** The ending of an image's file name. */
export const imageEnding = (image: Image): string => IMAGE_TYPES[image.mimeType] ?? "bin";

const EDIT_KEYS: readonly (readonly [string, string])[] = [
  ["oldText", "newText"],
  ["old_string", "new_string"],
  ["oldString", "newString"],
];

/** The replacements that a tool call asks for, if it is an edit. */
export function edits(args: unknown): { before: string; after: string }[] {
  if (!isObject(args)) return [];
  const found: { before: string; after: string }[] = [];
  const listed: unknown[] = Array.isArray(args["edits"]) ? args["edits"] : [];
  for (const one of [args, ...listed]) {
    if (!isObject(one)) continue;
    for (const [before, after] of EDIT_KEYS) {
      if (typeof one[before] === "string" && typeof one[after] === "string") {
        found.push({ before: one[before], after: one[after] });
      }
    }
  }
  return found;
}

export interface FileChange {
  /** Of the tool call. */
  callId: string;
  /** As the call names it. */
  path: string;
  before: string;
  after: string;
}

/** Between the places of one file that one call changes. */
const GAP = "\n⋯\n";

/** What the tool calls of a message change, one for each call that is an edit. */
export function fileChanges(entry: Entry): FileChange[] {
  const message = isObject(entry["message"]) ? entry["message"] : {};
  const blocks: unknown[] = Array.isArray(message["content"]) ? message["content"] : [];
  return blocks.filter(isObject).flatMap((block) => {
    const changes = block["type"] === "toolCall" ? edits(block["arguments"]) : [];
    if (changes.length === 0) return [];
    return {
      callId: text(block["id"]),
      path: pathOf(block["arguments"]),
      before: changes.map(({ before }) => before).join(GAP),
      after: changes.map(({ after }) => after).join(GAP),
    };
  });
}

/** The tool call that an entry is the result of, or null. */
export function resultOf(entry: Entry): string | null {
  const message = isObject(entry["message"]) ? entry["message"] : {};
  return message["role"] === "toolResult" ? text(message["toolCallId"]) : null;
}

function pathOf(args: unknown): string {
  return isObject(args) ? text(args["path"]) || text(args["file_path"]) : "";
}

function lines(content: string, prefix: string): string[] {
  return content.split("\n").map((line) => prefix + line);
}

function toolCall(block: Json): string {
  const args = block["arguments"];
  const changes = edits(args);
  const parts = [`### Tool call ${inline(text(block["name"]))}\n`];
  if (changes.length > 0) {
    parts.push(`${inline(pathOf(args))}\n`);
    for (const { before, after } of changes) {
      parts.push(fenced([...lines(before, "-"), ...lines(after, "+")].join("\n"), "diff"));
    }
  } else {
    parts.push(fenced(JSON.stringify(args ?? {}, null, 2), "json"));
  }
  return parts.join("\n");
}

/** A message's content: a text, or a list of blocks. */
function content(value: unknown, language: string): string[] {
  if (typeof value === "string") return [fenced(value, language)];
  if (!Array.isArray(value)) return [];
  let image = 0;
  return value.map((block: unknown) => {
    if (!isObject(block)) return fenced(JSON.stringify(block), "json");
    switch (block["type"]) {
      case "text":
        return fenced(text(block["text"]), language);
      case "thinking":
        return `### Thinking\n\n${fenced(text(block["thinking"]))}`;
      case "toolCall":
        return toolCall(block);
      case "image": {
        const size = Math.floor((text(block["data"]).length * 3) / 4);
        const name = isShown(block) ? `Image ${++image}` : "Image that is not shown";
        return `${name}: ${inline(text(block["mimeType"]))}, ${size} bytes\n`;
      }
      default:
        return fenced(JSON.stringify(block, null, 2), "json");
    }
  });
}

function usage(value: unknown): string {
  if (!isObject(value)) return "";
  const facts = ["input", "output", "cacheRead", "cacheWrite"]
    .filter((name) => typeof value[name] === "number" && value[name] !== 0)
    .map((name) => `${name} ${String(value[name])}`);
  const cost = isObject(value["cost"]) ? value["cost"]["total"] : undefined;
  if (typeof cost === "number" && cost !== 0) facts.push(`cost $${cost.toFixed(4)}`);
  return facts.length === 0 ? "" : `*Tokens: ${facts.join(", ")}*\n`;
}

const TITLES: Record<string, string> = {
  user: "You",
  assistant: "Model",
  toolResult: "Tool result",
  bashExecution: "Command",
  compactionSummary: "Compaction",
  branchSummary: "Branch summary",
  system: "System",
  developer: "System",
  tool: "Tool result",
};

/** A message, of an entry or of a context. */
export function messageMarkdown(message: Json): string {
  const role = text(message["role"]);
  const parts = [`## ${TITLES[role] ?? inline(role)}\n`];
  if (role === "assistant" && text(message["model"]) !== "") {
    parts.push(`*${inline(`${text(message["provider"])}/${text(message["model"])}`)}*\n`);
  }
  if (role === "toolResult") {
    const failed = message["isError"] === true ? " failed" : "";
    parts.push(`${inline(text(message["toolName"]))}${failed}\n`);
  }
  if (role === "bashExecution") {
    parts.push(fenced(text(message["command"]), "sh"), fenced(text(message["output"])));
  }
  if (typeof message["summary"] === "string") parts.push(fenced(message["summary"], "markdown"));
  const language = role === "toolResult" || role === "tool" ? "" : "markdown";
  parts.push(...content(message["content"], language));
  if (text(message["errorMessage"]) !== "") parts.push(fenced(text(message["errorMessage"])));
  parts.push(usage(message["usage"]));
  return parts.filter((part) => part !== "").join("\n");
}

/** A whole entry. */
export function entryMarkdown(entry: Entry): string {
  const facts = [inline(entry.id), inline(text(entry["timestamp"]))].filter((fact) => fact !== "");
  const head = `${facts.join(" · ")}\n`;
  if (isObject(entry["message"])) return `${messageMarkdown(entry["message"])}\n${head}`;
  switch (entry.type) {
    case "compaction":
    case "branch_summary": {
      const title = entry.type === "compaction" ? "Compaction" : "Branch summary";
      return `## ${title}\n\n${fenced(text(entry["summary"]), "markdown")}\n${usage(entry["usage"])}${head}`;
    }
    case "custom_message":
      return `## ${inline(text(entry["customType"]))}\n\n${content(entry["content"], "markdown").join("\n")}\n${head}`;
    default:
      return `## ${inline(entry.type)}\n\n${fenced(JSON.stringify(entry, null, 2), "json")}\n${head}`;
  }
}
