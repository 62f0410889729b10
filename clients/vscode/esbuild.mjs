// Bundles the extension host's part (Node) and the panel's page (browser), and copies what both need.
import { copyFileSync, mkdirSync } from "node:fs";
import { build, context } from "esbuild";

const production = process.argv.includes("--production");
const watch = process.argv.includes("--watch");

const common = {
  bundle: true,
  minify: production,
  sourcemap: production ? false : "linked",
  logLevel: "warning",
};

const builds = [
  {
    ...common,
    entryPoints: ["src/host/extension.ts"],
    outfile: "dist/extension.js",
    platform: "node",
    target: "node20",
    format: "cjs",
    external: ["vscode"],
  },
  {
    ...common,
    entryPoints: ["src/panel/main.ts"],
    outfile: "dist/panel.js",
    platform: "browser",
    target: "es2022",
    format: "iife",
  },
];

mkdirSync("dist", { recursive: true });
copyFileSync("../../server/branchline/demo/session.jsonl", "dist/demo-session.jsonl");
for (const options of builds) {
  if (watch) await (await context(options)).watch();
  else await build(options);
}
