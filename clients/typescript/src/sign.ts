import { base58, fromBase64, utf8, type Bytes } from "./bytes.js";

/** Signs bytes with a wallet's Ed25519 key, wherever that is kept; 64 bytes come back. */
export type Signer = (message: Uint8Array) => Promise<Uint8Array>;

/** Solana's bound on a transaction, in bytes. */
const maxTransaction = 1232;

/**
 * Signs a Proposal's unsignedTransaction with a key of the developer's own, and returns the signature in
 * base58 for submitSignature. It refuses what the wallet of this address would not sign alone, as payer of
 * the fee, before the signer sees it. It does not read what the transaction pays: whoever calls it trusts
 * the purser that made it.
 */
export async function sign(unsignedTransaction: string, signer: Signer, address?: string): Promise<string> {
  const wire = unsignedTransaction.length <= Math.ceil(maxTransaction / 3) * 4 ? fromBase64(unsignedTransaction) : undefined;
  if (wire === undefined) throw new Error("purser: the transaction is not base64, or too large");
  if (wire.length < 65 || wire[0] !== 1 || wire.subarray(1, 65).some((b) => b !== 0)) throw new Error("purser: the transaction has not one empty signature");
  const message = wire.slice(65);
  const payer = onlySigner(message);
  if (address !== undefined && base58(payer) !== address) throw new Error("purser: the transaction is another wallet's");
  return signed(message, payer, signer);
}

/** Reads as much of a message (legacy, or version 0) as tells who must sign it. */
function onlySigner(message: Bytes): Bytes {
  const m = message[0] === 0x80 ? message.subarray(1) : message;
  // Three counts (signers, and read-only accounts of both sorts), the number of keys, the keys, and the
  // blockhash. More than 127 keys do not fit into a transaction, so their number is one byte.
  const [signers = 0x80, readOnly = 0, , keys = 0] = m;
  if (signers >= 0x80 || keys === 0 || keys >= 0x80 || m.length < 4 + keys * 32 + 32) throw new Error("purser: the transaction's message is malformed");
  if (signers !== 1 || readOnly !== 0) throw new Error("purser: the transaction needs not exactly one signer who pays");
  return m.slice(4, 36);
}

/**
 * Signs a Challenge's message for an address, and returns the signature in base58 for connect. It refuses
 * every text that does not ask to sign in with that address: no answer can have a transaction signed by it.
 */
export async function signChallenge(message: string, address: string, signer: Signer): Promise<string> {
  const [first = "", second, third, ...rest] = message.split("\n");
  const signIn = /^[^ ]+ wants you to sign in with your Solana account:$/.test(first);
  if (!signIn || second !== address || third !== "" || rest.length === 0 || !/^[\n -~]*$/.test(message)) {
    throw new Error("purser: the text does not ask to sign in with this address");
  }
  return signed(utf8(message), undefined, signer);
}

async function signed(message: Bytes, by: Bytes | undefined, signer: Signer): Promise<string> {
  const signature = new Uint8Array(await signer(message.slice())); // a copy: a signer may write into it
  if (signature.length !== 64) throw new Error("purser: the signer returned no signature of 64 bytes");
  if (by !== undefined && await fits(by, signature, message) === false) throw new Error("purser: the transaction is another wallet's: the signature does not fit its payer");
  return base58(signature);
}

/** Whether a signature fits; undefined where WebCrypto has no Ed25519: purser looks at it anyhow. */
async function fits(by: Bytes, signature: Bytes, message: Bytes): Promise<boolean | undefined> {
  let key: CryptoKey;
  try {
    key = await crypto.subtle.importKey("raw", by, { name: "Ed25519" }, false, ["verify"]);
  } catch {
    return undefined;
  }
  return crypto.subtle.verify({ name: "Ed25519" }, key, signature, message);
}
