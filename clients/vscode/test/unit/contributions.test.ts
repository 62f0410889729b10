// What package.json contributes is what the code has: commands, texts in both languages, keys.
import { readFileSync, readdirSync } from "node:fs";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json";
import english from "../../package.nls.json";
import chinese from "../../package.nls.zh-cn.json";
import bundle from "../../l10n/bundle.l10n.zh-cn.json";
import { commandTable } from "../../src/host/commands";
import { keyHelp } from "../../src/host/words";
import { PAGE_COMMANDS } from "../../src/shared/messages";

const { contributes } = packageJson;
const commands = contributes.commands.map(({ command }) => command);
const handled = Object.keys(commandTable({} as never));

/** The texts that the host's sources hand to `t`. */
function texts(): Set<string> {
  const found = new Set<string>();
  const folder = new URL("../../src/host/", import.meta.url);
  for (const name of readdirSync(folder)) {
    const source = ts.createSourceFile(name, readFileSync(new URL(name, folder), "utf8"), ts.ScriptTarget.ES2022);
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node)) {
        const called = ts.isPropertyAccessExpression(node.expression)
          ? node.expression.name.text
          : ts.isIdentifier(node.expression)
            ? node.expression.text
            : "";
        const [first] = node.arguments;
        if (called === "t" && first !== undefined) {
          // A text that is put together could not be looked up.
          if (!ts.isStringLiteral(first)) throw new Error(`no literal text in ${name}`);
          found.add(first.text);
        }
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return found;
}

describe("what is contributed", () => {
  it("has a handler for each command, and no other", () => {
    expect([...handled].sort()).toEqual([...commands].sort());
  });

  it("binds keys and menus to commands that there are", () => {
    const used = [
      ...contributes.keybindings.map(({ command }) => command),
      ...Object.values(contributes.menus).flatMap((items) => items.map(({ command }) => command)),
      ...PAGE_COMMANDS,
    ];
    expect(used.filter((command) => !commands.includes(command))).toEqual([]);
  });

  it("takes no key from the editor: each is for the panel, and not while typing", () => {
    for (const { when } of contributes.keybindings) {
      expect(when).toMatch(/^branchline\.panelFocus && !branchline\.inputFocus && !inputFocus/);
    }
    const keys = contributes.keybindings.map(({ key }) => key);
    expect(keys.filter((key, at) => keys.indexOf(key) !== at)).toEqual([]);
  });

  it("lists all its keys for a person", () => {
    const listed = keyHelp(packageJson);
    expect(listed.length).toBe(new Set(contributes.keybindings.map(({ command }) => command)).size);
    expect(listed.every(({ title }) => title !== "")).toBe(true);
  });

  it("has each of its texts in both languages, and no other", () => {
    const used = new Set([...JSON.stringify(packageJson).matchAll(/"%([\w.]+)%"/g)].map(([, key]) => key));
    expect(Object.keys(english).sort()).toEqual([...used].sort());
    expect(Object.keys(chinese).sort()).toEqual([...used].sort());
  });

  it("has each of the code's texts in Chinese, with the same places to fill", () => {
    expect(Object.keys(bundle).sort()).toEqual([...texts()].sort());
    const places = (text: string): string[] => (text.match(/\{\d\}|\$\([\w~-]+\)/g) ?? []).sort();
    for (const [text, translation] of Object.entries(bundle)) {
      expect([text, places(translation)]).toEqual([text, places(text)]);
    }
  });
});
