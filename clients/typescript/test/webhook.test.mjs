import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { WebhookError, verifyWebhook } from "../dist/index.js";

const now = new Date("2026-01-31T12:00:00Z");
const body = '{"event":"webhook.test"}';
const raw = "0123456789abcdef0123456789abcdef";
const secret = `whsec_${Buffer.from(raw).toString("base64")}`;
const minutes = (n) => new Date(now.getTime() + n * 60_000);
const mac = (key, text, form) => createHmac("sha256", key).update(text).digest(form);
const service = (key, at = now, name = "x-service-signature") => ({ [name]: `sha256=${mac(key, body, "hex")}`, "x-service-timestamp": at.toISOString() });
const standard = (key, text = body, at = now) => {
  const unix = Math.floor(at.getTime() / 1000);
  return { "webhook-id": "msg_1", "webhook-timestamp": String(unix), "webhook-signature": `v1,AAAA v1a,AAAA v1,${mac(key, `msg_1.${unix}.${text}`, "base64")}` };
};

test("a webhook is verified by either scheme", async () => {
  for (const [name, key, headers] of [
    ["the service's scheme", secret, service(secret, minutes(-5))],
    ["a secret before its rotation", "old secret of ours", service("old secret of ours", now, "x-service-signature-previous")],
    ["the decoded bytes", secret, standard(raw, body, minutes(4))],
    ["a secret of one's own", "a secret of my own", standard("a secret of my own")],
    ["what is not base64 after whsec_", "whsec_!!", standard("whsec_!!")],
    ["both, the standard one of another secret", secret, { ...standard("new"), ...service(secret, now, "x-service-signature-previous") }],
  ]) {
    await verifyWebhook(key, headers, body, now).catch((e) => assert.fail(`${name}: ${e}`));
    await verifyWebhook(key, new Headers(headers), new TextEncoder().encode(body), now);
  }
  for (const [name, key, headers, reason] of [
    ["nothing", secret, {}, "signature"],
    ["another secret", "another", service(secret), "signature"],
    ["the service's scheme by decoded bytes", secret, service(raw), "signature"],
    ["no secret", "", service(""), "signature"],
    ["half a signature", secret, { ...service(secret), "x-service-signature": "sha256=00" }, "signature"],
    ["another body", secret, standard(raw, `${body} `), "signature"],
    ["another id", secret, { ...standard(raw), "webhook-id": "msg_2" }, "signature"],
    ["another time", secret, { ...standard(raw, body, minutes(-60)), "webhook-timestamp": String(now.getTime() / 1000) }, "signature"],
    ["old", secret, service(secret, new Date(minutes(-5).getTime() - 1)), "time"],
    ["to come", secret, service(secret, minutes(6)), "time"],
    ["no time", secret, { ...service(secret), "x-service-timestamp": "" }, "time"],
    ["old, standard", secret, standard(raw, body, minutes(-6)), "time"],
  ]) {
    await assert.rejects(verifyWebhook(key, headers, body, now), (e) => e instanceof WebhookError && e.reason === reason, name);
  }
});
