/** The first screen of a large session, before the daemon has read it. */

import { stat } from "node:fs/promises";
import type { TailAnswer } from "../shared/messages";
import { DRAWING, FIRST_STATE } from "../shared/treeState";
import { PAGE } from "../shared/windowing";
import type { Daemon } from "./daemon";

/** Bytes. The daemon has read what is no larger before a person sees a difference, and reads it whole. */
const LARGE = 16 * 1024 * 1024;

/** The rows around the leaf as a new panel draws them, of a large session; null if there is nothing to gain. */
export async function firstScreen(daemon: Daemon, path: string): Promise<TailAnswer | null> {
  try {
    if ((await stat(path)).size <= LARGE) return null;
    const { filter, folded, expanded } = FIRST_STATE.view;
    const params = { session: path, filter, folded, expanded, ...DRAWING, limit: PAGE };
    const tail = await daemon.request("session/tail", params);
    return tail.rows.length === 0 ? null : tail;
  } catch {
    // An older daemon does not know the method. What is wrong with the session, opening it says.
    return null;
  }
}
