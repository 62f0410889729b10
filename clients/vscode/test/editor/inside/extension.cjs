// Runs in VS Code's extension host beside Branchline: a language model that says what it is told to, and
// tests of what only an extension sees. `BRANCHLINE_INSIDE` names the folder for what comes of it.
"use strict";
const { appendFileSync, renameSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const vscode = require("vscode");
const tests = require("./tests.cjs");

const folder = process.env["BRANCHLINE_INSIDE"];
const SUMMARY = "## Goal\n- Written inside of the editor.\n";

function model() {
  return {
    provideLanguageModelChatInformation: () => [
      { id: "tiny", name: "Tiny", family: "tiny", version: "1", maxInputTokens: 100_000, maxOutputTokens: 4000, capabilities: {}, requiresAuthorization: true },
    ],
    async provideLanguageModelChatResponse(_model, messages, _options, progress) {
      const text = messages.flatMap(({ content }) => content.map((part) => part.value ?? "")).join("");
      appendFileSync(join(folder, "asked"), `${JSON.stringify(text)}\n`);
      for (const piece of SUMMARY.split(/(?<= )/)) progress.report(new vscode.LanguageModelTextPart(piece));
    },
    provideTokenCount: (_model, text) => Promise.resolve(String(text).length),
  };
}

/** All tests, one after the other; what went wrong, by name. */
async function run() {
  const results = [];
  for (const [name, body] of Object.entries(tests)) {
    try {
      await body();
      results.push({ name, error: null });
    } catch (error) {
      results.push({ name, error: String(error?.stack ?? error) });
    }
  }
  writeFileSync(join(folder, "results.part"), JSON.stringify(results));
  renameSync(join(folder, "results.part"), join(folder, "results.json"));
}

exports.activate = (context) => {
  // VS Code has this from 1.104 on.
  const register = vscode.lm.registerLanguageModelChatProvider;
  if (typeof register === "function") context.subscriptions.push(register("scripted", model()));
  void run();
};
