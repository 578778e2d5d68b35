// What a wallet's owner must keep to themselves, derived from the words by code that is not the
// page's: BIP-39 by scure and noble, SLIP-0010 by micro-key-producer.

import { mnemonicToEntropy, mnemonicToSeedSync, generateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english';
import { HDKey } from 'micro-key-producer/slip10.js';

const hex = (bytes) => Buffer.from(bytes).toString('hex');

/** {words, passphrase, and in hex: entropy, seed (64 bytes), key (32), public (32)} */
export function secretsOf(words, passphrase) {
  const phrase = words.join(' ');
  const seed = mnemonicToSeedSync(phrase);
  const account = HDKey.fromMasterSeed(seed).derive("m/44'/501'/0'/0'");
  return {
    words, passphrase,
    entropy: hex(mnemonicToEntropy(phrase, wordlist)),
    seed: hex(seed),
    key: hex(account.privateKey),
    public: hex(account.publicKeyRaw),
  };
}

/** Secrets of nobody, for showing that a search finds what is there. */
export const decoy = () => secretsOf(generateMnemonic(wordlist).split(' '), `decoy ${hex(crypto.getRandomValues(new Uint8Array(9)))}`);
