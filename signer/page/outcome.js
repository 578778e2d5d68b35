// The status of a payment: its result, or its progress until then. Knows the screens; the server says which.

import { rich, t } from './catalogue.js';
import { foreign, h, mark } from './dom.js';
import { signedWith } from './history.js';
import { check } from './offer.js';
import { rows } from './parts.js';
import { brief } from './payment.js';
import * as server from './server.js';
import { day } from './text.js';

/** The statuses of a transaction that is not waiting for a signature; each has two texts, status.<name> and its title. */
const STATUSES = ['awaiting_confirmation', 'delayed', 'signed', 'pending', 'confirmed', 'failed', 'rejected', 'expired'];

/** The reasons why a payment failed, by the server's code in lower case. */
const FAILURES = ['insufficient_balance', 'blockhash_expired', 'simulation_failed', 'chain_error'];

/** The statuses that follow a signature. */
const AFTER_SIGNATURE = ['signed', 'pending', 'confirmed', 'failed'];

/** The reasons why a payment failed that say that nothing was paid. */
const NOTHING_PAID = FAILURES.filter((code) => code !== 'chain_error');

/** Whether what was signed may stand beside a status. Beside "nothing was sent" or "nothing was paid" it would make the server's word look proven. */
const vouches = (status, failure) => AFTER_SIGNATURE.includes(status) && !(status === 'failed' && NOTHING_PAID.includes(failure));

/**
 * Ends with the status of a transaction that is not waiting for a signature; follows one that is on its way. offer.signed is what was signed
 * with the signature, as shownOf returns it (payment.js). Without it, what this device remembers of that signature is shown, or nothing:
 * the server's words are no proof of what was signed.
 */
export async function showStatus(ui, id, offer) {
  const { status, signature } = offer;
  const failure = FAILURES.find((code) => code.toUpperCase() === offer.code);
  const signed = vouches(status, failure) ? offer.signed ?? await remembered(signature) : null;
  if (!STATUSES.includes(status)) {
    return ui.end(t('status.unknown_title'), h('p', { class: 'lead' }, rich('status.unknown', { status: foreign(status, 40) })), wayBack(offer.bot));
  }
  const title = t(`status.${status}_title`);
  if (status === 'signed' || status === 'pending') return followUp(ui, id, title, { ...offer, signed });
  return ui.end(title,
    status === 'confirmed' && mark('ok'),
    status === 'failed' && mark('stop'),
    h('p', { class: 'lead' }, t(`status.${status === 'failed' && failure ? failure : status}`)),
    signedCard(signed),
    signature && signatureRow(signature),
    wayBack(offer.bot));
}

/** What this device remembers of a signature, or null. */
const remembered = (signature) => (signature ? signedWith(signature).catch(() => null) : null);

/** What was signed, and when if that was not just now; nothing where it is not known. */
const signedCard = (signed) => signed && [signed.at && h('p', { class: 'label' }, t('status.signed_here', { when: day(signed.at) })), brief(signed)].filter(Boolean);

const signatureRow = (signature) => rows([t('status.signature'), h('small', { class: 'wrap', translate: 'no' }, signature)]);

/** The way back to the chat. The link carries nothing but the bot's name. */
const wayBack = (bot) => [
  bot && h('div', { class: 'actions' }, h('a', { class: 'button', href: `https://t.me/${bot}`, rel: 'noreferrer' }, t('status.back'))),
  h('p', { class: 'hint' }, t(bot ? 'status.close' : 'status.back_close')),
].filter(Boolean);

const LOOK_EVERY = 2_500; // milliseconds; the server takes 60 requests a minute
const LOOK_SLOWLY_EVERY = 15_000; // milliseconds, after LOOKS_OFTEN looks
const LOOKS_OFTEN = 60;
const LOOKS = 120; // about 18 minutes; the chat shows what happens later

/** Whether an answer ends the following: the link is dead, so every further look would be refused too. */
const isDead = (err) => err instanceof server.Refused && [401, 403, 404, 409, 410].includes(err.status);

/**
 * Shows the progress of a signed payment until it ends; the title follows it. Where the page cannot learn more, it says so: the chat shows the rest.
 */
export async function followUp(ui, id, title, { status, signature, signed, bot }) {
  const reached = (s) => ({ pending: 2, confirmed: 3 })[s] ?? 1;
  const steps = ['step_signed', 'step_sent', 'step_confirmed'].map((step) => h('li', null, t(`status.${step}`)));
  const note = h('p', { class: 'hint' }, t('status.follow'));
  const show = (s) => steps.forEach((step, i) => {
    step.className = i < reached(s) ? 'done' : i === reached(s) ? 'now' : '';
    if (i === reached(s)) step.setAttribute('aria-current', 'step'); else step.removeAttribute('aria-current');
  });
  const say = (text) => {
    if (note.textContent === text) return;
    note.textContent = text;
    ui.announce(text);
  };
  show(status);
  const left = ui.end(title,
    mark('ok'),
    h('p', { class: 'lead' }, t('status.handed_over')),
    signedCard(signed),
    h('ol', { class: 'steps' }, steps), note,
    signature && signatureRow(signature), wayBack(bot));
  for (let look = 0; look < LOOKS; look++) {
    await Promise.race([left, new Promise((resolve) => { setTimeout(resolve, look < LOOKS_OFTEN ? LOOK_EVERY : LOOK_SLOWLY_EVERY); })]);
    let now;
    try {
      now = check(await server.getTransaction(id));
    } catch (err) {
      if (isDead(err)) break;
      continue; // the next look may be answered
    }
    if (now.message !== null || now.status === status && !now.held) continue;
    if (now.status !== 'signed' && now.status !== 'pending') {
      const same = now.signature === '' || now.signature === signature; // for another one, showStatus looks up what this device remembers
      return Promise.race([left, showStatus(ui, id, { ...now, signature: now.signature || signature, ...(same && { signed }), bot: now.bot || bot })]);
    }
    status = now.status;
    show(status);
    if (status === 'pending') ui.retitle(t('status.pending_title'));
    say(t(now.held ? 'status.held' : `status.${status}`));
  }
  say(t('status.follow_chat'));
  return left;
}
