import { base58, fromBase64, utf8, type Bytes } from "./bytes.js";
import { check, readMessage, type Expected, type Message } from "./decode.js";
import { checkSwap, type ExpectedSwap } from "./swap.js";

/** Signs bytes with a wallet's Ed25519 key, wherever the key is kept, and returns 64 bytes. */
export type Signer = (message: Uint8Array) => Promise<Uint8Array>;

/** Solana's limit for a transaction, in bytes. */
const maxTransaction = 1232;

/**
 * Signs a Proposal's unsignedTransaction with a key of the developer's own, and returns the signature in base58 for
 * submitSignature. It reads the transaction itself and refuses it, before the signer sees it, unless it is the
 * expected payment and nothing else. So the key signs what its owner meant, whatever purser says about the transaction.
 * Beside the payment it may contain the recipient's new token account, a memo, references, and a compute budget whose
 * priority fee is at most 0.001 SOL. Transactions of version 1 and with lookup tables are refused.
 */
export async function sign(unsignedTransaction: string, signer: Signer, expected: Expected): Promise<string> {
  const { bytes, message } = ownMessage(unsignedTransaction);
  await check(message, expected);
  return signed(bytes, message.keys[0]!, signer);
}

/**
 * Does what sign does, for the unsignedTransaction of a swap. It is signed only if it pays exactly paidUnits from the
 * signer's own account, at least leastUnits arrive in the signer's own account, and no other program can act with the
 * signature. The swap program enforces both numbers.
 */
export async function signSwap(unsignedTransaction: string, signer: Signer, expected: ExpectedSwap): Promise<string> {
  const { bytes, message } = ownMessage(unsignedTransaction);
  await checkSwap(message, expected);
  return signed(bytes, message.keys[0]!, signer);
}

/**
 * Signs a Proposal's unsignedTransaction without reading what it pays. The caller trusts the purser that built it, and
 * everyone on the network path, with the wallet's whole balance. It only checks that this address is the fee payer and
 * the only signer. Use sign instead where you can.
 */
export async function signBlindly(unsignedTransaction: string, signer: Signer, address?: string): Promise<string> {
  const { bytes, message } = ownMessage(unsignedTransaction);
  if (address !== undefined && message.names[0] !== address) throw new Error("purser: the transaction is another wallet's");
  return signed(bytes, message.keys[0]!, signer);
}

/** Returns the message of a transaction that needs exactly one signature. */
function ownMessage(unsignedTransaction: string): { bytes: Bytes; message: Message } {
  const wire = unsignedTransaction.length <= Math.ceil(maxTransaction / 3) * 4 ? fromBase64(unsignedTransaction) : undefined;
  if (wire === undefined) throw new Error("purser: the transaction is not base64, or too large");
  if (wire.length < 65 || wire[0] !== 1 || wire.subarray(1, 65).some((b) => b !== 0)) throw new Error("purser: the transaction has not one empty signature");
  const bytes = wire.slice(65);
  return { bytes, message: readMessage(bytes) };
}

/**
 * Signs a Challenge's message for an address, and returns the signature in base58 for connect. It refuses
 * every text that is not a sign-in with that address, so no server can get a transaction signed by it.
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

/** Returns whether a signature is valid, or undefined if WebCrypto has no Ed25519. purser checks it anyway. */
async function fits(by: Bytes, signature: Bytes, message: Bytes): Promise<boolean | undefined> {
  let key: CryptoKey;
  try {
    key = await crypto.subtle.importKey("raw", by, { name: "Ed25519" }, false, ["verify"]);
  } catch {
    return undefined;
  }
  return crypto.subtle.verify({ name: "Ed25519" }, key, signature, message);
}
