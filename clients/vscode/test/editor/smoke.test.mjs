import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startEditor } from "./lib/editor.mjs";
import { makeWorld } from "./lib/world.mjs";

const world = makeWorld();
let editor;
before(async () => {
  world.demo();
  editor = await startEditor(world, { name: "smoke" });
});
after(async () => {
  await editor?.stop();
  world.dispose();
});

test("the view lists the session and a click draws it", async () => {
  try {
    const sessions = await editor.showSessions();
    await sessions.filter({ hasText: "CSV importer" }).first().click();
    await editor.leaf.waitFor();
    assert.match(await editor.leaf.innerText(), /here/);
  } finally {
    await editor.screenshot("smoke");
  }
});
