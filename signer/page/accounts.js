// The accounts of a recovery phrase (m/44'/501'/n'/0'): shown ten at a time, for the person to choose one.

import { Problem, button, errorText, form, h, notice } from './dom.js';
import { wipe } from './bytes.js';
import { LocalizedError, t } from './catalogue.js';
import { accountAt } from './mnemonic.js';
import { address as shown } from './parts.js';
import { lastSix } from './text.js';

const PAGE = 10; // as many as the server is asked about at once
const MOST = 100;

/**
 * Lets the person choose an account of a seed; resolves to its number (from 0), or to null to go back. `inUse`
 * resolves, for up to ten addresses, to whether each holds SOL; null where nobody can be asked. It is called
 * only when the person presses the button: whoever is asked learns that the addresses belong together.
 */
export async function chooseAccount(ui, seed, inUse) {
  for (let from = 0, holds = [], failure = null; ;) {
    const addresses = [];
    for (let n = from; n < from + PAGE; n++) {
      const account = await accountAt(seed, n);
      wipe(account.pkcs8);
      addresses.push(account.address);
    }
    const answer = await choose(ui, { from, addresses, holds, inUse, failure });
    if (answer === null || typeof answer === 'number') return answer;
    failure = null;
    if (answer === 'more') {
      from += PAGE;
      holds = [];
      continue;
    }
    ui.wait(t('accounts.looking'));
    try {
      const answer = await inUse(addresses);
      if (!Array.isArray(answer) || answer.length !== addresses.length) throw new LocalizedError('error.unexpected_answer');
      holds = answer.map((one) => one === true);
    } catch (err) {
      failure = err;
    }
  }
}

function choose(ui, { from, addresses, holds, inUse, failure }) {
  return ui.ask(t('accounts.title'), (done) => {
    const looked = holds.length > 0;
    const only = holds.filter(Boolean).length === 1 ? holds.indexOf(true) : -1;
    const choices = addresses.map((address, i) => h('label', { class: 'choice' },
      h('input', { type: 'radio', name: 'account', value: address, 'aria-label': t('accounts.name', { place: from + i + 1, six: lastSix(address) }), checked: i === only }),
      h('span', null, shown(address),
        h('span', { class: 'hint' }, t(!looked ? 'accounts.row' : holds[i] ? 'accounts.row_used' : 'accounts.row_unused',
          { place: from + i + 1, path: t('accounts.path', { account: from + i }) })))));
    const inputs = choices.map((label) => label.querySelector('input'));
    return [
      failure && notice('warn', h('p', null, errorText(failure))),
      looked && only < 0 && !holds.includes(true) && notice('note', t('accounts.none_used')),
      form(h('fieldset', null, h('legend', null, t('accounts.legend')), choices), t('common.continue'), () => {
        const at = inputs.findIndex((input) => input.checked);
        if (at < 0) throw new Problem(t('accounts.choose_one'), inputs[0]);
        done(from + at);
      },
      ...(inUse && !looked ? [button(t('accounts.find'), 'secondary', () => done('look'))] : []),
      ...(from + PAGE < MOST ? [button(t('accounts.more', { count: PAGE }), 'secondary', () => done('more'))] : []),
      button(t('common.back'), 'secondary', () => done(null))),
      !looked && h('p', { class: 'hint' }, t(inUse ? 'accounts.find_hint' : 'accounts.find_bind')),
    ];
  });
}
