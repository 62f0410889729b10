/**
 * Summaries by a model of the editor's own.
 *
 * Only a model that the person chose with a command is offered. It is asked only while something is done
 * that the person asked for, and if VS Code says that the extension may send to it: a compaction that
 * comes by itself sends nothing, and brings no question up.
 */

import * as vscode from "vscode";
import type { SummarizeAnswer, SummarizeParams } from "../shared/protocol";
import type { OwnWriter } from "./daemon";

const SETTING = "summarizer.editorModel";

const nameOf = (model: vscode.LanguageModelChat): string => `${model.vendor}/${model.id}`;

export class OwnModel implements OwnWriter {
  private acts = 0;

  constructor(
    private readonly access: vscode.LanguageModelAccessInformation,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** Do something that the person asked for: meanwhile the model may be asked. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.acts++;
    try {
      return await work;
    } finally {
      this.acts--;
    }
  }

  private async chosen(): Promise<vscode.LanguageModelChat | null> {
    const name = vscode.workspace.getConfiguration("branchline").get<string>(SETTING, "");
    if (name === "") return null;
    const models = await vscode.lm.selectChatModels();
    return models.find((model) => nameOf(model) === name) ?? null;
  }

  async offer(): Promise<{ model: string; maxInputTokens: number } | null> {
    const model = await this.chosen();
    return model === null ? null : { model: nameOf(model), maxInputTokens: model.maxInputTokens };
  }

  async write(params: SummarizeParams, token: vscode.CancellationToken): Promise<SummarizeAnswer> {
    if (this.acts === 0) return null;
    const model = await this.chosen();
    if (model === null || this.access.canSendRequest(model) !== true) return null;
    // The editor's models take no system message: what it says stands before the prompt.
    const messages = [vscode.LanguageModelChatMessage.User(`${params.system}\n\n${params.prompt}`)];
    const options = { modelOptions: { max_tokens: params.maxTokens } };
    this.log.info(`summary (${params.kind}) by ${nameOf(model)}`);
    const answer = await model.sendRequest(messages, options, token);
    let text = "";
    for await (const part of answer.text) text += part;
    return text.trim() === "" ? null : { text, model: nameOf(model) };
  }

  /** Let the person choose, and ask for leave to send by a first, tiny request. */
  async choose(): Promise<boolean> {
    const { t } = vscode.l10n;
    const models = await vscode.lm.selectChatModels();
    if (models.length === 0) {
      void vscode.window.showInformationMessage(t("This editor has no language models."));
      return false;
    }
    const none = { label: t("None"), description: t("leave summaries to the daemon"), name: "" };
    const items = models.map((model) => ({
      label: model.name,
      description: nameOf(model),
      name: nameOf(model),
    }));
    const picked = await vscode.window.showQuickPick([...items, none], {
      title: t("Which model writes summaries?"),
    });
    if (picked === undefined) return false;
    const model = models.find((one) => nameOf(one) === picked.name);
    // Not asked of `canSendRequest`: newer ones answer yes before the person has.
    if (model !== undefined) {
      const source = new vscode.CancellationTokenSource();
      const ask = [vscode.LanguageModelChatMessage.User("Answer with the word: ready")];
      const answer = await model.sendRequest(ask, {}, source.token);
      for await (const part of answer.text) if (part !== "") break;
      source.cancel();
    }
    await vscode.workspace
      .getConfiguration("branchline")
      .update(SETTING, picked.name, vscode.ConfigurationTarget.Global);
    return true;
  }
}
