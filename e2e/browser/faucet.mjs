// Two people at one browser: whose address the faucet proposes, and whose wallet the device. Settings:
// {chat, profiles, executable}. Asks the test for `fresh` (the program ends and begins anew).

import assert from 'node:assert/strict';
import { accessibility } from './axe.mjs';
import { Chat } from './chat.mjs';
import { DESKTOP, PHONE, complaintsOf, openDevice } from './chromium.mjs';
import { approve, restore, screen, sixCharacters } from './device.mjs';
import { play } from './scenario.mjs';

const STRANGER = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
const WORDS = { // test vectors of BIP-39
  alice: 'letter advice cage absurd amount doctor acoustic avoid letter advice cage above'.split(' '),
  bob: 'legal winner thank year wave sausage worth useful legal winner thank yellow'.split(' '),
};

await play(async (settings, ask) => {
  const context = await openDevice(settings.profiles.alice, settings);
  const complaints = complaintsOf(context);
  const alice = await Chat.open(context, settings.chat, 'alice');
  await holds(alice.tab, '');
  await whatTheBotSays(alice.tab);
  await quotesEndTheirLine(alice.tab);
  await withoutAnAddress(alice.tab);
  await laidOut(alice.tab);
  await pricesMove(alice.tab);
  const hers = await connect(alice, []);
  await holds(alice.tab, hers);
  await alice.tab.getByText('has no wallet in this chat yet').waitFor({ state: 'hidden' });

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
  const his = await connect(bob, ['Signed for another Telegram account (ID 1001)']);
  assert.notEqual(his, hers);
  await holds(bob.tab, his);
  await alice.tab.bringToFront();
  await hold('Bob');
  await holds(alice.tab, his);
  await hold('Alice');
  await holds(alice.tab, hers);

  // A receipt names the payer as well: what Bob is told of Alice's address does not make it his.
  await named(alice.tab);
  await ownChoices(alice.tab, hold);
  for (let amount = ''; amount !== '5';) [amount] = await (await alice.ask('/wallet balance', 'Balance')).code();
  const card = await alice.ask(`/send 1 SOL ${his}`, 'Compare the whole address');
  await card.tap('Confirm');
  await card.becomes('Sign 1 SOL on your device');
  const signing = await card.follow('Sign on your device');
  await approve(signing, passphrase('alice'));
  await screen(signing, /^(Transaction signed|Confirmed)$/); // it follows the payment to its end
  await signing.close();
  await bob.tab.locator('article.theirs').filter({ hasText: 'You received 1 SOL' }).filter({ hasText: hers }).waitFor();
  await holds(bob.tab, his);
  await hold('Bob');
  await holds(alice.tab, his);
  await hold('Alice');
  await holds(alice.tab, hers);
  await attacked(alice, hold);

  await field.fill(STRANGER);
  await ask('fresh');
  await holds(alice.tab, '');
  await holds(bob.tab, '');
  assert.deepEqual(complaints, []);
});

function passphrase(person) {
  return `quiet amber lantern of ${person}`;
}

/** Title and button say what is chosen, and that is what comes: test USDC, and then SOL for what follows. */
async function named(tab) {
  for (const [choice, name, gone] of [['100 USDC', 'Get test USDC', /^100 USDC went to \w{4}…\w{4}, Alice's wallet\. Send \/wallet balance/], ['5 SOL', 'Get test SOL', /^5 SOL went to \w{4}…\w{4}, Alice's wallet\. Send \/wallet balance/]]) {
    await tab.getByRole('region', { name: 'Get test' }).getByText(choice, { exact: true }).click();
    const faucet = tab.getByRole('region', { name });
    await faucet.getByRole('heading', { name, exact: true }).waitFor();
    await faucet.getByRole('button', { name, exact: true }).click();
    await tab.getByText(gone).waitFor();
  }
}

/** A stranger is let at her USDC: the page says so to her alone, and the chat finds the stranger. */
async function attacked(alice, hold) {
  const panel = alice.tab.getByRole('region', { name: 'Get test' });
  await panel.getByRole('button', { name: 'Let a stranger spend', exact: true }).click();
  const told = panel.getByText(/^\w{4}…\w{4} may now spend USDC of \w{4}…\w{4}\. Send \/revoke in the chat\.$/);
  await told.waitFor();
  const stranger = (await told.textContent()).slice(0, 4);
  await hold('Bob');
  assert.equal(await panel.getByText('may now spend').count(), 0, "Alice's answer stands at Bob's phone");
  await hold('Alice');
  let listed = '';
  for (; !listed.includes('Others can spend');) listed = await (await alice.ask('/revoke', 'can spend')).text();
  assert.ok(listed.includes('Up to 25 USDC') && listed.includes(stranger), listed);
}

/** The line break behind a quote or a block of code is no empty line, as in Telegram; a second one is. */
async function quotesEndTheirLine(tab) {
  const shown = await tab.evaluate(async () => {
    const { formatted } = await import('/page/text.js');
    const of = (type) => formatted('a\nb\n\nc', [{ type, offset: 2, length: 1 }]).map((node) => node.textContent ?? node);
    return ['blockquote', 'pre', 'bold'].map(of);
  });
  assert.deepEqual(shown, [['a\n', 'b', '\nc'], ['a\n', 'b', '\nc'], ['a\n', 'b', '\n\nc']]);
}

/** Who has no wallet yet is told what to do, and the page does it for them. */
async function withoutAnAddress(tab) {
  const faucet = tab.getByRole('region', { name: 'Get test' });
  const hint = faucet.getByText('Alice has no wallet in this chat yet.');
  await hint.waitFor();
  await faucet.getByRole('button', { name: 'Get test SOL' }).click();
  await faucet.getByText('The address is missing.', { exact: true }).waitFor();
  await faucet.getByLabel('To the address').fill(STRANGER);
  await hint.waitFor({ state: 'hidden' });
  await faucet.getByRole('button', { name: 'Get test SOL' }).click();
  await faucet.getByText(/^5 SOL went to 9xQe…VFin\.$/).waitFor();
  await faucet.getByLabel('To the address').fill('');
  await hint.waitFor();
  await faucet.getByRole('button', { name: 'Send /wallet new' }).click();
  await tab.locator('article.theirs').filter({ hasText: 'Create or connect a wallet' }).waitFor();
}

/** At every width the amounts stand in full rows, and each label fits its button. */
async function laidOut(tab) {
  const before = tab.viewportSize();
  for (const [width, columns] of [[320, 2], [375, 4], [414, 4], [1280, 2], [1600, 2]]) {
    await tab.setViewportSize({ width, height: width < 760 ? 500 : 800 });
    if (width < 760) await tab.getByRole('button', { name: 'Test SOL & shop' }).click();
    const seen = await tab.evaluate(() => [...document.querySelectorAll('.amounts span')].map((s) => {
      const { left, right, top } = s.getBoundingClientRect();
      return { top, fits: s.scrollWidth <= s.clientWidth && s.clientHeight < 45 && left >= 0 && right <= innerWidth };
    }));
    assert.ok(seen.every((s) => s.fits), `at ${width} px: ${JSON.stringify(seen)}`);
    const top = await tab.locator('#faucet').evaluate(async (panel) => {
      await Promise.all(panel.getAnimations().map((a) => a.finished));
      return panel.getBoundingClientRect().top;
    });
    assert.ok(top >= 0, `the panel begins ${-top} px above the screen at ${width} px`);
    const tops = [...new Set(seen.map((s) => s.top))];
    const rows = tops.map((top) => seen.filter((s) => s.top === top).length);
    assert.deepEqual(rows, Array(4 / columns).fill(columns), `rows at ${width} px`);
    if (width < 760) await tab.getByRole('button', { name: 'Close', exact: true }).click();
  }
  await tab.setViewportSize(before);
}

/** Tokens of one symbol stand apart, a price that is set is shown, and a token without one cannot be moved. */
async function pricesMove(tab) {
  const panel = tab.getByRole('region', { name: 'Get test' });
  await panel.getByText('Prices', { exact: true }).click();
  await panel.getByRole('button', { name: /^USDC USD Coin, unverified, \S{4}…\S{4} / }).click();
  const price = panel.getByRole('textbox', { name: 'New price of USDC in dollars' });
  await price.fill('1,5');
  await panel.getByRole('button', { name: 'Set price' }).click();
  await panel.getByText('Enter a price in dollars, such as 151.5.').waitFor();
  await price.fill('0.02');
  await price.press('Enter');
  await panel.getByText(/^USDC is now \$0\.0(2|19)/).waitFor(); // a price moves by itself every 15 seconds
  await panel.getByRole('button', { name: 'USDC up 10 percent' }).click();
  await panel.getByText(/^USDC is now \$0\.02(2|19)/).waitFor();
  await panel.getByRole('button', { name: /^GHOST .* no price$/ }).click();
  assert.ok(await panel.getByRole('button', { name: 'GHOST down 10 percent' }).isDisabled());
  const quotes = panel.getByRole('combobox', { name: 'Quotes for swaps' });
  await tab.route('**/quotes', async (route) => { // a look that comes meanwhile still knows the old choice
    await (await tab.waitForResponse(/\/prices$/)).finished();
    await route.continue();
  }, { times: 1 });
  await quotes.selectOption({ label: 'half of what the pools pay' });
  await panel.getByText('Swaps: half of what the pools pay.').waitFor();
  await quotes.selectOption({ label: 'as the pools pay' });
  await panel.getByText('Swaps: as the pools pay.').waitFor();
  const look = accessibility();
  await tab.setViewportSize(PHONE);
  await tab.getByRole('button', { name: 'Test SOL & shop' }).click();
  await look('prices', tab);
  assert.deepEqual(look.findings, []);
  await tab.setViewportSize(PHONE);
  await tab.getByRole('button', { name: 'Close', exact: true }).click();
  await tab.setViewportSize(DESKTOP);
  await panel.getByText('Prices', { exact: true }).click();
}

/** A choice and an answer belong to the person who made and got them. */
async function ownChoices(tab, hold) {
  const faucet = tab.getByRole('region', { name: 'Get test' });
  const chosen = async (choice) => assert.equal(await faucet.getByRole('radio', { checked: true }).getAttribute('value'), choice);
  await faucet.getByText('100 USDC', { exact: true }).click();
  await hold('Bob');
  await chosen('5');
  await faucet.getByRole('heading', { name: 'Get test SOL' }).waitFor();
  assert.equal(await faucet.getByText('went to').count(), 0, "Alice's answer stands at Bob's phone");
  await faucet.getByText('10 SOL', { exact: true }).click();
  await faucet.getByLabel('To the address').fill(STRANGER);
  await faucet.getByRole('button', { name: 'Get test SOL' }).click();
  await faucet.getByText("10 SOL went to 9xQe…VFin. /wallet balance in this chat shows another address: Bob's own.").waitFor();
  await hold('Alice');
  await chosen('USDC');
  await faucet.getByRole('heading', { name: 'Get test USDC' }).waitFor();
  await faucet.getByText(/^5 SOL went to .*Alice's wallet/).waitFor();
  await hold('Bob');
  await chosen('10');
  await hold('Alice');
}

/** Which address the page takes for the person's own, after messages of the bot. */
async function whatTheBotSays(tab) {
  const [mine, second, other] = [STRANGER, 'So11111111111111111111111111111111111111112', 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'];
  const connected = `✅ Wallet connected\n${mine}\n\nYour commands now use it. To receive SOL, share this address. Tap it to copy it. /wallet address shows it again.`;
  const more = `✅ Wallet connected\n${second}\n\nYour commands still use …xVFin.`;
  const cases = [
    ['nothing', [], ''],
    ['connected', [connected], mine],
    ['a second one, connected only', [connected, more], mine],
    ['a second one, with the first beyond the history', [more], ''],
    ['a second one, chosen', [connected, more, `Your commands now use\n${second}`], second],
    ['an overview', [connected, `Your wallet on a local network (test money)\n${second}\n\nBalance: 2 SOL\n\nAlso connected\n${mine}`], second],
    ['the address with its picture', [`Your address\n${mine}\n\nTap it to copy`], mine],
    ['a receipt', [connected, `💰 You received 1 SOL\n\nFrom\n${other}\nTo your wallet\n${mine}`], mine],
    ['a receipt alone', [`💰 You received 1 SOL\n\nFrom\n${other}\nTo your wallet\n${mine}`], ''],
    ['a review', [connected, `Send 1 SOL?\n\nTo\n${other}\nFrom\n${mine}`], mine],
    ['a contact', [connected, `anna\n${other}`, `Added anna:\n${other}`], mine],
    ['the chosen one let go', [connected, more, `Disconnected\n${mine}\n\nYour commands now use\n${second}`], second],
    ['the only one let go', [connected, `Disconnected\n${mine}`], ''],
    ['another one let go', [connected, more, `Disconnected\n${second}`], mine],
    ['claimed', [`✅ Wallet connected\n${mine}\nThe other account was notified.`], mine],
    ['all deleted', [connected, 'Your data is deleted. Send /start to begin again as a new user.'], ''],
  ];
  const found = await tab.evaluate(async (all) => {
    const { ownAddress } = await import('/page/own.js');
    const of = (texts) => texts.map((text, i) => ({ message_id: i, date: i, from: { is_bot: true }, text }));
    const edited = [{ ...of([all[1][1][0]])[0], edit_date: 9 }, { message_id: 5, date: 5, from: { is_bot: true }, text: 'You have no wallet here yet. Create or connect one' }];
    const said = [...of([all[1][1][0]]), { message_id: 7, date: 7, from: { is_bot: false }, text: 'Your wallet\nMemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr' }];
    return [...all.map(([, texts]) => ownAddress(of(texts))), ownAddress(edited), ownAddress(said)];
  }, cases);
  const names = [...cases.map(([name]) => name), 'an older message, edited since', 'what the person says themselves'];
  assert.deepEqual(Object.fromEntries(names.map((n, i) => [n, found[i]])), Object.fromEntries(names.map((n, i) => [n, cases[i]?.[2] ?? mine])));
}

/** Waits until the faucet's field holds this. */
async function holds(tab, address) {
  await tab.waitForFunction((value) => document.getElementById('faucet-address').value === value, address)
    .catch(async () => assert.equal(await tab.getByLabel('To the address').inputValue(), address));
}

/** Connects the person's own wallet. Of those that are here already the page says `known`, and chooses none. */
async function connect(chat, known) {
  if (await chat.tab.getByRole('button', { name: 'Start', exact: true }).isVisible()) await chat.start();
  const offer = await chat.ask('/wallet new', 'Create or connect a wallet');
  const tab = await offer.follow('Open signing page');
  await screen(tab, 'Create or connect a wallet');
  assert.deepEqual(await tab.locator('.choice .hint').allTextContents(), known);
  assert.equal(await tab.locator('.choice').count(), known.length);
  assert.equal(await tab.getByRole('radio', { checked: true }).count(), 0, 'a wallet of somebody else is chosen');
  await restore(tab, WORDS[chat.person], passphrase(chat.person));
  const six = await sixCharacters(tab);
  await tab.close();
  const question = await chat.hear('Which address did your page show?');
  await chat.tab.bringToFront();
  await question.tap(new RegExp(`${six}$`));
  const [address] = await (await question.becomes('Wallet connected')).code();
  return address;
}
