// A program's day with the TypeScript client. Keep it like journey_test.go.
import assert from "node:assert/strict";
import { generateKeyPairSync, sign as nodeSign } from "node:crypto";
import { setTimeout as after } from "node:timers/promises";
import { PurserClient, PurserError, SecretLostError, sign, signBlindly, signChallenge, signSwap } from "../../clients/typescript/dist/index.js";
import { base58 } from "../../clients/typescript/dist/bytes.js";

const s = JSON.parse(process.argv[2]);
const signal = AbortSignal.timeout(150_000);
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const own = base58(Buffer.from(publicKey.export({ format: "jwk" }).x, "base64url"));
const signer = async (message) => nodeSign(null, message, privateKey);

/** Asks again and again, at the pace of a patient program: blocks come by the clock. */
async function until(done) {
  while (!await done()) await after(200, undefined, { signal });
}

async function connect(client) {
  const challenge = await client.connectChallenge(own, { signal });
  const signature = await signChallenge(challenge.message, own, signer);
  assert.deepEqual(await client.connect(challenge.address, signature), { address: own, status: "done" });
  assert.ok(challenge.expiresAt > new Date());
  const wallet = (await client.wallets()).find((w) => w.address === own);
  assert.equal(wallet.walletType, "developer");
  assert.ok(wallet.connectedAt instanceof Date);
}

async function sends(client, to, amount) {
  const proposal = await client.send({ from: own, to, amount, token: "SOL" }, { signal });
  assert.deepEqual([proposal.status, proposal.recipient], ["awaiting_signature", to]);
  assert.ok(proposal.expiresAt > new Date());
  await signBlindly(proposal.unsignedTransaction, signer, own);
  const fresh = await client.refresh(proposal.transactionId, { signal });
  const want = { from: own, to, amount, token: "SOL" };
  const signature = await sign(fresh.unsignedTransaction, signer, want);
  await assert.rejects(sign(fresh.unsignedTransaction, signer, { ...want, amount: "0.000000001" }), /pays/);
  assert.equal((await client.submitSignature(proposal.transactionId, { signature })).transactionId, proposal.transactionId);
  await until(async () => {
    const t = await client.transaction(proposal.transactionId);
    if (t.status !== "confirmed") return false;
    assert.deepEqual([t.amount, t.signature, t.token, typeof t.blockHeight, t.confirmedAt instanceof Date], [amount, signature, "SOL", "number", true]);
    return true;
  });
  return proposal.transactionId;
}

async function pay(client) {
  const me = await client.key();
  assert.deepEqual([me.kind, me.tier, me.owner, me.rateLimit.limit, me.expiresAt, me.createdAt instanceof Date], ["api", "pro", "", 1_000_000, undefined, true]);
  await until(async () => (await client.balance(own)).balances.get("SOL").amount === "5");
  const paid = await sends(client, s.to, "1");

  const { transactionId } = await client.send({ from: own, to: s.to, amount: "0.5", token: "SOL" });
  assert.deepEqual(await client.reject(transactionId), { transactionId, status: "rejected" });

  const page = await client.transactionPage({ address: own, type: "send", limit: 1 });
  assert.ok(page.transactions.length <= 1 && page.nextCursor !== "");
  const ids = [];
  for await (const t of client.transactions({ address: own, type: "send", since: new Date(Date.now() - 3_600_000), limit: 1 })) ids.push(t.transactionId);
  assert.deepEqual(ids, [transactionId, paid]);

  await assert.rejects(client.send({ from: own, to: s.to, amount: "1000", token: "SOL" }),
    (e) => e instanceof PurserError && e.code === "INSUFFICIENT_FUNDS" && e.requestId !== "" && e.details !== "" && e.field === "amount" &&
      e.reason === "funds.sol_short" && e.arguments.amount === "1000" && typeof e.arguments.free === "string" && e.message.includes("INSUFFICIENT_FUNDS funds.sol_short: "));
  await assert.rejects(new PurserClient(s.url, s.bot).wallets(), { code: "INVALID_API_KEY", status: 401 });
}

/** What a program finds out about tokens, and a swap with a key of its own. */
async function market(client) {
  const found = await client.tokens("usdc");
  assert.deepEqual([found.complete, found.tokens[0].listed, found.tokens[0].holders > 0, found.tokens[1].suspect], [true, true, true, true]);
  const usdc = found.tokens[0].mint;
  const pools = await client.pools(usdc);
  assert.deepEqual([pools.token, pools.source !== "", pools.updatedAt instanceof Date, pools.pools[0].liquidityUsd !== "", pools.pools[0].url !== ""], ["USDC", true, true, true, true]);
  const prices = await client.prices(["SOL", usdc]);
  assert.equal(prices.prices.length + prices.missing.length, 2);
  const quote = await client.swapQuote({ address: own, fromToken: "SOL", toToken: usdc, amount: "0.5", slippageBps: 100 }, { signal });
  assert.deepEqual([quote.inAmount, quote.toToken.mint, quote.slippageBps, quote.expiresAt > new Date(), quote.route.length > 0], ["0.5", usdc, 100, true, true]);
  const proposal = await client.swap(quote.quoteId, { signal });
  const [whole, fraction = ""] = quote.minOutAmount.split(".");
  const want = { from: own, fromToken: "SOL", toToken: usdc, paidUnits: 500_000_000n, leastUnits: BigInt(whole + fraction.padEnd(6, "0")) };
  await assert.rejects(signSwap(proposal.unsignedTransaction, signer, { ...want, leastUnits: want.leastUnits + 1n }), /at least/);
  const signature = await signSwap(proposal.unsignedTransaction, signer, want);
  await client.submitSignature(proposal.transactionId, { signature });
  await until(async () => {
    const t = await client.transaction(proposal.transactionId);
    assert.ok(t.status === "confirmed" || t.errorCode === "", t.errorCode);
    return t.status === "confirmed";
  });
  await assert.rejects(client.swap(quote.quoteId), { code: "QUOTE_EXPIRED", status: 409 });
}

async function rotate(client) {
  const next = await client.rotateKey();
  assert.equal((await new PurserClient(s.url, next.key).key()).keyId, next.keyId);
  assert.ok(next.oldEndsAt.getTime() > Date.now() + 23 * 3_600_000);
}

async function person(client) {
  assert.equal((await client.wallets()).length, 1);
  assert.deepEqual(await client.walletsOf(s.alice), await client.wallets());
  const set = await client.setNotifications({ enabled: true, events: ["transaction.received", "price.*"] });
  assert.ok(set.updatedAt instanceof Date);
  assert.deepEqual(await client.notifications(), set);
  assert.equal(set.events.length, 2);
  const alert = await client.setAlert({ token: "SOL", condition: "change", changePercent: "7.5", timeframe: "24h" });
  assert.deepEqual([alert.token, alert.changePercent, alert.timeframe, alert.price, alert.armed, alert.triggeredAt], ["SOL", "7.50", "24h", "", true, undefined]);
  assert.ok(alert.createdAt instanceof Date);
  const alerts = await client.alerts();
  assert.deepEqual([alerts.alerts, alerts.limit > 1], [[alert], true]);
  assert.deepEqual(await client.deleteAlert(alert.alertId), alert);
  const sent = await client.messageOwner({ message: "*The backup is done*", parseMode: "Markdown" });
  assert.ok(sent.messageId > 0 && sent.sentAt instanceof Date);
  const ran = await client.commandOwner({ command: "/wallet balance", silent: true });
  assert.match(ran.response, /SOL/);
  const link = await client.createWallet(s.alice);
  assert.equal(link.status, "sent_to_chat");
  assert.ok(link.expiresAt > new Date());
  await rotate(client);
}

async function bot(client) {
  const sent = await client.sendMessage({ chatId: s.alice, message: "*Hello by API*", parseMode: "Markdown" });
  assert.ok(sent.messageId > 0 && sent.sentAt instanceof Date);
  const ran = await client.executeCommand({ chatId: s.alice, command: "/wallet balance", silent: true });
  assert.match(ran.response, /SOL/);
  const user = await client.user(s.alice);
  assert.deepEqual([user.telegramId, user.walletConnected, user.notificationsEnabled], [s.alice, true, true]);
  const off = await client.setUserNotifications(s.alice, { enabled: false, events: [] });
  assert.deepEqual([off.enabled, off.events], [false, []]);
  await client.setUserNotifications(s.alice, { enabled: true, events: ["*"] });
  const { secret, ...set } = await client.setBotWebhook({ url: `${s.receiver}/bot`, events: ["wallet.*"] });
  assert.match(secret, /^whsec_/);
  const hook = client.botHook();
  const { health, ...got } = await hook.status();
  assert.deepEqual(got, { ...set, secret: "" });
  const tested = await hook.test();
  assert.deepEqual([tested.delivered, tested.status], [true, 200]);
  assert.equal((await hook.delete()).webhookId, set.webhookId);
  await assert.rejects(hook.status(), { code: "WEBHOOK_NOT_FOUND" });
}

/** The life of a webhook: an event that its receiver does not take, and one that is sent again. */
async function hooks(client, payer) {
  const events = await client.webhookEvents();
  assert.ok(events.some((e) => e.event === "transaction.received" && e.schema.type === "object" && e.example.event === e.event));
  const made = await client.createWebhook({ url: `${s.receiver}/none`, events: ["price.*"] });
  assert.match(made.secret, /^whsec_/);
  assert.deepEqual([made.active, made.lastTriggered], [true, undefined]);
  const hook = client.hook(made.webhookId);
  const tested = await hook.test();
  assert.deepEqual([tested.delivered, tested.status], [false, 404]);
  assert.notEqual(tested.error, "");
  const changed = await hook.change({ events: ["transaction.received"] });
  assert.deepEqual([changed.events, changed.url], [["transaction.received"], made.url]);
  const [{ address }] = await client.wallets();
  await sends(payer, address, "0.1");
  const since = new Date(Date.now() - 3_600_000);
  let missed;
  await until(async () => {
    [missed] = (await hook.deliveryPage({ state: "dead_lettered", event: "transaction.received", since })).deliveries;
    return missed !== undefined;
  });
  const whole = await hook.delivery(missed.deliveryId);
  assert.ok(whole.bodyShown && whole.body.includes(address));
  assert.deepEqual(whole.attempted.map((a) => [a.status, a.answer.trim()]), [[404, "nothing here"]]);
  await hook.change({ url: `${s.receiver}/hook` });
  const rotated = await hook.rotateSecret({ graceSeconds: 3600 });
  assert.notEqual(rotated.secret, made.secret);
  assert.ok(rotated.previousUntil > new Date());
  assert.deepEqual(await hook.recover(since), { recovered: 1, nextSince: undefined });
  const delivered = (id) => until(async () => (await hook.delivery(id)).state === "delivered");
  await delivered(missed.deliveryId);
  const again = await hook.resend(missed.deliveryId);
  assert.equal(again.eventId, missed.eventId);
  await delivered(again.deliveryId);
  let n = 0;
  for await (const _ of hook.deliveries({ limit: 1 })) n++;
  assert.ok(n >= 3);
  const { health, failingSince } = await hook.status();
  assert.deepEqual([health.lastSuccess instanceof Date, failingSince, health.events.limit, health.hours[0].succeeded >= 2], [true, undefined, 10_000, true]);
  assert.equal((await hook.delete()).webhookId, made.webhookId);
  assert.deepEqual(await client.webhooks(), []);
}

/** Does with lost answers what must happen once. */
async function lose(client, botClient) {
  await sends(client, s.to, "0.25");
  await botClient.sendMessage({ chatId: s.alice, message: "Not an echo" });
  const hook = { url: "http://127.0.0.1:9/hook", events: ["*"] };
  await assert.rejects(botClient.setBotWebhook(hook), SecretLostError);
  await botClient.setBotWebhook({ ...hook, secret: "a secret of my own" });
  assert.equal(await botClient.botHook().delete(), undefined);
  assert.equal((await client.disconnect(own)).address, own);
  await connect(client);
  assert.equal((await new PurserClient(s.url, s.operator).disconnect(own)).walletType, "developer");
  await botClient.executeCommand({ chatId: s.alice, command: `/send 0.015 SOL ${s.to}`, silent: true });
}

const operator = new PurserClient(s.url, s.operator);
await connect(operator);
const airdrop = { jsonrpc: "2.0", id: 1, method: "requestAirdrop", params: [own, 5_000_000_000] };
await fetch(s.rpc, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(airdrop) });
await pay(operator);
await market(operator);
await person(new PurserClient(s.url, s.own));
await bot(new PurserClient(s.url, s.bot));
await hooks(new PurserClient(s.url, s.own), operator);
await rotate(new PurserClient(s.url, s.app));
await lose(new PurserClient(s.losing, s.operator), new PurserClient(s.losing, s.bot));
