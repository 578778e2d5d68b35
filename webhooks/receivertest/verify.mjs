// Deliveries come as JSON on standard input; each must be verified, or refused, by both verifiers.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

const { verifyWebhook } = await import(pathToFileURL(process.argv[2]));
const deliveries = JSON.parse(await text(process.stdin));
for (const { secret, raw, headers, body, good } of deliveries) {
  const standard = raw ? new Webhook(Buffer.from(secret), { format: "raw" }) : new Webhook(secret);
  const service = Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith("x-")));
  if (good) {
    assert.deepEqual(standard.verify(body, headers), JSON.parse(body));
    await verifyWebhook(secret, headers, body);
    await verifyWebhook(secret, service, body);
  } else {
    assert.throws(() => standard.verify(body, headers));
    await assert.rejects(verifyWebhook(secret, headers, body));
    await assert.rejects(verifyWebhook(secret, service, body));
  }
}
console.log(`${deliveries.length} deliveries`);
