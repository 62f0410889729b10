// A model server that says what it is told to: OpenAI's streamed chat completions on loopback.
import { createServer } from "node:http";

export async function modelServer() {
  const answers = [];
  const requests = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", async () => {
      requests.push(JSON.parse(body));
      const answer = answers.shift();
      if (answer === undefined) {
        response.writeHead(404).end("{}");
        return;
      }
      if (answer.status !== undefined) {
        response.writeHead(answer.status, { "Content-Type": "application/json" });
        response.end(JSON.stringify({ error: { message: answer.message, type: "scripted" } }));
        return;
      }
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      const send = (choice, more = {}) =>
        response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "m", choices: choice, ...more })}\n\n`);
      for (const piece of answer.pieces) {
        send([{ index: 0, delta: { content: piece }, finish_reason: null }]);
        if (answer.hold !== undefined) await answer.hold;
      }
      send([{ index: 0, delta: {}, finish_reason: answer.reason ?? "stop" }]);
      send([], { usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 } });
      response.end("data: [DONE]\n\n");
    });
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return {
    baseUrl: `http://127.0.0.1:${server.address().port}/v1`,
    requests,
    /** The next request is answered by these pieces; `hold` is waited for after each. */
    says(pieces, hold) {
      answers.push({ pieces, hold });
    },
    /** The next request is refused. */
    refuses(status, message) {
      answers.push({ status, message });
    },
    /** The next answer runs into the model's limit. */
    runsOut(pieces) {
      answers.push({ pieces, reason: "length" });
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
