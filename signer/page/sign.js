// Approving a transaction: decode its bytes, show them, unlock, take a fresh blockhash, make sure
// that nothing else changed, sign, hand over. Nothing that decides is shown on the server's word.

import { chooseAccount, inApp } from './apps.js';
import { button, copyButton, foreign, h, mark, notice } from './dom.js';
import { encode } from './base58.js';
import { sha256, toBase64, toHex } from './bytes.js';
import { restoreWallet } from './create.js';
import { networkOf, noteSigned, pinNetwork, signedBefore } from './history.js';
import { Refusal, TOKEN_2022, decode } from './decode.js';
import { Misbehaved, signTransaction } from './external.js';
import { CHAINS, NETWORKS, check } from './offer.js';
import { followUp, showStatus } from './outcome.js';
import { address as shown, askPassphrase, rows } from './parts.js';
import { sign, unlockKey } from './seal.js';
import * as server from './server.js';
import { associatedAccount } from './associated.js';
import { amount, clock, day, plain, sol } from './text.js';
import { listed } from './tokens.js';
import * as vault from './vault.js';

const ZERO_HASH = '1'.repeat(32);
// What a new token account is made with at most, in lamports: 6960 for each byte and for 128 besides. One
// of the older program has 165 bytes, one of Token-2022 up to 264, with every extension that its mint can
// ask of it (chain/tokenlayout.go counts them).
const DEPOSIT = { units: 2_039_280n, about: '0.002 SOL' };
const DEPOSIT_2022 = { units: 2_728_320n, about: '0.002 to 0.003 SOL' };

/** The server's answers do not belong together: somebody may be trying to change the payment. */
class Changed extends Error {}

/** Another tab signed this payment while this one was being read. */
class SignedMeanwhile extends Error {}

const RESTORED = { step: 'One step left: approve the payment.', label: 'Show the payment' };

/** The flow behind #s=<id>; `link` is the whole link, `able` whether this browser can hold a key itself. */
export async function signFlow(ui, id, link = '', able = true) {
  ui.wait('Reading the transaction');
  const offer = check(await server.getTransaction(id));
  if (offer.message === null) return showStatus(ui, id, offer);
  let facts;
  let pay;
  try {
    facts = await decode(offer.message, offer.address);
    pay = await payment(facts, offer);
  } catch (err) {
    if (!(err instanceof Refusal)) throw err;
    return refuse(ui, id, err);
  }

  const record = { intent: facts.intent, reference: pay.reference, address: offer.address, paid: pay.paid };
  const known = await recall(record);
  if (known.same) {
    const answer = await signedAlready(ui, pay, known.same);
    if (answer === 'reject') return reject(ui, id);
    if (answer === 'again') return handOver(ui, id, again(id, known.same), offer.bot);
  }

  let wallet = able ? await vault.find(offer.address) : null;
  const external = wallet === null && (offer.external || !able);
  while (wallet === null && !external) {
    if ((await elsewhere(ui, offer, facts, pay, link)) === 'reject') return reject(ui, id);
    await restoreWallet(ui, { needed: offer.address, next: RESTORED });
    wallet = await vault.find(offer.address);
  }

  if (wallet !== null && known.forgetful) return signFlow(ui, id, link, able); // the browser keeps something after all

  let approved = null;
  while (approved === null) {
    if ((await review(ui, offer, facts, pay, known)) === 'reject') return reject(ui, id);
    approved = external ? await approveInApp(ui, id, offer, facts, link, known) : await approve(ui, id, offer, facts, pay, wallet, known);
    if (approved === null && !external) wallet = (await vault.find(offer.address)) ?? wallet; // it may have another passphrase now
  }
  if (approved instanceof SignedMeanwhile) return signFlow(ui, id, link, able);
  if (approved instanceof Changed) return warn(ui, approved);
  if (approved instanceof server.Refused) return notRefreshed(ui, id, approved, () => signFlow(ui, id, link, able));
  if (approved.message === null) return showStatus(ui, id, approved);
  return handOver(ui, id, approved, offer.bot);
}

/**
 * What this device knows of a payment; `forgetful` where the browser keeps nothing (its wallets are then apps of their
 * own). Where the wallets can be read, a history that cannot is a failure: nothing is signed without it.
 */
async function recall(record) {
  try {
    return { record, ...(await signedBefore(record)), network: await networkOf(record.address), forgetful: false };
  } catch (err) {
    if (await vault.find(record.address).then(() => true, () => false)) throw err;
    return { record, same: null, alike: null, network: null, forgetful: true };
  }
}

/** The very signature that was given before, to be handed over once more. */
function again(id, { signature, handed }) {
  return {
    signature,
    send: () => (handed.transaction ? server.sendSigned(id, handed.transaction) : server.sendSignature(id, handed.sha256, signature)),
  };
}

/** What the page knows of a payment that was signed here before, and what to do about it: again, second or reject. */
function signedAlready(ui, pay, same) {
  return ui.ask('You signed this payment before', (done) => [
    mark('stop'),
    notice('danger', h('p', null, h('strong', null, `This device signed this payment ${day(same.at)}, and the server asks for it again.`)),
      'If two signatures of one payment reach Solana, you may pay twice.'),
    h('div', { class: 'card pay small' }, deed(pay, {})),
    h('p', null, 'Sending the same signature again is safe: Solana takes it once. Sign a second time only if the chat and an explorer show that the first one failed.'),
    h('div', { class: 'actions' },
      button('Send same signature', 'primary', () => done('again')),
      button('Reject payment', 'secondary', () => done('reject')),
      button('Sign a second time', 'danger', () => done('second'))),
    rows(['The first signature', h('small', { class: 'wrap', translate: 'no' }, same.signature)]),
  ]);
}

/** What speaks against a payment by what this device remembers: notices, and whether any is red. */
function cautions(offer, { same, alike, network, forgetful }) {
  const list = [];
  if (network && network !== offer.chain) {
    list.push(notice('danger', h('p', null, h('strong', null, `The network changed. This wallet is used on ${NETWORKS[network]}, and the server now says ${NETWORKS[offer.chain]}.`)),
      `A signature works on every network. ${network === 'mainnet' ? 'Read this amount as real money' : 'Make sure that you mean real money'}, and ask the operator of the bot before you approve.`));
  }
  if (same) {
    list.push(notice('danger', h('p', null, h('strong', null, `You signed this payment before, ${day(same.at)}.`)), 'A second signature may pay it twice.'));
  }
  const red = list.length > 0;
  if (alike) {
    list.push(notice('warn', `You signed a payment of the same amount to the same recipient ${day(alike.at)}. Approve this one only if you want to pay again.`));
  }
  if (forgetful) list.push(notice('warn', 'This browser keeps nothing, so this page cannot tell whether you signed this payment before.'));
  return { list, red };
}

/**
 * What a decoded transaction pays, as it is shown: {amount, symbol ("" for a token that is not known
 * here), mint, to (the owner, or ""), account, deposit (of a token account that it makes, or null), lamports
 * (that leave at most, the fee apart), reference, paid (what, how much and to which account, as one text to
 * compare by)}. The recipient of tokens is shown where the bytes, or the
 * account's own derivation from what the server claims, prove it. Throws a Refusal.
 */
async function payment(facts, { chain, recipient }) {
  const sent = facts.actions.find((a) => a.type === 'transfer');
  if (sent) return { amount: sol(sent.lamports), symbol: 'SOL', to: sent.to, lamports: BigInt(sent.lamports), reference: sent.reference, paid: `SOL ${sent.lamports} ${sent.to}` };
  const { units, decimals, mint, program, account, reference, to } = facts.actions.find((a) => a.type === 'token_transfer');
  const token = listed(chain, mint);
  if (token && token.decimals !== decimals) {
    throw new Refusal('wrong_decimals', `it counts ${token.symbol} with ${decimals} decimals, and there are ${token.decimals}`);
  }
  const proven = to || (recipient && (await associatedAccount(recipient, mint, program)) === account ? recipient : '');
  const creates = facts.actions.some((a) => a.type === 'create_account');
  const deposit = !creates ? null : program === TOKEN_2022 ? DEPOSIT_2022 : DEPOSIT;
  return {
    amount: amount(units, decimals), symbol: token ? token.symbol : '', mint, to: proven, account, reference, deposit, paid: `${mint} ${units} ${account}`,
    lamports: deposit ? deposit.units : 0n,
  };
}

const sum = (pay) => h('p', { class: 'amount' }, pay.amount, h('span', { class: 'unit' }, pay.symbol ? ` ${pay.symbol}` : ' of an unknown token'));

const target = (pay) => h('p', { class: 'to' }, shown(pay.to || pay.account));

/** What is paid to whom. Warnings stand beside what they warn of, never below the buttons. */
const deed = (pay, offer) => [
  h('p', { class: 'label' }, 'You send'),
  sum(pay),
  pay.mint && !pay.symbol && [
    notice('warn', 'This page does not know the token. Anybody can make a token and call it anything: make sure that the mint is the right one.'),
    h('p', { class: 'label' }, 'Token (mint)'), h('p', null, shown(pay.mint))],
  h('p', { class: 'label' }, pay.to ? 'To' : 'To the token account'),
  target(pay),
  (offer.contact || offer.app) && h('div', { class: 'said' },
    h('p', { class: 'label' }, 'The server says (not part of the transaction)'),
    offer.contact && h('p', null, 'Your contact: ', foreign(offer.contact, 64)),
    offer.app && h('p', null, 'Asked for by the app: ', foreign(offer.app, 64))),
  !pay.to && notice('warn', 'The transaction does not tell whose token account this is. Approve only if you know it.'),
].flat();

/** What it costs, where, and what is written on it, as pairs for rows. */
function terms(offer, facts, pay, network = null) {
  const note = facts.actions.find((a) => a.type === 'memo');
  const most = `${sol(pay.lamports + BigInt(facts.fee))} SOL`;
  return [
    ['Network fee', `${sol(facts.fee)} SOL`],
    pay.deposit && ['New token account', `The recipient has no account for this token yet. Making it costs ${pay.deposit.about}, once; it stays with them.`],
    ['You pay at most', pay.mint ? `${pay.amount} ${pay.symbol || 'of this token'} and ${most}` : most],
    ['Network', network && network !== offer.chain ? `${NETWORKS[offer.chain]}, says the server` : CHAINS[offer.chain]],
    note && ['Note', foreign(note.text, 512)],
  ];
}

/** What else there is to know, folded. A reference is no address: its end is not for comparing. */
function more(offer, pay, first = []) {
  return h('details', null, h('summary', null, 'More about this payment'),
    rows(
      ...first,
      ['From your wallet', shown(offer.address)],
      pay.mint && pay.symbol && ['Token (mint)', h('small', null, shown(pay.mint))],
      pay.reference && ['Payment reference', h('small', { class: 'wrap', translate: 'no' }, pay.reference)],
      ['Sign before', clock(offer.expires)]),
    h('p', { class: 'hint' }, 'Until then the link in the chat opens it again, if you close this page.'),
    h('p', { class: 'hint' }, 'All this was read from the transaction itself, on this device; only network, time, contact and app are the server’s word.'),
    offer.chain !== 'mainnet' && h('p', { class: 'hint' }, 'A signature does not say which network it is for: if you doubt the server, read the sum as real money.'));
}

function review(ui, offer, facts, pay, known) {
  const { list, red } = cautions(offer, known);
  return ui.ask('Approve this payment?', (done) => [
    list,
    h('div', { class: 'card pay' },
      deed(pay, offer),
      h('p', { class: 'hint' }, 'Compare this whole address with the one you were given. A payment cannot be taken back.'),
      rows(...terms(offer, facts, pay, known.network))),
    h('div', { class: 'actions sticky' },
      button(red ? 'Approve anyway' : 'Approve', red ? 'primary destructive' : 'primary', () => done('approve')), button('Reject', 'danger', () => done('reject'))),
    more(offer, pay),
  ]);
}

/** The key is in another browser. Words are asked for only when the person says that it is lost. */
function elsewhere(ui, offer, facts, pay, link) {
  return ui.ask('A payment waits for you', (done) => [
    h('div', { class: 'card pay' }, deed(pay, offer)),
    notice('warn', h('p', null, h('strong', null, 'This wallet’s key is not in this browser.'), ' Open the link in the browser where you made the wallet.'),
      rows(['The wallet that pays', shown(offer.address)])),
    h('div', { class: 'actions' },
      copyButton('Copy link', link, 'primary'),
      button('Reject this payment', 'danger', () => done('reject'))),
    more(offer, pay, terms(offer, facts, pay)),
    h('div', { class: 'actions' }, button('I lost that browser: restore from my words', 'secondary', () => done('restore'))),
    h('p', { class: 'hint' }, 'Distrust any page that asks for your words by itself. This one asks only if you press this button.'),
  ]);
}

/**
 * Unlocks, refreshes, compares, signs. Resolves to {sha256, signature}, to an answer without message
 * when the transaction has moved on, to a Changed or SignedMeanwhile, to the server's Refused, or to null when the person
 * goes back or has restored the wallet.
 */
function approve(ui, id, offer, facts, pay, wallet, known) {
  return askPassphrase(ui, {
    title: 'Sign with your passphrase',
    about: h('div', { class: 'card pay small' },
      sum(pay),
      target(pay)),
    label: 'Sign and send',
    forgotten: async () => (await restoreWallet(ui, { needed: offer.address, next: RESTORED })) && { instead: null },
  }, async (passphrase) => {
    const key = await unlockKey(passphrase, wallet);
    let fresh;
    try {
      fresh = check(await server.refreshTransaction(id));
    } catch (err) {
      if (err instanceof server.Refused) return err;
      throw err;
    }
    if (fresh.message === null) return fresh;
    try {
      await compare(offer, facts, fresh);
      await notMeanwhile(known);
    } catch (err) {
      if (err instanceof Changed || err instanceof SignedMeanwhile) return err;
      throw err;
    }
    const hash = toHex(await sha256(fresh.message));
    const signature = encode(await sign(key, offer.address, fresh.message));
    if (!(await remember(offer, known, { signature, handed: { sha256: hash } }))) return new SignedMeanwhile();
    return { signature, send: () => server.sendSignature(id, hash, signature) };
  });
}

/**
 * Throws SignedMeanwhile when this payment was signed after the person was asked about it: no wallet app is asked in
 * vain then. Another tab may still come first until remember has noted the signature.
 */
async function notMeanwhile({ record, same, forgetful }) {
  if (forgetful) return;
  const now = await signedBefore(record);
  if (now.same?.signature !== same?.signature) throw new SignedMeanwhile();
}

/**
 * Notes what was signed, and the network of a wallet that has none yet, before the signature leaves this page.
 * Resolves to whether it may leave: not when another tab has signed the payment meanwhile.
 */
async function remember(offer, { record, same, network, forgetful }, given) {
  if (forgetful) return true;
  if (!(await noteSigned({ ...record, ...given }, same))) return false;
  if (network === null) await pinNetwork(offer.address, offer.chain);
  return true;
}

/** Like approve, with a wallet app instead of the passphrase. */
async function approveInApp(ui, id, offer, facts, link, known) {
  const chosen = await chooseAccount(ui, { chain: offer.chain, link, only: offer.address });
  if (chosen === null) return null;
  ui.wait('Preparing the payment');
  let fresh;
  try {
    fresh = check(await server.refreshTransaction(id));
    if (fresh.message === null) return fresh;
    await compare(offer, facts, fresh);
    await notMeanwhile(known);
  } catch (err) {
    if (err instanceof server.Refused || err instanceof Changed || err instanceof SignedMeanwhile) return err;
    throw err;
  }
  let signed;
  try {
    signed = await inApp(ui, chosen.app.name, 'Compare amount and recipient there with what this page showed, and sign within about half a minute. If it takes longer, this page asks you to sign again.',
      signTransaction(chosen.app, chosen.account, fresh.message, offer.chain));
  } catch (err) {
    await notInApp(ui, chosen.app.name, err);
    return null;
  }
  if (signed === null) return null;
  // The app does not broadcast, so what came too late was given to nobody and can simply be signed anew.
  if (!(await inTime(id))) return (await tooLate(ui)) ? approveInApp(ui, id, offer, facts, link, known) : null;
  const signature = encode(signed.slice(1, 65));
  const transaction = toBase64(signed);
  if (!(await remember(offer, known, { signature, handed: { transaction } }))) return new SignedMeanwhile();
  return { signature, send: () => server.sendSigned(id, transaction) };
}

/** How many blocks a signature needs to get to the network: some seconds, however short slots become. */
const SPARE_BLOCKS = 20;

/** Whether what was just signed can still land, by the height of the chain. Unknown counts as yes: the server will tell. */
async function inTime(id) {
  try {
    const { blocks_left: left } = await server.blocksLeft(id);
    return !(Number.isFinite(left) && left < SPARE_BLOCKS);
  } catch {
    return true;
  }
}

/** Resolves to whether to sign again. */
function tooLate(ui) {
  return ui.ask('That took too long', (done) => [
    notice('warn', 'Solana takes a transaction only within 150 blocks after it was prepared, which is about half a minute. This one is too old, so it was not sent.'),
    h('p', null, 'Nothing was paid. Sign it again, and confirm it in the wallet app soon after it asks.'),
    h('div', { class: 'actions' },
      button('Sign again', 'primary', () => done(true)), button('Back', 'secondary', () => done(false))),
  ]);
}

/** The app said no, or did something else than it was asked to. */
function notInApp(ui, name, err) {
  const bad = err instanceof Misbehaved;
  return ui.ask(bad ? 'Stop: the wallet app changed the payment' : 'Not signed', (done) => [
    bad && mark('stop'),
    notice(bad ? 'danger' : 'warn', bad ? plain(err.message, 300) : `${name} did not sign.`),
    h('p', null, 'Nothing was sent.'),
    h('div', { class: 'actions' }, button('Back to the payment', 'primary', () => done())),
  ]);
}

/** After a refusal: ends with what became of the transaction, or resolves to whether it surely still waits. */
async function stillWaits(ui, id) {
  ui.wait('Asking what became of the payment');
  let now;
  try {
    now = check(await server.getTransaction(id));
  } catch {
    return false; // the refusal stands for itself
  }
  return now.message !== null || showStatus(ui, id, now);
}

/** No blockhash, so nothing was signed: the whole flow may begin again. */
async function notRefreshed(ui, id, refusal, again) {
  if (!(await stillWaits(ui, id))) throw refusal;
  const next = await ui.ask('The payment was not signed', (done) => [
    notice('warn', plain(refusal.message, 300)),
    h('p', null, 'It still waits for your answer.'),
    h('div', { class: 'actions' },
      button('Try again', 'primary', () => done(again)), button('Reject', 'danger', () => done(() => reject(ui, id)))),
  ]);
  return next();
}

/** Throws Changed unless the fresh message is the one that was shown, with a blockhash. */
async function compare(offer, facts, fresh) {
  if (fresh.address !== offer.address) throw new Changed('It now asks for the signature of another wallet.');
  if (fresh.chain !== offer.chain) throw new Changed('It is now meant for another network.');
  let again;
  try {
    again = await decode(fresh.message, offer.address);
  } catch (err) {
    if (err instanceof Refusal) throw new Changed(`It now does something that this page refuses: ${err.message}.`);
    throw err;
  }
  if (again.intent !== facts.intent) throw new Changed('It would now do something else than what you saw.');
  if (again.blockhash === ZERO_HASH) throw new Changed('It came without a blockhash.');
}

/** Sends the signature; when no answer comes, the same one can be sent again without harm. */
async function handOver(ui, id, { signature, send }, bot) {
  ui.wait('Sending your signature');
  for (;;) {
    try {
      const { status } = await send();
      if (status === 'signed' || status === 'pending' || status === 'awaiting_signature') {
        return await followUp(ui, id, 'Approved', { status, signature, bot });
      }
      return await showStatus(ui, id, { status, signature, bot });
    } catch (err) {
      if (err instanceof server.Refused) {
        await stillWaits(ui, id);
        return ui.end('The server did not take the signature', notice('warn', plain(err.message, 300)),
          h('p', null, 'The chat shows what became of the payment. Do not start it again before you have looked there.'));
      }
      if (!(err instanceof server.NoAnswer)) throw err;
      await ui.ask('No answer from the server', (done) => [
        h('p', null, 'It is signed, but we did not hear whether the server has it. Sending again is safe: it is the same signature, and the network takes it once.'),
        h('div', { class: 'actions' }, button('Send again', 'primary', () => done())),
      ]);
      ui.wait('Sending your signature');
    }
  }
}

async function reject(ui, id) {
  ui.wait('Rejecting');
  for (;;) {
    try {
      const { status } = await server.rejectTransaction(id);
      return await showStatus(ui, id, { status });
    } catch (err) {
      if (err instanceof server.Refused) await stillWaits(ui, id);
      if (!(err instanceof server.NoAnswer)) throw err;
      await ui.ask('No answer from the server', (done) => [
        h('p', null, 'Nothing was signed, so nothing can be sent.'),
        h('div', { class: 'actions' }, button('Try again', 'primary', () => done())),
      ]);
      ui.wait('Rejecting');
    }
  }
}

async function refuse(ui, id, refusal) {
  await ui.ask('This page refuses to sign', (done) => [
    notice('danger', h('p', null, h('strong', null, `The transaction is not a plain payment: ${plain(refusal.message)}.`)),
      'Nothing was signed. Ask the operator of the bot why it was offered.'),
    rows(['Reason', refusal.code]),
    h('div', { class: 'actions' }, button('Reject it', 'primary', () => done())),
  ]);
  return reject(ui, id);
}

function warn(ui, changed) {
  return ui.end('Stop: the payment was changed',
    mark('stop'),
    notice('danger', h('p', null, h('strong', null, 'After you approved it, the server offered another transaction.')), changed.message,
      'Nothing was signed.'),
    h('p', null, 'Do not use this bot until its operator has explained this. Your wallet can be restored elsewhere with its words.'));
}
