/**
 * The conversation panel: a read-only custom editor whose page draws the rows.
 *
 * The page may ask for rows and name one of a few commands; everything else it says is dropped. It
 * loads nothing but its own script and style.
 */

import * as vscode from "vscode";
import { crop, plainText } from "../shared/format";
import {
  readToHost,
  type Bar,
  type PanelAction,
  type TailAnswer,
  type ToHost,
  type ToPage,
} from "../shared/messages";
import type { View } from "../shared/protocol";
import type { Conversation, Conversations, News } from "./conversation";
import { DaemonGone, type Daemon } from "./daemon";
import { explain, kindOf, showError } from "./errors";
import { Panel } from "./page";
import { failureHtml, panelHtml } from "./panelHtml";
import { keyHelp, words } from "./words";

export const PANEL = "branchline.conversation";

class SessionDocument implements vscode.CustomDocument {
  constructor(readonly uri: vscode.Uri) {}

  dispose(): void {
    // Nothing is held: each panel looks at the conversation for itself.
  }
}

export class Panels implements vscode.CustomReadonlyEditorProvider<SessionDocument> {
  private readonly panels = new Set<Panel>();
  /** The panel that was last in front. */
  active: Panel | null = null;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly daemon: Daemon,
    private readonly conversations: Conversations,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  openCustomDocument(uri: vscode.Uri): SessionDocument {
    return new SessionDocument(uri);
  }

  async resolveCustomEditor(
    document: SessionDocument,
    webviewPanel: vscode.WebviewPanel,
  ): Promise<void> {
    const panel = new Panel(webviewPanel, document.uri.fsPath);
    this.panels.add(panel);
    const subscriptions: vscode.Disposable[] = [];
    const { webview } = webviewPanel;
    webview.options = {
      enableScripts: true,
      localResourceRoots: [
        vscode.Uri.joinPath(this.context.extensionUri, "dist"),
        vscode.Uri.joinPath(this.context.extensionUri, "media"),
      ],
    };
    webviewPanel.onDidDispose(() => {
      this.panels.delete(panel);
      panel.end();
      for (const subscription of subscriptions) subscription.dispose();
      if (panel.conversation !== null) this.conversations.leave(panel.conversation);
      if (this.active === panel) {
        this.active = null;
        void this.setFocus(false, false);
        void vscode.commands.executeCommand("setContext", "branchline.panelActive", false);
      }
    });
    let pageReady = false;
    const begin = (): void => {
      if (!pageReady) return;
      if (panel.conversation !== null) this.open(panel, panel.conversation);
      else if (panel.reading !== null) this.showTail(panel, panel.reading.tail);
    };
    webview.onDidReceiveMessage((raw: unknown) => {
      const message = readToHost(raw);
      if (message === null) this.log.warn("a message of the panel was dropped");
      else if (message.type === "ready") {
        pageReady = true;
        begin();
      } else void this.take(panel, message);
    });
    webviewPanel.onDidChangeViewState(() => this.viewState(panel));
    webview.html = panelHtml(webview, this.context.extensionUri);
    const follow = (conversation: Conversation): void => {
      panel.conversation = conversation;
      panel.reading = null;
      const setTitle = (): void => {
        webviewPanel.title = crop(plainText(conversation.title), 40);
      };
      setTitle();
      subscriptions.push(
        conversation.onNews((news) => {
          setTitle();
          this.pass(panel, conversation, news);
        }),
      );
      this.viewState(panel);
      begin();
    };
    const fail = (error: unknown): void => {
      panel.reading = null;
      panel.end();
      this.showFailure(webview, error);
      // The daemon may come later: it was missing, or the window was opened before it was there.
      const again = this.daemon.onState((state) => {
        if (state !== "running" || !this.panels.has(panel)) return;
        this.conversations.look(panel.path).then(
          (conversation) => {
            again.dispose();
            pageReady = false;
            webview.html = panelHtml(webview, this.context.extensionUri);
            follow(conversation);
          },
          (second: unknown) => this.showFailure(webview, second),
        );
      });
      subscriptions.push(again);
    };
    // VS Code loads the page when this is over: as soon as there is something to show.
    await new Promise<void>((shown) => {
      const opened = this.conversations
        .look(panel.path, (tail) => {
          if (!this.panels.has(panel)) return;
          panel.reading = { tail, opened };
          this.viewState(panel);
          begin();
          shown();
        })
        .then(
          (conversation) => {
            if (this.panels.has(panel)) follow(conversation);
            else this.conversations.leave(conversation);
            return panel.conversation;
          },
          (error: unknown) => {
            if (this.panels.has(panel)) fail(error);
            return null;
          },
        );
      void opened.then(() => shown());
    });
  }

  private viewState(panel: Panel): void {
    // A page that is not seen is taken down; when it is seen again it says so.
    if (!panel.webviewPanel.visible) panel.end();
    if (panel.webviewPanel.active) {
      this.active = panel;
      // While it is read no other is the active one either: commands wait for it.
      if (panel.conversation !== null || panel.reading !== null) {
        this.conversations.activate(panel.conversation);
      }
    } else if (this.active === panel) {
      void this.setFocus(false, false);
    }
    const active = [...this.panels].some((one) => one.webviewPanel.active);
    void vscode.commands.executeCommand("setContext", "branchline.panelActive", active);
  }

  private async setFocus(panel: boolean, input: boolean): Promise<void> {
    await vscode.commands.executeCommand("setContext", "branchline.inputFocus", input);
    await vscode.commands.executeCommand("setContext", "branchline.panelFocus", panel);
  }

  // --- from the page -------------------------------------------------------------------------------

  private async take(panel: Panel, message: ToHost): Promise<void> {
    const session = panel.path;
    switch (message.type) {
      case "rows": {
        const { ask, view, at, limit } = message;
        const place = typeof at === "number" ? { offset: at } : at;
        const params = { session, ...view, ...place, limit };
        await this.answer(panel, ask, async () => {
          const answer = await this.daemon.request("session/tree", params);
          panel.post({ type: "rows", ask, answer });
        });
        return;
      }
      case "locate": {
        const { ask, view, from, to } = message;
        await this.answer(panel, ask, async () => {
          const answer = await this.daemon.request("session/locate", { session, ...view, from, to });
          panel.post({ type: "located", ask, answer });
        });
        return;
      }
      case "overview":
        await this.overview(panel, session, message);
        return;
      case "focus":
        if (panel !== this.active && !message.panel) return;
        await this.setFocus(message.panel, message.input);
        panel.post({ type: "keys", on: message.panel && !message.input });
        return;
      case "selected": {
        const { id, role, label, ask } = message;
        panel.selected({ id, role, label }, ask);
        return;
      }
      case "command": {
        const target = message.id === null ? undefined : { branchlineEntry: message.id };
        await vscode.commands.executeCommand(message.command, target);
        return;
      }
      case "ready":
        return;
    }
  }

  private async answer(panel: Panel, ask: number, question: () => Promise<void>): Promise<void> {
    try {
      await question();
    } catch (error) {
      panel.post({ type: "failed", ask });
      // Of a lost connection the page is told by the bar; the rows are asked for again after it.
      // An entry that is not there any more was kept from before: the page goes elsewhere.
      const told = error instanceof DaemonGone || kindOf(error) === "notFound";
      if (!told && this.daemon.state === "running") await showError(error);
    }
  }

  private async overview(
    panel: Panel,
    session: string,
    { ask, view }: { ask: number; view: View },
  ): Promise<void> {
    try {
      const overview = await this.daemon.request("session/overview", { session, ...view });
      panel.post({ type: "overview", ask, overview });
    } catch (error) {
      this.log.debug(`no overview: ${kindOf(error) ?? "no connection"}`);
    }
  }

  // --- to the page ---------------------------------------------------------------------------------

  private showTail(panel: Panel, tail: TailAnswer): void {
    const keys = keyHelp(this.context.extension.packageJSON);
    panel.begin({ type: "tail", tail, words: words(), keys });
  }

  private open(panel: Panel, conversation: Conversation): void {
    const { info, leafId, revision, usage, warnings } = conversation;
    panel.begin({
      type: "opened",
      opened: { session: info, leafId, revision, usage, warnings },
      words: words(),
      keys: keyHelp(this.context.extension.packageJSON),
    });
    panel.post({ type: "busy", job: conversation.job });
    panel.post({ type: "bar", bar: this.bar(conversation) });
  }

  private pass(panel: Panel, conversation: Conversation, news: News): void {
    switch (news.type) {
      case "opened":
        this.open(panel, conversation);
        return;
      case "changed": {
        const { revision, leafId, usage, name, appended, origin } = news.change;
        const added = appended.filter((entry) => entry.type === "message").at(-1);
        const who =
          origin === "external"
            ? vscode.l10n.t("Another program added: {0}", added?.text ?? "")
            : (added?.text ?? "");
        panel.post({
          type: "changed",
          revision,
          leafId,
          usage,
          name,
          said: added === undefined ? "" : who,
          follow: conversation.following,
        });
        panel.post({ type: "bar", bar: this.bar(conversation) });
        return;
      }
      case "busy":
        panel.post({ type: "busy", job: conversation.job });
        return;
      case "answer":
        panel.post({ type: "answer", delta: news.delta });
        return;
      case "reset":
      case "notice":
        panel.post({ type: "bar", bar: this.bar(conversation) });
        return;
      case "info":
        panel.post({ type: "info", session: conversation.info });
        return;
      case "summary":
        return;
    }
  }

  /** What a person has to know of a conversation, if anything. */
  private bar(conversation: Conversation): Bar | null {
    const { t } = vscode.l10n;
    if (this.daemon.state !== "running") {
      const text =
        this.daemon.reason === "" ? t("Branchline is not running.") : this.daemon.reason;
      return {
        text,
        actions: [
          { command: "branchline.restart", title: t("Start Again") },
          { command: "branchline.showLog", title: t("Show Log") },
        ],
      };
    }
    if (conversation.lost !== null) {
      return {
        text: t("The file is not what was opened: {0}.", conversation.lost),
        actions: [{ command: "branchline.reload", title: t("Reload") }],
      };
    }
    if (conversation.elsewhere !== null) {
      return {
        text: t("Another program went on from elsewhere in this conversation."),
        actions: [
          { command: "branchline.follow", title: t("Follow") },
          { command: "branchline.stay", title: t("Stay") },
        ],
      };
    }
    return null;
  }

  /** The daemon came or went: every panel says so. */
  daemonChanged(): void {
    for (const panel of this.panels) {
      if (panel.conversation !== null) {
        panel.post({ type: "bar", bar: this.bar(panel.conversation) });
      }
    }
  }

  act(action: PanelAction): void {
    this.active?.post({ type: "act", action });
  }

  /** To every panel of a conversation. */
  postTo(conversation: Conversation, message: ToPage): void {
    for (const panel of this.panels) if (panel.conversation === conversation) panel.post(message);
  }

  private showFailure(webview: vscode.Webview, error: unknown): void {
    webview.html = failureHtml(webview, this.context.extensionUri, explain(error)?.text ?? "");
    void showError(error);
  }
}
