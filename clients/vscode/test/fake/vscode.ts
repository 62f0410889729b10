/** As much of VS Code as the unit tests of the host need. What happened is kept in `record`. */

export const record = {
  context: new Map<string, unknown>(),
  executed: [] as unknown[][],
  messages: [] as { text: string; items: string[] }[],
  picks: [] as QuickPick[],
  /** What the person chooses next, by title. */
  choose: undefined as string | undefined,
  configuration: {} as Record<string, { globalValue?: unknown; workspaceValue?: unknown }>,
};

export function reset(): void {
  record.context.clear();
  record.executed = [];
  record.messages = [];
  record.picks = [];
  record.choose = undefined;
  record.configuration = {};
}

export class Disposable {
  constructor(private readonly call: () => unknown) {}
  dispose(): void {
    this.call();
  }
}

export class EventEmitter<T> {
  private readonly listeners = new Set<(value: T) => void>();
  readonly event = (listener: (value: T) => void): Disposable => {
    this.listeners.add(listener);
    return new Disposable(() => this.listeners.delete(listener));
  };
  fire(value: T): void {
    for (const listener of [...this.listeners]) listener(value);
  }
  dispose(): void {
    this.listeners.clear();
  }
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly path: string,
    readonly query: string,
  ) {}
  static file(path: string): Uri {
    return new Uri("file", path, "");
  }
  static from(parts: { scheme: string; path: string; query?: string }): Uri {
    return new Uri(parts.scheme, parts.path, parts.query ?? "");
  }
  get fsPath(): string {
    return this.path;
  }
  toString(): string {
    return `${this.scheme}:${this.path}?${this.query}`;
  }
}

export class ThemeIcon {
  constructor(readonly id: string) {}
}
export class ThemeColor {
  constructor(readonly id: string) {}
}
export class TreeItem {
  constructor(
    readonly label: string,
    readonly collapsibleState: number = 0,
  ) {}
}
export enum TreeItemCollapsibleState {
  None,
  Collapsed,
  Expanded,
}
export enum QuickPickItemKind {
  Separator = -1,
  Default = 0,
}
export enum FileType {
  File = 1,
}
export class FileSystemError extends Error {
  static FileNotFound(): FileSystemError {
    return new FileSystemError("not found");
  }
  static NoPermissions(): FileSystemError {
    return new FileSystemError("no permissions");
  }
}

export const l10n = {
  t(text: string, ...values: unknown[]): string {
    return text.replace(/\{(\d)\}/g, (_all, at: string) => String(values[Number(at)]));
  },
};
export const env = { language: "en" };

export class CancellationTokenSource {
  readonly token = { isCancellationRequested: false };
  cancel(): void {
    this.token.isCancellationRequested = true;
  }
  dispose(): void {
    // Nothing is held.
  }
}

/** A quick pick that the test types into and chooses from. */
export class QuickPick {
  title = "";
  value = "";
  busy = false;
  items: { label: string }[] = [];
  activeItems: { label: string }[] = [];
  selectedItems: { label: string }[] = [];
  buttons: { tooltip: string }[] = [];
  readonly typed = new EventEmitter<string>();
  readonly button = new EventEmitter<unknown>();
  readonly itemButton = new EventEmitter<{ item: unknown }>();
  readonly accepted = new EventEmitter<void>();
  readonly hidden = new EventEmitter<void>();
  onDidChangeValue = this.typed.event;
  onDidTriggerButton = this.button.event;
  onDidTriggerItemButton = this.itemButton.event;
  onDidAccept = this.accepted.event;
  onDidHide = this.hidden.event;
  show(): void {
    record.picks.push(this);
  }
  hide(): void {
    this.hidden.fire();
  }
  dispose(): void {
    this.hidden.dispose();
  }
  type(value: string): void {
    this.value = value;
    this.typed.fire(value);
  }
  choose(label: string): void {
    this.selectedItems = this.items.filter((item) => item.label === label);
    this.accepted.fire();
  }
}

function shown(text: string, ...items: unknown[]): Promise<string | undefined> {
  const titles = items.filter((item): item is string => typeof item === "string");
  record.messages.push({ text, items: titles });
  return Promise.resolve(titles.find((title) => title === record.choose));
}
export const window = {
  showErrorMessage: shown,
  showInformationMessage: shown,
  showWarningMessage: shown,
  activeTextEditor: undefined,
  createQuickPick: () => new QuickPick(),
};
export const commands = {
  executeCommand(name: string, ...values: unknown[]): Promise<void> {
    if (name === "setContext") record.context.set(String(values[0]), values[1]);
    record.executed.push([name, ...values]);
    return Promise.resolve();
  },
};
export const workspace = {
  isTrusted: true,
  workspaceFolders: [] as unknown[],
  asRelativePath: (uri: Uri): string => uri.path.replace(/^\/project\//, ""),
  getConfiguration(section: string) {
    return {
      get: (key: string, other: unknown): unknown =>
        record.configuration[`${section}.${key}`]?.globalValue ?? other,
      inspect: (key: string) => record.configuration[`${section}.${key}`],
    };
  },
};
