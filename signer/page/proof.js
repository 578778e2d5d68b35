// What the flows share in which a wallet signs a text: connecting a wallet, unfreezing an account, setting spending limits. And how
// a wallet of this device is unlocked, for a text as for a transaction.

import { foreign, h, notice } from './dom.js';
import { rich, t } from './catalogue.js';
import { restoreWallet } from './create.js';
import { address as shown, askPassphrase, rows } from './parts.js';
import { passkeyOf } from './passkey.js';
import { unlockKey } from './seal.js';

/** The Telegram account that a link is for, as a card, with a warning below: `warning` says what somebody else wants with the link. */
export const accountCard = (c, warning, ...more) => [
  h('div', { class: 'card who' },
    h('p', { class: 'name' }, foreign(c.telegram_name, 64)),
    h('p', { class: 'hint' }, c.username && rich('proof.username', { name: foreign(`@${c.username.replace(/^@/, '')}`) }), t('proof.telegram_id', { id: c.telegram_id })),
    ...more),
  notice('warn', h('p', null, h('strong', null, t('proof.not_you')), ' ', warning)),
];

/** The same account in one line, as a pair for rows. */
export const accountRow = (c) => [t('proof.telegram_account'), ...rich('proof.account', { name: foreign(c.telegram_name, 64), id: c.telegram_id })];

/** A text that is signed, folded. */
export const signedText = (text) => h('details', null, h('summary', null, t('proof.text_title')), h('pre', { class: 'signed', translate: 'no' }, text));

/**
 * Asks for the passphrase of a wallet of this device, or for its passkey, and hands its signing key to `work`. Resolves to what that resolves
 * to, or to null when the person goes back. `about`, `label` and `below` as in askPassphrase. A forgotten passphrase leads to restoring the
 * wallet: `next` is what follows then (create.js), and `restored` gives the result for the restored {address, key}.
 */
export const unlockWallet = (ui, wallet, { title, about, label, below, next, restored = ({ key }) => key }, work) => askPassphrase(ui, {
  title, about, label, below,
  forgotten: async () => {
    const made = await restoreWallet(ui, { needed: wallet.address, next });
    return made && { instead: restored(made) };
  },
  passkey: passkeyOf(ui, wallet),
}, (passphrase) => unlockKey(passphrase, wallet), work);

/** The same for a text that a wallet signs for a Telegram account: resolves to {address, key}, or to null. `text` is shown below the buttons. */
export async function unlockForText(ui, wallet, c, { title, label, text, next }) {
  const about = rows([t('common.wallet'), shown(wallet.address)], accountRow(c));
  const key = await unlockWallet(ui, wallet, { title, about, label, below: signedText(text), next });
  return key && { address: wallet.address, key };
}
