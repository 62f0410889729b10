import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["test/unit/**/*.test.ts"], restoreMocks: true },
  resolve: {
    alias: { vscode: fileURLToPath(new URL("./test/fake/vscode.ts", import.meta.url)) },
  },
});
