import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { PurserClient, PurserError, SecretLostError } from "../dist/index.js";
import { KEY, data, hangsUp, order, proposal, refusal, says, serve } from "./fake.mjs";

test("every try of a POST carries the same idempotency key", async (t) => {
  const { client, requests } = await serve(t, hangsUp, refusal(503, "NETWORK_ERROR"), refusal(409, "CONFLICT", { "Retry-After": "1" }), data(proposal));
  const got = await client.send(order);
  assert.equal(got.transactionId, "tx_1");
  assert.equal(got.unsignedTransaction, undefined);
  assert.equal(got.expiresAt.toISOString(), "2026-01-31T12:05:00.000Z");
  assert.equal(requests.length, 4);
  const key = requests[0].headers["idempotency-key"];
  assert.match(key, /^[0-9a-f-]{36}$/);
  for (const r of requests) {
    assert.deepEqual([r.headers["idempotency-key"], r.body, r.headers.authorization], [key, JSON.stringify(order), `Bearer ${KEY}`]);
  }
  await client.send(order);
  assert.notEqual(requests[4].headers["idempotency-key"], key);
});

test("the caller may choose the idempotency key", async (t) => {
  const { client, requests } = await serve(t, hangsUp, data(proposal));
  await client.send(order, { idempotencyKey: "order 17" });
  assert.deepEqual(requests.map((r) => r.headers["idempotency-key"]), ["order 17", "order 17"]);
  for (const idempotencyKey of ["", "two\nlines", "x".repeat(129), "größe"]) {
    await assert.rejects(client.send(order, { idempotencyKey }), TypeError);
  }
  assert.equal(requests.length, 2);
});

test("a refusal is an error with its code", async (t) => {
  const { client, requests } = await serve(t, refusal(422, "INSUFFICIENT_FUNDS"));
  await assert.rejects(client.send(order), (e) => {
    assert.ok(e instanceof PurserError);
    assert.deepEqual([e.status, e.code, e.summary, e.details, e.field, e.reason, e.arguments, e.requestId, e.retryAfter],
      [422, "INSUFFICIENT_FUNDS", "No.", "why", "", "", {}, "req_1", 0]);
    assert.equal(e.message, "purser: 422 INSUFFICIENT_FUNDS: No. (why) [req_1]");
    return true;
  });
  assert.equal(requests.length, 1);
});

test("a refusal carries its reason, as data and in its text", async (t) => {
  const given = { free: "0.4", wait: 90, names: ["a", KEY], other: { x: 1 }, flag: true, none: null, half: 0.5, mixed: ["a", 1], [KEY]: `${KEY}\u001b` };
  const error = { code: "INSUFFICIENT_FUNDS", message: "Too little.", details: "amount: You have 0.4 SOL.", field: "amount", reason: "funds.sol_short", arguments: given };
  const { client } = await serve(t, says(422, { success: false, error }));
  await assert.rejects(client.send(order), (e) => {
    assert.deepEqual([e.field, e.reason, e.arguments], ["amount", "funds.sol_short", { free: "0.4", wait: 90, names: ["a", "[key]"], "[key]": "[key] " }]);
    assert.equal(e.message, "purser: 422 INSUFFICIENT_FUNDS funds.sol_short: Too little. (amount: You have 0.4 SOL.) [req_1]");
    return true;
  });
  for (const odd of [[1], "x", null, 7]) { // of a server that is no purser of today's
    const { client } = await serve(t, says(422, { success: false, error: { ...error, arguments: odd } }));
    await assert.rejects(client.send(order), (e) => e.code === "INSUFFICIENT_FUNDS" && Object.keys(e.arguments).length === 0);
  }
});

test("Retry-After is waited for or told", async (t) => {
  const patient = await serve(t, refusal(429, "RATE_LIMIT_EXCEEDED", { "Retry-After": "1" }), data(proposal));
  const began = performance.now();
  await patient.client.send(order);
  assert.ok(performance.now() - began >= 999);
  const hasty = await serve(t, refusal(429, "RATE_LIMIT_EXCEEDED", { "Retry-After": "3000" }));
  await assert.rejects(hasty.client.send(order), { name: "PurserError", retryAfter: 3000 });
  assert.equal(hasty.requests.length, 1);
});

test("tries end", async (t) => {
  const page = (response) => response.writeHead(502, { "Content-Type": "text/html" }).end("<h1>Bad gateway</h1>");
  for (const answer of [refusal(503, "NETWORK_ERROR"), hangsUp, page]) {
    const { client, requests } = await serve(t, answer);
    await assert.rejects(client.send(order));
    assert.equal(requests.length, 4);
  }
});

test("a signal ends the call, its tries and its pauses", async (t) => {
  const hanging = await serve(t, () => {});
  const ends = new AbortController();
  const call = hanging.client.key({ signal: ends.signal });
  ends.abort(new Error("enough"));
  await assert.rejects(call, { message: "enough" });
  const later = new AbortController();
  const pausing = await serve(t, (response) => {
    response.on("finish", () => setTimeout(() => later.abort(new Error("enough")), 50)); // while the client pauses
    refusal(429, "RATE_LIMIT_EXCEEDED", { "Retry-After": "50" })(response);
  });
  const paused = pausing.client.key({ signal: later.signal });
  await assert.rejects(paused, { message: "enough" });
  await assert.rejects(pausing.client.key({ signal: later.signal }), { message: "enough" });
  assert.equal(pausing.requests.length, 1);
});

test("a hanging server is given up", async (t) => {
  const half = (response) => response.writeHead(200, { "Content-Type": "application/json" }).write('{"success":');
  for (const answer of [() => {}, half]) {
    const { url, requests } = await serve(t, answer);
    const client = new PurserClient(url, KEY, { tries: 2, firstPauseMs: 1, timeoutMs: 500 });
    await assert.rejects(client.key(), /GET \/v1\/key: no answer/);
    assert.equal(requests.length, 2);
  }
});

test("hostile answers are errors", async (t) => {
  const answers = {
    "HTML": (response) => response.writeHead(200, { "Content-Type": "text/html" }).end("<html>secret</html>"),
    "HTML as JSON": says(200, "<html>secret</html>"),
    "huge": says(200, `{"success":true,"data":{"transaction_id":"${"x".repeat(5 << 20)}"}}`),
    "no envelope": says(200, proposal),
    "no data": says(200, { success: true }),
    "null": data(null),
    "a list": data([]),
    "an empty record": data({}),
    "a number for an id": data({ ...proposal, transaction_id: 1 }),
    "a strange time": data({ ...proposal, expires_at: "soon" }),
    "success that fails": says(422, { success: true, data: proposal }),
    "failure that does": says(200, { success: false, error: { code: "CONFLICT", message: "", details: "" } }),
    "no code": says(422, { success: false, error: {} }),
    "a redirect": says(307, "{}", { Location: "https://example.com/" }),
  };
  for (const [name, answer] of Object.entries(answers)) {
    const { client, requests } = await serve(t, answer);
    await assert.rejects(client.send(order), (e) => {
      assert.ok(e instanceof PurserError && e.code === "" && !e.message.includes("secret") && e.message.length < 200, `${name}: ${e}`);
      return true;
    });
    assert.equal(requests.length, 1, name);
  }
});

test("an object of an answer is no prototype", async (t) => {
  const { client } = await serve(t, says(200, `{"success":true,"data":{"address":"A","balances":{"__proto__":{"amount":"1","decimals":0}},"total_usd_value":"","updated_at":""}}`));
  const { balances } = await client.balance("A");
  assert.deepEqual([...balances.keys()], ["__proto__"]);
});

test("nothing shows a secret", async (t) => {
  const echo = says(400, { success: false, error: { code: `X_${KEY}`, message: `You sent ${KEY}`, details: `${KEY}\u001b[2J` } }, { "X-Request-Id": KEY });
  const { client } = await serve(t, echo);
  const shown = [inspect(client, { depth: 9, showHidden: true }), JSON.stringify(client), String(client)];
  for (const one of [client, new PurserClient("http://127.0.0.1:1", KEY, { tries: 1 })]) {
    await one.key().then(assert.fail, (e) => shown.push(inspect(e), e.stack));
  }
  for (const text of shown) assert.ok(!text.includes(KEY) && !text.includes("\u001b"), text);
});

test("wrong arguments are not sent", async (t) => {
  const { client, requests, url } = await serve(t, data(proposal));
  for (const [base, key] of [["wallet.example.org", KEY], ["https://a:b@c", KEY], ["https://c/?x", KEY], ["file:///x", KEY], [url, ""], [url, "pur_\r\nX: y"]]) {
    assert.throws(() => new PurserClient(base, key), TypeError, base);
  }
  for (const id of ["", "..", "../../key", "x?y", "x/y"]) {
    for (const call of [client.transaction(id), client.reject(id), client.user(id), client.disconnect(id), client.refresh(id)]) await assert.rejects(call, TypeError);
  }
  assert.equal(requests.length, 0);
});

test("a deletion whose answer was lost is done", async (t) => {
  const lost = await serve(t, hangsUp, refusal(404, "WALLET_NOT_FOUND"));
  assert.equal((await lost.client.disconnect("A")).address, "A");
  const never = await serve(t, refusal(404, "WALLET_NOT_FOUND"));
  await assert.rejects(never.client.disconnect("A"), { code: "WALLET_NOT_FOUND" });
});

test("a secret that was lost is an error", async (t) => {
  const key = await serve(t, data({ key_id: "key_2", key: "", secret_shown: true, old_ends_at: "2026-02-01T12:00:00Z" }));
  await assert.rejects(key.client.rotateKey(), (e) => e instanceof SecretLostError && e.record.keyId === "key_2");
  const hook = await serve(t, data({ webhook_id: "w", url: "https://example.com", events: ["*"], created_at: "", secret_shown: true }));
  await assert.rejects(hook.client.setBotWebhook({ url: "https://example.com", events: ["*"] }), SecretLostError);
  await assert.rejects(hook.client.createWebhook({ url: "https://example.com", events: ["*"] }), (e) => e instanceof SecretLostError && e.record.webhookId === "w");
  const secret = await serve(t, data({ webhook_id: "w", secret: "", secret_shown: true, previous_until: "" }));
  await assert.rejects(secret.client.hook("w").rotateSecret(), (e) => e instanceof SecretLostError && e.record.previousUntil === undefined);
});

test("a webhook is read wholly", async (t) => {
  const record = { webhook_id: "wh_1", url: "https://example.com", events: ["*"], active: true, created_at: "2026-01-31T12:00:00.5Z", last_triggered: "", failing_since: "", ended: "" };
  const health = { last_success: "", failures: 0, last_status: 0, last_error: "", waiting: 2, hours: [{ hour: "2026-01-31T12:00:00Z", succeeded: 2, failed: 1, dead_lettered: 0 }], events: { used: 3, limit: 10000 } };
  const { client, requests } = await serve(t, data({ ...record, health }));
  const got = await client.hook("wh_1").status();
  assert.deepEqual([got.lastTriggered, got.failingSince, got.health.hours[0].succeeded, got.health.events.limit], [undefined, undefined, 2, 10000]);
  assert.throws(() => client.hook("../key"), TypeError);
  await assert.rejects(client.hook("wh_1").delivery("../x"), TypeError);
  assert.equal(requests.length, 1);

  const delivery = (id, state) => ({ delivery_id: id, state, attempts: 1, last_status: 500, ended_at: "" });
  const list = await serve(t, data({ deliveries: [delivery("dlv_2", "waiting")], next_cursor: "c" }), data({ deliveries: [delivery("dlv_1", "dead_lettered")], next_cursor: "" }));
  const ids = [];
  for await (const d of list.client.botHook().deliveries({ limit: 1 })) ids.push(d.deliveryId);
  assert.deepEqual(ids, ["dlv_2", "dlv_1"]);
  assert.deepEqual(list.requests.map((r) => r.url.search), ["?limit=1", "?limit=1&cursor=c"]);
});

test("the iterator follows the cursor", async (t) => {
  const record = (id) => ({ transaction_id: `tx_${id}`, status: "confirmed", warnings: ["new_recipient"], amount: "1.5", submitted_at: "", created_at: "2026-01-31T12:00:00.5Z", block_height: 7, confirmations: null });
  const page = (next, ...ids) => data({ transactions: ids.map(record), next_cursor: next });
  const { client, requests } = await serve(t, page("c1", 1, 2), page("c2"), refusal(503, "NETWORK_ERROR"), page("", 3));
  const got = [];
  for await (const tx of client.transactions({ token: "SOL", since: new Date(0), limit: 2 })) {
    got.push(tx.transactionId);
    assert.deepEqual([tx.createdAt.getTime() % 1000, tx.submittedAt, tx.blockHeight, tx.confirmations], [500, undefined, 7, undefined]);
  }
  assert.deepEqual(got, ["tx_1", "tx_2", "tx_3"]);
  assert.deepEqual(requests.map((r) => r.url.searchParams.get("cursor")), [null, "c1", "c2", "c2"]);
  assert.equal(requests[0].url.search, "?token=SOL&since=1970-01-01T00%3A00%3A00.000Z&limit=2");

  // What purser read on chain has no id. What is purser's own must have one.
  const entry = { source: "chain", transaction_id: "", type: "swap", status: "confirmed", warnings: [], signature: "5j7s", slot: 9, suspect: "dust", counterparty: "9xQe",
    changes: [{ token: "SOL", mint: "", amount: "1", direction: "out" }] };
  const seen = await serve(t, data({ transactions: [entry], next_cursor: "", complete: true }));
  const listed = await seen.client.transactionPage({ source: "purser" });
  assert.deepEqual([listed.complete, listed.transactions[0].transactionId, listed.transactions[0].slot, listed.transactions[0].suspect, listed.transactions[0].changes],
    [true, "", 9, "dust", [{ token: "SOL", mint: "", amount: "1", direction: "out" }]]);
  assert.equal(seen.requests[0].url.search, "?source=purser");
  const nameless = await serve(t, data({ transactions: [{ ...entry, source: "purser" }], next_cursor: "" }));
  await assert.rejects(nameless.client.transactionPage());

  const circle = await serve(t, page("c1", 1));
  await assert.rejects(async () => { for await (const _ of circle.client.transactions()); }, /leads to itself/);
  const left = await serve(t, page("c1", 1, 2));
  for await (const _ of left.client.transactions()) break;
  assert.equal(left.requests.length, 1);
});
