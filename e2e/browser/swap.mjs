// A swap by somebody who tries purser: a quote in the chat, the two amounts on the device, and what arrived in the chat again. Settings:
// {chat, profiles, executable, pictures}.

import assert from 'node:assert/strict';
import { accessibility } from './axe.mjs';
import { Chat } from './chat.mjs';
import { complaintsOf, openDevice } from './chromium.mjs';
import { approve, create, screen, screenText, sixCharacters } from './device.mjs';
import { play } from './scenario.mjs';

const PASSPHRASE = 'quiet amber lantern ferry';

await play(async ({ chat, profiles, pictures, ...settings }) => {
  const context = await openDevice(profiles.alice, settings);
  const complaints = complaintsOf(context);
  const alice = await Chat.open(context, chat, 'alice');
  await (await alice.start()).tap('Create a wallet');
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
  for (let amount = ''; amount !== '5';) [amount] = await (await alice.ask('/wallet balance', 'Balance')).code();

  const card = await alice.ask('/swap 1 SOL USDC', 'Swap 1 SOL for USDC?');
  const said = await card.text();
  const least = /You get at least ([\d.]+) USDC/.exec(said)?.[1];
  assert.ok(least, said);
  assert.match(said, /You pay exactly 1 SOL/);
  assert.match(said, /Quoted by Jupiter, through Sandswap/);
  await card.tap('Confirm');
  await card.becomes('Sign on your device: swap 1 SOL for USDC');
  const tab = await card.follow('Sign on your device');
  await screen(tab, 'Make this swap?');
  const shown = await screenText(tab);
  assert.ok(shown.includes('You pay exactly1 SOL') && shown.includes(`You get at least${least} USDC`), shown);
  await accessibility(tab, 'a swap');
  if (pictures) {
    for (const [name, width, scheme] of [['phone', 390, 'light'], ['phone-dark', 390, 'dark'], ['desktop', 1200, 'light']]) {
      await tab.setViewportSize({ width, height: 900 });
      await tab.emulateMedia({ colorScheme: scheme });
      await tab.screenshot({ path: `${pictures}/swap-${name}.png`, fullPage: true });
    }
  }
  await approve(tab, PASSPHRASE);
  await screen(tab, /^(Transaction signed|Confirmed)$/);
  await tab.close();
  const done = await (await card.becomes('Swapped: 1 SOL for')).text();
  const received = /Swapped: 1 SOL for ([\d.]+) USDC/.exec(done)?.[1];
  assert.ok(Number(received) >= Number(least), done);
  // What the wallet holds is what was received, and nobody is told of a payment: it was a swap of one's own.
  const balance = await (await alice.ask('/wallet balance', 'USDC')).text();
  assert.ok(balance.includes(`${received} USDC`), balance);
  assert.equal(await alice.tab.locator('article.theirs').filter({ hasText: 'You received' }).filter({ hasText: 'USDC' }).count(), 0);
  const history = await (await alice.ask('/wallet history', 'Swapped')).text();
  assert.ok(history.includes('Swapped 1 SOL for'), history);
  if (pictures) await alice.tab.screenshot({ path: `${pictures}/swap-chat.png`, fullPage: true });
  assert.deepEqual(complaints, []);
});
