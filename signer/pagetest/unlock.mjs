// How long a wallet takes to unlock, beside the bare key derivation that it must pay: prints
// {"unlock_ms", "pbkdf2_ms"} as medians. `make bench` runs it; it is no test.

import { generateKeyPairSync, pbkdf2Sync, randomBytes } from 'node:crypto';
import { encode } from '../page/base58.js';
import { sealWallet, unlockKey } from '../page/seal.js';

const PASSPHRASE = 'seven plain words are enough here';
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const address = encode(Buffer.from(publicKey.export({ format: 'jwk' }).x, 'base64url'));
const wallet = await sealWallet(PASSPHRASE, address, privateKey.export({ format: 'der', type: 'pkcs8' }), randomBytes(16));

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
const unlock = [];
const bound = [];
for (let i = 0; i < 7; i++) {
  let began = performance.now();
  await unlockKey(PASSPHRASE, wallet);
  unlock.push(performance.now() - began);
  began = performance.now();
  pbkdf2Sync(PASSPHRASE, randomBytes(16), 600_000, 32, 'sha256');
  bound.push(performance.now() - began);
}
console.log(JSON.stringify({ unlock_ms: median(unlock), pbkdf2_ms: median(bound) }));
