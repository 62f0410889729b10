// The steps of one story: each begins where the one before ended, and leaves a picture behind.
import { test } from "node:test";

/** The function that adds a step; `editor` gives the editor once it is there. */
export function story(name, editor) {
  let broken = false;
  return (title, body) => {
    test(title, async (context) => {
      if (broken) {
        context.skip("an earlier step failed");
        return;
      }
      broken = true;
      try {
        await body();
        broken = false;
      } finally {
        await editor()?.screenshot(`${name}-${title.replace(/[^a-z]+/gi, "-").slice(0, 40)}`);
      }
    });
  };
}
