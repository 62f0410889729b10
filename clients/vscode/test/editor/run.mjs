// Runs the tests in a real VS Code, one file after the other; says so where there is none.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { missing } from "./lib/editor.mjs";

const lacking = missing();
if (lacking !== null) {
  console.log(`LEFT OUT: the tests in a real VS Code: ${lacking} is not here; \`make vscode-editor\` gets it`);
  process.exit(0);
}
// Names on the command line choose some of the files.
const chosen = process.argv.slice(2);
const files = readdirSync(import.meta.dirname).filter(
  (name) => name.endsWith(".test.mjs") && (chosen.length === 0 || chosen.includes(name.split(".")[0])),
);
// A workbench under load loses keys now and then: what fails is run once more, and that is said.
const failed = files.filter((name) => !passes(name)).filter((name) => {
  console.log(`\n${name} failed; once more, from the start:`);
  return !passes(name);
});
console.log(`In a real VS Code: ${files.length - failed.length} files passed, ${failed.length} failed`);
process.exit(failed.length === 0 ? 0 : 1);

function passes(name) {
  const args = ["--test", "--test-reporter=spec", "--test-concurrency=1", join(import.meta.dirname, name)];
  return spawnSync(process.execPath, args, { stdio: "inherit" }).status === 0;
}
