// Pieces that several flows show: a wallet's address, its recovery phrase, and the passphrase asked for.

import { LocalizedError, t } from './catalogue.js';
import { Problem, addressText, button, field, form, h, notice } from './dom.js';
import { propose, weakness, normalise } from './passphrase.js';
import { WrongPassphrase } from './seal.js';
import { groups } from './text.js';

/** An address in full. */
export const address = (text) => addressText(text, groups(text));

/** Recovery phrase as a numbered list. */
export function wordList(words) {
  return h('ol', { class: 'words', translate: 'no' }, words.map((w) => h('li', null, w)));
}

/** How much room a text takes, in letters of the Latin alphabet: Chinese, Japanese and Korean ones take two. */
const room = (text) => [...text].reduce((sum, letter) => sum + (/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/.test(letter) ? 2 : 1), 0);

/** Name and value pairs; a value is text or elements. Short plain text stands beside its name. */
export function rows(...pairs) {
  return h('dl', { class: 'rows' }, pairs.filter(Boolean).map(([name, ...value]) => {
    const short = value.length === 1 && typeof value[0] === 'string' && room(name) + room(value[0]) < 36;
    return h('div', { class: short ? 'short' : null }, h('dt', null, name), h('dd', null, value));
  }));
}

/** A passphrase field with a button that shows what was typed. */
function passphraseField(id, label, hint) {
  const made = field(id, label, { type: 'password', hint });
  const show = button(t('passphrase.show'), 'quiet inside', () => {
    const hidden = made.input.type === 'password';
    made.input.type = hidden ? 'text' : 'password';
    show.textContent = t(hidden ? 'passphrase.hide' : 'passphrase.show');
    made.input.focus();
  });
  show.setAttribute('aria-label', t('passphrase.show_or_hide', { label }));
  const both = h('div', { class: 'with-button' });
  made.input.replaceWith(both);
  both.append(made.input, show);
  return made;
}

/**
 * Asks for a new passphrase, twice, and hands it to `work`. Resolves to what `work` resolves to;
 * what it throws is shown. `hasPhrase` says whether a recovery phrase restores the wallet without it, or a private key.
 */
export function askNewPassphrase(ui, work, hasPhrase = true) {
  return ui.ask(t('passphrase.title'), (done) => {
    const first = passphraseField('passphrase', t('passphrase.label'), t('passphrase.hint'));
    const second = passphraseField('again', t('passphrase.repeat'), t('passphrase.repeat_hint'));
    const why = second.node.querySelector('.hint');
    const proposal = h('output', { class: 'proposal', translate: 'no' }, propose());
    const use = button(t('passphrase.use'), 'secondary', () => {
      first.input.value = proposal.textContent;
      second.input.value = '';
      first.input.dispatchEvent(new Event('input', { bubbles: true })); // as typing does: an old answer is moot
      why.textContent = t('passphrase.write_down');
      second.input.focus();
      ui.announce(t('passphrase.filled_in', { next: t('passphrase.write_down') }));
    });
    first.input.addEventListener('input', () => { why.textContent = t('passphrase.repeat_hint'); });
    return [
      h('p', null, t('passphrase.lead')),
      h('div', { class: 'card' }, h('p', { class: 'label' }, t('passphrase.suggested')), proposal,
        h('div', { class: 'inline' }, use, button(t('passphrase.another'), 'quiet', () => { proposal.textContent = propose(); }))),
      form([first.node, second.node], t('passphrase.save'), async () => {
        const passphrase = first.input.value;
        const weak = weakness(passphrase);
        if (weak) throw new Problem(t(weak.key, weak.args), first.input);
        if (normalise(passphrase) !== normalise(second.input.value)) {
          throw new Problem(t('passphrase.different'), second.input);
        }
        ui.announce(t('passphrase.encrypting'));
        try {
          done(await work(passphrase));
        } finally {
          first.input.value = '';
          second.input.value = '';
        }
      }),
      notice('note', t(hasPhrase ? 'passphrase.no_reset_phrase' : 'passphrase.no_reset_key')),
    ];
  });
}

const FORGOTTEN = Symbol('forgotten');

/**
 * Asks for the passphrase of a wallet, hands it to `open`, and what that resolves to to `work`; resolves to what `work`
 * resolves to, or null when the person goes back. `about` stands above the field, `below` under the buttons. After
 * a wrong passphrase `forgotten` is offered, the way by the recovery phrase: it resolves to {instead}, which
 * ends the question with that, or to null to ask again. `passkey` is another way to what `open` resolves to, offered first;
 * null where there is none. When it fails, the passphrase is still there.
 */
export async function askPassphrase(ui, { title, about, label, below = null, forgotten, passkey = null }, open, work = (opened) => opened) {
  for (;;) {
    const answer = await askOnce(ui, { title, about, label, below, passkey }, open, work);
    if (answer !== FORGOTTEN) return answer;
    const other = await forgotten();
    if (other) return other.instead;
  }
}

function askOnce(ui, { title, about, label, below, passkey }, open, work) {
  return ui.ask(title, (done) => {
    const it = passphraseField('passphrase', t('passphrase.label'), '');
    const lost = button(t('passphrase.forgot'), 'quiet', () => done(FORGOTTEN));
    lost.hidden = true;
    const byPasskey = async () => {
      ui.announce(t('passkey.waiting'));
      const opened = await passkey().catch((err) => { throw err instanceof LocalizedError ? new Problem(err.message, it.input) : err; });
      done(await work(opened));
    };
    const content = (also) => [
      ...(passkey ? [h('div', { class: 'actions' }, also(t('passkey.use'), 'primary', byPasskey)), h('p', { class: 'hint' }, t('passkey.or'))] : []),
      it.node,
    ];
    return [
      about,
      form(content, passkey ? [label, 'plain'] : label, async () => {
        if (!it.input.value) throw new Problem(t('error.no_passphrase'), it.input);
        ui.announce(t('passphrase.unlocking'));
        try {
          done(await work(await open(it.input.value)));
        } catch (err) {
          if (!(err instanceof WrongPassphrase)) throw err;
          lost.hidden = false;
          throw new Problem(err.message, it.input);
        } finally {
          it.input.value = '';
        }
      }, button(t('common.back'), 'secondary', () => done(null)), lost),
      below,
    ];
  });
}
