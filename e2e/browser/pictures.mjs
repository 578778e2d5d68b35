// Takes the pictures of docs/pictures: `npm run pictures`, with Go, Chromium and a font of emoji at hand.
// It runs purser in a sandbox of its own, lets Alice pay Bob, and shows what they see.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Chat } from './chat.mjs';
import { DESKTOP, PHONE, openDevice } from './chromium.mjs';
import { approve, create, restore, screen, sixCharacters } from './device.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const album = join(root, 'docs', 'pictures');
const PASSPHRASE = 'quiet amber lantern ferry';
const WORDS = 'legal winner thank year wave sausage worth useful legal winner thank yellow'.split(' ');

const folder = await mkdtemp(join(tmpdir(), 'purser-pictures-'));
const [chat, rpc, ws, market, page, docs] = await Promise.all([1, 2, 3, 4, 5, 6].map(freeAddress));
const purser = spawn('go', ['run', '.', '--sandbox-dir', join(folder, 'sandbox'), '--sandbox-telegram', chat, '--sandbox-rpc', rpc, '--sandbox-ws', ws, '--sandbox-market', market], {
  cwd: root, detached: true, stdio: ['ignore', 'pipe', 'inherit'],
  env: { ...process.env, PURSER_HTTP_LISTEN: page, PURSER_HTTP_PUBLIC_URL: `http://${page}`, PURSER_HTTP_PAGES_LISTEN: docs, PURSER_LOG_LEVEL: 'warn' },
});
try {
  await new Promise((resolve, reject) => { // its greeting is printed when it listens
    purser.stdout.once('data', resolve);
    purser.once('exit', (code) => reject(new Error(`purser ended with ${code}`)));
  });
  await take();
} finally {
  process.kill(-purser.pid, 'SIGINT'); // go run and what it started
  if (purser.exitCode === null) await new Promise((resolve) => purser.once('exit', resolve));
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
}

async function take() {
  const executable = process.env.CHROMIUM ?? ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync);
  const device = (who) => openDevice(join(folder, who), { executable, colorScheme: 'light', reducedMotion: 'reduce', locale: 'en-GB' });
  const [alices, bobs] = await Promise.all([device('alice'), device('bob')]);
  try {
    const alice = await Chat.open(alices, `http://${chat}`, 'alice');
    const bob = await Chat.open(bobs, `http://${chat}`, 'bob');
    await connect(bob, (tab) => restore(tab, WORDS, PASSPHRASE));
    const [to] = await (await bob.ask('/wallet address', 'Your address')).code();
    const from = await connect(alice, (tab) => create(tab, PASSPHRASE));
    await alice.tab.getByRole('button', { name: 'Get test SOL' }).click();
    await alice.tab.getByText('5 SOL went to').waitFor();
    while (await lamports(from) === 0);
    await alice.ask('/wallet balance', 'Balance');

    const card = await alice.ask(`/send 1.5 SOL ${to}`, 'Compare the whole address');
    await card.tap('Confirm');
    await card.becomes('Sign 1.5 SOL on your device');
    await alice.tab.bringToFront();
    const tab = await card.follow('Sign on your device');
    await screen(tab, 'Approve this payment?');
    await tab.setViewportSize({ width: 560, height: 900 });
    await tab.screenshot({ path: join(album, 'sign.png'), fullPage: true });
    await approve(tab, PASSPHRASE);
    await screen(tab, /^(Transaction signed|Confirmed)$/); // it follows the payment to its end
    await tab.close();
    await card.becomes('Sent 1.5 SOL');

    await alice.tab.setViewportSize(DESKTOP);
    await picture(alice.tab, 'chat.png');
    await bob.tab.locator('article.theirs').filter({ hasText: 'You received 1.5 SOL' }).waitFor();
    await bob.tab.emulateMedia({ colorScheme: 'dark' });
    await bob.tab.setViewportSize(PHONE);
    await picture(bob.tab, 'chat-dark-phone.png');
  } finally {
    await Promise.allSettled([alices.close(), bobs.close()]);
  }
}

async function connect(chat, make) {
  await chat.start();
  const offer = await chat.ask('/wallet new', 'Create or connect a wallet');
  const tab = await offer.follow('Open signing page');
  await make(tab);
  const six = await sixCharacters(tab);
  await tab.close();
  const question = await chat.hear('Which address did your page show?');
  await question.tap(new RegExp(`${six}$`));
  const [address] = await (await question.becomes('Wallet connected')).code();
  return address;
}

/** What the network has confirmed at an address. */
async function lamports(address) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getBalance', params: [address, { commitment: 'confirmed' }] });
  const answer = await fetch(`http://${rpc}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
  return (await answer.json()).result.value;
}

async function picture(tab, name) {
  await tab.bringToFront();
  await tab.locator('.toast').waitFor({ state: 'detached' });
  await tab.screenshot({ path: join(album, name) });
}

function freeAddress() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(`127.0.0.1:${port}`));
    });
  });
}
