// Approving a payment: what is shown, what is refused, and what the server may answer.
// In a real Chromium, as a person uses it, against an honest and a hostile server.

import assert from 'node:assert/strict';
import { SystemProgram, PublicKey } from '@solana/web3.js';
import { BEFORE, EVE, above, allText, inSight, it, kept, offerAgain, on, onSign, server, text, what } from './browser.mjs';
import { transfer } from './fixtures.mjs';
import { ADDRESS, BOB, PASSPHRASE, PHONE, REFERENCE, SIGN, approve, compile, follow, payment, press, revisit, title } from './harness.mjs';
import { keep } from './keep.mjs';
import { ZERO_HASH, addr } from './wire.mjs';

it('sign: what is shown comes from the bytes, and the signature fits them', () => {
  server.world.rounds = 'real';
  server.world.payment = payment({ units: 450, micro: 20_000n });
  return onSign(async (tab) => {
    await title(tab, 'Approve this payment?');
    const shown = await allText(tab);
    for (const part of ['1.5 SOL', BOB, ADDRESS, 'Lunch, thank you', '0.000005009 SOL', '1.500005009 SOL', REFERENCE, 'Solana mainnet']) {
      assert.ok(shown.includes(part), `${part} is not shown: ${shown}`);
    }
    const decides = await above(tab, 'Approve');
    for (const part of ['1.5 SOL', BOB, 'Compare the whole address', '0.000005009 SOL', '1.500005009 SOL', 'Lunch, thank you', 'Solana mainnet']) {
      assert.ok(decides.includes(part), `${part} stands below the buttons: ${decides}`);
    }
    await tab.getByText('More details').click();
    assert.deepEqual(await tab.locator('main .address').evaluateAll((all) => all.map((a) => a.textContent)), [BOB, ADDRESS], 'the reference looks like an address');
    assert.ok((await text(tab)).includes(REFERENCE));
    assert.deepEqual(server.posted('/w/tx/refresh'), [], 'refreshed before approval');
    await approve(tab, 'not this one, no');
    await tab.getByRole('alert').filter({ hasText: 'does not unlock the wallet' }).waitFor();
    assert.equal(await tab.getByLabel('Passphrase', { exact: true }).inputValue(), '', 'a wrong passphrase stays');
    assert.deepEqual(server.posted('/w/tx/refresh'), [], 'refreshed without the passphrase');
    await tab.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
    await press(tab, 'Sign and send');
    await title(tab, 'Transaction signed');
    assert.ok((await allText(tab)).includes(server.world.signature), 'the signature that the server verified');
    assert.equal(server.posted('/w/tx/signature').length, 1);
    assert.equal(server.world.status, 'signed');
    assert.ok(!server.received.some((h) => h.text.includes(PASSPHRASE)));
  });
});

it('the answer to a payment is in reach without scrolling, whatever it says', async () => {
  const button = (tab, name) => tab.getByRole('button', { name, exact: true });
  for (const options of [{ ...PHONE }, { viewport: { width: 1280, height: 900 } }, { ...PHONE, viewport: { width: 320, height: 568 } }]) {
    server.reset();
    await onSign(async (tab) => {
      for (const pay of [payment(), payment({ note: 'm'.repeat(500), lamports: 18446744073709551615n })]) {
        server.reset();
        server.world.payment = pay;
        await follow(tab, server, SIGN);
        await title(tab, 'Approve this payment?');
        await tab.locator('.amount').getByText(pay.note.length > 99 ? '18446744073.709551615' : '1.5').waitFor();
        assert.ok(await inSight(button(tab, 'Approve')) && await inSight(button(tab, 'Reject')), JSON.stringify(options.viewport));
        assert.ok(await inSight(tab.locator('.amount')) && await inSight(tab.locator('.to')), 'the buttons hide sum or recipient');
        await tab.locator('details').scrollIntoViewIfNeeded();
        const [bar, fold] = await Promise.all(['.sticky', 'summary'].map((s) => tab.locator(s).boundingBox()));
        assert.ok(fold.y >= bar.y + bar.height || fold.y + fold.height <= bar.y, 'the buttons stand on what is scrolled to');
      }
    }, options);
  }
});

it('test money is called that, and no paragraph about real money stands in the way', () => {
  server.world.chain = 'devnet';
  return onSign(async (tab) => {
    await title(tab, 'Approve this payment?');
    const decides = await above(tab, 'Approve');
    assert.match(decides, /devnet \(test money\)/);
    assert.doesNotMatch(decides, /real money|which network/);
    assert.match(await allText(tab), /A signature does not say which network it is for/);
  });
});

it('a legacy message without note, reference and budget is signed as well', () => {
  server.world.payment = payment({ note: '', reference: '', v0: false, lamports: 1n });
  return onSign(async (tab) => {
    await title(tab, 'Approve this payment?');
    const shown = await allText(tab);
    assert.ok(shown.includes('0.000000001 SOL') && !shown.includes('Note') && !shown.includes('reference'), shown);
    await approve(tab);
    await title(tab, 'Transaction signed');
    await offerAgain(tab, { lamports: 2n }); // two payments without a reference are not one
    await title(tab, 'Approve this payment?');
    await offerAgain(tab, { lamports: 1n });
    await title(tab, BEFORE);
  });
});

it('a swapped recipient is shown as the recipient', () => {
  server.world.payment = payment({ to: EVE });
  return onSign(async (tab) => {
    await title(tab, 'Approve this payment?');
    const shown = await allText(tab);
    assert.ok(shown.includes(EVE) && !shown.includes(BOB), shown);
  });
});

it('what is no plain payment is refused, and can be turned down', async () => {
  const bytes = (p) => Buffer.from(compile(payment(p), ZERO_HASH)).toString('base64');
  const assign = SystemProgram.assign({ accountPubkey: new PublicKey(ADDRESS), programId: new PublicKey(EVE) });
  const hostile = {
    too_many_actions: bytes({ extra: [transfer(5, { from: ADDRESS, to: EVE })] }),
    unknown_instruction: bytes({ extra: [assign] }),
    memo: bytes({ note: 'pay \u202eecila' }),
    budget: bytes({ units: 1_000_000, micro: 2_000_000n }),
    signers: bytes({ payer: EVE }),
    malformed: `${Buffer.from([...compile(payment(), ZERO_HASH), 0]).toString('base64')}`,
    version: Buffer.from([0x81, ...compile(payment(), ZERO_HASH).subarray(1)]).toString('base64'),
  };
  await onSign(async (tab) => {
    for (const [code, message] of Object.entries(hostile)) {
      server.reset();
      server.world.rawMessage = message;
      await follow(tab, server, SIGN);
      await title(tab, 'This page blocked the transaction');
      await tab.locator('main').getByText(code, { exact: true }).waitFor();
      if (code === 'version') assert.match(await text(tab), /a version 1 transaction\. This page only signs legacy and version 0 transactions/);
      assert.equal(await tab.getByRole('button', { name: 'Approve' }).count(), 0);
      await press(tab, 'Reject');
      await title(tab, 'Rejected');
      assert.deepEqual([server.posted('/w/tx/refresh'), server.posted('/w/tx/signature')], [[], []], code);
      assert.equal(server.world.status, 'rejected');
    }
  });
});

it('a change at refresh is refused with a warning, and nothing is signed', async () => {
  const changes = {
    'another amount': (w) => { w.refreshed = { lamports: 1_500_000_001n }; },
    'another recipient': (w) => { w.refreshed = { to: EVE }; },
    'another reference': (w) => { w.refreshed = { reference: addr(0x5f) }; },
    'another note': (w) => { w.refreshed = { note: 'Lunch, thank you!' }; },
    'a priority fee': (w) => { w.refreshed = { units: 450, micro: 1n }; },
    'another transfer': (w) => { w.refreshed = { extra: [transfer(5, { from: ADDRESS, to: EVE })] }; },
    'another format': (w) => { w.refreshed = { v0: false }; },
    'another wallet': (w) => { w.refreshView = { address: BOB }; },
    'another network': (w) => { w.refreshView = { chain: 'devnet' }; },
    'no blockhash': (w) => { w.blockhash = ZERO_HASH; },
  };
  await onSign(async (tab) => {
    for (const [name, change] of Object.entries(changes)) {
      server.reset();
      change(server.world);
      await follow(tab, server, SIGN);
      await approve(tab);
      await title(tab, 'Stop: the transaction was changed');
      assert.match(await text(tab), /Nothing was signed/, name);
      assert.equal(server.posted('/w/tx/refresh').length, 1, name);
      assert.deepEqual(server.posted('/w/tx/signature'), [], name);
    }
  });
});

it('an answer of another shape is refused', async () => {
  for (const view of [{ message: 'AAAA' }, { message: '@@' }, { status: 5 }, { chain: 'moon' }, { address: 'x' }, { expires_at: 'soon' }, { status: 'signed' }]) {
    server.reset();
    server.world.refreshView = view;
    await onSign(async (tab) => {
      await approve(tab);
      await tab.getByText(/unexpected|Stop: the transaction was changed/).first().waitFor();
      assert.deepEqual(server.posted('/w/tx/signature'), [], JSON.stringify(view));
    });
  }
});

it('a lost answer to the signature: the same signature again, and no second one', () => onSign(async (tab) => {
  server.world.drop['/w/tx/signature'] = 2;
  await approve(tab);
  for (let i = 0; i < 2; i++) {
    await title(tab, 'No answer from the server');
    await press(tab, 'Send again');
  }
  await title(tab, 'Transaction signed');
  const sent = server.posted('/w/tx/signature');
  assert.equal(sent.length, 3);
  assert.equal(new Set(sent.map((s) => JSON.stringify(s))).size, 1);
  assert.equal(server.posted('/w/tx/refresh').length, 1);
}));

it('a server error is no verdict: it can be tried again', () => onSign(async (tab) => {
  server.world.fail['/w/tx/refresh'] = { status: 503, code: 'NETWORK_ERROR', message: 'x' };
  await approve(tab);
  await tab.getByRole('alert').filter({ hasText: 'did not answer' }).waitFor();
  server.world.fail = {};
  const field = tab.getByLabel('Passphrase', { exact: true });
  assert.equal(await field.inputValue(), '', 'the passphrase stays in its field');
  await field.fill(PASSPHRASE);
  await press(tab, 'Sign and send');
  await title(tab, 'Transaction signed');
}));

const CONFLICT = { status: 409, code: 'CONFLICT', message: 'This payment waits for no signature any more.' };

it('a refusal by a payment that has moved on ends with what became of it', () => onSign(async (tab) => {
  let payments = 0x70;
  await title(tab, 'Approve this payment?'); // what the first visit asks is not counted below
  for (const [path, status, heading] of [
    ['/w/tx/refresh', 'rejected', 'Rejected'], ['/w/tx/refresh', 'expired', 'Expired'], ['/w/tx/refresh', 'signed', 'Already signed'],
    ['/w/tx/signature', 'rejected', 'Rejected'], ['/w/tx/signature', 'confirmed', 'Confirmed'],
  ]) {
    server.reset();
    server.world.payment = payment({ reference: addr(++payments) }); // another one each time
    await follow(tab, server, SIGN);
    await title(tab, 'Approve this payment?');
    server.world.fail[path] = { ...CONFLICT, then: status };
    await approve(tab);
    await title(tab, heading);
    assert.equal(await tab.getByRole('button').count(), 0, `${path}: something can still be pressed`);
    assert.equal(await tab.locator('input').count(), 0, `${path}: the passphrase is still asked for`);
    assert.ok(server.posted('/w/tx/get').length >= 2, path); // one that is on its way is asked after again
  }
  server.reset();
  await follow(tab, server, SIGN);
  await title(tab, 'Approve this payment?');
  server.world.fail['/w/tx/reject'] = { ...CONFLICT, then: 'expired' };
  await press(tab, 'Reject');
  await title(tab, 'Expired');
}));

it('a refused blockhash of a payment that still waits: the whole way again, or a rejection', () => onSign(async (tab) => {
  const busy = { status: 429, code: 'RATE_LIMIT_EXCEEDED', message: 'Too often: try again in a minute.' };
  server.world.fail['/w/tx/refresh'] = busy;
  await approve(tab);
  await title(tab, 'It was not signed');
  assert.match(await text(tab), /Too often: try again in a minute/);
  server.world.fail = {};
  await press(tab, 'Try again');
  await title(tab, 'Approve this payment?');
  server.world.fail['/w/tx/refresh'] = busy;
  await approve(tab);
  await title(tab, 'It was not signed');
  await press(tab, 'Reject');
  await title(tab, 'Rejected');
  assert.deepEqual(server.posted('/w/tx/signature'), []);
}));

it('a refusal with nothing more to learn stands for itself', () => onSign(async (tab) => {
  await title(tab, 'Approve this payment?');
  Object.assign(server.world.fail, { '/w/tx/refresh': CONFLICT, '/w/tx/get': { status: 503, code: 'INTERNAL', message: 'x' } });
  await approve(tab);
  await title(tab, 'This link no longer works');
  assert.match(await text(tab), /waits for no signature any more/);
  assert.deepEqual(server.posted('/w/tx/signature'), []);
}));

it('a refused signature says to look in the chat', () => onSign(async (tab) => {
  server.world.fail['/w/tx/signature'] = { status: 409, code: 'CONFLICT', message: 'The time to sign is over.' };
  await approve(tab);
  await title(tab, 'The server rejected the signature');
  assert.match(await text(tab), /time to sign is over[^]*before you start it again/);
  assert.equal(await tab.getByRole('button').count(), 0, 'a second signature could be given');
}));

it('reject asks for no passphrase and signs nothing', () => onSign(async (tab) => {
  await press(tab, 'Reject');
  await title(tab, 'Rejected');
  assert.deepEqual(server.posted('/w/tx/reject'), [{ id: SIGN.slice(3) }]);
  assert.deepEqual(server.posted('/w/tx/signature'), []);
}));

it('a transaction that waits for no signature says what became of it', () => on('', async (tab) => {
  for (const [status, heading] of Object.entries({
    awaiting_confirmation: 'Not confirmed yet', signed: 'Already signed', pending: 'On its way',
    confirmed: 'Confirmed', failed: 'Transaction failed', rejected: 'Rejected', expired: 'Expired', toString: 'Nothing to sign', '<b>': 'Nothing to sign',
  })) {
    server.world.status = status;
    await follow(tab, server, SIGN);
    await title(tab, heading);
    assert.equal(await tab.getByRole('button').count(), 0);
  }
}));

it('the last screen says what was signed, and a link opened later what this device remembers of its signature: never what the server says', () => {
  const lunch = [`1.5 SOLTo${BOB}`];
  server.world.view = { contact: 'Mallory', label: 'Mallory', app: 'Mallory' };
  return onSign(async (tab) => {
    const later = async (signature, status = 'confirmed', heading = 'Confirmed') => {
      Object.assign(server.world, { status, view: { ...server.world.view, signature } });
      await follow(tab, server, SIGN);
      await title(tab, heading);
      assert.doesNotMatch(await allText(tab), /Mallory/);
      return what(tab);
    };
    await approve(tab);
    await title(tab, 'Transaction signed');
    assert.deepEqual(await what(tab), lunch);
    server.world.status = 'confirmed';
    await title(tab, 'Confirmed');
    assert.deepEqual(await what(tab), lunch);
    assert.match(await allText(tab), /Solana has confirmed the transaction\./);

    const { signature } = server.world;
    assert.doesNotMatch(await allText(tab), /You signed on this device/, 'it was signed just now');
    assert.deepEqual(await later(signature), lunch);
    assert.match(await allText(tab), /You signed on this device today at \d\d:\d\d/);
    assert.deepEqual(await later(signature, 'failed', 'Transaction failed'), lunch);
    // “Nothing was sent”, says the server: what was signed is no witness for that.
    for (const [status, heading] of [['expired', 'Expired'], ['rejected', 'Rejected']]) assert.deepEqual(await later(signature, status, heading), []);
    for (const [code, shown] of [['BLOCKHASH_EXPIRED', []], ['CHAIN_ERROR', lunch]]) {
      server.world.view = { ...server.world.view, error_code: code };
      assert.deepEqual(await later(signature, 'failed', 'Transaction failed'), shown);
    }
    delete server.world.view.error_code;
    for (const unknown of ['', `1${signature.slice(1)}`]) assert.deepEqual(await later(unknown), []);
    assert.deepEqual(await later(signature, 'signed', 'Already signed'), lunch);
    Object.assign(server.world, { status: 'confirmed', view: { signature: `1${signature.slice(1)}` } }); // while the page follows it
    await title(tab, 'Confirmed');
    assert.deepEqual(await what(tab), []);

    server.world.view = {};
    await offerAgain(tab, { lamports: 7n }); // the same reference
    await title(tab, BEFORE);
    await press(tab, 'Resend signature');
    await title(tab, 'Transaction signed');
    assert.deepEqual(await what(tab), lunch, 'another payment is shown than was signed');
    const { shown, ...older } = (await kept(tab))[0][0];
    await keep(tab, 'signed', older);
    assert.deepEqual(await later(signature), []);
  });
});

it('expiry between showing and signing is told, not signed', () => onSign(async (tab) => {
  await title(tab, 'Approve this payment?');
  server.world.status = 'expired';
  await approve(tab);
  await title(tab, 'Expired');
  assert.deepEqual(server.posted('/w/tx/signature'), []);
}));

it('the names of contact, app and payment link stand apart, marked as the server\'s word', () => {
  server.world.view = { contact: 'Bob\u202e <img src=x>', app: 'Shop', label: 'Coffee <b>', bot: 'purser_bot' };
  return onSign(async (tab) => {
    await title(tab, 'Approve this payment?');
    const said = (await tab.locator('.claimed').innerText()).replace(/\s+/g, ' ');
    assert.equal(said, 'From the server, not part of the transaction Your contact: Bob\ufffd <img src=x> Requested by the app: Shop Name in the payment link: Coffee <b>');
    assert.ok((await above(tab, 'Approve')).includes(BOB));
    server.world.view = { label: 'Sandbox Coffee' }; // the link of a shop whose address is no contact
    await follow(tab, server, SIGN);
    await title(tab, 'Approve this payment?');
    await tab.locator('.claimed', { hasText: 'Name in the payment link: Sandbox Coffee' }).waitFor();
    server.world.view = { key_hint: '1a2b' }; // a key without an app
    await follow(tab, server, SIGN);
    await title(tab, 'Approve this payment?');
    await tab.locator('.claimed', { hasText: 'Requested with the API key that ends in 1a2b' }).waitFor();
    server.world.view = { contact: 7, app: null, key_hint: 12, label: {} };
    await follow(tab, server, SIGN);
    await title(tab, 'Approve this payment?');
    await tab.locator('.claimed').waitFor({ state: 'detached' });
  });
});

it('a signed payment is followed to its end, with a way back to the chat', () => {
  server.world.view = { bot: 'purser_bot' };
  return onSign(async (tab) => {
    const done = () => tab.locator('.steps .done').allTextContents();
    await approve(tab);
    await title(tab, 'Transaction signed');
    assert.deepEqual(await done(), ['Signed']);
    const link = tab.getByRole('link', { name: 'Back to chat' });
    assert.deepEqual([await link.getAttribute('href'), await link.getAttribute('rel')], ['https://t.me/purser_bot', 'noreferrer']);
    server.world.fail['/w/tx/get'] = { status: 503, code: 'X', message: 'x' }; // one look without an answer is no end
    await tab.waitForResponse('**/w/tx/get');
    server.world.fail = {};
    server.world.status = 'pending';
    await tab.locator('.steps .done').filter({ hasText: 'Sent to Solana' }).waitFor();
    assert.match(await tab.locator('#status').textContent(), /Solana has received the transaction/);
    await title(tab, 'On its way');
    assert.match(await tab.title(), /^On its way/);
    server.world.view.held = true;
    await tab.locator('main').getByText('Nobody can tell yet').waitFor();
    server.world.status = 'confirmed';
    await title(tab, 'Confirmed');
    assert.ok((await allText(tab)).includes(server.world.signature) && await link.count() === 1);
    server.world.status = 'signed';
    await follow(tab, server, SIGN);
    await title(tab, 'Already signed');
    for (const refusal of [{ status: 404, code: 'NOT_FOUND', message: 'Gone.' }, { status: 403, code: 'POLICY_VIOLATION', message: 'Frozen.' }]) {
      server.world.fail['/w/tx/get'] = refusal;
      await tab.locator('main').getByText('The chat shows when it is confirmed').waitFor();
      assert.doesNotMatch(await text(tab), /This page and the chat show/);
      server.world.fail = {};
      await revisit(tab, server, SIGN);
      await title(tab, 'Already signed');
    }
    for (const [code, says] of [['BLOCKHASH_EXPIRED', /did not reach Solana in time\. Nothing was paid/], ['CHAIN_ERROR', /Solana rejected the transaction/], ['toString', /The transaction failed\. The chat shows why/]]) {
      Object.assign(server.world, { status: 'signed', view: { bot: 'evil/../x', error_code: code } });
      await follow(tab, server, SIGN);
      await title(tab, 'Already signed');
      server.world.status = 'failed';
      await title(tab, 'Transaction failed');
      assert.match(await text(tab), says);
      assert.equal(await link.count(), 0, 'a link that the page did not check');
      assert.match(await text(tab), /Go back to the chat/);
    }
  });
});
