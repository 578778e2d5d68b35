// The accounts of a recovery phrase (m/44'/501'/n'/0'): shown ten at a time, for the person to choose one.

import { Problem, button, form, h, notice } from './dom.js';
import { wipe } from './bytes.js';
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
  for (let from = 0, holds = [], trouble = ''; ;) {
    const addresses = [];
    for (let n = from; n < from + PAGE; n++) {
      const account = await accountAt(seed, n);
      wipe(account.pkcs8);
      addresses.push(account.address);
    }
    const answer = await choose(ui, { from, addresses, holds, inUse, trouble });
    if (answer === null || typeof answer === 'number') return answer;
    trouble = '';
    if (answer === 'more') {
      from += PAGE;
      holds = [];
      continue;
    }
    ui.wait('Looking for accounts in use');
    try {
      const said = await inUse(addresses);
      if (!Array.isArray(said) || said.length !== addresses.length) throw new Error('The server sent something unexpected.');
      holds = said.map((one) => one === true);
    } catch (err) {
      trouble = err.message;
    }
  }
}

function choose(ui, { from, addresses, holds, inUse, trouble }) {
  return ui.ask('Which account?', (done) => {
    const looked = holds.length > 0;
    const only = holds.filter(Boolean).length === 1 ? holds.indexOf(true) : -1;
    const choices = addresses.map((address, i) => h('label', { class: 'choice' },
      h('input', { type: 'radio', name: 'account', value: address, 'aria-label': `Account ${from + i + 1}, ending in ${lastSix(address)}`, checked: i === only }),
      h('span', null, shown(address),
        h('span', { class: 'hint' }, `Account ${from + i + 1} · m/44’/501’/${from + i}’/0’${looked ? holds[i] ? ' · holds SOL' : ' · no SOL' : ''}`))));
    const inputs = choices.map((label) => label.querySelector('input'));
    return [
      trouble && notice('warn', h('p', null, trouble)),
      looked && only < 0 && !holds.includes(true) && notice('note', 'None of these holds SOL. An account with only tokens on it is not found this way.'),
      form(h('fieldset', null, h('legend', null, 'Accounts of these words'), choices), 'Continue', () => {
        const at = inputs.findIndex((input) => input.checked);
        if (at < 0) throw new Problem('Choose one of these accounts.', inputs[0]);
        done(from + at);
      },
      ...(inUse && !looked ? [button('Find used accounts', 'secondary', () => done('look'))] : []),
      ...(from + PAGE < MOST ? [button('Show 10 more', 'secondary', () => done('more'))] : []),
      button('Back', 'secondary', () => done(null))),
      !looked && h('p', { class: 'hint' }, inUse
        ? '“Find used accounts” asks this server which of the addresses above hold SOL. The server and its Solana node then know that they belong together.'
        : 'To let this page look which of them hold SOL, open a link of /wallet new and restore there.'),
    ];
  });
}
