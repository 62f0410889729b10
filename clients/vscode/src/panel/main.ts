/** Begins the page: waits for the session or its first rows, then hands every message to it. */

import type { ToPage } from "../shared/messages";
import { beginsAmong, readState } from "../shared/treeState";
import type { Api } from "./dom";
import { Page } from "./page";

declare function acquireVsCodeApi(): Api;

const api = acquireVsCodeApi();
const root = document.getElementById("page");
let page: Page | null = null;

window.addEventListener("message", (event: MessageEvent<ToPage>) => {
  const message = event.data;
  if (page !== null) page.take(message);
  else if (root !== null && (message.type === "opened" || message.type === "tail")) {
    const { session, rows } = message.type === "tail" ? message.tail : { ...message.opened, rows: null };
    // Rows that are elsewhere than where the person was would only flash up.
    if (rows !== null && !beginsAmong(readState(api.getState()), rows)) return;
    page = new Page(root, api, message.words, message.keys, session);
    page.take(message);
  }
});
api.postMessage({ type: "ready" });
