// The mirror of the protocol says what the protocol reference says: the same names, and none left out.
import { readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { ERROR_KINDS, PROTOCOL_VERSION } from "../../src/shared/protocol";
import packageJson from "../../package.json";
import { OWN_SETTINGS } from "../../src/host/settings";

const REFERENCE = readFileSync(new URL("../../../../server/docs/PROTOCOL.md", import.meta.url), "utf8");

function sections(text: string, level: number): Map<string, string> {
  const parts = text.split(new RegExp(`^${"#".repeat(level)} (.+)\\n`, "m"));
  const found = new Map<string, string>();
  for (let at = 1; at < parts.length; at += 2) {
    found.set((parts[at] ?? "").replaceAll("`", ""), parts[at + 1] ?? "");
  }
  return found;
}

const section = (title: string): string => sections(REFERENCE, 2).get(title) ?? "";
const cells = (line: string): string[] =>
  line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim());
const lines = (text: string): string[][] =>
  text.split("\n").filter((line) => line.startsWith("|")).map(cells);
const spans = (text: string): string[] => [...text.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? "");

/** Names in the rows of a kind; those of params with whether they have a default. */
function named(text: string, kind: string): Map<string, boolean> {
  const found = new Map<string, boolean>();
  for (const [what, names, , standard] of lines(text)) {
    if (what !== kind) continue;
    for (const name of spans(names ?? "")) found.set(name, standard !== "" || spans(names ?? "").length > 1);
  }
  return found;
}

// The mirror's interfaces, as the compiler sees them.
const path = new URL("../../src/shared/protocol.ts", import.meta.url).pathname;
const program = ts.createProgram([path], { strict: true, exactOptionalPropertyTypes: true });
const checker = program.getTypeChecker();
const source = program.getSourceFile(path);
if (source === undefined) throw new Error("no mirror");

function typeOf(name: string): ts.Type {
  const symbol = checker.getExportsOfModule(checker.getSymbolAtLocation(source as ts.SourceFile) as ts.Symbol)
    .find((one) => one.name === name) as ts.Symbol;
  const alias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
  return checker.getDeclaredTypeOfSymbol(alias ? checker.getAliasedSymbol(symbol) : symbol);
}
const member = (type: ts.Type, name: string): ts.Type =>
  checker.getNonNullableType(checker.getTypeOfSymbol(type.getProperty(name) as ts.Symbol));
const properties = (type: ts.Type): Map<string, boolean> =>
  new Map(type.getProperties().map((one) => [one.name, (one.flags & ts.SymbolFlags.Optional) !== 0]));

const sorted = (names: Iterable<string>): string[] => [...names].sort();
const requests = sections(section("Requests"), 3);
const requestTypes = typeOf("Requests");

describe("the mirror of the protocol", () => {
  it("has the version of the reference", () => {
    expect(REFERENCE).toContain(`"protocolVersion": ${PROTOCOL_VERSION}`);
  });

  it("has every method and no other", () => {
    expect(sorted(properties(requestTypes).keys())).toEqual(sorted(requests.keys()));
  });

  it.each([...requests])("has the params and results of %s", (method, text) => {
    const type = member(requestTypes, method);
    expect(Object.fromEntries(properties(member(type, "params")))).toEqual(
      Object.fromEntries(named(text, "param")),
    );
    expect(sorted(properties(member(type, "result")).keys())).toEqual(sorted(named(text, "result").keys()));
  });

  const news = [...sections(section("Notifications"), 3)].filter(([name]) => name.startsWith("session/"));

  it("has every notification and no other", () => {
    expect(sorted(properties(typeOf("Notifications")).keys())).toEqual(sorted(news.map(([name]) => name)));
  });

  it.each(news)("has the params of %s", (name, text) => {
    expect(sorted(properties(member(typeOf("Notifications"), name)).keys())).toEqual(
      sorted(named(text, "param").keys()),
    );
  });

  it("has the params of the request to the client", () => {
    expect(sorted(properties(typeOf("SummarizeParams")).keys())).toEqual(
      sorted(named(section("Requests to the client"), "param").keys()),
    );
  });

  it("has every error with its code", () => {
    const listed = lines(section("Errors")).filter(([code]) => /^-?\d+$/.test(code ?? ""));
    const table: unknown = Object.fromEntries(listed.map(([code, kind]) => [spans(kind ?? "")[0], Number(code)]));
    expect(ERROR_KINDS).toEqual(table);
  });

  it.each(["Row", "SessionInfo"])("has the keys of a %s", (name) => {
    const text = section("Types").split(`**${name}**`)[1]?.split("\n\n**")[0] ?? "";
    const table = text.slice(text.indexOf("\n|"));
    const keys = lines(table.split("\n\n")[0] ?? "").slice(2).flatMap(([key]) => spans(key ?? ""));
    expect(sorted(properties(typeOf(name)).keys())).toEqual(sorted(keys));
  });
});

describe("the settings", () => {
  const listed = lines(section("Settings")).filter(([name]) => /^`[\w.*]+`$/.test(name ?? ""));
  const contributed: Record<string, { default: unknown; scope: string; enum?: string[] }> =
    packageJson.contributes.configuration.properties;

  it("are those of the daemon, with its defaults, and our own", () => {
    const expected = new Map<string, unknown>();
    for (const [name, , standard] of listed) {
      const key = spans(name ?? "")[0] ?? "";
      if (key.includes("*")) expected.set(key.split(".*")[0] ?? "", {});
      else expected.set(key, standard === "" ? null : (JSON.parse(spans(standard ?? "")[0] ?? "null") as unknown));
    }
    for (const own of OWN_SETTINGS) expected.set(own, "");
    const found = Object.entries(contributed).map(([name, { default: value }]) => [name.slice("branchline.".length), value]);
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
  });

  it("have the daemon's choices", () => {
    for (const [name, value] of listed) {
      if (value?.startsWith("one of") !== true) continue;
      const choices = [...value.matchAll(/"(\w+)"/g)].map((match) => match[1]);
      expect(contributed[`branchline.${spans(name ?? "")[0]}`]?.enum).toEqual(choices);
    }
  });

  it("that choose programs, servers, models or folders are the machine's, never a repository's", () => {
    for (const [name, { scope }] of Object.entries(contributed)) {
      const guarded = /^branchline\.(summarizer\.|prompt\.|models$|sessionsDir$|command$)/.test(name);
      expect([name, scope]).toEqual([name, guarded ? "machine" : "window"]);
    }
  });
});
