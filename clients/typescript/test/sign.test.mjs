import assert from "node:assert/strict";
import { createPrivateKey, sign as nodeSign, verify } from "node:crypto";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import { sign, signBlindly, signChallenge } from "../dist/index.js";
import { base58, fromBase58 } from "../dist/bytes.js";
import { check, decimal, plainDecimal, readMessage } from "../dist/decode.js";

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

test("signBlindly signs what the wallet alone pays for", async () => {
  for (const version of [[], [0x80]]) {
    const wire = unsigned([1, 0, 1], version, own.bytes);
    let made;
    const signature = await signBlindly(wire.toString("base64"), async (m) => made = nodeSign(null, m, own.key), own.address);
    assert.equal(signature, base58(made));
    assert.ok(verify(null, wire.subarray(65), own.key, made));
    assert.equal(await signBlindly(wire.toString("base64"), own.signer), signature);
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
    await assert.rejects(signBlindly(wire.toString("base64"), () => assert.fail("it was signed"), own.address), /purser: /, name);
  }
  await assert.rejects(signBlindly("not base64", own.signer, own.address), /base64/);
  await assert.rejects(signBlindly(good.toString("base64"), async () => new Uint8Array(63)), /64 bytes/);
  await assert.rejects(signBlindly(good.toString("base64"), other.signer), /another wallet/);
});

/** What the signing page shows of transactions, and which it refuses; the Go client is held to the same. */
const fixtures = JSON.parse(readFileSync(new URL("../../../signer/testdata/transactions.json", import.meta.url)));

/** The payments of a fixture, as a caller would expect them. */
function payments(fixture) {
  return (fixture.want?.actions ?? []).flatMap((a) => {
    if (a.type === "transfer") return [{ to: a.to, amount: decimal(BigInt(a.lamports), 9), token: "SOL" }];
    if (a.type === "token_transfer") return [{ to: a.to || a.account, amount: decimal(BigInt(a.units), a.decimals), token: a.mint }];
    return [];
  });
}

const bytesOf = (fixture) => new Uint8Array(Buffer.from(fixture.message, "base64"));

test("sign reads payments as the signing page does", async () => {
  const accepts = async (fixture, want) => {
    try {
      const message = readMessage(bytesOf(fixture));
      await check(message, want);
      return true;
    } catch (e) {
      assert.match(e.message, /^purser: /, fixture.name);
      return false;
    }
  };
  const every = new Map(fixtures.filter((f) => payments(f).length === 1).map((f) => [JSON.stringify(payments(f)[0]), payments(f)[0]]));
  assert.ok(every.size >= 10);
  let signed = 0;
  for (const fixture of fixtures) {
    const own = payments(fixture);
    if (own.length === 1) {
      const [want] = own;
      assert.ok(await accepts(fixture, want), fixture.name);
      assert.ok(await accepts(fixture, { ...want, from: fixture.signer }), fixture.name);
      signed++;
      for (const other of [{ ...want, amount: want.amount.includes(".") ? `${want.amount}1` : `${want.amount}.1` }, { ...want, amount: `1${want.amount}` },
        { ...want, to: fixture.signer }, { ...want, to: "11111111111111111111111111111112" }, { ...want, token: want.token === "SOL" ? want.to : "SOL" },
        { ...want, token: "USDC" }, { ...want, from: want.to }, {}, { ...want, amount: undefined }, { ...want, to: undefined }, { ...want, token: undefined }]) {
        assert.ok(!await accepts(fixture, other), `${fixture.name}: ${JSON.stringify(other)}`);
      }
      continue;
    }
    if (fixture.refused === "memo" || fixture.name === "an account that nothing uses") continue; // not for where the money goes
    for (const want of [...every.values()].filter((w) => (w.token === "SOL") !== fixture.name.startsWith("Token"))) {
      assert.ok(!await accepts(fixture, want), `${fixture.name}: ${JSON.stringify(want)}`);
    }
  }
  assert.ok(signed >= 20);
});

test("sign shows the signer only what is expected", async () => {
  const to = "9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu";
  const message = Buffer.concat([Buffer.from([1, 0, 1, 3]), own.bytes, fromBase58(to), Buffer.alloc(32), Buffer.alloc(32, 9),
    Buffer.from([1, 2, 2, 0, 1, 12, 2, 0, 0, 0]), Buffer.from("002f685900000000", "hex")]);
  const wire = Buffer.concat([Buffer.from([1]), Buffer.alloc(64), message]).toString("base64");
  const want = { from: own.address, to, amount: "1.5", token: "SOL" };
  assert.equal(await sign(wire, own.signer, want), base58(nodeSign(null, message, own.key)));
  assert.equal(await sign(wire, own.signer, { to, amount: "15e-1", token: "SOL" }), await signBlindly(wire, own.signer));
  for (const wrong of [{ ...want, amount: "1.4" }, { ...want, to: own.address }, { ...want, from: other.address }, { ...want, token: to }, undefined]) {
    await assert.rejects(async () => sign(wire, () => assert.fail("it was signed"), wrong));
  }
  const versionOne = Buffer.from(wire, "base64");
  versionOne[65] = 0x81;
  await assert.rejects(sign(versionOne.toString("base64"), () => assert.fail("it was signed"), want), /version 1/);
  await assert.rejects(sign(wire, other.signer, { to, amount: "1.5", token: "SOL" }), /another wallet/);
});

test("expected amounts are exact", () => {
  for (const [text, want] of Object.entries({ "1.5": "1.5", "1.50": "1.5", ".5": "0.5", "007": "7", "1e-7": "0.0000001", "1E3": "1000", "1.5e1": "15", "15e-1": "1.5", "100e-2": "1", "1e+2": "100" })) {
    assert.equal(plainDecimal(text), want);
  }
  for (const text of ["", "0", "0.0", "0e5", "-1", "+1", "1.", ".", "e5", "1e", "1,5", "max", "1 ", "0x1", "1e9999", "NaN", "１", "1".repeat(301), 1.5, undefined]) {
    assert.throws(() => plainDecimal(text), /^Error: purser: expected amount/, String(text));
  }
  assert.equal(decimal(2n ** 64n - 1n, 0), "18446744073709551615");
  assert.equal(decimal(1n, 9), "0.000000001");
  assert.equal(decimal(5n, 255), `0.${"0".repeat(254)}5`);
});

test("addresses have one spelling", () => {
  assert.deepEqual(Buffer.from(fromBase58(own.address)), own.bytes);
  for (const text of ["", "SOL", `${own.address}1`, `1${own.address}`, "z".repeat(44), `${own.address} `, undefined]) assert.equal(fromBase58(text), undefined, text);
});

test("signChallenge signs nothing else", async () => {
  const text = `wallet.example.org wants you to sign in with your Solana account:\n${own.address}\n\nConnect this wallet.`;
  assert.equal(await signChallenge(text, own.address, own.signer), base58(nodeSign(null, Buffer.from(text), own.key)));
  const bad = [unsigned([1, 0, 1], [], own.bytes).subarray(65).toString("latin1"), text.replace(own.address, other.address),
    text.replace("wallet.example.org", ""), text.replace("sign in", "pay"), `${text}\u202e`, ""];
  for (const one of bad) await assert.rejects(signChallenge(one, own.address, () => assert.fail("it was signed")), /does not ask/);
});
