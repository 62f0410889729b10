/** The panel's pages as HTML: what may run and load in them is said here, and nothing of a session is in them. */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

function page(policy: string, styles: vscode.Uri[], body: string): string {
  const links = styles.map((style) => `<link rel="stylesheet" href="${style.toString()}">`);
  return `<!DOCTYPE html>
<html lang="${vscode.env.language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<title>Branchline</title>
${links.join("\n")}
</head>
<body data-vscode-context='{"preventDefaultContextMenuItems": true}'>
${body}
</body>
</html>`;
}

const stylesOf = (webview: vscode.Webview, extension: vscode.Uri): vscode.Uri[] =>
  ["panel.css", "tree.css"].map((name) =>
    webview.asWebviewUri(vscode.Uri.joinPath(extension, "media", name)),
  );

/** The page that draws a conversation: our own script and style, and nothing else. */
export function panelHtml(webview: vscode.Webview, extension: vscode.Uri): string {
  const nonce = randomBytes(16).toString("base64");
  const script = webview.asWebviewUri(vscode.Uri.joinPath(extension, "dist", "panel.js"));
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${webview.cspSource}`,
    "img-src data:",
  ].join("; ");
  const body = `<div id="page"></div>
<script nonce="${nonce}" src="${script.toString()}"></script>`;
  return page(policy, stylesOf(webview, extension), body);
}

/** The page in place of a conversation that could not be opened. */
export function failureHtml(webview: vscode.Webview, extension: vscode.Uri, text: string): string {
  const policy = `default-src 'none'; style-src ${webview.cspSource}`;
  const body = `<main><div class="bar notice" role="alert"><span>${escapeHtml(text)}</span></div></main>`;
  return page(policy, stylesOf(webview, extension), body);
}

/** The text with every character that means something in HTML written as a number. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
