// Approving a step of staking: validator, amount and authorities come from the bytes. In a real Chromium.

import assert from 'node:assert/strict';
import { above, allText, it, offerAgain, onSign, server, what } from './browser.mjs';
import { memo } from './fixtures.mjs';
import { ADDRESS, NEW_STAKE, OLD_STAKE, STAKING, VALIDATOR, approve, payment, press, title } from './harness.mjs';

/** What each step shows before its buttons, what it must not show anywhere, and what the last screen says was signed. */
const SHOWS = {
  stake: { title: 'Stake this SOL?', parts: ['You stake', '2.00228288 SOL', 'vote account', VALIDATOR, 'Only this wallet can undelegate and withdraw it', 'The amount includes the deposit', '2.00228788 SOL', 'The validator calls itself', 'Elm'], not: ['Undelegate', 'withdraw from'], signed: `You stake2.00228288 SOLDelegated to the validator (vote account)${VALIDATOR}` },
  part: { title: 'Undelegate this stake?', parts: ['You undelegate', '1.5 SOL', OLD_STAKE.toBase58(), '2 other stake accounts', '0.00228288 SOL', '0.00228788 SOL'], not: ['The whole stake account', 'You stake'], signed: `You undelegate1.5 SOLFrom the stake account${OLD_STAKE.toBase58()}` },
  whole: { title: 'Undelegate this stake?', parts: ['You undelegate', 'The whole stake account', OLD_STAKE.toBase58(), '0.000005 SOL'], not: ['other stake account', '1.5 SOL'], signed: `You undelegateThe whole stake accountFrom the stake account${OLD_STAKE.toBase58()}` },
  withdraw: { title: 'Withdraw from this stake?', parts: ['You withdraw', '1.50228288 SOL', 'To this wallet itself', ADDRESS, OLD_STAKE.toBase58(), '0.000005 SOL'], not: ['Undelegate', VALIDATOR], signed: `You withdraw1.50228288 SOLTo this wallet itself${ADDRESS}` },
};

for (const [name, { title: heading, parts, not, signed }] of Object.entries(SHOWS)) {
  it(`staking: what is shown of ${name} comes from the bytes, and is signed`, () => {
    server.world.payment = payment({ steps: STAKING[name] });
    server.world.view = name === 'stake' ? { terms: { schema: 'stake/1', validator_name: 'Elm' }, app: 'Shop' } : {};
    return onSign(async (tab) => {
      await title(tab, heading);
      const decides = await above(tab, 'Approve');
      for (const part of parts) assert.ok(decides.includes(part), `${part} is not shown above the buttons: ${decides}`);
      // What the server says stands in one frame, under words that say so.
      const claimed = await tab.locator('.claimed').allTextContents();
      assert.deepEqual(claimed, name === 'stake' ? ['From the server, not part of the transactionThe validator calls itself: ElmRequested by the app: Shop'] : []);
      const whole = await allText(tab);
      for (const part of not) assert.ok(!whole.includes(part), `${part} is shown: ${whole}`);
      await approve(tab);
      await title(tab, 'Transaction signed');
      assert.deepEqual(await what(tab), [signed]);
      assert.equal(server.posted('/w/tx/signature').length, 1);
      assert.equal(server.world.status, 'signed');
    });
  });
}

it('staking: a name is the word of the server, and cannot pass for more', () => {
  server.world.payment = payment({ steps: STAKING.stake });
  server.world.view = { terms: { schema: 'stake/1', validator_name: 'Elm\n\u202everified' } };
  return onSign(async (tab) => {
    await title(tab, 'Stake this SOL?');
    const shown = await allText(tab);
    assert.ok(shown.includes(VALIDATOR) && !shown.includes('\u202e'), shown);
    assert.equal(await tab.locator('.claimed bdi').count(), 1, 'its direction is not kept apart from ours');
  });
});

it('staking: another validator at refresh is a change, and nothing is signed', () => {
  server.world.payment = payment({ steps: STAKING.stake });
  const [create, prepare, delegate] = STAKING.stake;
  const other = { ...delegate, keys: delegate.keys.map((k, i) => (i === 1 ? { ...k, pubkey: NEW_STAKE.constructor.default } : k)) };
  server.world.refreshed = { steps: [create, prepare, other] };
  return onSign(async (tab) => {
    await title(tab, 'Stake this SOL?');
    await approve(tab);
    await title(tab, 'Stop: the transaction was changed');
    assert.deepEqual(server.posted('/w/tx/signature'), []);
  });
});

it('staking: authorities of somebody else are refused', () => {
  const [create, prepare, delegate] = STAKING.stake;
  const data = Uint8Array.from(prepare.data);
  data[40] ^= 1; // within the withdrawer
  server.world.payment = payment({ steps: [create, { ...prepare, data: Buffer.from(data) }, delegate] });
  return onSign(async (tab) => {
    await title(tab, 'This page blocked the transaction');
    assert.ok((await allText(tab)).includes('gives control over the stake to somebody else'));
    await press(tab, 'Reject');
    assert.deepEqual(server.posted('/w/tx/signature'), []);
  });
});

/** Steps whose instruction at a place has another byte in its data, or another account. */
const bent = (steps, place, { byte, account }) => steps.map((step, i) => (i !== place ? step : {
  ...step,
  data: byte === undefined ? step.data : Buffer.from(step.data.map((b, at) => (at === byte ? b ^ 1 : b))),
  keys: step.keys.map((k, at) => (at === account ? { ...k, pubkey: NEW_STAKE.constructor.default } : k)),
}));
const ALIKE = 'the same amount to the same recipient';

for (const [name, again, others] of [
  ['stake', STAKING.again, [bent(STAKING.stake, 2, { account: 1 }), bent(STAKING.stake, 0, { byte: 76 })]],
  ['part', [...STAKING.part, memo('again')], [bent(STAKING.part, 3, { byte: 4 }), bent(STAKING.part.slice(2), 1, { account: 0 })]],
  ['whole', [...STAKING.whole, memo('again')], [bent(STAKING.whole, 0, { account: 0 })]],
  ['withdraw', [...STAKING.withdraw, memo('again')], [bent(STAKING.withdraw, 0, { byte: 4 }), bent(STAKING.withdraw, 0, { account: 0 })]],
]) {
  it(`staking: ${name} once more within a day is warned of, and another step is not`, () => {
    server.world.payment = payment({ steps: STAKING[name], reference: '' });
    return onSign(async (tab) => {
      await title(tab, SHOWS[name].title);
      await approve(tab);
      await title(tab, 'Transaction signed');
      await offerAgain(tab, { steps: again });
      await title(tab, SHOWS[name].title);
      assert.ok((await above(tab, 'Approve')).includes(ALIKE));
      for (const other of others) {
        await offerAgain(tab, { steps: other });
        await title(tab, SHOWS[name].title);
        assert.ok(!(await allText(tab)).includes(ALIKE), 'another step is taken for the same');
      }
    });
  });
}
