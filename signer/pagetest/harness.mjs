// What the browser tests stand on: a server that serves the page with its exact headers and plays
// the protocol (honestly, or as told), and a Chromium. The server builds its messages with web3.js
// and checks signatures with noble: it shares no code with the page.

import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { ed25519 } from '@noble/curves/ed25519';
import { base58 } from '@scure/base';
import { Authorized, Lockup, PublicKey, StakeProgram, SystemProgram, TransactionMessage } from '@solana/web3.js';
import { TOKENS } from '../page/tokens.js';
import { DESKTOP, part, speaksPseudo, whole } from './chromium.mjs';
import { LOCALES, pseudoCatalogue } from './pseudo.mjs';
import { associated, create, limit, memo, price, tokens, transfer } from './fixtures.mjs';
import { TOKEN, ZERO_HASH, addr } from './wire.mjs';

export { DESKTOP, PHONE, launch, noBrowser, part, whole } from './chromium.mjs';

export const WORDS = `${'abandon '.repeat(11)}about`;
export const ADDRESS = 'HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk'; // of WORDS
export const OTHER_WORDS = `${'zoo '.repeat(11)}wrong`;
export const BOB = '9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu';
export const REFERENCE = addr(0x5e);
export const PASSPHRASE = 'a calm green river bends';

const page = new URL('../page/', import.meta.url);
const headers = readFileSync(new URL('../headers.txt', import.meta.url), 'utf8').trim().split('\n')
  .map((line) => line.split(/: (.*)/s, 2));
const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.json': 'application/json; charset=utf-8', '.svg': 'image/svg+xml' };

/** What a payment of the tests holds; `compile` makes its bytes. */
export const payment = (more = {}) => ({ payer: ADDRESS, to: BOB, lamports: 1_500_000_000n, reference: REFERENCE, note: 'Lunch, thank you', ...more });

export function compile({ payer, to, lamports, reference, note, units, micro, extra = [], v0 = true, steps }, blockhash) {
  const instructions = steps ?? [
    ...(units ? [limit(units)] : []), ...(micro ? [price(micro)] : []),
    transfer(lamports, { from: payer, to, reference }), ...(note ? [memo(note)] : []), ...extra,
  ];
  const m = new TransactionMessage({ payerKey: new PublicKey(payer), recentBlockhash: blockhash, instructions });
  return (v0 ? m.compileToV0Message() : m.compileToLegacyMessage()).serialize();
}

const OWN = new PublicKey(ADDRESS);
const SEED = '00112233445566778899aabbccddeeff';
const stakeAt = (seed) => PublicKey.createWithSeed(OWN, seed, StakeProgram.programId);
export const VALIDATOR = addr(0x7e);
export const NEW_STAKE = await stakeAt(SEED);
export const OLD_STAKE = new PublicKey(addr(0x51));
const createStake = (lamports, seed = SEED, account = NEW_STAKE) => SystemProgram.createAccountWithSeed({
  fromPubkey: OWN, newAccountPubkey: account, basePubkey: OWN, seed, lamports, space: 200, programId: StakeProgram.programId,
});
const lastOf = (transaction) => transaction.instructions.at(-1);
const mergeStake = (source) => lastOf(StakeProgram.merge({ stakePubkey: OLD_STAKE, sourceStakePubKey: new PublicKey(addr(source)), authorizedPubkey: OWN }));
const deactivate = (account) => lastOf(StakeProgram.deactivate({ stakePubkey: account, authorizedPubkey: OWN }));
const stakeWith = (seed, account) => [createStake(2_002_282_880, seed, account),
  StakeProgram.initialize({ stakePubkey: account, authorized: new Authorized(OWN, OWN), lockup: new Lockup(0, 0, PublicKey.default) }),
  lastOf(StakeProgram.delegate({ stakePubkey: account, authorizedPubkey: OWN, votePubkey: new PublicKey(VALIDATOR) }))];
const OTHER_SEED = 'ffeeddccbbaa99887766554433221100';

/** The instructions of each step of staking, by what they do, for payment({steps}). `again` is stake into another account. */
export const STAKING = {
  stake: stakeWith(SEED, NEW_STAKE),
  again: stakeWith(OTHER_SEED, await stakeAt(OTHER_SEED)),
  part: [mergeStake(0x52), mergeStake(0x53), createStake(2_282_880),
    lastOf(StakeProgram.split({ stakePubkey: OLD_STAKE, authorizedPubkey: OWN, splitStakePubkey: NEW_STAKE, lamports: 1_500_000_000 }, 0)), deactivate(NEW_STAKE)],
  whole: [deactivate(OLD_STAKE)],
  withdraw: [lastOf(StakeProgram.withdraw({ stakePubkey: OLD_STAKE, authorizedPubkey: OWN, toPubkey: OWN, lamports: 1_502_282_880, custodianPubkey: OWN }))],
};

export const USDC = TOKENS.mainnet.find((t) => t.symbol === 'USDC').mint;

/** The policy that allows everything, as the server sends it. */
export const NO_LIMITS = { payment: [], day: [], recipients: null, new_wait_hours: 0 };

/** The message of a token payment out of ADDRESS, in base64; `makes` the recipient's account. */
export function compileTokens({ mint = USDC, program = TOKEN, units = 25_500_000n, decimals = 6, to = BOB, makes = false, more = [] } = {}) {
  const own = (i) => { for (const k of i.keys) if (k.isSigner) k.pubkey = new PublicKey(ADDRESS); return i; };
  const pay = own(tokens(units, { mint, program, to, decimals, source: associated(ADDRESS, mint, program) }));
  const instructions = [...more, ...(makes ? [own(create({ mint, program, owner: to }))] : []), pay];
  const message = new TransactionMessage({ payerKey: new PublicKey(ADDRESS), recentBlockhash: ZERO_HASH, instructions });
  return Buffer.from(message.compileToLegacyMessage().serialize()).toString('base64');
}

const embedded = new URL('../served/', import.meta.url);

/** What the binary embeds, by plain name (main.js). */
const served = Object.fromEntries(readdirSync(embedded).filter((name) => name.endsWith('.gz')).map((name) => [name.slice(0, -3), gunzipSync(readFileSync(new URL(name, embedded)))]));

const sha256 = (content, encoding = 'base64') => createHash('sha256').update(content).digest(encoding);
/** What the binary sends instead of a file to a browser that takes brotli, by the hash of the file. */
const compressed = new Map(Object.entries(served).map(([name, content]) => [sha256(content), readFileSync(new URL(`${name}.br`, embedded))]));

/** The name that a file is served by, which holds its hash. */
const hashed = (name, content) => name.replace(/(\.[a-z]+)$/, `.${sha256(content, 'base64url')}$1`);

/** A text of the page with another part in it: the part must be there once. */
export function replaced(content, old, by) {
  const pieces = content.toString().split(old);
  if (pieces.length !== 2) throw new Error(`the page has “${old}” ${pieces.length - 1} times`);
  return pieces.join(by);
}

/** The scripts of the page's parts, and the ending of the names of their catalogues. */
const PARTS = { 'main.js': '.json', 'connecting.js': '.connecting.json', 'signing.js': '.signing.json' };

/** The catalogues of a part as the binary has them: {en: content}. */
const textsOf = (ending) => Object.fromEntries(Object.keys(served).filter((name) => name.replace(/^[^.]+/, '') === ending).map((name) => [name.split('.')[0], served[name]]));

/**
 * The files by the names that they are served by, with the HTML that names them. `change` makes other contents of a script, and `texts` has
 * catalogues besides those of the page, {eo: (english) => content}, made from the English one of each part. The HTML is then the one that a build of such a page would have.
 */
export function files({ change = (script) => script, texts = {} } = {}) {
  const all = new Map();
  let html = served['index.html'].toString();
  const put = (name, content) => { all.set(hashed(name, content), { name, content }); return hashed(name, content); };
  for (const [name, ending] of Object.entries(PARTS)) {
    const script = change(served[name], name);
    const own = textsOf(ending);
    const others = Object.fromEntries(Object.entries(texts).map(([language, make]) => [language, make(own.en)]));
    const names = Object.entries({ ...own, ...others }).map(([language, content]) => put(language + ending, content));
    const element = new RegExp(`(?<=<script type="module" src=")${hashed(name, served[name])}" integrity="[^"]*"([^>]*) data-texts="[^"]*(?=">)`);
    const [, kind] = element.exec(html);
    html = replaced(html, new RegExp(element.source.replace('([^>]*)', '[^>]*')), `${put(name, script)}" integrity="sha256-${sha256(script)}"${kind} data-texts="${names.join(' ')}`);
  }
  put('style.css', served['style.css']);
  const [, inline] = /<script>([^<]*)<\/script>/.exec(html);
  return { all, html, policy: `script-src 'self' 'sha256-${sha256(inline)}'` };
}

/**
 * A script with few rounds of PBKDF2: the 600,000 of the real one are half of what a walk costs, and change nothing that is seen. keys.test.mjs holds
 * the number itself, and `world.rounds = 'real'` serves the files as they are. And it looks ten times as often whether a payment is confirmed.
 */
const quick = (script, name) => {
  const few = replaced(script, /\b6e5\b/, '1e3');
  return name === 'connecting.js' ? few : replaced(few, /\b2500\b/, '250');
};

const sites = new Map();
/** The files for a `world`. */
function site({ rounds, languages }) {
  const key = JSON.stringify([rounds, languages]);
  if (!sites.has(key)) {
    const made = (english) => JSON.stringify(pseudoCatalogue(JSON.parse(english)));
    sites.set(key, files({ ...(rounds !== 'real' && { change: quick }), texts: Object.fromEntries((languages ?? []).map((one) => [one, made])) }));
  }
  return sites.get(key);
}

/** Files of the source, for tests that look into the vault with the page's own code. */
const sources = new Map();
const sourceOf = (name) => {
  if (!sources.has(name)) sources.set(name, readFileSync(new URL(name, page)));
  return sources.get(name);
};

/**
 * The server, at 127.0.0.1 or under another name of it: passkeys want a domain, and get localhost (localhost.mjs). Tests set `world` and read
 * `received`, the parsed body of every POST by path, and `got`, the files asked for. With `world.rounds = 'real'` files are compressed as the binary has them.
 */
export async function serve(host = process.env.PAGE_HOST ?? '127.0.0.1') {
  const world = {};
  const received = [];
  const got = [];
  const keeps = {}; // what outlives a reset
  const reset = () => {
    for (const k of Object.keys(world)) delete world[k];
    received.length = 0;
    got.length = 0;
    Object.assign(world, keeps, {
      chain: 'mainnet', status: 'awaiting_signature', address: ADDRESS, payment: payment(), refreshed: {}, blockhash: null,
      challenge: {}, drop: {}, // drop: path -> how many answers get lost after the operation was done
      fail: {}, // path -> {status, code, message, then}; then: the transaction's status from that moment on
      hold: {}, // path -> a promise that its answer waits for
    });
  };
  reset();
  /** From now on the page speaks the pseudo-locale to browsers of its languages (pseudo.mjs). */
  const servePseudo = () => { keeps.languages = LOCALES; reset(); };

  const offered = () => ['awaiting_signature', 'delayed'].includes(world.status);
  const minutes = (n) => new Date(Date.now() + n * 60_000).toISOString();
  const view = (message) => ({ status: world.status, address: world.address, chain: world.chain, message, expires_at: minutes(15), limits: world.limits ?? null, ...(world.status === 'delayed' && { expires_at: '', ready_at: world.readyAt ?? minutes(24 * 60) }), ...(world.walletType && { wallet_type: world.walletType }), ...world.view });
  const b64 = (bytes) => Buffer.from(bytes).toString('base64');
  let issued = null; // the last refreshed message

  const operations = {
    '/w/bind/challenge': () => ({
      telegram_id: '700100', telegram_name: 'Alice Liddell', username: 'alice', chain: world.chain, nonce: 'aB3dE5gH7jK9mN1p',
      issued_at: minutes(0), expires_at: minutes(10), ...world.challenge,
    }),
    '/w/bind': ({ address, signature }) => { world.bound = { address, signature }; return { address: world.answerAddress ?? address, status: 'awaiting_choice' }; },
    '/w/bind/accounts': ({ addresses }) => ({ holds: addresses.map((a) => (world.inUse ?? []).includes(a)) }),
    '/w/freeze': () => ({ status: 'frozen', frozen_at: '2026-01-31T20:00:00.000Z' }),
    '/w/unfreeze/challenge': () => ({
      ...operations['/w/bind/challenge'](), frozen_at: '2026-01-31T20:00:00.000Z', wallets: world.wallets ?? [{ address: ADDRESS, wallet_type: 'page' }], ...world.challenge,
    }),
    '/w/unfreeze': () => ({ status: 'unfrozen' }),
    '/w/limits/challenge': () => ({
      ...operations['/w/bind/challenge'](), address: world.address, wallet_type: world.walletType ?? 'page', current: world.limits?.current ?? NO_LIMITS,
      proposed: world.proposed ?? NO_LIMITS, ...world.challenge,
    }),
    '/w/limits/sign': () => ({ status: world.limitsStatus ?? 'waiting', effective_at: world.effectiveAt ?? minutes(24 * 60) }),
    '/w/tx/get': () => view(offered() ? (world.rawMessage ?? b64(compile(world.payment, ZERO_HASH))) : null),
    '/w/tx/refresh': () => {
      if (world.status === 'delayed') return { refused: { status: 409, code: 'CONFLICT', message: 'It waits.' } };
      issued = compile({ ...world.payment, ...world.refreshed }, world.blockhash ?? base58.encode(randomBytes(32)));
      return { ...view(world.status === 'awaiting_signature' ? b64(issued) : null), ...world.refreshView };
    },
    '/w/tx/blocks': () => ({ blocks_left: world.blocksLeft ?? 149 }),
    '/w/tx/signature': ({ message_sha256: hash, signature, signed_transaction: whole }) => {
      if (whole) return { status: world.status = 'signed' };
      const right = issued && hash === createHash('sha256').update(issued).digest('hex') &&
        ed25519.verify(base58.decode(signature), new Uint8Array(issued), base58.decode(world.address));
      if (!right) return { refused: { status: 422, code: 'INVALID_SIGNATURE', message: 'The signature does not fit.' } };
      if (world.signature && world.signature !== signature) return { refused: { status: 409, code: 'CONFLICT', message: 'Another signature was given before.' } };
      world.signature = signature;
      world.status = 'signed';
      return { status: 'signed' };
    },
    '/w/tx/reject': () => { world.status = 'rejected'; return { status: 'rejected' }; },
  };

  const http = createServer(async (req, res) => {
    for (const [name, value] of headers) res.setHeader(name, value);
    const path = req.url;
    const json = (status, body) => { res.writeHead(status, { 'Content-Type': 'application/json' }); res.end(JSON.stringify(body)); };
    const text = (type, body) => {
      const packed = world.rounds === 'real' && compressed.get(sha256(body));
      res.writeHead(200, { 'Content-Type': type, ...(packed && { 'Content-Encoding': 'br' }) });
      res.end(packed || body);
    };
    if (req.method === 'GET') {
      const asked = path.replace(/^\/w\//, '') || 'index.html';
      const { all, html, policy } = site(world);
      const { name, content } = all.get(asked) ?? { name: asked, content: null };
      got.push(name);
      if (world.lost?.includes(name)) return json(404, {});
      if (asked === 'index.html') {
        res.setHeader('Content-Security-Policy', res.getHeader('Content-Security-Policy').replace("script-src 'self'", policy));
        if (world.rest) { // the end of the HTML waits
          res.writeHead(200, { 'Content-Type': types['.html'] });
          const at = html.indexOf('<main');
          res.write(html.slice(0, at));
          await world.rest;
          return res.end(html.slice(at));
        }
        return text(types['.html'], world.altered?.[name] ?? html);
      }
      if (content !== null) {
        res.setHeader('Cache-Control', 'public,max-age=31536000,immutable');
        return text(types[extname(name)], world.altered?.[name] ?? content);
      }
      if (!path.startsWith('/w/') || /[/\\]/.test(asked) || extname(asked) !== '.js' || !existsSync(new URL(asked, page))) return json(404, { error: { code: 'NOT_FOUND', message: 'There is nothing here.' } });
      return text(types['.js'], sourceOf(asked));
    }
    let sent = '';
    for await (const chunk of req) sent += chunk;
    received.push({ path, text: sent, body: JSON.parse(sent), headers: req.headers });
    if (world.fail[path]) {
      world.status = world.fail[path].then ?? world.status;
      return json(world.fail[path].status, { error: world.fail[path] });
    }
    if (!operations[path]) return json(404, { error: { code: 'NOT_FOUND', message: 'There is nothing here.' } });
    const answer = operations[path](JSON.parse(sent));
    await world.hold[path];
    if (world.drop[path] > 0) {
      world.drop[path]--;
      // Break off within the answer: a connection reset before it makes Chromium repeat the request by itself.
      res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 100 });
      return res.write('{', () => req.socket.destroy());
    }
    return answer.refused ? json(answer.refused.status, { error: answer.refused }) : json(200, answer);
  });
  await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve));
  const origin = `http://${host}:${http.address().port}`;
  return {
    origin, world, received, got, reset, servePseudo,
    posted: (path) => received.filter((h) => h.path === path).map((h) => h.body),
    close: () => new Promise((resolve) => { http.closeAllConnections(); http.close(resolve); }),
  };
}

/** A page that counts what must never happen: errors, console output, blocked content, foreign requests. */
export async function visit(browser, server, hash = '', options = {}) {
  const context = await browser.newContext({ ...DESKTOP, ...options });
  context.setDefaultTimeout(60_000);
  const tab = await context.newPage();
  if (LOCALES.includes(options.locale)) speaksPseudo(tab);
  const complaints = [];
  tab.on('pageerror', (err) => complaints.push(`error: ${err.message}`));
  tab.on('console', (m) => { if (!/Failed to load resource/.test(m.text()) && !((server.world.lost || server.world.altered) && /integrity/.test(m.text()))) complaints.push(`console: ${m.text()}`); });
  tab.on('request', (r) => { if (!r.url().startsWith(server.origin)) complaints.push(`request: ${r.url()}`); });
  await tab.goto(`${server.origin}/w/${hash}`);
  return { context, tab, complaints };
}

export const title = (tab, text) => tab.getByRole('heading', { level: 1, name: part(tab, text) }).waitFor();
export const press = (tab, name) => tab.getByRole('button', { name: whole(tab, name), exact: true }).click();

/** Reads the recovery phrase from the screen, as a person with a pencil. */
export async function readWords(tab) {
  await title(tab, 'Write down your recovery phrase');
  return tab.locator('.words li').allTextContents();
}

export async function answerQuiz(tab, words) {
  await title(tab, 'Confirm your recovery phrase');
  for (const input of await tab.locator('form input').all()) {
    const place = Number((await input.getAttribute('id')).replace('word-', ''));
    await input.fill(words[place - 1]);
  }
}

export async function choosePassphrase(tab, passphrase = PASSPHRASE) {
  await title(tab, 'Choose a passphrase');
  await tab.getByLabel(whole(tab, 'Passphrase'), { exact: true }).fill(passphrase);
  await tab.getByLabel(whole(tab, 'Repeat passphrase'), { exact: true }).fill(passphrase);
  await press(tab, 'Encrypt and save');
  await title(tab, 'Your wallet is ready');
}

/** Puts the wallet of some words into this browser's vault, through the page. */
export async function restore(tab, words = WORDS) {
  await press(tab, 'Restore a wallet');
  await tab.getByLabel(part(tab, 'Recovery phrase')).fill(words);
  await press(tab, 'Continue');
  await choosePassphrase(tab);
  await press(tab, 'Done');
}

const made = new Map(); // words -> the record of their wallet, as the page stored it

/**
 * Puts the wallet of some words into this browser's vault, as restore does, in a fraction of its time: the record that the page once stored for them is
 * stored again, by the page's own code. The screen stays as it is.
 */
export async function install(tab, words = WORDS) {
  if (!made.has(words)) {
    await restore(tab, words);
    await title(tab, 'Wallets on this device');
    made.set(words, await tab.evaluate(async () => {
      const { list } = await import('/w/vault.js');
      const [wallet, ...more] = await list();
      if (more.length > 0) throw new Error('there are others already');
      return JSON.stringify(wallet, (_, v) => (v instanceof Uint8Array ? { bytes: [...v] } : v));
    }));
    return;
  }
  await tab.evaluate(async (record) => {
    const { save } = await import('/w/vault.js');
    const wallet = JSON.parse(record, (_, v) => (Array.isArray(v?.bytes) ? Uint8Array.from(v.bytes) : v));
    await save({ ...wallet, created_at: new Date().toISOString() });
  }, made.get(words));
}

export async function approve(tab, passphrase = PASSPHRASE, button = 'Approve') {
  await press(tab, button);
  await title(tab, 'Sign with your passphrase');
  await tab.getByLabel(whole(tab, 'Passphrase'), { exact: true }).fill(passphrase);
  await press(tab, 'Sign and send');
}

/** Opens a link as a browser does that leaves for it: the page is loaded anew. */
export async function follow(tab, server, hash) {
  await tab.goto('about:blank');
  await tab.goto(`${server.origin}/w/${hash}`);
}

/** Opens a link in the page that is open, as when it is pasted into the address bar: only the fragment changes. */
export const paste = (tab, server, hash) => tab.goto(`${server.origin}/w/${hash}`);

/** The same, in a tab that may show the same screen already: what it shows is taken away, so that the next screen is one of this link. */
export async function revisit(tab, server, hash) {
  await tab.evaluate(() => document.querySelector('main')?.replaceChildren());
  await paste(tab, server, hash);
}

export const SIGN = '#s=0123456789abcdefABCDEF';
export const FREEZE = '#f=0123456789abcdefghijklmnopqrstuvwxyzABCDEFG';
export const UNFREEZE = '#u=0123456789abcdefghijklmnopqrstuvwxyzABCDEFG';
export const LIMITS = '#l=0123456789abcdefghijklmnopqrstuvwxyzABCDEFG';
export const BIND = '#b=0123456789abcdefghijklmnopqrstuvwxyzABCDEFG';
