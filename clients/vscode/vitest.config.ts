import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const fake = (name: string): string =>
  fileURLToPath(new URL(`./test/fake/${name}.ts`, import.meta.url));

export default defineConfig({
  test: { include: ["test/unit/**/*.test.ts"], restoreMocks: true },
  resolve: {
    alias: { "vscode-languageclient/node": fake("languageclient"), vscode: fake("vscode") },
  },
});
