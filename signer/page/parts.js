// Pieces that several flows show: a wallet's address, its words, and the passphrase asked for.

import { Problem, addressText, button, field, form, h, notice } from './dom.js';
import { propose, weakness, normalise } from './passphrase.js';
import { groups } from './text.js';

/** An address in full. */
export const address = (text) => addressText(text, groups(text));

/** Recovery phrase as a numbered list. */
export function wordList(words) {
  return h('ol', { class: 'words', translate: 'no' }, words.map((w) => h('li', null, w)));
}

/** Name and value pairs; a value is text or elements. Short plain text stands beside its name. */
export function rows(...pairs) {
  return h('dl', { class: 'rows' }, pairs.filter(Boolean).map(([name, ...value]) => {
    const short = value.length === 1 && typeof value[0] === 'string' && name.length + value[0].length < 36;
    return h('div', { class: short ? 'short' : null }, h('dt', null, name), h('dd', null, value));
  }));
}

/** A passphrase field with a button that shows what was typed. */
function passphraseField(id, label, hint) {
  const made = field(id, label, { type: 'password', hint });
  const show = button('Show', 'quiet inside', () => {
    const hidden = made.input.type === 'password';
    made.input.type = hidden ? 'text' : 'password';
    show.textContent = hidden ? 'Hide' : 'Show';
    made.input.focus();
  });
  show.setAttribute('aria-label', `Show or hide: ${label}`);
  const both = h('div', { class: 'with-button' });
  made.input.replaceWith(both);
  both.append(made.input, show);
  return made;
}

const RETYPE = 'So that a slip of the finger does not lock you out.';
const WRITTEN = 'Write it down first. Then type it here, to be sure that you have it written down.';

/**
 * Asks for a new passphrase, twice, and hands it to `work`. Resolves to what `work` resolves to;
 * what it throws is shown. `back` says what brings the wallet back without it.
 */
export function askNewPassphrase(ui, work, back = 'the recovery phrase brings') {
  return ui.ask('Choose a passphrase', (done) => {
    const first = passphraseField('passphrase', 'Passphrase', 'At least 12 characters. Five or six words that have nothing to do with each other are best.');
    const second = passphraseField('again', 'The same again', RETYPE);
    const why = second.node.querySelector('.hint');
    const proposal = h('output', { class: 'proposal', translate: 'no' }, propose());
    const use = button('Use this one', 'secondary', () => {
      first.input.value = proposal.textContent;
      second.input.value = '';
      first.input.dispatchEvent(new Event('input', { bubbles: true })); // as typing does: an old answer is moot
      why.textContent = WRITTEN;
      second.input.focus();
      ui.say(`The proposed passphrase was filled in. ${WRITTEN}`);
    });
    first.input.addEventListener('input', () => { why.textContent = RETYPE; });
    return [
      h('p', null, 'It encrypts this wallet on this device. You enter it each time you approve a payment.'),
      h('div', { class: 'card proposal-card' }, h('p', { class: 'label' }, 'We made one for you'), proposal,
        h('div', { class: 'inline' }, use, button('Another', 'quiet', () => { proposal.textContent = propose(); }))),
      form([first.node, second.node], 'Encrypt and save', async () => {
        const passphrase = first.input.value;
        const weak = weakness(passphrase);
        if (weak) throw new Problem(weak, first.input);
        if (normalise(passphrase) !== normalise(second.input.value)) {
          throw new Problem('The two differ. Type the same passphrase twice.', second.input);
        }
        ui.say('Encrypting the wallet.');
        try {
          done(await work(passphrase));
        } finally {
          first.input.value = '';
          second.input.value = '';
        }
      }),
      notice('note', `Nobody can reset it. If it is lost, ${back} the wallet back.`),
    ];
  });
}

const FORGOTTEN = Symbol('forgotten');

/**
 * Asks for the passphrase of a wallet and hands it to `work`; resolves to what `work` resolves to,
 * or null when the person goes back. `about` stands above the field, `below` under the buttons. After
 * a wrong passphrase `forgotten` is offered, the way by the words: it resolves to {instead}, which
 * ends the question with that, or to null to ask again.
 */
export async function askPassphrase(ui, { title, about, label, below = null, forgotten }, work) {
  for (;;) {
    const answer = await askOnce(ui, { title, about, label, below }, work);
    if (answer !== FORGOTTEN) return answer;
    const other = await forgotten();
    if (other) return other.instead;
  }
}

function askOnce(ui, { title, about, label, below }, work) {
  return ui.ask(title, (done) => {
    const it = passphraseField('passphrase', 'Passphrase', '');
    const lost = button('Forgotten? Restore the wallet from its words', 'quiet', () => done(FORGOTTEN));
    lost.hidden = true;
    return [
      about,
      form([it.node], label, async () => {
        if (!it.input.value) throw new Problem('Enter the passphrase of this wallet.', it.input);
        ui.say('Unlocking the wallet.');
        try {
          done(await work(it.input.value));
        } catch (err) {
          if (err.name !== 'WrongPassphrase') throw err;
          lost.hidden = false;
          throw new Problem(err.message, it.input);
        } finally {
          it.input.value = '';
        }
      }, button('Back', 'secondary', () => done(null)), lost),
      below,
    ];
  });
}
