// Connecting a wallet to a Telegram account: show whose account it is, choose or make a wallet,
// prove the address with a signature, send the person back to the chat.

import { chooseAccount, inApp } from './apps.js';
import { Problem, button, copyButton, foreign, form, h, mark, notice } from './dom.js';
import { encode } from './base58.js';
import { utf8 } from './bytes.js';
import { checkChallenge, signInText } from './challenge.js';
import { createWallet, restoreWallet } from './create.js';
import { signText } from './external.js';
import { networkOf, pinNetwork } from './history.js';
import { address as shown, askPassphrase, rows } from './parts.js';
import { sign, unlockKey } from './seal.js';
import * as server from './server.js';
import { clock, lastSix, utcTime } from './text.js';
import * as vault from './vault.js';

/** What follows a wallet that was just made here: its text is signed at once. */
const connecting = (place, c) => ({
  step: 'One step left: connect it to Telegram.', label: 'Connect to Telegram', more: (address) => signedText(place, c, address).node,
});

/**
 * The flow behind #b=<token>. `place` is {host, origin, link} of this page; `able` tells whether this
 * browser can hold a key itself.
 */
export async function bindFlow(ui, token, place, able = true) {
  ui.wait('Reading the link');
  const challenge = checkChallenge(await server.bindChallenge(token));
  let address = null;
  const taken = new Set(); // addresses that the server refused: connected already, to whomever
  for (let refusal = ''; address === null;) {
    let wallet = null;
    let signature = null;
    while (signature === null) {
      wallet = await (await choose(ui, { token, challenge, wallets: able ? await vault.list() : [], taken, refusal, able, place }))();
      if (wallet === null) continue;
      const network = await networkOf(wallet.address).catch(() => null); // a browser that keeps nothing knows nothing
      if (network && network !== challenge.chain && !(await otherNetwork(ui, wallet.address, network, challenge.chain))) continue;
      const text = signInText(place, wallet.address, challenge);
      if (wallet.key) {
        ui.wait('Proving that the wallet is yours');
        signature = encode(await sign(wallet.key, wallet.address, utf8(text)));
        continue;
      }
      try {
        const proof = await inApp(ui, wallet.app.name, 'Sign the text that names your Telegram account. That moves no money.',
          signText(wallet.app, wallet.account, text));
        signature = proof && encode(proof);
      } catch (err) {
        refusal = err instanceof Error ? err.message : 'The wallet app did not sign.';
      }
    }
    ui.wait('Proving that the wallet is yours');
    try {
      await prove(ui, token, wallet.address, signature, wallet.key ? 'page' : 'external');
      address = wallet.address;
    } catch (err) {
      // 409: this wallet is connected already. The link is as good as before, for another wallet.
      if (!(err instanceof server.Refused) || err.status !== 409) throw err;
      refusal = err.message;
      taken.add(wallet.address);
    }
  }
  await pinNetwork(address, challenge.chain).catch(() => {}); // proven it is all the same
  await vault.usedFor(address, challenge.telegram_id).catch(() => {}); // a help for the next choice, no more
  await ui.end('Now go back to the chat',
    h('p', { class: 'lead' }, 'Tap the button with these last six characters:'),
    h('p', { class: 'six', translate: 'no' }, lastSix(address)),
    rows(['Your address', shown(address)], ['Telegram account', foreign(challenge.telegram_name, 64), ` (id ${challenge.telegram_id})`]),
    notice('note', 'The wallet is connected once you tap it; you can close this page then. If none of the buttons shows these characters, tap “None of these”.'));
}

/** Resolves to a deed that resolves to {address, key} or {address, app, account}, or to null to choose again. */
function choose(ui, { token, challenge: c, wallets, taken, refusal, able, place }) {
  const text = signedText(place, c);
  const inUse = async (addresses) => (await server.accountsInUse(token, addresses)).holds;
  const made = (deed) => () => done(() => deed(ui, { next: connecting(place, c), inUse }));
  const other = button('Use a wallet app', able ? 'secondary' : 'primary', () => done(() => external(ui, c, place.link)));
  let done;
  return ui.ask('Connect a wallet to Telegram', (answer) => (done = answer, [
    refusal && notice('warn', h('p', null, foreign(refusal, 300)), h('p', null, 'Create another wallet for this account, or choose another one. The link still works.')),
    h('div', { class: 'card who' },
      h('p', { class: 'name' }, foreign(c.telegram_name, 64)),
      h('p', { class: 'hint' }, c.username && [foreign(`@${c.username.replace(/^@/, '')}`), ' · '], `Telegram id ${c.telegram_id}`)),
    notice('warn', h('p', null, h('strong', null, 'Is this not you? Did somebody send you this link?'), ' Close this page. Whoever sent it wants your wallet connected to their account.')),
    !able && notice('note', 'This browser cannot hold a Solana key itself: it lacks Ed25519 in WebCrypto. Use a wallet app, or open the link in a current Chrome or Edge (137 or newer), Firefox (130 or newer) or Safari (17 or newer).'),
    !able ? h('div', { class: 'actions' }, other, copyButton('Copy link', place.link, 'secondary'))
      : wallets.length === 0
        ? h('div', { class: 'actions' },
          button('Create a wallet', 'primary', made(createWallet)),
          button('Restore from words', 'secondary', made(restoreWallet)), other)
        : withWallets(wallets, c, taken, text, (wallet) => done(() => unlock(ui, wallet, c, place)), [
          button('Create another', 'secondary', made(createWallet)),
          button('Restore from words', 'secondary', made(restoreWallet)), other]),
    h('p', { class: 'hint' }, `This link works until ${clock(utcTime(c.expires_at))}. The wallet signs one text that names this account; that moves no money.`),
    text.node,
  ]));
}

/** The wallet is known for another network: resolves to whether to connect it all the same. */
function otherNetwork(ui, address, known, now) {
  return ui.ask('The network changed', (done) => [
    mark('stop'),
    notice('danger', h('p', null, h('strong', null, `This wallet is used on ${known}, and the server now says ${now}.`)),
      'If this server calls real money test money, what you sign here can spend it. Connect the wallet only if you know why the network changed.'),
    rows(['Wallet', shown(address)]),
    h('div', { class: 'actions' },
      button('Back', 'primary', () => done(false)), button('Connect anyway', 'danger', () => done(true))),
  ]);
}

/** A wallet app instead of a key on this page. */
async function external(ui, c, link) {
  const chosen = await chooseAccount(ui, { chain: c.chain, link });
  return chosen && { address: chosen.account.address, ...chosen };
}

/** Whose wallet it is as far as this device knows: a sentence, or "", and whether it fits this account. */
function whose(w, c, taken) {
  if (taken.has(w.address)) return { fits: false, text: 'Connected already' };
  if (w.account === c.telegram_id) return { fits: true, text: 'Used for this Telegram account before' };
  if (w.account) return { fits: false, text: `Used for another Telegram account (id ${w.account})` };
  return { fits: true, text: '' };
}

function withWallets(wallets, c, taken, text, chosen, others) {
  const known = wallets.map((w) => ({ ...w, ...whose(w, c, taken) }));
  const sure = known.filter((w) => w.fits).length === 1; // else the choice is the person's
  const choices = known.map((w) => h('label', { class: 'choice' },
    h('input', { type: 'radio', name: 'wallet', value: w.address, 'aria-label': `Wallet ending in ${lastSix(w.address)}${w.text && `. ${w.text}`}`, checked: sure && w.fits }),
    h('span', null, shown(w.address), w.text && h('span', { class: 'hint' }, w.text))));
  const inputs = choices.map((label) => label.querySelector('input'));
  const pick = () => text.show(wallets[inputs.findIndex((input) => input.checked)]?.address);
  for (const input of inputs) input.addEventListener('change', pick);
  pick();
  return form(
    h('fieldset', null, h('legend', null, 'Which wallet?'), choices), 'Continue',
    () => {
      const at = inputs.findIndex((input) => input.checked);
      if (at < 0) throw new Problem('Choose one of these wallets, or create another.', inputs[0]);
      chosen(wallets[at]);
    },
    ...others);
}

/** The text that proves an address, folded: {node, show(address)}. Until there is an address its place is marked. */
function signedText(place, c, address) {
  const text = h('pre', { class: 'signed', translate: 'no' });
  const show = (of = '(the address of your wallet)') => { text.textContent = signInText(place, of, c); };
  show(address);
  return { node: h('details', null, h('summary', null, 'The text that is signed'), text), show };
}

async function unlock(ui, wallet, c, place) {
  const key = await askPassphrase(ui, {
    title: 'Connect this wallet',
    about: rows(['Wallet', shown(wallet.address)], ['Telegram account', foreign(c.telegram_name, 64), ` (id ${c.telegram_id})`]),
    label: 'Connect',
    below: signedText(place, c, wallet.address).node,
    forgotten: async () => {
      const restored = await restoreWallet(ui, { needed: wallet.address, next: connecting(place, c) });
      return restored && { instead: restored.key };
    },
  }, (passphrase) => unlockKey(passphrase, wallet));
  return key && { address: wallet.address, key };
}

/** Hands the proof over; when no answer comes, the same proof can be sent again. */
async function prove(ui, token, address, signature, type) {
  let unheard = false;
  for (;;) {
    try {
      const answer = await server.bind(token, address, signature, type);
      if (answer.address === address) return;
      throw new Error('The server answered for another address than yours. Tap none of its buttons.');
    } catch (err) {
      if (err instanceof server.Refused && unheard) {
        err.message += ` It may have taken the proof before: if the chat shows buttons, tap the one with ${lastSix(address)}.`;
      }
      if (!(err instanceof server.NoAnswer)) throw err;
      unheard = true;
      await ui.ask('No answer from the server', (done) => [
        h('p', null, 'Your wallet is safe on this device. Sending the same proof again does no harm.'),
        h('div', { class: 'actions' }, button('Send again', 'primary', () => done())),
      ]);
      ui.wait('Proving that the wallet is yours');
    }
  }
}

