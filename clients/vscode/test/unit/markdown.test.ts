import { describe, expect, it } from "vitest";
import { edits, entryMarkdown, fenced, fileChanges, images, resultOf } from "../../src/shared/entryMarkdown";

const message = (content: unknown, more: object = {}) => ({
  type: "message",
  id: "a1",
  message: { role: "assistant", content, ...more },
});

/** The lines outside of all fences. */
function outside(markdown: string): string[] {
  let fence = "";
  return markdown.split("\n").filter((line) => {
    const [ticks] = /^`{3,}/.exec(line) ?? [];
    if (fence === "" && ticks !== undefined) {
      fence = ticks;
      return false;
    }
    if (fence !== "" && line === fence) {
      fence = "";
      return false;
    }
    return fence === "";
  });
}

describe("an entry as a document", () => {
  it("keeps what a session says inside of fences", () => {
    const evil = "# head\n```\n[x](command:evil)\n``````\n<script>x</script>";
    const markdown = entryMarkdown(message([{ type: "text", text: evil }]));
    expect(outside(markdown).join("\n")).not.toMatch(/head|command|script/);
    expect(markdown).toContain(evil);
  });

  it("shows control and invisible characters", () => {
    expect(fenced("a\u001b[31mb\u202ec\td")).toContain("a\\x1b[31mb\\u{202e}c\td");
  });

  it("shows an edit as a diff", () => {
    const call = { type: "toolCall", name: "edit", arguments: { path: "a.py", oldText: "one\ntwo", newText: "three" } };
    expect(entryMarkdown(message([call]))).toContain("```diff\n-one\n-two\n+three\n```");
    expect(edits({ edits: [{ oldText: "a", newText: "b" }, { oldText: 1 }] })).toEqual([{ before: "a", after: "b" }]);
  });

  it("has its edits as changes of files, one for each call", () => {
    const call = (id: string, args: object): object => ({ type: "toolCall", id, name: "edit", arguments: args });
    const entry = message([
      call("c1", { path: "a.py", edits: [{ oldText: "one", newText: "1" }, { oldText: "two", newText: "2" }] }),
      call("c2", { command: "ls" }),
      call("c3", { file_path: "b.py", old_string: "x", new_string: "" }),
    ]);
    expect(fileChanges(entry)).toEqual([
      { callId: "c1", path: "a.py", before: "one\n⋯\ntwo", after: "1\n⋯\n2" },
      { callId: "c3", path: "b.py", before: "x", after: "" },
    ]);
    expect(resultOf(entry)).toBeNull();
    expect(resultOf({ type: "message", id: "r", message: { role: "toolResult", toolCallId: "c3" } })).toBe("c3");
  });

  it("shows arguments, results, usage and cost", () => {
    const usage = { input: 100, output: 20, cacheRead: 0, cost: { total: 0.0123 } };
    const call = { type: "toolCall", name: "bash", arguments: { command: "ls" } };
    const markdown = entryMarkdown(message([call], { usage, provider: "p", model: "m" }));
    expect(markdown).toContain('"command": "ls"');
    expect(markdown).toContain("*Tokens: input 100, output 20, cost $0.0123*");
    expect(markdown).toContain("`p/m`");
    const result = { role: "toolResult", toolName: "bash", isError: true, content: "no such file" };
    expect(entryMarkdown({ type: "message", id: "b", message: result })).toContain("`bash` failed");
  });

  it("names images, and numbers only those that are shown: kinds of pixels", () => {
    const entry = message([
      { type: "image", mimeType: "image/svg+xml", data: "AAAA" },
      { type: "image", mimeType: "toString", data: "AAAA" },
      { type: "image", mimeType: "image/png", data: "AAAA" },
    ]);
    expect(images(entry)).toEqual([{ mimeType: "image/png", data: "AAAA" }]);
    expect(entryMarkdown(entry)).toContain("Image 1: `image/png`, 3 bytes");
    expect(entryMarkdown(entry)).toContain("Image that is not shown: `image/svg+xml`, 3 bytes");
  });

  it("shows any other entry as it is stored", () => {
    expect(entryMarkdown({ type: "new_thing", id: "z", deep: { value: 1 } })).toContain('"value": 1');
    expect(entryMarkdown({ type: "compaction", id: "c", summary: "short" })).toContain("short");
  });
});
