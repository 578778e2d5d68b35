// Approving a transaction: decode its bytes, show them, unlock, take a fresh blockhash, make sure
// that nothing else changed, sign, hand over. Nothing that decides is shown on the server's word.

import { chooseAccount, inApp } from './apps.js';
import { LocalizedError, rich, t } from './catalogue.js';
import { Problem, button, copyButton, errorText, field, foreign, form, h, mark, notice } from './dom.js';
import { encode } from './base58.js';
import { sha256, toBase64, toHex } from './bytes.js';
import { restoreWallet } from './create.js';
import { networkOf, noteSigned, pinNetwork, limitViolations, sawDefaultChange, seenDefaultChange, signedBefore } from './history.js';
import { Refusal, decode } from './decode.js';
import { Misbehaved, signTransaction } from './external.js';
import { counted, updateNotices, overLimits, takeOver, waitFirst, within } from './limits.js';
import { check } from './offer.js';
import { followUp, showStatus } from './outcome.js';
import { address as shown, rows } from './parts.js';
import { passkeyOf } from './passkey.js';
import { brief, comparing, heading, moreTerms, payment, shownOf, summary } from './payment.js';
import { onlyWaits } from './policy.js';
import { unlockWallet } from './proof.js';
import { untilAnswered } from './retry.js';
import { sign } from './seal.js';
import * as server from './server.js';
import { clock, day, lastSix, sol } from './text.js';
import * as vault from './vault.js';

const ZERO_HASH = '1'.repeat(32);

/** The server's answers do not belong together: somebody may be trying to change the payment. */
class Changed extends LocalizedError {}

/**
 * What this device knows of the payment changed since the person was asked: another tab signed it or another one, or the limits of the wallet
 * became stricter. `updates` is what to say of the limits (limits.js).
 */
class Outdated extends Error {
  constructor(updates = []) {
    super();
    this.updates = updates;
  }
}

const RESTORED = { step: 'sign.step', label: 'sign.step_button' };

/**
 * The flow behind #s=<id>; `link` is the whole link, `able` whether this browser can hold a key itself, `earlier` what was taken over of the
 * limits before the flow began again. With `restore` the person has asked to restore the wallet, in the part of the page that cannot (whole.js).
 */
export async function signFlow(ui, id, link = '', able = true, { earlier = [], restore = false } = {}) {
  ui.wait(t('sign.reading'));
  const offer = check(await server.getTransaction(id), { delayed: true });
  if (offer.message === null) return showStatus(ui, id, offer);
  let decoded;
  let pay;
  try {
    decoded = await decode(offer.message, offer.address);
    pay = await payment(decoded, offer);
  } catch (err) {
    if (!(err instanceof Refusal)) throw err;
    return refuse(ui, id, err);
  }

  const record = { intent: decoded.intent, reference: pay.reference, address: offer.address, paid: pay.paid, shown: shownOf(pay) };
  const known = await recall(record, offer, able, earlier);
  if (known.same) {
    const answer = await signedAlready(ui, pay, known.same);
    if (answer === 'reject') return reject(ui, id);
    if (answer === 'again') return handOver(ui, id, again(id, known.same), offer.bot);
  }

  record.spends = counted(pay);
  const [rules, held] = known.forgetful ? [[], null] : await Promise.all([limitViolations(record), able ? vault.find(offer.address) : null]);
  const about = { offer, pay, record, rules, kept: known.limits.kept, updates: known.limits.updates, chain: known.network ?? offer.chain };
  if (await stopped(ui, about)) return reject(ui, id);
  if (known.forgetful) {
    const answer = await unchecked(ui, { offer, pay, link });
    if (answer === 'reject') return reject(ui, id);
    if (answer === 'again') return signFlow(ui, id, link, able, { earlier });
  }

  if (restore && able && !known.forgetful) {
    await restoreWallet(ui, { needed: offer.address, next: RESTORED });
    return signFlow(ui, id, link, able, { earlier }); // as if the link had just been opened
  }
  let wallet = held;
  const external = wallet === null && (offer.external || !able);
  if (wallet === null && !external) {
    while (wallet === null) {
      if ((await elsewhere(ui, offer, decoded, pay, link)) === 'reject') return reject(ui, id);
      await restoreWallet(ui, { needed: offer.address, next: RESTORED });
      wallet = await vault.find(offer.address);
    }
    return signFlow(ui, id, link, able, { earlier }); // its limits count from now on
  }

  let approved = null;
  while (approved === null) {
    if ((await review(ui, offer, decoded, pay, known)) === 'reject') return reject(ui, id);
    approved = external ? await approveInApp(ui, id, offer, decoded, link, known) : await approve(ui, id, offer, decoded, pay, wallet, known);
    if (approved === null && !external) wallet = (await vault.find(offer.address)) ?? wallet; // it may have another passphrase now
  }
  if (approved instanceof Outdated) return signFlow(ui, id, link, able, { earlier: approved.updates });
  if (approved instanceof Changed) return warn(ui, approved);
  if (approved instanceof server.Refused) return notRefreshed(ui, id, approved, () => signFlow(ui, id, link, able));
  if (approved.message === null) return showStatus(ui, id, approved);
  return handOver(ui, id, approved, offer.bot);
}

/**
 * Whether the limits, or the server's wait, stop a payment: resolves when the person has read so and rejects it. It stands before everything that could lead to a
 * signature.
 */
async function stopped(ui, about) {
  const { rules, offer } = about;
  if (rules.length > 0 && !onlyWaits(rules)) await overLimits(ui, about);
  else if (rules.length > 0 || offer.ready) await waitFirst(ui, about);
  else return false;
  return true;
}

/**
 * What this device knows of a payment, after it took over what the server's limits forbid more; `forgetful` where nothing that is stored can be read: a wallet app may sign
 * all the same, if the person says so (unchecked). Where the wallets can be read, a history that cannot is a failure: nothing is signed without it. Nor by a wallet
 * of this page when its key cannot be read.
 */
async function recall(record, offer, able, earlier) {
  try {
    const limits = await takeOver(offer);
    const [before, network, seen] = await Promise.all([signedBefore(record), networkOf(record.address), seenDefaultChange(record.address)]);
    return { record, ...before, network, forgetful: false, limits: { kept: limits.kept, updates: [...earlier.filter((u) => !u.red), ...limits.updates] }, seen };
  } catch (err) {
    if (able && !offer.external || await vault.find(record.address).then(() => true, () => false)) throw err;
    return { record, same: null, alike: null, network: null, forgetful: true, limits: { kept: null, updates: [] }, seen: null };
  }
}

/**
 * Nothing that this page stored can be read, so neither limits nor earlier signatures are known. Resolves to what to do: again, reject, or sign, which takes
 * the end of the paying wallet's address.
 */
function unchecked(ui, { offer, pay, link }) {
  const six = lastSix(offer.address);
  return ui.ask(t('sign.unread_title'), (done) => {
    const typed = field('six', t('common.six'), { hint: t('common.six_hint', { six }) });
    return [
      mark('stop'),
      notice('danger', h('p', null, h('strong', null, t('sign.unread'))), t('sign.unread_what')),
      h('p', null, t('sign.unread_next')),
      h('div', { class: 'actions' },
        button(t('common.try_again'), 'primary', () => done('again')),
        link && copyButton(t('common.copy_link'), link, 'secondary'),
        button(t('sign.reject'), 'danger', () => done('reject'))),
      h('div', { class: 'card pay small' }, summary(pay, {})),
      rows([t('sign.paying_wallet'), shown(offer.address)]),
      notice('warn', t('sign.unread_risk')),
      form([typed.node], [t('sign.unread_sign'), 'destructive'], () => {
        if (typed.input.value.trim() !== six) throw new Problem(t('common.six_wrong'), typed.input);
        done('sign');
      }),
    ];
  });
}

/** The very signature that was given before, to be handed over once more. */
function again(id, { signature, shown, handed }) {
  return {
    signature, shown,
    send: () => (handed.transaction ? server.sendSigned(id, handed.transaction) : server.sendSignature(id, handed.sha256, signature)),
  };
}

/** The payment was signed here before: resolves to what to do about it, again, second or reject. */
function signedAlready(ui, pay, same) {
  return ui.ask(t('sign.before_title'), (done) => [
    mark('stop'),
    notice('danger', h('p', null, h('strong', null, t('sign.before_server', { when: day(same.at) }))), t('sign.before_risk')),
    h('div', { class: 'card pay small' }, summary(pay, {})),
    h('p', null, t('sign.before_safe')),
    h('div', { class: 'actions' },
      button(t('sign.resend'), 'primary', () => done('again')),
      button(t('sign.reject'), 'secondary', () => done('reject')),
      button(t('sign.second'), 'danger', () => done('second'))),
    rows([t('sign.first_signature'), h('small', { class: 'wrap', translate: 'no' }, same.signature)]),
  ]);
}

/**
 * By the server's word another wallet became the account's default: a notice until it was seen once, or null. Somebody who holds the chat can do
 * that, and this wallet's device is where its owner is sure to look. It decides nothing.
 */
function otherDefault({ address, defaultChanged: at }, { seen, forgetful }) {
  if (at === null || at === seen) return null;
  const box = notice('warn', t('sign.default_changed', { when: day(at) }), h('div', { class: 'inline' }, button(t('sign.default_seen'), 'secondary', async () => {
    box.remove();
    if (!forgetful) await sawDefaultChange(address, at);
  })));
  return box;
}

/** What this device remembers that speaks against a payment: notices, and whether any is red. */
function cautions(offer, known) {
  const { same, alike, network, forgetful, limits } = known;
  const list = [];
  if (network && network !== offer.chain) {
    list.push(notice('danger', h('p', null, h('strong', null, t('sign.network_changed', { known: t(`chain.${network}`), now: t(`chain.${offer.chain}`) }))),
      t(network === 'mainnet' ? 'sign.network_real' : 'sign.network_maybe_real')));
  }
  if (same) {
    list.push(notice('danger', h('p', null, h('strong', null, t('sign.signed_before', { when: day(same.at) }))), t('sign.signed_before_risk')));
  }
  if (forgetful) list.push(notice('danger', h('p', null, h('strong', null, t('limits.forgetful'))), t('sign.forgetful')));
  const red = list.length > 0 || limits.updates.some((n) => n.red);
  list.push(...updateNotices(limits.updates));
  if (alike) {
    list.push(notice('warn', t('sign.alike', { when: day(alike.at) })));
  }
  list.push(otherDefault(offer, known));
  return { list, red };
}

/** What it costs, where, and what is written on it, as pairs for rows. */
function terms(offer, decoded, pay, network = null, kept = null) {
  const note = decoded.actions.find((a) => a.type === 'memo');
  const most = sol(pay.lamports + BigInt(decoded.fee));
  const atMost = !pay.mint ? t('sign.sol', { amount: most })
    : t(pay.symbol ? 'sign.at_most_token' : 'sign.at_most_unknown', { amount: pay.amount, symbol: pay.symbol, sol: most });
  return [
    [t('sign.network_fee'), t('sign.sol', { amount: sol(decoded.fee) })],
    pay.deposit && [t('sign.deposit'), t(pay.deposit.text)],
    ...(pay.kind ? moreTerms(pay) : []),
    [t('sign.at_most'), atMost],
    [t('sign.network'), network && network !== offer.chain ? t('sign.network_claimed', { network: t(`chain.${offer.chain}`) }) : t(`chain.${offer.chain}_money`)],
    within(kept, pay),
    note && [t('sign.note'), foreign(note.text, 512)],
  ];
}

/** What else there is to know, folded. A reference is no address: its end is not for comparing. */
function more(offer, pay, first = []) {
  return h('details', null, h('summary', null, t('sign.more')),
    rows(
      ...first,
      [t('sign.from'), shown(offer.address)],
      pay.mint && pay.symbol && [t('sign.mint'), h('small', null, shown(pay.mint))],
      pay.reference && [t('sign.reference'), h('small', { class: 'wrap', translate: 'no' }, pay.reference)],
      [t('sign.before'), clock(offer.expires)]),
    h('p', { class: 'hint' }, t('sign.link_works')),
    h('p', { class: 'hint' }, t('sign.read_here')),
    offer.chain !== 'mainnet' && h('p', { class: 'hint' }, t('sign.no_network_in_signature')));
}

/** The words of the buttons. To approve a revocation would read as the opposite of what it does. */
const verbs = (pay) => pay.kind === 'revoke' ? ['sign.revoke_do', 'sign.revoke_keep'] : ['sign.approve', 'sign.reject'];

function review(ui, offer, decoded, pay, known) {
  const { list, red } = cautions(offer, known);
  const [yes, no] = verbs(pay);
  return ui.ask(t(heading(pay)), (done) => [
    list,
    h('div', { class: 'card pay' },
      summary(pay, offer),
      h('p', { class: 'hint' }, t(comparing(pay))),
      rows(...terms(offer, decoded, pay, known.network, known.limits.kept))),
    h('div', { class: 'actions sticky' },
      button(t(red ? 'sign.approve_anyway' : yes), red ? 'primary destructive' : 'primary', () => done('approve')), button(t(no), red || no === 'sign.reject' ? 'danger' : 'secondary', () => done('reject'))),
    more(offer, pay),
  ]);
}

/** The key is in another browser. The recovery phrase is asked for only when the person says that it is lost. */
function elsewhere(ui, offer, decoded, pay, link) {
  return ui.ask(t('sign.elsewhere_title'), (done) => [
    h('div', { class: 'card pay' }, summary(pay, offer)),
    notice('warn', h('p', null, h('strong', null, t('sign.elsewhere')), ' ', t('sign.elsewhere_open')),
      rows([t('sign.paying_wallet'), shown(offer.address)])),
    h('div', { class: 'actions' },
      copyButton(t('common.copy_link'), link, 'primary'),
      button(t('sign.reject'), 'danger', () => done('reject'))),
    more(offer, pay, terms(offer, decoded, pay)),
    h('p', null, t('sign.elsewhere_restore')),
    h('div', { class: 'actions' }, button(t('sign.restore'), 'secondary', () => done('restore'))),
    h('p', { class: 'hint' }, t('sign.elsewhere_distrust')),
  ]);
}

/**
 * Unlocks, refreshes, compares, signs. Resolves to {signature, shown, send}, to an answer without message
 * when the transaction has moved on, to a Changed or Outdated, to the server's Refused, or to null when the person
 * goes back or has restored the wallet.
 */
function approve(ui, id, offer, decoded, pay, wallet, known) {
  return unlockWallet(ui, wallet, {
    title: t(passkeyOf(ui, wallet) ? 'sign.unlock_title' : 'sign.passphrase_title'),
    about: brief(pay),
    label: t('sign.submit'),
    next: RESTORED,
    restored: () => null, // the payment is reviewed again
  }, async (key) => {
    let fresh;
    try {
      fresh = check(await server.refreshTransaction(id));
    } catch (err) {
      if (err instanceof server.Refused) return err;
      throw err;
    }
    if (fresh.message === null) return fresh;
    try {
      await compare(offer, decoded, fresh);
      await notMeanwhile(known, fresh);
    } catch (err) {
      if (err instanceof Changed || err instanceof Outdated) return err;
      throw err;
    }
    const hash = toHex(await sha256(fresh.message));
    const signature = encode(await sign(key, offer.address, fresh.message));
    if (!(await remember(offer, known, { signature, handed: { sha256: hash } }))) return new Outdated();
    return { signature, shown: known.record.shown, send: () => server.sendSignature(id, hash, signature) };
  });
}

/**
 * Throws Outdated when this payment was signed after the person was asked about it, when what was signed since leaves too little of the limits, or
 * when the server's limits became stricter: no wallet app is asked in vain then. `connected` as in takeOver: of a wallet app that is new here, the limits are taken over
 * now. Another tab may still come first until remember has noted the signature.
 */
async function notMeanwhile({ record, same, forgetful, limits }, fresh, { connected = false } = {}) {
  if (forgetful) return;
  const { updates } = await takeOver(fresh, { connected });
  const now = await signedBefore(record);
  const unseen = updates.some((u) => !u.red || !limits.updates.some((shown) => shown.red)); // red is what was not taken over, and is said each time
  if (unseen || now.same?.signature !== same?.signature || (await limitViolations(record)).length > 0) throw new Outdated(updates);
}

/**
 * Notes what was signed, and the network of a wallet that has none yet, before the signature leaves this page.
 * Resolves to whether it may leave: not when another tab has signed the payment meanwhile, or so much that this one breaks the limits.
 */
async function remember(offer, { record, same, network, forgetful }, given) {
  if (forgetful) return true;
  if (!(await noteSigned({ ...record, ...given }, same))) return false;
  if (network === null) await pinNetwork(offer.address, offer.chain);
  if (offer.defaultChanged !== null) await sawDefaultChange(offer.address, offer.defaultChanged);
  return true;
}

/** Like approve, with a wallet app instead of the passphrase. */
async function approveInApp(ui, id, offer, decoded, link, known) {
  const chosen = await chooseAccount(ui, { chain: offer.chain, link, only: offer.address });
  if (chosen === null) return null;
  ui.wait(t('sign.preparing'));
  let fresh;
  try {
    fresh = check(await server.refreshTransaction(id));
    if (fresh.message === null) return fresh;
    await compare(offer, decoded, fresh);
    await notMeanwhile(known, fresh, { connected: true });
  } catch (err) {
    if (err instanceof server.Refused || err instanceof Changed || err instanceof Outdated) return err;
    throw err;
  }
  let signed;
  try {
    signed = await inApp(ui, chosen.app.name, t('sign.app_compare'),
      signTransaction(chosen.app, chosen.account, fresh.message, offer.chain));
  } catch (err) {
    await notInApp(ui, chosen.app.name, err);
    return null;
  }
  if (signed === null) return null;
  // The app does not broadcast, so what came too late was given to nobody and can simply be signed anew.
  if (!(await inTime(id))) return (await tooLate(ui)) ? approveInApp(ui, id, offer, decoded, link, known) : null;
  const signature = encode(signed.slice(1, 65));
  const transaction = toBase64(signed);
  if (!(await remember(offer, known, { signature, handed: { transaction } }))) return new Outdated();
  return { signature, shown: known.record.shown, send: () => server.sendSigned(id, transaction) };
}

/** How many blocks a signature needs to get to the network: some seconds, however short slots become. */
const SPARE_BLOCKS = 20;

/** Whether what was just signed can still land, by the height of the chain. Unknown counts as yes: the server checks it again. */
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
  return ui.ask(t('sign.late_title'), (done) => [
    notice('warn', t('sign.late')),
    h('p', null, t('sign.late_next')),
    h('div', { class: 'actions' },
      button(t('sign.again'), 'primary', () => done(true)), button(t('common.back'), 'secondary', () => done(false))),
  ]);
}

/** The app said no, or did something else than it was asked to. */
function notInApp(ui, name, err) {
  const bad = err instanceof Misbehaved;
  return ui.ask(t(bad ? 'sign.app_changed_title' : 'sign.not_signed_title'), (done) => [
    bad && mark('stop'),
    notice(bad ? 'danger' : 'warn', h('p', null, bad ? errorText(err) : rich('sign.app_did_not_sign', { app: foreign(name, 40) }))),
    h('p', null, t('sign.nothing_sent')),
    h('div', { class: 'actions' }, button(t('sign.back_to_payment'), 'primary', () => done())),
  ]);
}

/** After a refusal: ends with the status of the transaction, or resolves to whether it surely still waits. */
async function stillWaits(ui, id) {
  ui.wait(t('sign.checking'));
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
  const next = await ui.ask(t('sign.not_refreshed_title'), (done) => [
    notice('warn', h('p', null, errorText(refusal))),
    h('p', null, t('sign.still_waiting')),
    h('div', { class: 'actions' },
      button(t('common.try_again'), 'primary', () => done(again)), button(t('sign.reject'), 'danger', () => done(() => reject(ui, id)))),
  ]);
  return next();
}

/** Throws Changed unless the fresh message is the one that was shown, with a blockhash. */
async function compare(offer, decoded, fresh) {
  if (fresh.address !== offer.address) throw new Changed('sign.other_wallet');
  if (fresh.chain !== offer.chain) throw new Changed('sign.other_network');
  let again;
  try {
    again = await decode(fresh.message, offer.address);
  } catch (err) {
    if (err instanceof Refusal) throw new Changed('sign.now_blocked', { reason: err.message });
    throw err;
  }
  if (again.intent !== decoded.intent) throw new Changed('sign.other_intent');
  if (again.blockhash === ZERO_HASH) throw new Changed('sign.no_blockhash');
}

/** Sends the signature; when no answer comes, the same one can be sent again without harm. */
async function handOver(ui, id, { signature, shown: signed, send }, bot) {
  let answer;
  try {
    answer = await untilAnswered(ui, { working: t('sign.sending'), unknown: t('sign.no_answer') }, send);
  } catch (err) {
    if (!(err instanceof server.Refused)) throw err;
    await stillWaits(ui, id);
    return ui.end(t('sign.refused_title'), notice('warn', h('p', null, errorText(err))), h('p', null, t('sign.refused')));
  }
  const { status } = answer;
  if (status === 'signed' || status === 'pending' || status === 'awaiting_signature') {
    return followUp(ui, id, t('status.approved_title'), { status, signature, signed, bot });
  }
  return showStatus(ui, id, { status, signature, signed, bot });
}

async function reject(ui, id) {
  try {
    const { status } = await untilAnswered(ui, { working: t('sign.rejecting'), unknown: t('sign.reject_no_answer'), again: 'common.try_again' }, () => server.rejectTransaction(id));
    return await showStatus(ui, id, { status });
  } catch (err) {
    if (err instanceof server.Refused) await stillWaits(ui, id);
    throw err;
  }
}

async function refuse(ui, id, refusal) {
  await ui.ask(t('sign.blocked_title'), (done) => [
    notice('danger', h('p', null, h('strong', null, t('sign.blocked', { reason: refusal.message }))), t('sign.blocked_next')),
    rows([t('sign.reason'), h('code', { translate: 'no' }, refusal.code)]),
    h('div', { class: 'actions' }, button(t('sign.reject'), 'primary', () => done())),
  ]);
  return reject(ui, id);
}

function warn(ui, changed) {
  return ui.end(t('sign.changed_title'),
    mark('stop'),
    notice('danger', h('p', null, h('strong', null, t('sign.changed'))), changed.message, t('sign.nothing_signed')),
    h('p', null, t('sign.changed_next')));
}
