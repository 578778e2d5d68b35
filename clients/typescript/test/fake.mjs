import { createServer } from "node:http";
import { once } from "node:events";
import { PurserClient } from "../dist/index.js";

export const KEY = "pur_test_0123456789";

/** A server that plays a script: one handler a request, the last one for ever. */
export async function serve(t, ...script) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const at = Math.min(requests.length, script.length - 1);
    requests.push({ method: request.method, url: new URL(request.url, "http://x"), headers: request.headers, body: Buffer.concat(parts).toString() });
    script[at](response, request);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${server.address().port}`;
  return { url, requests, client: new PurserClient(url, KEY, { firstPauseMs: 1, timeoutMs: 5_000 }) };
}

/** Answers with JSON. */
export const says = (status, body, headers = {}) => (response) => {
  response.writeHead(status, { "Content-Type": "application/json", "X-Request-Id": "req_1", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
};
export const data = (record) => says(200, { success: true, data: record, message: "Done.", timestamp: "2026-01-31T12:00:00Z" });
export const refusal = (status, code, headers) => says(status, { success: false, error: { code, message: "No.", details: "why" }, timestamp: "2026-01-31T12:00:00Z" }, headers);

/** Breaks the connection without an answer. */
export const hangsUp = (response) => response.destroy();

export const proposal = { transaction_id: "tx_1", status: "awaiting_confirmation", recipient: "B", warnings: [], expires_at: "2026-01-31T12:05:00Z", delay_ends_at: null, unsigned_transaction: null };
export const order = { from: "A", to: "B", amount: "1.5", token: "SOL" };
