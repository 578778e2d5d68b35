// The whole path, as two people walk it with their browsers and nothing else: wallets, test money, a
// payment from chat to chat, and what else the bot can be asked.
//
// Settings: {chat, page, profiles: {alice, bob}, proxy, executable, restart, plant, look}. Asks the test
// for `restart` (the program ends and begins again), and for `needles` (what a search will look for,
// given secrets).

import assert from 'node:assert/strict';
import { accessibility } from './axe.mjs';
import { Chat } from './chat.mjs';
import { DESKTOP, PHONE, complaintsOf, openDevice } from './chromium.mjs';
import { approve, create, press, restore, screen, screenText, sixCharacters } from './device.mjs';
import { plant } from './plant.mjs';
import { play } from './scenario.mjs';
import { decoy, secretsOf } from './secrets.mjs';

const BOBS_WORDS = 'legal winner thank year wave sausage worth useful legal winner thank yellow'.split(' '); // a test vector of BIP-39
const PASSPHRASES = { alice: 'quiet amber lantern ferry', bob: 'seven crooked plum fences' };
const nothing = async () => {};
const MARKER = 'a marker that Alice types into the chat';

await play(async (settings, ask) => {
  const look = settings.look ? accessibility() : Object.assign(async () => {}, { findings: [], looked: [] });
  const devices = {};
  const complaints = [];
  const device = async (who) => {
    const context = await openDevice(settings.profiles[who], settings);
    const heard = complaintsOf(context);
    devices[who] = { context, close: async () => { await context.close(); complaints.push(...heard); } };
    return context;
  };
  const alices = await device('alice');
  const bobs = await device('bob');
  const alice = await Chat.open(alices, settings.chat, 'alice');
  const bob = await Chat.open(bobs, settings.chat, 'bob');
  await look('chat, empty', alice.tab);

  const words = await connectNew(alice, look);
  const [address] = (await newest(alice, 'Wallet connected').code());
  await testMoney(alice, 5);
  await balance(alice, '5');
  await showAddress(alice, address, look);

  await bob.start();
  await connectOld(bob);
  const [bobs58] = await newest(bob, 'Wallet connected').code();

  await pay(alice, bob, { amount: '1.5', from: address, to: bobs58, look });
  await buttonsOnly(alice, bobs58, look);
  assert.equal(await alice.tab.getByLabel('To the address').inputValue(), address, 'the faucet proposes an address that is not hers');
  await questions(alice, look);

  if (settings.restart) {
    const before = await alice.count();
    await ask('restart');
    await alice.connected();
    await balance(alice, '3.499995');
    assert.ok(await alice.count() >= before + 2, 'messages were lost by the restart');
    await pay(bob, alice, { amount: '0.25', from: bobs58, to: address, look: nothing });
    await balance(alice, '3.749995');
  }

  const secrets = { alice: secretsOf(words, PASSPHRASES.alice), bob: secretsOf(BOBS_WORDS, PASSPHRASES.bob), decoy: decoy() };
  if (settings.plant) {
    const tab = await alices.newPage();
    await tab.goto(settings.page);
    await plant(tab, await ask('needles', secrets.decoy));
    await devices.alice.close();
    await afterwards(await device('alice'), settings.page, address, words);
  }
  await Promise.all(Object.values(devices).map((d) => d.close()));
  assert.deepEqual(complaints, []);
  return { secrets, addresses: { alice: address, bob: bobs58 }, marker: MARKER, findings: look.findings, looked: look.looked };
});

/** The latest message that says this. */
function newest(chat, text) {
  const node = chat.tab.locator('article.theirs').filter({ hasText: text }).last();
  return { code: () => node.locator('code').allTextContents() };
}

async function tapSix(chat, tab) {
  const six = await sixCharacters(tab);
  assert.match(six, /^[1-9A-HJ-NP-Za-km-z]{6}$/);
  const question = await chat.hear('Which address did your page show?');
  await chat.tab.bringToFront();
  assert.equal(await question.node.locator('.buttons').getByRole('button').count(), 4, 'three addresses and None of these');
  await question.tap(new RegExp(`${six}$`));
  await chat.toast('Wallet connected');
  const [address] = await (await question.becomes('Wallet connected')).code();
  assert.ok(address.endsWith(six), address);
}

async function connectNew(alice, look) {
  const welcome = await alice.start();
  assert.match(await welcome.text(), /Hello Alice!/);
  const offer = await alice.ask('/wallet new', 'Create or connect a wallet');
  const tab = await offer.follow('Open signing page');
  await screen(tab, 'Create or connect a wallet');
  await look('connect a wallet', tab);
  assert.match(await screenText(tab), /Alice Adler ?@alice · Telegram ID 1001/);
  const words = await create(tab, PASSPHRASES.alice, look);
  await screen(tab, 'Go back to the chat');
  await look('back to the chat', tab);
  await tapSix(alice, tab);
  await tab.close();
  return words;
}

async function connectOld(bob) {
  const offer = await bob.ask('/wallet new', 'Create or connect a wallet');
  const tab = await offer.follow('Open signing page');
  await restore(tab, BOBS_WORDS, PASSPHRASES.bob);
  await tapSix(bob, tab);
  await tab.close();
}

async function testMoney(chat, sol) {
  const faucet = chat.tab.getByRole('region', { name: 'Get test SOL' });
  await faucet.getByText(`${sol} SOL`, { exact: true }).click();
  await faucet.getByRole('button', { name: 'Get test SOL' }).click();
  await faucet.getByText(`${sol} SOL went to`).waitFor();
}

/** Asks for the balance until the network has confirmed what is on its way. */
async function balance(chat, sol) {
  const says = [];
  for (let i = 0; i < 20; i++) {
    const [amount] = await (await chat.ask('/wallet balance', 'Balance')).code();
    if (amount === sol) return;
    says.push(amount);
  }
  assert.fail(`the balance never was ${sol}: ${says}`);
}

async function showAddress(chat, address, look) {
  const card = await chat.ask('/wallet address', 'Your address');
  assert.deepEqual(await card.code(), [address]);
  const picture = card.node.locator('.photo img');
  await picture.scrollIntoViewIfNeeded();
  assert.ok(await picture.evaluate(async (img) => { await img.decode(); return img.naturalWidth; }) > 200, 'the QR code is not seen');
  await look('chat, address', chat.tab);
  await card.node.getByRole('button', { name: 'Show it large' }).click();
  await look('chat, picture', chat.tab);
  await chat.tab.getByRole('button', { name: 'Close the picture' }).click();
}

/** One person pays another: the device shows what it read, and both chats tell how it went. */
async function pay(from, to, { amount, from: payer, to: payee, look }) {
  const card = await from.ask(`/send ${amount} SOL ${payee}`, `Send ${amount} SOL?`);
  const inChat = (await card.code()).slice(0, 2);
  assert.deepEqual(inChat.map((groups) => groups.replaceAll(' ', '')), [payee, payer]);
  await look('chat, review', from.tab);
  await card.tap('Confirm');
  await card.becomes(`Sign ${amount} SOL on your device`);
  const tab = await card.follow('Sign on your device');
  await screen(tab, 'Approve this payment?');
  await look('approve', tab);
  const shown = await screenText(tab);
  for (const part of [`${amount} SOL`, payer, payee, '0.000005 SOL', 'a local network (test money)']) {
    assert.ok(shown.includes(part), `${part} is not on the device: ${shown}`);
  }
  const onPage = await tab.locator('main .address').first().locator('> span').allTextContents();
  assert.equal(onPage.join(' '), inChat[0], 'chat and page group an address differently');
  await approve(tab, PASSPHRASES[from.person], look);
  await screen(tab, /^(Transaction signed|Confirmed)$/); // it follows the payment to its end
  await look('approved', tab);
  await tab.close();
  await card.becomes(`Sent ${amount} SOL`);
  assert.match(await card.text(), /Confirmed on a local network/);
  await to.tab.locator('article.theirs').filter({ hasText: `You received ${amount} SOL` }).last().waitFor();
  await look('chat, sent', from.tab);
}

/** /send without a word typed: amount and recipient by buttons, and second thoughts with the page open. */
async function buttonsOnly(alice, payee, look) {
  const tail = new RegExp(`${payee.slice(-6)}$`);
  let question = await alice.ask('/send', 'How much SOL');
  await question.tap('max');
  await (await alice.hear('To which address')).tap(tail);
  let card = await alice.hear('Send 3.49999 SOL?');
  assert.equal((await card.code()).at(-1), '0', 'balance after');
  await card.tap('Reject');
  await card.becomes('Rejected: 3.49999 SOL');

  question = await alice.ask('/send', 'How much SOL');
  await question.tap('0.5');
  await (await alice.hear('To which address')).tap(tail);
  card = await alice.hear('Send 0.5 SOL?');
  await card.tap('Confirm');
  await card.becomes('Sign 0.5 SOL on your device');
  const page = await card.follow('Sign on your device');
  await screen(page, 'Approve this payment?');
  await alice.tab.bringToFront();
  await alice.ask('/cancel', 'I cancelled the payment of 0.5 SOL. Nothing was sent.');
  await card.becomes('Rejected: 0.5 SOL');
  assert.equal(await card.node.getByRole('link').count(), 0, 'the link to sign is still there');
  await page.bringToFront();
  await approve(page, PASSPHRASES.alice);
  await screen(page, 'Rejected');
  assert.equal(await page.locator('main').getByRole('button').count(), 0, 'the page still offers to sign');
  await look('rejected meanwhile', page);
  await page.close();
  await alice.ask('/cancel', "There's nothing to cancel.");

  assert.equal(await question.node.locator('.buttons').getByRole('button').count(), 0, 'an answered question keeps its buttons');
}

async function questions(alice, look) {
  await alice.ask('/help', 'More:');
  await alice.ask('/help commands', '/send max');
  await alice.ask('/help security', 'Who can move your money');
  await alice.ask('/help api', 'gets you an API key');
  await alice.ask('/privacy', 'What I store about you');
  await alice.ask('/nonsense', "I don't know /nonsense");
  await alice.ask(MARKER, 'I only understand commands');
  await alice.tab.getByRole('button', { name: 'Menu', exact: true }).click();
  const option = alice.tab.getByRole('option', { name: '/privacy' });
  await option.waitFor();
  await look('chat, commands', alice.tab);
  assert.ok(await option.isVisible(), 'the commands have closed by themselves');
  await alice.tab.keyboard.press('Escape');
  await option.waitFor({ state: 'hidden' });
  await alice.tab.getByRole('button', { name: 'Chat menu' }).click();
  await look('chat, menu', alice.tab);
  await alice.tab.keyboard.press('Escape');
  await alice.tab.setViewportSize(PHONE);
  await commandsGoOn(alice.tab);
  await alice.tab.getByRole('button', { name: 'Test SOL & shop', exact: true }).click();
  await look('chat, faucet', alice.tab);
  await alice.tab.setViewportSize(PHONE);
  await alice.tab.getByRole('button', { name: 'Close', exact: true }).click();
  await alice.tab.setViewportSize(DESKTOP);
}

/** On a phone the list of commands shows that there is more of it, and where it ends. */
async function commandsGoOn(tab) {
  await tab.getByRole('button', { name: 'Menu', exact: true }).click();
  const list = tab.getByRole('listbox', { name: 'Commands' });
  await list.and(tab.locator('.more')).waitFor();
  await list.evaluate((e) => e.scrollTo(0, e.scrollHeight));
  await list.and(tab.locator(':not(.more)')).waitFor();
  await tab.keyboard.press('Escape');
}

/** Another day: the browser is opened again, has the wallet, and shows its words to who knows the passphrase. */
async function afterwards(context, page, address, words) {
  const tab = await context.newPage();
  await tab.goto(page);
  await screen(tab, 'Wallets on this device');
  assert.ok((await screenText(tab)).includes(address), 'the wallet is gone');
  await press(tab, 'Show recovery phrase');
  await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASES.alice);
  await press(tab, 'Show recovery phrase');
  await screen(tab, 'Your recovery phrase');
  assert.deepEqual(await tab.locator('.words li').allTextContents(), words);
  await press(tab, 'Hide phrase');
  await screen(tab, 'Wallets on this device');
}
