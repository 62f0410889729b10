/** Begins the page: waits for the session, then hands every message to it. */

import type { ToPage } from "../shared/messages";
import type { Api } from "./dom";
import { Page } from "./page";

declare function acquireVsCodeApi(): Api;

const api = acquireVsCodeApi();
const root = document.getElementById("page");
let page: Page | null = null;

window.addEventListener("message", (event: MessageEvent<ToPage>) => {
  const message = event.data;
  if (page !== null) page.take(message);
  else if (message.type === "opened" && root !== null) {
    page = new Page(root, api, message.words, message.keys, message.opened);
  }
});
api.postMessage({ type: "ready" });
