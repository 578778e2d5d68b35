// The first payment of somebody who tries purser: one wallet, test money, a coffee. Counts what it takes of a
// person. Settings: {chat, profiles, executable}.

import assert from 'node:assert/strict';
import { Chat } from './chat.mjs';
import { complaintsOf, openDevice } from './chromium.mjs';
import { approve, create, screen, sixCharacters } from './device.mjs';
import { play } from './scenario.mjs';

const PASSPHRASE = 'quiet amber lantern ferry';

await play(async ({ chat, profiles, ...settings }) => {
  const context = await openDevice(profiles.alice, settings);
  const complaints = complaintsOf(context);
  const effort = { clicks: 0, fields: 0 };
  await context.exposeBinding('counted', (_, what) => { effort[what] += 1; });
  await context.addInitScript(() => {
    const filled = new WeakSet();
    addEventListener('click', (event) => { if (event.isTrusted && event.detail > 0) globalThis.counted('clicks'); }, true); // a label's click on its field has no detail
    addEventListener('input', (event) => {
      if (filled.has(event.target)) return;
      filled.add(event.target);
      globalThis.counted('fields');
    }, true);
  });

  const alice = await Chat.open(context, chat, 'alice');
  const welcome = await alice.start();
  await welcome.tap('Create a wallet');
  const page = await (await alice.hear('Create or connect a wallet')).follow('Open signing page');
  await create(page, PASSPHRASE);
  const six = await sixCharacters(page);
  await page.close();
  const question = await alice.hear('Which address did your page show?');
  await question.tap(new RegExp(`${six}$`));
  await question.becomes('Wallet connected');

  const panel = alice.tab.getByRole('region', { name: 'Get test SOL' });
  await panel.getByRole('button', { name: 'Get test SOL' }).click();
  await panel.getByText('5 SOL went to').waitFor();
  await funded(alice);
  await panel.getByRole('button', { name: 'Buy Coffee for 0.05 SOL' }).click();
  const card = await alice.hear('Send 0.05 SOL?');
  assert.match(await card.text(), /Sandbox Coffee/);
  await card.tap('Confirm');
  await card.becomes('Sign 0.05 SOL on your device');
  const tab = await card.follow('Sign on your device');
  await screen(tab, 'Approve this payment?');
  await approve(tab, PASSPHRASE);
  await panel.getByText('Coffee: paid. Thank you!').waitFor();
  const spent = { ...effort };
  // Afterwards: the history as a file, which the page of the sandbox lets a person keep.
  await (await alice.ask('/wallet export', 'Export your history')).tap('CSV');
  const file = await (await alice.hear('newest first')).download();
  assert.match(file.name, /^purser-\d{4}-\d\d-\d\d\.csv$/);
  assert.match(file.text, /^created_at,type,direction,status,amount,token,/);
  assert.match(file.text, /\r\n[^,\r\n]+,send,out,\w+,0\.05,SOL,,/);
  assert.match(file.text, /\r\n[^,\r\n]+,receive,in,\w+,5,SOL,,/);
  assert.deepEqual(complaints, []);
  return spent;
});

/** Waits until the faucet's money has come, without a click: Enter sends what is typed. */
async function funded(alice) {
  for (let i = 0; i < 20; i++) {
    const [amount] = await (await alice.ask('/wallet balance', 'Balance')).code();
    if (amount === '5') return;
  }
  assert.fail('the faucet\'s money never came');
}
