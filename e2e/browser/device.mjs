// The signing page in a person's hands.

/** Waits for a screen by its title. */
export const screen = (tab, title) => tab.getByRole('heading', { level: 1, name: title }).waitFor();
export const press = (tab, label) => tab.getByRole('button', { name: label, exact: true }).click();
const fill = (tab, label, text) => tab.getByLabel(label, { exact: true }).fill(text);

/** Everything that the screen says, with single blanks. */
export const screenText = async (tab) => (await tab.locator('main').textContent()).replace(/\s+/g, ' ');

const nothing = async () => {};

async function choosePassphrase(tab, passphrase, look) {
  await screen(tab, 'Choose a passphrase');
  await look('choose a passphrase', tab);
  await fill(tab, 'Passphrase', passphrase);
  await fill(tab, 'Repeat passphrase', passphrase);
  await press(tab, 'Encrypt and save');
  await screen(tab, 'Your wallet is ready');
  await look('the wallet is ready', tab);
  await press(tab, 'Connect to Telegram');
}

/** Creates a wallet on a bind link, with a pencil in hand. Resolves to the 12 words. */
export async function create(tab, passphrase, look = nothing) {
  await press(tab, 'Create a wallet');
  await look('create a wallet', tab);
  await press(tab, 'Show recovery phrase');
  await screen(tab, 'Write down your recovery phrase');
  await look('12 words', tab);
  const words = await tab.locator('.words li').allTextContents();
  await press(tab, 'I wrote it down');
  await screen(tab, 'Confirm your recovery phrase');
  await look('quiz', tab);
  for (const input of await tab.locator('form input').all()) {
    const place = Number((await input.getAttribute('id')).replace('word-', ''));
    await input.fill(words[place - 1]);
  }
  await press(tab, 'Continue');
  await choosePassphrase(tab, passphrase, look);
  return words;
}

/** Brings a wallet back from its words on a bind link, typed by hand. */
export async function restore(tab, words, passphrase) {
  await press(tab, 'Restore a wallet');
  await tab.getByLabel('Recovery phrase').pressSequentially(words.join(' '));
  await press(tab, 'Continue');
  await choosePassphrase(tab, passphrase, nothing);
}

/** Reads off the last screen of binding which six characters to tap in the chat. */
export async function sixCharacters(tab) {
  await screen(tab, 'Go back to the chat');
  return tab.locator('.six').textContent();
}

/** Approves the payment on the screen with the passphrase. */
export async function approve(tab, passphrase, look = nothing) {
  await press(tab, 'Approve');
  await screen(tab, 'Sign with your passphrase');
  await look('sign with your passphrase', tab);
  await fill(tab, 'Passphrase', passphrase);
  await press(tab, 'Sign and send');
}
