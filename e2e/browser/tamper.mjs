// A payment whose answers are altered on their way to the page, in every way that the test knows, and
// then not. Settings: {chat, to, profiles, proxy, executable}. Asks the test for `tricks` (given
// the payer's address), and before each for `next`. Ends with what each trick's last screen said, by name.

import { Chat } from './chat.mjs';
import { openDevice } from './chromium.mjs';
import { approve, restore, screen, screenText, sixCharacters } from './device.mjs';
import { play } from './scenario.mjs';

const WORDS = 'letter advice cage absurd amount doctor acoustic avoid letter advice cage above'.split(' '); // a test vector of BIP-39
const PASSPHRASE = 'nine patient copper kettles';

await play(async (settings, ask) => {
  const context = await openDevice(settings.profiles.alice, settings);
  const alice = await Chat.open(context, settings.chat, 'alice');
  const address = await connect(alice);
  await alice.tab.getByRole('button', { name: 'Get test SOL' }).click();
  await alice.tab.getByText('5 SOL went to').waitFor();
  for (let amount = '0'; amount !== '5';) [amount] = await (await alice.ask('/wallet balance', 'Balance')).code();

  const tricks = await ask('tricks', address);
  const card = await alice.ask(`/send 1 SOL ${settings.to}`, 'Compare the whole address');
  await card.tap('Confirm');
  await card.becomes('Sign 1 SOL on your device');

  const screens = {};
  for (const { name, title, approve: approved } of tricks) {
    await ask('next');
    const tab = await card.follow('Sign on your device');
    if (approved) await approve(tab, PASSPHRASE);
    await screen(tab, title).catch(async () => { throw new Error(`${name}: the page says ${await screenText(tab)}`); });
    screens[name] = await screenText(tab);
    await tab.close();
  }
  await ask('next');
  const tab = await card.follow('Sign on your device');
  await approve(tab, PASSPHRASE);
  await screen(tab, /^(Transaction signed|Confirmed)$/); // it follows the payment to its end
  await card.becomes('Sent 1 SOL');
  return screens;
});

async function connect(alice) {
  await alice.start();
  const offer = await alice.ask('/wallet new', 'Create or connect a wallet');
  const tab = await offer.follow('Open signing page');
  await restore(tab, WORDS, PASSPHRASE);
  const six = await sixCharacters(tab);
  await tab.close();
  const question = await alice.hear('Which address did your page show?');
  await question.tap(new RegExp(`${six}$`));
  const [address] = await (await question.becomes('Wallet connected')).code();
  return address;
}
