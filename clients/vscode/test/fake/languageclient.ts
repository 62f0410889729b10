/** A connection to a daemon that does what the test says. */

export enum CloseAction {
  DoNotRestart = 1,
}
export enum ErrorAction {
  Continue = 1,
}
export enum RevealOutputChannelOn {
  Never = 4,
}

interface Options {
  initializationOptions: unknown;
  errorHandler: { closed(): unknown };
}

export const clients: LanguageClient[] = [];
export const next = {
  methods: [] as string[],
  failure: null as Error | null,
  /** Whether the program ends before it answers, and the start is said to be over all the same. */
  ends: false,
};

export class LanguageClient {
  initializeResult: unknown;
  readonly sent: unknown[][] = [];
  readonly features: unknown[] = [];
  readonly handlers = new Map<string, (params: unknown) => unknown>();

  constructor(
    _id: string,
    _name: string,
    readonly server: { command: string; args: string[] },
    readonly options: Options,
  ) {
    clients.push(this);
  }
  start(): Promise<void> {
    if (next.failure !== null) return Promise.reject(next.failure);
    if (next.ends) return Promise.resolve();
    const branchline = { protocolVersion: 1, methods: next.methods };
    this.initializeResult = { capabilities: { experimental: { branchline } } };
    return Promise.resolve();
  }
  needsStop(): boolean {
    return true;
  }
  stop(): Promise<void> {
    return Promise.resolve();
  }
  registerFeature(feature: unknown): void {
    this.features.push(feature);
  }
  onRequest(name: string, handler: (params: unknown) => unknown): void {
    this.handlers.set(name, handler);
  }
  onNotification(name: string, handler: (params: unknown) => unknown): void {
    this.handlers.set(name, handler);
  }
  sendRequest(...values: unknown[]): Promise<unknown> {
    this.sent.push(values);
    return Promise.resolve({});
  }
  sendNotification(...values: unknown[]): Promise<void> {
    this.sent.push(values);
    return Promise.resolve();
  }
}
