/** The page of keys, over the tree. */

import { prettyKey } from "../shared/format";
import type { KeyHelp, Words } from "../shared/messages";
import { element } from "./dom";

export function makeHelp(keys: readonly KeyHelp[], words: Words): HTMLDialogElement {
  const list = element("dl", "");
  for (const { keys: all, title } of keys) {
    const shown = all.map((key) => element("kbd", "", {}, prettyKey(key)));
    list.append(element("dt", "", {}, ...shown), element("dd", "", {}, title));
  }
  const close = element("button", "", { type: "button" }, words.close);
  const titled = { "aria-label": words.keys };
  const scrolled = element("div", "keys", { tabindex: "0", role: "region", ...titled }, list);
  const head = element("div", "help-head", {}, element("h2", "", {}, words.keys), close);
  const dialog = element("dialog", "help", titled, head, scrolled);
  close.addEventListener("click", () => dialog.close());
  // Keys are the page's own while it is there: `?` is bound to nothing then.
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "?") dialog.close();
  });
  return dialog;
}
