import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import { signSwap } from "../dist/index.js";
import { check, readMessage } from "../dist/decode.js";
import { checkSwap } from "../dist/swap.js";
import { decode } from "../../../signer/page/decode.js";

/** What the signing page shows of transactions, and which it refuses; the Go client is held to the same. */
const fixtures = JSON.parse(readFileSync(new URL("../../../signer/testdata/transactions.json", import.meta.url)));
const bytesOf = (fixture) => new Uint8Array(Buffer.from(fixture.message, "base64"));
const sol = "So11111111111111111111111111111111111111112";
const token = (mint) => mint === sol ? "SOL" : mint;

/** The swaps of a fixture, as a caller would expect them. */
const swaps = (fixture) => (fixture.want?.actions ?? []).filter((a) => a.type === "swap")
  .map((a) => ({ fromToken: token(a.mint), toToken: token(a.out_mint), paidUnits: BigInt(a.units), leastUnits: BigInt(a.minimum) }));

async function accepts(message, want) {
  try {
    await checkSwap(readMessage(message), want);
    return true;
  } catch (e) {
    assert.match(e.message, /^purser: /);
    return false;
  }
}

test("signSwap reads swaps as the signing page does", async () => {
  const key = (want) => JSON.stringify(want, (_, v) => typeof v === "bigint" ? `${v}` : v);
  const every = [...new Map(fixtures.flatMap(swaps).map((s) => [key(s), s])).values()];
  assert.ok(every.length >= 5);
  let signed = 0;
  for (const fixture of fixtures) {
    const own = swaps(fixture);
    if (own.length === 1) {
      const [want] = own;
      assert.ok(await accepts(bytesOf(fixture), want), fixture.name);
      assert.ok(await accepts(bytesOf(fixture), { ...want, from: fixture.signer, leastUnits: 1n }), fixture.name);
      signed++;
      for (const other of [{ ...want, paidUnits: want.paidUnits + 1n }, { ...want, paidUnits: want.paidUnits - 1n }, { ...want, leastUnits: want.leastUnits + 1n },
        { ...want, leastUnits: 0n }, { ...want, leastUnits: -1n }, { ...want, leastUnits: undefined }, { ...want, leastUnits: Number(want.leastUnits) }, { ...want, paidUnits: Number(want.paidUnits) },
        { ...want, fromToken: want.toToken }, { ...want, toToken: want.fromToken }, { ...want, toToken: "USDC" }, { ...want, from: sol }, {}]) {
        assert.ok(!await accepts(bytesOf(fixture), other), `${fixture.name}: ${key(other)}`);
      }
      await assert.rejects(check(readMessage(bytesOf(fixture)), { to: fixture.signer, amount: "0.000001", token: "SOL" }), /^Error: purser: /, fixture.name);
      continue;
    }
    let message;
    try {
      message = readMessage(bytesOf(fixture));
    } catch (e) {
      assert.match(e.message, /^purser: /, fixture.name);
      continue;
    }
    for (const want of every) {
      await assert.rejects(checkSwap(message, want), /^Error: purser: /, `${fixture.name}: ${key(want)}`);
    }
  }
  assert.ok(signed >= 11);
});

test("signSwap shows its signer no other swap", async () => {
  const fixture = fixtures.find((f) => f.name === "a swap of two tokens");
  const wire = Buffer.concat([Buffer.from([1]), Buffer.alloc(64), bytesOf(fixture)]).toString("base64");
  const [want] = swaps(fixture);
  let shown = 0;
  await assert.rejects(signSwap(wire, async () => { shown++; return new Uint8Array(64); }, want), /another wallet/); // a signature that does not fit
  await assert.rejects(signSwap(wire, async () => assert.fail("it was shown"), { ...want, leastUnits: want.leastUnits + 1n }), /at least/);
  assert.equal(shown, 1);
});

test("a changed byte is signed only if the signing page reads the same swap", async () => {
  let same = 0;
  // Every byte of the first; of the others every fifth, each beginning with another one: deriving addresses takes its time.
  for (const [n, fixture] of fixtures.filter((f) => swaps(f).length === 1).entries()) {
    const [want] = swaps(fixture);
    const message = bytesOf(fixture);
    for (let i = n % 5; i < message.length; i += n === 0 ? 1 : 5) {
      const changed = message.slice();
      changed[i] ^= 1;
      if (!await accepts(changed, { ...want, from: fixture.signer })) continue;
      let read;
      try {
        read = await decode(changed, fixture.signer);
      } catch (e) {
        assert.equal(e.message, "refusal.unused_account", `${fixture.name}, byte ${i}`);
        continue;
      }
      const [got] = swaps({ want: read });
      assert.ok(got.fromToken === want.fromToken && got.toToken === want.toToken && got.paidUnits === want.paidUnits && got.leastUnits >= want.leastUnits, `${fixture.name}, byte ${i}`);
      same++;
    }
  }
  assert.ok(same > 100);
});
