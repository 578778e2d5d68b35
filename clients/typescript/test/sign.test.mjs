import assert from "node:assert/strict";
import { createPrivateKey, sign as nodeSign, verify } from "node:crypto";
import { test } from "node:test";
import { sign, signChallenge } from "../dist/index.js";
import { base58 } from "../dist/bytes.js";

/** A wallet of the given seed. */
function wallet(byte) {
  const key = createPrivateKey({ key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.alloc(32, byte)]), format: "der", type: "pkcs8" });
  const bytes = Buffer.from(key.export({ format: "jwk" }).x, "base64url");
  return { key, bytes, address: base58(bytes), signer: async (m) => nodeSign(null, m, key) };
}

function unsigned(header, version, payer) {
  return Buffer.concat([Buffer.from([1]), Buffer.alloc(64), Buffer.from(version), Buffer.from([...header, 2]), payer, Buffer.alloc(32),
    Buffer.alloc(32, 9), Buffer.from([1, 1, 1, 0, 0]), Buffer.alloc(version.length)]);
}

const own = wallet(7);
const other = wallet(8);

test("base58 is Solana's", () => {
  assert.equal(base58(new Uint8Array(32)), "1".repeat(32));
  assert.equal(base58(Uint8Array.of(0, 0, 1, 0, 255)), "11LZL");
  assert.equal(base58(new TextEncoder().encode("Hello World!")), "2NEpo7TZRRrLZSi2U");
});

test("sign signs what the wallet alone pays for", async () => {
  for (const version of [[], [0x80]]) {
    const wire = unsigned([1, 0, 1], version, own.bytes);
    let made;
    const signature = await sign(wire.toString("base64"), async (m) => made = nodeSign(null, m, own.key), own.address);
    assert.equal(signature, base58(made));
    assert.ok(verify(null, wire.subarray(65), own.key, made));
    assert.equal(await sign(wire.toString("base64"), own.signer), signature);
  }
  const good = unsigned([1, 0, 1], [], own.bytes);
  const changed = (at, to) => { const w = Buffer.from(good); w[at] = to; return w; };
  const bad = {
    "another's": unsigned([1, 0, 1], [], other.bytes), "two signers": unsigned([2, 0, 0], [], own.bytes), "no signer": unsigned([0, 0, 1], [], own.bytes),
    "a payer who only may": unsigned([1, 1, 1], [], own.bytes), "a version to come": unsigned([1, 0, 1], [0x81], own.bytes),
    "two signatures": changed(0, 2), "signed already": changed(64, 1), "many keys": changed(68, 0x85), "cut off": good.subarray(0, 120),
    "no message": good.subarray(0, 65), "nothing": Buffer.alloc(0), "too large": Buffer.concat([good, Buffer.alloc(1300)]),
  };
  for (const [name, wire] of Object.entries(bad)) {
    await assert.rejects(sign(wire.toString("base64"), () => assert.fail("it was signed"), own.address), /purser: /, name);
  }
  await assert.rejects(sign("not base64", own.signer, own.address), /base64/);
  await assert.rejects(sign(good.toString("base64"), async () => new Uint8Array(63)), /64 bytes/);
  await assert.rejects(sign(good.toString("base64"), other.signer), /another wallet/);
});

test("signChallenge signs nothing else", async () => {
  const text = `wallet.example.org wants you to sign in with your Solana account:\n${own.address}\n\nConnect this wallet.`;
  assert.equal(await signChallenge(text, own.address, own.signer), base58(nodeSign(null, Buffer.from(text), own.key)));
  const bad = [unsigned([1, 0, 1], [], own.bytes).subarray(65).toString("latin1"), text.replace(own.address, other.address),
    text.replace("wallet.example.org", ""), text.replace("sign in", "pay"), `${text}\u202e`, ""];
  for (const one of bad) await assert.rejects(signChallenge(one, own.address, () => assert.fail("it was signed")), /does not ask/);
});
