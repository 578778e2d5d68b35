// Spending limits on the screen: changing them with a signature, what they say of a payment, and what this device keeps. The
// rules are in policy.js, what is kept in policies.js. What a person is shown is computed from what this device keeps.

import { chooseAccount, inApp } from './apps.js';
import { button, copyButton, errorText, foreign, h, mark, notice } from './dom.js';
import { decode, encode } from './base58.js';
import { utf8 } from './bytes.js';
import { LocalizedError, rich, t } from './catalogue.js';
import { checkLimits } from './challenge.js';
import { restoreWallet } from './create.js';
import { signText } from './external.js';
import { networkOf, pinNetwork, limitViolations } from './history.js';
import { address as shown, rows } from './parts.js';
import { brief, summary } from './payment.js';
import { adopt, cancelPending, keepSigned, keepStricter, keptPolicy, startRecipientWait } from './policies.js';
import { UNRESTRICTED, DAY, SOL, changes, equal, payee, policyText } from './policy.js';
import { accountCard, signedText, unlockForText } from './proof.js';
import { untilAnswered } from './retry.js';
import { sign, verify } from './seal.js';
import * as server from './server.js';
import { amount, clock, day, lastSix, sol, utcTime } from './text.js';
import { TOKENS } from './tokens.js';
import * as vault from './vault.js';

// ---- Amounts and policies in words

/** The token of a mint that this page knows on a network, or undefined; without a network it knows none. */
const known = (chain, mint) => TOKENS[chain]?.find((token) => token.mint === mint);

/** Base units in words. A token that is not known here has no decimals. */
function sum(mint, units, chain) {
  if (mint === SOL) return t('sign.sol', { amount: sol(units) });
  const token = known(chain, mint);
  return token ? t('sign.amount', { amount: amount(units, token.decimals), symbol: token.symbol }) : t('sign.base_units', { amount: units.toString() });
}

/** The same, with the mint of a token that is not known here. */
const sumOf = (mint, units, chain) => (mint === SOL || known(chain, mint) ? [sum(mint, units, chain)] : [sum(mint, units, chain), ' ', shown(mint)]);

/** How long a new recipient waits, in days from two on, as the chat says it. */
function waitText(hours) {
  if (hours === 0) return t('limits.no_wait');
  return hours % 24 === 0 && hours > 24 ? t('limits.days', { count: hours / 24 }) : t('limits.hours', { count: hours });
}

const list = (items) => h('ul', { class: 'plain' }, items.map((item) => h('li', null, item)));

/** A policy as pairs for rows. */
function policyRows(policy, chain) {
  const most = (limits) => (limits.length === 0 ? [t('limits.none')] : [list(limits.map(({ mint, units }) => sumOf(mint, units, chain)))]);
  const who = policy.recipients === null ? [t('limits.any')] : policy.recipients.length === 0 ? [t('limits.nobody')] : [list(policy.recipients.map((a) => shown(a)))];
  return [[t('limits.payment'), ...most(policy.payment)], [t('limits.day'), ...most(policy.day)], [t('limits.recipients'), ...who], [t('limits.wait'), waitText(policy.wait)]];
}

/** One difference between two policies in words: `more` says whether of what it allows more, or less. */
function changeText(change, more, chain) {
  const { kind, mint, was, is } = change;
  if (kind === 'recipients') {
    if (is === null) return t('limits.now_any');
    if (was === null) return t('limits.now_listed');
    return [t(more ? 'limits.added' : 'limits.removed'), list((more ? change.added : change.removed).map((a) => shown(a)))];
  }
  if (kind === 'wait') return rich('limits.change', { what: t('limits.wait'), is: waitText(is), was: waitText(was) });
  const most = (units) => h('span', null, units === null ? t('limits.none') : sumOf(mint, units, chain));
  return rich('limits.change', { what: t(kind === 'day' ? 'limits.day' : 'limits.payment'), is: most(is), was: most(was) });
}

// ---- What the limits say of a payment

/** Checks the wallet's signature on the limits in an answer; resolves to whether it is right, or null where there is none or this browser cannot tell. */
async function proven({ address, chain, limits }) {
  if (!limits?.signed) return null;
  const { policy, signature, ...proof } = limits.signed;
  const bytes = signatureBytes(signature);
  return bytes === null ? false : verify(address, bytes, utf8(policyText(location, address, policy, { ...proof, chain })));
}

function signatureBytes(text) {
  try {
    const bytes = decode(text);
    return bytes.length === 64 ? bytes : null;
  } catch {
    return null;
  }
}

/**
 * Whether a wallet is one of this device: its key is here, or it was connected or signed with here, as wallets of apps are. Of other addresses
 * nothing is kept: a server could name any, and a wallet that is imported later would have limits that nobody saw.
 */
const isOfThisDevice = async (address) => (await Promise.all([vault.find(address), networkOf(address)])).some((known) => known !== null);

/**
 * Takes over what the limits in an answer forbid. Resolves to {kept, updates}: updates is a list of {key, args, red} to be shown. `connected` says that
 * the wallet's app has just shown that it has the wallet: it is one of this device then.
 */
export async function takeOver(offer, { connected = false } = {}) {
  const [fits, before, known] = await Promise.all([proven(offer), keptPolicy(offer.address), isOfThisDevice(offer.address)]);
  const own = connected || before !== null || known;
  const { kept, changed } = own ? await adopt(offer.address, offer.limits, fits === true) : { kept: null, changed: {} };
  const list = [];
  const say = (key, args = {}, red = false) => list.push({ key, args, red });
  if (before === null && fits === false) say('limits.forged', {}, true);
  if (changed.taken && !equal(offer.limits.signed.policy, UNRESTRICTED)) say('limits.taken', { when: day(utcTime(offer.limits.signed.issued_at)) });
  if (changed.stricter) say(before || changed.taken ? 'limits.stricter' : 'limits.first');
  if (changed.dropped) say('limits.dropped');
  return { kept, updates: list };
}

/** What was taken over, as notices. */
export const updateNotices = (updates) => updates.map(({ key, args, red }) => notice(red ? 'danger' : 'note', h('p', null, red ? h('strong', null, t(key, args)) : t(key, args))));

/** What counts of a payment. */
export const counted = (pay) => pay.spends && { ...pay.spends, units: String(pay.spends.units) };

/** That a payment keeps to the limits of this device, as a pair for rows; null where it keeps none that count. */
export const within = (kept, pay) => (kept && pay.spends && !equal(kept.current, UNRESTRICTED) ? [t('limits.title'), t('limits.within')] : null);

/** A broken rule in words, with its numbers. */
function ruleText({ rule, mint, limit, units, spent, why }, chain) {
  const said = (n) => sum(mint, n, chain);
  switch (rule) {
    case 'limit_payment': return t('limits.over_payment', { units: said(units), limit: said(limit) });
    case 'limit_day': return t(spent > 0n ? 'limits.over_day' : 'limits.over_day_alone', { units: said(units), spent: said(spent), limit: said(limit) });
    case 'limit_recipients': return t({ unlisted: 'limits.unlisted', unknown: 'limits.unknown_owner', swap: 'limits.no_swap' }[why]);
    default: return t('limits.new_recipient');
  }
}

/** The payment breaks the limits, so nothing signs it. Resolves when the person rejects it. */
export const overLimits = (ui, { offer, pay, rules, kept, updates, chain }) => ui.ask(t('limits.blocked_title'), (done) => [
  mark('stop'),
  updateNotices(updates),
  notice('danger', ...rules.map((r) => h('p', null, h('strong', null, ruleText(r, chain))))),
  h('div', { class: 'card pay small' }, summary(pay, offer)),
  h('p', null, t('limits.blocked_next')),
  h('div', { class: 'actions' }, button(t('sign.reject'), 'primary', () => done('reject'))),
  h('details', null, h('summary', null, t('limits.title')),
    rows([t('common.wallet'), shown(offer.address)], ...policyRows(kept.current, chain), [t('limits.rule'), h('code', { translate: 'no' }, rules.map((r) => r.rule).join(', '))]),
    waiting(kept, chain)),
]);

/** The change that waits, or null. */
const waiting = (kept, chain) => kept.pending && notice('note', t('limits.pending', { when: day(kept.from) }), rows(...policyRows(kept.pending, chain)));

/**
 * A payment to a recipient who is new to this device, or that the server lets wait: nothing signs it yet. The wait begins when the person says so. Resolves when
 * the person rejects it.
 */
export async function waitFirst(ui, { offer, pay, record, rules, updates, chain }) {
  let [rule] = rules;
  if (rule && rule.from === null) {
    const answer = await ui.ask(t('limits.new_title'), (done) => [
      updateNotices(updates),
      h('p', { class: 'lead' }, t('limits.new_lead', { hours: waitText(rule.hours) })),
      h('div', { class: 'card pay' }, summary(pay, offer)),
      h('p', null, t('limits.new_begin')),
      h('div', { class: 'actions' }, button(t('limits.begin'), 'primary', () => done('begin')), button(t('sign.reject'), 'danger', () => done('reject'))),
    ]);
    if (answer === 'reject') return answer;
    await startRecipientWait(record.address, payee(record.spends));
    [rule] = await limitViolations(record); // from when, as it is kept now
    updates = []; // it was shown
  }
  return ui.ask(t('limits.wait_title'), (done) => [
    updateNotices(updates),
    rule && h('p', { class: 'lead' }, t('limits.signs_from', { when: day(rule.from) })),
    offer.ready && h('p', { class: rule ? null : 'lead' }, t('limits.server_from', { when: day(offer.ready) })),
    h('div', { class: 'card pay small' }, brief(pay)),
    h('p', null, t('limits.come_back')),
    h('div', { class: 'actions' }, button(t('sign.reject'), 'danger', () => done('reject'))),
    h('p', { class: 'hint' }, t('status.close')),
  ]);
}

// ---- Changing them

/** The flow behind #l=<token>. `place` and `able` as in bind.js. */
export async function limitsFlow(ui, token, place, able = true) {
  ui.wait(t('proof.reading'));
  const c = checkLimits(await server.limitsChallenge(token));
  const here = await deviceKnows(c);
  if (here.network && here.network !== c.chain) return otherNetwork(ui, here.network, c);
  const base = here.kept?.current ?? c.current;
  const change = changeOf(base, c.proposed);
  for (let refusal = ''; ;) {
    const wallet = able && !here.forgetful ? await vault.find(c.address) : null;
    const signer = await (await propose(ui, { c, base, change, here, wallet, able, place, refusal }))();
    refusal = '';
    if (signer === null) continue;
    let signature;
    try {
      const text = textFor(place, c);
      const proof = signer.key ? await sign(signer.key, c.address, utf8(text))
        : await inApp(ui, signer.app.name, t('limits.app_signs'), signText(signer.app, signer.account, text));
      if (proof === null) continue;
      signature = encode(proof);
    } catch (err) {
      refusal = err instanceof Error ? err.message : t('proof.app_did_not_sign');
      continue;
    }
    return hand(ui, { token, c, base, change, here, place, signature });
  }
}

/** What this device knows of a wallet, after it took over what the server forbids more: {network, kept, updates, forgetful}. Nothing is kept of a wallet without limits before they are signed. */
async function deviceKnows({ address, current }) {
  try {
    const network = await networkOf(address);
    if ((await keptPolicy(address)) === null) return { network, kept: null, updates: [], forgetful: false };
    const { kept, updates } = await takeOver({ address, limits: { current, waits: null, signed: null } });
    return { network, kept, updates, forgetful: false };
  } catch (err) {
    if (await vault.list().then(() => true, () => false)) throw err;
    return { network: null, kept: null, updates: [], forgetful: true };
  }
}

/** Names of tokens and test money depend on the network: limits for another one are not signed. */
const otherNetwork = (ui, network, c) => ui.end(t('proof.network_title'),
  mark('stop'),
  notice('danger', h('p', null, h('strong', null, t('proof.network_changed', { known: t(`chain.${network}`), now: t(`chain.${c.chain}`) }))), t('limits.other_network')),
  rows([t('common.wallet'), shown(c.address)]));

/** How a proposed policy differs from what counts so far: {stricter, looser}, lists of changes (policy.js). Both are empty when nothing changes. */
function changeOf(base, proposed) {
  const all = changes(base, proposed);
  return { stricter: all.filter((one) => one.stricter), looser: all.filter((one) => one.looser) };
}

/** The limits before and after, or once where they are the same. */
function beforeAndAfter({ c, base, change: { stricter, looser }, here: { kept, forgetful } }) {
  if (stricter.length === 0 && looser.length === 0) {
    return [
      !forgetful && !kept?.pending && notice('note', t(kept ? 'limits.same' : 'limits.same_new')),
      h('h2', null, t('limits.title')), rows(...policyRows(base, c.chain)),
    ];
  }
  return [
    stricter.length > 0 && h('div', { class: 'card' }, h('h2', null, t('limits.at_once')), list(stricter.map((one) => changeText(one, false, c.chain)))),
    looser.length > 0 && notice('warn', h('h2', null, t('limits.later')), list(looser.map((one) => changeText(one, true, c.chain)))),
    h('h2', null, t('limits.new')), rows(...policyRows(c.proposed, c.chain)),
    h('h2', null, t(kept ? 'limits.now_here' : 'limits.now_server')), rows(...policyRows(base, c.chain)),
    !kept && !forgetful && notice('note', t('limits.none_here')),
  ];
}

/** Resolves to a function that resolves to {key} or {app, account}, or to null to choose again. */
function propose(ui, { c, base, change, here, wallet, able, place, refusal }) {
  const { kept, forgetful } = here;
  const inBrowser = wallet !== null;
  const other = button(t('proof.external'), inBrowser || c.wallet_type === 'page' ? 'secondary' : 'primary', () => done(() => chooseAccount(ui, { chain: c.chain, link: place.link, only: c.address })));
  let done;
  return ui.ask(t('limits.set_title'), (answer) => (done = answer, [
    refusal && notice('warn', h('p', null, foreign(refusal, 300))),
    accountCard(c, t('limits.not_you_close')),
    updateNotices(here.updates),
    rows([t('common.wallet'), shown(c.address)], [t('sign.network'), t(`chain.${c.chain}_money`)]),
    beforeAndAfter({ c, base, change, here }),
    kept?.pending && notice('note', t('limits.replaces', { when: day(kept.from) })),
    forgetful && notice('warn', t('limits.forgetful')),
    !able && notice('note', t('link.unsupported_here')),
    able && !inBrowser && c.wallet_type === 'page' && notice('note', t('limits.elsewhere')),
    h('div', { class: 'actions' },
      inBrowser && button(t('proof.with', { six: lastSix(c.address) }), 'primary', () => done(() => unlock(ui, wallet, c, place))),
      other,
      able && !inBrowser && c.wallet_type === 'page' && button(t('proof.restore', { six: lastSix(c.address) }), 'secondary', () => done(() => restoreWallet(ui, { needed: c.address, next: setting(place, c) }))),
      copyButton(t('common.copy_link'), place.link, 'secondary')),
    c.wallet_type === 'developer' && h('p', { class: 'hint' }, t('proof.developer')),
    h('p', { class: 'hint' }, t('limits.expires', { time: clock(utcTime(c.expires_at)) })),
    signedText(textFor(place, c)),
  ]));
}

/** What follows a wallet that was just restored here: its text is signed at once. */
const setting = (place, c) => ({ step: 'limits.step', label: 'limits.set', more: () => signedText(textFor(place, c)) });

/** The text that sets the limits. */
const textFor = (place, c) => policyText(place, c.address, c.proposed, c);

const unlock = (ui, wallet, c, place) => unlockForText(ui, wallet, c, {
  title: t('limits.set_title'), label: t('limits.set'), text: textFor(place, c), next: setting(place, c),
});

/**
 * Hands the signature over. What the policy forbids this device keeps before: a lost answer or a server that keeps the signature back changes
 * nothing about that. What it allows more is kept once the server has said yes, so that a change that the server refused comes into force nowhere.
 */
async function hand(ui, { token, c, base, change, here, place, signature }) {
  if (!here.forgetful) {
    await keepStricter(c.address, c.proposed, base);
    if (here.network === null) await pinNetwork(c.address, c.chain); // which tokens the limits are of depends on it
  }
  const inEffect = keptAlready(change, here);
  let answer;
  try {
    answer = await untilAnswered(ui, { working: t('limits.working'), unknown: [inEffect, t('limits.no_answer')] }, () => server.signLimits(token, signature));
  } catch (err) {
    if (!(err instanceof server.Refused)) throw err;
    return ui.end(t('limits.refused_title'), notice('warn', h('p', null, errorText(err))),
      [inEffect, change.looser.length > 0 && t('limits.looser_not'), here.kept?.pending && t('limits.dropped'), t('limits.refused')].filter(Boolean).map((text) => h('p', null, text)));
  }
  const { status, effective_at: effective } = answer;
  if (!['set', 'waiting'].includes(status)) throw new LocalizedError('error.unexpected_answer');
  const now = Date.now();
  const onServer = utcTime(effective);
  // Not before the server: else what it still enforces would look stricter than what is kept here. And not much later.
  const from = Math.min(Math.max(now + DAY, onServer?.getTime() ?? 0), now + 2 * DAY);
  const kept = here.forgetful ? null : await keepSigned(c.address, c.proposed, base, from, now);
  const later = status === 'waiting' && onServer !== null && t('limits.on_server_later', { when: day(onServer) });
  return ui.end(t('limits.done_title'), mark('ok'), kept === null
    ? [h('p', { class: 'lead' }, later || t('limits.on_server')), notice('warn', t('limits.forgetful'))]
    : nowKept(c, place, kept, change, later));
}

/** What this device enforces since the signature was made, whatever the server answers: a text, or null for nothing new. */
function keptAlready({ stricter, looser }, { kept, forgetful }) {
  if (forgetful) return null;
  if (looser.length > 0) return stricter.length > 0 ? t('limits.stricter_here') : null;
  return stricter.length > 0 || kept === null ? t('limits.all_here') : null;
}

/** What is kept after a change, and where to see it. `later` says when the server enforces it, or is false. */
function nowKept(c, place, kept, { stricter }, later) {
  const lead = !kept.pending ? 'limits.done' : stricter.length > 0 ? 'limits.done_both' : 'limits.done_later';
  const where = { page: h('code', { class: 'wrap', translate: 'no' }, `${place.origin}/w/`), limits: t('limits.title'), cancel: t('limits.cancel') };
  return [
    h('p', { class: 'lead' }, t(lead, { when: day(kept.from) })),
    !kept.pending && later && h('p', null, later),
    h('h2', null, t('limits.now_here')), rows(...policyRows(kept.current, c.chain)),
    waiting(kept, c.chain),
    h('p', { class: 'hint' }, rich(kept.pending ? 'limits.cancel_how' : 'limits.see_here', where)),
  ];
}

/** The limits of one wallet as this device keeps them, with a way to drop the change that waits. */
export async function showLimits(ui, address) {
  const kept = await keptPolicy(address);
  if (kept === null) return null;
  const chain = await networkOf(address);
  const answer = await ui.ask(t('limits.title'), (done) => [
    rows([t('common.wallet'), shown(address)], ...policyRows(kept.current, chain), [t('limits.source'), t(kept.here ? 'limits.source_here' : 'limits.source_server', { when: day(kept.setAt) })]),
    waiting(kept, chain),
    h('p', null, t('limits.change_in_chat')),
    h('p', { class: 'hint' }, t('limits.cannot')),
    h('div', { class: 'actions' },
      kept.pending && button(t('limits.cancel'), 'danger', () => done('cancel')),
      button(t('common.back'), 'secondary', () => done(null))),
  ]);
  if (answer !== 'cancel') return null;
  await cancelPending(address);
  return showLimits(ui, address);
}
