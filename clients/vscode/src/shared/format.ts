/** Short texts for counts and times, and the cleaning of session text. Pure; knows no language. */

/** A number of tokens in at most four characters: 340, 2k, 61k, 1.2M. */
export function shortCount(count: number): string {
  if (count < 1000) return String(count);
  if (count < 999_500) return `${Math.floor((count + 500) / 1000)}k`;
  return count < 99_950_000 ? `${(count / 1e6).toFixed(1)}M` : `${Math.floor(count / 1e6)}M`;
}

const MINUTE = 60_000;
const UNITS = [
  ["y", 365 * 1440],
  ["d", 1440],
  ["h", 60],
  ["m", 1],
] as const;

/** How long ago: "now", "5m", "3h", "2d", "1y"; empty for what is no time. */
export function shortAge(timestamp: string | null, now: number): string {
  const then = timestamp === null ? NaN : Date.parse(timestamp);
  if (Number.isNaN(then)) return "";
  const minutes = Math.floor((now - then) / MINUTE);
  for (const [unit, length] of UNITS) {
    if (minutes >= length) return `${Math.floor(minutes / length)}${unit}`;
  }
  return "now";
}

/**
 * The text on one line, without control, bidirectional and other invisible characters: those could
 * reorder or hide what stands beside them. Joiners stay, for letters and emoji are made with them.
 */
export function plainText(text: string): string {
  return text
    .replace(/\p{Cs}/gu, "\ufffd")
    .replace(/[\t-\r\u0085\p{Zl}\p{Zp}]/gu, " ")
    .replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}]/gu, "");
}

/** Whether a text is written from right to left, as its first letter says. */
export function isRightToLeft(text: string): boolean {
  const letter = /\p{L}/u.exec(text)?.[0] ?? "";
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u.test(letter);
}

const KEY_NAMES: Record<string, string> = {
  up: "↑",
  down: "↓",
  left: "←",
  right: "→",
  pageup: "Page Up",
  pagedown: "Page Down",
  escape: "Esc",
  "shift+/": "?",
};

/** A key as VS Code's keybindings name it, as a person reads it: `ctrl+left` is Ctrl+←. */
export function prettyKey(key: string): string {
  const named = (part: string): string => KEY_NAMES[part] ?? part.charAt(0).toUpperCase() + part.slice(1);
  return KEY_NAMES[key] ?? key.split("+").map(named).join("+");
}

/** The text cut to a number of UTF-16 code units, never inside a surrogate pair. */
export function crop(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = /[\ud800-\udbff]/.test(text.charAt(length - 2)) ? length - 2 : length - 1;
  return `${text.slice(0, end).trimEnd()}…`;
}
