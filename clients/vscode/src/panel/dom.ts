/** Small helpers for building elements. Text is only ever set as text: session text is never HTML. */

type Content = Node | string | null;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  attributes: Record<string, string> = {},
  ...content: Content[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  for (const part of content) if (part !== null) made.append(part);
  return made;
}

/** The text with `{0}`, `{1}`, … filled in. */
export function fill(text: string, ...values: (string | number)[]): string {
  return text.replace(/\{(\d)\}/g, (_all, at: string) => String(values[Number(at)] ?? ""));
}

/** Something to post to the host and to keep over a reload: what VS Code gives a webview. */
export interface Api {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}
