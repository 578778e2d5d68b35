// Two people at one browser: whose address the faucet proposes, and whose wallet the device. Settings:
// {chat, profiles, executable}. Asks the test for `fresh` (the program ends and begins anew).

import assert from 'node:assert/strict';
import { Chat } from './chat.mjs';
import { complaintsOf, openDevice } from './chromium.mjs';
import { restore, screen, sixCharacters } from './device.mjs';
import { play } from './scenario.mjs';

const STRANGER = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
const WORDS = { // test vectors of BIP-39
  alice: 'letter advice cage absurd amount doctor acoustic avoid letter advice cage above'.split(' '),
  bob: 'legal winner thank year wave sausage worth useful legal winner thank yellow'.split(' '),
};

await play(async (settings, ask) => {
  const context = await openDevice(settings.profiles.alice, settings);
  const complaints = complaintsOf(context);
  try {
    const alice = await Chat.open(context, settings.chat, 'alice');
    await holds(alice.tab, '');
    const hers = await connect(alice, []);
    await holds(alice.tab, hers);

    const field = alice.tab.getByLabel('To the address');
    const hold = (name) => alice.tab.getByRole('navigation').getByRole('button', { name }).click();
    await field.fill(STRANGER);
    await alice.ask('/help', 'More:');
    await holds(alice.tab, STRANGER); // it was meant, and she is still the one who holds the phone
    await hold('Bob');
    await holds(alice.tab, '');
    await field.fill(STRANGER);
    await hold('Alice');
    await holds(alice.tab, hers);

    const bob = await Chat.open(context, settings.chat, 'bob');
    const his = await connect(bob, ['Used for another Telegram account (id 1001)']);
    assert.notEqual(his, hers);
    await holds(bob.tab, his);
    await alice.tab.bringToFront();
    await hold('Bob');
    await holds(alice.tab, his);
    await hold('Alice');
    await holds(alice.tab, hers);

    await field.fill(STRANGER);
    await ask('fresh');
    await holds(alice.tab, '');
    await holds(bob.tab, '');
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
});

/** Waits until the faucet's field holds this. */
async function holds(tab, address) {
  await tab.waitForFunction((value) => document.getElementById('faucet-address').value === value, address)
    .catch(async () => assert.equal(await tab.getByLabel('To the address').inputValue(), address));
}

/** Connects the person's own wallet. Of those that are here already the page says `known`, and chooses none. */
async function connect(chat, known) {
  await chat.start();
  const offer = await chat.ask('/wallet new', 'Connect a wallet');
  const tab = await offer.follow('Open the signing page');
  await screen(tab, 'Connect a wallet to Telegram');
  assert.deepEqual(await tab.locator('.choice .hint').allTextContents(), known);
  assert.equal(await tab.locator('.choice').count(), known.length);
  assert.equal(await tab.getByRole('radio', { checked: true }).count(), 0, 'a wallet of somebody else is chosen');
  await restore(tab, WORDS[chat.person], `quiet amber lantern of ${chat.person}`);
  const six = await sixCharacters(tab);
  await tab.close();
  const question = await chat.hear('Which address did your page show?');
  await chat.tab.bringToFront();
  await question.tap(new RegExp(`${six}$`));
  const [address] = await (await question.becomes('Wallet connected')).code();
  return address;
}
