// Ten thousand entries with two hundred forks.
const timestamp = "2026-02-03T10:00:00.000Z";

function message(id, parentId, role, text) {
  const content = role === "user" ? text : [{ type: "text", text }];
  return { type: "message", id, parentId, timestamp, message: { role, content, timestamp: 1 } };
}

/** The entries of a long session; `padding` is added to each text. */
export function manyEntries(padding = "") {
  const entries = [];
  let tip = null;
  for (let at = 0; at < 9600; at++) {
    const role = at % 4 === 0 ? "user" : "assistant";
    entries.push(message(`m${at}`, tip, role, `${role === "user" ? "question" : "answer"} ${at}${padding}`));
    if (at % 48 === 0) {
      entries.push(message(`f${at}`, `m${at}`, "assistant", `another way${padding}`));
      entries.push(message(`g${at}`, `f${at}`, "user", "no"));
    }
    tip = `m${at}`;
  }
  return entries;
}
